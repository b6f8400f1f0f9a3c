"""Writing sections that other sections place: by a triplet in the parent, or as entries of a chain behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.rows import EncodeError, Ints, Rows, field_arrays, section_rows
from ingest.codec.values import big_endian, valid_rows
from ingest.kernels.writing import scatter
from ingest.layout import Section

Bytes = npt.NDArray[np.uint8]

LENGTH_WIDTH, TYPE_OFFSET = 2, 2
"""An entry of a chain starts with its length in two bytes, then its type in one."""


@dataclass(slots=True)
class NestedRows:
    """Rows of a nested section.

    parent: the rows that place them; above: the same as nested rows, None where the header places them; owner: the
    parent row of each; prefix_lengths: bytes of each parent row before a chain; bases, steps and counts: per parent
    row, where its rows start in the record, how long one is, how many there are; parents_at: offset of each parent row.
    """

    rows: Rows
    parent: Rows
    above: "NestedRows | None"
    owner: Ints
    prefix_lengths: Ints
    bases: Ints
    steps: Ints
    counts: Ints
    parents_at: Ints

    def write_computed(self, data: Bytes, starts: Ints, at: Ints) -> None:
        """Write what encoding computes: the triplets in the parents, or lengths and types of a chain's entries."""
        section = self.rows.section
        part = section.triplet
        if part is None:
            self._put(data, at, 0, LENGTH_WIDTH, self.rows.lengths)
            if section.code is not None:
                self._put(data, at, TYPE_OFFSET, 1, np.full(len(at), section.code))
            self._put(data, starts[self.parent.record] + self.parents_at, 0, LENGTH_WIDTH, self.prefix_lengths)
            return
        place = starts[self.parent.record] + self.parents_at
        offsets = self.bases - (self.parents_at if part.base == "section" else 0)
        present = self.counts > 0
        at_length, at_count = part.position + part.offset_width, part.end - part.count_width
        self._put(data, place[present], part.position, part.offset_width, offsets[present])
        self._put(data, place[present], at_length, part.length_width, self.steps[present])
        self._put(data, place, at_count, part.count_width, self.counts)

    def places(self) -> tuple[Ints, Ints]:
        """Where each row stands in its record, and how long it is."""
        lengths = self.rows.lengths
        first = np.searchsorted(self.owner, self.owner, side="left")
        if self.rows.section.triplet is None:
            before = np.cumsum(lengths) - lengths
            return self.parents_at[self.owner] + self.bases[self.owner] + before - before[first], lengths
        index = np.arange(len(self.owner)) - first
        return self.bases[self.owner] + index * self.steps[self.owner], self.steps[self.owner]

    @staticmethod
    def _put(data: Bytes, at: Ints, offset: int, width: int, numbers: Ints) -> None:
        scatter(data, at, np.full(len(at), offset + width), offset, big_endian(numbers.astype(np.uint64), width))


def nested_rows(
    section: Section, table: pa.Table, sequence: Ints, parents: Mapping[str, Rows], nests: Iterable[NestedRows]
) -> NestedRows:
    """The rows of a nested section, each with the parent row that its `parent_seq` names.

    parents: by name, the rows that the header places; nests: the nested rows made so far.
    """
    above = next((nest for nest in nests if nest.rows.section.name == section.parent), None)
    parent = above.rows if above is not None else parents.get(section.parent)
    if parent is None or "parent_seq" not in table.column_names:
        missing = "the column parent_seq" if parent is not None else f"the table of its parent, {section.parent},"
        raise EncodeError(f"{section.table}: {missing} is missing")
    rows = section_rows(section, table, sequence)
    owner = _owners(rows, parent)
    if (np.diff(owner) < 0).any():
        raise EncodeError(f"{section.table}: parent_seq falls while section_seq rises")
    counts = np.bincount(owner, minlength=len(parent.record)).astype(np.int64)
    prefix_lengths, bases, steps, parents_at = (np.zeros(len(parent.record), np.int64) for _ in range(4))
    return NestedRows(rows, parent, above, owner, prefix_lengths, bases, steps, counts, parents_at)


def _owners(rows: Rows, parent: Rows) -> Ints:
    """The row of the parent that each row names by its `parent_seq`."""
    ordinal = rows.table["parent_seq"].to_numpy().astype(np.int64)
    owner = np.searchsorted(parent.record, rows.record) + ordinal
    has_parent = owner < len(parent.record)
    has_parent[has_parent] = parent.record[owner[has_parent]] == rows.record[has_parent]
    if not has_parent.all():
        raise EncodeError(
            f"{rows.section.table}: parent_seq {ordinal[~has_parent][0]} has no row in {parent.section.table}"
        )
    return owner


@dataclass(slots=True)
class EntryRows:
    """Rows of a repeated section: the row of the parent that each stands in, and which of its entries it is."""

    rows: Rows
    parent: Rows
    owner: Ints
    entry: Ints

    @classmethod
    def of(cls, section: Section, table: pa.Table, sequence: Ints, parent: Rows | None) -> "EntryRows":
        """The rows of a table; rows of the parent are made long enough for them. Raises EncodeError."""
        if parent is None:
            raise EncodeError(f"{section.table}: the table of its parent, {section.parent}, is missing")
        for name in ("parent_seq", "entry_seq"):
            if name not in table.column_names:
                raise EncodeError(f"{section.table}: the column {name} is missing")
        rows = section_rows(section, table, sequence)
        owner, entry = _owners(rows, parent), rows.table["entry_seq"].to_numpy().astype(np.int64)
        if (entry >= section.entries).any():
            raise EncodeError(f"{section.table}: entry_seq {entry.max()}, the layout has {section.entries} entries")
        places, counts = np.unique(owner * section.entries + entry, return_counts=True)
        if (counts > 1).any():
            twice = places[counts > 1][0] % section.entries
            raise EncodeError(f"{section.table}: entry_seq {twice} is there twice for one parent_seq")
        for item in section.fields:
            column, raw = field_arrays(rows.table, item)
            if column is not None:
                ends = np.where(valid_rows(item, column, raw), item.end + entry * item.stride, 0)
                np.maximum.at(parent.lengths, owner, ends)
        return cls(rows, parent, owner, entry)


def make_room(nests: Iterable[NestedRows]) -> None:
    """Make parent rows long enough for the triplets they hold and the chains that follow them."""
    chained = []
    for nest in nests:
        part = nest.rows.section.triplet
        if part is None:
            chained.append(nest)
        else:
            nest.parent.lengths[nest.counts > 0] = np.maximum(nest.parent.lengths, part.end)[nest.counts > 0]
    for nest in chained:
        nest.prefix_lengths = nest.parent.lengths.copy()
    for nest in chained:
        nest.bases = nest.parent.lengths.copy()
        np.add.at(nest.parent.lengths, nest.owner, nest.rows.lengths)


def place_behind(nest: NestedRows, offsets: Ints, steps: Ints, lengths: Ints) -> Ints:
    """Place nested rows; returns the records' new lengths.

    offsets and steps: where the parents' rows start in each record and how long one is, if the header places them. What
    triplets place goes to the end of the record, one parent's rows after another's.
    """
    record = nest.parent.record
    nest.parents_at = nest.above.places()[0] if nest.above else offsets[record] + nest.parent.index * steps[record]
    if nest.rows.section.triplet is None:
        return lengths
    np.maximum.at(nest.steps, nest.owner, nest.rows.lengths)
    sizes = nest.counts * nest.steps
    before = np.cumsum(sizes) - sizes
    first = np.searchsorted(record, record, side="left")
    nest.bases = lengths[record] + before - before[first]
    longer = lengths.copy()
    np.add.at(longer, record, sizes)
    return longer
