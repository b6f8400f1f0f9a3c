"""CICS statistics listings (DFHSTUP, DFH0STAT) → one row per value: which region, which statistics, label, value.

Label lines have the form `label . . . . : value`, one or more to a line; of tables with known columns every cell is
such a value.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, BinaryIO

import pyarrow as pa
import tomli as tomllib

from ingest.arrays import of_rows
from ingest.batch import Batch, Unreadable
from ingest.formats.arrow import LINE_SCHEMA, schema_of
from ingest.formats.cics.quantities import quantity
from ingest.formats.printed.columns import TableReader, open_table
from ingest.formats.printed.document import Part
from ingest.formats.printed.layouts import Block, block_of, squeezed
from ingest.formats.printed.lines import HEAD_BYTES, MAX_PRINTED, Line, read_lines, text_form

_SIGN = re.compile(r"(?:\.\s?){2,}:(?=\s|$)|\s:(?=\s|$)")
_HEAD_0STAT = re.compile(
    r"Applid\s+(?P<applid>\S+)\s+Sysid\s+(?P<sysid>\S+)\s+Jobname\s+(?P<job>\S+).*?"
    r"(?P<date>\d\d/\d\d/\d{4}).*?(?P<time>\d\d:\d\d:\d\d)"
)
_HEAD_STUP = re.compile(r"COLLECTION DATE-TIME\s+(?P<date>\d\d/\d\d/\d{4})-(?P<time>\d\d:\d\d:\d\d)")
_APPLID = re.compile(r"APPLID\s*[=:]?\s*(?P<applid>\S+)")
_JOB = re.compile(r"JOBNAME\s*[=:]?\s*(?P<job>\S+)")
_KIND = re.compile(r"(INTERVAL|END[- ]OF[- ]DAY|REQUESTED(?: RESET)?|UNSOLICITED|SUMMARY) (?:STATISTICS )?REPORT")
_RULE = re.compile(r"[\s\-=_+|*]*")
_LINES_PER_BATCH = 20_000

STATISTIC_SCHEMA = schema_of(
    "Values of CICS statistics listings (DFHSTUP, DFH0STAT), one row per value.",
    [
        ("applid", pa.string(), "Region"),
        ("jobname", pa.string(), "Its job"),
        ("collected_local", pa.string(), "Date and time of collection as printed (mm/dd/yyyy hh:mm:ss)"),
        (
            "report_kind",
            pa.string(),
            "Kind of statistics as printed, such as interval or end-of-day",
        ),
        ("section", pa.string(), "Heading above the value"),
        ("row_label", pa.string(), "First cell of the row, for values in tables"),
        ("label", pa.string(), "Label, or heading of the column"),
        ("value_text", pa.string(), "Value as printed"),
        (
            "quantity",
            pa.string(),
            "Kind of quantity: total, peak, level, limit, percentage, rate, average, cumulative (since the region's "
            "start) or moment",
        ),
        ("value_num", pa.float64(), "Value as a number, in its unit; NULL for moments and text"),
        ("unit", pa.string(), "Unit of the number: s, pct, bytes, 1/s or count"),
    ],
)


def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of the table of this module, without `file_id`."""
    return {"cics_statistic": STATISTIC_SCHEMA}


def is_statistics(head: bytes) -> bool:
    """True if the start of a file holds the head of a DFHSTUP or DFH0STAT page."""
    form = text_form(head)
    if form is None:
        return False
    text = head.decode(form.encoding, "replace")
    return bool(_HEAD_0STAT.search(text) or _HEAD_STUP.search(text))


def read_statistics(stream: BinaryIO) -> Iterator[Batch]:
    """Batches of values in file order. Lines that give no value are kept as `report_line`. Raises Unreadable."""
    form = text_form(stream.read(HEAD_BYTES))
    if form is None:
        raise Unreadable("text", "neither ASCII, UTF-8 nor EBCDIC text")
    stream.seek(0)
    reading = _Reading()
    for count, line in enumerate(read_lines(stream, form), 1):
        reading.add(line)
        if count % _LINES_PER_BATCH == 0:
            yield reading.take()
    yield reading.take(final=True)


@cache
def _tables() -> tuple[Block, ...]:
    text = files("ingest.formats.cics").joinpath("listing.toml").read_text(encoding="utf-8")
    return tuple(block_of(entry, "CICS statistics") for entry in tomllib.loads(text)["block"])


class _Reading:
    """State of one listing: whose page it is, the heading values stand below, and the table being read."""

    def __init__(self) -> None:
        self._head: dict[str, str | None] = {}
        self._section: str | None = None
        self._table: TableReader | None = None
        self._page = -1
        self._line = 0
        self._seq = 0
        self._unexplained = 0
        self._rows: list[dict[str, Any]] = []
        self._lines: list[dict[str, Any]] = []
        self._batch = Batch()
        self._started = False

    def add(self, line: Line) -> None:
        """Take in a line."""
        text = line.text
        if not text.strip():
            self._batch.framing_bytes += line.length
            return
        self._batch.decoded_bytes += line.length
        self._line += 1
        if self._begins_page(text) or _RULE.fullmatch(text) or self._is_heading(text):
            return
        short = text[:MAX_PRINTED]
        opened = next((table for block in _tables() if (table := open_table(block, short, Part()))), None)
        if opened is not None:
            self._table = opened
            return
        if self._table is not None and len(text) <= MAX_PRINTED and self._table.row(text):
            cells, _ = self._table.part.rows[-1]
            for label, cell in zip(self._table.part.labels[1:], cells[1:], strict=True):
                self._value(self._table.block.segment, cells[0], label, cell)
            return
        pairs = _pairs(text)
        for label, value in pairs:
            self._value(self._section, None, label, value)
        if not pairs:
            # A line without a value is the heading of the lines below it, and is kept as it is.
            self._section = text.strip()
            self._lines.append(
                {
                    "record_seq": max(self._page, 0),
                    "section_seq": self._unexplained,
                    "page": max(self._page, 0),
                    "line": self._line,
                    "reason": "unknown_line",
                    "text": text,
                }
            )
            self._unexplained += 1

    def _begins_page(self, text: str) -> bool:
        if len(text) > MAX_PRINTED:
            return False
        if match := _HEAD_0STAT.search(text):
            self._head = {name: match[name] for name in ("applid", "job", "date", "time")}
            self._head["kind"] = None
        elif match := _HEAD_STUP.search(text):
            applid, job, kind = _APPLID.search(text), _JOB.search(text), _KIND.search(text)
            self._head = {
                "date": match["date"],
                "time": match["time"],
                "applid": applid["applid"] if applid else self._head.get("applid"),
                "job": job["job"] if job else self._head.get("job"),
                "kind": kind[0] if kind else None,
            }
        else:
            return False
        self._page += 1
        self._batch.decoded += 1
        self._line, self._table = 0, None
        return True

    def _is_heading(self, text: str) -> bool:
        return any(squeezed(text) == squeezed(line) for block in _tables() for line in block.data.get("above", ()))

    def _value(self, section: str | None, row: str | None, label: str, value: str | None) -> None:
        date, time = self._head.get("date"), self._head.get("time")
        figure = quantity(label, value)
        self._rows.append(
            {
                "record_seq": max(self._page, 0),
                "section_seq": self._seq,
                "applid": self._head.get("applid"),
                "jobname": self._head.get("job"),
                "collected_local": f"{date} {time}" if date and time else None,
                "report_kind": self._head.get("kind"),
                "section": section,
                "row_label": row,
                "label": label,
                "value_text": value,
                "quantity": figure.kind,
                "value_num": figure.number,
                "unit": figure.unit,
            }
        )
        self._seq += 1

    def take(self, final: bool = False) -> Batch:
        """A batch of the lines read since the last call."""
        batch, self._batch = self._batch, Batch()
        if final and self._page < 0 and batch.decoded_bytes:
            batch.decoded = 1
        if self._rows:
            batch.tables["cics_statistic"] = of_rows(self._rows, STATISTIC_SCHEMA)
        if self._lines:
            batch.tables["report_line"] = of_rows(self._lines, LINE_SCHEMA)
        self._rows, self._lines = [], []
        return batch


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """Labels and values of a line of the form `label . . . : value`; none unless the whole line is such."""
    text = text.strip()
    if len(text) > MAX_PRINTED:
        return []
    pairs: list[tuple[str, str | None]] = []
    at, label = 0, ""
    for sign in _SIGN.finditer(text):
        between = text[at : sign.start()]
        if label:
            # Between two signs stand a value, a gap and the next label.
            value, gap, between = between.rpartition("  ")
            if not gap:
                return []
            pairs.append((label, value.strip() or None))
        label = re.sub(r"\s+", " ", between).strip(" .")
        if not label:
            return []
        at = sign.end()
    if label:
        pairs.append((label, text[at:].strip() or None))
    return pairs
