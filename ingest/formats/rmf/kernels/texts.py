"""Compiled loops over texts held as one array of bytes and the place where each begins: copying, numbers, durations."""

import numpy as np

from ingest.kernels.jit import kernel
from ingest.kernels.loads import load_8, store_8

ABSENT, KNOWN, UNDECIDED = 0, 1, 2
"""What is known of the value of a text: it has none; it is known; Python must decide."""

SPARE = 8
"""Bytes that an array of texts has behind the last one where whole words of it are copied."""

_LONGEST = 64
_POWERS = np.array([10.0**n for n in range(23)])
"""Powers of ten that doubles hold exactly: a quotient of one of them and a whole number below 2^53 is rounded once."""


@kernel
def copy_spans(data, starts, stops, out, at):
    """Copy each span of `data` to its place in `out`."""
    for i in range(starts.shape[0]):
        place = at[i]
        for k in range(starts[i], stops[i]):
            out[place] = data[k]
            place += 1


@kernel
def gathered_ends(offsets, places, ends):
    """Fill where each of some texts ends when they stand one behind the other; how many bytes they are."""
    total = 0
    for i in range(places.shape[0]):
        total += offsets[places[i] + 1] - offsets[places[i]]
        ends[i] = total
    return total


@kernel
def gather(texts, offsets, places, out):
    """Write some texts one behind the other, word by word: both arrays have SPARE bytes behind the last text."""
    at = 0
    for i in range(places.shape[0]):
        begin, end = offsets[places[i]], offsets[places[i] + 1]
        for k in range(0, end - begin, 8):
            store_8(out, at + k, load_8(texts, begin + k))
        at += end - begin


@kernel
def read_numbers(texts, offsets, values, known):
    """Values of plain decimals such as `0.42`, as `ingest.formats.rmf.values.number` reads them."""
    for i in range(values.shape[0]):
        at, stop = offsets[i], offsets[i + 1]
        values[i], known[i] = 0.0, ABSENT
        if at == stop or stop - at > _LONGEST:
            # Texts longer in bytes than in characters are left to Python as well.
            known[i] = UNDECIDED if stop - at > _LONGEST else ABSENT
            continue
        negative = texts[at] == 45
        if negative or texts[at] == 43:
            at += 1
        begin, whole, digits, fraction, point, plain = at, 0, 0, 0, False, True
        for k in range(at, stop):
            byte = texts[k]
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
                    known[i] = UNDECIDED
                break
        if not plain or begin == stop or texts[stop - 1] == 46:
            continue
        if texts[begin] == 48 and begin + 1 < stop and texts[begin + 1] != 46:
            continue
        if digits > 15 or fraction > 22:
            known[i] = UNDECIDED
            continue
        value = whole / _POWERS[fraction]
        values[i], known[i] = -value if negative else value, KNOWN


@kernel
def read_durations(texts, offsets, places, values, known):
    """Microseconds of durations such as `00.00.18.637`, as `ingest.formats.rmf.values.duration_us` reads them."""
    for i in range(places.shape[0]):
        at, stop = offsets[places[i]], offsets[places[i] + 1]
        values[i], known[i] = 0, ABSENT
        if at == stop:
            continue
        # Groups of digits: hours, minutes, seconds, fraction.
        group, digits, number, total, good = 0, 0, 0, 0, True
        for k in range(at, stop):
            byte = texts[k]
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
            known[i] = UNDECIDED
            continue
        if group == 2 and digits == 2:
            values[i], known[i] = (total * 60 + number) * 1_000_000, KNOWN
        elif group == 3 and digits > 0 and digits <= 6:
            for _ in range(6 - digits):
                number *= 10
            values[i], known[i] = total * 1_000_000 + number, KNOWN


@kernel
def find_keys(texts, offsets, words, word_ends, first, last, values, is_variable, found):
    """For each segment and word the first text standing there, or 0.

    A word is the key of a value: part, row label (of cells only) and label, joined by ` > `. first, last: the values of
    each segment; values: rows part, row label, label and text of each value, as numbers of texts.
    """
    for s in range(first.shape[0]):
        for v in range(first[s], last[s]):
            text = values[3, v]
            if offsets[text] == offsets[text + 1]:
                continue
            parts = 2 if is_variable[v] else 3
            length = 3 * (parts - 1)
            for p in range(3):
                if p != 1 or parts == 3:
                    length += offsets[values[p, v] + 1] - offsets[values[p, v]]
            for w in range(word_ends.shape[0]):
                at = word_ends[w - 1] if w else 0
                if found[s, w] or word_ends[w] - at != length:
                    continue
                same = True
                for p in range(3):
                    if p == 1 and parts == 2:
                        continue
                    if p:
                        same = same and words[at] == 32 and words[at + 1] == 62 and words[at + 2] == 32
                        at += 3
                    for k in range(offsets[values[p, v]], offsets[values[p, v] + 1]):
                        if words[at] != texts[k]:
                            same = False
                            break
                        at += 1
                    if not same:
                        break
                if same:
                    found[s, w] = text
