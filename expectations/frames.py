"""Reads what the rules look at: small frames, each row labelled so that a planner can find it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import duckdb
import pandas as pd

from expectations.baseline import Baseline, baseline_frame
from expectations.frame import Frame, quoted, raw_columns
from expectations.queries import QUERIES
from expectations.rules import SLACK
from model.names import sql_text

_ROUNDING = 1e-6


#: Lowest and highest value of each metric; None where there is none.
Domains = Mapping[str, tuple[float | None, float | None]]


def read_frames(
    connection: duckdb.DuckDBPyConnection, baseline: Iterable[Baseline] = (), domains: Domains | None = None
) -> list[Frame]:
    """Every frame the rules need, in the order of the site."""
    frames = [Frame(name, title, labels, connection.sql(query).df()) for name, title, labels, query in QUERIES]
    judged = next(frame for frame in frames if frame.name == "metrics")
    more = _metrics_of_marts(connection, domains or {})
    frames[frames.index(judged)] = replace(judged, rows=pd.concat([judged.rows, more], ignore_index=True))
    frames.insert(1, _ledger_rows(connection))
    expectations = tuple(baseline)
    for position, (name, title, severity) in enumerate(
        (
            ("raw_critical", "Keys and record types of the raw tables", "critical"),
            ("raw_range", "Ranges of the raw columns", "warning"),
        )
    ):
        wanted = [expectation for expectation in expectations if expectation.severity == severity]
        frames.insert(2 + position, baseline_frame(connection, name, title, wanted))
    return frames


def _metrics_of_marts(connection: duckdb.DuckDBPyConnection, domains: Domains) -> pd.DataFrame:
    """Metrics that are columns of marts, and how many values lie outside their domain; not those of measured points."""
    columns = connection.execute(
        "select table_name, list(column_name order by column_index) from duckdb_columns() where schema_name = 'marts' "
        "group by table_name having list_contains(list(column_name), 'system_id') "
        "and not list_contains(list(column_name), 'point') order by table_name"
    ).fetchall()
    counts = [
        f"select {sql_text(name)} as metric, count({quoted(name)}) as values, count(*) filter ({outside}) as outside, "
        f"coalesce(min(system_id) filter ({outside}), '') as system, '' as point, {sql_text(mart)} as subject "
        f"from marts.{quoted(mart)}"
        for mart, names in columns
        for name in names
        if name in domains and (outside := _outside(name, *domains[name]))
    ]
    counts.append("select '' as metric, 0 as values, 0 as outside, '' as system, '' as point, '' as subject")
    return connection.sql(f"from ({' union all '.join(counts)}) where values > 0 order by metric, subject").df()


def _outside(column: str, low: float | None, high: float | None) -> str:
    """The SQL condition under which a value lies outside, beyond what rounding explains; empty without a bound."""
    bounds = [] if low is None else [f"{quoted(column)} < {low - SLACK * abs(low) - _ROUNDING}"]
    bounds += [] if high is None else [f"{quoted(column)} > {high + SLACK * abs(high) + _ROUNDING}"]
    return f"where {' or '.join(bounds)}" if bounds else ""


def _ledger_rows(connection: duckdb.DuckDBPyConnection) -> Frame:
    """Rows per file and raw table: counted by the ledger, and missing from the table (negative: too many)."""
    counted = connection.execute(
        "select distinct unnest(map_keys(row_counts)) from meta.ledger where status <> 'superseded' order by 1"
    ).fetchall()
    existing = raw_columns(connection)
    counts = [
        f"select {sql_text(t)} as raw_table, file_id, count(*) as n from raw.{quoted(t)} group by file_id"
        for (t,) in counted
        if t in existing
    ]
    counts.append("select null::varchar as raw_table, null::ubigint as file_id, null::bigint as n where false")
    rows = connection.sql(
        f"""
        with counted as (
          select path as file, file_id, unnest(map_keys(row_counts)) as raw_table,
            unnest(map_values(row_counts))::bigint as rows_counted
          from meta.ledger
          where status <> 'superseded'
        ),
        present as ({" union all ".join(counts)})
        select file, raw_table, rows_counted, rows_counted - coalesce(n, 0)::bigint as rows_missing
        from counted
        left join present using (raw_table, file_id)
        order by file, raw_table
        """
    ).df()
    return Frame("ledger_rows", "Rows in the raw tables against the ledger", ("file", "raw_table"), rows)
