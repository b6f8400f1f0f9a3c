"""Record fields to Arrow columns: one reader per format, over many rows and fields at once."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ingest.codec.codepages import decoding_table
from ingest.codec.values import TOD_UNIX_EPOCH_US
from ingest.framing import BLANK_BYTES
from ingest.kernels import reading
from ingest.registry import Field, Section

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_] | None
Columns = dict[str, pa.Array]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_EXACT = {1: reading.read_1, 2: reading.read_2, 4: reading.read_4, 8: reading.read_8}
_DAY_OF_YEAR = np.arange("1900", "2901", dtype="datetime64[Y]").astype("datetime64[D]").astype(np.int64)
_NO_TABLE = np.zeros(256, np.uint8)


def read_section(section: Section, data: Bytes, at: Ints, limits: Ints) -> Columns:
    """Every column of a section's rows, without the keys.

    data: the buffer, `BLANK_BYTES` of zeros at its end; at: where each row's section starts; limits: how long it is. A
    field beyond the end of its section is NULL. Every section must lie inside the buffer.
    """
    if section.walk == "length_prefixed":
        return _entries(section, data, at, limits)
    shortest, longest = (int(limits.min()), int(limits.max())) if len(limits) else (section.length, section.length)
    columns: Columns = {}
    whole: dict[tuple[str, int], list[Field]] = {}
    later: list[Field] = []
    for item in section.fields:
        if item.is_rest:
            columns[item.column] = _rest(item, data, at, limits)
        elif item.when:
            later.append(item)
        elif item.end <= shortest:
            whole.setdefault(_group(item), []).append(item)
        elif item.end > longest:
            columns[item.column] = pa.nulls(len(at), item.arrow)
            if item.raw:
                columns[item.raw[0]] = pa.nulls(len(at), item.raw[1])
        else:
            reaches = limits >= item.end
            columns.update(_read([item], data, np.where(reaches, at, data.size - BLANK_BYTES - item.offset), reaches))
    for fields in whole.values():
        columns.update(_read(fields, data, at, None))
    for item in later:
        holds = _holds(section, item, columns) & (limits >= item.end)
        columns.update(_read([item], data, np.where(holds, at, data.size - BLANK_BYTES - item.offset), holds))
    return columns


def _holds(section: Section, item: Field, columns: Columns) -> npt.NDArray[np.bool_]:
    """Rows in which the condition of a field holds."""
    assert item.when is not None
    selector = pc.fill_null(columns[section.by_name(item.when.selector).column], 0).to_numpy(zero_copy_only=False)
    return np.isin(selector, list(item.when.values), invert=item.when.negated)


def _rest(item: Field, data: Bytes, at: Ints, limits: Ints) -> pa.Array:
    """Whatever a section holds from an offset on; NULL where it ends before that."""
    reaches = limits >= item.offset
    out = np.empty(int(np.where(reaches, limits - item.offset, 0).sum()), np.uint8)
    ends = np.empty(len(at) + 1, np.int32)
    reading.read_runs(data, at, limits, item.offset, _NO_TABLE, False, out, ends)
    return _strings(pa.binary(), ends, out, reaches)


def _group(item: Field) -> tuple[str, int]:
    """Fields of one group are read by one call."""
    kind = _KINDS[item.form.name]
    return (kind if item.count == 1 else item.ibm, item.length if kind in ("number", "hfp") else 0)


def _read(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    first = fields[0]
    reader = _READERS[_KINDS[first.form.name]]
    if first.count == 1:
        return reader(fields, data, at, mask)
    steps = np.arange(first.count) * first.length
    values = reader(fields, data, (at[:, None] + steps).ravel(), None)[first.column]
    nulls = None if mask is None else pa.array(~mask)
    return {first.column: pa.FixedSizeListArray.from_arrays(values, first.count, mask=nulls)}


def _array(kind: pa.DataType, values: npt.NDArray, mask: Mask) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [_bits(mask), pa.py_buffer(values)])


def _bits(mask: Mask) -> pa.Buffer | None:
    """Arrow validity bits, none where every row is valid."""
    return None if mask is None or mask.all() else pa.py_buffer(np.packbits(mask, bitorder="little"))


def _element(item: Field) -> pa.DataType:
    """Arrow type of one value of a field."""
    return item.arrow.value_type if item.count > 1 else item.arrow


def _both(one: npt.NDArray[np.bool_], other: Mask) -> npt.NDArray[np.bool_]:
    return one if other is None else one & other


def _offsets(fields: Sequence[Field]) -> Ints:
    return np.array([item.offset for item in fields], np.int64)


def _lengths(fields: Sequence[Field]) -> Ints:
    return np.array([item.length for item in fields], np.int64)


def _unsigned(fields: Sequence[Field], data: Bytes, at: Ints) -> npt.NDArray:
    """One row of unsigned integers per field; the fields have one length."""
    length = fields[0].length
    width = next(width for width in _UNSIGNED if length <= width)
    out = np.empty((len(fields), len(at)), _UNSIGNED[width])
    if length == width:
        _EXACT[width](data, at, _offsets(fields), out)
    else:
        reading.read_odd(data, at, _offsets(fields), _lengths(fields), out)
    return out


def _number(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(fields, data, at)
    return {item.column: _array(_element(item), out[row], mask) for row, item in enumerate(fields)}


def _hfp(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    bits = _unsigned(fields, data, at)
    out = np.empty(bits.shape, np.float64)
    reading.hfp_to_double(bits, fields[0].length * 8 - 8, out)
    return {item.column: _array(pa.float64(), out[row], mask) for row, item in enumerate(fields)}


def _digits(fields: Sequence[Field], data: Bytes, at: Ints) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    out = np.empty((len(fields), len(at)), np.uint64)
    valid = np.empty(out.shape, np.bool_)
    reading.read_packed(data, at, _offsets(fields), _lengths(fields), out, valid)
    return out, valid


def _packed(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    out, valid = _digits(fields, data, at)
    columns = {}
    for row, item in enumerate(fields):
        kind = _element(item)
        columns[item.column] = _array(kind, out[row].astype(kind.to_pandas_dtype()), _both(valid[row], mask))
    return columns


def _packed_date(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    out, valid = _digits(fields, data, at)
    year, ordinal = (part.astype(np.int64) for part in np.divmod(out, np.uint64(1000)))
    valid &= (year < 1000) & (ordinal >= 1)
    year[~valid] = 0
    days = _DAY_OF_YEAR[year] + ordinal - 1
    valid &= days < _DAY_OF_YEAR[year + 1]
    dates = np.where(valid, days, 0).astype(np.int32)
    return {item.column: _array(pa.date32(), dates[row], _both(valid[row], mask)) for row, item in enumerate(fields)}


def _clock(raw: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Unix microseconds of store clock values."""
    return (raw >> np.uint64(12)).astype(np.int64) - TOD_UNIX_EPOCH_US


def _tod(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(fields, data, at)
    columns = {}
    for row, item in enumerate(fields):
        known = _both(out[row] != 0, mask)
        columns[item.column] = _array(pa.timestamp("us"), _clock(out[row]), known)
        columns[f"{item.column}_raw"] = _array(pa.uint64(), out[row], mask)
    return columns


def _tod_upper(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    out = _unsigned(fields, data, at)
    columns = {}
    for row, item in enumerate(fields):
        known = _both(out[row] != 0, mask)
        columns[item.column] = _array(pa.timestamp("us"), _clock(out[row].astype(np.uint64) << np.uint64(32)), known)
        columns[f"{item.column}_raw"] = _array(pa.uint32(), out[row], mask)
    return columns


def _stcke(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    columns = {}
    for item in fields:
        raw = np.empty((len(at), 16), np.uint8)
        reading.read_bytes(data, at, item.offset, raw)
        clock = np.empty((1, len(at)), np.uint64)
        reading.read_8(data, at, np.array([item.offset + 1]), clock)
        known = _both(np.asarray(raw[:, :9].any(axis=1)), mask)
        times = _clock(clock[0]) + (raw[:, 0].astype(np.int64) << 52)
        columns[item.column] = _array(pa.timestamp("us"), times, known)
        columns[f"{item.column}_raw"] = _array(pa.binary(16), raw, mask)
    return columns


def _bytes(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    columns = {}
    for item in fields:
        out = np.empty((len(at), item.length), np.uint8)
        reading.read_bytes(data, at, item.offset, out)
        columns[item.column] = _array(_element(item), out, mask)
    return columns


def _text(fields: Sequence[Field], data: Bytes, at: Ints, mask: Mask) -> Columns:
    widths = _lengths(fields)
    room = np.concatenate([[0], np.cumsum(widths * 2 * len(at) + 8)])
    out = np.empty(int(room[-1]), np.uint8)
    ends = np.empty((len(fields), len(at) + 1), np.int32)
    table = decoding_table(fields[0].form.name)
    reading.read_text(data, at, _offsets(fields), widths, table, out, room[:-1], ends)
    columns = {}
    for row, item in enumerate(fields):
        used = out[room[row] : room[row] + ends[row, -1]]
        columns[item.column] = _strings(pa.string(), ends[row], used, mask)
    return columns


def _strings(kind: pa.DataType, ends: npt.NDArray[np.int32], used: Bytes, mask: Mask) -> pa.Array:
    return pa.Array.from_buffers(kind, len(ends) - 1, [_bits(mask), pa.py_buffer(ends), pa.py_buffer(used)])


def _entries(section: Section, data: Bytes, at: Ints, limits: Ints) -> Columns:
    """A length byte and the rest of the entry."""
    prefix, rest = section.fields
    is_text = rest.form.name.startswith("ebcdic")
    table = decoding_table(rest.form.name) if is_text else _NO_TABLE
    out = np.empty(int(limits.sum()) * 2 + 8, np.uint8)
    ends = np.empty(len(at) + 1, np.int32)
    reading.read_runs(data, at, limits, rest.offset, table, is_text, out, ends)
    columns = _number([prefix], data, at, None)
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
    "ebcdic": "ebcdic",
    "ebcdic1047": "ebcdic1047",
}

_READERS: dict[str, Callable[[Sequence[Field], Bytes, Ints, Mask], Columns]] = {
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
