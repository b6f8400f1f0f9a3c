"""Compiled loops that write fields into records. Callers pass offsets that lie inside the buffer."""

from ingest.kernels.jit import kernel


@kernel
def scatter(data, at, limits, offset, rows):
    """Write row i of `rows` at `at[i] + offset`, unless it would end after `limits[i]` bytes from `at[i]`."""
    width = rows.shape[1]
    end = offset + width
    for i in range(at.shape[0]):
        if end <= limits[i]:
            place = at[i] + offset
            for j in range(width):
                data[place + j] = rows[i, j]


@kernel
def scatter_runs(data, at, lengths, flat):
    """Write runs of bytes that stand one after another in `flat`, run i of `lengths[i]` bytes at `at[i]`."""
    source = 0
    for i in range(at.shape[0]):
        for j in range(lengths[i]):
            data[at[i] + j] = flat[source + j]
        source += lengths[i]
