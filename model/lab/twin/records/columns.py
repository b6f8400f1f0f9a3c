"""Sections of many records as columns, and the parts that all records of an interval share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.registry import Registry
from model.lab.records.common import Column, Setting, Span, rmf_product, standard_header


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
