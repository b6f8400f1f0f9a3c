"""Records whose sections follow one another, placed by fields of the header or of the rows, as their layouts say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.handlers import Handled, Problem
from ingest.codec.rows import EncodeError
from ingest.codec.tables import row_bytes, rows_table
from ingest.formats.smf.kernels.following import count_following, place_following
from ingest.layout import Layout, Section, Sum

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


class FollowingDecoder:
    """Decodes batches of records of one layout into the tables that it calls `handled`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._walks = [(section, _Walk.of(layout, section)) for section in layout.handled]

    def decode(self, buffer: Bytes, offset: Ints, length: Ints, record_seq: NDArray[np.uint32]) -> Handled:
        """Decode n records that lie whole in `buffer`; a record with a section outside it is a problem."""
        outside: dict[int, str] = {}
        sections = []
        end = np.full(offset.size, self._layout.header.length)
        for section, walk in self._walks:
            rows, strays = walk.rows(buffer, offset, length, end)
            for record in np.flatnonzero(strays >= 0).tolist():
                text = f"{self._layout.name}, {section.title}: starts at {strays[record]}, ends outside the record"
                outside.setdefault(record, text)
            sections.append((section, rows))
        result = Handled(
            problems=[Problem(record, "section_outside_record", text) for record, text in sorted(outside.items())]
        )
        good = np.ones(offset.size, np.bool_)
        good[list(outside)] = False
        for section, rows in sections:
            owner, ordinal, at, size = (part[good[rows[0]]] for part in rows) if outside else rows
            if owner.size:
                seq = ordinal.astype(np.uint32)
                result.tables[section.table] = rows_table(section, buffer, at, size, record_seq[owner], seq)
        return result


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where a section stands, as compiled loops take it."""

    start: Ints
    size: Ints
    count: Ints
    until: Ints
    size_in_row: bool
    flag: Ints

    @classmethod
    def of(cls, layout: Layout, section: Section) -> "_Walk":
        place = section.place
        assert place is not None
        header = {item.ibm: item for item in layout.header.fields}
        flag = [0, 0, 0]
        if place.flag:
            holder, bit = header[place.flag.field], place.flag.first
            flag = [holder.offset + bit // 8, 0x80 >> bit % 8, holder.end]
        size_in_row = place.size is not None and place.size.field is not None and place.size.field.ibm not in header
        start, size, count, until = map(_numbers, (place.start, place.size, place.rows, place.until))
        return cls(start, size, count, until, size_in_row, np.array(flag))

    def rows(self, data: Bytes, starts: Ints, lengths: Ints, end: Ints) -> tuple[tuple[Ints, Ints, Ints, Ints], Ints]:
        """Record, ordinal in it, place and length of every row; per record, where a row starts that leaves it, or -1.

        end: per record, where the section before ended; moved behind this one.
        """
        first, counts, outside = np.zeros((3, starts.size), np.int64)
        sums = (self.start, self.size, self.count, self.until)
        count_following(data, starts, lengths, *sums, self.size_in_row, self.flag, end, first, counts, outside)
        owner, ordinal, place, limits = np.empty((4, int(counts.sum())), np.int64)
        place_following(
            data, starts, lengths, self.size, self.size_in_row, first, counts, owner, ordinal, place, limits
        )
        return (owner, ordinal, place, limits), outside


def _numbers(total: Sum | None) -> Ints:
    """A sum as compiled loops take it."""
    if total is None:
        return np.array([-1, -1, 0])
    item = total.field
    return np.array([total.constant, item.offset if item else -1, item.length if item else 0])


def finish_following(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records with the sections that follow their headers, from the tables that `FollowingDecoder` makes.

    What the header says of them is computed. Raises EncodeError.
    """
    rows: dict[str, dict[int, list[bytes]]] = {}
    for section in layout.handled:
        by_record = rows.setdefault(section.name, {})
        if section.name in tables:
            table, bodies = row_bytes(section, tables[section.name])
            for number, data in zip(table["record_seq"].to_pylist(), bodies, strict=True):
                by_record.setdefault(number, []).append(data)
    return [
        _finished(layout, record, {name: by_record.get(number, []) for name, by_record in rows.items()})
        for number, record in zip(sequence, records, strict=True)
    ]


def _finished(layout: Layout, record: bytes, rows: Mapping[str, list[bytes]]) -> bytes:
    out = bytearray(record.ljust(layout.header.length if any(rows.values()) else 0, b"\0"))
    header = {item.ibm for item in layout.header.fields}
    for section in layout.handled:
        place, parts = section.place, rows[section.name]
        assert place is not None
        if place.flag:
            byte = next(item for item in layout.header.fields if item.ibm == place.flag.field).offset
            _mark(out, byte + place.flag.first // 8, 0x80 >> place.flag.first % 8, bool(parts))
        if place.start:
            _put(out, 0, place.start, len(out) if parts else place.start.constant)
        if place.size and place.size.field and place.size.field.ibm not in header:
            entries = [bytearray(part.ljust(place.size.field.end, b"\0")) for part in parts]
            for entry in entries:
                _put(entry, 0, place.size, len(entry))
            parts = [bytes(entry) for entry in entries]
        elif place.size:
            total = place.size
            size = max(map(len, parts), default=total.constant) if total.field else total.constant
            if any(len(part) > size for part in parts):
                raise EncodeError(f"{section.table}: a row is longer than the {size} bytes of its section")
            _put(out, 0, total, size)
            parts = [part.ljust(size, b"\0") for part in parts]
        if place.rows:
            _put(out, 0, place.rows, len(parts))
        out += b"".join(parts)
        if place.until:
            _put(out, 0, place.until, len(out))
    if len(out) > 65_535:
        raise EncodeError(f"{layout.name}: a record of {len(out)} bytes; a descriptor can say 65,535 at most")
    out[:2] = len(out).to_bytes(2)
    return bytes(out)


def _put(data: bytearray, at: int, total: Sum, value: int) -> None:
    """Write what makes a sum say `value`, if the data reach its field. Raises EncodeError where it does not fit."""
    item = total.field
    if item is None or at + item.end > len(data):
        return
    if not 0 <= value - total.constant < 1 << 8 * item.length:
        raise EncodeError(f"{item.ibm}: {value - total.constant} does not fit {item.length} bytes")
    data[at + item.offset : at + item.end] = (value - total.constant).to_bytes(item.length)


def _mark(data: bytearray, at: int, mask: int, on: bool) -> None:
    if at < len(data):
        data[at] = data[at] | mask if on else data[at] & ~mask
