"""The published snapshot: swapped in whole, read by anyone, never blocking the writer."""

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ingest.registry import Registry
from ingest.schema import staging_statements
from ingest.warehouse.errors import BadQuery, SnapshotMissing, WarehouseMissing
from ingest.warehouse.writer import open_writer

_READER: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

#: Settings of a query that comes from outside: nothing but the snapshot is read, and no file is written.
_CONFINED = {**_READER, "enable_external_access": False}
#: Where tables named without a schema are looked for, and what `SHOW TABLES` shows.
_SEARCHED = ("marts", "meta")


def publish(db_path: str | Path, snapshot: str | Path, registry: Registry | None = None) -> Path:
    """Put a copy of the warehouse in place of the snapshot, in one step.

    With a registry, the copy gets the staging views over its raw tables that the warehouse itself does without. Readers
    of the old snapshot keep it until they close it; who opens afterwards sees the new one; there is never a moment
    without a whole snapshot. Raises WarehouseLocked while another process writes, WarehouseMissing if there is no
    warehouse.
    """
    source, target = Path(db_path), Path(snapshot)
    if not source.is_file():
        raise WarehouseMissing(f"{source}: there is no warehouse to publish; ingest something first")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The open connection keeps others from writing and publishing while the file, checkpointed, is copied.
    with open_writer(source) as con:
        for left in target.parent.glob(f".{target.name}.*.tmp*"):
            left.unlink()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        os.close(handle)
        try:
            con.execute("CHECKPOINT")
            _copy(source, name)
            if registry is not None:
                _add_staging_views(name, registry)
            _sync(name)
            Path(name).chmod(0o644)
            Path(name).replace(target)
            _sync(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return target


def _copy(source: Path, target: str) -> None:
    """Copy a file; where the file system can, as XFS and Btrfs, both share their blocks until one is written to."""
    if not hasattr(os, "copy_file_range"):  # Linux has it, macOS not.
        shutil.copyfile(source, target)
        return
    left = source.stat().st_size
    try:
        with source.open("rb") as read, Path(target).open("wb") as written:
            while left:
                copied = os.copy_file_range(read.fileno(), written.fileno(), left)
                if not copied:
                    raise OSError(f"{source}: became shorter while it was copied")
                left -= copied
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        shutil.copyfile(source, target)


def _add_staging_views(path: str, registry: Registry) -> None:
    with duckdb.connect(path, config=_READER) as con:
        listed = con.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('raw', 'staging')"
        ).fetchall()
        present = {schema: {name for kind, name in listed if kind == schema} for schema in ("raw", "staging")}
        con.execute("BEGIN")
        for statement in staging_statements(registry, present["raw"], present["staging"]):
            con.execute(statement)
        con.execute("COMMIT")


def query(snapshot: str | Path, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
    """Rows of a query over the published snapshot, which it cannot change. It reads and writes no other file.

    Tables of `marts` and `meta` need not be named with their schema. SnapshotMissing where nothing has been published;
    BadQuery, with DuckDB's own words, where the query cannot be run, and for any number of statements but one.
    """
    path = Path(snapshot)
    if not path.is_file():
        raise SnapshotMissing(f"{path}: nothing has been published yet; run `etalon build` (or `etalon demo`) first")
    try:
        with duckdb.connect(str(path), read_only=True, config=_CONFINED) as con:
            statements = len(con.extract_statements(sql))
            if statements != 1:
                what = f"there are {statements} statements; ask one at a time" if statements else "the query is empty"
                raise BadQuery(f"{what}; `SHOW TABLES` shows what can be asked")
            _search(con)
            relation = con.sql(sql, params=list(parameters) or None)
            return pa.table({}) if relation is None else relation.to_arrow_table()
    except duckdb.PermissionException as error:
        raise BadQuery(f"{error}; a query reads the snapshot alone and writes no file") from None
    except duckdb.Error as error:
        raise BadQuery(str(error)) from None


def _search(con: duckdb.DuckDBPyConnection) -> None:
    """Look for tables where a planner expects them, as far as the snapshot has the schemas; then no setting changes."""
    present = {name for (name,) in con.execute("SELECT schema_name FROM duckdb_schemas()").fetchall()}
    wanted = ",".join(name for name in _SEARCHED if name in present)
    con.execute(f"SET search_path = '{wanted or 'main'}'")
    con.execute("SET lock_configuration = true")


def _sync(path: str | Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
