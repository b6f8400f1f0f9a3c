"""Tables as JSON and CSV and for readers: what becomes of values that these forms do not know."""

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any]

_SHOWN = 60
"""Characters of a nested value, or of bytes, that a reader is shown."""

# Bytes inside are \x01 for DuckDB already: JSON would have two backslashes.
_JSON = r"replace(to_json(#{})::VARCHAR, '\\x', '\x')"
_BYTES = "format('X''{{}}''', hex(#{}))"
_TEXTS = (
    dict.fromkeys(("list", "array", "struct", "map", "union"), _JSON)
    | {"blob": _BYTES, "decimal": "#{}::DOUBLE"}
    | dict.fromkeys(("boolean", "float", "double", "hugeint", "uhugeint", "varchar"), "#{}")
    | {f"{sign}{size}int": "#{}" for sign in ("", "u") for size in ("tiny", "small", "big")}
    | {"integer": "#{}", "uinteger": "#{}"}
)
"""How DuckDB gives a column of a type for a reader, by its place; without an entry as text."""


def records(table: Any) -> Iterator[dict[str, Any]]:
    """Rows of a `pyarrow.Table` as plain values that JSON can hold; columns of one name are numbered (`a`, `a_1`)."""
    names = distinct(table.column_names)
    for batch in table.to_batches():
        columns = [_plain(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def shown(relation: Any) -> list[dict[str, Any]]:
    """Rows of a DuckDB relation for a reader: the beginning of nested values as JSON, of bytes as X'C1F0'.

    Figures stay figures, all else is text. Arrow is not loaded, which takes as long as most queries.
    """
    texts = ", ".join(_TEXTS.get(kind.id, "#{}::VARCHAR").format(n) for n, kind in enumerate(relation.types, start=1))
    long = [_TEXTS.get(kind.id) in (_JSON, _BYTES) for kind in relation.types]
    names = distinct(relation.columns)
    return [
        {name: _cut(value) if cut else value for name, value, cut in zip(names, row, long, strict=True)}
        for row in relation.project(texts).fetchall()
    ]


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON of plain values; a figure that is no number is refused, for JSON has none such."""
    return json.dumps(value, indent=indent, allow_nan=False)


def csv_texts(column: Any) -> Any:
    """Text of values that CSV has no form for: JSON, without quotes where it is one text; an Arrow array of strings."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_list(column.type) or types.is_fixed_size_list(column.type):
        return _json_texts(column)
    texts = [value if value is None or isinstance(value, str) else dumps(value) for value in _plain(column)]
    return pa.array(texts, pa.string())


def _json_texts(column: Any) -> Any:
    """Values of an Arrow array as JSON texts, without a Python object for each where there are many of a kind."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_integer(kind):
        return column.cast(pa.string())
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
        ends = np.cumsum(pc.fill_null(pc.list_value_length(column), 0).to_numpy(), dtype=np.int32)
        items = pc.fill_null(_json_texts(column.flatten()), "null")
        lists = pa.ListArray.from_arrays(np.append(np.int32(0), ends), items, mask=column.is_null())
        return pc.binary_join_element_wise("[", pc.binary_join(lists, ", "), "]", "")
    if types.is_string(kind) or types.is_floating(kind):
        coded = column.dictionary_encode()
        return pa.array(map(dumps, _plain(coded.dictionary)), pa.string()).take(coded.indices)
    return pa.array([None if value is None else dumps(value) for value in _plain(column)], pa.string())


def distinct(names: Sequence[str]) -> list[str]:
    """Names of columns; repeated names are numbered (`a`, `a_1`)."""
    labels: list[str] = []
    for name in names:
        nth, candidate = 0, name
        while candidate in labels:
            nth += 1
            candidate = f"{name}_{nth}"
        labels.append(candidate)
    return labels


def _plain(column: Any) -> list[Any]:
    """Values of an Arrow array as JSON values."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    try:
        values = column.to_pylist()
    except (OverflowError, ValueError):
        # Python's dates end with the year 9999, and an infinite time has no date at all.
        column = column.cast(_without_times(column.type))
        values = column.to_pylist()
    convert = _converter(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _without_times(kind: Any) -> Any:
    """The Arrow type with text in place of its dates and times."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_temporal(kind):
        return pa.string()
    if types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_times(field.type)) for field in kind])
    return kind


def _converter(kind: Any) -> Convert | None:
    """The function that makes a value of an Arrow type plain; None where it is plain already."""
    from pyarrow import types

    if types.is_map(kind):
        return _map(_converter(kind.key_type), _converter(kind.item_type))
    if types.is_struct(kind):
        return _structure({field.name: _converter(field.type) for field in kind})
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _sequence(_converter(kind.value_type))
    if types.is_floating(kind):
        return _number
    if types.is_decimal(kind):
        return _decimal
    if types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
        return None
    return _any


def _map(key_of: Convert | None, item_of: Convert | None) -> Convert:
    key, item = _optional(key_of), _optional(item_of)

    def plain(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
        named = ((key(name), item(value)) for name, value in pairs)
        return {name if isinstance(name, str) else dumps(name): value for name, value in named}

    return plain


def _structure(fields: dict[str, Convert | None]) -> Convert:
    converters = {name: _optional(convert) for name, convert in fields.items()}
    return lambda value: {name: convert(value[name]) for name, convert in converters.items()}


def _sequence(convert: Convert | None) -> Convert:
    item = _optional(convert)
    return lambda values: [item(value) for value in values]


def _optional(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _decimal(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _any(value: Any) -> Any:
    """Values by what they are: bytes, times, and whatever else has a text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "nanoseconds"):
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:g}S"
    return str(value)
