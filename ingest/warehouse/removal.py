"""Takes files out of the warehouse again: their rows, what was quarantined of them, and their entry in the ledger."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ingest.containers.opening import form_of, unpack
from ingest.files.inputs import digest
from ingest.files.names import shown
from ingest.formats.identify import HEAD_BYTES
from ingest.warehouse import ledger, overlaps
from ingest.warehouse.errors import FileUnknown
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer


def remove(db_path: str | Path, names: Iterable[str]) -> list[str]:
    """Take files out of the database at `db_path`, all of them or none; their paths as the ledger has them.

    A file is named by its path, or by the last part of it where no other file has the same; an archive stands for all
    files that were loaded from it. Records that another file
    has, too, count there from now on. Raises FileUnknown for a name that stands for no file or several, and
    WarehouseLocked while another process writes.
    """
    with open_writer(db_path) as con:
        ledger.create(con)
        paths = list(dict.fromkeys(path for name in names for path in _paths(con, name)))
        tables = Tables(con)
        con.execute("BEGIN")
        for path in paths:
            for entry in ledger.all_of_path(con, path):
                ledger.put_down_dropped(con, entry, path)
                take_out(con, tables, entry)
        con.execute("COMMIT")
    return paths


def take_out(con: duckdb.DuckDBPyConnection, tables: Tables, entry: ledger.Entry) -> None:
    """Remove a file from the tables of the open connection."""
    tables.remove(entry.file_id, list(entry.row_counts))
    overlaps.release(con, entry.file_id)
    con.execute("DELETE FROM meta.ledger WHERE file_id = ?", [entry.file_id])


def _paths(con: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """The paths that a name stands for in the ledger: of one file, or of all files of one archive."""
    whole = shown(os.path.realpath(name))
    files: dict[str, list[str]] = {}
    query = (
        "SELECT path, bool_or(status <> 'failed') FROM meta.ledger "
        "WHERE contains(path, $name) OR contains(path, $whole) GROUP BY path ORDER BY path"
    )
    states = dict(con.execute(query, {"name": name, "whole": whole}).fetchall())
    for path in states:
        # The mark of what came from an archive may stand in the name of a file, too.
        archives = [] if Path(path).exists() else [path[: mark.start()] for mark in re.finditer("!", path)]
        for file in (path, *(archive for archive in archives if not states.get(archive))):
            if file in (whole, name) or file.endswith(f"/{name}"):
                files.setdefault(file, []).append(path)
    if not files:
        if same := _of_content(con, Path(name)):
            raise FileUnknown(f"{name}: was not loaded, as {same} holds the same; name that one")
        raise FileUnknown(
            f"{name}: no such file was loaded; `etalon sql 'SELECT path FROM meta.ledger'` lists those that were"
        )
    chosen = next(file for file in (whole, name, *files) if file in files)
    if len(files) > 1 and chosen not in (whole, name):
        raise FileUnknown(f"{name}: several files are called so, name one by its path: {', '.join(files)}")
    return files[chosen]


def _of_content(con: duckdb.DuckDBPyConnection, file: Path) -> str | None:
    """The path that the content of a file, packed or not, was loaded from, where it was another."""
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        form = form_of(stream.read(HEAD_BYTES))
    with TemporaryDirectory(prefix="etalon-") as scratch:
        inside = (member.path for member in unpack(file, file.name, form, Path(scratch))) if form else [file]
        for path in inside:
            query = "SELECT path FROM meta.ledger WHERE sha256 = ?"
            if row := con.execute(query, [digest(path, path.stat().st_size).sha256]).fetchone():
                return str(row[0])
    return None
