"""The compiled loop that finds the entries of repeated sections which hold something."""

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_8


@inlined
def _holds_any(data, low, high):
    """True if a byte from `low` to before `high` is not zero."""
    while low + 8 <= high:
        if load_8(data, low) != 0:
            return True
        low += 8
    while low < high:
        if data[low] != 0:
            return True
        low += 1
    return False


@kernel
def mark_entries(data, at, limits, areas, offsets, lengths, strides, marks):
    """Mark in `marks`, of shape (rows, entries) and without marks, the entries with a byte that is not zero.

    limits: bytes of each row, beyond which nothing is looked at; areas: first offset and end of each run of bytes that
    the entries take; offsets, lengths and strides: of each field in the first entry, and from one entry to the next.
    """
    for i in range(at.shape[0]):
        holds = False
        for a in range(areas.shape[0]):
            holds = holds or _holds_any(data, at[i] + areas[a, 0], at[i] + min(areas[a, 1], limits[i]))
        if not holds:
            continue
        for c in range(offsets.shape[0]):
            for k in range(marks.shape[1]):
                low = offsets[c] + k * strides[c]
                high = low + lengths[c]
                if high <= limits[i] and _holds_any(data, at[i] + low, at[i] + high):
                    marks[i, k] = True
