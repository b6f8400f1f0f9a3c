"""The published snapshot: read-only SQL for one request at a time, opened again when the file is replaced."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.names import sql_text
from serve.files import Identity, identity_of
from serve.log import Log
from serve.problems import Problem

if TYPE_CHECKING:
    import duckdb

log = Log()

# An open database holds on to some memory after every large query, so that it is opened anew after so many.
MAX_CURSORS = 500
UNUSABLE = "the snapshot cannot be used (the reason is in the service's log): publish it again with `etalon publish`"


class SnapshotUnavailable(Problem):
    """There is no readable snapshot; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(503, "no-snapshot", message)


class Snapshot:
    """A DuckDB file that others replace as a whole.

    Each opening is a fresh in-memory database with the file attached read-only: requests still running on the old
    file finish on it, while new ones see the new file. Opening the path directly would hand back the cached old one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._identity: Identity | None = None
        self._cursors = 0
        self._lock = threading.Lock()
        self._opener = ThreadPoolExecutor(1, "snapshot")

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of its own for one request, with the snapshot as the current database.

        Raises
        ------
        SnapshotUnavailable
            when nothing was published yet, the file cannot be opened, or a table or column lacks.
        """
        import duckdb

        with self._lock:
            cursor = self._current().cursor()
        try:
            cursor.execute("USE snapshot")
            yield cursor
        except duckdb.Error as problem:
            log.error("snapshot_lacks", path=str(self.path), problem=str(problem))
            raise SnapshotUnavailable(UNUSABLE) from problem
        finally:
            cursor.close()

    async def ready(self) -> None:
        """Open the file unless it is open already; errors as :meth:`cursor`."""
        if self._connection is None or identity_of(self.path) != self._identity:
            await asyncio.get_running_loop().run_in_executor(self._opener, self.rows, "SELECT 1")

    def rows(self, sql: str, parameters: list[Any] | dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """All rows of a small query as dictionaries; errors as :meth:`cursor`."""
        with self.cursor() as cursor:
            cursor.execute(sql, parameters or [])
            names = [column[0] for column in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def has_table(self, schema: str, table: str) -> bool:
        """Whether the snapshot holds a table or view of that name."""
        tables = self.rows(
            "SELECT 1 FROM information_schema.tables "
            "WHERE table_catalog = 'snapshot' AND table_schema = ? AND table_name = ?",
            [schema, table],
        )
        return bool(tables)

    def published_at(self) -> datetime | None:
        """When the snapshot was published, or None when there is none."""
        try:
            return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except OSError:
            return None

    def _current(self) -> duckdb.DuckDBPyConnection:
        identity = identity_of(self.path)
        if identity is None:
            raise SnapshotUnavailable("no snapshot is published: run `etalon build` and `etalon publish`")
        self._cursors += 1
        if self._connection is None or identity != self._identity or self._cursors > MAX_CURSORS:
            self._connection, self._identity, self._cursors = self._open(), identity, 1
        return self._connection

    def _open(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": "1", "python_enable_replacements": "false"})
        try:
            connection.execute(f"ATTACH {sql_text(str(self.path))} AS snapshot (READ_ONLY)")
            connection.execute("SET allowed_directories = ?", [_part_folders(connection)])
            connection.execute("SET enable_external_access = false")
        except duckdb.Error as problem:
            connection.close()
            log.error("snapshot_refused", path=str(self.path), problem=str(problem))
            raise SnapshotUnavailable(UNUSABLE) from problem
        return connection


def _part_folders(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The folder in which the attached snapshot has rows as files; none in a snapshot that has none."""
    exists = "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'meta' AND table_name = 'part_folder'"
    if not connection.execute(exists).fetchall():
        return []
    return [str(path) for (path,) in connection.execute("SELECT path FROM snapshot.meta.part_folder").fetchall()]
