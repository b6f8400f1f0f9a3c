"""The compiled loop that reads fields of many sections at once, and writes them as an Arrow record batch.

Rows are taken a tile at a time, so that a tile's bytes are still in the cache for its last field. Callers pass places
whose fields lie inside the buffer; nothing here checks again.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import keep, load_1, load_2, load_4, load_8, store_8, trailing_zero_bits

TILE = 512
"""Rows read at once."""

KEY, LIST, ABSENT, NUMBER, HFP, PACKED, DATE, TOD, TOD_UPPER, STCKE, BYTES, TEXT, REST, REST_TEXT = range(14)
"""Kinds of arrays: a key that is handed over; lists, whose values are in the next array; nothing but NULL; values of
a field by its format; the rest of a section from the field's offset on, as bytes or as text."""

_ARRAY = ("kind", "place", "mask", "offset", "length", "count", "width", "nullable", "text", "code_page")
ARRAY = np.dtype((np.record, [(name, np.int64) for name in _ARRAY]))
"""An array of a batch. place and mask: rows of places and of masks, the latter -1 for none; offset: from the place, of
keys their ordinal; length: bytes of a value in the record; count: how many follow one another there; width: bytes of a
value in Arrow, of texts those of an offset; nullable: 1 if it may hold NULL; text: 1 if its values have no fixed width;
code_page: ordinal of its table."""

_WRITTEN = ("validity", "values", "texts", "used", "nulls")
WRITTEN = np.dtype((np.record, [(name, np.int64) for name in _WRITTEN]))
"""Where the buffers of an array start in the batch, validity -1 for none; bytes of its texts; how many are NULL."""

TOD_UNIX_EPOCH_US = 2_208_988_800_000_000
"""Microseconds from 1900-01-01, where store clocks start, to 1970-01-01."""

BLANKS = np.uint64(0x4040404040404040)
NOT_ASCII = np.uint64(0x8080808080808080)

_ALIGNED = 64
_YEAR_STARTS = np.arange("1900", "2901", dtype="datetime64[Y]").astype("datetime64[D]").astype(np.int64)

# What the first byte of hexadecimal floating point says: a sign and a power of 16.
_HFP_POWERS = np.ldexp(np.repeat([1.0, -1.0], 128), np.tile(4 * np.arange(-64, 64), 2))


class Head(NamedTuple):
    """Where a batch says its rows, the bytes of its body, its arrays and their buffers; where the body starts."""

    rows: int
    body_bytes: int
    arrays: int
    buffers: int
    body: int


class Masks(NamedTuple):
    """Which rows have a field: bits as Arrow has them, shape (masks, bytes), and how many have not."""

    bits: npt.NDArray[np.uint8]
    nulls: npt.NDArray[np.int64]


@kernel
def read_odd(data, at, offset, length, out):
    """Unsigned integers of any length up to eight bytes."""
    for i in range(at.shape[0]):
        out[i] = _integer(data, at[i] + offset, length)


@inlined
def _integer(data, place, length):
    value = np.uint64(0)
    for k in range(length):
        value = (value << np.uint64(8)) | np.uint64(load_1(data, place + k))
    return value


@inlined
def _put(out, target, width, value):
    """Write a number as an unsigned integer of `width` bytes."""
    if width == 1:
        keep(out, target, np.uint8(value))
    elif width == 2:
        keep(out, target, np.uint16(value))
    elif width == 4:
        keep(out, target, np.uint32(value))
    else:
        keep(out, target, np.uint64(value))


@inlined
def _numbers(data, at, low, high, offset, spec, out, target, step):
    """Unsigned integers."""
    if spec.length == 1:
        for i in range(low, high):
            keep(out, target + i * step, load_1(data, at[i] + offset))
    elif spec.length == 2:
        for i in range(low, high):
            keep(out, target + i * step, load_2(data, at[i] + offset))
    elif spec.length == 4:
        for i in range(low, high):
            keep(out, target + i * step, load_4(data, at[i] + offset))
    elif spec.length == 8:
        for i in range(low, high):
            keep(out, target + i * step, load_8(data, at[i] + offset))
    else:
        for i in range(low, high):
            _put(out, target + i * step, spec.width, _integer(data, at[i] + offset, spec.length))


@inlined
def _floats(data, at, low, high, offset, spec, out, target, step):
    """Hexadecimal floating point to the nearest double: exactly one rounding."""
    fraction_bits = np.uint64(8 * spec.length - 8)
    mask, unit = (np.uint64(1) << fraction_bits) - np.uint64(1), 0.5 ** np.float64(fraction_bits)
    for i in range(low, high):
        place = at[i] + offset
        bits = load_8(data, place) if spec.length == 8 else np.uint64(load_4(data, place))
        power = _HFP_POWERS[np.int64(bits >> fraction_bits)] * unit
        keep(out, target + i * step, np.float64(np.int64(bits & mask)) * power)


@inlined
def _set_null(out, written, c, element):
    """Mark a value as NULL."""
    place, bit = written[c].validity + (element >> 3), np.uint8(1 << (element & 7))
    if out[place] & bit:
        out[place] ^= bit
        written[c].nulls += 1


@inlined
def _digits(data, at, low, high, offset, spec, out, target, step, written, c, k):
    """Packed decimal of up to eight bytes, as a number or a date; NULL without digits, sign, or such a day.

    Dates and times repeat from row to row, and are worked out when they change. Eight bytes of `data` can be read at
    every place.
    """
    nibbles = 2 * spec.length
    word, value, good = np.uint64(0), np.uint64(0), False
    for i in range(low, high):
        decimal = load_8(data, at[i] + offset) >> np.uint64(64 - 4 * nibbles)
        if decimal != word:
            word, value, good = decimal, np.uint64(0), decimal & np.uint64(15) >= 10
            for n in range(nibbles - 1, 0, -1):
                digit = (decimal >> np.uint64(4 * n)) & np.uint64(15)
                good = good and digit <= 9
                value = value * np.uint64(10) + digit
            if spec.kind == DATE:
                year, ordinal = np.int64(value) // 1000, np.int64(value) % 1000
                good = good and bool(year + 1 < _YEAR_STARTS.shape[0] and ordinal >= 1)
                good = good and bool(_YEAR_STARTS[year] + ordinal <= _YEAR_STARTS[year + 1])
                value = np.uint64(_YEAR_STARTS[year] + ordinal - 1) if good else np.uint64(0)
        _put(out, target + i * step, spec.width, value if good else np.uint64(0))
        if not good:
            _set_null(out, written, c, i * spec.count + k)


@inlined
def _clocks(data, at, low, high, offset, spec, out, target, step, written, c, k):
    """Store clocks as microseconds since 1970; NULL where they are zero."""
    for i in range(low, high):
        place = at[i] + offset
        beyond = np.int64(0)
        if spec.kind == STCKE:
            beyond, clock = np.int64(load_1(data, place)), load_8(data, place + 1)
        elif spec.kind == TOD_UPPER:
            clock = np.uint64(load_4(data, place)) << np.uint64(32)
        else:
            clock = load_8(data, place)
        micros = np.int64(clock >> np.uint64(12)) + (beyond << 52) - TOD_UNIX_EPOCH_US
        keep(out, target + i * step, np.int64(micros))
        if clock == 0 and beyond == 0:
            _set_null(out, written, c, i * spec.count + k)


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
    bits = word
    for k in range(0, last, 8):
        word = _translated(load_8(data, place + k), table)
        store_8(out, target + k, word)
        bits |= word
    if bits & NOT_ASCII == 0:
        return target + length
    return _one_by_one(data, place, length, table, out, target)


@inlined
def _texts(data, at, low, high, spec, table, out, written, c):
    """EBCDIC text to UTF-8 without trailing blanks.

    table: Latin-1 code of each byte. Twice the length of each text is free for it, and eight bytes more. Names of up to
    eight characters, which repeat from row to row, are translated when they change.
    """
    base, ends, width = written[c].texts, written[c].values, spec.length
    target = base + written[c].used
    last, text, size = BLANKS, _translated(BLANKS, table), np.int64(0)
    for i in range(low, high):
        for k in range(spec.count):
            place = at[i] + spec.offset + k * width
            if width > 8:
                target = _long_text(data, place, width, table, out, target)
            else:
                word = _characters(data, place, width)
                if word != last:
                    last, text, size = word, _translated(word, table), _length(word)
                if text & NOT_ASCII == 0:
                    store_8(out, target, text)
                    target += size
                else:
                    target = _one_by_one(data, place, size, table, out, target)
            keep(out, ends + 4 * (i * spec.count + k + 1), np.int32(target - base))
    written[c].used = target - base


@inlined
def _rests(data, at, limits, low, high, spec, table, out, written, c):
    """The rest of sections from an offset on; NULL where they end before."""
    base, ends = written[c].texts, written[c].values
    target = base + written[c].used
    for i in range(low, high):
        place, size = at[i] + spec.offset, limits[i] - spec.offset
        if size < 0:
            _set_null(out, written, c, i)
        is_valid = out[written[c].validity + (i >> 3)] & np.uint8(1 << (i & 7))
        if is_valid and spec.kind == REST_TEXT:
            target = _long_text(data, place, size, table, out, target)
        elif is_valid:
            for k in range(size):
                out[target + k] = load_1(data, place + k)
            target += size
        keep(out, ends + 4 * (i + 1), np.int32(target - base))
    written[c].used = target - base


@inlined
def _aligned(place):
    return (place + _ALIGNED - 1) & -_ALIGNED


@inlined
def _bitmap_bytes(elements):
    """Bytes that say which of so many values are NULL."""
    return (elements + 7) // 8


@inlined
def _values_bytes(spec, elements):
    """Bytes of an array's values, or of the places where its texts end."""
    return (elements + spec.text) * spec.width


@inlined
def _texts_room(spec, rows, limits):
    """The most bytes that the texts of an array may take."""
    if not spec.text or spec.kind == ABSENT:
        return np.int64(0)
    if spec.kind == TEXT:
        return 2 * spec.length * spec.count * rows + 8
    room = np.int64(0)
    for i in range(rows):
        room += max(limits[i] - spec.offset, 0)
    return 2 * room + 8 if spec.kind == REST_TEXT else room


@kernel
def _read_tile(data, places, limits, keys, arrays, code_pages, out, written, low, high, c):
    """One array's values of the rows from `low` to before `high`."""
    spec, target = arrays[c], written[c].values
    at, kind, step = places[spec.place], spec.kind, spec.count * spec.width
    if kind == KEY:
        for i in range(low, high):
            keep(out, target + 4 * i, keys[spec.offset, i])
    elif kind == TEXT:
        _texts(data, at, low, high, spec, code_pages[spec.code_page], out, written, c)
    elif kind in (REST, REST_TEXT):
        _rests(data, at, limits, low, high, spec, code_pages[spec.code_page], out, written, c)
    elif kind == NUMBER and spec.count == 1:
        _numbers(data, at, low, high, spec.offset, spec, out, target, spec.width)
    elif kind != ABSENT and kind != LIST:
        for k in range(spec.count):
            offset, first = spec.offset + k * spec.length, target + k * spec.width
            if kind == NUMBER:
                _numbers(data, at, low, high, offset, spec, out, first, step)
            elif kind == HFP:
                _floats(data, at, low, high, offset, spec, out, first, step)
            elif kind == BYTES:
                for i in range(low, high):
                    for b in range(spec.length):
                        out[first + i * step + b] = load_1(data, at[i] + offset + b)
            elif kind in (PACKED, DATE):
                _digits(data, at, low, high, offset, spec, out, first, step, written, c, k)
            else:
                _clocks(data, at, low, high, offset, spec, out, first, step, written, c, k)


@kernel
def lay_out(rows, limits, arrays, body, written):
    """Place the buffers of all arrays from `body` on, in `written`; returns how many bytes the batch takes."""
    at = body
    for c in range(arrays.shape[0]):
        spec, elements = arrays[c], rows * arrays[c].count
        written[c].validity, written[c].nulls, written[c].used = -1, 0, 0
        if spec.nullable:
            written[c].validity = at
            at = _aligned(at + _bitmap_bytes(elements))
        written[c].values = at
        at = _aligned(at + _values_bytes(spec, elements))
        written[c].texts = at
        at = _aligned(at + _texts_room(spec, rows, limits))
    return at


@kernel
def _begin(rows, masks, arrays, out, written):
    """NULL so far is what a mask says, or all where a field is absent; texts begin at 0."""
    for c in range(arrays.shape[0]):
        spec, state, elements = arrays[c], written[c], rows * arrays[c].count
        absent = spec.kind == ABSENT
        if spec.mask >= 0:
            state.nulls = masks.nulls[spec.mask]
            for place in range(_bitmap_bytes(elements)):
                out[state.validity + place] = masks.bits[spec.mask, place]
        elif spec.nullable:
            state.nulls = elements if absent else 0
            out[state.validity : state.validity + _bitmap_bytes(elements)] = 0 if absent else 255
        if absent:
            out[state.values : state.values + _values_bytes(spec, elements)] = 0
        elif spec.text:
            out[state.values : state.values + spec.width] = 0


@kernel
def _describe(rows, arrays, head, out, written):
    """Write into the head of the batch how long its arrays are and where their buffers stand."""
    keep(out, head.rows, np.int64(rows))
    keep(out, head.body_bytes, np.int64(out.shape[0] - head.body))
    node, buffer = head.arrays, head.buffers
    for c in range(arrays.shape[0]):
        spec, state, elements = arrays[c], written[c], rows * arrays[c].count
        keep(out, node, np.int64(elements))
        keep(out, node + 8, np.int64(state.nulls))
        node += 16
        if state.nulls:
            keep(out, buffer, np.int64(state.validity - head.body))
            keep(out, buffer + 8, np.int64(_bitmap_bytes(elements)))
        buffer += 16
        if spec.width:
            keep(out, buffer, np.int64(state.values - head.body))
            keep(out, buffer + 8, np.int64(_values_bytes(spec, elements)))
            buffer += 16
        if spec.text:
            keep(out, buffer, np.int64(state.texts - head.body))
            keep(out, buffer + 8, np.int64(state.used))
            buffer += 16


@kernel
def read_columns(data, places, limits, masks, keys, arrays, code_pages, head, out, written):
    """Write fields of rows as a record batch in the format of Arrow's messages, its buffers placed by `lay_out`.

    places: where each row starts, shape (ways to tell, rows); limits: how long it is; masks: which rows lack a field,
    and start at a blank place; keys: shape (keys, rows); arrays: of type `ARRAY`; code_pages: tables of 256 bytes; out:
    the batch, of the length that `lay_out` returned, its head filled in as for no rows; written: of type `WRITTEN`.
    """
    rows = places.shape[1]
    _begin(rows, masks, arrays, out, written)
    for low in range(0, rows, TILE):
        high = min(low + TILE, rows)
        for c in range(arrays.shape[0]):
            _read_tile(data, places, limits, keys, arrays, code_pages, out, written, low, high, c)
    _describe(rows, arrays, head, out, written)
