"""Where sections of records without triplets stand, as a layout file says it."""

import re
from collections.abc import Mapping
from typing import Any

from ingest.layout import Field, Place, Section, Sum

_SUM = re.compile(r"(?:(\d+)(?: *\+ *(\w+))?|(\w+))\Z")


def place(entry: Mapping[str, Any], section: Section, header: Section) -> Place | None:
    """The place of a section by its entries `start`, `size`, `rows`, `until` and `flag`; None if it has none of them.

    Sums name fields by their IBM names: of the header, or in `size` of the section. Raises ValueError.
    """
    if not {"start", "size", "rows", "until", "flag"} & entry.keys():
        return None
    section_fields = {item.ibm: item for item in section.fields}
    header_fields = {item.ibm: item for item in header.fields}
    flag = None
    if "flag" in entry:
        flag = next((bit for bit in header.bits if bit.ibm == entry["flag"]), None)
        if flag is None:
            raise ValueError(f"section {section.name}: flag names {entry['flag']}, no bit of the header")
    return Place(
        start=_sum(entry, "start", section.name, header_fields),
        size=_sum(entry, "size", section.name, header_fields | section_fields),
        rows=_sum(entry, "rows", section.name, header_fields),
        until=_sum(entry, "until", section.name, header_fields),
        flag=flag,
    )


def _sum(entry: Mapping[str, Any], name: str, section: str, fields: Mapping[str, Field]) -> Sum | None:
    if name not in entry:
        return None
    match = _SUM.match(entry[name])
    if not match:
        raise ValueError(f"section {section}: {name} is {entry[name]!r}, expected '24', 'FIELD' or '24 + FIELD'")
    word = match[2] or match[3]
    item = fields.get(word) if word else None
    if word and (item is None or item.form.name != "uint"):
        raise ValueError(f"section {section}: {name} names {word}, no field of format uint that it can tell from")
    return Sum(int(match[1] or 0), item)
