"""Layouts made ready for the kernels, and the sections of records found and checked."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingest.kernels.locating import OUTSIDE, measure_sections
from ingest.registry import Field, Layout, Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Found:
    """Checked triplets of records: matrices of shape (records, sections), and per record header length and fault."""

    heads: Ints
    offsets: Ints
    sizes: Ints
    counts: Ints
    faults: Ints

    def taken(self, rows: npt.NDArray | slice) -> "Found":
        """The same for some of the records."""
        return Found(self.heads[rows], self.offsets[rows], self.sizes[rows], self.counts[rows], self.faults[rows])


@dataclass(frozen=True, slots=True)
class Plan:
    """A layout made ready: its sections after the header, in the order of their triplets, as kernels need them."""

    layout: Layout
    sections: tuple[Section, ...]
    triplets: Ints
    prefixed: npt.NDArray[np.uint8]
    row_bytes: Ints
    column_of: tuple[int, ...]
    split_field: tuple[int, Field] | None

    @classmethod
    def of(cls, layout: Layout) -> "Plan":
        """The plan of a layout."""
        sections = sorted(layout.sections[1:], key=lambda item: item.triplet.position if item.triplet else 0)
        triplets = np.zeros((len(sections), 4), np.int64)
        for row, section in enumerate(sections):
            assert section.triplet is not None
            part = section.triplet
            triplets[row] = part.position, part.offset_width, part.length_width, part.count_width
        split = None
        if layout.product == "rmf":
            product = layout.section("product")
            split = sections.index(product), product.by_name("reassembly_count")
        return cls(
            layout=layout,
            sections=tuple(sections),
            triplets=triplets,
            prefixed=np.array([section.walk == "length_prefixed" for section in sections], np.uint8),
            row_bytes=np.array([_row_bytes(section) for section in (layout.header, *sections)], np.int64),
            column_of=tuple(sections.index(section) for section in layout.sections[1:]),
            split_field=split,
        )

    def in_layout_order(self, counts: Ints) -> list[int]:
        """Counts of the sections in the order in which the layout names them."""
        return [int(counts[column]) for column in self.column_of]

    def fault(self, code: int, data: Bytes, start: int, length: int) -> tuple[str, str]:
        """Reason code and text of a fault that measuring found."""
        section = self.sections[code >> 2]
        part = section.triplet
        assert part is not None
        named = {item.offset: item.ibm for item in self.layout.header.fields}
        told, place = [], part.position
        for word, width in (("offset", part.offset_width), ("length", part.length_width), ("number", part.count_width)):
            value = int.from_bytes(data[start + place : start + place + width].tobytes(), "big")
            told.append(f"{word} {value} ({named.get(place, place)})")
            place += width
        text = f"{self.layout.name}, {section.title}: {', '.join(told)} in a record of {length} bytes"
        return ("section_outside_record" if code & 3 == OUTSIDE else "section_without_length"), text


def _row_bytes(section: Section) -> int:
    """Upper bound of the bytes one row takes in Arrow."""
    size = 8
    for item in section.fields:
        size += 2 * item.length * item.count + 5 + (16 if item.raw else 0) if item.length else 512
    return size


def measure(plan: Plan, data: Bytes, starts: Ints, lengths: Ints) -> Found:
    """The triplets of records at `starts` in `data`, read and checked."""
    records, kinds = len(starts), len(plan.sections)
    heads, faults = np.zeros(records, np.int64), np.zeros(records, np.int64)
    offsets, sizes, counts = (np.zeros((records, kinds), np.int64) for _ in range(3))
    found = Found(heads, offsets, sizes, counts, faults)
    measure_sections(
        data,
        starts,
        lengths,
        plan.triplets,
        plan.prefixed,
        plan.layout.header.length,
        found.heads,
        found.offsets,
        found.sizes,
        found.counts,
        found.faults,
    )
    return found
