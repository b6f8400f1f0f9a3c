"""Compiled loops that read fields from many places at once.

Every loop takes `at`, the place of each row's section in `data`, and the offsets of several fields in it, and fills one
row of `out` per field. Rows are taken a tile at a time, so that a tile's bytes are still in the cache for its last
field. Callers pass places whose fields lie inside the buffer; nothing here checks again.
"""

import numpy as np

from ingest.kernels.jit import kernel

TILE = 128


@kernel
def read_1(data, at, offsets, out):
    """One-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            for i in range(low, high):
                out[c, i] = data[at[i] + offsets[c]]


@kernel
def read_2(data, at, offsets, out):
    """Two-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            for i in range(low, high):
                p = at[i] + offsets[c]
                out[c, i] = (np.uint16(data[p]) << np.uint16(8)) | np.uint16(data[p + 1])


@kernel
def read_4(data, at, offsets, out):
    """Four-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            for i in range(low, high):
                p = at[i] + offsets[c]
                out[c, i] = (
                    (np.uint32(data[p]) << np.uint32(24))
                    | (np.uint32(data[p + 1]) << np.uint32(16))
                    | (np.uint32(data[p + 2]) << np.uint32(8))
                    | np.uint32(data[p + 3])
                )


@kernel
def read_8(data, at, offsets, out):
    """Eight-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            for i in range(low, high):
                p = at[i] + offsets[c]
                out[c, i] = (
                    (np.uint64(data[p]) << np.uint64(56))
                    | (np.uint64(data[p + 1]) << np.uint64(48))
                    | (np.uint64(data[p + 2]) << np.uint64(40))
                    | (np.uint64(data[p + 3]) << np.uint64(32))
                    | (np.uint64(data[p + 4]) << np.uint64(24))
                    | (np.uint64(data[p + 5]) << np.uint64(16))
                    | (np.uint64(data[p + 6]) << np.uint64(8))
                    | np.uint64(data[p + 7])
                )


@kernel
def read_odd(data, at, offsets, lengths, out):
    """Unsigned integers of any length up to eight bytes."""
    for c in range(offsets.shape[0]):
        for i in range(at.shape[0]):
            value = np.uint64(0)
            for k in range(lengths[c]):
                value = (value << np.uint64(8)) | np.uint64(data[at[i] + offsets[c] + k])
            out[c, i] = value


@kernel
def hfp_to_double(bits, fraction_bits, out):
    """Hexadecimal floating point, given as integers, to the nearest double: exactly one rounding."""
    mask = (np.uint64(1) << np.uint64(fraction_bits)) - np.uint64(1)
    powers = np.empty(256, np.float64)
    for exponent in range(128):
        powers[exponent] = 2.0 ** (4 * (exponent - 64) - fraction_bits)
        powers[exponent + 128] = -powers[exponent]
    for c in range(bits.shape[0]):
        for i in range(bits.shape[1]):
            value = np.uint64(bits[c, i])
            out[c, i] = np.float64(np.int64(value & mask)) * powers[np.int64(value >> np.uint64(fraction_bits))]


@kernel
def read_packed(data, at, offsets, lengths, out, valid):
    """Packed decimal of up to eight bytes; `valid` is 0 where a digit is not decimal or the sign is no sign."""
    for c in range(offsets.shape[0]):
        for i in range(at.shape[0]):
            p = at[i] + offsets[c]
            value = np.uint64(0)
            good = True
            for k in range(lengths[c]):
                byte = data[p + k]
                high, low = byte >> 4, byte & 15
                good = good and high <= 9
                value = value * np.uint64(10) + np.uint64(high)
                if k < lengths[c] - 1:
                    good = good and low <= 9
                    value = value * np.uint64(10) + np.uint64(low)
                else:
                    good = good and low >= 10
            out[c, i] = value if good else np.uint64(0)
            valid[c, i] = good


@kernel
def read_bytes(data, at, offset, out):
    """Bytes as they are: row i of `out` from `at[i] + offset`."""
    for i in range(at.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = data[at[i] + offset + k]


@kernel
def read_text(data, at, offsets, widths, table, out, bases, ends):
    """EBCDIC text to UTF-8 without trailing blanks.

    table: Latin-1 code of each byte. Text of field c is written to `out` from `bases[c]` on, twice its width being free
    for each row; `ends[c, i + 1]` is where row i's text ends, from `bases[c]`.
    """
    for c in range(offsets.shape[0]):
        ends[c, 0] = 0
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            place = bases[c] + np.int64(ends[c, low])
            for i in range(low, high):
                p = at[i] + offsets[c]
                last = p + widths[c]
                while last > p and data[last - 1] == 0x40:
                    last -= 1
                for k in range(p, last):
                    code = table[data[k]]
                    if code < 0x80:
                        out[place] = code
                        place += 1
                    else:
                        out[place] = 0xC0 | (code >> 6)
                        out[place + 1] = 0x80 | (code & 0x3F)
                        place += 2
                ends[c, i + 1] = place - bases[c]


@kernel
def read_runs(data, at, lengths, skip, table, translate, out, ends):
    """The rest of entries of varying length, after `skip` bytes: EBCDIC text to UTF-8, or bytes as they are."""
    place = np.int64(0)
    ends[0] = 0
    for i in range(at.shape[0]):
        p = at[i] + skip
        last = at[i] + lengths[i]
        while translate and last > p and data[last - 1] == 0x40:
            last -= 1
        for k in range(p, last):
            code = table[data[k]] if translate else data[k]
            if not translate or code < 0x80:
                out[place] = code
                place += 1
            else:
                out[place] = 0xC0 | (code >> 6)
                out[place + 1] = 0x80 | (code & 0x3F)
                place += 2
        ends[i + 1] = place
