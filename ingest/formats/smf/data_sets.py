"""I/O by data set (SMF 42 subtype 6): data set sections chained by offsets, each with statistics sections of its own.

A job header says where its first data set section is and how long sections are; all offsets count from the start of the
record. Source: SMFFormatter (colinpaicemq), which reads records of z/OS 2.4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.handlers import Handled, Problem
from ingest.codec.rows import EncodeError
from ingest.codec.tables import row_bytes, rows_table
from ingest.formats.cics.resources import ordinals
from ingest.layout import Layout

SHORTEST = 60
"""Bytes a data set section has at least: up to the offsets of its first two statistics sections."""

JOB_TRIPLET, JOB_BYTES = 36, 38
"""Where the header holds the triplet of the job headers, and the bytes of one that a chain needs."""

_FIRST_AT, _SIZE_AT, _IO_SIZE_AT, _ACCESS_SIZE_AT = 24, 28, 34, 36

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A statistics section: where a data set section holds its offset, and where its length stands.

    The length is in the data set section, or, with `of_job`, in the job header.
    """

    name: str
    offset_at: int
    length_at: int
    of_job: bool = False


STATISTICS = (
    Statistics("io", 52, _IO_SIZE_AT, True),
    Statistics("access", 56, _ACCESS_SIZE_AT, True),
    Statistics("sync", 88, 92),
    Statistics("write", 96, 100),
    Statistics("device_write", 104, 108),
)


@dataclass(slots=True)
class _Chain:
    """Data set sections: place in the buffer, length, record and job header (place, ordinal in the record) of each."""

    at: Ints
    size: Ints
    owner: Ints
    job_at: Ints
    job: Ints


class DataSetDecoder:
    """Decodes batches of 42.6 records into the tables that their layout calls `handled`."""

    def __init__(self, layout: Layout) -> None:
        self._tables = {item.name: item for item in layout.handled}

    def decode(self, buffer: Bytes, offset: Ints, length: Ints, record_seq: NDArray[np.uint32]) -> Handled:
        """Decode n records of type 42.6 that lie whole in `buffer`, which is blank at its end.

        A record with a section outside it, or whose chain leads back, is a problem.
        """
        bad = np.zeros(offset.size, np.bool_)
        chain = _chain(buffer, offset, length, bad)
        found = [_statistics(buffer, offset, length, chain, item, bad) for item in STATISTICS]
        result = Handled(
            problems=[
                Problem(
                    int(i), "section_outside_record", "S42JDDSO, S42DSNXT: a section that they lead to lies outside"
                )
                for i in np.flatnonzero(bad)
            ]
        )
        kept = ~bad[chain.owner]
        place = ordinals(chain.owner).astype(np.int64)
        self._add(result, "data_set", buffer, chain.at, chain.size, chain.owner, chain.job, record_seq, kept)
        for item, (at, size) in zip(STATISTICS, found, strict=True):
            self._add(result, item.name, buffer, at, size, chain.owner, place, record_seq, kept & (size > 0))
        return result

    def _add(
        self,
        result: Handled,
        name: str,
        buffer: Bytes,
        at: Ints,
        size: Ints,
        owner: Ints,
        parent: Ints,
        record_seq: NDArray[np.uint32],
        kept: NDArray[np.bool_],
    ) -> None:
        """Put the table of one kind of section into the result, if there are any."""
        section = self._tables.get(name)
        if section is None or not kept.any():
            return
        own = owner[kept]
        seq, above = ordinals(own).astype(np.uint32), parent[kept].astype(np.uint32)
        result.tables[section.table] = rows_table(section, buffer, at[kept], size[kept], record_seq[own], seq, above)


def _chain(buffer: Bytes, offset: Ints, length: Ints, bad: NDArray[np.bool_]) -> _Chain:
    """Every data set section, in the order of records and chains; marks records whose chains are wrong."""
    has_jobs = length >= JOB_TRIPLET + 8
    head = np.where(has_jobs, offset, 0)
    size, count = _number(buffer, head + JOB_TRIPLET + 4, 2), _number(buffer, head + JOB_TRIPLET + 6, 2)
    first_job = _number(buffer, head + JOB_TRIPLET, 4)
    count = np.where(has_jobs & (first_job > 0) & (size >= JOB_BYTES), count, 0)
    owner = np.repeat(np.arange(offset.size), count)
    job = ordinals(owner).astype(np.int64)
    job_at = (offset + first_job)[owner] + job * size[owner]
    step = _number(buffer, job_at + _SIZE_AT, 2)
    relative = _number(buffer, job_at + _FIRST_AT, 4)
    active = np.flatnonzero(relative > 0)
    visited = np.zeros(offset.size, np.int64)
    parts: list[tuple[Ints, Ints]] = []
    while active.size:
        records = owner[active]
        np.add.at(visited, records, 1)
        inside = (step[active] >= SHORTEST) & (relative[active] + step[active] <= length[records])
        inside &= visited[records] * SHORTEST <= length[records]
        bad[records[~inside]] = True
        active = active[inside]
        at = offset[owner[active]] + relative[active]
        parts.append((active, at))
        relative[active] = _number(buffer, at, 4)
        active = active[relative[active] > 0]
    number = np.concatenate([part for part, _ in parts]) if parts else np.empty(0, np.int64)
    at = np.concatenate([part for _, part in parts]) if parts else np.empty(0, np.int64)
    order = np.argsort(number, kind="stable")
    number, at = number[order], at[order]
    return _Chain(at, step[number], owner[number], job_at[number], job[number])


def _statistics(
    buffer: Bytes, offset: Ints, length: Ints, chain: _Chain, item: Statistics, bad: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Place and length of one kind of statistics of every data set section; a length of 0 where it has none."""
    end = item.offset_at + 4 if item.of_job else item.length_at + 2
    there = chain.size >= end
    at = np.where(there, chain.at, 0)
    relative = np.where(there, _number(buffer, at + item.offset_at, 4), 0)
    size = _number(buffer, (chain.job_at if item.of_job else at) + item.length_at, 2)
    size = np.where(relative > 0, size, 0)
    outside = relative + size > length[chain.owner]
    bad[chain.owner[outside]] = True
    return np.where(outside, 0, offset[chain.owner] + relative), np.where(outside, 0, size)


def _number(buffer: Bytes, at: Ints, width: int) -> Ints:
    value = np.zeros(at.shape, np.int64)
    for byte in range(width):
        value = value << 8 | buffer[at + byte]
    return value


def finish_data_sets(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records of type 42.6 with their data set sections, from the tables that `DataSetDecoder` makes.

    Offsets and lengths are computed; sections of one job header are as long as the longest. Raises EncodeError.
    """
    rows: dict[str, dict[tuple[int, int], list[bytes]]] = {}
    for section in layout.handled:
        found = rows.setdefault(section.name, {})
        if section.name in tables:
            table, made = row_bytes(section, tables[section.name])
            keys = zip(table["record_seq"].to_pylist(), table["parent_seq"].to_pylist(), made, strict=True)
            for record_seq, parent, data in keys:
                found.setdefault((record_seq, parent), []).append(data)
    return [_finished(layout, record, number, rows) for number, record in zip(sequence, records, strict=True)]


def _finished(
    layout: Layout, record: bytes, number: int, rows: Mapping[str, Mapping[tuple[int, int], Sequence[bytes]]]
) -> bytes:
    out = bytearray(record)
    job_at, job_size, jobs = (_stated(out, JOB_TRIPLET + place, width) for place, width in ((0, 4), (4, 2), (6, 2)))
    wanted = sum(len(data) for (owner, _), data in rows["data_set"].items() if owner == number)
    place = 0
    for job in range(jobs if wanted else 0):
        own = rows["data_set"].get((number, job), ())
        if not own:
            continue
        if job_size < JOB_BYTES:
            raise EncodeError(
                f"{layout.name}_job: a job header of {job_size} bytes; one with data sets has {JOB_BYTES}"
            )
        head = job_at + job * job_size
        size = max(SHORTEST, *map(len, own))
        _put(out, head + _FIRST_AT, 4, len(out))
        _put(out, head + _SIZE_AT, 2, size)
        places = range(place, place + len(own))
        shared = {
            item.name: max((len(data) for n in places for data in rows[item.name].get((number, n), ())), default=0)
            for item in STATISTICS
            if item.of_job
        }
        for nth, data in enumerate(own):
            at = len(out)
            out += data.ljust(size, b"\0")
            for item in STATISTICS:
                parts = rows[item.name].get((number, place + nth), ())
                stated = shared.get(item.name, len(parts[0]) if parts else 0)
                _put_within(out, at, size, item.offset_at, 4, len(out) if parts else 0)
                if item.of_job:
                    _put(out, head + item.length_at, 2, stated)
                else:
                    _put_within(out, at, size, item.length_at, 2, stated)
                out += parts[0].ljust(stated, b"\0") if parts else b""
            _put(out, at, 4, len(out) if nth + 1 < len(own) else 0)
        place += len(own)
    if place != wanted:
        raise EncodeError(f"{layout.name}_data_set: record_seq {number} has no job header for each of its rows")
    if len(out) > 65_535:
        raise EncodeError(f"{layout.name}: a record of {len(out)} bytes; a descriptor can say 65,535 at most")
    _put(out, 0, 2, len(out))
    return bytes(out)


def _stated(data: bytearray, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "big")


def _put(data: bytearray, at: int, width: int, value: int) -> None:
    data[at : at + width] = value.to_bytes(width, "big")


def _put_within(data: bytearray, at: int, size: int, place: int, width: int, value: int) -> None:
    """Write a number into a section of `size` bytes, unless it ends before."""
    if place + width <= size:
        _put(data, at + place, width, value)
