"""Schemas of the tables that hold what reports other than RMF's own say."""

import pyarrow as pa

_KEYS = [
    ("record_seq", pa.uint32(), "Ordinal of the report, or of the row, in the file, from 0"),
    ("section_seq", pa.uint32(), "Ordinal within it, from 0"),
]


def schema_of(description: str, columns: list[tuple[str, pa.DataType, str]]) -> pa.Schema:
    """An Arrow schema whose metadata describe the table and its columns; keys first."""
    fields = [pa.field(name, kind, metadata={"description": text}) for name, kind, text in (*_KEYS, *columns)]
    return pa.schema(fields, metadata={"description": description})


_TEXT = pa.string()

LINE_SCHEMA = schema_of(
    "Lines of text reports without a layout, as printed, without carriage control.",
    [
        ("page", pa.int64(), "Page as printed, or its ordinal in the report"),
        ("line", pa.int64(), "Ordinal of the line behind the head of its page, from 0"),
        ("reason", _TEXT, "`unknown_line` in a report with a layout, `unknown_report` in others"),
        ("text", _TEXT, "The line"),
    ],
)
