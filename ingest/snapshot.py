"""The published snapshot as its readers see it: queried by anyone, changed by nobody."""

import importlib
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from ingest.files.outcome import ExitCode

if TYPE_CHECKING:
    import pyarrow as pa

READER: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

#: Statements that write no file; `SET` is refused by DuckDB. A query may read the folder of the parts, in which
#: DuckDB would let others write.
_READING = ("SELECT", "MULTI", "RELATION", "PRAGMA", "CALL", "SET", "VARIABLE_SET")
_EXPLAIN = re.compile(r"\s*explain\b(\s+analyze\b)?(\s*\([^()]*\))?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
#: Where tables named without a schema are looked for, and what `SHOW TABLES` shows.
_SEARCHED = ("marts", "meta")


class SnapshotError(Exception):
    """The snapshot cannot answer. The message says why, and what to do."""

    exit_code = ExitCode.FAILED


class SnapshotMissing(SnapshotError):
    """There is no published snapshot."""

    exit_code = ExitCode.NOT_READY


class SnapshotDamaged(SnapshotError):
    """The published file is no database that can be read."""

    exit_code = ExitCode.NOT_READY


class BadQuery(SnapshotError):
    """A query that DuckDB refuses."""

    exit_code = ExitCode.BAD_QUERY


def published(snapshot: str | Path) -> Path:
    """The path of the snapshot; SnapshotMissing where nothing has been published."""
    path = Path(snapshot)
    if not path.is_file():
        raise SnapshotMissing(f"{path}: nothing has been published yet; run `etalon build` (or `etalon demo`) first")
    return path


def connected(snapshot: str | Path, config: dict[str, Any] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that reads the snapshot. SnapshotMissing where nothing has been published; SnapshotDamaged."""
    path = published(snapshot)
    try:
        return duckdb.connect(str(path), read_only=True, config=config or READER)
    except duckdb.Error as error:
        # DuckDB has no exception class for a damaged block.
        if type(error) not in (duckdb.Error, duckdb.IOException, duckdb.SerializationException):
            raise
        why = str(error).splitlines()[0]
        raise SnapshotDamaged(f"{path}: cannot be read ({why}); run `etalon publish` to replace it") from None


@contextmanager
def kept_open(snapshot: str | Path) -> Iterator[None]:
    """Queries of the snapshot within the block do not open it anew, which takes a tenth of a second each time.

    All of them read the same state, whatever is published meanwhile. SnapshotMissing where nothing has been published.
    """
    with connected(snapshot) as con:
        _confine(con)
        yield


@contextmanager
def query_relation(
    snapshot: str | Path, sql: str, parameters: Sequence[Any] = ()
) -> Iterator[duckdb.DuckDBPyRelation | None]:
    """Result of a query over the published snapshot, to be read within the block; None for a statement without rows.

    The query cannot change the snapshot, and reads and writes no other file. Tables of `marts` and `meta` need not be
    named with their schema. SnapshotMissing where nothing has been published; BadQuery, with DuckDB's message, where
    the query cannot be run, and for any number of statements but one.
    """
    try:
        with connected(snapshot) as con:
            _confine(con)
            statements = con.extract_statements(sql)
            if len(statements) != 1:
                many = len(statements)
                problem = f"there are {many} statements; ask one at a time" if many else "the query is empty"
                raise BadQuery(f"{problem}; `SHOW TABLES` lists the tables")
            if (kind := _kind(con, statements[0])) not in _READING:
                raise BadQuery(f"{kind} is no query; a query reads the snapshot alone and writes no file")
            yield con.sql(sql, params=list(parameters) or None)
    except duckdb.PermissionException as error:
        raise BadQuery(f"{error}; a query reads the snapshot alone and writes no file") from None
    except duckdb.Error as error:
        raise BadQuery(str(error)) from None


def query(snapshot: str | Path, sql: str, parameters: Sequence[Any] = ()) -> "pa.Table":
    """Rows of a query over the published snapshot, with the rules of `query_relation`."""
    # DuckDB opens a database of hundreds of tables while Arrow is loaded, which takes as long.
    loading = threading.Thread(target=importlib.import_module, args=["pyarrow"])
    loading.start()
    with query_relation(snapshot, sql, parameters) as relation:
        loading.join()
        import pyarrow as pa

        return pa.table({}) if relation is None else relation.to_arrow_table()


def _kind(con: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> str:
    """The kind of a statement, or of the one that it explains."""
    explained = _EXPLAIN.fullmatch(statement.query) if statement.type.name == "EXPLAIN" else None
    if explained:
        inner = con.extract_statements(explained["rest"])
        return inner[0].type.name if inner else "EXPLAIN"
    return str(statement.type.name)


def _confine(con: duckdb.DuckDBPyConnection) -> None:
    """Read nothing but the snapshot and its parts from now on, and change no setting.

    Tables are looked for where a planner expects them, as far as the snapshot has the schemas.
    """
    present = {name for (name,) in con.execute("SELECT schema_name FROM duckdb_schemas()").fetchall()}
    wanted = ",".join(name for name in _SEARCHED if name in present)
    con.execute(f"SET search_path = '{wanted or 'main'}'")
    # Where the snapshot is kept open, the first query has locked them for all.
    if con.execute("SELECT current_setting('lock_configuration')").fetchall() != [(True,)]:
        con.execute("SET allowed_directories = ?", [part_folders(con)])
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")


def part_folders(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The folder with parts of the open snapshot, none of one that has none."""
    try:
        return [str(path) for (path,) in con.execute("SELECT path FROM meta.part_folder").fetchall()]
    except duckdb.CatalogException:
        return []
