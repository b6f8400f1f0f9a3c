"""Arrow tables as CSV: a heading, then a line for each row; texts in quotes, NULL as nothing.

Texts that a spreadsheet would take for formulas are as `model.names.csv_cell` has them.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from model.names import csv_cell
from pipelines import forms

_LINES_BYTES = 1 << 20
_BATCH_BYTES = 8 << 20
_DIGITS = {1: 3, 2: 5, 4: 10, 8: 20}
_BEGINS = list(b"=+-@\t\r\n'")


def heading(schema: Any) -> bytes:
    """The names of the columns; columns of one name are numbered (`a`, `a_1`)."""
    names = (csv_cell(name).replace('"', '""') for name in forms.distinct(schema.names))
    return ",".join(f'"{name}"' for name in names).encode() + b"\n"


def write(table: Any, sink: BinaryIO) -> None:
    """A `pyarrow.Table` with its heading."""
    sink.write(heading(table.schema))
    for part in lines(table):
        sink.write(part)


def lines(table: Any) -> Iterator[memoryview]:
    """The rows of a `pyarrow.Table`, some thousands at a time; each part is valid until the next one is requested.

    Bytes are written in hexadecimal digits, nested values as JSON.
    """
    import numpy as np

    from ingest.kernels.csv_rows import write_rows

    for batch in _batches(table):
        columns = _Columns(batch)
        data, kinds = np.concatenate(columns.buffers), np.array(columns.kinds, np.int64).reshape(-1, 7)
        rows = max(_LINES_BYTES // columns.longest_row, 1)
        out = np.empty(rows * columns.longest_row, np.uint8)
        for low in range(0, batch.num_rows, rows):
            yield out.data[: write_rows(data, kinds, low, min(low + rows, batch.num_rows), out)]


def _batches(table: Any) -> Iterator[Any]:
    """The rows as record batches of some megabytes: columns cost the same for few rows as for many."""
    step = max(table.num_rows * _BATCH_BYTES // max(table.nbytes, 1), 1)
    for low in range(0, table.num_rows, step):
        yield from table.slice(low, step).combine_chunks().to_batches()


def _cells(column: Any) -> Any:
    """Texts as cells of CSV; as they are where none begins like a formula, which is seen in their first bytes."""
    import numpy as np
    import pyarrow as pa

    _, places, text = column.buffers()
    ends = np.frombuffer(places, np.int32)[column.offset :][: len(column) + 1]
    begins = ends[:-1][ends[:-1] < ends[1:]]
    if not len(begins) or not np.isin(np.frombuffer(text, np.uint8)[begins], _BEGINS).any():
        return column
    coded = column.dictionary_encode()
    cells = pa.array([csv_cell(value) for value in coded.dictionary.to_pylist()], pa.string())
    return cells.take(coded.indices)


class _Columns:
    """The columns of a record batch as the loop takes them; `longest_row` is the most bytes a row can take."""

    def __init__(self, batch: Any) -> None:
        import numpy as np

        self.buffers = [np.zeros(8, np.uint8)]
        self.kinds: list[tuple[int, ...]] = []
        self.longest_row = 1
        self._size = 8
        for column in batch.columns:
            self._add(column)

    def _add(self, column: Any) -> None:
        from pyarrow import types

        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if types.is_integer(kind):
            self._integers(column, column, -1)
        elif types.is_fixed_size_list(kind) and types.is_integer(kind.value_type) and not column.values.null_count:
            items = column.values.slice(column.offset * kind.list_size, len(column) * kind.list_size)
            self._integers(column, items, kind.list_size)
        else:
            self._texts(column)

    def _integers(self, column: Any, items: Any, count: int) -> None:
        from pyarrow import types

        width, signed = items.type.bit_width // 8, types.is_signed_integer(items.type)
        values = self._put(items.buffers()[1], items.offset * width, len(items) * width)
        self.kinds.append((width, int(signed), count, values, 0, *self._validity(column)))
        self.longest_row += 1 + max(count, 1) * (_DIGITS[width] + 3) + 4

    def _texts(self, column: Any) -> None:
        import numpy as np
        import pyarrow as pa
        from pyarrow import types

        from ingest.kernels.csv_rows import HEXADECIMAL, PLAIN, QUOTED

        if types.is_fixed_size_binary(column.type):
            width, form = column.type.byte_width, HEXADECIMAL
            ends = np.arange(len(column) + 1, dtype=np.int32) * width
            low, text = column.offset * width, column.buffers()[1]
        else:
            if types.is_binary(column.type):
                form = HEXADECIMAL
            elif types.is_decimal(column.type) or (
                types.is_primitive(column.type) and not types.is_interval(column.type)
            ):
                column, form = column.cast(pa.string()), PLAIN
            else:
                column = column if types.is_string(column.type) else forms.csv_texts(column)
                column, form = _cells(column), QUOTED
            _, places, text = column.buffers()
            ends = np.frombuffer(places, np.int32)[column.offset :][: len(column) + 1]
            low, ends = int(ends[0]), ends - ends[0]
        values = self._put(text, low, int(ends[-1]))
        self.kinds.append((0, form, -1, values, self._put(pa.py_buffer(ends), 0, ends.nbytes), *self._validity(column)))
        self.longest_row += 3 + 2 * int(np.diff(ends).max(initial=0))

    def _validity(self, column: Any) -> tuple[int, int]:
        if not column.null_count:
            return -1, 0
        bits = column.buffers()[0]
        return self._put(bits, 0, bits.size), column.offset

    def _put(self, buffer: Any, low: int, size: int) -> int:
        """Put bytes of a buffer behind those of the others; their place."""
        import numpy as np

        if size:
            self.buffers.append(np.frombuffer(buffer, np.uint8)[low : low + size])
        place, self._size = self._size, self._size + size
        return place
