"""A buffer of rows for tables or files, which are written when there are enough of them."""

from collections.abc import Callable

import pyarrow as pa

_COLUMN_BYTES = 1 << 10
"""Approximate overhead of a column, which dominates where there are many short tables."""


class RowBuffer:
    """Buffered rows per table, in order. When all of them take `room` bytes, each table is handed to `write`.

    A write costs something for each column, however few the rows.
    """

    def __init__(self, write: Callable[[str, pa.Table], None], room: int) -> None:
        self._write, self._room = write, room
        self._tables: dict[str, list[pa.Table]] = {}
        self._bytes = 0

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows to a table, behind those added before."""
        parts = self._tables.setdefault(name, [])
        if parts and parts[0].schema != rows.schema:
            self._hand_over(name)
        self._tables.setdefault(name, []).append(rows)
        self._bytes += rows.get_total_buffer_size() + _COLUMN_BYTES * rows.num_columns
        if self._bytes >= self._room:
            self.write()

    def write(self) -> None:
        """Write all buffered rows."""
        for name in list(self._tables):
            self._hand_over(name)
        self._bytes = 0

    def _hand_over(self, name: str) -> None:
        self._write(name, pa.concat_tables(self._tables.pop(name)))
