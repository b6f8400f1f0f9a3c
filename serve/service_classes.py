"""The service classes of systems over their last seven days: MSU, goals, zIIP overflow, capture ratio."""

from __future__ import annotations

from typing import Any

from serve.snapshot import Snapshot

# Each class by interval first: its periods together, of which the one that is worst served has the performance index.
_CLASSES = """
    WITH intervals AS (
      SELECT *, max(interval_start_local) OVER (PARTITION BY system_id) AS latest
      FROM (SELECT DISTINCT system_id, smf_sid, interval_start_local, interval_s FROM marts.fct_interval_utilization)
      WHERE system_id = $system OR $system IS NULL
      QUALIFY interval_start_local > latest - INTERVAL 7 DAY AND ({during})),
    spans AS (SELECT system_id, sum(interval_s) / count(DISTINCT smf_sid) AS seconds FROM intervals GROUP BY ALL),
    one AS (
      SELECT c.system_id, c.class_name, c.interval_start_local, any_value(c.interval_s) AS interval_s,
        any_value(c.workload) AS workload, sum(c.cp_msu) AS msu, max(c.performance_index) AS performance_index,
        sum(c.appl_ziip_on_cp_pct) / 100 AS ziip_on_cp, sum(c.appl_ziip_pct) / 100 AS ziip,
        min(c.importance) FILTER (c.period_number <= 1) AS importance,
        min(c.goal_ms) FILTER (c.period_number <= 1) AS goal_ms,
        min(c.goal_kind) FILTER (c.period_number <= 1) AS goal_kind
      FROM marts.fct_service_class c SEMI JOIN intervals USING (system_id, smf_sid, interval_start_local)
      WHERE c.class_kind = 'service_class' GROUP BY c.system_id, c.smf_sid, c.class_name, c.interval_start_local)
    SELECT system_id, class_name, any_value(workload) AS workload,
      arg_max(importance, interval_start_local) AS importance, arg_max(goal_ms, interval_start_local) AS goal_ms,
      arg_max(goal_kind, interval_start_local) AS goal_kind,
      sum(msu * interval_s) / any_value(seconds) AS msu, max(msu) AS peak_msu,
      avg(performance_index) FILTER (isfinite(performance_index)) AS performance_index,
      100 * count_if(performance_index > 1) / nullif(count(performance_index), 0) AS missed_pct,
      sum(ziip * interval_s) / any_value(seconds) AS ziip_engines,
      sum(ziip_on_cp * interval_s) / any_value(seconds) AS ziip_on_cp_engines
    FROM one JOIN spans USING (system_id) GROUP BY ALL ORDER BY msu DESC NULLS LAST, class_name
"""
_CAPTURE = """
    WITH recent AS (
      SELECT *, max(interval_start_local) OVER (PARTITION BY system_id) AS latest FROM marts.fct_uncaptured
      WHERE system_id = $system OR $system IS NULL
      QUALIFY interval_start_local > latest - INTERVAL 7 DAY AND ({during}))
    SELECT system_id, sum(captured_s) / nullif(sum(busy_s), 0) AS capture_ratio FROM recent GROUP BY ALL
"""


def classes(snapshot: Snapshot, system: str | None = None, during: str = "true") -> list[dict[str, Any]]:
    """The classes of one system, or of all, that use most MSU first; `during` is SQL of the intervals that count."""
    return snapshot.rows(_CLASSES.format(during=during), {"system": system})


def capture_ratios(snapshot: Snapshot, system: str | None = None, during: str = "true") -> dict[str, Any]:
    """The part of the busy time of CPs that WLM charged to classes, by system."""
    rows = snapshot.rows(_CAPTURE.format(during=during), {"system": system})
    return {row["system_id"]: row["capture_ratio"] for row in rows}
