"""The state of the data: verdict of the last check, files loaded, gaps, and the records behind an interval."""

from __future__ import annotations

import datetime as dt
from pathlib import Path, PurePath
from typing import Any

from serve import gaps
from serve.log import Log
from serve.records import Files, Quality, Record
from serve.snapshot import Snapshot
from state.catalogue import QUALITY
from state.files import StateDamaged

log = Log()

MAX_FILES = 200
ABOUT = ("rule", "title", "subject", "severity", "checked", "unexpected", "advice", "page", "where")

_FILES = """
    SELECT path, kind, status, bytes, records, decoded, quarantined, loaded_at,
        replace(message, path, parse_filename(path)) AS message
    FROM meta.ledger ORDER BY loaded_at DESC, path LIMIT ?
"""
_DAYS = """
    SELECT system_id, interval_start_local::date AS day, sum(interval_s) / 3600 / count(DISTINCT smf_sid) AS hours
    FROM marts.dim_interval WHERE point IS NULL GROUP BY ALL ORDER BY ALL
"""
# Which view of each loaded record type says of what interval its records are, in local time where it does.
_WHERE_STARTS_ARE = """
    SELECT regexp_extract(c.table_name, 'smf(.*)_[a-z]+$', 1) AS type, c.table_name AS view,
      arg_min(column_name, column_name <> 'interval_start_local') AS start
    FROM duckdb_columns() c JOIN (
      SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND estimated_size > 0
      UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'raw'
    ) raw ON c.table_name = 'stg_' || raw.table_name
    WHERE c.schema_name = 'staging'
      AND regexp_matches(c.table_name, '^stg_smf[0-9_]+_(product|standard|identification)$')
      AND column_name IN ('interval_start_local', 'interval_start_utc', 'interval_begin_utc')
    GROUP BY c.table_name ORDER BY c.table_name
"""
_RECORDS = """
    SELECT path, '{type}' AS record_type, count(DISTINCT record_seq) AS records, min(record_seq) AS first_record
    FROM staging.{view} r JOIN this_interval USING (smf_sid) JOIN meta.ledger USING (file_id)
    WHERE r.{start} >= this_interval.{start_of} AND r.{start} < this_interval.{end_of}
    GROUP BY path
"""
_INTERVAL = """
    WITH this_interval AS (
      SELECT smf_sid, interval_start_local, interval_end_local, interval_start_utc, interval_end_utc
      FROM marts.dim_interval WHERE system_id = ? AND interval_start_local = ?)
"""


def quality(folder: Path) -> Quality:
    """The verdict that the data-quality site shows; without one, or with a damaged one, a verdict of None."""
    path = folder / "quality.json"
    try:
        report = QUALITY.read(path)
    except (OSError, StateDamaged) as problem:
        log.error("quality_unreadable", problem=str(problem))
        report = None
    if report is None:
        return Quality(verdict=None, checked_at=None, counts={}, problems=[])
    checked = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC).isoformat()
    problems = [
        {key: finding.get(key) for key in ABOUT} for finding in report["findings"] if finding["status"] != "pass"
    ]
    return Quality(verdict=report["verdict"], checked_at=checked, counts=report["counts"], problems=problems)


def files(snapshot: Snapshot) -> Files:
    """The newest files of the ledger, hours recorded by day, and holes in the histories."""
    days: dict[str, dict[str, float]] = {}
    for row in snapshot.rows(_DAYS):
        days.setdefault(row["system_id"], {})[row["day"].isoformat()] = round(row["hours"], 2)
    return Files(
        files=[_file(row) for row in snapshot.rows(_FILES, [MAX_FILES])],
        days=days,
        gaps=gaps.gaps(snapshot),
    )


def records(snapshot: Snapshot, system: str, start_local: dt.datetime) -> list[Record]:
    """The records of an interval of a system: file, type, how many and where they begin."""
    queries = []
    for row in snapshot.rows(_WHERE_STARTS_ARE):
        clock = "local" if row["start"].endswith("local") else "utc"
        limits = {"start_of": f"interval_start_{clock}", "end_of": f"interval_end_{clock}"}
        queries.append(_RECORDS.format(**{**row, "type": f"SMF {row['type'].replace('_', '.')}"}, **limits))
    if not queries:
        return []
    rows = snapshot.rows(
        f"{_INTERVAL} {' UNION ALL '.join(queries)} ORDER BY path, first_record", [system, start_local]
    )
    return [Record(file=_name(row.pop("path")), **row) for row in rows]


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {"file": _name(row.pop("path")), **row, "loaded_at": row["loaded_at"].isoformat()}


def _name(path: str) -> str:
    """The name of a file alone: folders of the machine are nobody's business."""
    return PurePath(path).name
