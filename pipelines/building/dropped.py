"""Marts that stay as they are before a time, because raw records of it were dropped.

`meta.retained` has, for every raw table that rows were dropped from, the time before which there are none.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from pipelines.coverage import marts_of

CREATE = "CREATE TABLE IF NOT EXISTS meta.retained (table_name VARCHAR NOT NULL, before TIMESTAMP NOT NULL)"


def put_down(con: duckdb.DuckDBPyConnection, table: str, before: dt.date) -> None:
    """Remember that a raw table has no rows before a day any more."""
    con.execute(CREATE)
    con.execute("DELETE FROM meta.retained WHERE table_name = ? AND before < ?", [table, before])
    con.execute("INSERT INTO meta.retained VALUES (?, ?)", [table, before])


def kept_before(con: duckdb.DuckDBPyConnection, margin: dt.timedelta) -> dict[str, dt.datetime]:
    """Marts by the time before which they cannot be built anew: `margin` after what was dropped of their records."""
    starts: dict[str, dt.datetime] = {}
    for table, before in _retained(con).items():
        for mart in marts_of().get(table, ()):
            starts[mart] = max(starts.get(mart, before + margin), before + margin)
    return starts


def late(con: duckdb.DuckDBPyConnection, first_at: Mapping[int, dt.datetime], margin: dt.timedelta) -> list[str]:
    """Rows that come too late for marts, of files given with the time of their first record; a line for each table."""
    lines = []
    for table, before in _retained(con).items():
        marts = sorted(marts_of().get(table, ()))
        files = [file_id for file_id, first in first_at.items() if first < before + margin]
        rows, count = _rows(con, table, files)
        if marts and rows:
            lines.append(
                f"{rows:,} rows of {table} in {count} {'files' if count > 1 else 'file'} that begin before "
                f"{before + margin:%Y-%m-%d %H:%M}: earlier data do not reach {', '.join(marts)}, "
                "because records of that time were deleted"
            )
    return lines


def _retained(con: duckdb.DuckDBPyConnection) -> dict[str, dt.datetime]:
    con.execute(CREATE)
    return dict(con.execute("SELECT table_name, max(before) FROM meta.retained GROUP BY ALL ORDER BY ALL").fetchall())


def _rows(con: duckdb.DuckDBPyConnection, table: str, files: Iterable[int]) -> tuple[Any, ...]:
    """Rows that files have of a raw table, and how many of the files have any."""
    return con.execute(
        "SELECT coalesce(sum(row_counts[$table]), 0)::BIGINT, count(*) FROM meta.ledger "
        "WHERE list_contains($files, file_id) AND row_counts[$table] > 0",
        {"table": table, "files": list(files)},
    ).fetchall()[0]
