"""From rows by section to the Arrow tables the codec encodes."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ingest.layout import Field, Section
from ingest.registry import Registry
from model.lab.errors import LabError
from model.lab.records.common import Record


def to_tables(records: Iterable[Record], registry: Registry) -> dict[str, pa.Table]:
    """Tables by name for `ingest.formats.smf.encode_dump`; `record_seq` counts the records in the order given.

    A table has the columns its rows name; where one row names a column that another does not, the other holds zero or a
    blank, or NULL where the field is there under a condition only. Lengths and triplets are left to the encoder. Raises
    LabError for a layout, section or column the registry does not know.
    """
    layouts = {layout.name: layout for layout in registry.layouts}
    rows: dict[str, tuple[Section, list[dict[str, Any]]]] = {}
    for number, record in enumerate(records):
        if record.layout not in layouts:
            raise LabError(f"no layout {record.layout!r} in the registry")
        for name, entries in record.sections.items():
            try:
                section = layouts[record.layout].section(name)
            except KeyError as error:
                raise LabError(str(error)) from error
            table = rows.setdefault(section.table, (section, []))[1]
            for ordinal, entry in enumerate(entries):
                table.append({"record_seq": number, "section_seq": ordinal, **entry})
    return {name: _table(section, entries) for name, (section, entries) in rows.items()}


def _table(section: Section, rows: list[dict[str, Any]]) -> pa.Table:
    schema = section.arrow_schema()
    named = {column for row in rows for column in row}
    if not named <= set(schema.names):
        raise LabError(f"{section.table} has no column {', '.join(sorted(named - set(schema.names)))}")
    blanks = {field.column: _blank(field) for field in section.fields}
    return pa.table(
        {
            name: pa.array([row.get(name, blanks.get(name, 0)) for row in rows], type=schema.field(name).type)
            for name in schema.names
            if name in named
        }
    )


def _blank(field: Field) -> Any:
    """What a field holds when nothing is said of it; NULL for times, and for what a condition may rule out."""
    if field.when is not None:
        return None
    blanks = {"ebcdic": "", "ebcdic1047": "", "bytes": bytes(field.length), "hfp": 0.0}
    unset = {"packed_date", "tod", "stcke"}
    value = None if field.form.name in unset else blanks.get(field.form.name, 0)
    return [value] * field.count if field.count > 1 else value
