"""Marts, columns and values with other names in an earlier version: their rows stay, under the new names.

Rows of times whose records were dropped cannot be built anew; the others are, as the models have changed.
"""

import duckdb

_TABLES = {
    ("marts", "fct_machine_interval"): "fct_cpc_interval",
    ("intermediate", "int_machine"): "int_cpc",
    ("intermediate", "int_machine_interval"): "int_cpc_interval",
}
_COLUMNS = {
    ("marts", "fct_cpc_interval", "machine"): "cpc",
    ("intermediate", "int_cpc_interval", "machine"): "cpc",
    ("marts", "fct_msu", "four_hour_average_msu"): "r4ha_msu",
    ("marts", "fct_msu", "recorded_four_hour_msu"): "recorded_r4ha_msu",
    ("marts", "fct_hardware_counter", "machine_type"): "cpc_type",
}
_VALUES = {("marts", "fct_msu", "scope"): ("cec", "cpc")}


def rename(con: duckdb.DuckDBPyConnection) -> None:
    """Give what an earlier version built the names of this one, all at once or not at all."""
    con.execute("BEGIN")
    for (schema, old), new in _TABLES.items():
        columns = _columns(con)
        if (schema, new) in columns and (schema, old) in columns:
            con.execute(f"DROP TABLE {schema}.{old}")
        elif (schema, old) in columns:
            con.execute(f"ALTER TABLE {schema}.{old} RENAME TO {new}")
    columns = _columns(con)
    for (schema, table, old), new in _COLUMNS.items():
        names = columns.get((schema, table), ())
        if old in names and new not in names:
            con.execute(f"ALTER TABLE {schema}.{table} RENAME COLUMN {old} TO {new}")
    for (schema, table, column), (old, new) in _VALUES.items():
        if column in columns.get((schema, table), ()):
            con.execute(f"UPDATE {schema}.{table} SET {column} = ? WHERE {column} = ?", [new, old])
    con.execute("COMMIT")


def _columns(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], list[str]]:
    rows = con.execute(
        "SELECT schema_name, table_name, list(column_name) FROM duckdb_columns() JOIN duckdb_tables() "
        "USING (database_name, schema_name, table_name) WHERE database_name = current_database() "
        "AND schema_name IN ('marts', 'intermediate') GROUP BY ALL"
    ).fetchall()
    return {(schema, table): columns for schema, table, columns in rows}
