"""Reports for those who decide: what they say, of what, and their forms."""

from pipelines.reports.content import Report
from pipelines.reports.everything import ALL, report

__all__ = ["ALL", "FORMS", "Report", "report", "written"]

FORMS = ("html", "pdf", "xlsx")


def written(document: Report, form: str) -> bytes:
    """A report in one of `FORMS`."""
    if form == "pdf":
        from pipelines.reports import pdf

        return pdf.written(document)
    if form == "xlsx":
        from pipelines.reports import spreadsheet

        return spreadsheet.written(document)
    from pipelines.reports import html

    return html.written(document)
