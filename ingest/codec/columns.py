"""Record fields to Arrow columns: one reader per format, over many rows and fields at once."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import bits, dtype_of, of_numbers
from ingest.codec.codepages import decoding_table
from ingest.codec.values import TOD_UNIX_EPOCH_US
from ingest.framing import BLANK_BYTES
from ingest.kernels import reading, repeating
from ingest.layout import Condition, Field, Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_] | None
Columns = dict[str, pa.Array]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_EXACT = {1: reading.read_1, 2: reading.read_2, 4: reading.read_4, 8: reading.read_8}
_REPEATED = {4: repeating.read_4, 8: repeating.read_8}
_YEAR_STARTS = np.arange("1900", "2901", dtype="datetime64[Y]").astype("datetime64[D]").astype(np.int64)
_NO_TABLE = np.zeros(256, np.uint8)


@dataclass(frozen=True, slots=True)
class _Group:
    """Fields that one call of a kernel reads, with what the kernel needs of them."""

    fields: tuple[Field, ...]
    offsets: Ints
    lengths: Ints
    types: tuple[pa.DataType, ...]
    kinds: tuple[pa.DataType, ...]
    kind_of: tuple[int, ...]

    @classmethod
    def of(cls, fields: Sequence[Field]) -> "_Group":
        """The group of some fields of one format."""
        types = tuple(item.arrow.value_type if item.count > 1 else item.arrow for item in fields)
        kinds = tuple(dict.fromkeys(types))
        return cls(
            fields=tuple(fields),
            offsets=np.array([item.offset for item in fields], np.int64),
            lengths=np.array([item.length for item in fields], np.int64),
            types=types,
            kinds=kinds,
            kind_of=tuple(kinds.index(kind) for kind in types),
        )


@dataclass(slots=True)
class _Shape:
    """How the fields of sections of some lengths are read.

    groups: fields read by one call, with their condition and the length that a section needs to have them, 0 where all
    are long enough; those without a condition come first.
    """

    groups: list[tuple[_Group, Condition | None, int]]
    absent: list[Field]
    rest: list[Field]


@lru_cache(maxsize=4096)
def _shape(section: Section, lengths: tuple[int, ...]) -> _Shape:
    """Fields of sections in as few groups as can be; lengths: those that the sections have, rising."""
    shape = _Shape([], [], [])
    grouped: dict[tuple[Condition | None, int, tuple[str, int]], list[Field]] = {}
    for item in sorted(section.fields, key=lambda item: item.when is not None):
        shorter = bisect_left(lengths, item.end)
        if item.is_rest:
            shape.rest.append(item)
        elif shorter == len(lengths):
            shape.absent.append(item)
        else:
            grouped.setdefault((item.when, shorter, _kind(item)), []).append(item)
    for (when, shorter, _), fields in grouped.items():
        shape.groups.append((_Group.of(fields), when, lengths[shorter] if shorter else 0))
    return shape


def _lengths(section: Section, limits: Ints) -> tuple[int, ...]:
    """The lengths of some sections, rising, of which those from which on every field is there count as one."""
    if not len(limits):
        return (section.length,)
    shortest, longest = int(limits.min()), int(limits.max())
    if shortest == longest:
        return (shortest,)
    there = np.bincount(np.minimum(limits, section.length) - min(shortest, section.length))
    return tuple((np.flatnonzero(there) + min(shortest, section.length)).tolist())


def _kind(item: Field) -> tuple[str, int]:
    """Fields of one kind are read by one call."""
    kind = _KINDS[item.form.name]
    if item.count == 1:
        return kind, item.length if kind in ("number", "hfp") else 0
    return (str(item.count), item.length) if kind == "number" else (item.ibm, 0)


def read_section(
    section: Section, data: Bytes, at: Ints, limits: Ints, selectors: Mapping[str, npt.NDArray] | None = None
) -> Columns:
    """Every column of a section's rows, without the keys.

    data: the buffer, `BLANK_BYTES` of zeros at its end; at: where each row's section starts; limits: how long it is. A
    field beyond the end of its section is NULL. selectors: values of fields that conditions name and the section lacks.
    Every section must lie inside the buffer.
    """
    if section.walk == "length_prefixed":
        return _entries(section, data, at, limits)
    shape = _shape(section, _lengths(section, limits))
    columns: Columns = {}
    held: dict[Condition, npt.NDArray[np.bool_]] = {}

    def holds(when: Condition) -> npt.NDArray[np.bool_]:
        if when not in held:
            held[when] = _holds(section, when, columns, selectors or {})
        return held[when]

    for item in shape.absent:
        columns[item.column] = pa.nulls(len(at), item.arrow)
        if item.raw:
            columns[item.raw[0]] = pa.nulls(len(at), item.raw[1])
    for group, when, needed in shape.groups:
        mask = limits >= needed if needed else None
        mask = _both(holds(when), mask) if when else mask
        columns.update(_read(group, data, at, None) if mask is None else _read_where(group, data, at, mask))
    for item in shape.rest:
        ends = np.where(holds(item.when), limits, -1) if item.when else limits
        columns[item.column] = _rest(item, data, at, ends)
    return columns


def _read_where(group: _Group, data: Bytes, at: Ints, mask: npt.NDArray[np.bool_]) -> Columns:
    """Fields that are NULL where the mask does not hold; there they are read from the blank end of the buffer."""
    blank = data.size - BLANK_BYTES - int(group.offsets.min())
    return _read(group, data, np.where(mask, at, blank), mask)


def _holds(
    section: Section, when: Condition, columns: Columns, selectors: Mapping[str, npt.NDArray]
) -> npt.NDArray[np.bool_]:
    """Rows in which a condition holds."""
    selector = selectors.get(when.selector)
    if selector is None:
        column = columns[section.by_name(when.selector).column]
        selector = column.fill_null(0).to_numpy(zero_copy_only=False)
    return np.isin(selector, list(when.values), invert=when.negated)


def _rest(item: Field, data: Bytes, at: Ints, limits: Ints) -> pa.Array:
    """Whatever a section holds from an offset on; NULL where it ends before that."""
    reaches = limits >= item.offset
    out = np.empty(int(np.where(reaches, limits - item.offset, 0).sum()), np.uint8)
    ends = np.empty(len(at) + 1, np.int32)
    reading.read_runs(data, at, limits, item.offset, _NO_TABLE, False, out, ends)
    return _strings(pa.binary(), ends, out, reaches)


def _read(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    first = group.fields[0]
    reader = _READERS[_KINDS[first.form.name]]
    if first.count == 1:
        return reader(group, data, at, mask)
    if reader is _number and first.length in _REPEATED:
        out = np.empty((len(group.fields), len(at), first.count), _UNSIGNED[first.length])
        _REPEATED[first.length](data, at, group.offsets, out)
        elements = _number_columns(group, out.reshape(len(group.fields), -1), None)
    else:
        steps = np.arange(first.count) * first.length
        elements = reader(group, data, (at[:, None] + steps).ravel(), None)
    nulls = None
    if mask is not None:
        nulls = pa.Array.from_buffers(pa.bool_(), len(at), [None, pa.py_buffer(np.packbits(~mask, bitorder="little"))])
    return {
        item.column: pa.FixedSizeListArray.from_arrays(elements[item.column], item.count, mask=nulls)
        for item in group.fields
    }


def _number_columns(group: _Group, out: npt.NDArray, mask: Mask) -> Columns:
    """A column per field from a row of numbers per field; without NULLs slices of one array, which are made sooner."""
    if mask is not None:
        return {
            item.column: of_numbers(values, kind, mask)
            for item, kind, values in zip(group.fields, group.types, out, strict=True)
        }
    rows, buffer = out.shape[1], pa.py_buffer(out)
    whole = [pa.Array.from_buffers(kind, out.size, [None, buffer]) for kind in group.kinds]
    return {
        item.column: whole[kind].slice(place * rows, rows)
        for place, (item, kind) in enumerate(zip(group.fields, group.kind_of, strict=True))
    }


def _both(one: npt.NDArray[np.bool_], other: Mask) -> npt.NDArray[np.bool_]:
    return one if other is None else one & other


def _unsigned(group: _Group, data: Bytes, at: Ints) -> npt.NDArray:
    """One row of unsigned integers per field; the fields have one length."""
    length = int(group.lengths[0])
    width = next(width for width in _UNSIGNED if length <= width)
    out = np.empty((len(group.fields), len(at)), _UNSIGNED[width])
    if length == width:
        _EXACT[width](data, at, group.offsets, out)
    else:
        reading.read_odd(data, at, group.offsets, group.lengths, out)
    return out


def _number(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(group, data, at)
    return _number_columns(group, out, mask)


def _hfp(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    bits = _unsigned(group, data, at)
    out = np.empty(bits.shape, np.float64)
    reading.hfp_to_double(bits, int(group.lengths[0]) * 8 - 8, out)
    return {item.column: of_numbers(values, pa.float64(), mask) for item, values in zip(group.fields, out, strict=True)}


def _digits(group: _Group, data: Bytes, at: Ints) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    out = np.empty((len(group.fields), len(at)), np.uint64)
    valid = np.empty(out.shape, np.bool_)
    reading.read_packed(data, at, group.offsets, group.lengths, out, valid)
    return out, valid


def _packed(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    out, valid = _digits(group, data, at)
    columns = {}
    for row, (item, kind) in enumerate(zip(group.fields, group.types, strict=True)):
        columns[item.column] = of_numbers(out[row].astype(dtype_of(kind)), kind, _both(valid[row], mask))
    return columns


def _packed_date(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    out, valid = _digits(group, data, at)
    dates = np.empty(out.shape, np.int32)
    reading.ordinal_dates(out, _YEAR_STARTS, dates, valid)
    return {
        item.column: of_numbers(dates[row], pa.date32(), _both(valid[row], mask))
        for row, item in enumerate(group.fields)
    }


def are_dates(item: Field, data: Bytes, at: Ints) -> npt.NDArray[np.bool_]:
    """Whether a packed date stands at each place, or nothing: bytes of zeros are a date that was not filled in."""
    out, valid = np.empty((1, len(at)), np.uint64), np.empty((1, len(at)), np.bool_)
    offsets, lengths = np.array([item.offset]), np.array([item.length])
    reading.read_packed(data, at, offsets, lengths, out, valid)
    reading.ordinal_dates(out, _YEAR_STARTS, np.empty(out.shape, np.int32), valid)
    filled = data[at[:, None] + np.arange(item.offset, item.end)].any(axis=1)
    return valid[0] | ~filled


def _clock(raw: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Unix microseconds of store clock values."""
    return (raw >> np.uint64(12)).astype(np.int64) - TOD_UNIX_EPOCH_US


def _tod(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(group, data, at)
    columns = {}
    for row, item in enumerate(group.fields):
        known = _both(out[row] != 0, mask)
        columns[item.column] = of_numbers(_clock(out[row]), pa.timestamp("us"), known)
        columns[f"{item.column}_raw"] = of_numbers(out[row], pa.uint64(), mask)
    return columns


def _tod_upper(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(group, data, at)
    columns = {}
    for row, item in enumerate(group.fields):
        known = _both(out[row] != 0, mask)
        columns[item.column] = of_numbers(
            _clock(out[row].astype(np.uint64) << np.uint64(32)), pa.timestamp("us"), known
        )
        columns[f"{item.column}_raw"] = of_numbers(out[row], pa.uint32(), mask)
    return columns


def _stcke(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    columns = {}
    for item in group.fields:
        raw = np.empty((len(at), 16), np.uint8)
        reading.read_bytes(data, at, item.offset, raw)
        clock = np.empty((1, len(at)), np.uint64)
        reading.read_8(data, at, np.array([item.offset + 1]), clock)
        known = _both(np.asarray(raw[:, :9].any(axis=1)), mask)
        times = _clock(clock[0]) + (raw[:, 0].astype(np.int64) << 52)
        columns[item.column] = of_numbers(times, pa.timestamp("us"), known)
        columns[f"{item.column}_raw"] = of_numbers(raw, pa.binary(16), mask)
    return columns


def _bytes(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    columns = {}
    for item, kind in zip(group.fields, group.types, strict=True):
        out = np.empty((len(at), item.length), np.uint8)
        reading.read_bytes(data, at, item.offset, out)
        columns[item.column] = of_numbers(out, kind, mask)
    return columns


def _text(group: _Group, data: Bytes, at: Ints, mask: Mask) -> Columns:
    room = np.concatenate([[0], np.cumsum(group.lengths * 2 * len(at) + 8)])
    out = np.empty(int(room[-1]), np.uint8)
    ends = np.empty((len(group.fields), len(at) + 1), np.int32)
    table = decoding_table(group.fields[0].form.name)
    reading.read_text(data, at, group.offsets, group.lengths, table, out, room[:-1], ends)
    columns = {}
    for row, item in enumerate(group.fields):
        used = out[room[row] : room[row] + ends[row, -1]]
        columns[item.column] = _strings(pa.string(), ends[row], used, mask)
    return columns


def _strings(kind: pa.DataType, ends: npt.NDArray[np.int32], used: Bytes, mask: Mask) -> pa.Array:
    return pa.Array.from_buffers(kind, len(ends) - 1, [bits(mask), pa.py_buffer(ends), pa.py_buffer(used)])


def _entries(section: Section, data: Bytes, at: Ints, limits: Ints) -> Columns:
    """A length byte and the rest of the entry."""
    prefix, rest = section.fields
    is_text = rest.form.name.startswith("ebcdic")
    table = decoding_table(rest.form.name) if is_text else _NO_TABLE
    out = np.empty(int(limits.sum()) * 2 + 8, np.uint8)
    ends = np.empty(len(at) + 1, np.int32)
    reading.read_runs(data, at, limits, rest.offset, table, is_text, out, ends)
    columns = _number(_Group.of([prefix]), data, at, None)
    columns[rest.column] = _strings(rest.form.arrow(0), ends, out[: ends[-1]], None)
    return columns


_KINDS = {
    "uint": "number",
    "int": "number",
    "flags": "number",
    "hundredths": "number",
    "tod_duration": "number",
    "tod_signed": "number",
    "hfp": "hfp",
    "packed": "packed",
    "packed_time": "packed",
    "packed_interval": "packed",
    "packed_date": "packed_date",
    "tod": "tod",
    "tod_upper": "tod_upper",
    "stcke": "stcke",
    "bytes": "bytes",
    "ip16": "bytes",
    "ebcdic": "ebcdic",
    "ebcdic1047": "ebcdic1047",
}

_READERS: dict[str, Callable[[_Group, Bytes, Ints, Mask], Columns]] = {
    "number": _number,
    "hfp": _hfp,
    "packed": _packed,
    "packed_date": _packed_date,
    "tod": _tod,
    "tod_upper": _tod_upper,
    "stcke": _stcke,
    "bytes": _bytes,
    "ebcdic": _text,
    "ebcdic1047": _text,
}
