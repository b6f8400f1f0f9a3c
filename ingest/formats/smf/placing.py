"""Rows of sections that have been found and checked: where each stands, its keys, and the tables they make."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.tables import entries_table, rows_table
from ingest.formats.smf.kernels.locating import place_sections
from ingest.formats.smf.kernels.nesting import place_chained, place_pointed
from ingest.formats.smf.plan import Found, Plan
from ingest.layout import Layout, Section

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


def place_rows(
    plan: Plan,
    column: int,
    data: Bytes,
    starts: Ints,
    found: Found,
    owners: Ints,
    first: Ints,
    placed: Mapping[int, PlacedRows] | None = None,
) -> PlacedRows:
    """Places and keys of the rows of one of a plan's sections in records at `starts`, all without fault.

    owners and first: per record and section, record_seq of the rows and section_seq of the first; placed: rows of other
    sections by their column, if known.
    """
    section, nest, counts = plan.sections[column], plan.nest(column), found.counts[:, column]
    rows = PlacedRows.empty(int(counts.sum()), nested=nest is not None)
    if nest is None:
        place_sections(data, starts, found, owners, first, column, section.walk == "length_prefixed", rows)
        return rows
    parents = (placed or {}).get(nest.parent)
    if parents is None:
        parents = place_rows(plan, nest.parent, data, starts, found, owners, first)
    of_record = np.repeat(np.arange(len(starts)), found.counts[:, nest.parent])
    above = (starts[of_record], parents, first[of_record, column])
    if section.walk == "chained":
        place_chained(data, *above, nest.code, nest.others, rows)
    else:
        place_pointed(data, *above, nest.triplet, nest.from_parent, rows)
    return rows


def tables_of(
    plan: Plan, data: Bytes, starts: Ints, found: Found, sequence: Ints, owners: Ints, first: Ints
) -> dict[str, pa.Table]:
    """Tables of the header and of every section of records at `starts`, all without fault, by name.

    sequence: record_seq of each record; owners and first as in `place_rows`.
    """
    header = plan.layout.header
    top = PlacedRows(starts, found.heads, sequence.astype(np.uint32), np.zeros(len(starts), np.uint32))
    tables = {header.table: top.table(header, data)}
    placed: dict[int, PlacedRows] = {}
    for column, section in enumerate(plan.sections):
        if not found.counts[:, column].any():
            continue
        rows = placed[column] = place_rows(plan, column, data, starts, found, owners, first, placed)
        selectors = _selectors(plan.layout, section, tables, rows) if section.selected_by else None
        tables[section.table] = rows.table(section, data, selectors)
        for part in (part for part in plan.layout.repeated if part.parent == section.name):
            entries = entries_table(part, data, rows.at, rows.limits, rows.record_seq, rows.section_seq)
            if entries.num_rows:
                tables[part.table] = entries
    return {section.table: tables[section.table] for section in plan.layout.sections if section.table in tables}


def _selectors(layout: Layout, section: Section, tables: Mapping[str, pa.Table], rows: PlacedRows) -> dict[str, Ints]:
    """What the rows of another section that hold the numbers of these say in the fields that conditions name.

    It is 0 for rows whose number no row holds.
    """
    assert section.selected_by is not None
    other, index = layout.section(section.selected_by[0]), section.selected_by[1]
    found = {name: np.zeros(len(rows.at), np.int64) for name in section.selectors_elsewhere}
    if other.table not in tables:
        return found
    table = tables[other.table]

    def numbers(name: str) -> Ints:
        return table[other.by_name(name).column].fill_null(0).to_numpy().astype(np.int64)

    known = table["record_seq"].to_numpy().astype(np.int64) << 32 | numbers(index)
    order = np.argsort(known, kind="stable")
    wanted = rows.record_seq.astype(np.int64) << 32 | (rows.section_seq.astype(np.int64) + 1)
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)]
    held = known[place] == wanted
    for name, values in found.items():
        values[held] = numbers(name)[place[held]]
    return found
