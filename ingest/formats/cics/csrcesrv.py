"""Run-length compression of the z/OS service CSRCESRV, as CICS applies it to monitoring data.

A compressed stream is one byte X'80' and then runs. A control byte with its high bit off says how many literal bytes
follow; with its high bit on, the low seven bits say how often the next byte is repeated. Counts are 1 to 127; a count
of zero is an error. Source: z/OS MVS Programming, data compression and expansion services.

Both directions work on many streams in one call: kernels see one buffer and arrays of positions, never Python objects
per record. Nothing outside the given extents is read or written.
"""

import numpy as np
from numpy.typing import NDArray

from ingest.kernels.jit import kernel

MARKER = 0x80
MAX_RUN = 127

OK = 0
NO_MARKER = 1
ZERO_COUNT = 2
TRUNCATED = 3
TOO_LONG = 4
TOO_SHORT = 5

REASONS = {
    NO_MARKER: "the stream does not begin with X'80'",
    ZERO_COUNT: "a run has a count of zero",
    TRUNCATED: "the stream ends inside a run",
    TOO_LONG: "the stream expands beyond the length its record announces",
    TOO_SHORT: "the stream expands to less than the length its record announces",
}

# Runs are short: whole blocks are moved, and what a run leaves beyond its end the next one overwrites. The room is what
# the last block of the longest run may reach.
_BLOCK = 16
_ROOM = MAX_RUN + _BLOCK


@kernel
def _fill(target: NDArray[np.uint8], at: int, value: int) -> None:
    first = np.uint64(at)
    for k in range(_BLOCK):
        target[first + np.uint64(k)] = value


@kernel
def _copy(source: NDArray[np.uint8], position: int, target: NDArray[np.uint8], at: int) -> None:
    origin, first = np.uint64(position), np.uint64(at)
    for k in range(_BLOCK):
        target[first + np.uint64(k)] = source[origin + np.uint64(k)]


@kernel
def _expand_one(
    source: NDArray[np.uint8], position: int, end: int, target: NDArray[np.uint8], out: int, limit: int
) -> int:
    """Expand the stream `source[position:end]` into `target[out:limit]`; OK or one of the codes of `REASONS`."""
    if position >= end or source[position] != MARKER:
        return NO_MARKER
    position += 1
    while position < end:
        control = source[position]
        position += 1
        count = np.int64(control & 0x7F)
        if count == 0:
            return ZERO_COUNT
        if out + count > limit:
            return TOO_LONG
        repeats = control & 0x80
        taken = np.int64(1) if repeats else count
        if position + taken > end:
            return TRUNCATED
        if repeats:
            value = source[position]
            if out + _ROOM <= target.size:
                for block in range(0, count, _BLOCK):
                    _fill(target, out + block, value)
            else:
                for k in range(count):
                    target[out + k] = value
        elif out + _ROOM <= target.size and position + _ROOM <= source.size:
            for block in range(0, count, _BLOCK):
                _copy(source, position + block, target, out + block)
        else:
            for k in range(count):
                target[out + k] = source[position + k]
        position += int(taken)
        out += int(count)
    return OK if out == limit else TOO_SHORT


@kernel
def expand_many(
    source: NDArray[np.uint8],
    source_offset: NDArray[np.int64],
    source_length: NDArray[np.int64],
    target: NDArray[np.uint8],
    target_offset: NDArray[np.int64],
    target_length: NDArray[np.int64],
    status: NDArray[np.uint8],
) -> None:
    """Expand n streams of `source` into their places in `target`.

    All arrays but the two buffers have shape (n,). Stream i is `source[source_offset[i]:][:source_length[i]]` and must
    expand to exactly `target_length[i]` bytes at `target_offset[i]`. The caller guarantees that these extents lie
    within the buffers. `status[i]` becomes OK or one of the codes of `REASONS`; a failed stream leaves its extent of
    the target partly written. Targets lie one behind the other, in ascending order.
    """
    for i in range(source_offset.size):
        end, limit = source_offset[i] + source_length[i], target_offset[i] + target_length[i]
        status[i] = _expand_one(source, source_offset[i], end, target, target_offset[i], limit)


@kernel
def _compress(source: NDArray[np.uint8], target: NDArray[np.uint8]) -> int:
    n = source.size
    target[0] = MARKER
    out = 1
    literal_start = 0
    position = 0
    while position < n:
        run = 1
        while position + run < n and run < MAX_RUN and source[position + run] == source[position]:
            run += 1
        # A run of two costs as much as two literals; breaking a literal for it would cost one byte more.
        if run < 3:
            position += run
            if position < n:
                continue
            run = 0
        start = literal_start
        while start < position:
            count = min(position - start, MAX_RUN)
            target[out] = count
            for k in range(count):
                target[out + 1 + k] = source[start + k]
            out += 1 + count
            start += count
        if run:
            target[out] = 0x80 | run
            target[out + 1] = source[position]
            out += 2
            position += run
        literal_start = position
    return out


def compress(data: bytes) -> bytes:
    """The shortest greedy stream that expands to `data`; runs of three and more equal bytes are folded."""
    source = np.frombuffer(data, np.uint8)
    target = np.empty(2 + len(data) + len(data) // MAX_RUN + 1, np.uint8)
    return target[: _compress(source, target)].tobytes()


def expand(data: bytes, length: int) -> bytes:
    """Expand one stream of `length` expanded bytes. Raises ValueError for a stream that cannot be expanded."""
    source = np.frombuffer(data, np.uint8)
    target = np.zeros(length, np.uint8)
    status = np.zeros(1, np.uint8)
    zero = np.zeros(1, np.int64)
    expand_many(source, zero, np.array([len(data)]), target, zero, np.array([length]), status)
    if status[0] != OK:
        raise ValueError(f"compressed data cannot be expanded: {REASONS[int(status[0])]}")
    return target.tobytes()
