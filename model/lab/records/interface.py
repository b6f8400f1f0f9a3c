"""What a writer is given and what it gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from model.lab.records.common import Record, Setting, Span
from model.published.catalogue import Target
from model.published.plan import Point

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Window:
    """When a point was measured, and on which system."""

    system_id: str
    smf_sid: str
    point: Point
    spans: tuple[Span, ...]

    @property
    def start(self) -> datetime:
        """Start of the point, UTC."""
        return self.spans[0].start

    @property
    def end(self) -> datetime:
        """End of the point, UTC."""
        return self.spans[-1].end

    @property
    def seconds(self) -> float:
        """Length of the point."""
        return sum(span.length_ms for span in self.spans) / 1000


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A row of the groups file: `kind`, `pattern`, `workload`, `address_space_group`."""

    kind: str
    pattern: str
    workload: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """What a writer writes for one point.

    `records` go into `<system>.smf`, `rows[kind]` into `<system>.<kind>.csv` with the rows of all points (the keys of
    the first row are its heading), `files[suffix]` into `<system>.<suffix>`, and `groups` into the groups file.
    """

    records: Sequence[Record] = ()
    rows: Mapping[str, Sequence[Mapping[str, Cell]]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    groups: Sequence[GroupRow] = ()


Writer = Callable[[Setting, Window, Sequence[Target], np.random.Generator], Output]
"""Puts the targets of one point on one system into records or files. Raises LabError for a metric it cannot write."""


def by_subject(targets: Sequence[Target]) -> dict[str, dict[str, Target]]:
    """Targets by subject and metric, in the order given."""
    grouped: dict[str, dict[str, Target]] = {}
    for target in targets:
        grouped.setdefault(target.subject, {})[target.metric] = target
    return grouped
