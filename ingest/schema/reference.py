"""The field reference: one page per record type, made from the registry."""

from pathlib import Path

from ingest.field_types import FORMATS, UNITS
from ingest.layout import Field, Layout, Place, Section, Sum
from ingest.registry import Registry
from ingest.schema import staging

FOLDER = Path("docs/field-reference")
NOTE = "<!-- Generated from ingest/layouts by `python -m ingest.schema --write`; do not edit. -->\n"

_CONFIDENCE = {
    "macro": "generated from the mapping macros",
    "manual": "from a manual page",
    "decoder": "from a working decoder",
    "inferred": "inferred from neighbouring fields or data: no key figure depends on it",
    "memory": "from memory: no key figure depends on it",
}


def files(registry: Registry) -> dict[Path, str]:
    """Path from the project root → content, for every page of the field reference."""
    pages = {FOLDER / f"{layout.name}.md": _page(layout) for layout in registry.layouts}
    pages[FOLDER / "README.md"] = _index(registry)
    return pages


def _index(registry: Registry) -> str:
    lines = [NOTE, "# Field reference", "", "Every record type that Etalon decodes, section by section.", ""]
    lines += ["| record | tables | fields | page |", "|---|---|---|---|"]
    for layout in registry.layouts:
        tables = (*layout.sections, *layout.handled)
        count = sum(len(section.fields) for section in tables)
        lines.append(f"| {layout.title} | {len(tables)} | {count} | [{layout.name}]({layout.name}.md) |")
    lines += ["", "## Formats", "", "| format | raw type | meaning |", "|---|---|---|"]
    for form in FORMATS.values():
        kinds = {form.duckdb(length): None for length in sorted(form.lengths or {8})}
        lines.append(f"| `{form.name}` | {', '.join(kinds)} | {form.meaning} |")
    lines += ["", "## Units", "", "| unit of the record | unit in staging | factor |", "|---|---|---|"]
    lines += [f"| {unit.name} | {unit.staging} | {unit.factor:g} |" for unit in UNITS.values()]
    lines += ["", "## How far a field is to be trusted", ""]
    lines += [f"- **{word}**: {text}." for word, text in _CONFIDENCE.items()]
    return "\n".join(lines) + "\n"


def _page(layout: Layout) -> str:
    lines = [NOTE, f"# {layout.title}", ""]
    for section in layout.sections:
        lines += _section(section, _place(section))
    for section in layout.handled:
        lines += _section(section, _handled_place(section))
    return "\n".join(lines) + "\n"


def _section(section: Section, place: str) -> list[str]:
    lines = [f"## {section.title} ({section.struct})", ""]
    where = f"Raw table `raw.{section.table}`, staging view `staging.{staging.view_name(section)}`; {place}."
    lines += [where, ""]
    if section.note:
        lines += [section.note, ""]
    lines += ["| raw column | staging column | offset | length | format | unit | meaning | since | trust |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    lines += [_row(item) for item in section.fields]
    if section.bits:
        lines += ["", "| flag | bit | IBM name | staging column | meaning |", "|---|---|---|---|---|"]
        for bit in section.bits:
            place = str(bit.first) if bit.first == bit.last else f"{bit.first}-{bit.last}"
            lines.append(f"| `{bit.field.lower()}` | {place} | {bit.ibm} | {_code(bit.name)} | {bit.meaning} |")
    return [*lines, ""]


def _place(section: Section) -> str:
    part = section.triplet
    if section.entries:
        return (
            f"{section.entries} entries in each row of `{section.parent}` (`parent_seq`), numbered from 0 "
            "(`entry_seq`); an entry of zeros alone has no row; offsets are those of the first"
        )
    if part is None:
        kind = "of other types" if section.code is None else f"of type {section.code}"
        chain = f"entries {kind} in the chain that follows `{section.parent}` (`parent_seq`), each with its own length"
        return chain if section.parent else "at the start of the record"
    if section.parent:
        base = "that section's start" if part.base == "section" else "the start of the record"
        return f"triplet at offset {part.position} of `{section.parent}` (`parent_seq`), counting from {base}"
    return f"triplet at offset {part.position}"


def _handled_place(section: Section) -> str:
    """Where the rows of a table come from that code makes, not a triplet of the header."""
    if section.place:
        return _followed(section.place)
    if section.code is not None:
        return f"records of the data section with the number {section.code}"
    return f"entries of `{section.parent}` (`parent_seq`)" if section.parent else "made of the data section"


def _followed(place: Place) -> str:
    """Where a section stands that follows others, and how many rows it has."""
    start = f"at offset {_in_words(place.start)}" if place.start else "behind the section before"
    rows = f"{_in_words(place.rows)} of them" if place.rows else "as many as there is room for"
    rows = "one" if place.rows == Sum(1, None) else rows
    room = f" before offset {_in_words(place.until)}" if place.until else ""
    size = f", {_in_words(place.size)} bytes each" if place.size else ", up to the end of the record"
    return f"{start}, {rows}{room}{size}" + (f", where {place.flag.ibm} is set" if place.flag else "")


def _in_words(number: Sum) -> str:
    parts = [str(number.constant)] if number.constant or number.field is None else []
    return " + ".join([*parts, *([f"`{number.field.column}`"] if number.field else [])])


def _row(item: Field) -> str:
    form = item.form.name + (f"[{item.count}]" if item.count > 1 else "")
    form += f", every {item.stride}" if item.stride else ""
    length = str(item.length) if item.length else "rest"
    trust = f"**{item.confidence}**" if item.confidence in staging.DOUBTFUL else item.confidence
    cells = [
        _code(item.column),
        _code(item.name),
        str(item.offset),
        length,
        form,
        item.unit,
        item.meaning
        + (f" Only where {_condition(item)}." if item.when else "")
        + (f" {staging.none_of(item)}: none." if item.none else ""),
        item.since,
        trust,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _condition(item: Field) -> str:
    assert item.when is not None
    values = ", ".join(str(value) for value in sorted(item.when.values))
    return f"`{item.when.selector}` is {'not ' if item.when.negated else ''}{values}"


def _code(name: str) -> str:
    return f"`{name}`" if name else ""
