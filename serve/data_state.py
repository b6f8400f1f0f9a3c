"""What became of the data: verdict of the last check, files loaded, gaps, and the records behind an interval."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path, PurePath
from typing import Any

from serve.records import Files, Gap, Quality, Record
from serve.snapshot import Snapshot

MOST_FILES, MOST_GAPS = 200, 200
ABOUT = ("rule", "title", "subject", "severity", "checked", "unexpected", "advice", "page")

_FILES = """
    SELECT path, kind, status, bytes, records, decoded, quarantined, loaded_at,
        replace(message, path, parse_filename(path)) AS message
    FROM meta.ledger ORDER BY loaded_at DESC LIMIT ?
"""
_DAYS = """
    SELECT system_id, interval_start_local::date AS day, sum(interval_s) / 3600 / count(DISTINCT smf_sid) AS hours
    FROM marts.dim_interval WHERE point IS NULL GROUP BY ALL ORDER BY ALL
"""
_GAPS = """
    SELECT system_id, gap_start_local, gap_end_local, gap_s, ipl_local
    FROM marts.fct_gap ORDER BY gap_s DESC LIMIT ?
"""
_RECORDS = """
    SELECT path, '{type}' AS record_type, count(*) AS records, min(record_seq) AS first_record
    FROM staging.{view} JOIN meta.ledger USING (file_id)
    WHERE interval_start_local = ? AND smf_sid IN (SELECT smf_sid FROM marts.dim_system WHERE system_id = ?)
    GROUP BY path
"""
_RECORD_VIEWS = {
    "SMF 70.1": "stg_smf70_1_product",
    "SMF 72.3": "stg_smf72_3_product",
    "SMF 74.1": "stg_smf74_1_product",
}


def quality(folder: Path) -> Quality:
    """The verdict that the data-quality site shows; without one, a verdict of None."""
    report = folder / "quality.json"
    try:
        found = json.loads(report.read_text(encoding="utf-8"))
        checked = dt.datetime.fromtimestamp(report.stat().st_mtime, dt.UTC).isoformat()
    except (OSError, ValueError):
        return Quality(verdict=None, checked_at=None, counts={}, problems=[])
    problems = [
        {key: finding.get(key) for key in ABOUT} for finding in found["findings"] if finding["status"] != "pass"
    ]
    return Quality(verdict=found["verdict"], checked_at=checked, counts=found["counts"], problems=problems)


def files(snapshot: Snapshot) -> Files:
    """The newest files of the ledger, hours recorded by day, and holes in the histories."""
    days: dict[str, dict[str, float]] = {}
    for row in snapshot.rows(_DAYS):
        days.setdefault(row["system_id"], {})[row["day"].isoformat()] = round(row["hours"], 2)
    return Files(
        files=[_file(row) for row in snapshot.rows(_FILES, [MOST_FILES])],
        days=days,
        gaps=[
            Gap(
                system=row["system_id"],
                from_local=row["gap_start_local"].isoformat(),
                to_local=row["gap_end_local"].isoformat(),
                hours=row["gap_s"] / 3600,
                ipl_local=row["ipl_local"].isoformat() if row["ipl_local"] else None,
            )
            for row in (snapshot.rows(_GAPS, [MOST_GAPS]) if snapshot.has_table("marts", "fct_gap") else ())
        ],
    )


def records(snapshot: Snapshot, system: str, start_local: dt.datetime) -> list[Record]:
    """The records of an interval of a system: file, type, how many and where they begin."""
    found = []
    for record_type, view in _RECORD_VIEWS.items():
        if snapshot.has_table("staging", view):
            query = _RECORDS.format(type=record_type, view=view)
            found += [Record(file=_name(row.pop("path")), **row) for row in snapshot.rows(query, [start_local, system])]
    return found


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {"file": _name(row.pop("path")), **row, "loaded_at": row["loaded_at"].isoformat()}


def _name(path: str) -> str:
    """The name of a file alone: folders of the machine are nobody's business."""
    return PurePath(path).name
