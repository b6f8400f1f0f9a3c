"""From rows by section, or from columns of many records, to the Arrow tables the codec encodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.layout import Field, Section
from ingest.registry import Registry
from model.lab.errors import LabError
from model.lab.records.common import Column, Record, Setting, Span, rmf_product, standard_header


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


class Columns:
    """Tables for `ingest.formats.smf.encode_dump`, gathered section by section."""

    def __init__(self, registry: Registry) -> None:
        self.schemas = {section.table: section.arrow_schema() for _, section in registry.tables()}
        self.parts: dict[str, list[pa.Table]] = {}

    def add(self, table: str, record: np.ndarray, columns: Mapping[str, Column], section: Column = 0) -> None:
        """Add a row for each of `record` (its record_seq), the `section`th of its kind in it; no rows, no section."""
        if len(record) == 0:
            return
        schema, n = self.schemas[table], len(record)
        arrays = {
            name: _array(values, n, schema.field(name).type)
            for name, values in {"record_seq": record, "section_seq": section, **columns}.items()
        }
        self.parts.setdefault(table, []).append(pa.table(arrays))

    def tables(self) -> dict[str, pa.Table]:
        """What was gathered, by table."""
        return {name: pa.concat_tables(parts, promote_options="default") for name, parts in self.parts.items()}


def _array(values: Column, n: int, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(np.ascontiguousarray(values)).cast(kind, safe=False)
    if isinstance(values, list):
        return pa.array(values, kind)
    return pa.repeat(pa.scalar(values, kind), n)


@dataclass(frozen=True, slots=True)
class Frame:
    """The recorded intervals of one system: where each record stands among all, and what all of them begin with."""

    setting: Setting
    spans: Sequence[Span]
    partition_number: int

    def header(self, columns: Columns, layout: str, prefix: str, kind: tuple[int, int], record: np.ndarray) -> None:
        """Header and product sections of RMF records, shape of `record` (intervals, records of each)."""
        self._each(columns, f"{layout}_header", record, lambda s: standard_header(self.setting, prefix, *kind, s.end))
        self._each(columns, f"{layout}_product", record, lambda s: self._product(prefix, s))

    def _product(self, prefix: str, span: Span) -> dict[str, Any]:
        return {**rmf_product(self.setting, prefix, span), f"{prefix}ptn": bytes([self.partition_number])}

    def _each(self, columns: Columns, table: str, record: np.ndarray, row: Callable[[Span], Mapping[str, Any]]) -> None:
        rows = [row(span) for span in self.spans]
        index = pa.array(np.repeat(np.arange(len(rows)), record.shape[1]))
        schema = columns.schemas[table]
        values = {name: pa.array([r[name] for r in rows], schema.field(name).type).take(index) for name in rows[0]}
        columns.add(table, record.ravel(), values)
