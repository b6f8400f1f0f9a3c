"""Record layouts, read from data files.

A layout file (TOML, see docs/how-to-add-a-record-type.md) describes one record type, or some of its subtypes: which
sections it has, where their triplets stand, and every field. Everything else that depends on a layout, from Arrow
schema to field reference, is derived from the objects of this module.
"""

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.formats import FORMATS, RAW_TYPES, UNITS, Format
from ingest.layout_checks import check_document, line_of

LAYOUT_DIR = Path(__file__).parent / "layouts"
CONFIDENCES = ("macro", "manual", "decoder", "inferred", "memory")
WALKS = ("fixed", "length_prefixed", "chained")
IMS_ROLE = "ims:"
HANDLERS = ("", "cics_monitoring", "cics_statistics")
HEADER_ROLES = ("record_type", "smf_sid", "written_clock_us", "written_date")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_CONDITION = re.compile(r"(\w+) *(!?=) *(\d+(?: *, *\d+)*)\Z")
_FORMAT = re.compile(r"([a-z0-9_]+)(?:\[(\d+)(?:/(\d+))?\])?\Z")


class RegistryError(ValueError):
    """A layout file that cannot be used. The message names the file, the entry and what was expected."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Condition:
    """When a field stands in a section at all: its selector has, or with `negated` has not, one of these values."""

    selector: str
    values: frozenset[int]
    negated: bool

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

    count and stride: how often it is repeated, and from one to the next, which is its length unless it is a member of a
    repeated block.
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
    column: str = field(init=False)
    end: int = field(init=False)
    arrow: pa.DataType = field(init=False)
    raw: tuple[str, pa.DataType, str] | None = field(init=False)

    def __post_init__(self) -> None:
        """Derive what is asked for again and again.

        column: name of the raw column, the IBM name in lower case; end: first offset after the field; arrow: type of
        the raw column; raw: name, Arrow and DuckDB type of the column that keeps the raw value, if there is one.
        """
        column = self.ibm.lower().replace("#", "_n").replace("@", "_a").replace("$", "_d")
        kind = self.form.arrow(self.length)
        name = self.form.name
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "stride", self.stride or self.length)
        object.__setattr__(self, "end", self.offset + self.stride * (self.count - 1) + self.length)
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


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One kind of section of a record, which becomes one raw table.

    parent: name of the section whose rows say where this one's are, by a triplet of their own or, with walk `chained`,
    because each entry behind the parent's own starts with its length; code: the type of the entries of a chain that
    are this section's, None for all that are no other section's; note: what a reader of its rows should know.
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
    note: str = ""
    schema: pa.Schema = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Derive the Arrow schema of the decoded table."""
        columns = [pa.field("record_seq", pa.uint32(), False), pa.field("section_seq", pa.uint32(), False)]
        if self.parent:
            columns.append(pa.field("parent_seq", pa.uint32(), False))
        for item in self.fields:
            columns.append(pa.field(item.column, item.arrow))
            if item.raw:
                columns.append(pa.field(item.raw[0], item.raw[1]))
        object.__setattr__(self, "schema", pa.schema(columns))

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

    def arrow_schema(self) -> pa.Schema:
        """Arrow schema of the section's decoded table: record_seq, section_seq, parent_seq if nested, every field."""
        return self.schema


@dataclass(frozen=True, slots=True)
class Layout:
    """One record type with the subtypes its layout holds for; no subtypes means all of them.

    handler names the code that reads what no layout can say, such as records that describe their own fields; handled
    are the tables it yields besides those of the sections.
    """

    name: str
    title: str
    type: int
    subtypes: tuple[int, ...]
    product: str
    sections: tuple[Section, ...]
    path: Path
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
        return tuple(section for section in self.sections if section.parent)

    def section(self, name: str) -> Section:
        """The section with this name. Raises KeyError."""
        for section in self.sections:
            if section.name == name:
                return section
        raise KeyError(f"{self.name} has no section {name}")


@dataclass(frozen=True, slots=True)
class Registry:
    """Every known layout, and the head by which records without one are told apart."""

    layouts: tuple[Layout, ...]
    identification: Section
    auxiliary: dict[str, Layout] = field(default_factory=dict)

    def layout_for(self, record_type: int, subtype: int) -> Layout | None:
        """The layout of a record type and subtype, or None."""
        for layout in self.layouts:
            if layout.type == record_type and (not layout.subtypes or subtype in layout.subtypes):
                return layout
        return None

    def tables(self) -> Iterator[tuple[Layout, Section]]:
        """Every raw table with its layout, in a fixed order."""
        for layout in self.layouts:
            for section in (*layout.sections, *layout.handled):
                yield layout, section

    def table(self, name: str) -> tuple[Layout, Section]:
        """Layout and section of a raw table. Raises KeyError."""
        for layout, section in self.tables():
            if section.table == name:
                return layout, section
        raise KeyError(f"no layout has a table {name}")


@cache
def built_in(name: str) -> Layout:
    """The layout in the file of this name among the built-in ones. Raises RegistryError."""
    return _read(LAYOUT_DIR / name)[1]


def load(extra_dirs: Iterable[Path | str] = ()) -> Registry:
    """Read the built-in layouts and those of further directories.

    A layout of a further directory replaces a built-in one of the same name. Raises RegistryError for a file that
    cannot be used and for two layouts that claim the same record.
    """
    layouts: dict[str, Layout] = {}
    auxiliary: dict[str, Layout] = {}
    for directory in (LAYOUT_DIR, *map(Path, extra_dirs)):
        if not directory.is_dir():
            raise RegistryError(f"{directory}: there is no such folder of layout files; check the path")
        paths = sorted(directory.glob("*.toml"))
        if not paths:
            raise RegistryError(f"{directory}: the folder holds no layout files; their names end with .toml")
        for path in paths:
            role, layout = _read(path)
            (auxiliary if role else layouts)[role or layout.name] = layout
    ordered = tuple(sorted(layouts.values(), key=lambda item: (item.type, item.subtypes, item.name)))
    _refuse_overlaps(ordered)
    return Registry(ordered, auxiliary["identification"].header, auxiliary)


def _refuse_overlaps(layouts: Sequence[Layout]) -> None:
    claims: dict[tuple[int, int | None], Layout] = {}
    tables: dict[str, Layout] = {}
    for layout in sorted(layouts, key=lambda item: item.path.parent != LAYOUT_DIR):
        whole = [other for (kind, subtype), other in claims.items() if kind == layout.type and subtype is None]
        part = [other for (kind, _), other in claims.items() if kind == layout.type and not layout.subtypes]
        for other in [*whole, *part][:1]:
            raise RegistryError(
                f"{layout.path}: record {layout.type} is already described, with all or some of its subtypes, by "
                f"{other.path}; name the subtypes that are meant, or take its place with the name {other.name!r}"
            )
        for subtype in layout.subtypes or (None,):
            other = claims.setdefault((layout.type, subtype), layout)
            if other is not layout:
                shown = layout.type if subtype is None else f"{layout.type}.{subtype}"
                raise RegistryError(
                    f"{layout.path}: record {shown} is already described by {other.path}; to take its place, give the "
                    f"record the name {other.name!r}"
                )
        for section in (*layout.sections, *layout.handled):
            other = tables.setdefault(section.table, layout)
            if other is not layout:
                raise RegistryError(
                    f"{layout.path}: table {section.table} is already described by {other.path}; name the section "
                    "differently"
                )


def _read(path: Path) -> tuple[str, Layout]:
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        check_document(document)
        record = document["record"]
        name = _identifier(record["name"])
        role = _role(record, name)
        sections = tuple(_section(entry, name) for entry in document["section"])
        layout = Layout(
            name=name,
            title=record["title"],
            type=int(record.get("type", -1)),
            subtypes=tuple(record.get("subtypes", ())),
            product=record.get("product", ""),
            sections=sections,
            path=path,
            handler=record.get("handler", ""),
            handled=tuple(_handled(entry, name, path) for entry in document.get("handled", ())),
        )
        _check(layout, role)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path}: not a TOML file: {error}; correct what stands there") from error
    except OSError as error:
        raise RegistryError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        line = line_of(text, str(error))
        raise RegistryError(f"{path}{f', line {line}' if line else ''}: {error}") from error
    return role, layout


def _role(record: dict[str, Any], name: str) -> str:
    """What a layout is for, besides SMF records: its role, or `ims:name` for records of the IMS log."""
    log = record.get("log", "")
    if log not in ("", "ims"):
        raise ValueError(f"log is {log!r}, expected 'ims' or nothing")
    return f"{IMS_ROLE}{name}" if log else record.get("role", "")


def _check_ims(layout: Layout) -> None:
    """A record of the IMS log: code and subcodes of one byte, one section that starts with the record."""
    if not all(0 <= code <= 255 for code in (layout.type, *layout.subtypes)):
        raise ValueError("type and subtypes of a log record are one byte each, 0x00 to 0xFF")
    if len(layout.sections) != 1 or not layout.header.is_header or layout.header.walk != "fixed":
        raise ValueError("a log record has one section, without a triplet")


def _section(entry: dict[str, Any], layout: str) -> Section:
    name = _identifier(entry["name"])
    fields = tuple(_field(line, name) for line in entry["fields"])
    triplet = None
    if "triplet" in entry:
        offset_width, length_width, count_width = entry.get("triplet_widths", (4, 2, 2))
        base = entry.get("offsets_from", "record")
        triplet = Triplet(int(entry["triplet"]), offset_width, length_width, count_width, base)
        if triplet.base not in ("record", "section"):
            raise ValueError(f"section {name}: offsets_from is {triplet.base!r}, expected 'record' or 'section'")
    walk = entry.get("walk", "fixed")
    if walk not in WALKS:
        raise ValueError(f"section {name}: walk is {walk!r}, expected one of {', '.join(WALKS)}")
    end = max(item.end for item in fields)
    section = Section(
        name=name,
        struct=entry.get("struct", ""),
        title=entry["title"],
        table=f"{layout}_{name}",
        fields=fields,
        bits=tuple(_bit(line, fields, name) for line in entry.get("bits", ())),
        length=int(entry.get("length", end)),
        triplet=triplet,
        walk=walk,
        cardinality=entry.get("cardinality", "many"),
        parent=entry.get("parent", ""),
        code=entry.get("code"),
        note=entry.get("note", ""),
    )
    if walk != "length_prefixed" and section.length < end:
        raise ValueError(f"section {name}: length {section.length} ends before its last field, which ends at {end}")
    _refuse_doubles(section)
    return section


def _handled(entry: dict[str, Any], layout: str, path: Path) -> Section:
    """A table that a handler yields: described like a section, or by a catalogue of self-describing fields."""
    if "catalogue" in entry:
        entry = {**entry, "fields": _catalogue_lines(path.parent / entry["catalogue"])}
    return _section(entry, layout)


def _catalogue_lines(path: Path) -> list[list[Any]]:
    """Field lines for a catalogue of CICS monitoring fields; places are those of a record that has them all."""
    lines: list[list[Any]] = []
    offset = 0
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, ibm, meaning = row["name"], row["column"].upper(), row["meaning"]
            length, kind, tail = int(row["length"]), row["type"], ["", row["confidence"]]
            if kind == "S":
                lines.append([f"{name}_us", ibm, offset, 8, "tod_duration", "", meaning, *tail])
                periods = f"Number of periods that {name}_us is the sum of."
                lines.append([f"{name}_periods", f"{ibm}#", offset + 8, 4, "uint", "", periods, *tail])
            else:
                form = {"A": "uint", "C": "ebcdic", "P": "packed", "T": "tod"}[kind]
                unit = "bytes" if name.endswith("_bytes") and kind == "A" else ""
                lines.append([name, ibm, offset, length, form, unit, meaning, *tail])
            offset += length
    return lines


def _field(line: list[Any], section: str) -> Field:
    name, ibm, offset, length, form, unit, meaning, since, confidence = line[:9]
    where = f"section {section}, field {ibm}"
    match = _FORMAT.match(form)
    if not match or match[1] not in FORMATS:
        raise ValueError(
            f"{where}: unknown format {form!r}; known are {', '.join(FORMATS)}, each with [count] if repeated"
        )
    kind = FORMATS[match[1]]
    if not kind.accepts(length):
        allowed = ", ".join(map(str, sorted(kind.lengths or ())))
        raise ValueError(f"{where}: format {kind.name} cannot have length {length}; it may have {allowed}")
    if confidence not in CONFIDENCES:
        raise ValueError(f"{where}: confidence {confidence!r}, expected one of {', '.join(CONFIDENCES)}")
    if not str(meaning).strip():
        raise ValueError(f"{where}: the meaning is empty")
    suffix = UNITS[unit].suffix if unit in UNITS else ""
    if not name.endswith(suffix):
        raise ValueError(f"{where}: unit {unit!r} asks for a name that ends with {suffix!r}, not {name!r}")
    when = _condition(line[9], where) if len(line) == 10 else None
    count, stride = int(match[2] or 1), int(match[3] or 0)
    if offset + max(stride, length) * count > 1 << 16:
        raise ValueError(f"{where}: ends beyond the 65,535 bytes that a record can have")
    if match[3] and stride < length:
        raise ValueError(f"{where}: repeated every {stride} bytes, although it has {length}")
    if count > 1 and kind.name in RAW_TYPES:
        raise ValueError(f"{where}: format {kind.name} cannot be repeated")
    return Field(_identifier(name), ibm, offset, length, kind, unit, meaning, since, confidence, count, when, stride)


def _condition(text: str, where: str) -> Condition:
    match = _CONDITION.match(text)
    if not match:
        raise ValueError(f"{where}: the condition is {text!r}, expected 'name = 1, 2' or 'name != 1, 2'")
    values = frozenset(int(value) for value in match[3].split(","))
    return Condition(_identifier(match[1]), values, match[2] == "!=")


def _bit(line: list[Any], fields: tuple[Field, ...], section: str) -> Bit:
    owner, bits, ibm, name, meaning = line
    first, _, last = str(bits).partition("-")
    item = next((item for item in fields if item.ibm == owner), None)
    if item is None:
        raise ValueError(f"section {section}, bit {ibm}: belongs to {owner}, which is not a field of the section")
    bit = Bit(owner, int(first), int(last or first), ibm, _identifier(name) if name else "", meaning)
    if not bit.first <= bit.last < item.length * 8:
        raise ValueError(f"section {section}, bit {ibm}: {bits} is outside {owner} of {item.length} bytes")
    return bit


def _refuse_doubles(section: Section) -> None:
    names = [item.name for item in section.fields] + [bit.name for bit in section.bits if bit.name]
    columns = [item.column for item in section.fields] + [item.raw[0] for item in section.fields if item.raw]
    for kind, values in (("name", names), ("column", columns)):
        doubles = {value for value in values if values.count(value) > 1}
        if doubles:
            raise ValueError(
                f"section {section.name}: {kind} {', '.join(sorted(doubles))} is used more than once; rename one"
            )
    for item in section.fields:
        if item.when and not any(other.name == item.when.selector and not other.when for other in section.fields):
            raise ValueError(f"section {section.name}, field {item.ibm}: depends on {item.when.selector}, not a field")
        last = section.fields[-1]
        if item.is_rest and (item is not last or (item.form.name != "bytes" and section.walk != "length_prefixed")):
            raise ValueError(f"section {section.name}, field {item.ibm}: has no length; only last fields of bytes may")
    before: list[Field] = []
    for item in sorted(section.fields, key=lambda item: item.offset):
        before = [other for other in before if other.end > item.offset]
        for other in before:
            if _meet(item, other) and not (item.when and other.when and item.when.excludes(other.when)):
                raise ValueError(
                    f"section {section.name}, field {item.ibm}: at offset {item.offset} it overlaps {other.ibm}, which "
                    f"stands at {other.offset} and takes {other.end - other.offset} bytes; correct one of them"
                )
        before.append(item)


def _meet(one: Field, other: Field) -> bool:
    """True if two fields share a byte; members of a repeated block stand in each other's gaps."""
    return not _places(one).isdisjoint(_places(other))


def _places(item: Field) -> set[int]:
    starts = (item.offset + number * item.stride for number in range(item.count))
    return {start + byte for start in starts for byte in range(item.length)}


def _check(layout: Layout, role: str) -> None:
    if role.startswith(IMS_ROLE):
        _check_ims(layout)
    if role:
        return
    if layout.handler not in HANDLERS:
        raise ValueError(f"[record]: there is no handler {layout.handler!r}; leave the entry out")
    if not 0 <= layout.type <= 2047:
        raise ValueError(f"record type {layout.type} is not between 0 and 2047")
    if layout.header.name != "header" or not layout.header.is_header:
        raise ValueError("the first section is the header, named 'header', without a triplet")
    missing = [name for name in HEADER_ROLES if not layout.header.has(name)]
    if missing:
        raise ValueError(
            f"section header lacks fields with the friendly names {', '.join(missing)}; every record has them at the "
            "same place, see docs/how-to-add-a-record-type.md"
        )
    for section in layout.sections[1:]:
        holder = layout.header
        if section.parent:
            parents = [other for other in layout.placed if other.name == section.parent and other.walk == "fixed"]
            if not parents:
                raise ValueError(f"section {section.name}: {section.parent} is no section that the header places")
            holder = parents[0]
        if section.walk == "chained":
            if not section.parent or section.triplet:
                raise ValueError(f"section {section.name}: a chained section has a parent and no triplet")
        elif section.triplet is None:
            raise ValueError(
                f"section {section.name} has no triplet; say with `triplet = N` where the {holder.name} holds its "
                "offset, length and number"
            )
        elif section.triplet.end > holder.length:
            raise ValueError(
                f"section {section.name}: its triplet ends at {section.triplet.end}, after the {holder.name} of "
                f"{holder.length} bytes; correct `triplet`, or the {holder.name}'s `length`"
            )
        elif section.triplet.base == "section" and not section.parent:
            raise ValueError(f"section {section.name}: offsets_from = 'section' needs a parent")


def _identifier(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"name {name!r} may only hold lower case letters, digits and underscores, a letter first")
    return name
