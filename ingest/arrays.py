"""Arrow arrays of values in memory, and back.

pyarrow's `array`, `scalar`, `to_numpy` and `to_pandas_dtype` do so for every kind of value, but load pandas first,
which takes as long as loading a small file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import lib, types

Valid = npt.NDArray[np.bool_] | None


def of_numbers(values: npt.NDArray[Any], kind: pa.DataType | None = None, valid: Valid = None) -> pa.Array:
    """An array over the memory of `values`, of the type that NumPy says unless it is named; not `valid` is NULL."""
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    return pa.Array.from_buffers(kind, len(values), [bits(valid), pa.py_buffer(values)])


def bits(valid: Valid) -> pa.Buffer | None:
    """Arrow validity bits, none where every row is valid."""
    return None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def of_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of Python's numbers, texts, bytes or times; None is NULL.

    Raises OverflowError for a number beyond the range of the type.
    """
    if types.is_string(kind) or types.is_binary(kind):
        builder = lib.StringBuilder()
        builder.append_values(values)
        texts = builder.finish()
        return texts if types.is_string(kind) else texts.view(kind)
    if types.is_timestamp(kind):
        times = np.array(values, f"datetime64[{kind.unit}]")
        return of_numbers(times.view(np.int64), kind, ~np.isnat(times))
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    filled = (0 if value is None else value for value in values)
    return of_numbers(np.fromiter(filled, dtype_of(kind), len(values)), kind, valid)


def of_columns(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """Numbers of NumPy as a table."""
    return pa.Table.from_arrays([of_numbers(values) for values in columns.values()], names=list(columns))


def of_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; what a row lacks is NULL."""
    columns = [of_values([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def numbers_of(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of numbers without NULLs; a view of its memory where that is in one piece."""
    dtype = dtype_of(column.type)
    parts = [np.frombuffer(part.buffers()[1], dtype)[part.offset :][: len(part)] for part in column.chunks if len(part)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """NumPy's type for a type of numbers."""
    letter = "f" if types.is_floating(kind) else "i" if types.is_signed_integer(kind) else "u"
    return np.dtype(f"{letter}{kind.bit_width // 8}")
