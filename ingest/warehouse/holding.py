"""Records that are held back: loaded and accounted for, and counted nowhere, because their figures are impossible.

`meta.held_back` has a row for every file, system and day of them, with the reason. In `meta.record_overlap` they count
in the file they are in, where other records that staging views leave out count in another. So they stay until their
file is taken out or loaded again.
"""

import datetime as dt
from collections.abc import Collection, Mapping

import duckdb

from ingest.layout import Layout
from ingest.registry import Registry
from ingest.schema.staging import view_sql
from ingest.warehouse import systems

CREATE = """CREATE TABLE IF NOT EXISTS meta.held_back (
    file_id UBIGINT NOT NULL, smf_sid VARCHAR NOT NULL, day DATE NOT NULL, records UBIGINT NOT NULL,
    reason VARCHAR NOT NULL
)"""
AFTER_END_MIN = 5
"""Records of an interval are written after its end: so many minutes after midnight still those of the day before."""


def hold(
    con: duckdb.DuckDBPyConnection,
    registry: Registry,
    files: Collection[int],
    reasons: Mapping[tuple[str, dt.date], str],
) -> int:
    """Hold back the records of files that systems wrote on days, given with the reason by system and day (local time).

    Returns how many records that are: none where nothing else of the files would count. Reports and logs of
    IMS name no system, and are not held back.
    """
    con.execute(
        "CREATE OR REPLACE TEMP TABLE counted (file_id UBIGINT, record_seq UINTEGER, smf_sid VARCHAR, day DATE)"
    )
    con.execute("CREATE OR REPLACE TEMP TABLE doubtful (smf_sid VARCHAR, day DATE, reason VARCHAR)")
    con.execute("BEGIN")
    con.executemany("INSERT INTO doubtful VALUES (?, ?, ?)", [[*key, reason] for key, reason in reasons.items()])
    filled = _filled(con, files)
    named = systems.are_shared(con)
    for layout in registry.layouts:
        if layout.header.table in filled:
            con.execute(f"INSERT INTO counted {_counted(layout, named)}", {"files": list(files)})
    counts = con.execute(
        "INSERT INTO meta.held_back SELECT file_id, smf_sid, day, count(*), reason FROM counted "
        "JOIN doubtful USING (smf_sid, day) WHERE EXISTS (FROM counted ANTI JOIN doubtful USING (smf_sid, day)) "
        "GROUP BY ALL ORDER BY ALL RETURNING records"
    ).fetchall()
    if counts:
        con.execute(
            "INSERT INTO meta.record_overlap SELECT file_id, record_seq, file_id FROM counted "
            "SEMI JOIN doubtful USING (smf_sid, day) ORDER BY ALL"
        )
    con.execute("COMMIT")
    return sum(records for (records,) in counts)


def _filled(con: duckdb.DuckDBPyConnection, files: Collection[int]) -> set[str]:
    """The raw tables that files have rows in."""
    query = "SELECT DISTINCT unnest(map_keys(row_counts)) FROM meta.ledger WHERE list_contains($files, file_id)"
    return {table for (table,) in con.execute(query, {"files": list(files)}).fetchall()}


def _counted(layout: Layout, named: bool) -> str:
    """The query for the records of `$files` that count, with who wrote them, and of which day they are."""
    return (
        f"SELECT file_id, record_seq, smf_sid, (written_local - INTERVAL {AFTER_END_MIN} MINUTE)::DATE AS day "
        f"FROM ({view_sql(layout, layout.header, named=named)}) WHERE list_contains($files, file_id)"
    )
