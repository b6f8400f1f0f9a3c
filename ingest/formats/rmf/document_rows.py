"""A report as a document to the rows of the RMF tables."""

from ingest.formats.printed.document import Report
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
