"""Dropping what is older than it has to be kept, and giving its space back."""

import datetime as dt
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

import duckdb

from model.names import sql_text
from pipelines import steps
from pipelines.building import losses, touched
from pipelines.building.dropped import put_down
from pipelines.building.merge import TIMES
from pipelines.home import Home


def retain(home: Home, rules: Mapping[str, int], today: dt.date) -> dict[str, int]:
    """Drop rows of raw tables and marts older than their days to keep; rows dropped by table.

    rules: days by pattern of `schema.table`; the first that fits counts. Raw rows go with the file that all of them
    came from in time, judged by the last record of the file: the ledger keeps what became of it, and the identities of
    records go with a file's last rows. The file of the warehouse becomes smaller when a quarter of it or more is
    free. Days are counted back from today, or from the last record where that is earlier: a clock that is ahead drops
    nothing. Raises EtalonError where there is no warehouse.
    """
    steps.require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    from ingest.warehouse import drop_rows, filled, ledger, open_writer

    dropped: dict[str, int] = {}
    published_before = dt.date.min
    with open_writer(home.warehouse) as con:
        ledger.create(con)
        touched.create(con)
        [(last,)] = con.execute("SELECT max(last_at)::DATE FROM meta.built_file").fetchall()
        today = min(today, last or today)
        tables = con.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE (schema_name = 'marts' "
            "OR table_name = 'quarantine') AND estimated_size > 0 AND database_name = current_database() ORDER BY ALL"
        ).fetchall()
        tables += [("raw", table) for table in filled(con)]
        limits = {table: _days(rules, schema, table) for schema, table in tables}
        for schema, table in tables:
            days = limits[table]
            if days is None:
                continue
            first = today - dt.timedelta(days=days)
            rows_dropped = 0
            if schema == "raw":
                rows_dropped = drop_rows(con, table, _expired(con, first))
            elif expired := _older(con, schema, table, first):
                rows_dropped = con.execute(f'DELETE FROM {schema}."{table}" WHERE {expired}').fetchall()[0][0]
            if rows_dropped:
                dropped[f"{schema}.{table}"] = rows_dropped
                if schema == "raw":
                    put_down(con, table, first)
                else:
                    published_before = max(published_before, first)
        if published_before > dt.date.min:
            losses.drop_before(con, published_before)
        _forget(con, limits, today)
        con.execute("CHECKPOINT")
        total, free = con.execute(
            "SELECT total_blocks, free_blocks FROM pragma_database_size() WHERE database_name = current_database()"
        ).fetchall()[0]
    if free > 0.25 * total:
        compact(home.warehouse)
    return dropped


def _days(rules: Mapping[str, int], schema: str, table: str) -> int | None:
    """How long rows of a table are kept; None for ever."""
    return next((days for pattern, days in rules.items() if fnmatch(f"{schema}.{table}", pattern)), None)


def _forget(con: duckdb.DuckDBPyConnection, limits: Mapping[str, int | None], today: dt.date) -> None:
    """Drop the identities of records of files whose rows are all gone."""
    from ingest.warehouse import IDENTITIES, drop_rows

    if not any(limits.values()):
        return
    files = con.execute(
        "SELECT file_id, max(last_at)::DATE, any_value(map_keys(row_counts)) FROM meta.built_file "
        "JOIN meta.ledger USING (file_id) GROUP BY file_id HAVING min(first_at) > TIMESTAMP '1900-01-02'"
    ).fetchall()
    empty_files = []
    for file_id, last, tables in files:
        kept = [limits.get(table) for table in tables]
        if all(days is not None and last < today - dt.timedelta(days=days) for days in kept):
            empty_files.append(file_id)
    drop_rows(con, IDENTITIES, empty_files)
    for table in ("record_incomplete", "record_overlap", "held_back"):
        con.execute(f"DELETE FROM meta.{table} WHERE list_contains($files, file_id)", {"files": empty_files})


def _older(con: duckdb.DuckDBPyConnection, schema: str, table: str, first: dt.date) -> str | None:
    """SQL for rows before a day; None for a table without time."""
    if table == "quarantine":
        return f"file_id IN (SELECT file_id FROM meta.ledger WHERE loaded_at < TIMESTAMP '{first}')"
    have = {
        row[0]
        for row in con.execute(
            "SELECT column_name FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?", [schema, table]
        ).fetchall()
    }
    times = next((columns for names in TIMES if (columns := [name for name in names if name in have])), None)
    return f"coalesce({', '.join(times)}, NULL) < TIMESTAMP '{first}'" if times else None


def _expired(con: duckdb.DuckDBPyConnection, first: dt.date) -> list[int]:
    """The files all of whose records are older than a day."""
    rows = con.execute(
        "SELECT file_id FROM meta.built_file GROUP BY file_id "
        f"HAVING max(last_at) < TIMESTAMP '{first}' AND min(first_at) > TIMESTAMP '1900-01-02'"
    ).fetchall()
    return [file_id for (file_id,) in rows]


def compact(database: Path) -> None:
    """Write a database anew without its free space, and put it in the place of the old one in one step.

    Raises WarehouseLocked while another process writes it.
    """
    from ingest.warehouse import open_writer

    copy = database.with_name(f".{database.name}.compact")
    for left in (copy, copy.with_name(f"{copy.name}.wal")):
        left.unlink(missing_ok=True)
    # The one connection keeps others from writing: nothing can come, and no log be left, that the new one lacks.
    with open_writer(database) as con:
        con.execute("CHECKPOINT")
        con.execute(f"ATTACH {sql_text(str(copy))} AS new (ROW_GROUP_SIZE 20480)")
        con.execute(f'COPY FROM DATABASE "{database.stem}" TO new')
        con.execute("DETACH new")
        copy.replace(database)
