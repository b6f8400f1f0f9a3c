"""What a warehouse holds: rows of its tables, and files beside it."""

from pathlib import Path

import duckdb


def content(database: Path) -> dict[str, list]:
    """The rows of all tables of `raw` and `meta`, in order, but for where they are and when they came or went."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute(
            "SELECT schema_name, table_name, list(column_name ORDER BY column_name) FROM duckdb_columns() "
            "WHERE schema_name IN ('raw', 'meta') AND table_name NOT LIKE '%\\_\\_rows' ESCAPE '\\' "
            "AND table_name NOT LIKE 'part%' AND table_name NOT IN ('raw_columns', 'dropped') GROUP BY ALL"
        ).fetchall()
        found = {}
        for schema, table, columns in tables:
            names = ", ".join(f'"{name}"' for name in columns if name != "loaded_at")
            found[table] = con.execute(f'SELECT {names} FROM {schema}."{table}" ORDER BY ALL').fetchall()
        return found


def files(database: Path) -> set[str]:
    root = database.with_suffix(".parts")
    return {str(path.relative_to(root)) for path in root.glob("*/*")}


def named(database: Path) -> set[str]:
    with duckdb.connect(str(database), read_only=True) as con:
        return {path for (path,) in con.execute("SELECT path FROM meta.part").fetchall()}
