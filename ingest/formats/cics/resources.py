"""CICS exception records (class 4) and transaction resource records (class 5): fixed layouts, no dictionary.

Source: CICS TS, monitoring data, DSECTs MNEXCDS and DFHMNRDS.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arrays import of_numbers
from ingest.codec.tables import rows_table
from ingest.formats.cics import walking
from ingest.formats.cics.catalogue import section

IDENTITY, FILE = 1, 2
"""Ordinals of the triplets of a transaction resource record whose entries have tables of their own."""

SHORTEST_EXCEPTION = 64
"""Bytes an exception record has in every release, and more."""

Ints = NDArray[np.int64]
Keys = NDArray[np.uint32]


def exceptions(data: NDArray[np.uint8], at: Ints, size: Ints, record_seq: Keys, section_seq: Keys) -> pa.Table:
    """Rows of exception records, which stand at `at` and take `size` bytes each."""
    return rows_table(section("exception"), data, at, size, record_seq, section_seq)


def resources(
    data: NDArray[np.uint8], at: Ints, end: Ints, record_seq: Keys
) -> tuple[dict[str, pa.Table], NDArray[np.bool_]]:
    """Tables of the transaction resource records in the data of n SMF records, and which of those are damaged.

    data: the buffer, blank at its end; at and end: where the data of each SMF record starts and ends. A damaged record
    makes no rows.
    """
    counts, faults = np.zeros(at.size, np.int64), np.zeros(at.size, np.int64)
    walking.count_records(data, at, end, walking.TRIPLETS_AT, counts, faults)
    places, sizes = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.int64)
    walking.place_records(data, at, counts, places, sizes)
    owner = np.repeat(np.arange(at.size), counts)
    heads, entries, wrong = (np.zeros(places.size, np.int64) for _ in range(3))
    walking.count_entries(data, places, sizes, heads, entries, wrong)
    damaged = faults != walking.GOOD
    damaged[owner[wrong != walking.GOOD]] = True
    kept = ~damaged[owner]
    places, sizes, heads, entries, owner = places[kept], sizes[kept], heads[kept], entries[kept], owner[kept]
    if not places.size:
        return {}, damaged
    header = section("resource")
    sequence, ordinal = record_seq[owner], ordinals(owner)
    tables = {header.table: rows_table(header, data, places, np.minimum(sizes, heads), sequence, ordinal)}
    total = int(entries.sum())
    entry_at, entry_size, triplet = (np.empty(total, np.int64) for _ in range(3))
    walking.place_entries(data, places, entries, entry_at, entry_size, triplet)
    parent = np.repeat(np.arange(places.size), entries)
    for name, chosen in (
        ("resource_identity", triplet == IDENTITY),
        ("resource_file", triplet == FILE),
        ("resource_other", triplet > FILE),
    ):
        if not chosen.any():
            continue
        kind, of = section(name), parent[chosen]
        before = 2 if name == "resource_other" else 0
        table = rows_table(
            kind,
            data,
            entry_at[chosen] - before,
            entry_size[chosen] + before,
            sequence[of],
            ordinals(owner[of]),
            ordinal[of],
        )
        if before:
            # The ordinal of the triplet stands in no entry: it takes the place of the two bytes before it.
            number = kind.by_name("triplet_number").column
            place = table.column_names.index(number)
            table = table.set_column(place, table.field(place), of_numbers(triplet[chosen].astype(np.uint16)))
        tables[kind.table] = table
    return tables, damaged


def ordinals(owner: Ints) -> Keys:
    """Ordinal, from 0, of each row among those of its owner; owners rise."""
    return (np.arange(owner.size) - np.searchsorted(owner, owner)).astype(np.uint32)
