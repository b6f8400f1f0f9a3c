"""The published snapshot as its readers see it: queried by anyone, changed by nobody."""

import importlib
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

#: Settings of a query that comes from outside: nothing but the snapshot is read, and no file is written.
_CONFINED = {**READER, "enable_external_access": False}
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
        # What DuckDB says of a damaged block has no class of its own.
        if type(error) not in (duckdb.Error, duckdb.IOException, duckdb.SerializationException):
            raise
        why = str(error).splitlines()[0]
        raise SnapshotDamaged(f"{path}: cannot be read ({why}); run `etalon publish`, which makes it anew") from None


@contextmanager
def kept_open(snapshot: str | Path) -> Iterator[None]:
    """Queries of the snapshot within the block do not open it anew, which takes a tenth of a second each time.

    All of them read the same state, whatever is published meanwhile. SnapshotMissing where nothing has been published.
    """
    with connected(snapshot, _CONFINED):
        yield


@contextmanager
def asked(snapshot: str | Path, sql: str, parameters: Sequence[Any] = ()) -> Iterator[duckdb.DuckDBPyRelation | None]:
    """What a query over the published snapshot gives, to be read within the block; None of a statement without rows.

    The query cannot change the snapshot, and reads and writes no other file. Tables of `marts` and `meta` need not be
    named with their schema. SnapshotMissing where nothing has been published; BadQuery, with DuckDB's own words, where
    the query cannot be run, and for any number of statements but one.
    """
    try:
        with connected(snapshot, _CONFINED) as con:
            statements = len(con.extract_statements(sql))
            if statements != 1:
                what = f"there are {statements} statements; ask one at a time" if statements else "the query is empty"
                raise BadQuery(f"{what}; `SHOW TABLES` shows what can be asked")
            _search(con)
            yield con.sql(sql, params=list(parameters) or None)
    except duckdb.PermissionException as error:
        raise BadQuery(f"{error}; a query reads the snapshot alone and writes no file") from None
    except duckdb.Error as error:
        raise BadQuery(str(error)) from None


def query(snapshot: str | Path, sql: str, parameters: Sequence[Any] = ()) -> "pa.Table":
    """Rows of a query over the published snapshot, as `asked` takes it."""
    # DuckDB opens a database of hundreds of tables while Arrow is loaded, which takes as long.
    loading = threading.Thread(target=importlib.import_module, args=["pyarrow"])
    loading.start()
    with asked(snapshot, sql, parameters) as relation:
        loading.join()
        import pyarrow as pa

        return pa.table({}) if relation is None else relation.to_arrow_table()


def _search(con: duckdb.DuckDBPyConnection) -> None:
    """Look for tables where a planner expects them, as far as the snapshot has the schemas; then no setting changes."""
    present = {name for (name,) in con.execute("SELECT schema_name FROM duckdb_schemas()").fetchall()}
    wanted = ",".join(name for name in _SEARCHED if name in present)
    con.execute(f"SET search_path = '{wanted or 'main'}'")
    # Where the snapshot is kept open, the first query has locked them for all.
    if con.execute("SELECT current_setting('lock_configuration')").fetchall() != [(True,)]:
        con.execute("SET lock_configuration = true")
