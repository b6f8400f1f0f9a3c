"""Compiled loops that read fields that are repeated within each row: arrays, and members of repeated blocks.

`at` is the place of each row's section in `data`, offsets those of the fields' first values in it, stride the bytes
from one value to the next. Fills `out` of shape (fields, rows, values). Nothing here checks that values lie in the
buffer.
"""

from ingest.kernels.jit import kernel
from ingest.kernels.loads import load_4, load_8


@kernel
def read_4(data, at, offsets, stride, out):
    """Four-byte unsigned integers."""
    for i in range(at.shape[0]):
        for c in range(offsets.shape[0]):
            place = at[i] + offsets[c]
            for k in range(out.shape[2]):
                out[c, i, k] = load_4(data, place + k * stride)


@kernel
def read_8(data, at, offsets, stride, out):
    """Eight-byte unsigned integers."""
    for i in range(at.shape[0]):
        for c in range(offsets.shape[0]):
            place = at[i] + offsets[c]
            for k in range(out.shape[2]):
                out[c, i, k] = load_8(data, place + k * stride)
