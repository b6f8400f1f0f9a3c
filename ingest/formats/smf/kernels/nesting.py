"""Compiled loops that find sections which other sections place, and prove that they lie inside their record.

To measure, parents are given in `Runs` of rows that follow one another, as they have been checked before; what has been
measured goes into a `plan.SectionSpans`, what is placed into `placing.PlacedRows`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.formats.smf.kernels.locating import NO_LENGTH, OUTSIDE, _number
from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_4

SHORTEST_ENTRY = 3
"""Bytes a chained entry has at least: its length (2) and its type (1)."""


class Runs(NamedTuple):
    """Rows that follow one another: record of each run, in rising order, offset of its first row, size and number."""

    record: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]


@kernel
def measure_pointed(data, starts, lengths, spans, runs, triplet, from_parent, fault, totals):
    """Check the triplets that parents hold, and count the sections that each run places.

    triplet: position in the parent, widths of offset, length and number; from_parent: offsets count from the parent,
    not from the record; fault: code of the section to put into the faults of `spans`, 4 times its number. Sections of
    one record must not take more bytes than the record has, so that no record makes more rows than it has bytes.
    """
    record, offset, size, count = runs
    heads, faults = spans.heads, spans.faults
    end = triplet[0] + triplet[1] + triplet[2] + triplet[3]
    room = np.int64(0)
    for r in range(record.shape[0]):
        i = record[r]
        totals[r] = 0
        if r == 0 or record[r - 1] != i:
            room = lengths[i]
        if faults[i] or end > size[r]:
            continue
        for k in range(count[r]):
            parent = offset[r] + k * size[r]
            place = starts[i] + parent + triplet[0]
            at = _number(data, place, triplet[1])
            length = _number(data, place + triplet[1], triplet[2])
            number = _number(data, place + triplet[1] + triplet[2], triplet[3])
            if number == 0 or at == 0:
                continue
            if length == 0:
                faults[i] = fault + NO_LENGTH
                break
            if from_parent:
                at += parent
            if at < heads[i] or at > lengths[i] or length > min(lengths[i] - at, room) // number:
                faults[i] = fault + OUTSIDE
                break
            room -= length * number
            totals[r] += number


@inlined
def _place(rows, row, at, length, parents, p, number):
    """Put down a row that parent p places: the one of this number in its record."""
    rows.at[row], rows.limits[row] = at, length
    rows.record_seq[row], rows.section_seq[row] = parents.record_seq[p], number
    rows.parent_seq[row] = parents.section_seq[p]


@kernel
def place_pointed(data, starts, parents, first, triplet, from_parent, rows):
    """Rows of every section that measured parents place.

    starts: start of the record of each parent row; first: section_seq of the first row of its record's sections of this
    kind.
    """
    end = triplet[0] + triplet[1] + triplet[2] + triplet[3]
    row = 0
    ordinal = np.int64(0)
    for p in range(starts.shape[0]):
        if p == 0 or starts[p] != starts[p - 1]:
            ordinal = first[p]
        if end > parents.limits[p]:
            continue
        place = parents.at[p] + triplet[0]
        offset = _number(data, place, triplet[1])
        length = _number(data, place + triplet[1], triplet[2])
        number = _number(data, place + triplet[1] + triplet[2], triplet[3])
        if number == 0 or offset == 0:
            continue
        base = parents.at[p] if from_parent else starts[p]
        for k in range(number):
            _place(rows, row, base + offset + k * length, length, parents, p, ordinal)
            ordinal += 1
            row += 1


@kernel
def _is_wanted(kind, code, others):
    """True for the type itself, or with code -1 for any type that is not among `others`."""
    if code >= 0:
        return kind == code
    is_other = False
    for other in others:
        is_other = is_other or kind == other
    return not is_other


@kernel
def measure_chained(data, starts, spans, runs, code, others, fault, totals):
    """Walk the entries behind each parent's first, which start with their length and type; count those of a type."""
    record, offset, size, count = runs
    faults = spans.faults
    for r in range(record.shape[0]):
        i = record[r]
        totals[r] = 0
        if faults[i]:
            continue
        for k in range(count[r]):
            place = starts[i] + offset[r] + k * size[r]
            end = place + size[r]
            is_parent = True
            while place + SHORTEST_ENTRY <= end:
                length = _number(data, place, 2)
                if length < SHORTEST_ENTRY:
                    break
                if length > end - place:
                    faults[i] = fault + OUTSIDE
                    break
                if not is_parent and _is_wanted(data[place + 2], code, others):
                    totals[r] += 1
                is_parent = False
                place += length
            if faults[i]:
                break


@kernel
def place_chained(data, starts, parents, first, code, others, rows):
    """The same as `place_pointed` for the entries of chains."""
    row = 0
    ordinal = np.int64(0)
    for p in range(starts.shape[0]):
        if p == 0 or starts[p] != starts[p - 1]:
            ordinal = first[p]
        place = parents.at[p]
        end = place + parents.limits[p]
        is_parent = True
        while place + SHORTEST_ENTRY <= end:
            length = _number(data, place, 2)
            if length < SHORTEST_ENTRY or length > end - place:
                break
            if not is_parent and _is_wanted(data[place + 2], code, others):
                _place(rows, row, place, length, parents, p, ordinal)
                ordinal += 1
                row += 1
            is_parent = False
            place += length


@kernel
def count_linked(data, starts, lengths, owner, first, step, shortest, bad, counts):
    """Count the sections of chains whose every section begins with the offset of the next, 0 in the last.

    owner, first and step: per chain, its record, in rising order, offset of its first section, and length of one. A
    record is marked bad where a section is shorter than `shortest` bytes or reaches outside it. It is also bad where
    its chains have more sections than there is room for, as when one leads back.
    """
    visited = np.int64(0)
    for c in range(owner.shape[0]):
        i = owner[c]
        if c == 0 or owner[c - 1] != i:
            visited = np.int64(0)
        counts[c] = 0
        offset = first[c]
        while offset > 0:
            visited += 1
            if step[c] < shortest or offset + step[c] > lengths[i] or visited * shortest > lengths[i]:
                bad[i] = True
                break
            counts[c] += 1
            offset = np.int64(load_4(data, starts[i] + offset))


@kernel
def place_linked(data, starts, owner, first, counts, at):
    """Place of every section of chains that have been counted."""
    row = 0
    for c in range(owner.shape[0]):
        offset = first[c]
        for _ in range(counts[c]):
            at[row] = starts[owner[c]] + offset
            offset = np.int64(load_4(data, at[row]))
            row += 1
