"""A hash of all that is in a warehouse: equal for equal rows in equal order, whenever they were loaded."""

import hashlib
from pathlib import Path

import duckdb

#: When a row was loaded is no part of what was loaded.
_TIMES = {"loaded_at"}
#: What was taken out of a warehouse is remembered, so that a snapshot with fewer files is known to be wanted.
_MEMORY = ("meta", "dropped")


def content_hash(db_path: str | Path, schemas: tuple[str, ...] = ("raw", "meta")) -> str:
    """SHA-256 over names, columns, types and rows, in their order, of all tables of the schemas."""
    running = hashlib.sha256()
    with duckdb.connect(str(db_path), read_only=True) as con:
        marks = ", ".join("?" for _ in schemas)
        tables = con.execute(
            "SELECT c.schema_name, c.table_name, list({'n': column_name, 't': data_type} ORDER BY column_name), "
            "any_value(estimated_size) FROM duckdb_columns() c "
            "LEFT JOIN duckdb_tables() USING (database_oid, table_oid) WHERE c.database_name = current_database() "
            f"AND NOT c.internal AND c.schema_name IN ({marks}) GROUP BY ALL ORDER BY ALL",
            list(schemas),
        ).fetchall()
        for schema, table, columns, size in tables:
            if (schema, table) == _MEMORY:
                continue
            kept = [column for column in columns if column["n"] not in _TIMES]
            running.update(repr((schema, table, [(c["n"], c["t"]) for c in kept])).encode())
            if size == 0:
                # Hundreds of tables are empty, and asking each for its rows takes most of the time.
                continue
            names = ", ".join(f'"{column["n"]}"' for column in kept)
            cursor = con.execute(f'SELECT hash({names}) AS h FROM "{schema}"."{table}" ORDER BY rowid')
            while rows := cursor.fetchmany(65536):
                running.update(b"".join(value.to_bytes(8, "little") for (value,) in rows))
    return running.hexdigest()
