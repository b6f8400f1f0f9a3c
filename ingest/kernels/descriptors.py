"""Compiled loops over record and block descriptors."""

import numpy as np

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_8, store_8

AFTER_DATE = 8
"""Bytes that a record has at least from the start of its date on."""

EARLIEST_YEAR, LATEST_YEAR = 1980, 2099
"""Years of records that are looked for among other bytes; small numbers are dates of 1900 and soon after."""

BEFORE_CLOCK = 6
"""Bytes that a record with a store clock near its end has at least before it."""

EARLIEST_CLOCK = 0x9A
"""First byte of the store clock in 1984; it is higher until the clock's first epoch ends in 2042."""

NUMBERS_BELOW = np.uint64(1 << 48)
"""No log has so many records; eight bytes of text or packed digits are a higher number."""

LONGEST_RECORD = 65_535
"""Bytes of the longest record, or segment of one, that a descriptor can tell."""

LONGEST_BLOCK = 16 << 20
"""Bytes of the longest block that is believed: several times what any device writes, and far below what junk tells."""

PROVEN_BY, PROVEN_BY_NUMBERS, MOST_SEGMENTS = 3, 2, 32
"""So many records in a row, dated or numbered, in so many segments at most, prove that records start again there."""

CHAIN_BYTES = MOST_SEGMENTS * (LONGEST_RECORD + 4)
"""Most bytes that such records take."""


@inlined
def _block_length(data, position):
    """Length that a block descriptor tells, of 15 or 31 bits; 0 where there is none that can be believed."""
    if data[position] & 0x80:
        length = (np.int64(data[position] & 0x7F) << 24) | (np.int64(data[position + 1]) << 16)
        length |= (np.int64(data[position + 2]) << 8) | np.int64(data[position + 3])
        return length if length <= LONGEST_BLOCK else np.int64(0)
    if data[position + 2] == 0 and data[position + 3] == 0:
        return (np.int64(data[position]) << 8) | np.int64(data[position + 1])
    return np.int64(0)


@kernel
def scan_segments(data, blocked, left, starts, lengths, codes, block_left):
    """Follow descriptors from one to the next.

    left: bytes left of the block that `data` starts in. Fills place, length and segment code of every whole segment and
    how much of its block was left before it, of as many as there is room for; returns their number, the bytes followed,
    why it stopped (0 input ended, 1 bad record descriptor, 2 bad block descriptor), the number of blocks ended and the
    bytes left of the last block. The descriptor of a block and its first segment count as one step.
    """
    size = data.shape[0]
    position, count, stop, blocks, opened = np.int64(0), 0, 0, 0, np.int64(-1)
    while True:
        if blocked and left == 0:
            if position + 4 > size:
                break
            left = _block_length(data, position)
            if left < 8:
                left = 0
                stop = 2
                break
            left -= 4
            position += 4
            opened = position
        if position + 4 > size:
            break
        length = (np.int64(data[position]) << 8) | np.int64(data[position + 1])
        if length < 4 or data[position + 2] > 3 or data[position + 3] != 0 or (blocked and length > left):
            stop = 1
            break
        if position + length > size:
            break
        if count < starts.shape[0]:
            starts[count] = position
            lengths[count] = length
            codes[count] = data[position + 2]
            block_left[count] = left
        count += 1
        position += length
        if blocked:
            left -= length
            if left == 0:
                blocks += 1
    if opened == position:
        position, left = position - 4, np.int64(0)
    return count, position, stop, blocks, left


@inlined
def _is_date(data, at, highest):
    """A packed date 0cyydddF or yyyydddF of a year that records may be of; its first byte is `highest` at most."""
    year = 1000 * np.int64(data[at] >> 4) + 100 * np.int64(data[at] & 15)
    year += 10 * np.int64(data[at + 1] >> 4) + np.int64(data[at + 1] & 15)
    year += 1900 if year < 1000 else 0
    day = 100 * np.int64(data[at + 2] >> 4) + 10 * np.int64(data[at + 2] & 15) + np.int64(data[at + 3] >> 4)
    digits = data[at + 1] & 15 <= 9 and data[at + 1] >> 4 <= 9 and data[at + 2] & 15 <= 9
    sign = data[at + 3] & 15
    return (
        data[at] <= highest
        and data[at] & 15 <= 9
        and digits
        and EARLIEST_YEAR <= year <= LATEST_YEAR
        and 1 <= day <= 366
        and data[at + 3] >> 4 <= 9
        and (sign == 12 or sign == 15)
    )


@inlined
def _number(data, position, length, date, highest):
    """Number of the log record that ends with this segment; 0 for a record with a packed date; -1 for neither."""
    if date >= 0:
        # Behind the descriptor stand the flags of SMF or the kind of a DCOLLECT record, which are never zero.
        is_dated = length >= date + AFTER_DATE and data[position + 4] != 0 and _is_date(data, position + date, highest)
        return np.int64(0 if is_dated else -1)
    clock = position + length + date
    if length < BEFORE_CLOCK - date or data[clock] < EARLIEST_CLOCK or load_8(data, clock + 8) >= NUMBERS_BELOW:
        return np.int64(-1)
    return np.int64(load_8(data, clock + 8))


@inlined
def _dated(data, position, end, first, before, date, highest):
    """Length of the segment that starts here and ends at `end` at the latest, and the number of the record it dates.

    first: it must start a record; before: number of the dated record before it, -1 without one. The length is 0 where
    no such segment can stand here, the number -1 where the date of its record stands in another of its segments.
    """
    if position + 4 > end:
        return np.int64(0), np.int64(-1)
    length, code = (np.int64(data[position]) << 8) | np.int64(data[position + 1]), data[position + 2]
    if length < 4 or code > 3 or data[position + 3] != 0 or position + length > end or (first and code > 1):
        return np.int64(0), np.int64(-1)
    if (code > 1) if date >= 0 else (code == 1 or code == 3):
        return length, np.int64(-1)
    number = _number(data, position, length, date, highest)
    if number < 0 or (date < 0 and before >= 0 and number != before + 1):
        return np.int64(0), np.int64(-1)
    return length, number


@inlined
def _leads_on(data, position, blocked, final, date, highest):
    """True if dated records follow one another from here, as many as prove it or all that are left of the input."""
    size, left, records, before = data.shape[0], np.int64(0), 0, np.int64(-1)
    proof = PROVEN_BY if date >= 0 else PROVEN_BY_NUMBERS
    for segment in range(MOST_SEGMENTS):
        if position == size and left == 0:
            return final and records > 0
        if blocked and left == 0:
            if position + 4 > size:
                return False
            left = _block_length(data, position)
            if left < 8:
                return False
            left -= 4
            position += 4
        end = min(size, position + left) if blocked else size
        length, number = _dated(data, position, end, segment == 0, before, date, highest)
        if length == 0:
            return False
        if number >= 0:
            before = number
            records += 1
            if records == proof:
                return True
        position += length
        if blocked:
            left -= length
    return False


@inlined
def _run(data, position, limit, date, highest):
    """Where the dated records end that follow one another from here in no block, and how many there are."""
    begin, records, before = position, 0, np.int64(-1)
    while True:
        length, number = _dated(data, position, limit, position == begin, before, date, highest)
        # A block of one log record ends like the record.
        next_block = date < 0 and records > 0 and _leads_on(data, position, True, False, date, highest)
        if length == 0 or next_block:
            return position, records
        if number >= 0:
            before = number
            records += 1
        position += length


@kernel
def find_records(data, begin, end, blocked, final, date, highest):
    """The first place from `begin` on, before `end`, from which dated records follow one another, or -1.

    data: ends where the input ends if `final`; else `end` is at least 2 * CHAIN_BYTES before its end, or chains
    that reach beyond are missed. date, highest: see `framing.Dating`. Second comes how much is left there of a block: 0
    before the descriptor of one, -1 where blocks have ended for good.
    """
    size = data.shape[0]
    for place in range(begin, end):
        if _leads_on(data, place, blocked, final, date, highest):
            return place, np.int64(0)
        if blocked:
            limit = min(size, place + CHAIN_BYTES)
            stop, records = _run(data, place, limit, date, highest)
            if records == 0:
                continue
            if stop + LONGEST_RECORD > limit and limit < size:
                return place, np.int64(-1)
            proven = records >= (PROVEN_BY if date >= 0 else PROVEN_BY_NUMBERS) or (final and stop == size)
            if proven or _leads_on(data, stop, True, final, date, highest):
                return place, stop - place
    return -1, np.int64(0)


@inlined
def _copy(buffer, source, target, length):
    """Copy bytes within a buffer, to a place that they do not overlap."""
    whole = length & ~7
    for k in range(0, whole, 8):
        store_8(buffer, target + k, load_8(buffer, source + k))
    for k in range(whole, length):
        buffer[target + k] = buffer[source + k]


@kernel
def join_segments(buffer, spill, places, sizes, codes, longest, starts, lengths, firsts, orphans):
    """Join spanned segments into records written from `spill` on; whole records stay where they are.

    Fills place and length of each record, the number of its first segment, and the numbers of orphans: segments that
    belong to no record. A chain of more than `longest` bytes consists of orphans. Returns how many records and orphans
    there are, and the first segment of a record that is not complete yet, or -1.
    """
    count = lost = 0
    opened = -1
    for i in range(places.shape[0]):
        code = codes[i]
        if opened >= 0 and code > 1 and places[i] + sizes[i] - places[opened] > longest:
            for j in range(opened, i):
                orphans[lost] = j
                lost += 1
            opened = -1
        if code <= 1:
            if opened >= 0:
                for j in range(opened, i):
                    orphans[lost] = j
                    lost += 1
            opened = i if code == 1 else -1
            if code == 0:
                starts[count] = places[i]
                lengths[count] = sizes[i]
                firsts[count] = i
                count += 1
        elif opened < 0:
            orphans[lost] = i
            lost += 1
        elif code == 2:
            total = np.int64(0)
            for j in range(opened, i + 1):
                skip = 0 if j == opened else 4
                _copy(buffer, places[j] + skip, spill + total, sizes[j] - skip)
                total += sizes[j] - skip
            stated = total if total <= 65_535 else 0
            buffer[spill] = stated >> 8
            buffer[spill + 1] = stated & 0xFF
            buffer[spill + 2] = 0
            starts[count] = spill
            lengths[count] = total
            firsts[count] = opened
            count += 1
            spill += total
            opened = -1
    return count, lost, opened


@kernel
def write_pieces(out, data, bodies, sizes, codes, blocks):
    """Write pieces of records, each with its descriptor, before it a block descriptor where `blocks` gives a length."""
    position = 0
    for i in range(bodies.shape[0]):
        if blocks[i]:
            out[position] = blocks[i] >> 8
            out[position + 1] = blocks[i] & 0xFF
            position += 4
        length = sizes[i] + 4
        out[position] = length >> 8
        out[position + 1] = length & 0xFF
        out[position + 2] = codes[i]
        position += 4
        for j in range(sizes[i]):
            out[position + j] = data[bodies[i] + j]
        position += sizes[i]
