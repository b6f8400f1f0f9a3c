"""Compiled loops that read fields that are repeated within each row: arrays, and members of repeated blocks.

`at` is the place of each row's section in `data`, offsets those of the fields' first values in it, stride the bytes
from one value to the next. Fills `out` of shape (fields, rows, values). Nothing here checks that values lie in the
buffer.
"""

from ingest.kernels.jit import kernel
from ingest.kernels.loads import load_4, load_8

TILE = 16
"""Rows read at once."""


@kernel
def read_4(data, at, offsets, stride, out):
    """Four-byte unsigned integers."""
    values = out.shape[2]
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                row = out[c, i]
                for k in range(values):
                    row[k] = load_4(data, at[i] + offset + k * stride)


@kernel
def read_8(data, at, offsets, stride, out):
    """Eight-byte unsigned integers."""
    values = out.shape[2]
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                row = out[c, i]
                for k in range(values):
                    row[k] = load_8(data, at[i] + offset + k * stride)
