"""Layouts as objects: sections, fields, bits and triplets of a record type.

`ingest.registry` reads them from data files. Everything else that depends on a layout, from Arrow schema to field
reference, is derived from the objects of this module.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ingest.field_types import RAW_TYPES, Format


@dataclass(frozen=True, slots=True)
class Condition:
    """When a field stands in a section at all: its selector has, or with `negated` has not, one of these values."""

    selector: str
    values: frozenset[int]
    negated: bool

    def holds(self, value: int) -> bool:
        """True if the condition holds for this value of the selector."""
        return (value in self.values) != self.negated

    def excludes(self, other: "Condition") -> bool:
        """True if both never hold at once."""
        if self.selector != other.selector:
            return False
        if self.negated or other.negated:
            return self.negated != other.negated and (self.values >= other.values or other.values >= self.values)
        return not self.values & other.values


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of a section: where it stands, how it is read, what it means.

    count: how many values follow one another there, which make a list; stride: in a repeated section, the bytes from
    one entry's value to the next one's; none: numbers that stand for no value, such as where a minimum begins.
    """

    name: str
    ibm: str
    offset: int
    length: int
    form: Format
    unit: str
    meaning: str
    since: str
    confidence: str
    count: int = 1
    when: "Condition | None" = None
    stride: int = 0
    none: tuple[int, ...] = ()
    column: str = field(init=False)
    end: int = field(init=False)
    arrow: pa.DataType = field(init=False)
    raw: tuple[str, pa.DataType, str] | None = field(init=False)

    def __post_init__(self) -> None:
        """Derive properties that are read often.

        column: name of the raw column, the IBM name in lower case; end: first offset after the field; arrow: type of
        the raw column; raw: name, Arrow and DuckDB type of the column that keeps the raw value, if there is one.
        """
        column = self.ibm.lower().replace("#", "_n").replace("@", "_a").replace("$", "_d")
        kind = self.form.arrow(self.length)
        name = self.form.name
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "end", self.offset + self.length * self.count)
        object.__setattr__(self, "arrow", pa.list_(kind, self.count) if self.count > 1 else kind)
        object.__setattr__(self, "raw", (f"{column}_raw", *RAW_TYPES[name]) if name in RAW_TYPES else None)

    @property
    def duckdb(self) -> str:
        """DuckDB type of the raw column."""
        kind = self.form.duckdb(self.length)
        return f"{kind}[{self.count}]" if self.count > 1 else kind

    @property
    def is_rest(self) -> bool:
        """True for a field that takes whatever its section holds from its offset on."""
        return self.length == 0


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit, or a run of bits, of a flag field; bit 0 is the highest."""

    field: str
    first: int
    last: int
    ibm: str
    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Triplet:
    """Where a header, or a parent section, says where a section is: offset, length, number, and their widths.

    base: what the offset counts from, the start of the `record` or of the parent `section`.
    """

    position: int
    offset_width: int = 4
    length_width: int = 2
    count_width: int = 2
    base: str = "record"

    @property
    def end(self) -> int:
        """First offset after the triplet."""
        return self.position + self.offset_width + self.length_width + self.count_width


@dataclass(frozen=True, slots=True)
class Sum:
    """A number that a record holds: a constant, plus a field, or only one of them."""

    constant: int
    field: Field | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section stands that no triplet places: its start, the bytes of each row, and how many rows there are.

    start: None behind the section before; size: None for what is left of the record; its field may be one of the
    row; rows: None for as many as fit before `until`, an offset, or before the end of the record; flag: the bit of the
    header without which there is none.
    """

    start: Sum | None
    size: Sum | None
    rows: Sum | None
    until: Sum | None
    flag: Bit | None


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One kind of section of a record, which becomes one raw table.

    parent: name of the section whose rows say where this one's are, by a triplet in the parent or, with walk `chained`,
    because each entry behind the parent's first starts with its length; code: the type of the entries of a chain that
    are this section's, None for all that are no other section's; entries: with walk `repeated`, how many of them each
    row of the parent has; entries of zero bytes make no rows, and offsets of fields are those of the first entry; note:
    what a reader of its rows should know.
    selected_by: section and field that hold a row's number, from 1; conditions of the row's fields may then name fields
    of that section; place: where it stands in a record whose sections follow one another.
    """

    name: str
    struct: str
    title: str
    table: str
    fields: tuple[Field, ...]
    bits: tuple[Bit, ...]
    length: int
    triplet: Triplet | None
    walk: str
    cardinality: str
    parent: str = ""
    code: int | None = None
    entries: int = 0
    note: str = ""
    selected_by: tuple[str, str] | None = None
    place: Place | None = None
    schema: pa.Schema = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Derive the Arrow schema of the decoded table, whose metadata say what its columns mean, and in which unit."""
        columns = [pa.field("record_seq", pa.uint32(), False), pa.field("section_seq", pa.uint32(), False)]
        if self.parent:
            columns.append(pa.field("parent_seq", pa.uint32(), False))
        if self.entries:
            columns.append(pa.field("entry_seq", pa.uint32(), False))
        for item in self.fields:
            texts = {"name": item.name, "description": item.meaning, "unit": item.unit or item.form.unit}
            metadata = {key: value for key, value in texts.items() if value}
            columns.append(pa.field(item.column, item.arrow, metadata=metadata))
            if item.raw:
                columns.append(pa.field(*item.raw[:2], metadata={"description": f"{item.column} as recorded"}))
        object.__setattr__(self, "schema", pa.schema(columns, metadata={"description": self.title}))

    @property
    def is_header(self) -> bool:
        """True for the section at the start of the record."""
        return self.triplet is None and not self.parent

    @property
    def rest(self) -> Field | None:
        """The field that takes what follows the others, of any length, or None."""
        return next((item for item in self.fields if item.is_rest), None)

    def by_name(self, name: str) -> Field:
        """The field with this friendly name. Raises KeyError."""
        for item in self.fields:
            if item.name == name:
                return item
        raise KeyError(f"{self.table} has no field {name}")

    def has(self, name: str) -> bool:
        """True if the section has a field with this friendly name."""
        return any(item.name == name for item in self.fields)

    def bits_of(self, item: Field) -> tuple[Bit, ...]:
        """The described bits of a flag field."""
        return tuple(bit for bit in self.bits if bit.field == item.ibm)

    @property
    def selectors_elsewhere(self) -> set[str]:
        """Fields that conditions name and the section does not have: those of the section it is selected by."""
        return {item.when.selector for item in self.fields if item.when and not self.has(item.when.selector)}

    def arrow_schema(self) -> pa.Schema:
        """Arrow schema of the section's decoded table: its keys, then every field.

        Keys are record_seq, section_seq, parent_seq if nested, and entry_seq if repeated.
        """
        return self.schema


@dataclass(frozen=True, slots=True)
class Layout:
    """One record type with the subtypes its layout holds for; no subtypes means all of them.

    when tells records of the same type and subtype apart that are laid out differently, by a field of the header.
    handler names the code that reads what no layout can describe, such as records that list their fields; handled
    are the tables it yields besides those of the sections.
    """

    name: str
    title: str
    type: int
    subtypes: tuple[int, ...]
    product: str
    sections: tuple[Section, ...]
    path: Path
    when: Condition | None = None
    handler: str = ""
    handled: tuple[Section, ...] = ()

    @property
    def header(self) -> Section:
        """The section at the start of the record."""
        return self.sections[0]

    @property
    def placed(self) -> tuple[Section, ...]:
        """The sections that the header's triplets place."""
        return tuple(section for section in self.sections[1:] if not section.parent)

    @property
    def nested(self) -> tuple[Section, ...]:
        """The sections that rows of other sections place."""
        return tuple(section for section in self.sections if section.parent and not section.entries)

    @property
    def repeated(self) -> tuple[Section, ...]:
        """The sections whose entries stand inside rows of other sections."""
        return tuple(section for section in self.sections if section.entries)

    @property
    def counted(self) -> tuple[Section, ...]:
        """The sections after the header of which the record itself says how many rows there are."""
        return tuple(section for section in self.sections[1:] if not section.entries)

    def section(self, name: str) -> Section:
        """The section with this name, read by its layout or by a handler. Raises KeyError."""
        for section in (*self.sections, *self.handled):
            if section.name == name:
                return section
        raise KeyError(f"{self.name} has no section {name}")
