"""RMF records that were split because they were too large: which pieces belong together, and in what order.

Each piece repeats header and product section; its other sections continue those of the pieces before. Merged, they
carry the `record_seq` of the first piece met, and `section_seq` counts through all pieces.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ingest.layout import Layout, Section

Bytes = npt.NDArray[np.uint8]

REMEMBERED = 1024
"""Split records whose pieces are waited for at once."""


@dataclass(slots=True)
class _Whole:
    """The state of a split record: the row number it goes under, its pieces, and the sections placed so far.

    pieces: the `record_seq` of each piece met; numbers: their piece numbers.
    """

    record_seq: int
    total: int
    pieces: list[int] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    placed: dict[int, int] = field(default_factory=dict)


class Piece(NamedTuple):
    """One piece of a split record: which record it is of, and which of how many pieces it is.

    counts: by the ordinal of the section among those that are counted; positions: of the first of each kind, where the
    reassembly area gives them; single: sections of which a record has one at most.
    """

    record_seq: int
    key: bytes
    total: int
    number: int
    counts: Mapping[int, int]
    positions: Mapping[int, int]
    single: frozenset[int]


@dataclass(slots=True)
class Placement:
    """Under which `record_seq` a piece's sections go, and the `section_seq` of the first of each kind.

    `first` is keyed by the ordinal of the section among those that are counted. The product section, which every piece
    has, stays with its own piece and is not in it; -1 drops a section that an earlier piece has already given.
    """

    record_seq: int
    first: dict[int, int]


class PieceReader:
    """Reads the reassembly areas of pieces."""

    def __init__(self, area: Section, block: Section) -> None:
        self._area = area
        self._block = block

    def read(
        self, layout: Layout, data: Bytes, start: int, size: int, product: int, counts: list[int], seq: int
    ) -> Piece:
        """One piece.

        data[start:start + size] is the record, `product` the offset of its product section, counts the number of each
        of the layout's counted sections, seq its `record_seq`.
        """
        record = data[start : start + size]
        area = product + self._value(record, layout.section("product"), product, "reassembly_offset")
        counted = {index: section for index, section in enumerate(layout.counted) if section.name != "product"}
        placed = [index for index, section in counted.items() if not section.parent]
        positions = self._positions(record, (area, product), area, [counts[index] for index in placed])
        return Piece(
            record_seq=seq,
            key=record[5:24].tobytes() + bytes([len(layout.name)]),
            total=self._value(record, self._area, area, "total_pieces"),
            number=self._value(record, self._area, area, "piece_number"),
            counts={index: counts[index] for index in counted},
            positions=dict(zip(placed, positions, strict=False)),
            single=frozenset(index for index, section in counted.items() if section.cardinality == "one"),
        )

    def _positions(self, record: Bytes, bases: tuple[int, int], area: int, counts: list[int]) -> list[int]:
        """Positions of the first section of each kind as the reassembly area gives them.

        What the offset of its blocks counts from is taken from the two candidates by agreement with `counts`; empty if
        neither agrees, and then pieces are joined in the order in which they come.
        """
        offset = self._value(record, self._area, area, "block_offset")
        length = self._value(record, self._area, area, "block_length")
        number = self._value(record, self._area, area, "block_count")
        if length < self._block.length or number != len(counts):
            return []
        for base in bases:
            positions = []
            for ordinal, count in enumerate(counts):
                place = base + offset + ordinal * length
                total = self._value(record, self._block, place, "total_sections")
                position = self._value(record, self._block, place, "first_position")
                if count and not 1 <= position <= total - count + 1:
                    break
                positions.append(max(position - 1, 0))
            else:
                return positions
        return []

    @staticmethod
    def _value(record: Bytes, section: Section, place: int, name: str) -> int:
        """A number in a section at `place` of the record, 0 where it would lie outside."""
        item = section.by_name(name)
        raw = record[place + item.offset : place + item.end].tobytes() if place >= 0 else b""
        return int.from_bytes(raw, "big") if len(raw) == item.length else 0


class Placing(Protocol):
    """Says where the sections of pieces go, in the order of the dump."""

    def place(self, piece: Piece) -> Placement:
        """Where the sections of one piece go."""
        ...

    def close(self) -> None:
        """Wait for no more pieces: there are none."""
        ...

    def incomplete(self) -> tuple[int, dict[int, int]]:
        """Split records whose other pieces are waited for no longer, each returned once.

        How many records, and by the `record_seq` of each of their pieces how many pieces are missing.
        """
        ...


class SplitRecords:
    """Remembers the pieces of split records from one stretch of a dump to the next."""

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, _Whole] = OrderedDict()
        self._given_up: list[_Whole] = []

    def place(self, piece: Piece) -> Placement:
        """Where the sections of one piece go."""
        whole = self._open.get(piece.key)
        if whole is None or piece.number in whole.numbers:
            whole = self._begin(piece)
        whole.numbers.add(piece.number)
        whole.pieces.append(piece.record_seq)
        first = {}
        for index, count in piece.counts.items():
            earlier = whole.placed.get(index, 0)
            base = piece.positions.get(index, earlier)
            first[index] = -1 if index in piece.single and earlier > 0 else base
            whole.placed[index] = max(earlier, base + count)
        if len(whole.numbers) >= whole.total:
            del self._open[piece.key]
        return Placement(whole.record_seq, first)

    def close(self) -> None:
        """Wait for no more pieces: there are none."""
        self._given_up += self._open.values()
        self._open.clear()

    def incomplete(self) -> tuple[int, dict[int, int]]:
        """Split records whose other pieces are waited for no longer, as `Placing` has it."""
        given_up, self._given_up = self._given_up, []
        return len(given_up), {seq: whole.total - len(whole.numbers) for whole in given_up for seq in whole.pieces}

    def _begin(self, piece: Piece) -> _Whole:
        if piece.key in self._open:
            self._given_up.append(self._open.pop(piece.key))
        whole = self._open[piece.key] = _Whole(piece.record_seq, piece.total)
        if len(self._open) > REMEMBERED:
            self._given_up.append(self._open.popitem(last=False)[1])
        return whole


@dataclass(slots=True)
class Placed:
    """Pieces that were placed when the whole dump was scanned, by `record_seq`, with what is incomplete of it."""

    placements: Mapping[int, Placement]
    records: int = 0
    missing: Mapping[int, int] = field(default_factory=dict)
    _closed: bool = False

    def place(self, piece: Piece) -> Placement:
        """Where the sections of one piece go."""
        return self.placements[piece.record_seq]

    def close(self) -> None:
        """From now on, what is incomplete is returned."""
        self._closed = True

    def incomplete(self) -> tuple[int, dict[int, int]]:
        """Split records that are incomplete, returned once and when all is read."""
        if not self._closed:
            return 0, {}
        self._closed = False
        return self.records, dict(self.missing)
