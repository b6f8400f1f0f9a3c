"""Compiled reading of XML tags and texts in the plain form RMF writes; anything else is refused.

Functions take the bytes, a place in them and where they end, and give the place behind what they read, or -1. What a
tag or text says goes into a scratch array of `SCRATCH` numbers, as places.
"""

import numpy as np

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_1

LONGEST = 1 << 20
"""Most bytes of a text, a row, a line of headers, or of what stands before the first segment of a report."""

ODD = 1
"""Mark of a text that is not plain ASCII as it stands."""


def word_of(text):
    return np.frombuffer(text, np.uint8)


_TYPE, _ID, _XMLNS = (word_of(w) for w in (b"type", b"id", b"xmlns"))

LESS_THAN, _GT, _SLASH, _EQUALS, _AMPERSAND = 60, 62, 47, 61, 38
_MOST_ATTRIBUTES = 8


def _in_text():
    kinds = np.zeros(256, np.uint8)
    kinds[[_AMPERSAND, 13, *range(128, 256)]] = ODD
    kinds[[LESS_THAN, _GT, *(byte for byte in range(32) if byte not in (9, 10, 13))]] = 2
    return kinds


# For each byte within a text: 0, the mark `ODD`, or 2 where it ends the text or must not stand there.
_IN_TEXT = _in_text()
# Places in the scratch array: what the last tag and the last text were.
CLOSED, TYPE_AT, TYPE_END, ID_AT, ID_END, TEXT_AT, TEXT_END, TEXT_ODD, ATTRIBUTES, NAMES = range(10)
# For each attribute of the last tag where its name and its value begin and end.
VALUES = NAMES + 2 * _MOST_ATTRIBUTES
SCRATCH = VALUES + 2 * _MOST_ATTRIBUTES


@inlined
def _is_space(byte):
    return byte == 32 or byte == 10 or byte == 9 or byte == 13


@inlined
def _is_name(byte):
    return (
        (byte >= 97 and byte <= 122)
        or (byte >= 65 and byte <= 90)
        or (byte >= 48 and byte <= 57)
        or byte == 95
        or byte == 45
        or byte == 46
    )


@inlined
def skip_spaces(data, at, end):
    while at < end and _is_space(load_1(data, at)):
        at += 1
    return at


@inlined
def is_word(data, at, stop, word):
    if stop - at != word.shape[0]:
        return False
    same = True
    for i in range(word.shape[0]):
        same = same and load_1(data, at + i) == word[i]
    return same


@inlined
def name_end(data, at, end):
    """The place behind the name that starts at `at`, or `at` where none does."""
    stop = at
    while stop < end and _is_name(load_1(data, stop)):
        stop += 1
    if stop == at:
        return at
    first = load_1(data, at)
    return at if first == 45 or first == 46 or (first >= 48 and first <= 57) else stop


@inlined
def opens(data, at, end, word):
    """Whether the tag `<word` starts at `at`."""
    stop = at + 1 + word.shape[0]
    if stop >= end or load_1(data, at) != LESS_THAN:
        return False
    return is_word(data, at + 1, stop, word) and not _is_name(load_1(data, stop))


@inlined
def closes(data, at, end):
    return at + 1 < end and load_1(data, at) == LESS_THAN and load_1(data, at + 1) == _SLASH


@inlined
def end_tag(data, at, end, word):
    """The place behind `</word>`, or -1."""
    stop = at + 2 + word.shape[0]
    if stop >= end or not closes(data, at, end) or not is_word(data, at + 2, stop, word):
        return -1
    stop = skip_spaces(data, stop, end)
    return stop + 1 if stop < end and load_1(data, stop) == _GT else -1


@kernel
def attributes(data, at, end, tag):
    """The place behind the tag whose name ends at `at`, or -1; its attributes go into the scratch array."""
    tag[CLOSED], tag[TYPE_AT], tag[TYPE_END], tag[ID_AT], tag[ID_END], tag[ATTRIBUTES] = 0, 0, 0, 0, 0, 0
    if at < end and load_1(data, at) == _GT:
        return at + 1
    count = 0
    while True:
        begin = at
        at = skip_spaces(data, at, end)
        if at + 1 >= end:
            return -1
        if load_1(data, at) == _GT:
            return at + 1
        if load_1(data, at) == _SLASH:
            tag[CLOSED] = 1
            return at + 2 if load_1(data, at + 1) == _GT else -1
        name = at
        at = name_end(data, name, end)
        if at == name or begin == name:
            return -1
        if count == _MOST_ATTRIBUTES or is_word(data, name, at, _XMLNS):
            return -1
        for k in range(count):
            if is_word(data, name, at, data[tag[NAMES + 2 * k] : tag[NAMES + 2 * k + 1]]):
                return -1
        tag[NAMES + 2 * count], tag[NAMES + 2 * count + 1] = name, at
        stop = at
        at = skip_spaces(data, at, end)
        if at >= end or load_1(data, at) != _EQUALS:
            return -1
        at = skip_spaces(data, at + 1, end)
        if at >= end or (load_1(data, at) != 34 and load_1(data, at) != 39):
            return -1
        quote, value = load_1(data, at), at + 1
        at += 1
        while at < end and load_1(data, at) != quote:
            byte = load_1(data, at)
            if byte < 32 or byte > 126 or byte in (LESS_THAN, _AMPERSAND):
                return -1
            at += 1
        if at >= end or at - value > LONGEST:
            return -1
        is_type, is_id = is_word(data, name, stop, _TYPE), is_word(data, name, stop, _ID)
        if is_type or is_id:
            # An attribute is kept as it stands, a text without white space around it: here both are the same.
            if at == value or load_1(data, value) == 32 or load_1(data, at - 1) == 32:
                return -1
            place = TYPE_AT if is_type else ID_AT
            tag[place], tag[place + 1] = value, at
        tag[VALUES + 2 * count], tag[VALUES + 2 * count + 1] = value, at
        count += 1
        tag[ATTRIBUTES] = count
        at += 1


@inlined
def text(data, at, end, tag):
    """The place of the tag that ends the text, or -1; the text goes into the scratch array."""
    begin = at
    odd = 0
    while at < end and _IN_TEXT[load_1(data, at)] < 2:
        odd |= _IN_TEXT[load_1(data, at)]
        at += 1
    if at >= end or load_1(data, at) != LESS_THAN or at - begin > LONGEST:
        return -1
    stop = at
    while begin < stop and _is_space(load_1(data, begin)):
        begin += 1
    while stop > begin and _is_space(load_1(data, stop - 1)):
        stop -= 1
    tag[TEXT_AT], tag[TEXT_END], tag[TEXT_ODD] = begin, stop, odd
    return at


@kernel
def leaf(data, at, end, word, tag):
    """The place behind the element `word`, which starts at `at` and holds only text, or -1."""
    at += 1 + word.shape[0]
    if at < end and load_1(data, at) == _GT:
        tag[CLOSED], tag[TYPE_END], at = 0, 0, at + 1
    else:
        at = attributes(data, at, end, tag)
    if at < 0:
        return -1
    if tag[CLOSED]:
        tag[TEXT_AT], tag[TEXT_END], tag[TEXT_ODD] = 0, 0, 0
        return at
    at = text(data, at, end, tag)
    return -1 if at < 0 else end_tag(data, at, end, word)
