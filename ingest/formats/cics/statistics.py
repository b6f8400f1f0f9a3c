"""CICS statistics (SMF 110 subtype 2): a run of records, each with its length and the number (STID) of its layout.

Source: CICS TS, statistics data section, DSECT DFHSTIDS; the DSECT of each number as its layout names it.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.handlers import Handled, Problem
from ingest.codec.tables import rows_table
from ingest.formats.cics import walking
from ingest.formats.cics.resources import ordinals
from ingest.layout import Layout, Section

SHORTEST = 8
"""Bytes a statistics record has at least: length, number and version, and three reserved."""

ENTRY_BYTES = 160
"""Length of a TCB mode or pool entry of the dispatcher; the entries end the record."""

_MODES_AT, _POOLS_AT = 10, 12
_HEAD_END = 44

Ints = NDArray[np.int64]


class StatisticsDecoder:
    """Decodes batches of 110.2 records; a row's `section_seq` is the place of its record in the data section.

    Which number has which table is said by the layout, the built-in one unless an installation has its own.
    """

    def __init__(self, layout: Layout) -> None:
        tables = layout.handled
        self._named = {item.name: item for item in tables}
        self._numbered = {item.code: item for item in tables if item.code is not None}

    def decode(
        self,
        buffer: NDArray[np.uint8],
        offset: NDArray[np.int64],
        length: NDArray[np.int64],
        record_seq: NDArray[np.uint32],
    ) -> Handled:
        """Decode n records of type 110.2 that lie whole in `buffer`, which is blank at its end.

        A number without a table of its own yields rows of `smf110_2_other_statistics`. A record whose data section lies
        outside it, or whose statistics records do not fill it, is a problem.
        """
        start, end, outside = _extents(buffer, offset, length)
        counts, faults = np.zeros(offset.size, np.int64), np.zeros(offset.size, np.int64)
        walking.count_records(buffer, start, end, SHORTEST, counts, faults)
        at, size = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.int64)
        walking.place_records(buffer, start, counts, at, size)
        owner = np.repeat(np.arange(offset.size), counts)
        place = ordinals(owner)
        number = buffer[at + 2].astype(np.int64) << 8 | buffer[at + 3]
        dispatcher = self._named["dispatcher"]
        modes, pools = _entry_counts(buffer, at, size, number == dispatcher.code, dispatcher.length)
        crowded = modes < 0
        problems = [
            Problem(int(i), "section_outside_record", "SMFASS/SMFASL: the data section lies outside the record")
            for i in np.flatnonzero(outside)
        ]
        for i in np.flatnonzero(faults).tolist():
            text = "STILEN: the lengths of the statistics records do not fill the data section"
            problems.append(Problem(i, "cics_statistics_length", text))
        for i in np.unique(owner[crowded]).tolist():
            text = "DSGASIZE/DSGPSIZE: the dispatcher's entries do not fit into its record"
            problems.append(Problem(i, "cics_statistics_length", text))
        kept = ~np.isin(owner, owner[crowded])
        at, size, owner, place, number = at[kept], size[kept], owner[kept], place[kept], number[kept]
        tables = self._tables(buffer, at, size, record_seq[owner], place, number)
        chosen = number == dispatcher.code
        if chosen.any():
            lead, seq, parent = at[chosen] + size[chosen], record_seq[owner[chosen]], place[chosen]
            modes, pools = modes[kept][chosen], pools[kept][chosen]
            for name, first, count in (
                ("dispatcher_mode", lead - (modes + pools) * ENTRY_BYTES, modes),
                ("dispatcher_pool", lead - pools * ENTRY_BYTES, pools),
            ):
                tables |= _entries(self._named[name], buffer, first, count, seq, parent)
        problems.sort(key=lambda problem: problem.index)
        return Handled(tables, problems)

    def _tables(
        self,
        data: NDArray[np.uint8],
        at: Ints,
        size: Ints,
        record_seq: NDArray[np.uint32],
        place: NDArray[np.uint32],
        number: Ints,
    ) -> dict[str, pa.Table]:
        """A table for each number met that has one, and one for all others."""
        wanted = [(item, number == code) for code, item in self._numbered.items()]
        wanted.append((self._named["other_statistics"], ~np.isin(number, list(self._numbered))))
        return {
            kind.table: rows_table(kind, data, at[chosen], size[chosen], record_seq[chosen], place[chosen])
            for kind, chosen in wanted
            if chosen.any()
        }


def _extents(data: NDArray[np.uint8], offset: Ints, length: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Start and end of each record's data section in the buffer, and which sections lie outside their record.

    SMFASL is the length of one of SMFASN sections, or where that would be too much the length of all of them.
    """

    def number(at: int, width: int) -> Ints:
        value = np.zeros(offset.size, np.int64)
        for k in range(width):
            value = value << 8 | np.where(length >= _HEAD_END, data[offset + at + k], 0)
        return value

    first, one, count = number(36, 4), number(40, 2), number(42, 2)
    whole = np.where(first + one * count <= length, one * count, one)
    empty = (first == 0) | (one == 0) | (count == 0)
    outside = ~empty & ((first < _HEAD_END) | (first + whole > length))
    used = ~empty & ~outside
    return np.where(used, offset + first, offset), np.where(used, offset + first + whole, offset), outside


def _entry_counts(
    data: NDArray[np.uint8], at: Ints, size: Ints, chosen: NDArray[np.bool_], shortest: int
) -> tuple[Ints, Ints]:
    """TCB mode and pool entries of dispatcher records, 0 of others; -1 where they do not fit into the record."""
    modes, pools = np.zeros(at.size, np.int64), np.zeros(at.size, np.int64)
    long = chosen & (size >= _POOLS_AT + 2)
    for counts, field in ((modes, _MODES_AT), (pools, _POOLS_AT)):
        counts[long] = data[at[long] + field].astype(np.int64) << 8 | data[at[long] + field + 1]
    crowded = (modes + pools > 0) & (size - (modes + pools) * ENTRY_BYTES < shortest)
    modes[crowded] = -1
    return modes, pools


def _entries(
    kind: Section,
    data: NDArray[np.uint8],
    first: Ints,
    count: Ints,
    record_seq: NDArray[np.uint32],
    parent_seq: NDArray[np.uint32],
) -> dict[str, pa.Table]:
    """The table of `count[i]` entries from `first[i]` on of each dispatcher record."""
    owner = np.repeat(np.arange(first.size), count)
    if not owner.size:
        return {}
    at = first[owner] + ordinals(owner).astype(np.int64) * ENTRY_BYTES
    sequence = record_seq[owner]
    limits = np.full(at.size, ENTRY_BYTES)
    of_record = ordinals(sequence.astype(np.int64))
    return {kind.table: rows_table(kind, data, at, limits, sequence, of_record, parent_seq[owner])}
