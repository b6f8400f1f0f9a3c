"""A report as its segments, parts, variables and rows: what text is parsed into and rendered from."""

from dataclasses import dataclass, field
from typing import Any

Row = tuple[list[str | None], str | None]


@dataclass
class Part:
    """Variables and one table of a segment, by the labels of the XML form. A row's type is SUM for a total line."""

    variables: list[tuple[str, str | None]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def value(self, label: str) -> str | None:
        """The first value of the variable, or None."""
        return next((text for name, text in self.variables if name == label), None)


@dataclass
class Segment:
    """A named segment of a report."""

    name: str
    parts: dict[str, Part] = field(default_factory=dict)

    def part(self, name: str) -> Part:
        """The part of this name, made if need be."""
        return self.parts.setdefault(name, Part())


@dataclass
class Report:
    """A report: columns of `rmf_report`, segments, and (page, line, text) of lines that no layout explains."""

    head: dict[str, Any]
    segments: list[Segment] = field(default_factory=list)
    unexplained: list[tuple[int, int, str]] = field(default_factory=list)

    def segment(self, name: str) -> Segment:
        """The last segment of this name, made if need be."""
        for segment in reversed(self.segments):
            if segment.name == name:
                return segment
        self.segments.append(Segment(name))
        return self.segments[-1]
