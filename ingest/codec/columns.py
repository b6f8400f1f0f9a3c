"""Record fields to Arrow columns: all fields of many rows of a section become one record batch at once.

A compiled loop writes the batch in the format of Arrow's messages, so that Arrow makes the columns from it, without
copying, in one step.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.codepages import decoding_table
from ingest.framing import BLANK_BYTES
from ingest.kernels import reading
from ingest.layout import Condition, Field, Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_KINDS = {
    "hfp": reading.HFP,
    "packed": reading.PACKED,
    "packed_time": reading.PACKED,
    "packed_interval": reading.PACKED,
    "packed_date": reading.DATE,
    "tod": reading.TOD,
    "tod_upper": reading.TOD_UPPER,
    "stcke": reading.STCKE,
    "bytes": reading.BYTES,
    "ip16": reading.BYTES,
    "ebcdic": reading.TEXT,
    "ebcdic1047": reading.TEXT,
}
"""How fields of a format are read; all others are numbers."""

_NULLABLE = {
    reading.ABSENT,
    reading.PACKED,
    reading.DATE,
    reading.TOD,
    reading.TOD_UPPER,
    reading.STCKE,
    reading.REST,
    reading.REST_TEXT,
}
_TEXTS = (reading.TEXT, reading.REST, reading.REST_TEXT)
_CODE_PAGES = np.stack([decoding_table("ebcdic"), decoding_table("ebcdic1047")])


@dataclass(frozen=True, slots=True)
class _Plan:
    """How sections of some lengths are read.

    arrays: of type `reading.ARRAY`; head and head_places: the head of a batch without rows, and the places in it that
    depend on the rows; masks: the conditions under which fields are there, and the length that their section then has,
    0 for any; places: which of the strides the rows of `arrays` start by, and their mask, -1 for none.
    """

    schema: pa.Schema
    arrays: npt.NDArray[np.void]
    head: Bytes
    head_places: reading.Head
    masks: tuple[tuple[int, Condition | None, int], ...]
    places: tuple[tuple[int, int], ...]


def read_section(
    section: Section,
    data: Bytes,
    at: Ints,
    limits: Ints,
    keys: Sequence[npt.NDArray[np.uint32]],
    selectors: Mapping[str, npt.NDArray] | None = None,
    entry: Ints | None = None,
) -> pa.RecordBatch:
    """Every column of a section's rows.

    data: the buffer, `BLANK_BYTES` of zeros at its end; at: where each row's section starts; limits: how long it is. A
    field beyond the end of its section is NULL. keys: the columns that the schema begins with; selectors: values of
    fields that conditions name and the section lacks; entry: of a repeated section, which entry each row is. Every
    section must lie inside the buffer.
    """
    strides = _strides(section)
    starts = [at if entry is None else at + entry * stride for stride in strides]
    rooms = [limits if entry is None else limits - entry * stride for stride in strides]
    blank = data.size - BLANK_BYTES
    plan = _plan(section, tuple([_lengths(section, room) for room in rooms]))
    has_field = np.empty((len(plan.masks), len(at)), np.bool_)
    selector_values = dict(selectors or {})
    for ordinal, (stride, when, needed) in enumerate(plan.masks):
        has_field[ordinal] = rooms[stride] >= needed
        if when:
            if when.selector not in selector_values:
                column = _alone(section.by_name(when.selector), data, at, limits)
                selector_values[when.selector] = column.fill_null(0).to_numpy(zero_copy_only=False)
            has_field[ordinal] &= np.isin(selector_values[when.selector], list(when.values), invert=when.negated)
    masks = reading.Masks(np.packbits(has_field, axis=1, bitorder="little"), len(at) - has_field.sum(axis=1))
    places = np.empty((len(plan.places), len(at)), np.int64)
    for ordinal, (stride, mask) in enumerate(plan.places):
        places[ordinal] = starts[stride] if mask < 0 else np.where(has_field[mask], starts[stride], blank)
    written = np.empty(len(plan.arrays), reading.WRITTEN)
    out = np.empty(reading.lay_out(len(at), limits, plan.arrays, plan.head_places.body, written), np.uint8)
    out[: plan.head.size] = plan.head
    reading.read_columns(
        data, places, limits, masks, np.stack(keys), plan.arrays, _CODE_PAGES, plan.head_places, out, written
    )
    return pa.ipc.read_record_batch(pa.py_buffer(out), plan.schema)


def are_dates(item: Field, data: Bytes, at: Ints) -> Mask:
    """Whether a packed date stands at each place, or nothing: bytes of zeros are a date that was not filled in."""
    valid = np.asarray(_alone(item, data, at, np.full(len(at), item.end)).is_valid())
    filled = data[at[:, None] + np.arange(item.offset, item.end)].any(axis=1)
    return valid | ~filled


def _alone(item: Field, data: Bytes, at: Ints, limits: Ints) -> pa.Array:
    """The column of one field."""
    keys = np.zeros((2, len(at)), np.uint32)
    return read_section(_section_of(item), data, at, limits, list(keys)).column(len(keys))


@cache
def _section_of(item: Field) -> Section:
    return Section("", "", "", "", (item,), (), item.end, None, "fixed", "many")


def _lengths(section: Section, limits: Ints) -> tuple[int, ...]:
    """The lengths of some sections, rising, of which those from which on every field is there count as one."""
    if not len(limits):
        return (section.length,)
    shortest, longest = int(limits.min()), int(limits.max())
    if shortest == longest:
        return (shortest,)
    occurrences = np.bincount(np.minimum(limits, section.length) - min(shortest, section.length))
    return tuple((np.flatnonzero(occurrences) + min(shortest, section.length)).tolist())


@cache
def _strides(section: Section) -> tuple[int, ...]:
    """The bytes from one entry's value to the next one's that fields of a section have; 0 unless it is repeated."""
    return tuple(sorted({item.stride for item in section.fields}))


@lru_cache(maxsize=4096)
def _plan(section: Section, lengths: tuple[tuple[int, ...], ...]) -> _Plan:
    """The plan for sections that have these lengths, rising, for each stride of the section."""
    schema = section.arrow_schema()
    masks: dict[tuple[int, Condition | None, int], int] = {}
    places: dict[tuple[int, int], int] = {}
    columns = len(section.fields) + sum(item.raw is not None for item in section.fields)
    keys = len(schema) - columns
    arrays = [_array(reading.KEY, -1, 0, offset=key, width=4) for key in range(keys)]
    for item in section.fields:
        stride = _strides(section).index(item.stride)
        shorter = 0 if item.is_rest else bisect_left(lengths[stride], item.end)
        absent = shorter == len(lengths[stride])
        needed = lengths[stride][shorter] if shorter and not absent else 0
        mask = -1
        if not absent and (item.when or needed):
            mask = masks.setdefault((stride, item.when, needed), len(masks))
        place = places.setdefault((stride, mask), len(places))
        arrays += _arrays_of(item, section.walk, absent, place, mask)
    array_specs = np.array(arrays, reading.ARRAY)
    head, head_places = _head(schema)
    return _Plan(schema, array_specs, head, head_places, tuple(masks), tuple(places))


def _arrays_of(item: Field, walk: str, absent: bool, place: int, mask: int) -> Iterator[tuple[int, ...]]:
    """The arrays that a field becomes; those of lists have their mask, and not their values."""
    kind = _KINDS.get(item.form.name, reading.NUMBER)
    if item.is_rest:
        kind = reading.REST_TEXT if walk == "length_prefixed" and kind == reading.TEXT else reading.REST
    type_ = item.form.arrow(item.length)
    text = kind in _TEXTS
    width = 4 if text else type_.bit_width // 8
    page = int(item.form.name == "ebcdic1047")
    if item.count > 1:
        yield _array(reading.ABSENT if absent else reading.LIST, mask, place)
        mask = -1
    yield _array(
        reading.ABSENT if absent else kind, mask, place, item.offset, item.length, item.count, width, text, page
    )
    if item.raw:
        raw = reading.BYTES if item.raw[1] == pa.binary(16) else reading.NUMBER
        yield _array(reading.ABSENT if absent else raw, mask, place, item.offset, item.length, 1, item.length)


def _array(
    kind: int,
    mask: int,
    place: int,
    offset: int = 0,
    length: int = 0,
    count: int = 1,
    width: int = 0,
    text: bool = False,
    code_page: int = 0,
) -> tuple[int, ...]:
    """A row of `reading.ARRAY`."""
    nullable = mask >= 0 or kind in _NULLABLE
    return kind, place, mask, offset, length, count, width, nullable, text, code_page


def _head(schema: pa.Schema) -> tuple[Bytes, reading.Head]:
    """The bytes before the body of a record batch with empty buffers, and the places in them that depend on the rows.

    The message is a flatbuffer: `Message` and `RecordBatch` of Arrow's columnar format.
    """
    batch = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
    message = batch.serialize().to_pybytes()

    def number(place: int, size: int = 4) -> int:
        return int.from_bytes(message[place : place + size], "little", signed=size == 4)

    def field(table: int, ordinal: int) -> int:
        return table + number(table - number(table) + 4 + 2 * ordinal, 2)

    body = 8 + number(4)
    root = 8 + number(8)
    record_batch = field(root, 2) + number(field(root, 2))
    nodes, buffers = (field(record_batch, ordinal) + number(field(record_batch, ordinal)) for ordinal in (1, 2))
    head = np.frombuffer(message[:body], np.uint8).copy()
    head[buffers + 4 : buffers + 4 + 16 * number(buffers)] = 0
    return head, reading.Head(field(record_batch, 0), field(root, 3), nodes + 4, buffers + 4, body)
