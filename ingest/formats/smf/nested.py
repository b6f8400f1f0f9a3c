"""Writing sections that other sections place: by a triplet of their own, or as entries of a chain behind them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.rows import EncodeError, Ints, Rows, section_rows
from ingest.codec.values import big_endian
from ingest.kernels.writing import scatter
from ingest.layout import Section

Bytes = npt.NDArray[np.uint8]

LENGTH_WIDTH, TYPE_OFFSET = 2, 2
"""An entry of a chain starts with its length in two bytes, then its type in one."""


@dataclass(slots=True)
class NestedRows:
    """Rows of a nested section.

    parent: the rows that place them; owner: the parent row of each; own: bytes of each parent row before a chain;
    bases, steps and counts: per parent row, where its rows start in the record, how long one is, how many there are.
    """

    rows: Rows
    parent: Rows
    owner: Ints
    own: Ints
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
            self._put(data, starts[self.parent.record] + self.parents_at, 0, LENGTH_WIDTH, self.own)
            return
        place = starts[self.parent.record] + self.parents_at
        offsets = self.bases - (self.parents_at if part.base == "section" else 0)
        present = self.counts > 0
        at_length, at_count = part.position + part.offset_width, part.end - part.count_width
        self._put(data, place[present], part.position, part.offset_width, offsets[present])
        self._put(data, place[present], at_length, part.length_width, self.steps[present])
        self._put(data, place, at_count, part.count_width, self.counts)

    @staticmethod
    def _put(data: Bytes, at: Ints, offset: int, width: int, numbers: Ints) -> None:
        scatter(data, at, np.full(len(at), offset + width), offset, big_endian(numbers.astype(np.uint64), width))


def nested_rows(section: Section, table: pa.Table, sequence: Ints, parents: Mapping[str, Rows]) -> NestedRows:
    """The rows of a nested section, each with the parent row that its `parent_seq` names."""
    parent = parents.get(section.parent)
    if parent is None or "parent_seq" not in table.column_names:
        missing = "the column parent_seq" if parent is not None else f"the table of its parent, {section.parent},"
        raise EncodeError(f"{section.table}: {missing} is missing")
    rows = section_rows(section, table, sequence)
    ordinal = rows.table["parent_seq"].to_numpy().astype(np.int64)
    owner = np.searchsorted(parent.record, rows.record) + ordinal
    known = owner < len(parent.record)
    known[known] = parent.record[owner[known]] == rows.record[known]
    if not known.all():
        raise EncodeError(f"{section.table}: parent_seq {ordinal[~known][0]} has no row in {parent.section.table}")
    if (np.diff(owner) < 0).any():
        raise EncodeError(f"{section.table}: parent_seq falls while section_seq rises")
    counts = np.bincount(owner, minlength=len(parent.record)).astype(np.int64)
    zeros = np.zeros(len(parent.record), np.int64)
    return NestedRows(rows, parent, owner, parent.lengths.copy(), zeros, zeros.copy(), counts, zeros.copy())


def make_room(parents: Iterable[Rows], nests: Iterable[NestedRows]) -> None:
    """Make parent rows long enough for the triplets they hold and the chains that follow them."""
    chained: dict[str, list[NestedRows]] = {}
    for nest in nests:
        part = nest.rows.section.triplet
        if part is None:
            chained.setdefault(nest.parent.section.name, []).append(nest)
        else:
            nest.parent.lengths[nest.counts > 0] = np.maximum(nest.parent.lengths, part.end)[nest.counts > 0]
    for parent in parents:
        for nest in chained.get(parent.section.name, []):
            nest.bases = parent.lengths.copy()
            np.add.at(parent.lengths, nest.owner, nest.rows.lengths)


def place_behind(nest: NestedRows, offsets: Ints, steps: Ints, lengths: Ints) -> Ints:
    """Place nested rows, given offset and length of their parents per record; returns the records' new lengths.

    What triplets place goes to the end of the record, one parent's rows after another's.
    """
    record = nest.parent.record
    nest.parents_at = offsets[record] + nest.parent.index * steps[record]
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


def write_nested(data: Bytes, nest: NestedRows, starts: Ints) -> tuple[Ints, Ints]:
    """Where each nested row stands in the buffer, and how long it is."""
    place = starts[nest.rows.record]
    if nest.rows.section.triplet is None:
        before = np.cumsum(nest.rows.lengths) - nest.rows.lengths
        first = np.searchsorted(nest.owner, nest.owner, side="left")
        return place + nest.parents_at[nest.owner] + nest.bases[nest.owner] + before - before[first], nest.rows.lengths
    index = np.arange(len(nest.owner)) - np.searchsorted(nest.owner, nest.owner, side="left")
    return place + nest.bases[nest.owner] + index * nest.steps[nest.owner], nest.steps[nest.owner]
