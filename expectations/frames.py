"""Reads what the rules look at: small frames, each row labelled so that a planner can find it."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from expectations.baseline import Baseline, baseline_frame
from expectations.frame import Frame, quoted, raw_columns, text
from expectations.queries import QUERIES


def read_frames(connection: duckdb.DuckDBPyConnection, baseline: Iterable[Baseline] = ()) -> list[Frame]:
    """Every frame the rules need, in the order of the site."""
    frames = [Frame(name, title, labels, connection.sql(query).df()) for name, title, labels, query in QUERIES]
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


def _ledger_rows(connection: duckdb.DuckDBPyConnection) -> Frame:
    """Rows per file and raw table: counted by the ledger, and missing from the table (negative: too many)."""
    counted = connection.execute(
        "select distinct unnest(map_keys(row_counts)) from meta.ledger where status <> 'superseded' order by 1"
    ).fetchall()
    existing = raw_columns(connection)
    counts = [
        f"select {text(t)} as raw_table, file_id, count(*) as n from raw.{quoted(t)} group by file_id"
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
