"""The published snapshot: swapped in whole, read by anyone, never blocking the writer."""

import errno
import fcntl
import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import Collection
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.registry import Registry
from ingest.schema import staging_statements
from ingest.warehouse import ledger, merging, overlaps, parts, systems
from ingest.warehouse.errors import WarehouseMissing
from ingest.warehouse.writer import open_writer
from state.files import sync

_log = logging.getLogger("etalon.ingest")


def publish(
    db_path: str | Path, snapshot: str | Path, registry: Registry | None = None, kept: Collection[Path] = ()
) -> Path:
    """Put a copy of the warehouse in place of the snapshot, in one step.

    Many small parts of a table become few. The parts of raw tables are not copied: the snapshot names them as the
    warehouse does. Those that the warehouse names no longer are deleted once no snapshot that somebody reads names
    them, and none of the databases `kept`, which nobody may replace meanwhile.

    With a registry, the copy gets the staging views over its raw tables that the warehouse itself does without. Readers
    of the old snapshot keep it until they close it; who opens afterwards sees the new one; there is never a moment
    without a whole snapshot. Who may read its folder may read it.

    Raises WarehouseLocked while another process writes, WarehouseMissing if there is no warehouse.
    """
    source, target = Path(db_path), Path(snapshot)
    if not source.is_file():
        raise WarehouseMissing(f"{source}: no warehouse to publish; load files first with `etalon ingest PATH`")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The open connection keeps others from writing and publishing while the file, checkpointed, is copied.
    with open_writer(source) as con:
        for left in target.parent.glob(f".{target.name}.*.tmp*"):
            left.unlink()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        os.close(handle)
        try:
            ledger.create(con)
            overlaps.settle(con)
            parts.bring_up_to(con, parts.folder(con))
            _merge_small(con)
            con.execute("CHECKPOINT")
            _copy(source, name)
            if registry is not None:
                _add_staging_views(name, registry)
            sync(name)
            Path(name).chmod(target.parent.stat().st_mode & 0o644)
            _keep_named(con, target)
            Path(name).replace(target)
            sync(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        parts.sweep(con, _named_by_read(con, target).union(*(parts.named(con, path) for path in kept)))
    return target


def _merge_small(con: duckdb.DuckDBPyConnection) -> None:
    """Merge small parts, unless that fails, as on a full disk: what is published has the same rows without."""
    try:
        merging.merge_small(con, merging.MOST_SMALL)
    except (OSError, duckdb.Error, pa.ArrowException) as error:
        _log.warning("small parts were not merged: %s; the next publication tries again", error)


def _keep_named(con: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Keep the snapshot under another name, if it names parts that the warehouse does not: somebody may read it."""
    if target.is_file() and parts.named(con, target) - parts.named(con):
        os.link(target, target.with_name(f".{target.name}.{uuid.uuid4().hex}.read"))


def _named_by_read(con: duckdb.DuckDBPyConnection, target: Path) -> set[str]:
    """The parts that earlier snapshots name which somebody reads; those that nobody does go."""
    named: set[str] = set()
    for earlier in target.parent.glob(f".{target.name}.*.read"):
        if _is_read(earlier):
            named |= parts.named(con, earlier)
        else:
            earlier.unlink()
    return named


def _is_read(path: Path) -> bool:
    """Whether another process has a database open: DuckDB locks it."""
    with path.open("r+b") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


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
    with open_writer(path) as con:
        listed = con.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('raw', 'staging')"
        ).fetchall()
        present = {schema: {name for kind, name in listed if kind == schema} for schema in ("raw", "staging")}
        con.execute("BEGIN")
        for statement in staging_statements(
            registry, present["raw"], present["staging"], named=systems.are_shared(con)
        ):
            con.execute(statement)
        con.execute("COMMIT")
