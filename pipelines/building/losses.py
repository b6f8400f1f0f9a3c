"""Data that publishing would take from readers: files, systems and days of the snapshot that the warehouse lacks.

What was taken out on purpose is in `meta.dropped` until it is published without it: files that were forgotten, and the
time before which retention dropped rows of marts.
"""

import datetime as dt
from contextlib import suppress
from pathlib import Path

import duckdb

from pipelines.exits import EtalonError, Exit
from pipelines.text import counted

_MOST = 3
#: Files whose content and path both have gone: a file that has grown keeps its path.
_FILES = """
    SELECT path FROM published.meta.ledger AS was
    WHERE status <> 'failed'
      AND NOT EXISTS (FROM meta.ledger AS now WHERE now.sha256 = was.sha256 OR now.path = was.path)
      AND NOT EXISTS (FROM meta.dropped WHERE dropped.sha256 = was.sha256)
    ORDER BY path
"""
_DAYS_OF = """
    SELECT DISTINCT coalesce(smf_sid, system_id) AS system,
        coalesce(interval_start_local, interval_start_utc)::DATE AS day
    FROM {catalog}marts.dim_interval
"""
#: Times of records are UTC, days local: a day more on both sides. Of a file without times all days may go. A system has
#: a longer name (`PLEX1.SYSA`, `SYSA@02A1B`) from when others have its identifier, too.
_DAYS = f"""
    WITH here AS ({_DAYS_OF.format(catalog="")}),
    lost AS (({_DAYS_OF.format(catalog="published.")}) EXCEPT FROM here),
    forgotten AS (
        SELECT first_at::DATE - 1 AS first, last_at::DATE + 1 AS last
        FROM meta.dropped JOIN published.meta.built_file USING (file_id))
    SELECT system, day FROM lost
    WHERE day IS NOT NULL
      AND NOT EXISTS (
        FROM here WHERE here.day = lost.day
        AND (contains(here.system, lost.system) OR contains(lost.system, here.system)))
      AND NOT EXISTS (FROM meta.dropped WHERE day < dropped.before)
      AND NOT EXISTS (FROM forgotten WHERE first IS NULL OR day BETWEEN first AND last)
      AND NOT EXISTS (FROM meta.held_back WHERE held_back.smf_sid = system AND held_back.day = lost.day)
    ORDER BY ALL
"""


def refuse(con: duckdb.DuckDBPyConnection, snapshot: Path) -> None:
    """Raise EtalonError (FEWER) where the warehouse open as `con` lacks something of the snapshot that nobody dropped.

    A snapshot that is not there, cannot be read, or was published before there were marts is compared with nothing.
    """
    if not snapshot.exists():
        return
    files: list[str] = []
    days: list[tuple[str, dt.date]] = []
    with suppress(duckdb.IOException, duckdb.SerializationException):
        con.execute(f"ATTACH '{str(snapshot).replace(chr(39), 2 * chr(39))}' AS published (READ_ONLY)")
        try:
            with suppress(duckdb.CatalogException):
                files = [path for (path,) in con.execute(_FILES).fetchall()]
                days = con.execute(_DAYS).fetchall()
        finally:
            con.execute("DETACH published")
    if not files and not days:
        return
    systems = sorted({system for system, _ in days})
    lines = [f"{counted(len(files), 'file')}: {_some(files)}"] if files else []
    if days:
        first, last = min(day for _, day in days), max(day for _, day in days)
        lines.append(f"{counted(len(days), 'day')} of {_some(systems)}, from {first} to {last}")
    raise EtalonError(
        f"not published: the warehouse lacks data of the published snapshot: {'; '.join(lines)}. Load it again "
        "(`etalon ingest PATH`, such as the archive of the landing folder), restore a copy (`etalon restore`), or "
        "publish without it: `etalon publish --force`",
        Exit.FEWER,
    )


def drop_before(con: duckdb.DuckDBPyConnection, before: dt.date) -> None:
    """Record that retention dropped rows of marts before a day."""
    con.execute("INSERT INTO meta.dropped (before, dropped_at) VALUES (?, now()::TIMESTAMP)", [before])


def clear(con: duckdb.DuckDBPyConnection) -> None:
    """Forget what was dropped: it was published without it."""
    con.execute("DELETE FROM meta.dropped")


def _some(names: list[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
