"""Compiled loops for CICS performance records: heads of records, and all fields of many rows at once.

Rows of one layout are read in tiles small enough for the cache, every field of a tile before the next tile: a field by
field pass over all rows would fetch each cache line of a record once per field.
"""

import numpy as np
from numpy.typing import NDArray

from ingest.formats.cics.csrcesrv import MARKER
from ingest.kernels.jit import kernel

# Columns of the head table, one row per record.
(
    CLASS,
    CONNECTORS_AT,
    CONNECTOR_COUNT,
    DATA_AT,
    DATA_LENGTH,
    DATA_COUNT,
    SECTION_AT,
    SECTION_LENGTH,
    PRODUCT_AT,
    COMPRESSED,
    EXPANDED_LENGTH,
    PROBLEM,
    IDENTITY,
) = range(13)
HEAD_COLUMNS = 13

OK = 0
PRODUCT_OUTSIDE = 1
SECTION_OUTSIDE = 2
CONNECTORS_OUTSIDE = 3
DATA_OUTSIDE = 4
CONNECTOR_LENGTH = 5
EXPANSION = 6
DATA_TOO_MANY = 7
PROBLEMS = {
    PRODUCT_OUTSIDE: ("section_outside_record", "SMFAPS/SMFLPS: the product section lies outside the record"),
    SECTION_OUTSIDE: ("section_outside_record", "SMFASS/SMFASL: the CICS data section lies outside the record"),
    CONNECTORS_OUTSIDE: ("section_outside_record", "SMFMNDCA/SMFMNDCN: connectors lie outside the data section"),
    DATA_OUTSIDE: ("section_outside_record", "SMFMNDRA/SMFMNDRL/SMFMNDRN: data records lie outside the data section"),
    CONNECTOR_LENGTH: ("cics_connector_length", "SMFMNDCL: a field connector is not two bytes long"),
    DATA_TOO_MANY: ("cics_data_count", "SMFMNDRN: more data records than the record has bytes for"),
    EXPANSION: ("cics_compressed_data", "SMFASL: too short for the data records the product section announces"),
}

# A run of two bytes stands for at most 127; a data section holds at most a few buffers of 32 KiB.
_MAX_RATIO = 64

_SHORTEST_DATA = 8
"""Bytes of a record for each of its data records at least, compressed or not, so that none makes more rows than it
could mean: a row of the table has several hundred columns."""

COUNT4, COUNT8, CLOCK12, CLOCK8, STORE_CLOCK, PACKED = range(6)
_TILE = 128
_START_END = 98
_UNIX_EPOCH_US = 2_208_988_800_000_000


@kernel
def _u16(b: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    return np.uint64(b[at]) << np.uint64(8) | np.uint64(b[at + np.uint64(1)])


@kernel
def _u32(b: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    one = np.uint64(1)
    return (
        np.uint64(b[at]) << np.uint64(24)
        | np.uint64(b[at + one]) << np.uint64(16)
        | np.uint64(b[at + one + one]) << np.uint64(8)
        | np.uint64(b[at + one + one + one])
    )


def read_heads(b: NDArray[np.uint8], offset: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Heads of n records of type 110.1: an array (n, HEAD_COLUMNS), positions relative to the start of the record.

    Every extent that a head names is checked against the record, or against the expanded data section of a compressed
    one; PROBLEM says what failed. Only performance records have connectors. IDENTITY hashes release, APPLID, system,
    start of the region and connectors: records of one identity and data length have one layout.
    """
    heads = np.zeros((offset.size, HEAD_COLUMNS), np.int64)
    _read_heads(b, offset, length, heads)
    return heads


@kernel
def _read_heads(
    b: NDArray[np.uint8], offset: NDArray[np.int64], length: NDArray[np.int64], heads: NDArray[np.int64]
) -> None:
    for i in range(offset.size):
        start, size = offset[i], length[i]
        head = heads[i]
        if size < 44:
            head[PROBLEM] = PRODUCT_OUTSIDE
            continue
        at = np.uint64(start)
        product = np.int64(_u32(b, at + np.uint64(28)))
        product_length = np.int64(_u16(b, at + np.uint64(32)))
        head[PRODUCT_AT] = product
        if product < 36 or product_length < 40 or product + product_length > size:
            head[PROBLEM] = PRODUCT_OUTSIDE
            continue
        section = np.int64(_u32(b, at + np.uint64(36)))
        section_length = np.int64(_u16(b, at + np.uint64(40)))
        head[SECTION_AT] = section
        head[SECTION_LENGTH] = section_length
        p = np.uint64(start + product)
        head[CLASS] = np.int64(_u16(b, p + np.uint64(22)))
        connectors = np.int64(_u32(b, p + np.uint64(24)))
        connector_length = np.int64(_u16(b, p + np.uint64(28)))
        connector_count = np.int64(_u16(b, p + np.uint64(30)))
        data = np.int64(_u32(b, p + np.uint64(32)))
        data_length = np.int64(_u16(b, p + np.uint64(36)))
        data_count = np.int64(_u16(b, p + np.uint64(38)))
        head[DATA_AT] = data
        head[DATA_LENGTH] = data_length
        head[DATA_COUNT] = data_count
        if section < 36 or section > size:
            head[PROBLEM] = SECTION_OUTSIDE
            continue
        end = size
        compressed = section < size and b[start + section] == MARKER
        if compressed:
            if section_length < 1 or section + section_length > size:
                head[PROBLEM] = SECTION_OUTSIDE
                continue
            expanded = data - section + data_length * data_count
            if data < section or expanded > section_length * _MAX_RATIO:
                head[PROBLEM] = EXPANSION
                continue
            head[COMPRESSED] = 1
            head[EXPANDED_LENGTH] = expanded
            end = section + expanded
        if data < section or data + data_length * data_count > end:
            head[PROBLEM] = DATA_OUTSIDE
            continue
        if head[CLASS] >= 3 and head[CLASS] <= 4 and data_count * _SHORTEST_DATA > size:
            head[PROBLEM] = DATA_TOO_MANY
            continue
        if head[CLASS] == 3:
            if connector_length != 2:
                head[PROBLEM] = CONNECTOR_LENGTH
                continue
            if connectors < section or connectors + 2 * connector_count > end:
                head[PROBLEM] = CONNECTORS_OUTSIDE
                continue
            head[CONNECTORS_AT] = connectors
            head[CONNECTOR_COUNT] = connector_count


@kernel
def hash_identities(
    b: NDArray[np.uint8],
    record: NDArray[np.int64],
    connector_buffer: NDArray[np.uint8],
    connector_base: NDArray[np.int64],
    heads: NDArray[np.int64],
) -> None:
    """Fill IDENTITY of the heads; `connector_base + CONNECTORS_AT` is where a record's connectors stand."""
    prime = np.uint64(1099511628211)
    for i in range(record.size):
        value = np.uint64(14695981039346656037)
        for k in range(14, 18):
            value = (value ^ np.uint64(b[record[i] + k])) * prime
        product = record[i] + heads[i, PRODUCT_AT]
        for k in range(18):
            value = (value ^ np.uint64(b[product + k])) * prime
        if _u16(b, np.uint64(record[i] + 32)) >= _START_END:
            for k in range(_START_END - 8, _START_END):
                value = (value ^ np.uint64(b[product + k])) * prime
        at = connector_base[i] + heads[i, CONNECTORS_AT]
        for k in range(2 * heads[i, CONNECTOR_COUNT]):
            value = (value ^ np.uint64(connector_buffer[at + k])) * prime
        value = (value ^ np.uint64(heads[i, DATA_LENGTH])) * prime
        heads[i, IDENTITY] = np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))


@kernel
def _packed(b: NDArray[np.uint8], at: np.uint64, width: int) -> np.uint64:
    """Value of an unsigned packed number; all bits on where a digit is not decimal or the sign is minus."""
    value = np.uint64(0)
    ten, nine = np.uint64(10), np.uint64(9)
    for k in range(2 * width - 1):
        byte = np.uint64(b[at + np.uint64(k >> 1)])
        digit = byte & np.uint64(15) if k & 1 else byte >> np.uint64(4)
        if digit > nine:
            return ~np.uint64(0)
        value = value * ten + digit
    sign = np.uint64(b[at + np.uint64(width - 1)]) & np.uint64(15)
    if sign <= nine or sign == np.uint64(0x0D) or sign == np.uint64(0x0B):
        return ~np.uint64(0)
    return value


@kernel
def gather_numbers(
    b: NDArray[np.uint8],
    row: NDArray[np.int64],
    field_offset: NDArray[np.int64],
    field_kind: NDArray[np.int64],
    field_slot4: NDArray[np.int64],
    field_slot8: NDArray[np.int64],
    field_width: NDArray[np.int64],
    out4: NDArray[np.uint32],
    out8: NDArray[np.uint64],
) -> None:
    """Read the numeric fields of n rows that begin at `row`.

    Each field has a kind and a place: `out4[slot4]` takes 4-byte counts and the counts of clocks, `out8[slot8]` 8-byte
    counts, accumulated times (in store-clock units) and packed numbers; a store clock takes two, microseconds since
    1970 (as signed bits) and then the raw clock. The caller has checked that every row lies within the buffer.
    """
    n = row.size
    low24 = np.uint64(0xFFFFFF)
    for tile in range(0, n, _TILE):
        stop = min(tile + _TILE, n)
        for f in range(field_offset.size):
            kind, offset = field_kind[f], field_offset[f]
            slot4, slot8 = field_slot4[f], field_slot8[f]
            if kind == COUNT4:
                for r in range(tile, stop):
                    out4[slot4, r] = _u32(b, np.uint64(row[r] + offset))
            elif kind == CLOCK12:
                for r in range(tile, stop):
                    at = np.uint64(row[r] + offset)
                    out8[slot8, r] = _u32(b, at) << np.uint64(32) | _u32(b, at + np.uint64(4))
                    out4[slot4, r] = _u32(b, at + np.uint64(8)) & low24
            elif kind == COUNT8:
                for r in range(tile, stop):
                    at = np.uint64(row[r] + offset)
                    out8[slot8, r] = _u32(b, at) << np.uint64(32) | _u32(b, at + np.uint64(4))
            elif kind == CLOCK8:
                for r in range(tile, stop):
                    at = np.uint64(row[r] + offset)
                    out8[slot8, r] = _u32(b, at) << np.uint64(16)
                    out4[slot4, r] = _u32(b, at + np.uint64(4)) & low24
            elif kind == STORE_CLOCK:
                for r in range(tile, stop):
                    at = np.uint64(row[r] + offset)
                    raw = _u32(b, at) << np.uint64(32) | _u32(b, at + np.uint64(4))
                    out8[slot8, r] = np.uint64(np.int64(raw >> np.uint64(12)) - _UNIX_EPOCH_US)
                    out8[slot8 + 1, r] = raw
            else:
                for r in range(tile, stop):
                    out8[slot8, r] = _packed(b, np.uint64(row[r] + offset), field_width[f])


@kernel
def gather_text(
    b: NDArray[np.uint8],
    row: NDArray[np.int64],
    field_offset: NDArray[np.int64],
    field_width: NDArray[np.int64],
    table: NDArray[np.uint8],
    data: NDArray[np.uint8],
    data_start: NDArray[np.int64],
    ends: NDArray[np.int32],
    code_bits: NDArray[np.uint8],
) -> None:
    """Read EBCDIC fields of n rows as Latin-1 without trailing blanks and nulls.

    Field f writes its text one row after the other from `data[data_start[f]]`; `ends[f]`, shape (n + 1,), takes the
    offsets an Arrow string array has. `table` gives the Latin-1 code of each EBCDIC byte. `code_bits[f]` is the union
    of the bits of all codes: below 128 the text is ASCII, and so valid UTF-8 as it stands.
    """
    n = row.size
    for tile in range(0, n, _TILE):
        stop = min(tile + _TILE, n)
        for f in range(field_offset.size):
            offset, width, base = field_offset[f], field_width[f], data_start[f]
            used = np.int64(ends[f, tile])
            bits = np.uint8(0)
            for r in range(tile, stop):
                at = row[r] + offset
                size = width
                while size > 0 and (b[np.uint64(at + size - 1)] == 0x40 or b[np.uint64(at + size - 1)] == 0):
                    size -= 1
                target = base + used
                for k in range(size):
                    code = table[b[np.uint64(at + k)]]
                    data[np.uint64(target + k)] = code
                    bits |= code
                used += size
                ends[f, r + 1] = used
            code_bits[f] |= bits
