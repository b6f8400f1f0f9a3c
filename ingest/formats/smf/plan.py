"""Layouts made ready for the kernels."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.formats.smf.kernels.locating import NO_LENGTH, OUTSIDE, find_unknown
from ingest.layout import Field, Layout, Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

REPEATED = 3
"""Fault of a section that stands more than once where a record has one: as kernels number the others."""
FAULTS = {
    OUTSIDE: "section_outside_record", NO_LENGTH: "section_without_length", REPEATED: "section_repeated",
}  # fmt: skip
_ALIGNED = 8
"""Bytes to which sections may be aligned."""


class SectionSpans(NamedTuple):
    """Checked triplets of records: matrices of shape (records, sections), and per record header length and fault.

    Of nested sections only the counts are known here, over all their parents in the record.
    """

    heads: Ints
    offsets: Ints
    sizes: Ints
    counts: Ints
    faults: Ints

    def taken(self, rows: npt.NDArray | slice) -> "SectionSpans":
        """The same for some of the records."""
        return SectionSpans(
            self.heads[rows], self.offsets[rows], self.sizes[rows], self.counts[rows], self.faults[rows]
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A layout made ready: its sections after the header, in the order of their triplets, as kernels need them.

    Nested sections stand after the others, and after their parents; `nests` says for each how its parents place it.
    """

    layout: Layout
    sections: tuple[Section, ...]
    nests: tuple["Nest", ...]
    triplets: Ints
    prefixed: npt.NDArray[np.uint8]
    row_bytes: Ints
    column_of: tuple[int, ...]
    split_field: tuple[int, Field] | None
    date_field: tuple[int, Field] | None

    @classmethod
    def of(cls, layout: Layout) -> "Plan":
        """The plan of a layout."""
        placed = sorted(layout.placed, key=lambda item: item.triplet.position if item.triplet else 0)
        sections = [*placed, *layout.nested]
        section_bytes = {section.name: _row_bytes(section) for section in (layout.header, *sections)}
        for section in layout.repeated:
            section_bytes[section.parent] += section.entries * _row_bytes(section)
        triplets = np.array([_triplet(section) for section in placed], np.int64).reshape(-1, 4)
        split = date = None
        if layout.product == "rmf":
            product = layout.section("product")
            split = sections.index(product), product.by_name("reassembly_count")
            date = sections.index(product), product.by_name("interval_start_date")
        return cls(
            layout=layout,
            sections=tuple(sections),
            nests=tuple(Nest.of(layout, sections, section) for section in layout.nested),
            triplets=triplets,
            prefixed=np.array([section.walk == "length_prefixed" for section in sections], np.uint8),
            row_bytes=np.array(list(section_bytes.values()), np.int64),
            column_of=tuple(sections.index(section) for section in layout.counted),
            split_field=split,
            date_field=date,
        )

    @property
    def single(self) -> tuple[int, ...]:
        """Columns of the sections that the header places, of which a record has one at most."""
        placed = self.sections[: len(self.sections) - len(self.nests)]
        return tuple(i for i, section in enumerate(placed) if section.triplet and section.cardinality == "one")

    def nest(self, column: int) -> "Nest | None":
        """How the section of a column is nested, None if the header places it."""
        ordinal = column - len(self.sections) + len(self.nests)
        return self.nests[ordinal] if ordinal >= 0 else None

    def is_closed(self, column: int) -> bool:
        """True for a section of fixed fields only, which should not be longer than they are."""
        section = self.sections[column]
        chained = any(nest.parent == column and nest.section.walk == "chained" for nest in self.nests)
        return section.walk == "fixed" and section.rest is None and not chained

    def holds_unknown(self, spans: SectionSpans, lengths: Ints) -> npt.NDArray[np.bool_]:
        """Per record, whether bytes of it are in none of its sections, as when a newer release has added a section.

        Never true where the extent of sections is not known here; gaps that only align sections do not count.
        """
        placed = len(self.sections) - len(self.nests)
        outside = any(nest.section.walk != "chained" for nest in self.nests)
        unknown = np.zeros(len(lengths), np.bool_)
        if placed and not outside and not self.layout.handler:
            prefixed = self.prefixed[:placed]
            find_unknown(spans, lengths, prefixed, _ALIGNED, unknown)
        return unknown

    def in_layout_order(self, counts: Ints) -> list[int]:
        """Counts of the sections in the order in which the layout names them."""
        return [int(counts[column]) for column in self.column_of]

    def fault(self, code: int, data: Bytes, start: int, length: int) -> tuple[str, str]:
        """Reason code and text of a fault in the triplets of a record."""
        section = self.sections[code >> 2]
        reason = FAULTS[code & 3]
        part = section.triplet
        if section.parent or part is None:
            parent = self.layout.section(section.parent).title
            return reason, f"{self.layout.name}, {section.title}: placed by {parent} in a record of {length} bytes"
        named = {item.offset: item.ibm for item in self.layout.header.fields}
        words, place = [], part.position
        for word, width in (("offset", part.offset_width), ("length", part.length_width), ("number", part.count_width)):
            value = int.from_bytes(data[start + place : start + place + width].tobytes(), "big")
            words.append(f"{word} {value} ({named.get(place, place)})")
            place += width
        most = " that has one at most" if code & 3 == REPEATED else ""
        return reason, f"{self.layout.name}, {section.title}: {', '.join(words)} in a record of {length} bytes{most}"


@dataclass(frozen=True, slots=True)
class Nest:
    """How the rows of one section place those of another.

    parent: column of the parent among a plan's sections; triplet: position and widths of the triplet in the parent;
    from_parent: its offsets count from there; code and others: which entries of a chain belong to the section.
    """

    section: Section
    parent: int
    triplet: Ints
    from_parent: bool
    code: int
    others: Ints

    @classmethod
    def of(cls, layout: Layout, sections: list[Section], section: Section) -> "Nest":
        """How a layout nests one of its sections."""
        named = [item.code for item in layout.nested if item.parent == section.parent and item.code is not None]
        return cls(
            section=section,
            parent=sections.index(layout.section(section.parent)),
            triplet=np.array(_triplet(section), np.int64),
            from_parent=section.triplet is not None and section.triplet.base == "section",
            code=-1 if section.code is None else section.code,
            others=np.array(named, np.int64),
        )


def _triplet(section: Section) -> tuple[int, int, int, int]:
    part = section.triplet
    return (part.position, part.offset_width, part.length_width, part.count_width) if part else (0, 0, 0, 0)


def _row_bytes(section: Section) -> int:
    """Upper bound of the bytes one row takes in Arrow."""
    size = 8
    for item in section.fields:
        size += 2 * item.length * item.count + 5 + (16 if item.raw else 0) if item.length else 512
    return size
