"""Rows of a window's marts in place of those that the warehouse has of the same time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from model.names import sql_text
from pipelines.building.models import Project
from pipelines.building.touched import Plan, Span

#: Columns that tell when a row is, the first that there are.
TIMES = (
    ("interval_start_utc", "interval_start_local"),
    ("first_start_utc", "first_start_local"),
    ("interval_begin_utc",),
    ("step_end_local",),
    ("hour_local",),
    ("event_end_local",),
    ("arrival_utc",),
    ("scheduled_utc",),
)
#: What small marts over all time are made of, each with a mart of the same records; kept whole, while other
#: intermediate tables are those of the last build.
_KEPT = {"int_interval": "dim_interval", "int_cpc": "dim_system", "int_engine_interval": "dim_system"}
#: Marts over all time, and how they are made: from tables that the warehouse has of all time, or by key.
_FROM_KEPT, _BY_KEY = ("dim_system", "fct_gap"), {"dim_metric": "metric"}
_NOTHING = "false"


def condition(columns: Iterable[str], spans: Sequence[Span]) -> str | None:
    """SQL that says whether a row of a table with these columns belongs to stretches of time; None if none can.

    It refers to the tables that `_name_window` makes.
    """
    have = set(columns)
    since = f"WHERE start_at >= TIMESTAMP '{min(spans).start}'" if spans else f"WHERE {_NOTHING}"
    times = next((stamps for names in TIMES if (stamps := [name for name in names if name in have])), None)
    keyed = {"system_id", "point", "condition"} <= have
    runs = f"SELECT (system_id, point, condition) FROM built_run {since}"
    in_run = f"(system_id, point, coalesce(condition, '')) IN ({runs})"
    if times is not None:
        when = f"coalesce({', '.join(times)})" if len(times) > 1 else times[0]
        by_time = " OR ".join(f"{when} >= '{span.start}' AND {when} < '{span.end}'" for span in spans) or _NOTHING
    elif "interval_key" in have:
        by_time = f"interval_key IN (SELECT interval_key FROM built_interval {since})"
    elif "is_run" in have:
        by_time = f"point IN (SELECT interval_key FROM built_interval {since})"
    elif keyed:
        return f"coalesce({in_run}, false)"
    else:
        return None
    if "is_run" in have and keyed:
        by_time = f"CASE WHEN is_run THEN {in_run} ELSE ({by_time}) END"
    return f"coalesce({by_time}, false)"


def prune(window: Path, plan: Plan) -> None:
    """Leave only rows of the time being built in what was built: around it, records were read only in part."""
    from ingest.warehouse import open_writer

    with open_writer(window) as con:
        con.execute("BEGIN")
        _name_window(con, plan.written, "")
        for schema in ("intermediate", "marts"):
            for table, columns in _tables(con, "etalon", schema).items():
                where = condition(columns, plan.spans(_KEPT.get(table, table)))
                if where is not None:
                    con.execute(f"DELETE FROM {schema}.{table} WHERE NOT {where}")
        con.execute("COMMIT")


def merge(
    warehouse: Path, window: Path, plan: Plan, project: Project, record: Callable[[duckdb.DuckDBPyConnection], None]
) -> None:
    """Put the marts of a pruned window in the place of what the warehouse has of that time, in one transaction.

    record: puts down, in the transaction, what was built. Raises
    WarehouseLocked while another process writes.
    """
    from ingest.warehouse import open_writer

    with open_writer(warehouse) as con:
        con.execute("SET threads = 2")
        con.execute(f"ATTACH {sql_text(str(window))} AS part (READ_ONLY)")
        parts = {schema: _tables(con, "part", schema) for schema in ("intermediate", "marts")}
        _widen(con, "marts", parts["marts"])
        _widen(con, "intermediate", _KEPT.keys() & parts["intermediate"])
        # DuckDB 2.0 fails at rows put into a table that has gained a column since the last checkpoint.
        con.execute("CHECKPOINT")
        con.execute("BEGIN")
        _name_window(con, plan.written, "part.")
        if plan.reason:
            _renew_staging(con)
        for table, columns in parts["intermediate"].items():
            if table in _KEPT:
                where = condition(columns, plan.spans(_KEPT[table]))
                _replace(con, f"intermediate.{table}", where or _NOTHING)
            else:
                con.execute(f"CREATE OR REPLACE TABLE intermediate.{table} AS FROM part.intermediate.{table}")
        for table, columns in parts["marts"].items():
            if table not in (*_FROM_KEPT, *_BY_KEY):
                _replace(con, f"marts.{table}", condition(columns, plan.spans(table)) or _NOTHING)
        for table, key in _BY_KEY.items():
            _replace(con, f"marts.{table}", f"{key} IN (SELECT {key} FROM part.marts.{table})")
            con.execute(f"DELETE FROM marts.{table} WHERE {key} NOT IN (SELECT {key} FROM marts.fct_point_metric)")
        for table in _FROM_KEPT:
            con.execute(f"DELETE FROM marts.{table}")
            con.execute(f"INSERT INTO marts.{table} BY NAME {project.model(table).sql}")
        record(con)
        con.execute("COMMIT")
        con.execute("DETACH part")
        con.execute("CHECKPOINT")


def _renew_staging(con: duckdb.DuckDBPyConnection) -> None:
    """Give the warehouse the views of the models as they are now; their SQL names the database alike in both."""
    for name, sql in con.execute(
        "SELECT view_name, sql FROM duckdb_views() WHERE database_name = 'part' AND schema_name = 'staging'"
    ).fetchall():
        con.execute(f'DROP VIEW IF EXISTS staging."{name}"')
        con.execute(sql)


def _widen(con: duckdb.DuckDBPyConnection, schema: str, tables: Iterable[str]) -> None:
    """Give tables of the warehouse the columns that models have by now, and make those that it has not."""
    names = list(tables)
    for name in names:
        con.execute(f"CREATE TABLE IF NOT EXISTS {schema}.{name} AS FROM part.{schema}.{name} LIMIT 0")
    for name, column, kind in con.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() ANTI JOIN (FROM duckdb_columns() "
        "WHERE database_name = current_database()) AS had USING (schema_name, table_name, column_name) "
        "WHERE database_name = 'part' AND schema_name = ? AND list_contains(?, table_name)",
        [schema, names],
    ).fetchall():
        con.execute(f'ALTER TABLE {schema}.{name} ADD COLUMN "{column}" {kind}')


def _replace(con: duckdb.DuckDBPyConnection, table: str, where: str) -> None:
    con.execute(f"DELETE FROM {table} WHERE {where}")
    con.execute(f"INSERT INTO {table} BY NAME FROM part.{table}")


def _name_window(con: duckdb.DuckDBPyConnection, spans: Sequence[Span], part: str) -> None:
    """Make the tables that conditions refer to: the stretches, the runs that begin in them, the intervals in them."""
    con.execute("CREATE OR REPLACE TEMP TABLE built_span (start_at TIMESTAMP, end_at TIMESTAMP)")
    con.executemany("INSERT INTO built_span VALUES (?, ?)", [(span.start, span.end) for span in spans])
    con.execute(
        "CREATE OR REPLACE TEMP TABLE built_run AS SELECT DISTINCT trim(system_id) AS system_id, trim(point) AS point, "
        f"coalesce(trim(condition), '') AS condition, start_utc AS start_at FROM {part}raw.etalon_run "
        "WHERE EXISTS (FROM built_span WHERE start_utc >= start_at AND start_utc < end_at)"
    )
    columns = ("interval_start_utc", "interval_start_local")
    where = condition(columns, spans)
    start = f"coalesce({', '.join(columns)}) AS start_at"
    keys = [f"SELECT interval_key, {start} FROM {of}marts.dim_interval WHERE {where}" for of in sorted({"", part})]
    con.execute(f"CREATE OR REPLACE TEMP TABLE built_interval AS {' UNION '.join(keys)}")


def _tables(con: duckdb.DuckDBPyConnection, database: str, schema: str) -> Mapping[str, list[str]]:
    rows = con.execute(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (database_name, schema_name, table_name) "
        "WHERE database_name = ? AND schema_name = ? GROUP BY table_name ORDER BY table_name",
        [database, schema],
    ).fetchall()
    return dict(rows)


def has_rule(columns: Mapping[str, Iterable[str]]) -> list[str]:
    """Marts, given with their columns, of which nothing says how a stretch of time is taken out."""
    return [
        table
        for table, names in columns.items()
        if table not in (*_FROM_KEPT, *_BY_KEY) and condition(names, ()) is None
    ]
