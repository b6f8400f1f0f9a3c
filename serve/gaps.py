"""Times without records in the histories of LPARs, and why: outages, records that SMF lost, and those never loaded."""

from __future__ import annotations

from typing import Any

from serve.records import Gap
from serve.snapshot import Snapshot

MAX_GAPS = 200
UNKNOWN = "no IPL or loss recorded: a dump may be missing"

# Gaps of all records; losses that SMF reports outside these; and runs of intervals that have one of the two kinds of
# records of every interval without the other.
_GAPS = """
    WITH lost AS (
      SELECT system_id, smf_sid, event_start_local AS start, event_end_local AS finish, records_lost
      FROM marts.fct_system_event WHERE event = 'records lost'),
    gaps AS (
      SELECT g.system_id, g.smf_sid, gap_start_local AS start, gap_end_local AS finish, gap_s, ipl_local,
        sum(coalesce(l.records_lost, 0)) AS records_lost, count(l.start) AS losses
      FROM marts.fct_gap g
      LEFT JOIN lost l ON l.smf_sid = g.smf_sid AND l.start < gap_end_local AND l.finish > gap_start_local
      GROUP BY ALL),
    kinds AS (
      SELECT system_id, smf_sid, interval_start_local AS start, max(interval_s) AS seconds,
        bool_or(is_cpu) AS has_cpu, bool_or(NOT is_cpu) AS has_classes
      FROM (
        SELECT system_id, smf_sid, interval_start_local, interval_s, true AS is_cpu
        FROM marts.fct_interval_utilization WHERE engine_type = 'CP'
        UNION ALL
        SELECT system_id, smf_sid, interval_start_local, interval_s, false FROM marts.fct_service_class)
      GROUP BY ALL),
    incomplete AS (
      SELECT *, bool_or(has_cpu AND has_classes) OVER (PARTITION BY smf_sid) AS has_both_kinds,
        row_number() OVER (PARTITION BY smf_sid ORDER BY start)
        - row_number() OVER (PARTITION BY smf_sid, has_cpu, has_classes ORDER BY start) AS run
      FROM kinds)
    SELECT system_id, start, finish, gap_s / 3600 AS hours, 'all' AS records, ipl_local, losses, records_lost FROM gaps
    UNION ALL
    SELECT system_id, start, finish, date_diff('second', start, finish) / 3600, 'some', NULL, 1,
      coalesce(records_lost, 0)
    FROM lost l
    WHERE NOT EXISTS (FROM gaps g WHERE g.smf_sid = l.smf_sid AND g.start < l.finish AND g.finish > l.start)
    UNION ALL
    SELECT system_id, min(start), max(start + to_milliseconds((1000 * seconds)::bigint)), sum(seconds) / 3600,
      if(has_cpu, 'SMF 72.3', 'SMF 70.1'), NULL, 0, 0
    FROM incomplete WHERE has_both_kinds AND has_cpu <> has_classes
    GROUP BY system_id, smf_sid, has_cpu, has_classes, run
    ORDER BY hours DESC, start, system_id LIMIT ?
"""


def gaps(snapshot: Snapshot) -> list[Gap]:
    """The longest times without records, in local time, each with what is missing and the cause."""
    return [
        Gap(
            system=row["system_id"],
            from_local=row["start"].isoformat(),
            to_local=row["finish"].isoformat(),
            hours=row["hours"],
            records=row["records"],
            ipl_local=row["ipl_local"].isoformat() if row["ipl_local"] else None,
            cause=_cause(row),
        )
        for row in snapshot.rows(_GAPS, [MAX_GAPS])
    ]


def _cause(row: dict[str, Any]) -> str:
    if row["ipl_local"]:
        return f"down: IPL at {row['ipl_local']:%H:%M}"
    if row["losses"]:
        count = f"{row['records_lost']:,} records" if row["records_lost"] else "records"
        return f"SMF lost {count} (SMF 7: buffers full, or a filter)"
    return UNKNOWN
