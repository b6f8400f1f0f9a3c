"""A dump with everything that makes it hard to decode in units."""

import datetime as dt

import numpy as np
import pyarrow as pa

from ingest.formats.cics.dictionary import full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.framing import write_records
from tests.ingest.framing import record
from tests.ingest.split_records import piece

NOW = dt.datetime(2026, 3, 4, 5, 6, 7)
REGIONS = Region("SYSA", "CICSAOR1", "AORJOB1"), Region("SYSA", "CICSAOR2", "AORJOB2")


def records() -> list[bytes]:
    """Split records in and out of order, some without a piece, two dictionaries, tasks before and after, long ones."""
    tasks = [
        list(encode_performance(region, full_dictionary(), pa.table({"tran": ["AAAA"] * 2}), NOW, rows_per_record=1))
        for region in REGIONS
    ]
    told = [list(encode_dictionary(region, full_dictionary(), NOW)) for region in REGIONS]
    pieces = [
        [piece(number, blocks=True, time=time) for number in order]
        for time, order in ((100, (2, 0, 1)), (200, (0, 2)), (300, (0, 1, 2, 2, 1)), (300, (0,)))
    ]
    others = [record(60, 1), record(18, 2), record(50_000, 3)]
    return [
        *pieces[0][:1], *tasks[0], *told[0], *others, *tasks[0], *pieces[0][1:], *pieces[1][:1], *tasks[1],
        record(40_000, 5), *told[1], *pieces[2], *tasks[1], *pieces[1][1:], *others, *pieces[3], record(70, 9),
    ]  # fmt: skip


def dump(framing: str) -> bytes:
    made = [item for one in records() for item in _split(one)]
    lengths = np.array([len(item) for item in made], np.int64)
    return write_records(np.frombuffer(b"".join(made), np.uint8), np.cumsum(lengths) - lengths, lengths, framing)


def _split(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        found.append(data[at : at + int.from_bytes(data[at : at + 2])])
        at += len(found[-1])
    return found
