"""Staging views in the writer's database: of the raw tables that models read."""

from collections.abc import Collection
from pathlib import Path

import duckdb

from ingest.registry import Registry
from ingest.schema import staging_statements
from ingest.warehouse import systems
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer


def make_views(db_path: str | Path, registry: Registry, tables: Collection[str]) -> frozenset[str]:
    """Make the staging views of raw tables anew, with the columns that an earlier version did not have.

    Returns the tables among them that have rows.
    Raises WarehouseError (WarehouseLocked while another process writes) when the database cannot be opened.
    """
    with open_writer(db_path) as con:
        Tables(con).bring_up_to(registry)
        existing = {name for (name,) in con.execute(_RAW).fetchall()}
        others = {f"stg_{section.table}" for _, section in registry.tables() if section.table not in tables}
        con.execute("BEGIN")
        for statement in staging_statements(registry, existing, others, named=systems.are_shared(con)):
            con.execute(statement.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1))
        con.execute("COMMIT")
        return frozenset(table for table in tables if table in existing and _has_rows(con, table))


_RAW = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'raw'"


def _has_rows(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    return con.execute(f'SELECT 1 FROM raw."{table}" LIMIT 1').fetchone() is not None
