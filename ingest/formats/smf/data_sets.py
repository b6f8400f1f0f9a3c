"""I/O by data set and by volume (SMF 42.6 and 42.5): sections chained by offsets, each with its statistics.

A job header says where its first data set section is and how long sections are, the record's header does so of volumes;
all offsets count from the start of the record. Sources: SMFFormatter (colinpaicemq), which reads records of z/OS 2.4;
IBM's SMF manual of z/OS 3.2 for volumes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.handlers import Handled, Problem
from ingest.codec.rows import EncodeError
from ingest.codec.tables import numbers_at, row_bytes, rows_table
from ingest.formats.cics.resources import ordinals
from ingest.formats.smf.kernels.nesting import count_linked, place_linked
from ingest.layout import Layout

JOB_TRIPLET, JOB_BYTES = 36, 38
"""Where the header holds the triplet of the job headers, and the bytes of one that a chain needs."""

_IO_SIZE_AT, _ACCESS_SIZE_AT = 34, 36

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
    Statistics("establish", 112, 116),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of chain: the table of its sections, and their statistics.

    first_at and size_at: where its root, a job header or with `of_jobs` False the record's, holds the offset of the
    first section and the length of one; shortest: bytes that a section has at least; count_at: where the root counts
    them, if it does.
    """

    name: str
    statistics: tuple[Statistics, ...]
    of_jobs: bool
    first_at: int
    size_at: int
    shortest: int
    count_at: int | None
    fields: str


DATA_SETS = Shape("data_set", STATISTICS, True, 24, 28, 60, None, "S42JDDSO, S42DSNXT")
VOLUMES = Shape(
    "volume",
    (Statistics("vtoc", 24, 28), Statistics("vtoc_index", 32, 36), Statistics("vvds", 40, 44)),
    of_jobs=False,
    first_at=44,
    size_at=48,
    shortest=24,
    count_at=50,
    fields="SMF42VHO, S42VTNXT",
)
SHAPES = {"data_set_io": DATA_SETS, "volume_io": VOLUMES}
"""Chains by the name of the handler that reads them."""


@dataclass(slots=True)
class _Chain:
    """Chained sections: place in the buffer, length, record and root (place, ordinal in the record) of each."""

    at: Ints
    size: Ints
    owner: Ints
    job_at: Ints
    job: Ints


class DataSetDecoder:
    """Decodes batches of 42.5 or 42.6 records into the tables that their layout calls `handled`."""

    def __init__(self, layout: Layout) -> None:
        self._tables = {item.name: item for item in layout.handled}
        self._shape = SHAPES[layout.handler]

    def decode(self, buffer: Bytes, offset: Ints, length: Ints, record_seq: NDArray[np.uint32]) -> Handled:
        """Decode n records that lie whole in `buffer`, which is blank at its end.

        A record with a section outside it, or whose chain leads back, is a problem.
        """
        bad = np.zeros(offset.size, np.bool_)
        shape = self._shape
        chain = _chain(shape, buffer, offset, length, bad)
        statistics = [_statistics(buffer, offset, length, chain, item, bad) for item in shape.statistics]
        result = Handled(
            problems=[
                Problem(int(i), "section_outside_record", f"{shape.fields}: a section that they lead to lies outside")
                for i in np.flatnonzero(bad)
            ]
        )
        kept = ~bad[chain.owner]
        place = ordinals(chain.owner).astype(np.int64)
        root = chain.job if shape.of_jobs else None
        self._add(result, shape.name, buffer, chain.at, chain.size, chain.owner, root, record_seq, kept)
        for item, (at, size) in zip(shape.statistics, statistics, strict=True):
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
        parent: Ints | None,
        record_seq: NDArray[np.uint32],
        kept: NDArray[np.bool_],
    ) -> None:
        """Put the table of one kind of section into the result, if there are any."""
        section = self._tables.get(name)
        if section is None or not kept.any():
            return
        owners = owner[kept]
        seq = ordinals(owners).astype(np.uint32)
        above = None if parent is None else parent[kept].astype(np.uint32)
        result.tables[section.table] = rows_table(section, buffer, at[kept], size[kept], record_seq[owners], seq, above)


def _roots(shape: Shape, buffer: Bytes, offset: Ints, length: Ints, bad: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Record, place and ordinal in the record of what chains begin at; marks records whose jobs lie outside."""
    if not shape.of_jobs:
        owner = np.flatnonzero(length >= shape.size_at + 2)
        return owner, offset[owner], np.zeros_like(owner)
    has_jobs = length >= JOB_TRIPLET + 8
    head = np.where(has_jobs, offset, 0)
    size, count = numbers_at(buffer, head + JOB_TRIPLET + 4, 2), numbers_at(buffer, head + JOB_TRIPLET + 6, 2)
    first_job = numbers_at(buffer, head + JOB_TRIPLET, 4)
    count = np.where(has_jobs & (first_job > 0) & (size >= JOB_BYTES), count, 0)
    # Where sections begin before the triplet of the jobs, nobody has checked what stands in its place.
    outside = (count > 0) & (first_job + count * size > length)
    bad |= outside
    count[outside] = 0
    owner = np.repeat(np.arange(offset.size), count)
    job = ordinals(owner).astype(np.int64)
    return owner, (offset + first_job)[owner] + job * size[owner], job


def _chain(shape: Shape, buffer: Bytes, offset: Ints, length: Ints, bad: NDArray[np.bool_]) -> _Chain:
    """Every chained section, in the order of records and chains; marks records whose chains are wrong."""
    owner, job_at, job = _roots(shape, buffer, offset, length, bad)
    step = numbers_at(buffer, job_at + shape.size_at, 2)
    relative = numbers_at(buffer, job_at + shape.first_at, 4)
    counts = np.empty_like(owner)
    count_linked(buffer, offset, length, owner, relative, step, shape.shortest, bad, counts)
    at = np.empty(int(counts.sum()), np.int64)
    place_linked(buffer, offset, owner, relative, counts, at)
    number = np.repeat(np.arange(owner.size), counts)
    return _Chain(at, step[number], owner[number], job_at[number], job[number])


def _statistics(
    buffer: Bytes, offset: Ints, length: Ints, chain: _Chain, item: Statistics, bad: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Place and length of one kind of statistics of every data set section; a length of 0 where it has none."""
    end = item.offset_at + 4 if item.of_job else item.length_at + 2
    has_offset = chain.size >= end
    at = np.where(has_offset, chain.at, 0)
    relative = np.where(has_offset, numbers_at(buffer, at + item.offset_at, 4), 0)
    size = numbers_at(buffer, (chain.job_at if item.of_job else at) + item.length_at, 2)
    size = np.where(relative > 0, size, 0)
    outside = relative + size > length[chain.owner]
    bad[chain.owner[outside]] = True
    return np.where(outside, 0, offset[chain.owner] + relative), np.where(outside, 0, size)


def finish_data_sets(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records of type 42.5 or 42.6 with their chained sections, from the tables that `DataSetDecoder` makes.

    Offsets and lengths are computed; sections of one root are as long as the longest. Raises EncodeError.
    """
    rows: dict[str, dict[tuple[int, int], list[bytes]]] = {}
    for section in layout.handled:
        section_rows = rows.setdefault(section.name, {})
        if section.name in tables:
            table, bodies = row_bytes(section, tables[section.name])
            parents = table["parent_seq"].to_pylist() if section.parent else [0] * table.num_rows
            for record_seq, parent, data in zip(table["record_seq"].to_pylist(), parents, bodies, strict=True):
                section_rows.setdefault((record_seq, parent), []).append(data)
    shape = SHAPES[layout.handler]
    return [_finished(layout, shape, record, number, rows) for number, record in zip(sequence, records, strict=True)]


def _finished(
    layout: Layout,
    shape: Shape,
    record: bytes,
    number: int,
    rows: Mapping[str, Mapping[tuple[int, int], Sequence[bytes]]],
) -> bytes:
    out = bytearray(record)
    root_at, root_size, roots = 0, shape.size_at + 2, 1
    if shape.of_jobs:
        root_at, root_size, roots = (
            _stated(out, JOB_TRIPLET + place, width) for place, width in ((0, 4), (4, 2), (6, 2))
        )
    wanted = sum(len(data) for (owner, _), data in rows[shape.name].items() if owner == number)
    if not shape.of_jobs:
        _put_within(out, 0, len(out), shape.first_at, 4, 0)
    place = 0
    for root in range(roots if wanted else 0):
        sections = rows[shape.name].get((number, root), ())
        if not sections:
            continue
        if shape.of_jobs and root_size < JOB_BYTES:
            raise EncodeError(
                f"{layout.name}_job: a job header of {root_size} bytes; one with data sets has {JOB_BYTES}"
            )
        head = root_at + root * root_size
        out += bytes(max(0, head + shape.size_at + 4 - len(out)))
        size = max(shape.shortest, *map(len, sections))
        _put(out, head + shape.first_at, 4, len(out))
        _put(out, head + shape.size_at, 2, size)
        if shape.count_at is not None:
            _put(out, head + shape.count_at, 2, len(sections))
        places = range(place, place + len(sections))
        shared = {
            item.name: max((len(data) for n in places for data in rows[item.name].get((number, n), ())), default=0)
            for item in shape.statistics
            if item.of_job
        }
        for nth, data in enumerate(sections):
            at = len(out)
            out += data.ljust(size, b"\0")
            for item in shape.statistics:
                parts = rows[item.name].get((number, place + nth), ())
                stated = shared.get(item.name, len(parts[0]) if parts else 0)
                _put_within(out, at, size, item.offset_at, 4, len(out) if parts else 0)
                if item.of_job:
                    _put(out, head + item.length_at, 2, stated)
                else:
                    _put_within(out, at, size, item.length_at, 2, stated)
                out += parts[0].ljust(stated, b"\0") if parts else b""
            _put(out, at, 4, len(out) if nth + 1 < len(sections) else 0)
        place += len(sections)
    if place != wanted:
        raise EncodeError(f"{layout.name}_{shape.name}: record_seq {number} has no job header for each of its rows")
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
