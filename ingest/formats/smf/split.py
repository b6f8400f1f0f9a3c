"""RMF records that were split because they were too large: which pieces belong together, and in what order.

Each piece repeats header and product section; its other sections continue those of the pieces before. Merged, they
carry the `record_seq` of the first piece met, and `section_seq` counts through all pieces.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ingest.layout import Layout, Section

Bytes = npt.NDArray[np.uint8]

REMEMBERED = 1024
"""Split records whose pieces are waited for at once."""


@dataclass(slots=True)
class _Whole:
    """What is known of a split record: the row number it goes under, its pieces, and the sections placed so far.

    pieces: the `record_seq` of each piece met; seen: their numbers.
    """

    record_seq: int
    total: int
    pieces: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    placed: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Placement:
    """Under which `record_seq` a piece's sections go, and the `section_seq` of the first of each kind.

    `first` is keyed by the ordinal of the section among those that are counted. The product section, which every piece
    has, stays with its own piece and is not in it; -1 drops a section that an earlier piece has already given.
    """

    record_seq: int
    first: dict[int, int]


class SplitRecords:
    """Remembers the pieces of split records from one stretch of a dump to the next."""

    def __init__(self, area: Section, block: Section) -> None:
        self._area = area
        self._block = block
        self._open: OrderedDict[bytes, _Whole] = OrderedDict()
        self._given_up: list[_Whole] = []

    def place(
        self, layout: Layout, data: Bytes, start: int, size: int, product: int, counts: list[int], seq: int
    ) -> Placement:
        """Where the sections of one piece go.

        data[start:start + size] is the record, `product` the offset of its product section, counts the number of each
        of the layout's counted sections, seq its own `record_seq`.
        """
        record = data[start : start + size]
        area = product + self._value(record, layout.section("product"), product, "reassembly_offset")
        total = self._value(record, self._area, area, "total_pieces")
        number = self._value(record, self._area, area, "piece_number")
        key = record[5:24].tobytes() + bytes([len(layout.name)])
        whole = self._open.get(key)
        if whole is None or number in whole.seen:
            whole = self._begin(key, seq, total)
        whole.seen.add(number)
        whole.pieces.append(seq)
        expected = [index for index, section in enumerate(layout.counted) if section.name != "product"]
        placed = [index for index in expected if not layout.counted[index].parent]
        positions = self._positions(record, (area, product), area, [counts[index] for index in placed])
        position_of = dict(zip(placed, positions, strict=False))
        first = {}
        for index in expected:
            earlier = whole.placed.get(index, 0)
            base = position_of.get(index, earlier)
            repeated = layout.counted[index].cardinality == "one" and earlier > 0
            first[index] = -1 if repeated else base
            whole.placed[index] = max(earlier, base + counts[index])
        if len(whole.seen) >= whole.total:
            del self._open[key]
        return Placement(whole.record_seq, first)

    def close(self) -> None:
        """Wait for no more pieces: there are none."""
        self._given_up += self._open.values()
        self._open.clear()

    def incomplete(self) -> tuple[int, dict[int, int]]:
        """Split records whose other pieces are waited for no longer, each returned once.

        How many records, and by the `record_seq` of each of their pieces how many pieces are missing.
        """
        given_up, self._given_up = self._given_up, []
        return len(given_up), {seq: whole.total - len(whole.seen) for whole in given_up for seq in whole.pieces}

    def _begin(self, key: bytes, seq: int, total: int) -> _Whole:
        if key in self._open:
            self._given_up.append(self._open.pop(key))
        whole = self._open[key] = _Whole(seq, total)
        if len(self._open) > REMEMBERED:
            self._given_up.append(self._open.popitem(last=False)[1])
        return whole

    def _positions(self, record: Bytes, bases: tuple[int, int], area: int, counts: list[int]) -> list[int]:
        """Positions of the first section of each kind as the reassembly area gives them.

        What the offset of its blocks counts from is taken from the two candidates by agreement with `counts`; empty if
        neither agrees, and then pieces are put together in the order in which they come.
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
