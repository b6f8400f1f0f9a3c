"""The shape of a layout file, checked before its meaning: entries, their types, and where in the file a fault is."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

_RECORD = {
    "name": str,
    "title": str,
    "type": int,
    "subtypes": list,
    "product": str,
    "when": str,
    "handler": str,
    "role": str,
    "log": str,
}
_SECTION = {
    "name": str,
    "title": str,
    "struct": str,
    "fields": list,
    "bits": list,
    "none": list,
    "length": int,
    "triplet": int,
    "triplet_widths": list,
    "offsets_from": str,
    "walk": str,
    "cardinality": str,
    "parent": str,
    "code": int,
    "note": str,
    "selected_by": str,
}
_HANDLED = {**_SECTION, "catalogue": str, **dict.fromkeys(("start", "size", "rows", "until", "flag"), str)}
_PART = {"fields": list, "bits": list, "none": list}
_INCLUDING = {**_PART, "include": str, "prefix": str, "confidence": str}
_TOP = {"record": dict, "section": list, "handled": list}
_FIELD = (
    ("friendly name", str),
    ("field name", str),
    ("offset", int),
    ("length", int),
    ("format", str),
    ("unit", str),
    ("meaning", str),
    ("release", str),
    ("confidence", str),
    ("condition", str),
)
_BIT = ("flag field", "bits", "bit name", "friendly name", "meaning")
_BITS = re.compile(r"\d{1,2}(-\d{1,2})?\Z")
_HEX = re.compile(r"[0-9A-F]{2,16}\Z")
_WORDS: Mapping[type, str] = {str: "text in quotes", int: "a whole number", list: "a list", dict: "a table"}


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ValueError, saying what to write, where a layout file's entries are not what they must be."""
    _entries("the file", document, _TOP, ("record", "section"))
    _entries("[record]", document["record"], _RECORD, ("name", "title"))
    if not all(_is(item, int) for item in document["record"].get("subtypes", ())):
        raise ValueError("[record]: subtypes is a list of whole numbers, such as [1, 2]")
    for kind, types, needed in (
        ("section", _SECTION, ("name", "title", "fields")),
        ("handled", _HANDLED, ("name", "title")),
    ):
        for number, entry in enumerate(document.get(kind, ()), start=1):
            if not isinstance(entry, dict):
                raise ValueError(f"{kind} {number} is no table; begin each with [[{kind}]]")
            name = entry.get("name", number)
            _entries(f"section {name}", entry, types, needed)
            _lines(f"section {name}", entry)


def check_including(where: str, entry: Mapping[str, Any]) -> None:
    """As :func:`check_document`, for a section's entries about the part it includes and for its list of lines."""
    _entries(where, {name: value for name, value in entry.items() if name in _INCLUDING}, _INCLUDING, ())


def check_part(where: str, part: Mapping[str, Any]) -> None:
    """As :func:`check_document` of a part that sections include."""
    _entries(where, part, _PART, ("fields",))
    _lines(where, part)


def line_of(text: str, message: str) -> int | None:
    """Line of a layout file, from 1, that a message about a field, a bit or a section is about; None if unknown."""
    named = re.search(r"(?:field|bit) ([^\s,:]+)", message)
    section = re.search(r"section (\w+)", message)
    patterns = [rf'"{re.escape(named[1])}"'] if named else []
    patterns += [rf'name *= *"{re.escape(section[1])}"'] if section else []
    first = re.search(patterns[-1], text) if section else None
    for pattern in patterns:
        match = re.compile(pattern).search(text, first.start() if first else 0) or re.search(pattern, text)
        if match:
            return text.count("\n", 0, match.start()) + 1
    return None


def _lines(where: str, entry: Mapping[str, Any]) -> None:
    for line in entry.get("fields", ()):
        _field(where, line)
    for line in entry.get("bits", ()):
        _bit(where, line)
    for line in entry.get("none", ()):
        _none(where, line)


def _entries(where: str, entry: Mapping[str, Any], types: Mapping[str, type], needed: Sequence[str]) -> None:
    for name in needed:
        if name not in entry:
            raise ValueError(f"{where} lacks the entry {name!r}")
    for name, value in entry.items():
        if name not in types:
            near = get_close_matches(name, types, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(types)}"
            raise ValueError(f"{where}: there is no entry {name!r}; {hint}")
        if not _is(value, types[name]):
            raise ValueError(f"{where}: {name} must be {_WORDS[types[name]]}, not {value!r}")
        if types[name] is int and value < 0:
            raise ValueError(f"{where}: {name} is {value}; it cannot be negative")


def _field(where: str, line: Any) -> None:
    shown = line[1] if isinstance(line, list) and len(line) > 1 else line
    where = f"{where}, field {shown}"
    if not isinstance(line, list) or len(line) not in (9, 10):
        count = len(line) if isinstance(line, list) else 0
        names = ", ".join(name for name, _ in _FIELD[:9])
        raise ValueError(
            f"{where}: a field line has nine entries ({names}) or, with a condition, ten; this has {count}"
        )
    for (name, kind), value in zip(_FIELD, line, strict=False):
        if not _is(value, kind):
            raise ValueError(f"{where}: the {name} must be {_WORDS[kind]}, not {value!r}")
        if kind is int and not 0 <= value < 1 << 16:
            raise ValueError(f"{where}: the {name} is {value}; it lies between 0 and 65,535")


def _bit(where: str, line: Any) -> None:
    if not isinstance(line, list) or len(line) != len(_BIT) or not all(_is(item, str) for item in line):
        raise ValueError(f"{where}: a line of bits has five texts in quotes ({', '.join(_BIT)}), not {line!r}")
    if not _BITS.match(line[1]):
        raise ValueError(f"{where}, bit {line[2]}: bits are written as '0' or '6-7', not {line[1]!r}")


def _none(where: str, line: Any) -> None:
    if not isinstance(line, list) or len(line) < 2 or not all(_is(item, str) for item in line):
        raise ValueError(f"{where}: a line of none has a field name and values in quotes, not {line!r}")
    for value in line[1:]:
        if not _HEX.match(value):
            raise ValueError(
                f"{where}, field {line[0]}: none has {value!r}; write hexadecimal digits, such as '7FFFFFFF'"
            )


def _is(value: Any, kind: type) -> bool:
    return type(value) is kind
