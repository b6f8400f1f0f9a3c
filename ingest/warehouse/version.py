"""The version of what is in a warehouse; the first released ones have none in them."""

import duckdb

#: Counts up when what is in the warehouse changes so that an earlier one has to be brought up to it.
SCHEMA = 1


def read(con: duckdb.DuckDBPyConnection) -> int:
    """The version of an open warehouse; 0 for one that was made before there were versions."""
    try:
        return int(con.execute("SELECT version FROM meta.warehouse_schema").fetchall()[0][0])
    except (duckdb.CatalogException, IndexError):
        return 0


def write(con: duckdb.DuckDBPyConnection) -> None:
    """Mark an open warehouse as one of this version."""
    con.execute(f"CREATE OR REPLACE TABLE meta.warehouse_schema AS SELECT {SCHEMA}::INTEGER AS version")
