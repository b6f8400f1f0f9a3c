"""Compiled loops that find the sections of records and prove that they lie inside them."""

import numpy as np

from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_1, load_2, load_4

OUTSIDE, NO_LENGTH = 1, 2


@inlined
def _number(data, place, width):
    if width == 2:
        return np.int64(load_2(data, place))
    if width == 4:
        return np.int64(load_4(data, place))
    value = np.int64(0)
    for k in range(width):
        value = (value << 8) | np.int64(load_1(data, place + k))
    return value


@kernel
def measure_sections(data, starts, lengths, triplets, prefixed, head_length, spans):
    """Read and check the triplets of records of one layout.

    triplets: one row per section, in the order of their position: position, widths of offset, length and count.
    prefixed: 1 where each entry of a section starts with its length. Fills a `plan.SectionSpans`: per record and
    section, offset, length of one section and count; per record the length of its header, which ends where the first
    section starts, and a fault: 0, or 4 times the number of the section plus 1 (reaches outside the record or into the
    header) or 2 (has no length). Length and count may have 32 bits each: bounds are divided, as their product may not
    fit into an integer.
    """
    heads, offsets, sizes, counts, faults = spans
    for i in range(starts.shape[0]):
        start, size = starts[i], lengths[i]
        head = min(size, head_length)
        faults[i] = 0
        for s in range(triplets.shape[0]):
            position = triplets[s, 0]
            end = position + triplets[s, 1] + triplets[s, 2] + triplets[s, 3]
            counts[i, s] = 0
            if end > head:
                continue
            place = start + position
            offset = _number(data, place, triplets[s, 1])
            length = _number(data, place + triplets[s, 1], triplets[s, 2])
            count = _number(data, place + triplets[s, 1] + triplets[s, 2], triplets[s, 3])
            if count == 0 or offset == 0:
                continue
            if offset < end or offset > size:
                faults[i] = 4 * s + 1
                break
            if prefixed[s]:
                entry = offset
                n_entries = np.int64(0)
                while n_entries < count and entry < size:
                    entry += 1 + np.int64(load_1(data, start + entry))
                    n_entries += 1
                if n_entries < count or entry > size:
                    faults[i] = 4 * s + 1
                    break
            elif length == 0:
                faults[i] = 4 * s + 2
                break
            elif length > (size - offset) // count:
                faults[i] = 4 * s + 1
                break
            offsets[i, s], sizes[i, s], counts[i, s] = offset, length, count
            head = min(head, offset)
        heads[i] = head


@kernel
def find_unknown(spans, lengths, prefixed, aligned, unknown):
    """Per record, whether more bytes of it are in none of its sections than aligning each to `aligned` bytes leaves.

    Not decided for records with sections whose entries start with their length. As many columns of the matrices are
    looked at as `prefixed` has elements.
    """
    offsets, sizes, counts = spans.offsets, spans.sizes, spans.counts
    for i in range(lengths.shape[0]):
        covered, sections, first, measured = np.int64(0), 0, lengths[i], True
        for s in range(prefixed.shape[0]):
            if counts[i, s] > 0:
                covered += sizes[i, s] * counts[i, s]
                sections += 1
                first = min(first, offsets[i, s])
                measured = measured and not prefixed[s]
        unknown[i] = measured and lengths[i] - first - covered >= aligned * (sections + 1)


@kernel
def place_sections(data, starts, spans, owners, first, column, prefixed, rows):
    """Rows of every occurrence of one kind of section, that of a column of the matrices.

    owners and first: per record and section, record_seq of the rows and section_seq of the first.
    """
    row = 0
    for i in range(starts.shape[0]):
        place = starts[i] + spans.offsets[i, column]
        for k in range(spans.counts[i, column]):
            length = 1 + np.int64(load_1(data, place)) if prefixed else spans.sizes[i, column]
            rows.at[row], rows.limits[row] = place, length
            rows.record_seq[row], rows.section_seq[row] = owners[i, column], first[i, column] + k
            place += length
            row += 1
