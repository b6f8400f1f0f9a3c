"""A report as a document to the rows of the RMF tables, and back."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from ingest.formats.printed.document import Report, Segment
from ingest.formats.rmf.builder import Builder


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
