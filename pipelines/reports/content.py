"""The content of a report in any form: figures, charts and lines under headings; the first page is for management."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
Kind = Literal["line", "area", "points", "limit"]


@dataclass(frozen=True)
class Series:
    """One series of a chart, values in the order of its x; a band where `lo` and `hi` are given."""

    name: str
    values: Sequence[float | None]
    kind: Kind = "line"
    lo: Sequence[float | None] = ()
    hi: Sequence[float | None] = ()


@dataclass(frozen=True)
class Chart:
    """A chart over time or numbers. `y` and `across` name the axes with their units; `mark` is an x worth a line."""

    title: str
    y: str
    x: Sequence[datetime] | Sequence[float]
    series: Sequence[Series]
    across: str = ""
    mark: float | None = None
    mark_name: str = ""

    @property
    def is_over_time(self) -> bool:
        """Whether x are times."""
        return bool(self.x) and isinstance(self.x[0], datetime)


@dataclass(frozen=True)
class Part:
    """The content under one heading: a chart, rows of a table (the keys are its headings), lines of text."""

    heading: str
    chart: Chart | None = None
    rows: Sequence[Mapping[str, Any]] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """A report: title, lead and `summary` make its first page, the other `parts` follow."""

    title: str
    lead: str
    summary: Sequence[Part]
    parts: Sequence[Part] = field(default=())


def printable(text: str) -> str:
    """A text without the characters that XML has no place for: a question mark stands for each."""
    return _UNPRINTABLE.sub("?", text)
