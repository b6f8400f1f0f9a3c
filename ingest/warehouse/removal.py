"""Takes files out of the warehouse again: their rows, what was quarantined of them, and their entry in the ledger."""

import os
from collections.abc import Iterable
from pathlib import Path

import duckdb

from ingest.files.inputs import digest
from ingest.files.names import shown
from ingest.warehouse import ledger, overlaps
from ingest.warehouse.errors import FileUnknown
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer


def remove(db_path: str | Path, names: Iterable[str]) -> list[str]:
    """Take files out of the database at `db_path`, all of them or none; their paths as the ledger has them.

    A file is named by its path, or by the last part of it where no other file has the same. Records that another file
    has, too, count there from now on. Raises FileUnknown for a name that stands for no file or several, and
    WarehouseLocked while another process writes.
    """
    with open_writer(db_path) as con:
        ledger.create(con)
        paths = list(dict.fromkeys(_path(con, name) for name in names))
        tables = Tables(con)
        con.execute("BEGIN")
        for path in paths:
            for entry in ledger.all_of_path(con, path):
                take_out(con, tables, entry)
        con.execute("COMMIT")
    return paths


def take_out(con: duckdb.DuckDBPyConnection, tables: Tables, entry: ledger.Entry) -> None:
    """Remove a file from the tables of the open connection."""
    tables.remove(entry.file_id, list(entry.row_counts))
    overlaps.release(con, entry.file_id)
    con.execute("DELETE FROM meta.ledger WHERE file_id = ?", [entry.file_id])


def _path(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """The path that a name stands for in the ledger."""
    whole = shown(os.path.realpath(name))
    found = [
        row[0]
        for row in con.execute(
            "SELECT DISTINCT path FROM meta.ledger WHERE path IN ($whole, $name) OR ends_with(path, '/' || $name) "
            "ORDER BY path <> $whole, path <> $name, path",
            {"whole": whole, "name": name},
        ).fetchall()
    ]
    if not found:
        if same := _of_content(con, Path(name)):
            raise FileUnknown(f"{name}: was not loaded, as {same} holds the same; name that one")
        raise FileUnknown(f"{name}: no such file was loaded; the report of `etalon check` lists those that were")
    if len(found) > 1 and found[0] not in (whole, name):
        raise FileUnknown(f"{name}: several files are called so, name one by its path: {', '.join(found)}")
    return str(found[0])


def _of_content(con: duckdb.DuckDBPyConnection, file: Path) -> str | None:
    """The path that the content of a file was loaded from, where it was another."""
    if not file.is_file():
        return None
    query = "SELECT path FROM meta.ledger WHERE sha256 = ?"
    row = con.execute(query, [digest(file, file.stat().st_size).sha256]).fetchone()
    return str(row[0]) if row else None
