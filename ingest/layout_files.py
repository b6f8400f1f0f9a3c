"""One layout file read: TOML, checked, to the objects of `ingest.layout`.

docs/how-to-add-a-record-type.md says what stands in such a file.
"""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import tomli as tomllib

from ingest.field_types import FORMATS, UNITS
from ingest.layout import Bit, Condition, Field, Layout, Section, Triplet
from ingest.layout_checks import check_document, line_of
from ingest.layout_parts import expanded
from ingest.layout_places import place

CONFIDENCES = ("macro", "manual", "decoder", "inferred", "memory")
WALKS = ("fixed", "length_prefixed", "chained", "repeated")
LOGS = {"ims": 1, "dcollect": 2}
"""Files of records that are not SMF's, and how many bytes name the kind of a record."""
HANDLERS = ("", "cics_monitoring", "cics_statistics", "data_set_io", "volume_io", "following")
HEADER_ROLES = ("record_type", "smf_sid", "written_clock_us", "written_date")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_CONDITION = re.compile(r"(\w+) *(!?=) *(\d+(?: *, *\d+)*)\Z")
_FORMAT = re.compile(r"([a-z0-9_]+)(?:\[(\d+)(?:/(\d+))?\])?\Z")


class RegistryError(ValueError):
    """A layout file that cannot be used. The message names the file, the entry and what was expected."""

    exit_code = 3


def read_head(path: Path) -> Mapping[str, Any]:
    """The entries of `[record]`, which stand before the sections: of which record a layout is, without the layout."""
    with path.open(encoding="utf-8") as lines:
        return tomllib.loads("".join(takewhile(lambda line: not line.startswith("[["), lines)))["record"]


def read_layout(path: Path) -> tuple[str, Layout]:
    """The layout in a file, and before it what it is for besides SMF records. Raises RegistryError."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        for kind in ("section", "handled"):
            if isinstance(document.get(kind), list):
                document[kind] = [
                    expanded(entry, path.parent) if isinstance(entry, dict) else entry for entry in document[kind]
                ]
        check_document(document)
        record = document["record"]
        name = _identifier(record["name"])
        role = role_of(record)
        sections = tuple(_section(entry, name) for entry in document["section"])
        layout = Layout(
            name=name,
            title=record["title"],
            type=int(record.get("type", -1)),
            subtypes=tuple(record.get("subtypes", ())),
            product=record.get("product", ""),
            sections=sections,
            path=path,
            when=_condition(record["when"], "[record]") if "when" in record else None,
            handler=record.get("handler", ""),
            handled=tuple(_handled(entry, name, path, sections[0]) for entry in document.get("handled", ())),
        )
        _check(layout, role)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryError(f"{path}: not a TOML file: {error}; correct what stands there") from error
    except OSError as error:
        raise RegistryError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        line = line_of(text, str(error))
        raise RegistryError(f"{path}{f', line {line}' if line else ''}: {error}") from error
    return role, layout


def role_of(record: Mapping[str, Any]) -> str:
    """Role of a layout that is not of SMF records, or `ims:name` for a record of the IMS log."""
    log = record.get("log", "")
    if log not in ("", *LOGS):
        raise ValueError(f"log is {log!r}, expected {', '.join(map(repr, LOGS))} or nothing")
    return f"{log}:{record['name']}" if log else record.get("role", "")


def _check_logged(layout: Layout, log: str) -> None:
    """A record that is not SMF's: a code of its file's width, subcodes of one byte, one section from its start on."""
    if not (0 <= layout.type < 256 ** LOGS[log] and all(0 <= code <= 255 for code in layout.subtypes)):
        raise ValueError(f"type of a record of log {log!r} is {LOGS[log]} byte(s), subtypes are one byte each")
    if len(layout.sections) != 1 or not layout.header.is_header or layout.header.walk != "fixed":
        raise ValueError("a log record has one section, without a triplet")


def _section(entry: dict[str, Any], layout: str) -> Section:
    name = _identifier(entry["name"])
    fields = tuple(_field(line, name) for line in entry["fields"])
    if not fields:
        raise ValueError(f"section {name}: has no fields; describe one at least")
    fields = _with_none(fields, entry.get("none", ()), name)
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
    entries = 0
    if walk == "repeated":
        entries, fields = _entries(fields, name)
    else:
        _refuse_steps(fields, name)
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
        entries=entries,
        note=entry.get("note", ""),
        selected_by=_selected_by(entry, name),
    )
    if walk != "length_prefixed" and section.length < end:
        raise ValueError(f"section {name}: length {section.length} ends before its last field, which ends at {end}")
    _refuse_doubles(section)
    return section


def _entries(fields: tuple[Field, ...], name: str) -> tuple[int, tuple[Field, ...]]:
    """How many entries a repeated section has in each row of its parent, and the fields of one."""
    counts = {item.count for item in fields}
    if len(counts) > 1 or counts == {1}:
        numbers = ", ".join(map(str, sorted(counts)))
        raise ValueError(f"section {name}: fields of a repeated section have one [count], 2 or more, not {numbers}")
    for item in fields:
        if item.when or item.is_rest:
            raise ValueError(f"section {name}, field {item.ibm}: a repeated section has no conditions and no rest")
    return counts.pop(), tuple(replace(item, count=1, stride=item.stride or item.length) for item in fields)


def _refuse_steps(fields: tuple[Field, ...], name: str) -> None:
    for item in fields:
        if item.stride:
            raise ValueError(
                f"section {name}, field {item.ibm}: values {item.stride} bytes apart are for a section with walk = "
                "'repeated'"
            )
        if item.count > 1 and item.raw:
            raise ValueError(f"section {name}, field {item.ibm}: format {item.form.name} cannot be repeated")


def _selected_by(entry: dict[str, Any], name: str) -> tuple[str, str] | None:
    if "selected_by" not in entry:
        return None
    section, dot, item = entry["selected_by"].partition(".")
    if not dot:
        raise ValueError(f"section {name}: selected_by is {entry['selected_by']!r}, expected 'section.field'")
    return section, item


def _handled(entry: dict[str, Any], layout: str, path: Path, header: Section) -> Section:
    """A table that a handler yields: described like a section, or by a catalogue of self-describing fields."""
    if "catalogue" in entry:
        entry = {**entry, "fields": _catalogue_lines(path.parent / entry["catalogue"])}
    section = _section(entry, layout)
    if section.entries:
        raise ValueError(f"section {section.name}: a table that code makes has no walk 'repeated'")
    return replace(section, place=place(entry, section, header))


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
    return Field(_identifier(name), ibm, offset, length, kind, unit, meaning, since, confidence, count, when, stride)


def _with_none(fields: tuple[Field, ...], lines: list[list[str]], section: str) -> tuple[Field, ...]:
    """The fields, with the numbers that stand for no value."""
    none: dict[str, tuple[int, ...]] = {}
    for ibm, *digits in lines:
        item = next((item for item in fields if item.ibm == ibm), None)
        if item is None or item.form.name not in ("uint", "int"):
            raise ValueError(
                f"section {section}, field {ibm}: none names no field of the section of format uint or int"
            )
        values = [int(text, 16) for text in digits]
        if max(values) >> 8 * item.length:
            raise ValueError(f"section {section}, field {ibm}: none has a value of more than {item.length} bytes")
        sign = 1 << 8 * item.length - 1 if item.form.name == "int" else 0
        none[ibm] = tuple((value ^ sign) - sign for value in values)
    return tuple(replace(item, none=none[item.ibm]) if item.ibm in none else item for item in fields)


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
        doubles = {value for value, count in Counter(values).items() if count > 1}
        if doubles:
            raise ValueError(
                f"section {section.name}: {kind} {', '.join(sorted(doubles))} is used more than once; rename one"
            )
    selectors = {item.name for item in section.fields if not item.when}
    last = section.fields[-1]
    for item in section.fields:
        if item.when and not section.selected_by and item.when.selector not in selectors:
            raise ValueError(f"section {section.name}, field {item.ibm}: depends on {item.when.selector}, not a field")
        if item.is_rest and (item is not last or (item.form.name != "bytes" and section.walk != "length_prefixed")):
            raise ValueError(f"section {section.name}, field {item.ibm}: has no length; only last fields of bytes may")
    before: list[tuple[Field, int]] = []
    for item in sorted(section.fields, key=lambda item: item.offset):
        # Fields of a repeated section stand in each other's gaps.
        before = [other for other in before if section.entries or other[0].end > item.offset]
        places = _places(item, section.entries)
        for other, taken in before:
            apart = item.when and other.when and item.when.excludes(other.when)
            if places & taken and not apart:
                raise ValueError(
                    f"section {section.name}, field {item.ibm}: at offset {item.offset} it overlaps {other.ibm}, which "
                    f"stands at {other.offset} and takes {other.end - other.offset} bytes; correct one of them"
                )
        before.append((item, places))


def _places(item: Field, entries: int) -> int:
    """The bytes of a field in its section, or in all entries of a repeated one: a bit for each."""
    first = (1 << item.end) - (1 << item.offset)
    taken = first
    for entry in range(1, entries):
        taken |= first << entry * item.stride
    return taken


def _check(layout: Layout, role: str) -> None:
    log = role.partition(":")[0]
    if log in LOGS:
        _check_logged(layout, log)
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
    if layout.when and not (
        layout.header.has(layout.when.selector) and layout.header.by_name(layout.when.selector).form.name == "uint"
    ):
        raise ValueError(f"[record]: when names {layout.when.selector}, which is no field of the header of format uint")
    for position, section in enumerate(layout.sections[1:], start=1):
        holder = layout.header
        if section.parent:
            before = layout.sections[1:position]
            parents = [other for other in before if other.name == section.parent and other.walk == "fixed"]
            if not parents:
                raise ValueError(f"section {section.name}: {section.parent} is no section of fixed rows before it")
            holder = parents[0]
        if section.walk == "chained":
            if not section.parent or section.triplet:
                raise ValueError(f"section {section.name}: a chained section has a parent and no triplet")
        elif section.entries:
            _check_repeated(section, holder, before)
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
        if section.selected_by:
            _check_selection(layout, section, *section.selected_by)


def _check_repeated(section: Section, holder: Section, before: Sequence[Section]) -> None:
    """Entries stand inside the rows of their parent, where nothing else does."""
    if not section.parent or section.triplet:
        raise ValueError(f"section {section.name}: a repeated section has a parent and no triplet")
    end = max(item.end + item.stride * (section.entries - 1) for item in section.fields)
    if end > holder.length:
        raise ValueError(
            f"section {section.name}: its entries end at {end}, after the {holder.name} of {holder.length} bytes; "
            f"correct their places, or the {holder.name}'s `length`"
        )
    others = [other for other in before if other.entries and other.parent == holder.name]
    taken = 0
    for other in (holder, *others):
        for item in other.fields:
            taken |= _places(item, other.entries)
    for item in section.fields:
        if taken & _places(item, section.entries):
            raise ValueError(f"section {section.name}, field {item.ibm}: its entries overlap fields of {holder.name}")


def _check_selection(layout: Layout, section: Section, other: str, index: str) -> None:
    """The section that selects rows of another is placed before it, and has the fields that select."""
    before = [item for item in layout.placed if item.name == other]
    if not before or not before[0].triplet or not section.triplet:
        raise ValueError(f"section {section.name}: selected_by names {other}, no section that the header places")
    missing = [name for name in (index, *sorted(section.selectors_elsewhere)) if not before[0].has(name)]
    if missing or before[0].triplet.position > section.triplet.position:
        fault = f"has no field {missing[0]}" if missing else "is placed after it"
        raise ValueError(f"section {section.name}: selected_by names {other}, which {fault}")


def _identifier(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"name {name!r} may only hold lower case letters, digits and underscores, a letter first")
    return name
