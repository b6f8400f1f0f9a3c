"""Data that decoding a part of a dump needs from the other parts: numbers of records, dictionaries, split records."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ingest.batch import Batch
from ingest.formats.cics import kernels
from ingest.formats.cics.dictionary import DictionaryMemory, Entry, Key
from ingest.formats.cics.performance import DICTIONARY, MonitoringDecoder
from ingest.formats.smf.assigning import Assignment
from ingest.formats.smf.decode import Stretch, checked, piece_reader, read_piece, split_pieces
from ingest.formats.smf.plan import Plan
from ingest.formats.smf.split import Piece
from ingest.framing import Frames, read_frames
from ingest.layout import Layout
from ingest.registry import Registry

Ints = npt.NDArray[np.int64]

_MONITORING = "cics_monitoring"
_BATCH_BYTES = 4 << 20
"""Few enough bytes to stay in the processor's cache."""
_SID, _PRODUCT, _APPLID = slice(14, 18), slice(0, 2), slice(10, 18)


@dataclass(frozen=True, slots=True)
class RegionDictionary:
    """A record of class 1: entries of the dictionary of one start of a region."""

    key: Key
    entries: tuple[Entry, ...]
    start: str


@dataclass(slots=True)
class Scanned:
    """Of a part of a dump: how many records there are, how often descriptors were lost, and what concerns other parts.

    dictionaries, pieces: in the order of the dump, the `record_seq` of pieces counted from the part's first record;
    regions: whose CICS monitoring records there are.
    """

    records: int = 0
    damages: int = 0
    dictionaries: list[RegionDictionary] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    regions: set[Key] = field(default_factory=set)


class _Listening(DictionaryMemory):
    """A memory that lists the entries given to it."""

    def __init__(self, dictionaries: list[RegionDictionary]) -> None:
        super().__init__()
        self._dictionaries = dictionaries

    def remember(self, key: Key, entries: Iterable[Entry], start: str = "") -> None:
        """Append the entries to the list."""
        self._dictionaries.append(RegionDictionary(key, tuple(entries), start))


def scan_records(path: Path, registry: Registry, stretch: Stretch) -> Scanned:
    """Scan a part of a dump. Raises FramingError as `read_frames` does, ChainBroken among them."""
    scanner = _Scanner(registry)
    with path.open("rb", buffering=0) as stream:
        if stretch.begin:
            stream.seek(stretch.begin.offset)
        for frames in read_frames(stream, str(path), batch_bytes=_BATCH_BYTES, begin=stretch.begin, end=stretch.end):
            scanner.add(frames)
    return scanner.scanned


class _Scanner:
    """Takes stretch after stretch of a dump."""

    def __init__(self, registry: Registry) -> None:
        self.scanned = Scanned()
        self._assignment = Assignment(registry)
        self._pieces = piece_reader(registry)
        self._plans: dict[str, Plan] = {}
        self._monitoring = MonitoringDecoder(_Listening(self.scanned.dictionaries))

    def add(self, frames: Frames) -> None:
        """Take in one stretch."""
        sequence = np.arange(self.scanned.records, self.scanned.records + len(frames.starts))
        self.scanned.records += len(frames.starts)
        self.scanned.damages += sum(piece.reason in _LOST for piece in frames.quarantined)
        for layout, rows in self._assignment.assign(frames, sequence, Batch()):
            if layout.product == "rmf":
                self._add_pieces(layout, frames, rows, sequence[rows])
            elif layout.handler == _MONITORING:
                self._add_dictionaries(layout, frames, rows, sequence[rows])

    def _plan(self, layout: Layout) -> Plan:
        if layout.name not in self._plans:
            self._plans[layout.name] = Plan.of(layout)
        return self._plans[layout.name]

    def _add_pieces(self, layout: Layout, frames: Frames, rows: Ints, sequence: Ints) -> None:
        plan = self._plan(layout)
        spans, good = checked(plan, frames, rows, sequence, Batch())
        rows, spans, sequence = rows[good], spans.taken(good), sequence[good]
        starts, lengths = frames.starts[rows], frames.lengths[rows]
        for piece in split_pieces(plan, frames.buffer, starts, spans).tolist():
            self.scanned.pieces.append(
                read_piece(self._pieces, plan, frames.buffer, starts, lengths, spans, sequence, piece)
            )

    def _add_dictionaries(self, layout: Layout, frames: Frames, rows: Ints, sequence: Ints) -> None:
        data, starts, lengths = frames.buffer, frames.starts[rows], frames.lengths[rows]
        heads = kernels.read_heads(data, starts, lengths)
        whole = np.flatnonzero(heads[:, kernels.PROBLEM] != kernels.PRODUCT_OUTSIDE)
        product = starts[whole] + heads[whole, kernels.PRODUCT_AT]
        places = np.concatenate(
            [
                starts[whole, None] + np.arange(_SID.start, _SID.stop),
                product[:, None] + np.arange(_APPLID.start, _APPLID.stop),
                product[:, None] + np.arange(_PRODUCT.start, _PRODUCT.stop),
            ],
            axis=1,
        )
        for name in set(map(bytes, data[places])):
            self.scanned.regions.add(Key(_text(name[:4]), _text(name[4:12]), name[12:].hex().upper()))
        dictionary_rows = rows[heads[:, kernels.CLASS] == DICTIONARY]
        if len(dictionary_rows):
            _, good = checked(self._plan(layout), frames, dictionary_rows, dictionary_rows, Batch())
            dictionary_rows = dictionary_rows[good]
            self._monitoring.decode(
                data, frames.starts[dictionary_rows], frames.lengths[dictionary_rows], dictionary_rows.astype(np.uint32)
            )


def _text(raw: bytes) -> str:
    return raw.decode("cp037").rstrip(" \0")


_LOST = frozenset({"framing_lost", "truncated_record"})
