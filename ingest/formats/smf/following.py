"""Records whose sections follow one another, placed by fields of the header or of their own, as their layouts say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.handlers import Handled, Problem
from ingest.codec.rows import EncodeError
from ingest.codec.tables import numbers_at, row_bytes, rows_table
from ingest.formats.cics.resources import ordinals
from ingest.layout import Layout, Place, Section, Sum

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Records:
    """Records that lie whole in a buffer: where each starts, and its length."""

    buffer: Bytes
    offset: Ints
    length: Ints

    def number(self, total: Sum, records: Ints, base: Ints) -> tuple[Ints, Flags]:
        """What a sum says in these records, its field counted from `base` in them, and where the record holds it."""
        item = total.field
        if item is None:
            return np.full(records.size, total.constant), np.ones(records.size, np.bool_)
        held = base + item.end <= self.length[records]
        at = np.where(held, self.offset[records] + base + item.offset, 0)
        return np.where(held, numbers_at(self.buffer, at, item.length) + total.constant, 0), held


class FollowingDecoder:
    """Decodes batches of records of one layout into the tables that it calls `handled`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._header = {item.ibm for item in layout.header.fields}

    def decode(self, buffer: Bytes, offset: Ints, length: Ints, record_seq: NDArray[np.uint32]) -> Handled:
        """Decode n records that lie whole in `buffer`; a record with a section outside it is a problem."""
        records = _Records(buffer, offset, length)
        outside: dict[int, str] = {}
        found = []
        end = np.full(offset.size, self._layout.header.length)
        for section in self._layout.handled:
            assert section.place is not None
            owner, at, size = self._rows(records, section, section.place, end, outside)
            found.append((section, owner, at, size))
        result = Handled(
            problems=[Problem(record, "section_outside_record", text) for record, text in sorted(outside.items())]
        )
        good = np.ones(offset.size, np.bool_)
        good[list(outside)] = False
        for section, owner, at, size in found:
            kept = good[owner]
            if kept.any():
                owner, at, size = owner[kept], offset[owner[kept]] + at[kept], size[kept]
                seq = ordinals(owner).astype(np.uint32)
                result.tables[section.table] = rows_table(section, buffer, at, size, record_seq[owner], seq)
        return result

    def _rows(
        self, records: _Records, section: Section, place: Place, end: Ints, outside: dict[int, str]
    ) -> tuple[Ints, Ints, Ints]:
        """Record, offset in it and length of every row, in that order; moves `end` behind them."""
        everything = np.arange(end.size)
        at, limit, there, count = self._bounds(records, place, end)
        counted = place.rows is not None and place.rows.field is not None
        parts: list[tuple[Ints, Ints, Ints]] = []
        active = everything[there]
        while active.size:
            size = self._sizes(records, place, active, at[active])
            if not counted:  # Zeros that fill the record up are no row.
                active, size = active[size > 0], size[size > 0]
            inside = (size > 0) & (at[active] + size <= limit[active])
            for record in active[~inside].tolist():
                text = f"{self._layout.name}, {section.title}: starts at {at[record]}, ends outside the record"
                outside.setdefault(record, text)
            active, size = active[inside], size[inside]
            parts.append((active, at[active], size))
            at[active] += size
            count[active] -= 1
            active = active[(count[active] > 0) & (counted | (at[active] < limit[active]))]
        end[there] = at[there]
        parts = parts or [(everything[:0],) * 3]
        owner, start, size = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(owner, kind="stable")
        return owner[order], start[order], size[order]

    def _bounds(self, records: _Records, place: Place, end: Ints) -> tuple[Ints, Ints, Flags, Ints]:
        """Per record: where the rows start, where they must end, whether there are any, and how many at most."""
        everything, zeros = np.arange(end.size), np.zeros(end.size, np.int64)
        at, there = end.copy(), np.ones(end.size, np.bool_)
        if place.start:
            at, there = records.number(place.start, everything, zeros)
            there &= (at > place.start.constant) if place.start.field else there
        limit = records.number(place.until, everything, zeros)[0] if place.until else records.length
        limit = np.minimum(limit, records.length)
        count = records.number(place.rows, everything, zeros)[0] if place.rows else records.length.copy()
        there &= count > 0
        there &= (at < limit) | (place.rows is not None and place.rows.field is not None)
        if place.flag:
            holder = next(item for item in self._layout.header.fields if item.ibm == place.flag.field)
            held = holder.end <= records.length
            byte = np.where(held, records.offset + holder.offset + place.flag.first // 8, 0)
            there &= held & (records.buffer[byte] & (0x80 >> place.flag.first % 8) != 0)
        if place.size and place.size.field and place.size.field.ibm in self._header:
            there &= records.number(place.size, everything, zeros)[0] > 0
        return at, limit, there, count

    def _sizes(self, records: _Records, place: Place, active: Ints, at: Ints) -> Ints:
        """Length of the row at `at` in each of these records; 0 where the record ends before it says so."""
        if place.size is None:
            return records.length[active] - at
        in_header = place.size.field is not None and place.size.field.ibm in self._header
        size, held = records.number(place.size, active, np.zeros_like(at) if in_header else at)
        shortest = 1 if in_header or place.size.field is None else place.size.field.end
        return np.where(held & (size >= shortest), size, 0)


def finish_following(
    layout: Layout, tables: Mapping[str, pa.Table], sequence: Sequence[int], records: Sequence[bytes]
) -> list[bytes]:
    """Records with the sections that follow their headers, from the tables that `FollowingDecoder` makes.

    What the header says of them is computed. Raises EncodeError.
    """
    rows: dict[str, dict[int, list[bytes]]] = {}
    for section in layout.handled:
        found = rows.setdefault(section.name, {})
        if section.name in tables:
            table, made = row_bytes(section, tables[section.name])
            for number, data in zip(table["record_seq"].to_pylist(), made, strict=True):
                found.setdefault(number, []).append(data)
    return [
        _finished(layout, record, {name: found.get(number, []) for name, found in rows.items()})
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
