"""Compiled loops that read fields from many places at once.

Every loop takes `at`, the place of each row's section in `data`, and the offsets of several fields in it, and fills one
row of `out` per field. Rows are taken a tile at a time, so that a tile's bytes are still in the cache for its last
field. Callers pass places whose fields lie inside the buffer; nothing here checks again.
"""

import numpy as np

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_1, load_2, load_4, load_8, store_8, trailing_zero_bits

TILE = 128
"""Rows read at once."""

BLANKS = np.uint64(0x4040404040404040)
NOT_ASCII = np.uint64(0x8080808080808080)


@kernel
def read_1(data, at, offsets, out):
    """One-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                out[c, i] = load_1(data, at[i] + offset)


@kernel
def read_2(data, at, offsets, out):
    """Two-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                out[c, i] = load_2(data, at[i] + offset)


@kernel
def read_4(data, at, offsets, out):
    """Four-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                out[c, i] = load_4(data, at[i] + offset)


@kernel
def read_8(data, at, offsets, out):
    """Eight-byte unsigned integers."""
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            offset = offsets[c]
            for i in range(low, high):
                out[c, i] = load_8(data, at[i] + offset)


@kernel
def read_odd(data, at, offsets, lengths, out):
    """Unsigned integers of any length up to eight bytes."""
    for c in range(offsets.shape[0]):
        for i in range(at.shape[0]):
            value = np.uint64(0)
            for k in range(lengths[c]):
                value = (value << np.uint64(8)) | np.uint64(load_1(data, at[i] + offsets[c] + k))
            out[c, i] = value


# What the first byte of hexadecimal floating point says: a sign and a power of 16.
_HFP_POWERS = np.ldexp(np.repeat([1.0, -1.0], 128), np.tile(4 * np.arange(-64, 64), 2))


@kernel
def hfp_to_double(bits, fraction_bits, out):
    """Hexadecimal floating point, given as integers, to the nearest double: exactly one rounding."""
    mask, unit = (np.uint64(1) << np.uint64(fraction_bits)) - np.uint64(1), 0.5**fraction_bits
    for c in range(bits.shape[0]):
        for i in range(bits.shape[1]):
            value = np.uint64(bits[c, i])
            power = _HFP_POWERS[np.int64(value >> np.uint64(fraction_bits))] * unit
            out[c, i] = np.float64(np.int64(value & mask)) * power


@kernel
def read_packed(data, at, offsets, lengths, out, valid):
    """Packed decimal of up to eight bytes; `valid` is 0 where a digit is not decimal or the sign is no sign.

    Dates and times repeat from row to row, and are worked out when they change. Eight bytes of `data` can be read at
    every place.
    """
    for c in range(offsets.shape[0]):
        nibbles = 2 * lengths[c]
        word, value, good = np.uint64(0), np.uint64(0), False
        for i in range(at.shape[0]):
            found = load_8(data, at[i] + offsets[c]) >> np.uint64(64 - 4 * nibbles)
            if found != word:
                word, value, good = found, np.uint64(0), found & np.uint64(15) >= 10
                for k in range(nibbles - 1, 0, -1):
                    digit = (found >> np.uint64(4 * k)) & np.uint64(15)
                    good = good and digit <= 9
                    value = value * np.uint64(10) + digit
            out[c, i] = value if good else np.uint64(0)
            valid[c, i] = good


@kernel
def ordinal_dates(year_days, starts, out, valid):
    """Days since 1970 of dates `yyyddd`, years counted from 1900; `valid` becomes 0 where there is no such day.

    starts: the day on which each year starts, one year more than dates may name.
    """
    years = starts.shape[0] - 1
    for c in range(year_days.shape[0]):
        for i in range(year_days.shape[1]):
            year = np.int64(year_days[c, i]) // 1000
            ordinal = np.int64(year_days[c, i]) - year * 1000
            out[c, i] = 0
            if valid[c, i]:
                valid[c, i] = year < years and ordinal >= 1 and starts[year] + ordinal <= starts[year + 1]
                if valid[c, i]:
                    out[c, i] = starts[year] + ordinal - 1


@kernel
def read_bytes(data, at, offset, out):
    """Bytes as they are: row i of `out` from `at[i] + offset`."""
    width = out.shape[1]
    for i in range(at.shape[0]):
        place = at[i] + offset
        for k in range(width):
            out[i, k] = load_1(data, place + k)


@inlined
def _characters(data, place, width):
    """Up to eight characters as one number, blanks in place of those beyond `width`."""
    word = load_8(data, place)
    if width < 8:
        unused = np.uint64(64 - 8 * width)
        word = ((word >> unused) << unused) | (BLANKS >> np.uint64(8 * width))
    return word


@inlined
def _translated(word, table):
    """Eight characters translated."""
    result = np.uint64(0)
    for k in range(8):
        code = load_1(table, np.int64((word >> np.uint64(8 * k)) & np.uint64(0xFF)))
        result |= np.uint64(code) << np.uint64(8 * k)
    return result


@inlined
def _length(word):
    """Number of characters before the trailing blanks of eight."""
    return 8 - (trailing_zero_bits(word ^ BLANKS) >> 3)


@kernel
def _one_by_one(data, place, length, table, out, target):
    """Translate a text that is not ASCII; returns where it ends in `out`."""
    for k in range(length):
        code = table[load_1(data, place + k)]
        if code < 0x80:
            out[target] = code
            target += 1
        else:
            out[target] = 0xC0 | (code >> 6)
            out[target + 1] = 0x80 | (code & 0x3F)
            target += 2
    return target


@kernel
def _long_text(data, place, width, table, out, target):
    """Translate one text without its trailing blanks; returns where it ends in `out`.

    Eight characters are taken at a time, and up to seven bytes beyond the text are written; text that is not ASCII is
    then taken again character by character. `out` has room for two bytes per character and eight more.
    """
    if width == 0:
        return target
    last = ((width - 1) >> 3) << 3
    word = _characters(data, place + last, width - last)
    while word == BLANKS and last > 0:
        last -= 8
        word = load_8(data, place + last)
    length = last + _length(word)
    word = _translated(word, table)
    store_8(out, target + last, word)
    seen = word
    for k in range(0, last, 8):
        word = _translated(load_8(data, place + k), table)
        store_8(out, target + k, word)
        seen |= word
    if seen & NOT_ASCII == 0:
        return target + length
    return _one_by_one(data, place, length, table, out, target)


@kernel
def read_text(data, at, offsets, widths, table, out, bases, ends):
    """EBCDIC text to UTF-8 without trailing blanks.

    table: Latin-1 code of each byte. Text of field c is written to `out` from `bases[c]` on, twice its width being free
    for each row and eight bytes more; `ends[c, i + 1]` is where row i's text ends, from `bases[c]`. Names of up to
    eight characters, which repeat from row to row, are translated when they change.
    """
    for c in range(offsets.shape[0]):
        ends[c, 0] = 0
    for low in range(0, at.shape[0], TILE):
        high = min(low + TILE, at.shape[0])
        for c in range(offsets.shape[0]):
            base, offset, width = bases[c], offsets[c], widths[c]
            target = base + np.int64(ends[c, low])
            if width > 8:
                for i in range(low, high):
                    target = _long_text(data, at[i] + offset, width, table, out, target)
                    ends[c, i + 1] = target - base
                continue
            last = BLANKS
            text = _translated(BLANKS, table)
            length = 0
            for i in range(low, high):
                word = _characters(data, at[i] + offset, width)
                if word != last:
                    last, text, length = word, _translated(word, table), _length(word)
                if text & NOT_ASCII == 0:
                    store_8(out, target, text)
                    target += length
                else:
                    target = _one_by_one(data, at[i] + offset, length, table, out, target)
                ends[c, i + 1] = target - base


@kernel
def read_runs(data, at, lengths, skip, table, translate, out, ends):
    """The rest of entries of varying length, after `skip` bytes: EBCDIC text to UTF-8, or bytes as they are."""
    target = np.int64(0)
    ends[0] = 0
    for i in range(at.shape[0]):
        place = at[i] + skip
        width = max(lengths[i] - skip, 0)
        if translate:
            target = _long_text(data, place, width, table, out, target)
        else:
            for k in range(width):
                out[target + k] = load_1(data, place + k)
            target += width
        ends[i + 1] = target
