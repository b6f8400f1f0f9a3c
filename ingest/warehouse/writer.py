"""The one connection that writes the warehouse."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from ingest.warehouse.errors import WarehouseError, WarehouseLocked

_MEMORY_LIMIT = "320MB"

#: Rows are written as soon as a row group is full; of rows of several hundred columns DuckDB's usual 122,880 would
#: hold half a gigabyte, and be compressed only when the transaction ends.
_ROW_GROUP = 20_480


def open_writer(db_path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open the writer's database, making it if need be. WarehouseLocked while another process has it open.

    Whatever writes a database with raw tables opens it here: at its checkpoint, a connection with row groups of
    DuckDB's usual size would join those of all raw tables, which takes longer than loading them, and gigabytes.
    """
    path = Path(db_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    limits: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY_LIMIT,
        "temp_directory": f"{path}.tmp",
        "preserve_insertion_order": True,
        # Appending one part of a file after another leaves nothing to share out: a second thread slows the first, and
        # is wanted for decoding.
        "threads": 1,
    }
    # The size of row groups can be given only where a database is attached; it gets the name it would have had.
    con = duckdb.connect(config=limits)
    name = _quoted(path.stem, '"')
    try:
        with opening(path):
            con.execute(f"ATTACH {_quoted(str(path), chr(39))} AS {name} (ROW_GROUP_SIZE {_ROW_GROUP})")
        con.execute(f"USE {name}")
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of a block or nothing of it. What went wrong is raised: a failed commit leaves nothing to roll back."""
    con.execute("BEGIN")
    try:
        yield
        con.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Name the database that DuckDB cannot open: WarehouseLocked while another process writes it, or WarehouseError."""
    try:
        yield
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
            raise WarehouseLocked(
                f"{path}: another process is writing to the warehouse; wait until it ends and try again ({error})"
            ) from None
        raise WarehouseError(
            f"{path} is not a readable DuckDB database ({error}); restore a backup, or move it away "
            "and load the files again"
        ) from None


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote
