"""One file for each table of a dump, in the forms that `etalon decode` writes."""

import os
import sys
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pipelines import forms

Write = Callable[[Any], None]

_BUFFER_BYTES = 64 << 20
"""Bytes of rows written at once: a column of a row group costs the same for few rows as for many."""


class TableFiles:
    """Writes rows to one file per table, made when its first rows come; to standard output without a folder.

    Files are written side by side, on all cores but the one that decodes. member: the file of an archive that the rows
    come from, a column before the others; None outside archives. `finish` writes the buffered rows, on all cores.
    """

    def __init__(self, stack: ExitStack, form: str, folder: Path | None, tables: Collection[str]) -> None:
        from ingest.files.row_buffer import RowBuffer

        self.member: str | None = None
        self._form, self._folder, self._tables = form, folder, frozenset(tables)
        self._open: dict[str, tuple[ExitStack, Write]] = {}
        # What is entered later is left sooner: every thread has ended when the files are closed.
        self._files, self._stack = stack.enter_context(ExitStack()), stack
        self._threads = self._writers(max(cores() - 1, 1))
        self._writes: dict[str, Future[None]] = {}
        self._buffer = RowBuffer(self._begin if folder else self._write, _BUFFER_BYTES if folder else 0)

    def add(self, table: str, rows: Any) -> None:
        """Put rows behind those of the table that came before."""
        if self._tables and table not in self._tables:
            return
        if self.member is not None:
            import pyarrow as pa

            rows = rows.add_column(0, "member", pa.repeat(self.member, rows.num_rows))
        self._buffer.add(table, rows)

    def finish(self) -> None:
        """Write the buffered rows, close the files, and wait for both. Raises the error of a write."""
        self._threads = self._writers(cores())
        self._buffer.write()
        closed = []
        for table, begun in self._writes.items():
            begun.result()
            closed.append(self._threads.submit(self._open[table][0].close))
        for closing in closed:
            closing.result()

    def _writers(self, count: int) -> ThreadPoolExecutor:
        return self._stack.enter_context(ThreadPoolExecutor(count, "write"))

    def _begin(self, table: str, rows: Any) -> None:
        """Write rows in another thread, once those before them are written."""
        if table in self._writes:
            self._writes[table].result()
        self._writes[table] = self._threads.submit(self._write, table, rows)

    def _write(self, table: str, rows: Any) -> None:
        if table not in self._open:
            files = self._files.enter_context(ExitStack())
            self._open[table] = files, self._opened(files, table, rows.schema)
        self._open[table][1](rows)

    def _opened(self, files: ExitStack, table: str, schema: Any) -> Write:
        """The function that writes rows to the file of a table, which `files` closes."""
        sink: Any
        if self._form == "json":
            if self._folder is None:
                return lambda rows: _json_lines(sys.stdout, {"table": table}, rows)
            sink = files.enter_context(self._file(table).open("w", encoding="utf-8"))
            return lambda rows: _json_lines(sink, {}, rows)
        if self._form == "csv":
            return self._csv(files, table, schema)
        sink = sys.stdout.buffer if self._folder is None else str(self._file(table))
        writer: Any
        if self._form == "arrow":
            import pyarrow as pa

            opened = pa.ipc.new_stream if self._folder is None else pa.ipc.new_file
            writer = files.enter_context(opened(sink, schema))
        else:
            import pyarrow.parquet
            from pyarrow import types

            # Figures seldom repeat enough for a dictionary, and bounds of every column take a fifth of the time.
            texts = [field.name for field in schema if types.is_string(field.type)]
            bounded = [field.name for field in schema if types.is_temporal(field.type)]
            writer = files.enter_context(
                pyarrow.parquet.ParquetWriter(sink, schema, use_dictionary=texts, write_statistics=texts + bounded)
            )
        return lambda rows: writer.write_table(rows)

    def _csv(self, files: ExitStack, table: str, schema: Any) -> Write:
        from pipelines import csv_rows

        sink = sys.stdout.buffer if self._folder is None else files.enter_context(self._file(table).open("wb"))
        sink.write(csv_rows.heading(schema))

        def write(rows: Any) -> None:
            for part in csv_rows.lines(rows):
                sink.write(part)

        return write

    def _file(self, table: str) -> Path:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{table}.{self._form}"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _json_lines(sink: Any, label: dict[str, str], rows: Any) -> None:
    for row in forms.records(rows):
        sink.write(forms.dumps(label | row) + "\n")
