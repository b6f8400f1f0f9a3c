"""A compiled loop that writes rows as CSV."""

import numpy as np

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_1, unsigned_load

PLAIN, QUOTED, HEXADECIMAL = 0, 1, 2
"""How texts are written: as they are, in quotes, or as the hexadecimal digits of their bytes in quotes."""

_COMMA, _NEWLINE, _QUOTE, _MINUS, _BLANK, _OPEN, _CLOSE = b',\n"- []'
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_TEN = np.uint64(10)
_TOP = np.uint64(1 << 63)

_native_2, _native_4, _native_8 = (unsigned_load(bits, big_endian=False) for bits in (16, 32, 64))


@inlined
def _number(data, place, width, signed):
    """An integer of this machine's byte order, as the 64 bits of a signed or unsigned one."""
    if width == 8:
        return np.uint64(_native_8(data, place))
    if width == 4:
        value, bits = np.uint64(_native_4(data, place)), 32
    elif width == 2:
        value, bits = np.uint64(_native_2(data, place)), 16
    else:
        value, bits = np.uint64(load_1(data, place)), 8
    if signed and value >> np.uint64(bits - 1):
        value |= ~np.uint64(0) << np.uint64(bits)
    return value


@inlined
def _put_number(out, at, value, signed):
    """Write the decimal digits of an integer at `at`; the place after them."""
    if signed and value >= _TOP:
        out[at] = _MINUS
        at += 1
        value = ~value + np.uint64(1)
    if value < _TEN:
        out[at] = np.uint64(48) + value
        return at + 1
    end, rest = at + 1, value
    while rest >= _TEN:
        rest //= _TEN
        end += 1
    place = end - 1
    while value >= _TEN:
        left = value // _TEN
        out[place] = np.uint64(48) + value - left * _TEN
        value = left
        place -= 1
    out[place] = np.uint64(48) + value
    return end


@inlined
def _put_text(out, at, data, place, end, form):
    """Write a text at `at`; the place after it."""
    if form == PLAIN:
        for k in range(place, end):
            out[at] = load_1(data, k)
            at += 1
        return at
    out[at] = _QUOTE
    at += 1
    for k in range(place, end):
        byte = load_1(data, k)
        if form == HEXADECIMAL:
            out[at] = _DIGITS[byte >> 4]
            out[at + 1] = _DIGITS[byte & 15]
            at += 2
            continue
        if byte == _QUOTE:
            out[at] = _QUOTE
            at += 1
        out[at] = byte
        at += 1
    out[at] = _QUOTE
    return at + 1


@kernel
def write_rows(data, kinds, low, high, out):
    """Write rows `low` to `high` as CSV, NULL as nothing; how many bytes of `out` they take.

    data: the buffers of all columns, one behind the other; kinds: per column seven numbers, width of an integer or 0
    for text; whether it is signed, or the form of the text; items of a list, -1 without one; place of the values; of
    the ends of texts (4 bytes each, counted from the first); of the validity bits, -1 without any; its first bit.
    Text without ends is of the length of the list. `out` has room for the longest rows.
    """
    at = np.int64(0)
    for row in range(low, high):
        for c in range(kinds.shape[0]):
            if c:
                out[at] = _COMMA
                at += 1
            width, form, items, values = kinds[c, 0], kinds[c, 1], kinds[c, 2], kinds[c, 3]
            if kinds[c, 5] >= 0:
                bit = kinds[c, 6] + row
                if not (load_1(data, kinds[c, 5] + (bit >> 3)) >> np.uint8(bit & 7)) & 1:
                    continue
            if width == 0:
                ends = kinds[c, 4]
                place = values + np.int64(_native_4(data, ends + 4 * row))
                end = values + np.int64(_native_4(data, ends + 4 * row + 4))
                at = _put_text(out, at, data, place, end, form)
            elif items < 0:
                at = _put_number(out, at, _number(data, values + row * width, width, form), form)
            else:
                out[at] = _QUOTE
                out[at + 1] = _OPEN
                at += 2
                place = values + row * items * width
                for k in range(items):
                    if k:
                        out[at] = _COMMA
                        out[at + 1] = _BLANK
                        at += 2
                    at = _put_number(out, at, _number(data, place, width, form), form)
                    place += width
                out[at] = _CLOSE
                out[at + 1] = _QUOTE
                at += 2
        out[at] = _NEWLINE
        at += 1
    return at
