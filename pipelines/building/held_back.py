"""Records of systems and days that critical expectations fail for: held back, so that the others are published."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines import layouts
from pipelines.building import touched
from pipelines.building.marts import readable
from pipelines.home import Home

if TYPE_CHECKING:
    from expectations.result import QualityResult

#: Records are written after the end of their interval. Starts are given in whole seconds.
_DAYS = """
    SELECT DISTINCT place.system, place.reason, (interval_end_local - to_minutes($after)
        + (place.start_at - coalesce(interval_start_utc, interval_start_local)))::DATE AS day
    FROM place ASOF JOIN marts.dim_interval ON place.system = dim_interval.smf_sid
        AND place.start_at + INTERVAL 1 SECOND >= coalesce(interval_start_utc, interval_start_local)
    ORDER BY ALL
"""


def hold_back(home: Home, result: "QualityResult") -> bool:
    """Hold back the records, of files not published yet, of the systems and days that critical expectations fail for.

    Returns False, with nothing held back, where such a finding is about more than intervals of systems, as about a
    file. So it does where no such record is in these files, or no other record. After True, build the marts again.
    """
    from ingest.warehouse import holding, open_writer

    critical = [finding for finding in result.problems if finding.severity == "critical"]
    if not all(finding.places for finding in critical):
        return False
    places = [(*place, finding.title) for finding in critical for place in sorted(finding.places)]
    reasons: dict[tuple[str, dt.date], list[str]] = {}
    for system, reason, day in _days(home.window if readable(home.window) else home.warehouse, places):
        reasons.setdefault((system, day), []).append(reason)
    with open_writer(home.warehouse) as con:
        # What came since the build was not checked; what was published before, as all of it is built anew, goes last.
        files = touched.unpublished(con)
        new = set(files) - _published(home)
        texts = {key: "; ".join(titles) for key, titles in reasons.items()}
        registry = layouts.registry(home)
        return bool(texts) and any(holding.hold(con, registry, some, texts) for some in (new, files))


def _published(home: Home) -> set[int]:
    """The files in the published snapshot."""
    if not readable(home.snapshot):
        return set()
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        return {file_id for (file_id,) in con.execute("SELECT file_id FROM meta.ledger").fetchall()}


def _days(checked: Path, places: list[tuple[str, str, str]]) -> list[tuple[str, str, dt.date]]:
    """Systems, reasons and days, local time, of places, which are systems, starts of intervals and reasons."""
    from ingest.warehouse.holding import AFTER_END_MIN

    with duckdb.connect(str(checked), read_only=True) as con:
        con.execute("CREATE TEMP TABLE place (system VARCHAR, start_at TIMESTAMP, reason VARCHAR)")
        con.executemany("INSERT INTO place VALUES (?, ?, ?)", places)
        return con.execute(_DAYS, {"after": AFTER_END_MIN}).fetchall()


def unpublished(home: Home) -> list[str]:
    """Records held back of files that are not published yet, in a line for each system and day."""
    from ingest.warehouse import open_writer

    with open_writer(home.warehouse) as con:
        files, _ = touched.changes(con)
        rows = con.execute(
            "SELECT smf_sid, day, sum(records)::BIGINT, string_agg(DISTINCT reason, '; ' ORDER BY reason), "
            "string_agg(DISTINCT file, ', ' ORDER BY file) FROM meta.held_back JOIN "
            "(SELECT file_id, parse_filename(path) AS file FROM meta.ledger) AS ledger USING (file_id) "
            "WHERE list_contains($files, file_id) GROUP BY ALL ORDER BY ALL",
            {"files": list(files)},
        ).fetchall()
    return [
        f"{system}: {records:,} records of {day} are held back, from {names}; failed expectations: {reasons}"
        for system, day, records, reasons, names in rows
    ]
