"""Rows of CICS performance records: their fields are those that the connectors name, in this order."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arrays import of_numbers, of_values
from ingest.codec.codepages import decoding_table
from ingest.formats.cics import catalogue, kernels
from ingest.formats.cics.dictionary import Dictionary, Entry


@dataclass(frozen=True)
class Place:
    """A field of a data record: its offset, its dictionary entry, and its field in the catalogue."""

    offset: int
    entry: Entry
    field: catalogue.Field | None


def places_of(dictionary: Dictionary, connectors: list[int], record_length: int, is_guess: bool) -> list[Place] | str:
    """Where the fields of a record stand; a text where connectors and dictionary do not fit.

    A dictionary of another start of the region must fit to the byte: it may have been made for other fields.
    """
    other = (
        ("; the available dictionary is from another start of the region: supply the dictionary of this start")
        if is_guess
        else ""
    )
    places: list[Place] = []
    offset = 0
    for connector in connectors:
        entry = dictionary.entries.get(connector)
        if entry is None:
            return f"connector {connector} is not in the region's dictionary{other}"
        field = catalogue.find(entry.group, entry.id, entry.nickname)
        if field and not field.accepts(entry.type, entry.length):
            field = None
        places.append(Place(offset, entry, field))
        offset += entry.length
    if offset > record_length or (is_guess and offset != record_length):
        return f"the connectors have {offset} bytes of fields, SMFMNDRL is {record_length}{other}"
    return places


_KIND = {
    ("A", 4): kernels.COUNT4,
    ("A", 8): kernels.COUNT8,
    ("S", 12): kernels.CLOCK12,
    ("S", 8): kernels.CLOCK8,
    ("T", 8): kernels.STORE_CLOCK,
}


def performance_table(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], keys: list[pa.Array], places: list[Place]
) -> pa.Table:
    """Known fields of the data records at `row`, a column each; keys: the columns that name the records."""
    fields = [(place, place.field) for place in places if place.field is not None]
    columns = _numeric_columns(buffer, row, [one for one in fields if one[0].entry.type != "C"])
    columns |= _text_columns(buffer, row, [one for one in fields if one[0].entry.type == "C"])
    schema = catalogue.section("performance").schema
    arrays = list(keys)
    for column in list(schema)[len(keys) :]:
        arrays.append(columns.get(column.name) if column.name in columns else pa.nulls(row.size, column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _numeric_columns(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], fields: list[tuple[Place, catalogue.Field]]
) -> dict[str, pa.Array]:
    """Counts, clocks, store clocks and packed numbers by the names of their columns."""
    slot4, slot8, kinds = [], [], []
    used4 = used8 = 0
    for place, _ in fields:
        kind = kernels.PACKED if place.entry.type == "P" else _KIND[place.entry.type, place.entry.length]
        kinds.append(kind)
        slot4.append(used4)
        slot8.append(used8)
        used4 += kind in (kernels.COUNT4, kernels.CLOCK12, kernels.CLOCK8)
        used8 += {kernels.COUNT4: 0, kernels.STORE_CLOCK: 2}.get(kind, 1)
    out4 = np.empty((used4, row.size), np.uint32)
    out8 = np.empty((used8, row.size), np.uint64)
    offsets, lengths = _numbers([one.offset for one, _ in fields]), _numbers([one.entry.length for one, _ in fields])
    slots = _numbers(slot4), _numbers(slot8)
    kernels.gather_numbers(buffer, row, offsets, _numbers(kinds), *slots, lengths, out4, out8)
    columns: dict[str, pa.Array] = {}
    for (_, field), kind, at4, at8 in zip(fields, kinds, slot4, slot8, strict=True):
        name = field.column
        if kind == kernels.COUNT4:
            values = of_numbers(out4[at4], pa.uint32())
            columns[name] = values if field.length <= 4 else values.cast(pa.uint64())
        elif kind == kernels.COUNT8:
            columns[name] = of_numbers(out8[at8], pa.uint64())
        elif kind == kernels.STORE_CLOCK:
            raw = out8[at8 + 1]
            columns[name] = of_numbers(out8[at8], pa.timestamp("us"), raw != 0)
            columns[f"{name}_raw"] = of_numbers(raw, pa.uint64())
        elif kind == kernels.PACKED:
            values8 = out8[at8]
            columns[name] = of_numbers(values8.astype(np.uint32), valid=values8 <= 0xFFFFFFFF)
        else:
            columns[name] = of_numbers(out8[at8], pa.uint64())
            columns[f"{name}_n"] = of_numbers(out4[at4], pa.uint32())
    return columns


def _text_columns(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], fields: list[tuple[Place, catalogue.Field]]
) -> dict[str, pa.Array]:
    """Text without trailing blanks and nulls by the names of its columns."""
    n = row.size
    widths = _numbers([place.entry.length for place, _ in fields])
    starts = np.concatenate([[0], np.cumsum(widths * n)]).astype(np.int64)
    data = np.empty(int(starts[-1]), np.uint8)
    ends = np.zeros((len(fields), n + 1), np.int32)
    code_bits = np.zeros(len(fields), np.uint8)
    offsets = _numbers([place.offset for place, _ in fields])
    kernels.gather_text(buffer, row, offsets, widths, decoding_table("ebcdic"), data, starts, ends, code_bits)
    columns: dict[str, pa.Array] = {}
    for i, (_, field) in enumerate(fields):
        codes = data[starts[i] : starts[i] + int(ends[i, n])]
        if code_bits[i] < 0x80:
            buffers = [None, pa.py_buffer(ends[i]), pa.py_buffer(codes)]
            columns[field.column] = pa.Array.from_buffers(pa.string(), n, buffers)
        else:
            whole = codes.tobytes().decode("latin-1")
            cells = [whole[start:end] for start, end in zip(ends[i, :-1], ends[i, 1:], strict=True)]
            columns[field.column] = of_values(cells, pa.string())
    return columns


def _numbers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def other_fields(
    buffer: NDArray[np.uint8], row: NDArray[np.int64], keys: list[pa.Array], places: list[Place]
) -> pa.Table | None:
    """Fields of the data records at `row` that the catalogue lacks, a row each with its bytes."""
    others = [place for place in places if place.field is None]
    if not others or not row.size:
        return None
    parts = []
    for place in others:
        index = row[:, None] + place.offset + np.arange(place.entry.length)
        values = buffer[index].tobytes()
        width = place.entry.length
        entry = place.entry
        cells = [values[i * width : (i + 1) * width] for i in range(row.size)]
        named = [[text] * row.size for text in (entry.group, entry.type, entry.id, entry.nickname)]
        parts.append(
            pa.Table.from_arrays(
                [*keys, *(of_values(column, pa.string()) for column in named), of_values(cells, pa.binary())],
                schema=catalogue.section("other_field").schema,
            )
        )
    return pa.concat_tables(parts)
