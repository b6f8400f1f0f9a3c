"""Assembly listings of DSECTs into layout files: an installation's macros give the offsets of its fields.

Source: listings of the High Level Assembler, whose heading names the columns: `Loc`, `Stmt` and `Source Statement`.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ingest.field_types import FORMATS
from ingest.layout import Layout, Section

_HEADING = re.compile(r"\bLoc\b.*\bStmt\b.*\bSource Statement\b")
_LOCATION = re.compile(r"^.?([0-9A-F]{6}(?:[0-9A-F]{2})?)(?= )")
_OPERAND = re.compile(r"(\d*)(FD|AD|VD|[EDL][HBD]|[A-Z])(?:L(\d+))?(?=['(,]|$)")
_NATURAL = {
    "F": 4, "H": 2, "FD": 8, "A": 4, "AD": 8, "V": 4, "VD": 8, "Y": 2, "S": 2, "C": 1, "X": 1, "B": 1, "P": 1, "Z": 1,
    "D": 8, "E": 4, "L": 16,
}  # fmt: skip
_FORMATS = {**dict.fromkeys(("F", "H", "FD", "A", "AD", "Y"), "uint"), "C": "ebcdic", "P": "packed"}
_FLAG = re.compile(r"(?:X'([0-9A-F]{2})'|B'([01]{8})')")
_SOURCE_COLUMNS = 71
"""Of a source statement; a mark of continuation and a number follow."""


class ListingError(ValueError):
    """A listing of which no layout can be made. The message says what is missing and what to do."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a DSECT: offset, bytes of a value, how many follow one another, format and remark."""

    name: str
    offset: int
    length: int
    count: int
    form: str
    remark: str

    @property
    def end(self) -> int:
        """First offset after the field."""
        return self.offset + self.length * self.count


@dataclass(slots=True)
class Dsect:
    """A DSECT: its fields in their order, none of which overlap, and their bits (field, bit, name, remark)."""

    name: str
    places: list[Place] = field(default_factory=list)
    bits: list[tuple[str, int, str, str]] = field(default_factory=list)


def read_listing(text: str) -> list[Dsect]:
    """The DSECTs of a listing that have fields. Raises ListingError.

    Fields without a name, and those that lay others out anew, are left out. A constant (EQU) with one bit after a field
    of one byte is a bit of it.
    """
    dsects: list[Dsect] = []
    for location, label, operation, operands, remark in _statements(text):
        if operation == "DSECT":
            dsects.append(Dsect(label))
        elif operation == "CSECT":
            dsects.append(Dsect(""))
        elif dsects and operation in ("DS", "DC") and location is not None and label:
            place = _place(label, location, operands, remark)
            if place is not None and (not dsects[-1].places or place.offset >= dsects[-1].places[-1].end):
                dsects[-1].places.append(place)
        elif dsects and dsects[-1].places and operation == "EQU" and label:
            last, flag = dsects[-1].places[-1], _FLAG.fullmatch(operands)
            value = int(flag[1], 16) if flag and flag[1] else int(flag[2], 2) if flag else 0
            if last.form == "flags" and value.bit_count() == 1:
                dsects[-1].bits.append((last.name, 8 - value.bit_length(), label, remark))
    dsects = [each for each in dsects if each.name and each.places]
    if not dsects:
        raise ListingError("the listing has no DSECT with fields; assemble the macro with PRINT GEN and LIST")
    return dsects


def _statements(text: str) -> Iterator[tuple[int | None, str, str, str, str]]:
    """Location, label, operation, operands and remark of each statement."""
    window: tuple[int, int] | None = None
    for line in text.splitlines():
        heading = _HEADING.search(line)
        if heading:
            at = line.index("Stmt", heading.start())
            window = at - 2, at + len("Stmt") + 1
            continue
        if window is None:
            continue
        number = next((each for each in re.finditer(r"\d+", line) if window[0] < each.end() <= window[1]), None)
        if number is None:
            continue
        source = line[number.end() + 1 :][:_SOURCE_COLUMNS]
        if not source.strip() or source.startswith(("*", ".*")):
            continue
        location = _LOCATION.match(line[: number.start()])
        label, _, rest = ("", "", source) if source[0] == " " else source.partition(" ")
        operation, _, rest = rest.strip().partition(" ")
        operands, remark = _operands(rest.strip())
        yield int(location[1], 16) if location else None, label, operation, operands, remark
    if window is None:
        raise ListingError(
            "no heading with Loc, Stmt and Source Statement: name the listing of an assembly, not its source"
        )


def _operands(text: str) -> tuple[str, str]:
    """The operands of a statement and its remark; blanks within quotes belong to an operand."""
    end = re.match(r"(?:'[^']*'|[^\s'])*", text)
    assert end is not None
    return end[0], " ".join(text[end.end() :].split())


def _place(label: str, location: int, operands: str, remark: str) -> Place | None:
    """The field of a statement; None if it has no bytes or several operands."""
    match = _OPERAND.match(operands)
    if match is None or "," in re.sub(r"'[^']*'", "", operands):
        return None
    count, kind = int(match[1] or 1), match[2]
    length = int(match[3] or _NATURAL.get(kind, 0))
    if not count or not length:
        return None
    form = "flags" if kind in ("X", "B") and length == 1 and count == 1 else _FORMATS.get(kind, "bytes")
    if kind in ("EH", "DH"):
        form, length = "hfp", 4 if kind == "EH" else 8
    if not FORMATS[form].accepts(length):
        form = "bytes"
    if kind in ("C", "X") and not match[3] and count > 1:  # Characters that follow one another are one text.
        length, count = count, 1
    return Place(label, location, length, count, form, remark)


def extended(layout: Layout, section: Section, dsect: Dsect, origin: str) -> str:
    """The file of a layout with the fields of a DSECT that stand behind those that its section describes.

    origin: where the fields come from, which the section's note says. Raises ListingError where there are none.
    """
    described = max((item.end for item in section.fields if not item.is_rest), default=0)
    further = [place for place in dsect.places if place.offset >= described]
    if not further:
        raise ListingError(f"{dsect.name} has no field beyond the {described} bytes that {section.table} describes")
    text = layout.path.read_text(encoding="utf-8")
    blocks = re.split(r"(?m)^(?=\[\[)", text)
    number = next(n for n, block in enumerate(blocks) if re.search(rf'(?m)^name = "{section.name}"$', block))
    block, end = blocks[number], further[-1].end
    lines = _field_lines(further, {item.name for item in section.fields}, dsect.name)
    rest = section.rest
    if rest is None:
        block = re.sub(r"(?ms)^(fields = \[\n.*?)^\]$", lambda match: match[1] + lines + "]", block, count=1)
    else:
        place = rf'(?m)^(  \["{rest.name}", "{re.escape(rest.ibm)}", )\d+(, 0, .*\n)'
        block = re.sub(place, lambda match: f"{lines}{match[1]}{end}{match[2]}", block, count=1)
    block = re.sub(r"(?m)^length = \d+$", f"length = {end}", block, count=1)
    block = _with_bits(block, _bit_lines(dsect, further))
    note = f"From byte {further[0].offset} on: {origin}."
    if re.search(r'(?m)^note = "', block):
        block = re.sub(r'(?m)^(note = ".*)"$', lambda match: f'{match[1]} {note}"', block, count=1)
    else:
        block = re.sub(r"(?m)^fields = \[$", lambda match: f"note = {json.dumps(note)}\n{match[0]}", block, count=1)
    return "".join([*blocks[:number], block, *blocks[number + 1 :]])


def new_layout(dsect: Dsect, record_type: int, subtypes: Sequence[int], triplet: int, origin: str) -> str:
    """A layout file for records of a type whose header has, at `triplet`, offset, length and number of a DSECT."""
    name = "_".join([f"smf{record_type}", *map(str, subtypes)])
    of = f" subtype {', '.join(map(str, subtypes))}" if subtypes else ""
    struct, part = dsect.name, _identifier(dsect.name)
    head = [
        f'  ["{part}_offset", "{struct}_O", {triplet}, 4, "uint", "", "Offset of {struct}.", "", "memory"],',
        f'  ["{part}_length", "{struct}_L", {triplet + 4}, 2, "uint", "", "Length of one {struct}.", "", "memory"],',
        f'  ["{part}_count", "{struct}_N", {triplet + 6}, 2, "uint", "", "Number of {struct}.", "", "memory"],',
    ]
    bits = _bit_lines(dsect, dsect.places)
    return "\n".join(
        [
            "[record]",
            f"type = {record_type}",
            *([f"subtypes = {list(subtypes)}"] if subtypes else []),
            f'name = "{name}"',
            f'title = "SMF {record_type}{of}: {struct}"',
            "",
            "[[section]]",
            'name = "header"',
            'title = "header and self-defining section"',
            f"length = {triplet + 8}",
            'include = "smf_header_with_subtype"',
            f'prefix = "SMF{record_type}"',
            "fields = [",
            *head,
            "]",
            "",
            "[[section]]",
            f'name = "{part}"',
            f'struct = "{struct}"',
            f'title = "{struct}"',
            f"triplet = {triplet}",
            f"length = {dsect.places[-1].end}",
            f"note = {json.dumps(f'Source: {origin}.')}",
            "fields = [",
            _field_lines(dsect.places, set(), struct) + "]",
            *([f"bits = [\n{bits}]"] if bits else []),
            "",
        ]
    )


def origin_of(path: Path) -> str:
    """A file as the source of fields: its name and the digest of its bytes."""
    return f"assembly listing {path.name}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _field_lines(places: Sequence[Place], taken: set[str], dsect: str) -> str:
    lines = []
    for place in places:
        name = _identifier(place.name)
        while name in taken:
            name += "_"
        taken.add(name)
        form = f"{place.form}[{place.count}]" if place.count > 1 else place.form
        meaning = place.remark or f"Field {place.name} of {dsect}."
        entries = [name, place.name, place.offset, place.length, form, "", meaning, "", "macro"]
        lines.append(f"  {json.dumps(entries, ensure_ascii=False)},\n")
    return "".join(lines)


def _bit_lines(dsect: Dsect, places: Sequence[Place]) -> str:
    names = {place.name for place in places}
    return "".join(
        f"  {json.dumps([flag, str(bit), name, '', remark or f'Bit {name} of {flag}.'], ensure_ascii=False)},\n"
        for flag, bit, name, remark in dsect.bits
        if flag in names
    )


def _with_bits(block: str, lines: str) -> str:
    if not lines:
        return block
    if re.search(r"(?m)^bits = \[$", block):
        return re.sub(r"(?ms)^(bits = \[\n.*?)^\]$", lambda match: f"{match[1]}{lines}]", block, count=1)
    return f"{block.rstrip()}\nbits = [\n{lines}]\n\n"


def _identifier(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())
    return plain if plain[0].isalpha() else f"f{plain}"
