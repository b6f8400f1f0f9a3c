"""RMF Postprocessor reports in text → the tables that reports in XML become, and the lines no layout explains.

Every byte of a file is in a report (known or not), or in a stretch before the first page, which is no report.
"""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from ingest.arrays import of_rows
from ingest.batch import Batch, Quarantined, Unreadable
from ingest.formats.arrow import LINE_SCHEMA
from ingest.formats.printed.document import Report
from ingest.formats.printed.lines import HEAD_BYTES, read_lines, text_form
from ingest.formats.rmf.blocks import ReportReader
from ingest.formats.rmf.builder import Builder
from ingest.formats.rmf.document_rows import emit
from ingest.formats.rmf.pages import Page, read_pages

_ROWS_PER_BATCH = 1 << 16


def is_text_report(head: bytes) -> bool:
    """True if the start of a file holds the head of an RMF Postprocessor page."""
    form = text_form(head)
    return form is not None and any(page.head for page in read_pages(read_lines(io.BytesIO(head), form)))


def read_text_reports(stream: BinaryIO) -> Iterator[Batch]:
    """Batches of complete reports, in file order.

    A report is a run of pages about the same system and interval, of titles that make one report in XML. Pages of a
    kind without a layout become reports without a metric id whose lines are kept. Raises Unreadable.
    """
    form = text_form(stream.read(HEAD_BYTES))
    if form is None:
        raise Unreadable("text", "neither ASCII, UTF-8 nor EBCDIC text with lines that can be separated")
    stream.seek(0)
    reading = _Reading()
    for page in read_pages(read_lines(stream, form)):
        reading.add(page)
        if reading.builder.pending >= _ROWS_PER_BATCH:
            yield reading.take()
    reading.finish()
    yield reading.take()


class _Reading:
    """One file on its way through: the report whose pages are coming, and what is complete."""

    def __init__(self) -> None:
        self.builder = Builder(form="text")
        self._batch = Batch()
        self._lines: list[dict[str, Any]] = []
        self._reader: ReportReader | None = None
        self._report: Report | None = None
        self._key: tuple[Any, ...] = ()
        self._pages: dict[str, int] = {}
        self._bytes = 0

    def add(self, page: Page) -> None:
        """Take in a page: of the open report, of a new one, or of none."""
        size = sum(line.length for line in page.lines)
        if page.head is None:
            self.finish()
            self._outside(page, size)
            return
        kind = page.head["report"] or page.title
        key = (kind, *(page.head[name] for name in ("resource_name", "interval_start_local", "interval_text")))
        if key != self._key or self._restarts(page) or sum(self._pages.values()) > 1 << 24:
            self.finish()
            self._key = key
            self._report = Report(dict(page.head))
            self._reader = ReportReader(page.layout, self._report) if page.layout else None
        self._bytes += size
        self._pages[page.title] = page.number if page.number is not None else 0
        ordinal = len(self._pages) - 1 if page.number is None else page.number
        assert self._report is not None
        if self._reader is not None:
            self._reader.read(page, ordinal)
        else:
            kept = [(ordinal, n, line.text) for n, line in enumerate(page.body) if line.text.strip()]
            self._report.unexplained += kept

    def _restarts(self, page: Page) -> bool:
        """True if the page is the first of another copy of the report that is open."""
        last = self._pages.get(page.title)
        return last is not None and page.number is not None and page.number <= last

    def finish(self) -> None:
        """The open report is complete."""
        report, self._report, self._reader, self._key, self._pages = self._report, None, None, (), {}
        if report is None:
            return
        reason = "unknown_line" if report.head["report"] else "unknown_report"
        emit(report, self.builder)
        self._batch.decoded += 1
        self._batch.decoded_bytes += self._bytes
        self._bytes = 0
        if not report.head["report"]:
            self._batch.notes["unknown_report"] += 1
        self._lines += [
            {
                "record_seq": self.builder.record,
                "section_seq": place,
                "page": page,
                "line": line,
                "reason": reason,
                "text": text,
            }
            for place, (page, line, text) in enumerate(report.unexplained)
        ]

    def _outside(self, page: Page, size: int) -> None:
        if any(line.text.strip() for line in page.lines):
            detail = "text outside the pages of an RMF report: no line before it has system, date and interval"
            self._batch.quarantined.append(Quarantined(page.lines[0].offset, size, "text_outside_report", detail))
        else:
            self._batch.framing_bytes += size

    def take(self) -> Batch:
        """A batch of the reports completed since the last call."""
        batch, self._batch = self._batch, Batch()
        batch.tables = self.builder.take_complete()
        if self._lines:
            batch.tables["report_line"] = of_rows(self._lines, LINE_SCHEMA)
            self._lines = []
        return batch
