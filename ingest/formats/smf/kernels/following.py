"""Compiled loops that walk the sections of records in which they follow one another, and prove that they lie inside.

A sum is a constant, -1 where there is no sum, with offset, -1 for none, and width of the field that is added.
"""

import numpy as np

from ingest.formats.smf.kernels.locating import _number
from ingest.kernels.jit import inlined, kernel


@inlined
def _evaluated(data, start, length, base, total):
    """The value of a sum in a record, its field counted from `base`; -1 where the record ends before the field does."""
    if total[1] < 0:
        return total[0]
    if base > length or base + total[1] + total[2] > length:
        return np.int64(-1)
    return total[0] + _number(data, start + base + total[1], total[2])


@inlined
def _size(data, start, length, at, size, size_in_row):
    """Bytes of the row at `at`; 0 where the record ends before it says so, or where there is no room for the field."""
    if size[0] < 0:
        return length - at
    taken = _evaluated(data, start, length, at if size_in_row else np.int64(0), size)
    shortest = size[1] + size[2] if size_in_row else np.int64(1)
    return taken if taken >= shortest else np.int64(0)


@kernel
def count_following(data, starts, lengths, start, size, rows, until, size_in_row, flag, end, first, counts, outside):
    """Count the rows of a section in every record, from `first` on, and move `end` behind them.

    start, size, rows, until: the sums of the section's place; size_in_row: size is a field of the row, not of the
    header; flag: offset and mask of the bit without which there is none, and the end of its field, mask 0 for no bit;
    outside: where a row starts that reaches outside its record, else -1.
    """
    is_counted = rows[1] >= 0
    for i in range(starts.shape[0]):
        record, length = starts[i], lengths[i]
        counts[i] = 0
        outside[i] = -1
        at = end[i]
        if start[0] >= 0:
            at = _evaluated(data, record, length, np.int64(0), start)
            if at < 0 or (start[1] >= 0 and at == start[0]):
                continue
        limit = length
        if until[0] >= 0:
            limit = min(max(_evaluated(data, record, length, np.int64(0), until), 0), length)
        left = length if rows[0] < 0 else _evaluated(data, record, length, np.int64(0), rows)
        if left <= 0 or (at >= limit and not is_counted):
            continue
        if flag[1] > 0 and (flag[2] > length or data[record + flag[0]] & flag[1] == 0):
            continue
        if size[1] >= 0 and not size_in_row and _evaluated(data, record, length, np.int64(0), size) <= 0:
            continue
        first[i] = at
        while left > 0 and (is_counted or at < limit):
            taken = _size(data, record, length, at, size, size_in_row)
            # Zeros that fill the record up are no row.
            if taken <= 0 and not is_counted:
                break
            if taken <= 0 or taken > limit - at:
                outside[i] = at
                break
            counts[i] += 1
            at += taken
            left -= 1
        end[i] = at


@kernel
def place_following(data, starts, lengths, size, size_in_row, first, counts, owner, section, place, limits):
    """Record, ordinal in it, place and length of every row that has been counted."""
    row = 0
    for i in range(starts.shape[0]):
        at = first[i]
        for k in range(counts[i]):
            taken = _size(data, starts[i], lengths[i], at, size, size_in_row)
            owner[row] = i
            section[row] = k
            place[row] = starts[i] + at
            limits[row] = taken
            at += taken
            row += 1
