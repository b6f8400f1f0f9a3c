"""Rows on their way into tables or files, held until there are enough of them to be worth a write."""

from collections.abc import Callable

import pyarrow as pa

_COLUMN_BYTES = 1 << 10
"""About what a column takes whatever is in it; of many short tables that is all they take."""


class Held:
    """Rows held per table, in their order, until all of them take `room` bytes; then each table is handed to `write`.

    A write costs something for each column, however few the rows.
    """

    def __init__(self, write: Callable[[str, pa.Table], None], room: int) -> None:
        self._write, self._room = write, room
        self._tables: dict[str, list[pa.Table]] = {}
        self._bytes = 0

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows to a table, behind those added before."""
        held = self._tables.setdefault(name, [])
        if held and held[0].schema != rows.schema:
            self._hand_over(name)
        self._tables.setdefault(name, []).append(rows)
        self._bytes += rows.get_total_buffer_size() + _COLUMN_BYTES * rows.num_columns
        if self._bytes >= self._room:
            self.write()

    def write(self) -> None:
        """Write what is held."""
        for name in list(self._tables):
            self._hand_over(name)
        self._bytes = 0

    def _hand_over(self, name: str) -> None:
        self._write(name, pa.concat_tables(self._tables.pop(name)))
