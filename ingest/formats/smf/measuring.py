"""Where the sections of records are, read from the triplets of headers and of parents, and checked."""

import numpy as np
import numpy.typing as npt

from ingest.formats.smf.kernels.locating import measure_sections
from ingest.formats.smf.kernels.nesting import Runs, measure_chained, measure_pointed
from ingest.formats.smf.placing import place_rows
from ingest.formats.smf.plan import REPEATED, Plan, SectionSpans

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_WHOLE_RECORD = 1 << 31
"""More bytes than any record has: a header whose last field takes the rest ends where the first section starts."""


def measure(plan: Plan, data: Bytes, starts: Ints, lengths: Ints) -> SectionSpans:
    """The triplets of records at `starts` in `data`, read and checked."""
    records, kinds = len(starts), len(plan.sections)
    heads, faults = np.zeros(records, np.int64), np.zeros(records, np.int64)
    offsets, sizes, counts = (np.zeros((records, kinds), np.int64) for _ in range(3))
    spans = SectionSpans(heads, offsets, sizes, counts, faults)
    head_length = plan.layout.header.length if plan.layout.header.rest is None else _WHOLE_RECORD
    measure_sections(data, starts, lengths, plan.triplets, plan.prefixed, head_length, spans)
    for column in plan.single:
        faults[(faults == 0) & (counts[:, column] > 1)] = 4 * column + REPEATED
    for column, nest in enumerate(plan.nests, len(plan.sections) - len(plan.nests)):
        runs = _runs(plan, nest.parent, data, starts, spans)
        totals = np.zeros(len(runs.record), np.int64)
        if nest.section.walk == "chained":
            measure_chained(data, starts, spans, runs, nest.code, nest.others, 4 * column, totals)
        else:
            measure_pointed(data, starts, lengths, spans, runs, nest.triplet, nest.from_parent, 4 * column, totals)
        counts[:, column] = totals if plan.nest(nest.parent) is None else np.bincount(runs.record, totals, records)
    return spans


def _runs(plan: Plan, column: int, data: Bytes, starts: Ints, spans: SectionSpans) -> Runs:
    """The rows of a section that follow one another.

    A run per record, or per row where the section is nested: then of records without fault only.
    """
    if plan.nest(column) is None:
        offset, size, count = (part[:, column].copy() for part in (spans.offsets, spans.sizes, spans.counts))
        return Runs(np.arange(len(starts)), offset, size, count)
    good = np.flatnonzero(spans.faults == 0)
    sound, keys = spans.taken(good), np.zeros((len(good), len(plan.sections)), np.int64)
    rows = place_rows(plan, column, data, starts[good], sound, keys, keys)
    record = np.repeat(good, sound.counts[:, column])
    return Runs(record, rows.at - starts[record], rows.limits, np.ones(len(record), np.int64))
