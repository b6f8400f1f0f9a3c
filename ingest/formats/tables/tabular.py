"""Performance-analyzer, load-driver and collector tables, as CSV or JSON Lines: known columns typed, every column kept.

Which file is of which kind, and which columns are known by which names, is data (`tabular.toml`).
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, BinaryIO

import pyarrow as pa
import tomli as tomllib

from ingest.arrays import of_rows
from ingest.batch import Batch, Quarantined, Unreadable
from ingest.formats.arrow import schema_of

MAX_LINE = 1 << 20
MAX_NAME = 256
"""Longest name of a column, or path in a JSON object: every value carries it."""

_FIELDS_PER_BATCH = 1 << 17
_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
# With semicolons between cells a comma may be the decimal one: where no thousand can end, or behind a zero, it is.
_DECIMAL_COMMA = re.compile(r"[+-]?(?:[\d.]*,(?!\d{3}$)\d+|0,\d+)")
_NO_VALUE = re.compile(r"[-–.*?#]+|n/?a|nan|null|none", re.IGNORECASE)
_TYPES = {"text": pa.string(), "number": pa.float64(), "utc": pa.timestamp("us")}

FIELD_SCHEMA = schema_of(
    "Every column of every row of performance-analyzer and load-driver tables, as printed.",
    [
        ("source", pa.string(), "Kind of the table, such as `ims_pa`, `cics_pa` or `load_driver`"),
        ("name", pa.string(), "Column as the header names it, or path in the JSON object"),
        ("value_text", pa.string(), "Value without surrounding blanks; NULL where empty"),
        ("value_num", pa.float64(), "Value where it is a number"),
    ],
)


@dataclass(frozen=True)
class Source:
    """One kind of table: the columns it needs, and those known as (name, header names, type, unit, meaning)."""

    kind: str
    table: str
    description: str
    needs: tuple[frozenset[str], ...]
    columns: tuple[tuple[str, tuple[str, ...], str, str, str], ...]


@cache
def sources() -> tuple[Source, ...]:
    """The kinds of table that `tabular.toml` describes."""
    text = files("ingest.formats.tables").joinpath("tabular.toml").read_text(encoding="utf-8")
    return tuple(
        Source(
            kind=entry["kind"],
            table=entry["table"],
            description=entry["description"],
            needs=tuple(frozenset(map(squeezed_name, choices)) for choices in entry["needs"]),
            columns=tuple(
                (name, tuple(dict.fromkeys(map(squeezed_name, names))), kind, unit, text)
                for name, names, kind, unit, text in entry["columns"]
            ),
        )
        for entry in tomllib.loads(text)["source"]
    )


def squeezed_name(name: str) -> str:
    """A header name without blanks, signs and case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def source_of(names: list[str]) -> Source | None:
    """The kind of a table with these column names, the one with most of them; None for others."""
    have = {squeezed_name(name) for name in names}
    fitting = [source for source in sources() if all(need & have for need in source.needs)]
    matches = [sum(bool(have & set(column[1])) for column in source.columns) for source in fitting]
    return fitting[matches.index(max(matches))] if fitting and max(matches) >= 3 else None


def identify_table(head: bytes) -> str | None:
    """Kind of table, such as `ims_pa` or `load_driver`, for the start of such a file; None for others."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0][:MAX_LINE].decode("utf-8", "replace").strip()
    source = source_of(_names(line))
    return source.kind if source else None


def read_table(stream: BinaryIO) -> Iterator[Batch]:
    """Batches of rows in file order. A line that cannot be read is quarantined; the others stand.

    Raises Unreadable when the first line has the columns of no kind of table.
    """
    reading: _Reading | None = None
    offset = 0
    while raw := stream.readline(MAX_LINE):
        text = raw.decode("utf-8-sig" if not offset else "utf-8", "replace").strip("\r\n")
        if reading is None:
            if text.strip():
                reading = _Reading(text, offset)
                if not reading.is_json:
                    reading.batch.framing_bytes += len(raw)
                    offset += len(raw)
                    continue
            else:
                yield Batch(framing_bytes=len(raw))
                offset += len(raw)
                continue
        reading.add(text, offset, len(raw))
        offset += len(raw)
        if reading.fields >= _FIELDS_PER_BATCH:
            yield reading.take()
    if reading is None:
        raise Unreadable("table_unknown", "no header line", offset)
    yield reading.take()


class _Reading:
    """One file on its way through: its header and the rows since the last batch."""

    def __init__(self, first: str, offset: int) -> None:
        self.is_json = first.lstrip().startswith("{")
        names = _names(first)
        source = source_of(names)
        if source is None:
            raise Unreadable(
                "table_unknown", "a table whose header names none of the columns that would tell its kind", offset
            )
        self._source = source
        self._delimiter = _delimiter(first)
        self._names = names
        self._numbers = {name for column in source.columns if column[2] == "number" for name in column[1]}
        self._row = 0
        self._typed: list[dict[str, Any]] = []
        self._fields: list[dict[str, Any]] = []
        self.batch = Batch()

    @property
    def fields(self) -> int:
        """How many values wait to be taken."""
        return len(self._fields)

    def add(self, text: str, offset: int, length: int) -> None:
        """Take in a line."""
        if not text.strip():
            self.batch.framing_bytes += length
            return
        try:
            pairs = _json_pairs(text) if self.is_json else self._csv_pairs(text)
        except (ValueError, csv.Error, RecursionError) as error:
            self.batch.quarantined.append(Quarantined(offset, length, "row_malformed", f"row {self._row}: {error}"))
            return
        self._keep(pairs)
        self.batch.decoded += 1
        self.batch.decoded_bytes += length

    def _csv_pairs(self, text: str) -> list[tuple[str, str | None]]:
        cells = next(csv.reader([text], delimiter=self._delimiter, strict=True))
        extra = len(cells) - len(self._names)
        # Extracts end their rows, but not their header, with a delimiter.
        if extra == 1 and not cells[-1].strip():
            cells.pop()
        elif extra:
            raise ValueError(
                f"{len(cells)} value{'' if len(cells) == 1 else 's'}, the header has {len(self._names)} columns; "
                f"export the table again, with values that hold {self._delimiter!r} or line ends in quotes"
            )
        pairs = [(name, cell.strip() or None) for name, cell in zip(self._names, cells, strict=True)]
        if self._delimiter == ";":
            self._refuse_decimal_commas(pairs)
        return pairs

    def _refuse_decimal_commas(self, pairs: list[tuple[str, str | None]]) -> None:
        for name, text in pairs:
            if text and squeezed_name(name) in self._numbers and _DECIMAL_COMMA.fullmatch(text):
                raise ValueError(f"column {name}: {text!r} has a decimal comma; export the table with decimal points")

    def _keep(self, pairs: list[tuple[str, str | None]]) -> None:
        by_name: dict[str, tuple[str, str | None]] = {}
        for place, (name, text) in enumerate(pairs):
            column_name = name.rsplit(".", 1)[-1] if self.is_json else name
            by_name.setdefault(squeezed_name(column_name), (name, text))
            self._fields.append(
                {
                    "record_seq": self._row,
                    "section_seq": place,
                    "source": self._source.kind,
                    "name": name,
                    "value_text": text,
                    "value_num": number(text),
                }
            )
        row: dict[str, Any] = {"record_seq": self._row, "section_seq": 0}
        for column, names, kind, unit, _ in self._source.columns:
            name, text = next((by_name[choice] for choice in names if choice in by_name), ("", None))
            if kind == "number":
                value = number(text)
                row[column] = value / 1000 if value is not None and unit == "s" and _milliseconds(name) else value
            elif kind == "utc":
                row[column] = utc(text)
            else:
                row[column] = text
            if text and row[column] is None and not _NO_VALUE.fullmatch(text):
                self._note(name, text, "number" if kind == "number" else "ISO 8601 time")
        self._typed.append(row)
        self._row += 1

    def _note(self, name: str, text: str, wanted: str) -> None:
        batch = self.batch
        batch.notes["value_unreadable"] += 1
        batch.message = batch.message or (
            f"row {self._row}, column {name}: {text[:40]!r} is no {wanted}; NULL there, it is kept in report_field"
        )

    def take(self) -> Batch:
        """The rows since the last call."""
        batch, self.batch = self.batch, Batch()
        if self._typed:
            batch.tables = {
                self._source.table: of_rows(self._typed, schemas()[self._source.table]),
                "report_field": of_rows(self._fields, FIELD_SCHEMA),
            }
            self._typed, self._fields = [], []
        return batch


def number(text: str | None) -> float | None:
    """Value of a number, with commas between thousands or without; None for other text or beyond a double."""
    if not text or len(text) > 64 or not any(c.isdigit() for c in text) or not _NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", ""))
    return value if abs(value) < float("inf") else None


def utc(text: str | None) -> datetime | None:
    """UTC time, without offset, of an ISO 8601 date and time; None for other text."""
    try:
        moment = datetime.fromisoformat(text or "")
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _milliseconds(name: str) -> bool:
    """True for a header name that says milliseconds, such as `avg_ms` or `Average (ms)`."""
    return re.search(r"(?:^|[^a-z])ms\)?$", name.strip().lower()) is not None


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _names(first: str) -> list[str]:
    if first.lstrip().startswith("{"):
        try:
            return [name.rsplit(".", 1)[-1] for name, _ in _json_pairs(first)]
        except (ValueError, RecursionError):
            return []
    try:
        names = [name.strip() for name in next(csv.reader([first], delimiter=_delimiter(first), strict=True), [])]
    except csv.Error:
        return []
    return names if all(len(name) <= MAX_NAME for name in names) else []


def _json_pairs(text: str) -> list[tuple[str, str | None]]:
    """Path and printed value of every leaf of a JSON object. Raises ValueError."""
    document = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    pairs = list(_leaves("", document))
    for pair in pairs:
        # Half of a surrogate pair is a text to JSON, but none to anybody else.
        "".join(filter(None, pair)).encode()
    return pairs


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str | None]]:
    if len(path) > MAX_NAME:
        raise ValueError(f"a name of more than {MAX_NAME} characters")
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}.{place}", inner)
    else:
        text = json.dumps(value) if isinstance(value, bool) else None if value is None else str(value).strip()
        yield path, text or None


@cache
def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of every table of this module, by name, without `file_id`."""
    tables = {"report_field": FIELD_SCHEMA}
    for source in sources():
        columns = [
            (name, _TYPES[kind], f"{text}{f' ({unit})' if unit else ''}")
            for name, _, kind, unit, text in source.columns
        ]
        tables[source.table] = schema_of(source.description, columns)
    return tables
