"""Arrow tables to a dump: the codec's way out.

Tables are named and typed as decoded ones. A record is one row of its layout's header table; section rows belong to it
by `record_seq` and stand in it in the order of `section_seq`. Lengths, triplets and the record type are computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec import values
from ingest.codec.rows import EncodeError, Ints, Rows, array, header_numbers, header_rows, section_rows, write_fields
from ingest.codec.tables import write_entries
from ingest.formats.smf.handlers import OF_HEADER, finisher
from ingest.formats.smf.nested import EntryRows, NestedRows, make_room, nested_rows, place_behind
from ingest.framing import write_records
from ingest.kernels.writing import scatter, scatter_runs
from ingest.layout import Layout, Triplet
from ingest.registry import Registry

USES_SUBTYPES = 0x40
"""Bit of the system flags of record types that have subtypes."""


@dataclass(slots=True)
class _Records:
    """All records of one layout, one after another in the order of `sequence`."""

    sequence: Ints
    lengths: Ints
    data: npt.NDArray[np.uint8]


@dataclass(slots=True)
class _Places:
    """Where the sections of each record stand: matrices of shape (records, sections)."""

    counts: Ints
    steps: Ints
    sizes: Ints
    offsets: Ints


def encode_dump(tables: Mapping[str, pa.Table], registry: Registry, *, framing: str = "rdw") -> bytes:
    """Write records as a dump, in the order of `record_seq` whatever their type.

    tables: table name → rows, for instance `smf30_header` and `smf30_cpu`. A missing column is zero or blank, a missing
    table an absent section; a section whose last fields are NULL is written shorter. `file_id` columns are ignored.
    framing: `rdw` for a stream as transferred with record descriptors, `bdw` for blocks of at most 32,760 bytes.
    Raises EncodeError when the tables do not fit the layouts.
    """
    unknown = set(tables) - {section.table for _, section in registry.tables()}
    if unknown:
        raise EncodeError(f"no layout has the table {', '.join(sorted(unknown))}")
    groups = []
    for layout in registry.layouts:
        named = {section.name: tables[section.table] for section in layout.sections if section.table in tables}
        if named and "header" not in named:
            raise EncodeError(f"{layout.header.table} is missing; it has one row per record")
        handled = {section.name: tables[section.table] for section in layout.handled if section.table in tables}
        if handled and not named:
            raise EncodeError(f"{layout.header.table} is missing; it has one row per record")
        if named:
            records = _encode_layout(layout, named)
            whole = not handled and layout.handler not in OF_HEADER
            groups.append(records if whole else _finished(layout, records, handled))
    if not groups:
        return b""
    data = np.concatenate([group.data for group in groups])
    lengths = np.concatenate([group.lengths for group in groups])
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(np.concatenate([group.sequence for group in groups]), kind="stable")
    return write_records(data, starts[order], lengths[order], framing)


def _finished(layout: Layout, records: _Records, handled: Mapping[str, pa.Table]) -> _Records:
    """Records with what the layout's handler reads, from the tables it makes."""
    ends = np.cumsum(records.lengths)
    raw = records.data.tobytes()
    parts = [raw[end - size : end] for end, size in zip(ends.tolist(), records.lengths.tolist(), strict=True)]
    whole = finisher(layout.handler)(layout, handled, records.sequence.tolist(), parts)
    data = np.frombuffer(b"".join(whole), np.uint8)
    return _Records(records.sequence, np.array([len(record) for record in whole], np.int64), data)


def _encode_layout(layout: Layout, named: Mapping[str, pa.Table]) -> _Records:
    header, sequence = header_rows(layout, named["header"])
    sections = [section_rows(item, named[item.name], sequence) for item in layout.placed if item.name in named]
    parents = {rows.section.name: rows for rows in sections}
    nests: list[NestedRows] = []
    for item in layout.nested:
        if item.name in named or item.parent in {*parents, *(nest.rows.section.name for nest in nests)}:
            table = named.get(item.name, item.arrow_schema().empty_table())
            nests.append(nested_rows(item, table, sequence, parents, nests))
    parents |= {nest.rows.section.name: nest.rows for nest in nests}
    repeated = [
        EntryRows.of(item, named[item.name], sequence, parents.get(item.parent))
        for item in layout.repeated
        if item.name in named
    ]
    make_room(nests)
    head_lengths = header.lengths.copy()
    for rows in sections:
        np.maximum.at(head_lengths, rows.record, _triplet(rows).end)
    places = _places(header, sections, head_lengths)
    lengths = np.maximum(head_lengths, (places.offsets + places.sizes).max(axis=1, initial=0))
    for nest in nests:
        column = sections.index(nest.parent) if nest.above is None else 0
        lengths = place_behind(nest, places.offsets[:, column], places.steps[:, column], lengths)
    if (lengths > 65_535).any():
        raise EncodeError(f"{layout.name}: a record of {lengths.max()} bytes; a descriptor can say 65,535 at most")
    starts = np.cumsum(lengths) - lengths
    data = np.zeros(int(lengths.sum()), np.uint8)
    write_fields(data, header, starts, head_lengths)
    stands: dict[str, tuple[Ints, Ints]] = {}
    for column, rows in enumerate(sections):
        at = starts[rows.record] + places.offsets[rows.record, column]
        if rows.entries is None:
            step = places.steps[rows.record, column]
            stands[rows.section.name] = at + rows.index * step, step
            write_fields(data, rows, *stands[rows.section.name])
        else:
            before = np.cumsum(rows.lengths) - rows.lengths
            first = before[np.searchsorted(rows.record, rows.record, side="left")]
            scatter_runs(data, at + before - first, rows.lengths, np.frombuffer(b"".join(rows.entries), np.uint8))
    for nest in nests:
        offsets, steps = nest.places()
        at = starts[nest.rows.record] + offsets
        stands[nest.rows.section.name] = at, steps
        write_fields(data, nest.rows, at, steps)
        nest.write_computed(data, starts, at)
    for part in repeated:
        at, steps = stands[part.parent.section.name]
        write_entries(data, part.rows, part.entry, at[part.owner], steps[part.owner])
    _write_computed(data, layout, header, sections, places, starts, lengths, head_lengths)
    return _Records(sequence, lengths, data)


def _triplet(rows: Rows) -> Triplet:
    assert rows.section.triplet is not None
    return rows.section.triplet


def _places(header: Rows, sections: list[Rows], head_lengths: Ints) -> _Places:
    shape = (len(header.record), len(sections))
    counts, steps, sizes = (np.zeros(shape, np.int64) for _ in range(3))
    for column, rows in enumerate(sections):
        np.add.at(counts[:, column], rows.record, 1)
        if rows.entries is None:
            np.maximum.at(steps[:, column], rows.record, rows.lengths)
            steps_stated = header_numbers(header, _triplet(rows).position + _triplet(rows).offset_width)
            steps[:, column] = np.where(counts[:, column] > 0, np.maximum(steps[:, column], steps_stated), 0)
            sizes[:, column] = counts[:, column] * steps[:, column]
        else:
            np.add.at(sizes[:, column], rows.record, rows.lengths)
            steps[:, column] = sizes[:, column]
    return _Places(counts, steps, sizes, _offsets(header, sections, head_lengths, counts, sizes))


def _offsets(header: Rows, sections: list[Rows], head_lengths: Ints, counts: Ints, sizes: Ints) -> Ints:
    """Offset of each section: as the header table gives it if all fit that way, else one after another."""
    follow = head_lengths[:, None] + np.cumsum(sizes, axis=1) - sizes
    if not sections:
        return follow
    offsets_stated = np.stack([header_numbers(header, _triplet(rows).position) for rows in sections], axis=1)
    present = counts > 0
    order = np.argsort(np.where(present, offsets_stated, np.iinfo(np.int64).max), axis=1, kind="stable")
    at = np.take_along_axis(np.where(present, offsets_stated, 0), order, axis=1)
    size = np.take_along_axis(np.where(present, sizes, 0), order, axis=1)
    ends = np.maximum.accumulate(np.concatenate([head_lengths[:, None], at + size], axis=1), axis=1)
    fits = ((at >= ends[:, :-1]) | ~np.take_along_axis(present, order, axis=1)).all(axis=1)
    fits &= ends[:, -1] <= 65_535
    return np.where(present, np.where(fits[:, None], offsets_stated, follow), 0)


def _write_computed(
    data: npt.NDArray[np.uint8],
    layout: Layout,
    header: Rows,
    sections: list[Rows],
    places: _Places,
    starts: Ints,
    lengths: Ints,
    head_lengths: Ints,
) -> None:
    def put(offset: int, width: int, numbers: Ints) -> None:
        scatter(data, starts, head_lengths, offset, values.big_endian(numbers.astype(np.uint64), width))

    def put_field(name: str, numbers: Ints) -> None:
        item = layout.header.by_name(name)
        put(item.offset, item.length, numbers)

    ones = np.ones_like(starts)
    put_field("record_type", ones * layout.type)
    if layout.header.has("record_length"):
        put_field("record_length", lengths)
    if layout.subtypes:
        put_field("subtype", _subtypes(layout, header))
        if (
            layout.header.has("system_flags")
            and array(header.table, layout.header.by_name("system_flags").column) is None
        ):
            put_field("system_flags", ones * USES_SUBTYPES)
    if (
        layout.header.has("triplet_count")
        and array(header.table, layout.header.by_name("triplet_count").column) is None
    ):
        ends = np.array([section.triplet.end for section in layout.placed if section.triplet])
        put_field("triplet_count", (ends[None, :] <= head_lengths[:, None]).sum(axis=1))
    written = {rows.section.name: column for column, rows in enumerate(sections)}
    for section in layout.placed:
        triplet = section.triplet
        assert triplet is not None
        at_length, at_count = triplet.position + triplet.offset_width, triplet.end - triplet.count_width
        if section.name not in written:
            put(at_count, triplet.count_width, ones * 0)
            continue
        column = written[section.name]
        present = places.counts[:, column] > 0
        put(
            triplet.position,
            triplet.offset_width,
            np.where(present, places.offsets[:, column], header_numbers(header, triplet.position)),
        )
        put(
            at_length,
            triplet.length_width,
            np.where(present, places.steps[:, column], header_numbers(header, at_length)),
        )
        put(at_count, triplet.count_width, places.counts[:, column])


def _subtypes(layout: Layout, header: Rows) -> Ints:
    item = layout.header.by_name("subtype")
    subtypes = header_numbers(header, item.offset)
    if len(layout.subtypes) == 1:
        subtypes = np.where(subtypes == 0, layout.subtypes[0], subtypes)
    wrong = ~np.isin(subtypes, layout.subtypes)
    if wrong.any():
        allowed = ", ".join(map(str, layout.subtypes))
        raise EncodeError(
            f"{layout.header.table}.{item.column}: subtype {subtypes[wrong][0]}, the layout holds for {allowed}"
        )
    return subtypes
