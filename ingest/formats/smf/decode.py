"""A dump to Arrow tables: the codec's way in.

Records are delimited by framing, assigned to layouts by type and subtype, their triplets checked, and then read column
by column. What is not decoded is accounted for: skipped for want of a layout, or quarantined with a reason.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.batch import Batch
from ingest.codec.columns import are_dates
from ingest.codec.handlers import Handled, Handler, Problem
from ingest.formats.smf.assigning import Assignment, set_aside
from ingest.formats.smf.handlers import make as make_handler
from ingest.formats.smf.measuring import measure
from ingest.formats.smf.placing import Maker, tables_of
from ingest.formats.smf.plan import Plan, SectionSpans
from ingest.formats.smf.split import Piece, PieceReader, Placing, SplitRecords
from ingest.framing import ByteStream, Frames, Place, read_frames
from ingest.identity import of_rows
from ingest.layout import Layout
from ingest.registry import Registry

Ints = npt.NDArray[np.int64]

MAX_TABLE_BYTES = 256 << 20
"""Most bytes of tables made at once; records that would make more are decoded in several batches."""

DEFAULT_BATCH_BYTES = 48 << 20

UNDECODABLE = "record_not_decodable"
"""Reason of a record that passed all checks and still breaks what reads it, by a defect of Etalon."""

_SHORTEST_STRETCH = 8 << 20
_BYTES_PER_COLUMN = 48 << 10
"""Bytes of records to decode at once for each column they become, so that making columns takes little of the time: a
dump of many record types is decoded in long stretches, others in stretches that stay in the cache."""


@dataclass(frozen=True)
class Stretch:
    """A part of a dump that is decoded separately, as it would be with the rest.

    begin, end: where it begins and ends, if not with the dump; first_seq: the `record_seq` of its first record;
    placing: where the sections of split records go, once all of the dump was scanned for their pieces.
    """

    begin: Place | None = None
    end: Place | None = None
    first_seq: int = 0
    placing: Placing | None = None


def decode_batches(
    source: Path | str | bytes | ByteStream,
    registry: Registry,
    *,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    name: str | None = None,
    handlers: Mapping[str, Handler] | None = None,
    threads: int = 1,
    stretch: Stretch | None = None,
    identify: bool = False,
) -> Iterator[Batch]:
    """Decode a dump, batch by batch.

    source: a path, the bytes of a dump, or an open binary stream; name: what errors call the latter two; handlers:
    those to use by name, for instance one that knows the dictionaries of earlier dumps; threads: how many make tables
    at once; stretch: what to decode of the dump, all of it unless given; identify: whether batches have the identities
    of records. Tables have the columns of `Section.arrow_schema()`; a record's rows share one `record_seq`, counted
    through the whole dump. Memory is bounded by `batch_bytes`, whatever the size of the input. Raises FramingError when
    no record can be delimited.
    """
    with ExitStack() as stack:
        stream: ByteStream
        if isinstance(source, (str, Path)):
            stream, name = stack.enter_context(Path(source).open("rb", buffering=0)), name or str(source)
        else:
            stream, name = io.BytesIO(source) if isinstance(source, bytes) else source, name or "input"
        pool = stack.enter_context(ThreadPoolExecutor(threads, "decode")) if threads > 1 else None
        stretch = stretch or Stretch()
        if stretch.begin:
            stream.seek(stretch.begin.offset)
        decoder = _Decoder(registry, handlers or {}, pool.map if pool else map, stretch, identify)
        frame_batches = read_frames(stream, name, batch_bytes=batch_bytes, begin=stretch.begin, end=stretch.end)
        yield from _decode_frames(frame_batches, decoder)


def _decode_frames(frame_batches: Iterator[Frames], decoder: "_Decoder") -> Iterator[Batch]:
    for frames in frame_batches:
        others: Frames | None = frames
        while others is not None:
            some, others = others.split(decoder.stretch)
            yield from decoder.decode(some)
    decoder.splits.close()
    last = Batch()
    decoder.note_incomplete(last)
    if last.incomplete:
        yield last


class _Decoder:
    """Decodes the records of each layout in one step; remembers data that spans stretches.

    `stretch` says how many bytes of records to hand over next; `run` calls what makes tables, several at once or one
    after another.
    """

    def __init__(
        self,
        registry: Registry,
        handlers: Mapping[str, Handler],
        run: Callable[..., Iterator[Any]],
        stretch: Stretch,
        identify: bool,
    ) -> None:
        self._run = run
        self._headers = {f"{file.name}_header" for file in registry.record_files} if identify else set()
        self._assignment = Assignment(registry)
        self._plans: dict[str, Plan] = {}
        self._handlers = dict(handlers)
        self._next = stretch.first_seq
        self.stretch = _SHORTEST_STRETCH
        self._pieces = piece_reader(registry)
        self.splits = stretch.placing or SplitRecords()

    def decode(self, frames: Frames) -> Iterator[Batch]:
        """One batch, or several where the tables would be too large for one."""
        records = len(frames.starts)
        sequence = np.arange(self._next, self._next + records)
        self._next += records
        batch = Batch(quarantined=list(frames.quarantined))
        batch.framing_bytes = frames.framing_bytes
        first: dict[str, Maker] = {}
        further: list[dict[str, Maker]] = []
        for layout, rows in self._assignment.assign(frames, sequence, batch):
            parts = self._decode_layout(layout, frames, rows, sequence[rows], batch)
            first |= next(parts, {})
            further.extend(parts)
        self._make(first, frames, sequence, batch)
        self.note_incomplete(batch)
        columns = sum(table.num_columns for table in batch.tables.values())
        self.stretch = max(_SHORTEST_STRETCH, columns * _BYTES_PER_COLUMN)
        yield batch
        for part in further:
            rest = Batch()
            self._make(part, frames, sequence, rest)
            yield rest

    def _make(self, makers: dict[str, Maker], frames: Frames, sequence: Ints, batch: Batch) -> None:
        """Put the tables that have rows into a batch; a record that one cannot be made of is set aside, and no more."""
        largest_first = sorted(makers, key=lambda name: makers[name].size, reverse=True)
        results = self._run(Maker.make, [makers[name] for name in largest_first])
        by_name, faults = dict[str, pa.Table](), dict[int, str]()
        for name, (table, failed) in zip(largest_first, results, strict=True):
            by_name[name] = table
            faults |= failed
        for record_seq, text in sorted(faults.items()):
            place = record_seq - int(sequence[0])
            if place < 0:
                raise ValueError(f"record_seq {record_seq:,}, a part of which stands further back: {text}")
            batch.quarantined.append(set_aside(frames, place, record_seq, UNDECODABLE, text))
            batch.decoded -= 1
            batch.decoded_bytes -= int(frames.lengths[place])
        tables = batch.tables | {name: by_name[name] for name in makers}
        if faults:
            import pyarrow.compute as pc

            bad = pa.array(faults, pa.uint32())
            for name, table in tables.items():
                tables[name] = table.filter(pc.invert(pc.is_in(table["record_seq"], value_set=bad)))
        batch.tables = {name: table for name, table in tables.items() if table.num_rows}
        if self._headers:
            headers = (batch.tables[name] for name in sorted(self._headers & batch.tables.keys()))
            batch.identities = of_rows(frames, int(sequence[0]) if len(sequence) else 0, headers)

    def note_incomplete(self, batch: Batch) -> None:
        """Put down with a batch the split records whose missing pieces are waited for no longer."""
        records, batch.incomplete = self.splits.incomplete()
        if records:
            batch.notes["split_record_incomplete"] = records

    def _decode_layout(
        self, layout: Layout, frames: Frames, rows: Ints, sequence: Ints, batch: Batch
    ) -> Iterator[dict[str, Maker]]:
        """Makers of the tables of some records, in parts that may be made one after another."""
        if layout.name not in self._plans:
            self._plans[layout.name] = Plan.of(layout)
        plan = self._plans[layout.name]
        starts, lengths = frames.starts[rows], frames.lengths[rows]
        spans, good = checked(plan, frames, rows, sequence, batch)
        if layout.handler:
            batch.tables |= self._handle(layout, frames, rows, sequence, good, batch)
        if not good.all():
            spans, starts, lengths, sequence = spans.taken(good), starts[good], lengths[good], sequence[good]
        batch.decoded += len(lengths)
        batch.decoded_bytes += int(lengths.sum())
        for column, section in enumerate(plan.sections):
            longer = (spans.counts[:, column] > 0) & (spans.sizes[:, column] > section.length)
            if longer.any() and plan.is_closed(column):
                name = f"section_longer_than_known:{section.table}"
                batch.notes[name] += int(spans.counts[longer, column].sum())
        unknown = plan.holds_unknown(spans, lengths)
        owners, first, pieces = self._owners(plan, frames.buffer, starts, lengths, spans, sequence)
        unknown[pieces] = False
        if unknown.any():
            batch.notes[f"section_not_known:{layout.header.table}"] += int(unknown.sum())
        estimate = plan.row_bytes[0] + spans.counts @ plan.row_bytes[1:]
        for part in _parts(estimate):
            yield tables_of(
                plan, frames.buffer, starts[part], spans.taken(part), sequence[part], owners[part], first[part]
            )

    def _handle(
        self,
        layout: Layout,
        frames: Frames,
        rows: Ints,
        sequence: Ints,
        good: npt.NDArray[np.bool_],
        batch: Batch,
    ) -> dict[str, pa.Table]:
        """Tables of the layout's handler; records that it refuses are quarantined and no longer good."""
        name = layout.handler if layout.handler in self._handlers else layout.name
        if name not in self._handlers:
            self._handlers[name] = make_handler(layout)
        chosen = np.flatnonzero(good)
        at = rows[chosen]
        records = frames.starts[at], frames.lengths[at], sequence[chosen].astype(np.uint32)
        result = _handled(self._handlers[name], frames.buffer, *records)
        if result.unknown_records:
            batch.notes[f"section_not_known:{layout.header.table}"] += result.unknown_records
        for problem in result.problems:
            place = int(chosen[problem.index])
            good[place] = False
            batch.quarantined.append(
                set_aside(frames, int(rows[place]), int(sequence[place]), problem.reason, problem.detail)
            )
        return result.tables

    def _owners(
        self, plan: Plan, data: npt.NDArray[np.uint8], starts: Ints, lengths: Ints, spans: SectionSpans, sequence: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """record_seq and first section_seq of each record's sections of each kind; changed only for split records.

        Which records are pieces of split ones comes last.
        """
        owners = np.repeat(sequence[:, None], len(plan.sections), axis=1)
        first = np.zeros_like(owners)
        if plan.split_field is None:
            return owners, first, np.empty(0, np.int64)
        pieces = split_pieces(plan, data, starts, spans)
        for piece in pieces.tolist():
            read = read_piece(self._pieces, plan, data, starts, lengths, spans, sequence, piece)
            placement = self.splits.place(read)
            for index, base in placement.first.items():
                at = plan.column_of[index]
                owners[piece, at] = placement.record_seq
                first[piece, at] = max(base, 0)
                if base < 0:
                    spans.counts[piece, at] = 0
        for at, nest in enumerate(plan.nests, len(plan.sections) - len(plan.nests)):
            spans.counts[spans.counts[:, nest.parent] == 0, at] = 0
        return owners, first, pieces


def piece_reader(registry: Registry) -> PieceReader:
    """The reader of the reassembly areas of split records."""
    reassembly = registry.files["reassembly"].layout
    return PieceReader(reassembly.sections[0], reassembly.sections[1])


def checked(
    plan: Plan, frames: Frames, rows: Ints, sequence: Ints, batch: Batch
) -> tuple[SectionSpans, npt.NDArray[np.bool_]]:
    """The sections of records of one layout, and which records are sound; the others are put down as quarantined."""
    starts, lengths = frames.starts[rows], frames.lengths[rows]
    spans = measure(plan, frames.buffer, starts, lengths)
    for place in np.flatnonzero(spans.faults):
        reason, text = plan.fault(int(spans.faults[place]), frames.buffer, int(starts[place]), int(lengths[place]))
        batch.quarantined.append(set_aside(frames, int(rows[place]), int(sequence[place]), reason, text))
    good = spans.faults == 0
    _set_aside_undated(plan, frames, rows, sequence, spans, good, batch)
    return spans, good


def _set_aside_undated(
    plan: Plan,
    frames: Frames,
    rows: Ints,
    sequence: Ints,
    spans: SectionSpans,
    good: npt.NDArray[np.bool_],
    batch: Batch,
) -> None:
    """Quarantine records of an interval whose date is none: what time they are about is unknown."""
    if plan.date_field is None:
        return
    column, item = plan.date_field
    dated = np.flatnonzero(good & (spans.counts[:, column] > 0) & (spans.sizes[:, column] >= item.end))
    at = frames.starts[rows[dated]] + spans.offsets[dated, column]
    for place, start in zip(*(each[~are_dates(item, frames.buffer, at)] for each in (dated, at)), strict=True):
        good[place] = False
        digits = frames.buffer[start + item.offset : start + item.end].tobytes().hex().upper()
        text = f"{plan.layout.name}, {item.ibm}: X'{digits}' is not a packed date, so the interval is not known"
        batch.quarantined.append(
            set_aside(frames, int(rows[place]), int(sequence[place]), "interval_date_not_valid", text)
        )


def split_pieces(plan: Plan, data: npt.NDArray[np.uint8], starts: Ints, spans: SectionSpans) -> Ints:
    """Which of the sound records of a layout are pieces of split ones."""
    if plan.split_field is None:
        return np.empty(0, np.int64)
    column, item = plan.split_field
    has_count = (spans.counts[:, column] > 0) & (spans.sizes[:, column] >= item.end)
    place = np.where(has_count, starts + spans.offsets[:, column] + item.offset, 0)
    return np.flatnonzero(has_count & (data[place] | data[place + 1] != 0))


def read_piece(
    reader: PieceReader,
    plan: Plan,
    data: npt.NDArray[np.uint8],
    starts: Ints,
    lengths: Ints,
    spans: SectionSpans,
    sequence: Ints,
    piece: int,
) -> Piece:
    """The piece of a split record that decides where its sections go; `piece` is its place among the records."""
    assert plan.split_field is not None
    product = int(spans.offsets[piece, plan.split_field[0]])
    counts = plan.in_layout_order(spans.counts[piece])
    return reader.read(
        plan.layout, data, int(starts[piece]), int(lengths[piece]), product, counts, int(sequence[piece])
    )


def _handled(handler: Handler, data: npt.NDArray[np.uint8], starts: Ints, lengths: Ints, sequence: Any) -> Handled:
    """Records decoded by a handler; a record for which it raises is a problem, and the others are decoded."""
    try:
        return handler.decode(data, starts, lengths, sequence)
    except MemoryError:
        raise
    except Exception as error:
        if len(starts) == 1:
            text = f"it cannot be decoded ({type(error).__name__}: {error})"
            return Handled(problems=[Problem(0, UNDECODABLE, text)])
    half = len(starts) // 2
    halves = slice(half), slice(half, None)
    first, second = (_handled(handler, data, starts[part], lengths[part], sequence[part]) for part in halves)
    tables = dict(first.tables)
    for name, table in second.tables.items():
        tables[name] = pa.concat_tables([tables[name], table]) if name in tables else table
    later = [replace(problem, index=problem.index + half) for problem in second.problems]
    return Handled(tables, [*first.problems, *later], first.unknown_records + second.unknown_records)


def _parts(estimate: Ints) -> list[slice]:
    """Runs of records whose tables have a total size within `MAX_TABLE_BYTES`; a single record may exceed it."""
    ends = np.cumsum(estimate)
    parts, low, done = [], 0, 0
    while low < len(ends):
        high = max(int(np.searchsorted(ends, done + MAX_TABLE_BYTES, "right")), low + 1)
        parts.append(slice(low, high))
        low, done = high, int(ends[high - 1])
    return parts
