"""A small table read from the warehouse, and how raw tables are named in SQL."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pandas as pd


@dataclass(frozen=True)
class Frame:
    """Rows to be checked; `labels` are the columns that say where a row is."""

    name: str
    title: str
    labels: tuple[str, ...]
    rows: pd.DataFrame


def raw_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    columns_of: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "select table_name, column_name from duckdb_columns() where schema_name = 'raw'"
    ).fetchall():
        columns_of.setdefault(table, set()).add(column)
    return columns_of


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'
