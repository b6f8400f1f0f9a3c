"""Compiled loops over texts, which are spans of one array of bytes: columns of them, numbers, durations, keys."""

import numpy as np

from ingest.formats.rmf.kernels.markup import V_LABEL, V_PART, V_ROW_LABEL, V_TEXT, VARIABLE
from ingest.kernels.jit import kernel
from ingest.kernels.loads import load_8, store_8

ABSENT, PRESENT, UNDECIDED = 0, 1, 2
"""Status of the value of a text: it has none; it is read; Python must decide."""

SPARE = 8
"""Bytes that an array of texts has behind the last one where whole words of it are copied."""

_LONGEST = 64
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_POWERS = np.array([10.0**n for n in range(23)])
"""Powers of ten that doubles hold exactly: a quotient of one of them and a whole number below 2^53 is rounded once."""


@kernel
def measure(starts, stops, numbers, ends, bits, sizes, counts):
    """For each column of numbers of texts: where each text ends when they stand one behind the other, and which are
    there (a bit each, the lowest first); `sizes` and `counts` are the bytes and the number of texts of a column."""
    for c in range(numbers.shape[0]):
        total, count, eight = 0, 0, 0
        ends[c, 0] = 0
        for i in range(numbers.shape[1]):
            length = stops[numbers[c, i]] - starts[numbers[c, i]]
            total += length
            ends[c, i + 1] = total
            present = 1 if length else 0
            count += present
            eight |= present << (i & 7)
            if i & 7 == 7:
                bits[c, i >> 3] = eight
                eight = 0
        if numbers.shape[1] & 7:
            bits[c, numbers.shape[1] >> 3] = eight
        sizes[c], counts[c] = total, count


@kernel
def gather(data, starts, numbers, ends, bases, out):
    """Write the texts of each column from its base on, word by word: both arrays have SPARE bytes behind a text."""
    for c in range(numbers.shape[0]):
        for i in range(numbers.shape[1]):
            begin, at = starts[numbers[c, i]], bases[c] + ends[c, i]
            for k in range(0, ends[c, i + 1] - ends[c, i], 8):
                store_8(out, at + k, load_8(data, begin + k))


@kernel
def read_numbers(data, starts, stops, places, values, status):
    """Values of plain decimals such as `0.42`, as `ingest.formats.rmf.values.number` reads them."""
    for i in range(places.shape[0]):
        at, stop = starts[places[i]], stops[places[i]]
        values[i], status[i] = 0.0, ABSENT
        if at == stop or stop - at > _LONGEST:
            # Texts longer in bytes than in characters are left to Python as well.
            status[i] = UNDECIDED if stop - at > _LONGEST else ABSENT
            continue
        negative = data[at] == 45
        if negative or data[at] == 43:
            at += 1
        begin, whole, digits, fraction, point, plain = at, 0, 0, 0, False, True
        for k in range(at, stop):
            byte = data[k]
            if byte >= 48 and byte <= 57:
                if digits < 19:
                    whole = whole * 10 + (byte - 48)
                digits += 1
                fraction += point
            elif byte == 46 and not point:
                point = True
            else:
                plain = False
                if byte >= 128:
                    status[i] = UNDECIDED
                break
        if not plain or begin == stop or data[stop - 1] == 46:
            continue
        if data[begin] == 48 and begin + 1 < stop and data[begin + 1] != 46:
            continue
        if digits > 15 or fraction > 22:
            status[i] = UNDECIDED
            continue
        value = whole / _POWERS[fraction]
        values[i], status[i] = -value if negative else value, PRESENT


@kernel
def read_durations(data, starts, stops, places, values, status):
    """Microseconds of durations such as `00.00.18.637`, as `ingest.formats.rmf.values.duration_us` reads them."""
    for i in range(places.shape[0]):
        at, stop = starts[places[i]], stops[places[i]]
        values[i], status[i] = 0, ABSENT
        if at == stop:
            continue
        # Groups of digits: hours, minutes, seconds, fraction.
        group, digits, number, total, good = 0, 0, 0, 0, True
        for k in range(at, stop):
            byte = data[k]
            if byte >= 48 and byte <= 57:
                digits += 1
                if digits > 9:
                    good = False
                    break
                number = number * 10 + (byte - 48)
            elif (byte == 46 or byte == 58) and group < 3 and digits > 0 and (group == 0 or digits == 2):
                total = number if group == 0 else total * 60 + number
                group, digits, number = group + 1, 0, 0
            else:
                good = False
                break
        if not good:
            status[i] = UNDECIDED
            continue
        if group == 2 and digits == 2:
            values[i], status[i] = (total * 60 + number) * 1_000_000, PRESENT
        elif group == 3 and digits > 0 and digits <= 6:
            for _ in range(6 - digits):
                number *= 10
            values[i], status[i] = total * 1_000_000 + number, PRESENT


@kernel
def find_keys(data, starts, stops, words, word_ends, first, last, values, flags, matches):
    """For each segment and word the first text standing there, or 0.

    A word is the key of a value: part, row label (of cells only) and label, joined by ` > `. first, last: the values of
    each segment; values, flags: those of the `markup.Elements`.
    """
    lengths = np.uint64(0)
    for w in range(word_ends.shape[0]):
        length = word_ends[w] - (word_ends[w - 1] if w else 0)
        lengths |= np.uint64(1) << np.uint64(length & 63)
    for s in range(first.shape[0]):
        for v in range(first[s], last[s]):
            text = values[V_TEXT, v]
            if starts[text] == stops[text]:
                continue
            part, row, label = values[V_PART, v], values[V_ROW_LABEL, v], values[V_LABEL, v]
            is_cell = flags[v] != VARIABLE
            length = stops[part] - starts[part] + 3 + stops[label] - starts[label]
            length += stops[row] - starts[row] + 3 if is_cell else 0
            if not (lengths >> np.uint64(length & 63)) & np.uint64(1):
                continue
            for w in range(word_ends.shape[0]):
                at = word_ends[w - 1] if w else 0
                if word_ends[w] - at != length or matches[s, w]:
                    continue
                same = True
                for p in range(3):
                    piece = part if p == 0 else row if p == 1 else label
                    if p == 1 and not is_cell:
                        continue
                    if p:
                        same = same and words[at] == 32 and words[at + 1] == 62 and words[at + 2] == 32
                        at += 3
                    for k in range(starts[piece], stops[piece]):
                        if words[at] != data[k]:
                            same = False
                            break
                        at += 1
                    if not same:
                        break
                if same:
                    matches[s, w] = text


@kernel
def first_equal(data, begins, stops, slots, first):
    """For each span the ordinal of the first one with the same bytes.

    slots: a power of two of places, more than there are spans, all -1.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(begins.shape[0]):
        begin, length = begins[i], stops[i] - begins[i]
        mixed = np.uint64(length)
        for k in range(length >> 3):
            mixed = (mixed ^ load_8(data, begin + 8 * k)) * _MULTIPLIER
            mixed ^= mixed >> np.uint64(32)
        for k in range(length & ~7, length):
            mixed = (mixed ^ np.uint64(data[begin + k])) * _MULTIPLIER
        slot = (mixed ^ (mixed >> np.uint64(32))) & mask
        while True:
            other = slots[np.int64(slot)]
            if other < 0:
                slots[np.int64(slot)], first[i] = i, i
                break
            same = stops[other] - begins[other] == length
            for k in range(length):
                same = same and data[begins[other] + k] == data[begin + k]
                if not same:
                    break
            if same:
                first[i] = other
                break
            slot = (slot + np.uint64(1)) & mask
