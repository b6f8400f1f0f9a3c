"""A report as its segments, parts, variables and rows: what text is parsed into and rendered from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ingest.rmf.builder import Builder

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


def emit(report: Report, builder: Builder) -> None:
    """Hand a report to the builder of the RMF tables, as the XML reader does."""
    builder.begin_report(report.head)
    for segment in report.segments:
        builder.begin_section(segment.name)
        for name, part in segment.parts.items():
            builder.begin_part(name)
            if part.variables:
                table = builder.begin_table()
                for row, (label, text) in enumerate(part.variables):
                    builder.variable(table, row, label, text)
            if part.rows:
                table = builder.begin_table()
                builder.headers(list(part.labels), list(part.kinds))
                for row, (cells, row_type) in enumerate(part.rows):
                    builder.row(table, row, cells, row_type)
        builder.end_section()
    builder.has_content |= bool(report.unexplained)
    builder.end_report()


def from_values(head: dict[str, Any], values: Iterable[dict[str, Any]]) -> Report:
    """A report out of its row of `rmf_report` and its rows of `rmf_value`, in order: the inverse of `emit`."""
    report = Report({name: value for name, value in head.items() if name not in ("file_id", "record_seq")})
    opened = -1
    for (section, _), found in groupby(values, key=lambda row: (row["section_seq"], row["table_seq"])):
        group = list(found)
        if section != opened:
            report.segments.append(Segment(group[0]["section"] or ""))
            opened = section
        part = report.segments[-1].part(group[0]["part"] or "")
        if all(row["column_seq"] == 0 and row["row_label"] is None for row in group):
            part.variables += [(row["column_label"] or "", row["value_text"]) for row in group]
            continue
        for _, cells in groupby(group, key=lambda row: row["row_seq"]):
            row = list(cells)
            if not part.rows:
                part.labels = [cell["column_label"] or "" for cell in row]
                part.kinds = ["T"] * len(row)
            part.rows.append(([cell["value_text"] for cell in row], row[0]["row_type"]))
    return report
