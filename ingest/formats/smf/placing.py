"""Rows of checked sections: where each stands, its keys, and the tables they make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.tables import entries_table, rows_table
from ingest.formats.smf.kernels.locating import place_sections
from ingest.formats.smf.kernels.nesting import place_chained, place_pointed
from ingest.formats.smf.plan import Plan, SectionSpans
from ingest.layout import Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class PlacedRows(NamedTuple):
    """Where the rows of one table stand, how long each is, and their keys; parent_seq only of nested sections."""

    at: Ints
    limits: Ints
    record_seq: npt.NDArray[np.uint32]
    section_seq: npt.NDArray[np.uint32]
    parent_seq: npt.NDArray[np.uint32] = np.empty(0, np.uint32)

    @classmethod
    def empty(cls, rows: int, *, nested: bool) -> "PlacedRows":
        """Room for the places and keys of rows."""
        at, limits = np.empty(rows, np.int64), np.empty(rows, np.int64)
        record_seq, section_seq = np.empty(rows, np.uint32), np.empty(rows, np.uint32)
        return cls(at, limits, record_seq, section_seq, np.empty(rows if nested else 0, np.uint32))

    def table(self, section: Section, data: Bytes, selectors: Mapping[str, Ints] | None = None) -> pa.Table:
        """The section's table of these rows."""
        keys = (self.record_seq, self.section_seq, self.parent_seq if section.parent else None)
        return rows_table(section, data, self.at, self.limits, *keys, selectors)

    def where(self, chosen: npt.NDArray[np.bool_]) -> "PlacedRows":
        """Some of the rows."""
        parents = self.parent_seq[chosen] if len(self.parent_seq) else self.parent_seq
        return PlacedRows(
            self.at[chosen], self.limits[chosen], self.record_seq[chosen], self.section_seq[chosen], parents
        )


@dataclass(frozen=True, slots=True)
class Maker:
    """A table that is to be made: its section, about how many bytes of the records it takes, and what makes it."""

    section: Section
    size: int
    rows: PlacedRows
    _table: Callable[[PlacedRows], pa.Table]

    def make(self) -> tuple[pa.Table, dict[int, str]]:
        """The table, and by record_seq, of which records no rows could be made, and why not."""
        try:
            return self._table(self.rows), {}
        except MemoryError:
            raise
        except Exception as error:
            records = np.unique(self.rows.record_seq)
            if len(records) == 1:
                text = f"{self.section.title}: no row can be made of it ({type(error).__name__}: {error})"
                return self.section.schema.empty_table(), {int(records[0]): text}
            lower = self.rows.record_seq < records[len(records) // 2]
            parts = [replace(self, rows=self.rows.where(chosen)).make() for chosen in (lower, ~lower)]
            return pa.concat_tables([table for table, _ in parts]), parts[0][1] | parts[1][1]


def place_rows(
    plan: Plan,
    column: int,
    data: Bytes,
    starts: Ints,
    spans: SectionSpans,
    owners: Ints,
    first: Ints,
    placed: Mapping[int, PlacedRows] | None = None,
) -> PlacedRows:
    """Places and keys of the rows of one of a plan's sections in records at `starts`, all without fault.

    owners and first: per record and section, record_seq of the rows and section_seq of the first; placed: rows of other
    sections by their column, if made.
    """
    section, nest, counts = plan.sections[column], plan.nest(column), spans.counts[:, column]
    rows = PlacedRows.empty(int(counts.sum()), nested=nest is not None)
    if nest is None:
        place_sections(data, starts, spans, owners, first, column, section.walk == "length_prefixed", rows)
        return rows
    parents = (placed or {}).get(nest.parent)
    if parents is None:
        parents = place_rows(plan, nest.parent, data, starts, spans, owners, first)
    of_record = np.repeat(np.arange(len(starts)), spans.counts[:, nest.parent])
    above = (starts[of_record], parents, first[of_record, column])
    if section.walk == "chained":
        place_chained(data, *above, nest.code, nest.others, rows)
    else:
        place_pointed(data, *above, nest.triplet, nest.from_parent, rows)
    return rows


def tables_of(
    plan: Plan, data: Bytes, starts: Ints, spans: SectionSpans, sequence: Ints, owners: Ints, first: Ints
) -> dict[str, Maker]:
    """Makers of the tables of the header and of every section of records at `starts`, all without fault, by name.

    sequence: record_seq of each record; owners and first as in `place_rows`. The tables of repeated sections may be
    without rows.
    """
    layout = plan.layout
    header = PlacedRows(starts, spans.heads, sequence.astype(np.uint32), np.zeros(len(starts), np.uint32))

    def maker(section: Section, rows: PlacedRows) -> Maker:
        return Maker(section, len(rows.at) * section.length, rows, lambda part: part.table(section, data))

    makers = {layout.header.table: maker(layout.header, header)}
    placed: dict[int, PlacedRows] = {}
    for column, section in enumerate(plan.sections):
        if not spans.counts[:, column].any():
            continue
        rows = placed[column] = place_rows(plan, column, data, starts, spans, owners, first, placed)
        makers[section.table] = whole = maker(section, rows)
        if section.selected_by:
            other = layout.section(section.selected_by[0])
            by = placed.get(plan.sections.index(other))
            makers[section.table] = replace(whole, _table=partial(_selected, section, other, data, by))
        for part in (part for part in layout.repeated if part.parent == section.name):
            makers[part.table] = replace(whole, section=part, _table=partial(_entries, part, data))
    return {section.table: makers[section.table] for section in layout.sections if section.table in makers}


def _entries(section: Section, data: Bytes, rows: PlacedRows) -> pa.Table:
    """The table of a repeated section whose entries stand in these rows of its parent."""
    return entries_table(section, data, rows.at, rows.limits, rows.record_seq, rows.section_seq)


def _selected(section: Section, other: Section, data: Bytes, by: PlacedRows | None, rows: PlacedRows) -> pa.Table:
    """The table of a section whose rows are selected by conditions on fields of another section.

    A field is 0 for rows whose number no row of the other section holds.
    """
    assert section.selected_by is not None
    selectors = {name: np.zeros(len(rows.at), np.int64) for name in section.selectors_elsewhere}
    if by is not None:
        table = by.table(other, data)

        def numbers(name: str) -> Ints:
            return table[other.by_name(name).column].fill_null(0).to_numpy().astype(np.int64)

        keys = by.record_seq.astype(np.int64) << 32 | numbers(section.selected_by[1])
        order = np.argsort(keys, kind="stable")
        wanted = rows.record_seq.astype(np.int64) << 32 | (rows.section_seq.astype(np.int64) + 1)
        place = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
        matches = keys[place] == wanted
        for name, values in selectors.items():
            values[matches] = numbers(name)[place[matches]]
    return rows.table(section, data, selectors)
