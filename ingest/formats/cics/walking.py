"""Compiled loops that walk records which start with their own length, and the entries that triplets place in them.

Callers pass extents that lie inside the buffer; nothing outside them is read.
"""

import numpy as np

from ingest.kernels.jit import kernel

TRIPLETS_AT = 24
"""Where a transaction resource record has its triplets; their number stands four bytes before."""

SHORTEST_ENTRY = 8
"""Bytes an entry has at least, so that no record makes more rows than it could mean."""

GOOD, LENGTH_WRONG, ENTRY_OUTSIDE = 0, 1, 2


@kernel
def _u16(b, at):
    return np.int64(b[at]) << 8 | np.int64(b[at + 1])


@kernel
def _u32(b, at):
    return _u16(b, at) << 16 | _u16(b, at + 2)


@kernel
def count_records(b, at, end, shortest, counts, faults):
    """Count the records in each extent, which start with their length in two bytes and follow each other.

    Zeros behind the last record are padding. faults[i] is LENGTH_WRONG where a length is too short or reaches beyond
    the extent, and counts[i] is then 0.
    """
    for i in range(at.shape[0]):
        place = at[i]
        counts[i] = 0
        faults[i] = GOOD
        while place < end[i]:
            size = _u16(b, place) if place + 2 <= end[i] else np.int64(b[place])
            if size == 0:
                while place < end[i] and b[place] == 0:
                    place += 1
                if place < end[i]:
                    faults[i] = LENGTH_WRONG
                break
            if size < shortest or size > end[i] - place:
                faults[i] = LENGTH_WRONG
                break
            counts[i] += 1
            place += size
        if faults[i]:
            counts[i] = 0


@kernel
def place_records(b, at, counts, places, sizes):
    """Place and length of every record that was counted."""
    row = 0
    for i in range(at.shape[0]):
        place = at[i]
        for _ in range(counts[i]):
            size = _u16(b, place)
            places[row] = place
            sizes[row] = size
            place += size
            row += 1


@kernel
def count_entries(b, at, size, heads, counts, faults):
    """Length of the header and number of entries of transaction resource records of at least TRIPLETS_AT bytes.

    The entries of one record must not take more bytes than it has. faults[i] is ENTRY_OUTSIDE where one would lie
    outside.
    """
    for i in range(at.shape[0]):
        triplets = _u16(b, at[i] + TRIPLETS_AT - 4)
        head = TRIPLETS_AT + 8 * triplets
        heads[i] = head
        counts[i] = 0
        faults[i] = GOOD
        if head > size[i]:
            faults[i] = ENTRY_OUTSIDE
            continue
        room = size[i]
        for k in range(triplets):
            place = at[i] + TRIPLETS_AT + 8 * k
            offset, length, number = _u32(b, place), _u16(b, place + 4), _u16(b, place + 6)
            if number == 0:
                continue
            room -= length * number
            outside = offset < head or offset > size[i] or length * number > size[i] - offset
            if outside or length < SHORTEST_ENTRY or room < 0:
                faults[i] = ENTRY_OUTSIDE
                counts[i] = 0
                break
            counts[i] += number


@kernel
def place_entries(b, at, counts, places, sizes, ordinals):
    """Place and length of every entry that was counted, and the ordinal, from 1, of the triplet that places it."""
    row = 0
    for i in range(at.shape[0]):
        if counts[i] == 0:
            continue
        for k in range(_u16(b, at[i] + TRIPLETS_AT - 4)):
            place = at[i] + TRIPLETS_AT + 8 * k
            offset, length, number = _u32(b, place), _u16(b, place + 4), _u16(b, place + 6)
            for j in range(number):
                places[row] = at[i] + offset + j * length
                sizes[row] = length
                ordinals[row] = k + 1
                row += 1
