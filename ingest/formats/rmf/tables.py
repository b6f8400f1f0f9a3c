"""The tables RMF reports become: heads, tidy values and messages, and the typed ones that data files describe."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa
import tomli as tomllib

from ingest.formats.rmf import values

_DATA_FILES = ("tables.toml", "monitor3.toml")

#: Between the part of a report, its row and its label in the source of a column.
SEPARATOR = " > "

_KEYS = [
    ("record_seq", pa.uint32(), "Ordinal of the report in the file, from 0"),
    ("section_seq", pa.uint32(), "Ordinal of the row within the report, from 0"),
]

_TEXT = pa.string()
_WHEN = pa.timestamp("us")

_FIXED: dict[str, tuple[str, list[tuple[str, pa.DataType, str]]]] = {
    "rmf_report": (
        "One row per RMF report and interval, in any format.",
        [
            *_KEYS,
            ("form", _TEXT, "`xml` or `json`, or `text` for a printed report"),
            ("report", _TEXT, "Metric id of the report, such as CPU or WLMGL"),
            ("report_option", _TEXT, "Option of the report, such as WGPER"),
            ("description", _TEXT, "Title of the report"),
            ("report_type", _TEXT, "Interval or Duration"),
            ("resource_name", _TEXT, "System or sysplex reported on, as printed"),
            ("resource_type", _TEXT, "SYSTEM or SYSPLEX"),
            ("system_name", _TEXT, "System, if the report is about one system"),
            ("sysplex_name", _TEXT, "Sysplex, if the report is about a sysplex"),
            ("interval_start_local", _WHEN, "Start of the interval, local time"),
            ("interval_end_local", _WHEN, "End of the interval, local time"),
            ("interval_start_utc", _WHEN, "Start of the interval, UTC; NULL if the report has no UTC offset"),
            ("interval_end_utc", _WHEN, "End of the interval, UTC; NULL if the report has no UTC offset"),
            ("interval_s", pa.float64(), "Length of the interval in seconds"),
            ("interval_text", _TEXT, "Length of the interval as printed"),
            ("cycle_ms", pa.float64(), "Sampling cycle in milliseconds"),
            ("smf_version", _TEXT, "Release of z/OS that wrote the data"),
            ("rmf_version", _TEXT, "Release of RMF that made the report"),
            ("server_name", _TEXT, "Server that answered"),
            ("server_version", _TEXT, "Release of that server"),
            ("server_functionality", _TEXT, "Functionality level of that server"),
            ("server_platform", _TEXT, "Platform of that server"),
            ("message_id", _TEXT, "Id of the message, where the reply carries one about the report as a whole"),
            ("message_text", _TEXT, "Text of that message"),
            ("message_severity", pa.int64(), "Severity of that message"),
            ("status", _TEXT, "`data`, or `message` where the reply holds only a message"),
        ],
    ),
    "rmf_value": (
        "Every value of every report as one row: variables (`row_label` NULL) and table cells.",
        [
            ("record_seq", pa.uint32(), "Ordinal of the report in the file, from 0"),
            ("section_seq", pa.uint32(), "Ordinal of the segment within the report, from 0"),
            ("section", _TEXT, "Name of the segment"),
            ("part", _TEXT, "Name of the part of the segment"),
            ("table_seq", pa.uint32(), "Ordinal of the table or variable list within the report, from 0"),
            ("row_seq", pa.uint32(), "Ordinal of the row or variable within its table, from 0"),
            ("column_seq", pa.uint32(), "Ordinal of the column within the row, from 0"),
            ("row_label", _TEXT, "Text of the first cell of the row"),
            ("row_type", _TEXT, "SUM for a total line"),
            ("column_label", _TEXT, "Column header or name of the variable"),
            ("value_text", _TEXT, "Value as printed, without surrounding white space; NULL where empty"),
            ("value_num", pa.float64(), "Value where it is a plain number"),
        ],
    ),
    "rmf_message": (
        "Messages in RMF XML replies: about the request, about a report, or in place of a segment's data.",
        [
            ("record_seq", pa.uint32(), "Ordinal of the report; NULL for messages about the whole reply"),
            ("section_seq", pa.uint32(), "Ordinal of the message within the file, from 0"),
            ("section", _TEXT, "Segment the message stands in"),
            ("message_id", _TEXT, "Id of the message"),
            ("message_text", _TEXT, "Text of the message"),
            ("message_severity", pa.int64(), "Severity"),
        ],
    ),
}

_TYPES: dict[str, tuple[pa.DataType, Callable[[str | None], Any]]] = {
    "text": (pa.string(), lambda text: text),
    "number": (pa.float64(), values.number),
    "integer": (pa.int64(), values.integer),
    "duration_us": (pa.int64(), values.duration_us),
    "count": (pa.float64(), values.count),
}


@dataclass(frozen=True)
class TypedColumn:
    """A column of a typed table: where its text stands in the report and how it is read."""

    name: str
    source: str
    type: str
    unit: str
    description: str

    @property
    def arrow(self) -> pa.DataType:
        """Type of the column."""
        return _TYPES[self.type][0]

    def read(self, text: str | None) -> Any:
        """Value of the printed text; None where it says none or is not of the column's type."""
        return _TYPES[self.type][1](text)


@dataclass(frozen=True)
class TypedTable:
    """A typed table of one kind of report. `rows` is `detail`, `sum` or `segment`, `labels` `xml`, `dds` or `text` (see
    `tables.toml`)."""

    name: str
    report: str
    segments: tuple[str, ...]
    part: str | None
    rows: str
    description: str
    columns: tuple[TypedColumn, ...]
    labels: str = "xml"

    @property
    def sources(self) -> list[str]:
        """Where each column's text stands in the report."""
        return [column.source for column in self.columns]

    def match(self, report: str | None, segment: str) -> tuple[str, str] | None:
        """(kind, name) of a segment this table is made of, such as ("service_class", "STCHIGH"); None for others."""
        if report != self.report:
            return None
        for pattern in self.segments:
            prefix = pattern.removesuffix("*")
            if segment == pattern or (prefix != pattern and segment.startswith(prefix)):
                return prefix.strip().lower().replace(" ", "_"), segment[len(prefix) :].strip()
        return None


@cache
def typed_tables() -> tuple[TypedTable, ...]:
    """The typed tables that the data files describe. ValueError names a table or column that is not well-formed."""
    texts = [files("ingest.formats.rmf").joinpath(name).read_text(encoding="utf-8") for name in _DATA_FILES]
    return tuple(_typed_table(entry) for text in texts for entry in tomllib.loads(text)["table"])


def _typed_table(entry: dict[str, Any]) -> TypedTable:
    columns = tuple(TypedColumn(*column) for column in entry["columns"])
    for column in columns:
        if column.type not in _TYPES:
            raise ValueError(f"table {entry['name']}, column {column.name}: unknown type {column.type!r}")
    if entry["rows"] not in ("detail", "sum", "segment"):
        raise ValueError(f"table {entry['name']}: unknown rows {entry['rows']!r}")
    return TypedTable(
        name=entry["name"],
        report=entry["report"],
        segments=tuple(entry["segments"]),
        part=entry.get("part"),
        rows=entry["rows"],
        description=entry["description"],
        columns=columns,
        labels=entry.get("labels", "xml"),
    )


@cache
def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of every table read from RMF reports, by table name, without `file_id`.

    Schema metadata carries `description`; field metadata `description`, `unit` and `label` (its place).
    """
    tables: dict[str, pa.Schema] = {}
    for name, (description, columns) in _FIXED.items():
        tables[name] = pa.schema([_field(n, t, d) for n, t, d in columns], metadata={"description": description})
    for table in typed_tables():
        fields = [_field(n, t, d) for n, t, d in _KEYS]
        fields += [_field(c.name, _TYPES[c.type][0], c.description, c.unit, c.source) for c in table.columns]
        tables[table.name] = pa.schema(fields, metadata={"description": table.description})
    return tables


def _field(name: str, kind: pa.DataType, description: str, unit: str = "", label: str = "") -> pa.Field:
    metadata = {"description": description, "unit": unit, "label": label}
    return pa.field(name, kind, metadata={key: value for key, value in metadata.items() if value})
