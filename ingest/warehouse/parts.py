"""Rows of raw tables in Parquet files next to the database: the parts.

`meta.part` has a row for each part and file, and is what makes their rows count: it is written in the transaction that
loads the file. `meta.part_hole` names the files of which a part has rows that do not count. A raw table with parts is a
view over them and over a table of its other rows, whose name ends with `__rows`. So is `meta.record_identity`. A part
is never changed. It is deleted once neither the database nor a published catalogue names it.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from ingest.units.parts import IDENTITIES, UNSIGNED, Part
from ingest.warehouse.writer import open_writer
from state.files import sync

SUFFIX = "__rows"
"""Suffix of the name of a table for the rows in no part."""

CREATE = (
    """CREATE TABLE IF NOT EXISTS meta.part (
        table_name VARCHAR NOT NULL, path VARCHAR NOT NULL, rows UBIGINT NOT NULL, bytes UBIGINT NOT NULL,
        file_id UBIGINT NOT NULL, written_from UBIGINT, written_to UBIGINT, columns VARCHAR NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS meta.part_folder (path VARCHAR NOT NULL)",
    "CREATE TABLE IF NOT EXISTS meta.part_hole (path VARCHAR NOT NULL, file_id UBIGINT NOT NULL)",
)

_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER")
_BY_BITS = {"8": "UTINYINT", "16": "USMALLINT", "32": "UINTEGER", "64": "UBIGINT"}
_ALL_BITS = (1 << 64) - 1


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables unless they are there."""
    for statement in CREATE:
        con.execute(statement)


def folder_of(database: str | Path) -> Path:
    """Where the parts of a database are."""
    return Path(database).absolute().with_suffix(".parts")


def folder(con: duckdb.DuckDBPyConnection) -> Path:
    """Where the parts of the open database are."""
    [(path,)] = con.execute("SELECT path FROM duckdb_databases() WHERE database_name = current_database()").fetchall()
    return folder_of(path)


def rows_table(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """The table, with its schema, of the rows of a raw table, or of the identities, that are in no part."""
    has_parts = con.execute("SELECT 1 FROM meta.part WHERE table_name = ? LIMIT 1", [table]).fetchall()
    return f'{_schema(table)}."{table}{SUFFIX if has_parts else ""}"'


def add(con: duckdb.DuckDBPyConnection, parts: Collection[Part]) -> None:
    """Put down parts that were written to the folder of the open database, when they are on the disk."""
    root = folder(con)
    paths = {Path(part.path) for part in parts}
    for path in (*paths, *{path.parent for path in paths}, root, root.parent) if paths else ():
        sync(path)
    rows = [
        (
            part.table,
            str(Path(part.path).relative_to(root)),
            *(part.rows, part.bytes, part.file_id, part.written_from, part.written_to),
            _columns(Path(part.path)),
        )
        for part in parts
    ]
    if rows:
        con.executemany("INSERT INTO meta.part VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        _put_down_folder(con, root)
        make_views(con, sorted({part.table for part in parts}))


def remove(con: duckdb.DuckDBPyConnection, files: Collection[int], tables: Collection[str] | None = None) -> int:
    """Put down no more the parts of files, of some tables or of all; how many rows they have."""
    chosen = "list_contains($files, file_id)" + ("" if tables is None else " AND list_contains($tables, table_name)")
    values = {"files": list(files)} | ({} if tables is None else {"tables": list(tables)})
    removed_parts = con.execute(
        f"DELETE FROM meta.part WHERE {chosen} RETURNING table_name, rows, path, file_id", values
    ).fetchall()
    if removed_parts:
        con.executemany("INSERT INTO meta.part_hole VALUES (?, ?)", [row[2:] for row in removed_parts])
        con.execute("DELETE FROM meta.part_hole WHERE path NOT IN (SELECT path FROM meta.part)")
    make_views(con, sorted({table for table, *_ in removed_parts}))
    return sum(rows for _, rows, *_ in removed_parts)


def counted(con: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, int, list[int] | None]]:
    """The parts of a table: path, rows that count, and the files whose rows count, None where those of all do."""
    return con.execute(
        "SELECT path, sum(rows)::BIGINT, CASE WHEN path IN (SELECT path FROM meta.part_hole) "
        "THEN list(file_id ORDER BY file_id) END FROM meta.part WHERE table_name = ? GROUP BY path ORDER BY path",
        [table],
    ).fetchall()


def drop_rows(con: duckdb.DuckDBPyConnection, table: str, files: Collection[int]) -> int:
    """Drop what files have of a raw table, or of the identities; how many rows that are."""
    rest = rows_table(con, table)
    [(rows,)] = con.execute(f"DELETE FROM {rest} WHERE list_contains(?, file_id)", [list(files)]).fetchall()
    return int(rows) + remove(con, files, [table])


def filled(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The raw tables that have rows, about: those with parts have."""
    names = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND estimated_size > 0 "
        "AND database_name = current_database() UNION SELECT view_name FROM duckdb_views() "
        "WHERE schema_name = 'raw' AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    return sorted({name.removesuffix(SUFFIX) for (name,) in names})


def tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables that have parts."""
    return [name for (name,) in con.execute("SELECT DISTINCT table_name FROM meta.part ORDER BY ALL").fetchall()]


def bring_up_to(con: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Make all views name the parts in a folder, unless they do.

    A database to build in has no such folder: its views name the parts of the warehouse.
    """
    names = tables(con) if root.is_dir() else []
    if names and con.execute("SELECT path FROM meta.part_folder").fetchall() != [(str(root),)]:
        _put_down_folder(con, root)
        make_views(con, names)


def _put_down_folder(con: duckdb.DuckDBPyConnection, root: Path) -> None:
    con.execute("DELETE FROM meta.part_folder")
    con.execute("INSERT INTO meta.part_folder VALUES (?)", [str(root)])


def move_parts(snapshot: Path, warehouse: Path) -> None:
    """Make a snapshot, if there is one, name the parts next to a warehouse, as after both were copied there."""
    if snapshot.is_file():
        with open_writer(snapshot) as con:
            create(con)
            bring_up_to(con, folder_of(warehouse))


def make_views(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Make the views of tables anew: of those that have parts, and plain tables of those that have none any more.

    They name the parts in the folder that `meta.part_folder` tells.
    """
    for table in names:
        schema = _schema(table)
        listed = con.execute(
            "SELECT columns, list(DISTINCT path ORDER BY path) FROM meta.part WHERE table_name = ? GROUP BY columns "
            "ORDER BY 2",
            [table],
        ).fetchall()
        rest, is_split = f'{schema}."{table}{SUFFIX}"', _exists(con, schema, table + SUFFIX)
        if not listed:
            if is_split:
                con.execute(f'DROP VIEW IF EXISTS {schema}."{table}"')
                con.execute(f'ALTER TABLE {rest} RENAME TO "{table}"')
            continue
        if not is_split:
            con.execute(f'ALTER TABLE {schema}."{table}" RENAME TO "{table}{SUFFIX}"')
        columns = con.execute(f"DESCRIBE {rest}").fetchall()
        kinds = {column: kind for column, kind, *_ in columns}
        [(root,)] = con.execute("SELECT path FROM meta.part_folder").fetchall()
        queries = [f"SELECT {', '.join(map(_quoted, kinds))} FROM {rest}"]
        queries += [_query(con, kinds, Path(root), paths) for _, paths in listed]
        con.execute(f'CREATE OR REPLACE VIEW {schema}."{table}" AS {" UNION ALL ".join(queries)}')


def identities(con: duckdb.DuckDBPyConnection, low: int, high: int) -> str:
    """A query for the identities of records written in a time: of parts that hold any, and of the other rows."""
    rest = rows_table(con, IDENTITIES)
    limits = f"written_raw BETWEEN {low} AND {high}"
    paths = con.execute(
        "SELECT DISTINCT path FROM meta.part WHERE table_name = ? AND written_to >= ? AND written_from <= ? "
        "ORDER BY path",
        [IDENTITIES, low, high],
    ).fetchall()
    query = f"SELECT * FROM {rest} WHERE {limits}"
    if paths:
        query += f" UNION ALL SELECT * FROM ({_of_parts(con, rest, [path for (path,) in paths])}) WHERE {limits}"
    return query


def identities_of(con: duckdb.DuckDBPyConnection, file_id: int) -> str:
    """A query for the identities of a file's records, which reads its parts and no others."""
    rest = rows_table(con, IDENTITIES)
    query = f"SELECT * FROM {rest} WHERE file_id = {file_id}"
    paths = con.execute(
        "SELECT path FROM meta.part WHERE table_name = ? AND file_id = ? ORDER BY path", [IDENTITIES, file_id]
    ).fetchall()
    if paths:
        query += f" UNION ALL FROM ({_of_parts(con, rest, [path for (path,) in paths])}) WHERE file_id = {file_id}"
    return query


def _of_parts(con: duckdb.DuckDBPyConnection, like: str, paths: Sequence[str]) -> str:
    """A query for the rows of parts, with the columns of a table."""
    kinds = {column: kind for column, kind, *_ in con.execute(f"DESCRIBE {like}").fetchall()}
    return _query(con, kinds, folder(con), paths)


def named(con: duckdb.DuckDBPyConnection, snapshot: Path | None = None) -> set[str]:
    """The parts that a snapshot, or the open warehouse, names; none where it is of an earlier version or missing."""
    schema = "meta"
    if snapshot is not None:
        schema = "snapshot.meta"
        try:
            con.execute(f"ATTACH {_text(str(snapshot))} AS snapshot (READ_ONLY)")
        except duckdb.Error:
            return set()
    try:
        return {path for (path,) in con.execute(f"SELECT path FROM {schema}.part").fetchall()}
    except duckdb.CatalogException:
        return set()
    finally:
        if snapshot is not None:
            con.execute("DETACH snapshot")


def sweep(con: duckdb.DuckDBPyConnection, kept: Collection[str]) -> None:
    """Delete the parts that neither the database names nor `kept` does, as those of killed loads."""
    names = named(con) | set(kept)
    root = folder(con)
    for path in root.glob("*/*.parquet"):
        if str(path.relative_to(root)) not in names:
            path.unlink(missing_ok=True)


def _query(con: duckdb.DuckDBPyConnection, kinds: dict[str, str], root: Path, paths: Sequence[str]) -> str:
    """The rows that count of parts that have the same columns, with the types of the table."""
    described = con.execute(f"DESCRIBE FROM read_parquet([{_text(str(root / paths[0]))}])").fetchall()
    types = {column: kind for column, kind, *_ in described}
    casts = [(_cast(_quoted(name), types.get(name), kind), _quoted(name)) for name, kind in kinds.items()]
    chosen = ", ".join(f"{value} AS {name}" for value, name in casts)
    files: dict[str, list[int]] = dict(
        con.execute(
            "SELECT path, list(file_id) FROM meta.part SEMI JOIN meta.part_hole USING (path) "
            "WHERE list_contains($paths, path) GROUP BY path",
            {"paths": list(paths)},
        ).fetchall()
    )
    whole = ", ".join(_text(str(root / path)) for path in paths if path not in files)
    queries = [f"SELECT {chosen} FROM read_parquet([{whole}])"] if whole else []
    for path, counting in files.items():
        ids = ", ".join(str(signed_id(file_id)) for file_id in counting)
        queries.append(f"SELECT {chosen} FROM read_parquet([{_text(str(root / path))}]) WHERE file_id IN ({ids})")
    return " UNION ALL ".join(queries)


def signed_id(file_id: int) -> int:
    """The number of a file as parts have it, with a sign."""
    return file_id - (1 << 64 if file_id >> 63 else 0)


def _cast(name: str, part_kind: str | None, kind: str) -> str:
    """A column of a part as what it is in the table; NULL where a part has none, or none of the type."""
    if part_kind is None:
        return f"NULL::{kind}"
    if part_kind == kind:
        return name
    if kind == "UBIGINT" and part_kind == "BIGINT":
        return f"({name}::HUGEINT & {_ALL_BITS}::HUGEINT)::UBIGINT"
    if kind in _UNSIGNED and "INT" in part_kind:
        return f"{name}::{kind}"
    # Bytes that no layout had a figure for hold it with its highest byte first.
    value = f"'0x' || hex({name})" if part_kind == "BLOB" and "INT" in kind else name
    return f"TRY_CAST({value} AS {kind})"


def columns_of(con: duckdb.DuckDBPyConnection, path: str) -> list[tuple[str, str]]:
    """Columns of a part with the types that they have in a table."""
    described = con.execute(f"DESCRIBE FROM read_parquet([{_text(path)}])").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    columns = []
    for field in pq.read_schema(path):
        bits = (field.metadata or {}).get(UNSIGNED.encode(), b"").decode()
        columns.append((field.name, _BY_BITS[bits] if bits else kinds[field.name]))
    return [(name, kind + " NOT NULL" * (name == "file_id")) for name, kind in columns]


def _exists(con: duckdb.DuckDBPyConnection, schema: str, table: str) -> bool:
    tables = "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()"
    query = f"{tables} AND schema_name = ? AND table_name = ?"
    return bool(con.execute(query, [schema, table]).fetchall())


def _columns(path: Path) -> str:
    """Twelve hexadecimal digits that are the same for parts of the same columns."""
    return hashlib.sha256(repr([(f.name, str(f.type)) for f in pq.read_schema(path)]).encode()).hexdigest()[:12]


def _schema(table: str) -> str:
    return "meta" if table == IDENTITIES else "raw"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
