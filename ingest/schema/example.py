"""A section of docs/hex-examples.md for one record: its bytes, and a line for each field with what it decodes to."""

from collections.abc import Iterator

import pyarrow as pa

from ingest.formats.smf import decode_batches
from ingest.framing import FramingError
from ingest.layout import Layout, Section
from ingest.registry import Registry

LONGEST = 16
"""Bytes of a field that a line shows; the others are cut."""
WORDS = 8
"""Groups of four bytes in a line of the record."""


class ExampleError(ValueError):
    """A record that no layout decodes whole."""


def example(record: bytes, registry: Registry) -> str:
    """The section of the page for a record, to be compared with the record by hand.

    Fields of the header and of sections with a triplet in the header have lines, unless their bytes are zero or their
    text is blank. Fields of nested sections and of sections that follow one another have none: write these by hand.

    Parameters
    ----------
    record : one SMF record with its descriptor word.
    registry : the layouts.

    Raises
    ------
    ExampleError
        The bytes are not one record, or part of it is skipped or quarantined.
    """
    try:
        batches = list(decode_batches(record, registry))
    except FramingError as error:
        raise ExampleError(f"the bytes are not one record: {error}") from None
    tables = batches[0].tables if len(batches) == 1 else {}
    layout = next((one for one in registry.layouts if one.header.table in tables), None)
    if layout is None or batches[0].quarantined or tables[layout.header.table].num_rows != 1:
        raise ExampleError("the bytes are not one record that a layout decodes whole; `etalon decode FILE` says why")
    words = [record[at : at + 4].hex().upper() for at in range(0, len(record), 4)]
    lines = [" ".join(words[at : at + WORDS]) for at in range(0, len(words), WORDS)]
    heading = ["| table | raw column | at | length | bytes | value |", "|---|---|---|---|---|---|"]
    rows = [line for section in layout.sections for line in _rows(section, layout, record, tables)]
    return "\n".join([f"## {layout.name}: {layout.title}", "", "```hex", *lines, "```", "", *heading, *rows, ""])


def _rows(section: Section, layout: Layout, record: bytes, tables: dict[str, pa.Table]) -> Iterator[str]:
    table = tables.get(section.table)
    if table is None:
        return
    for number, at in enumerate(_starts(section, layout, record)):
        for field in section.fields:
            value = table[field.column][number].as_py()
            length = field.length * field.count
            place = record[at + field.offset : at + field.offset + length]
            if value in (None, "") or field.is_rest or not any(place):
                continue
            shown = place[:LONGEST].hex().upper() + ("…" if len(place) > LONGEST else "")
            text = value.hex() if isinstance(value, bytes) else str(value)
            yield f"| `{section.table}` | `{field.column}` | {at + field.offset} | {length} | `{shown}` | {text} |"


def _starts(section: Section, layout: Layout, record: bytes) -> list[int]:
    """Offsets of the rows of a section."""
    if section is layout.header:
        return [0]
    triplet = section.triplet
    if triplet is None or section.parent or section.walk != "fixed":
        return []
    widths = (triplet.offset_width, triplet.length_width, triplet.count_width)
    numbers, at = [], triplet.position
    for width in widths:
        numbers.append(int.from_bytes(record[at : at + width], "big"))
        at += width
    return [numbers[0] + row * numbers[1] for row in range(numbers[2])]
