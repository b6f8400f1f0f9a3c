"""AMATERSE (`.trs`) files, the packed form in which z/OS data sets are sent: PACK and SPACK, host form.

A file is a header of 12 bytes and 12-bit codes: 0 ends the data, 1 to 256 are a byte value plus one, 257 is a record
mark, 258 to 4095 name phrases met before. The two forms differ in how phrases come about:

- PACK: a phrase is the previous phrase and the first symbol of the current one. The slot least recently used is taken
  for it; every slot visited while a code is followed moves to the front of the list, nearest ancestor first. All slots
  begin as one chain of EBCDIC blanks.
- SPACK: a phrase is the previous phrase and the whole current one. Slots are used in order; when none is left, the
  phrase that has been unreferenced longest goes, and its two parts lose a reference.

Variable-length data sets come out as records with an RDW each, fixed and undefined ones as plain bytes. Packed data may
expand enormously: `unterse` yields pieces of bounded size, and stops with an error beyond `limit` bytes.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.kernels.jit import kernel

HEADER_BYTES = 12
PACK, SPACK = 2, 5
_SLOTS = 4096
_FIRST_PHRASE = 258
_RECORD_MARK = 257
_BLANK = 0x40 + 1

_NEEDS_ROOM, _ENDED, _OUT_OF_CODES, _CORRUPT, _LONG_RECORD = 0, 1, 2, 3, 4
_PROBLEMS = {
    _OUT_OF_CODES: "the file ends without an end code: it was cut",
    _CORRUPT: "a code names a phrase that cannot exist: the file is damaged",
    _LONG_RECORD: "a record is longer than a record descriptor allows (65,535 bytes): the file is damaged",
}

# Places in the state vector that the kernels share.
_CODE, _PENDING, _DEPTH, _PREVIOUS, _FREE, _RECORD_START, _FINISHED = range(7)


class TerseError(ValueError):
    """The file is no AMATERSE file of a supported form, or it is damaged; `offset`: of the damage, in bytes."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(f"AMATERSE data, byte {offset}: {problem}")
        self.offset = offset


@dataclass(frozen=True)
class TerseHeader:
    """The header, of twelve bytes. `record_length` and `block_size` in bytes."""

    packing: int
    variable: bool
    undefined: bool
    record_length: int
    block_size: int


def read_header(data: bytes | memoryview) -> TerseHeader:
    """Read the header; TerseError where it is not that of a host PACK or SPACK file."""
    if len(data) < HEADER_BYTES:
        raise TerseError("shorter than the 12 bytes of a header", len(data))
    version, variable, length1, flags, _ratio, block, length2 = struct.unpack(">BBHBBHI", bytes(data[:HEADER_BYTES]))
    if version not in (PACK, SPACK):
        raise TerseError(f"version byte is {version}, expected 2 (PACK) or 5 (SPACK)", 0)
    if variable not in (0, 1):
        raise TerseError(f"record format byte is {variable}, expected 0 (fixed) or 1 (variable)", 1)
    if length1 == 0 and length2 == 0:
        raise TerseError("the record length is missing", 2)
    if length1 and length2 and length1 != length2:
        raise TerseError(f"the two record lengths differ ({length1} and {length2})", 2)
    if not flags & 0x04 and (flags or block):
        raise TerseError("MVS flags or block size in data that are not from MVS", 4)
    return TerseHeader(version, bool(variable), bool(flags & 0x80), length1 or length2, block)


def is_terse(data: bytes | memoryview) -> bool:
    """Whether the data begins with a consistent AMATERSE header."""
    try:
        read_header(data)
    except TerseError:
        return False
    return True


@kernel
def _code_at(data: NDArray[np.uint8], index: int) -> int:
    at = HEADER_BYTES + index * 3 // 2
    if at + 1 >= data.size:
        return -1
    high, low = np.int64(data[at]), np.int64(data[at + 1])
    if index % 2:
        return int((high & 0x0F) << 8 | low)
    return int(high << 4 | low >> 4)


@kernel
def _put(symbol: int, variable: bool, state: NDArray[np.int64], out: NDArray[np.uint8], used: int) -> int:
    """Write one symbol; the new count of used bytes, or -1 where a record outgrows its descriptor."""
    if symbol != _RECORD_MARK:
        if variable and used - state[_RECORD_START] >= 65535:
            return -1
        out[used] = symbol - 1
        return used + 1
    if not variable:
        return used
    start = state[_RECORD_START]
    length = used - start
    out[start] = length >> 8
    out[start + 1] = length & 0xFF
    out[start + 2] = 0
    out[start + 3] = 0
    state[_RECORD_START] = used
    return used + 4


@kernel
def _spell(code: int, state: NDArray[np.int64], table: NDArray[np.int32], stack: NDArray[np.int32]) -> bool:
    """Put the symbols of a code on the stack, last first, and learn the phrase it begins; False where that is damaged.

    The phrases the code is made of become the newest; the oldest makes room.
    """
    parent, extension, newer, older = table[0], table[1], table[2], table[3]
    slot = older[0]
    last = older[slot]
    older[0] = last
    newer[last] = 0
    front = slot
    depth = 0
    symbol = code
    pending = state[_PENDING]
    pending_at = -1
    while symbol >= _FIRST_PHRASE:
        if symbol == slot:
            return False
        after, before = newer[symbol], older[symbol]
        newer[before] = after
        older[after] = before
        newer[symbol] = front
        older[front] = symbol
        front = symbol
        if symbol == pending:
            pending_at = depth
        stack[depth] = extension[symbol]
        depth += 1
        symbol = parent[symbol]
    extension[pending] = symbol
    if pending_at >= 0:
        stack[pending_at] = symbol
    first = newer[0]
    newer[slot] = first
    older[first] = slot
    newer[0] = front
    older[front] = 0
    stack[depth] = symbol
    state[_DEPTH] = depth + 1
    parent[slot] = code
    state[_PENDING] = slot
    return True


@kernel
def _unpack(
    data: NDArray[np.uint8],
    variable: bool,
    state: NDArray[np.int64],
    table: NDArray[np.int32],
    stack: NDArray[np.int32],
    out: NDArray[np.uint8],
    used: int,
) -> tuple[int, int]:
    """PACK: rows of `table` are parent, extension, newer, older (list neighbours; slot 0 is the list's head)."""
    room = out.size - 8
    while True:
        while state[_DEPTH] > 0:
            if used >= room:
                return _NEEDS_ROOM, used
            state[_DEPTH] -= 1
            used = _put(stack[state[_DEPTH]], variable, state, out, used)
            if used < 0:
                return _LONG_RECORD, 0
        code = _code_at(data, state[_CODE])
        if code < 0:
            return _OUT_OF_CODES, used
        if code == 0:
            return _ENDED, used
        state[_CODE] += 1
        if not _spell(code, state, table, stack):
            return _CORRUPT, used


@kernel
def _append_unreferenced(node: int, following: NDArray[np.int32], back: NDArray[np.int32]) -> None:
    last = back[0]
    following[node] = 0
    back[0] = node
    back[node] = last
    following[last] = node


@kernel
def _reference(node: int, following: NDArray[np.int32], back: NDArray[np.int32]) -> None:
    if following[node] < 0:
        following[node] -= 1
        return
    after, before = following[node], back[node]
    following[before] = after
    back[after] = before
    following[node] = -1


@kernel
def _release(node: int, following: NDArray[np.int32], back: NDArray[np.int32]) -> None:
    if following[node] == -1:
        _append_unreferenced(node, following, back)
    else:
        following[node] += 1


@kernel
def _learn(state: NDArray[np.int64], table: NDArray[np.int32]) -> None:
    """Make a node of the last two phrases."""
    left, right, following, back = table[0], table[1], table[2], table[3]
    fresh = state[_FREE]
    state[_FREE] = following[fresh]
    left[fresh] = state[_PREVIOUS]
    right[fresh] = state[_PENDING]
    _reference(state[_PREVIOUS], following, back)
    _reference(state[_PENDING], following, back)
    _append_unreferenced(fresh, following, back)
    state[_PREVIOUS] = state[_PENDING]
    state[_PENDING] = 0


@kernel
def _free_oldest(state: NDArray[np.int64], table: NDArray[np.int32]) -> bool:
    """Free the node that has been unreferenced for longest; False where there is none."""
    left, right, following, back = table[0], table[1], table[2], table[3]
    oldest = following[0]
    if oldest == 0:
        return False
    after, before = following[oldest], back[oldest]
    back[after] = before
    following[before] = after
    _release(left[oldest], following, back)
    _release(right[oldest], following, back)
    following[oldest] = state[_FREE]
    state[_FREE] = oldest
    return True


@kernel
def _unspack(
    data: NDArray[np.uint8],
    variable: bool,
    state: NDArray[np.int64],
    table: NDArray[np.int32],
    stack: NDArray[np.int32],
    out: NDArray[np.uint8],
    used: int,
) -> tuple[int, int]:
    """SPACK: rows of `table` are left part, right part, following and back.

    `following` is -1 - references of a referenced node, the next node in the queue of unreferenced ones, or the next
    free slot; node 0 is the queue's head. Record marks put nothing into data without records: a phrase of so many that
    they might never end, as one that is part of itself, is damage.
    """
    left, right = table[0], table[1]
    room = out.size - 8
    marks = 0
    while True:
        while state[_DEPTH] > 0:
            if used >= room:
                return _NEEDS_ROOM, used
            state[_DEPTH] -= 1
            node = stack[state[_DEPTH]]
            while node >= _FIRST_PHRASE:
                if state[_DEPTH] >= stack.size:
                    return _CORRUPT, used
                stack[state[_DEPTH]] = right[node]
                state[_DEPTH] += 1
                node = left[node]
            if node <= 0:
                return _CORRUPT, used
            if node == _RECORD_MARK and not variable:
                marks += 1
                if marks > _SLOTS:
                    return _CORRUPT, used
            used = _put(node, variable, state, out, used)
            if used < 0:
                return _LONG_RECORD, 0
        if state[_PENDING]:
            _learn(state, table)
        code = _code_at(data, state[_CODE])
        if code < 0:
            return _OUT_OF_CODES, used
        if code == 0:
            return _ENDED, used
        state[_CODE] += 1
        marks = 0
        if state[_PREVIOUS] == 0:
            state[_PREVIOUS] = code
        else:
            if state[_FREE] < 0 and not _free_oldest(state, table):
                return _CORRUPT, used
            state[_PENDING] = code
        stack[0] = code
        state[_DEPTH] = 1


def _pack_table() -> NDArray[np.int32]:
    table = np.zeros((4, _SLOTS), np.int32)
    slots = np.arange(_FIRST_PHRASE, _SLOTS)
    table[0, slots] = slots - 1
    table[0, _FIRST_PHRASE] = _BLANK
    table[1, slots] = _BLANK
    table[2, slots] = slots + 1
    table[2, -1] = 0
    table[2, 0] = _FIRST_PHRASE
    table[3, slots] = slots - 1
    table[3, _FIRST_PHRASE] = 0
    table[3, 0] = _SLOTS - 1
    return table


def _spack_table() -> NDArray[np.int32]:
    table = np.full((4, _SLOTS + 1), -1, np.int32)
    slots = np.arange(_FIRST_PHRASE, _SLOTS)
    table[2, slots] = slots + 1
    table[2, _SLOTS - 1] = -1
    table[2, 0] = 0
    table[3, 0] = 0
    return table


def unterse(data: bytes | memoryview, *, limit: int, piece: int = 1 << 20) -> Iterator[bytes]:
    """Yield the unpacked data set in pieces of about `piece` bytes (at least 128 KiB).

    Variable-length records come out each behind an RDW, never cut between two pieces. Raises TerseError for an
    unknown header, for damaged or cut data (after everything before the damage has been yielded), and for more than
    `limit` unpacked bytes.
    """
    header = read_header(data)
    source = np.frombuffer(data, np.uint8)
    spack = header.packing == SPACK
    kernel = _unspack if spack else _unpack
    table = _spack_table() if spack else _pack_table()
    state = np.zeros(8, np.int64)
    state[_FREE] = _FIRST_PHRASE
    stack = np.zeros(2 * _SLOTS, np.int32)
    out = np.zeros(max(piece, 1 << 17), np.uint8)
    used = 4 if header.variable else 0
    total = 0
    while True:
        status, used = kernel(source, header.variable, state, table, stack, out, used)
        whole = int(state[_RECORD_START]) if header.variable else used
        last = status in (_ENDED, _OUT_OF_CODES)
        if last and header.variable and used > whole + 4:
            whole = _put(_RECORD_MARK, True, state, out, used) - 4
        total += whole
        if total > limit:
            raise TerseError(f"expands beyond the limit of {limit} bytes", HEADER_BYTES + int(state[_CODE]) * 3 // 2)
        if whole:
            yield out[:whole].tobytes()
        if status == _ENDED:
            return
        if status != _NEEDS_ROOM:
            raise TerseError(_PROBLEMS[status], HEADER_BYTES + int(state[_CODE]) * 3 // 2)
        rest = used - whole
        out[:rest] = out[whole:used].copy()
        used = rest
        state[_RECORD_START] = 0
