"""LPARs over time, from the published snapshot: busy, capacity, classes, and changes of the last days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Sequence
from typing import Any, Literal

from serve import service_classes
from serve.evidence import number
from serve.records import (
    ClassHistory,
    ClassMsu,
    ClassRow,
    Column,
    History,
    MachineOverview,
    Overview,
    SystemOverview,
    WorkloadRow,
)
from serve.snapshot import Snapshot

Every = Literal["interval", "hour", "day"]
BUCKETS: dict[Every, str] = {
    "interval": "interval_start_local",
    "hour": "date_trunc('hour', interval_start_local)",
    "day": "date_trunc('day', interval_start_local)",
}
MAX_ROWS = 4000
INTERVAL_S = 900.0

# What a system used and had, by bucket of local time; a system of several LPARs has their sum.
# Each query takes system, from and to, and gives bucket, kind, name, unit and value; {during} chooses a shift.
_SPAN = "interval_start_local >= ? AND interval_start_local < ? AND {during}"
_WITHIN = f"system_id = ? AND {_SPAN}"
_OWN = "own AS (SELECT DISTINCT smf_sid FROM marts.dim_system WHERE system_id = ?)"
_SERIES = (
    """
    WITH one AS (
      SELECT {bucket} AS bucket, smf_sid, engine_type, if(engine_type = 'CP', 'cp', 'ziip') AS pool,
        sum(busy_s) / sum(interval_s) AS used, max(busy_s / interval_s) AS peak,
        sum(online_s) / sum(interval_s) AS online
      FROM marts.fct_interval_utilization WHERE {within} GROUP BY ALL)
    SELECT bucket, pool || '_busy', engine_type, 'engines', sum(used) FROM one GROUP BY ALL
    UNION ALL SELECT bucket, pool || '_peak', engine_type, 'engines', sum(peak) FROM one GROUP BY ALL
    UNION ALL SELECT bucket, pool || '_online', engine_type, 'engines', sum(online) FROM one GROUP BY ALL
    """,
    """
    SELECT bucket, 'class_group', coalesce(nullif(workload, ''), class_name), 'engines', sum(used)
    FROM (SELECT {bucket} AS bucket, smf_sid, workload, class_name,
            sum(appl_cp_pct * interval_s) / sum(interval_s) / 100 AS used
          FROM marts.fct_transaction_cost WHERE {within} AND class_kind = 'service_class' GROUP BY ALL) GROUP BY ALL
    """,
    """
    SELECT bucket, 'uncaptured', 'uncaptured', 'engines', sum(used)
    FROM (SELECT {bucket} AS bucket, smf_sid, sum(uncaptured_s) / sum(interval_s) AS used
          FROM marts.fct_uncaptured WHERE {within} GROUP BY ALL) GROUP BY ALL
    """,
    """
    SELECT bucket, 'ziip_on_cp', 'zIIP work on CPs', 'engines', sum(used)
    FROM (SELECT {bucket} AS bucket, smf_sid, sum(ziip_on_cp_s) / sum(interval_s) AS used
          FROM marts.fct_ziip WHERE {within} GROUP BY ALL) GROUP BY ALL
    """,
    """
    WITH {own}, weighed AS (
      SELECT *, sum(weight) OVER (PARTITION BY cpc, interval_start_utc) AS weights
      FROM marts.fct_cpc_interval
      WHERE engine_type = 'CP' AND {span}),
    one AS (
      SELECT {bucket} AS bucket, smf_sid, avg(weight / nullif(weights, 0) * shared_engines) AS share,
        avg(nullif(cap_engines, 0)) AS cap
      FROM weighed JOIN own USING (smf_sid) WHERE NOT is_dedicated GROUP BY ALL)
    SELECT bucket, 'cp_share', 'share by weight', 'engines', sum(share) FROM one GROUP BY ALL
    UNION ALL SELECT bucket, 'cp_cap', 'absolute cap', 'engines', sum(cap) FROM one WHERE cap IS NOT NULL GROUP BY ALL
    """,
    """
    WITH {own}, one AS (
      SELECT {bucket} AS bucket, count(DISTINCT coalesce(interval_start_utc, interval_start_local)) AS intervals,
        sum(msu) / intervals AS msu, sum(r4ha_msu) / intervals AS r4ha,
        sum(capacity_msu) / intervals AS capacity
      FROM marts.fct_msu JOIN own ON name = smf_sid
      WHERE scope = 'lpar' AND {span} GROUP BY ALL)
    SELECT bucket, 'msu', 'MSU', 'MSU', msu FROM one
    UNION ALL SELECT bucket, 'r4ha_msu', 'R4HA', 'MSU', r4ha FROM one
    UNION ALL SELECT bucket, 'msu_capacity', 'capacity', 'MSU', capacity FROM one WHERE capacity IS NOT NULL
    """,
)

# The buckets of all series first, then a value for every bucket of each, null where it has none; the largest series of
# a kind first.
_COLUMNS = """
    WITH points AS MATERIALIZED (FROM ({}) AS series(bucket, kind, name, unit, value)),
    starts AS (SELECT DISTINCT bucket FROM points),
    columns AS (
      SELECT kind, name, unit, list(if(isfinite(value), value, NULL) ORDER BY bucket) AS values_, sum(value) AS total
      FROM (SELECT DISTINCT kind, name, unit FROM points) CROSS JOIN starts
      LEFT JOIN points USING (kind, name, unit, bucket) GROUP BY ALL)
    SELECT NULL AS kind, NULL AS name, NULL AS unit, NULL AS values_, 'inf'::DOUBLE AS total,
      list(strftime(bucket, '%Y-%m-%dT%H:%M:%S') ORDER BY bucket) AS starts
    FROM starts
    UNION ALL SELECT *, NULL FROM columns ORDER BY kind NULLS FIRST, total DESC, name
"""

# Sums of each LPAR first: what LPARs of a system do adds up, while seconds pass once for all of them.
# A mean response leaves out intervals whose transactions were not timed.
CLASS_SUMS = """smf_sid, sum(transactions_ended) AS ended, sum(interval_s) AS seconds,
        sum(appl_cp_pct * interval_s) / 100 AS cpu_s, sum(response_ms * transactions_ended) AS response,
        sum(transactions_ended) FILTER (response_ms IS NOT NULL) AS timed"""
CLASS_FIGURES = """sum(ended / seconds) AS rate_tps, sum(cpu_s) * 1e6 / nullif(sum(ended), 0) AS cpu_us_per_tran,
      sum(cpu_s / seconds) AS engines, sum(response) / nullif(sum(timed), 0) AS response_ms"""

# What `service_classes` has of a class over these days.
SERVED = ("msu", "performance_index", "missed_pct", "ziip_engines", "ziip_on_cp_engines")

_CLASS = f"""
    SELECT bucket, {CLASS_FIGURES}
    FROM (SELECT {{bucket}} AS bucket, {CLASS_SUMS}
          FROM marts.fct_transaction_cost
          WHERE {{within}} AND class_kind = 'service_class' AND class_name = ? GROUP BY ALL)
    GROUP BY ALL ORDER BY bucket
"""

# The last seven days as they are, and both weeks over the hours of the week that both have: a day that is missing
# changes no trend.
_CLASSES = f"""
    WITH recent AS (
      SELECT *, interval_start_local > last - INTERVAL 7 DAY AS is_last,
        (isodow(interval_start_local), hour(interval_start_local)) AS hour_of_week
      FROM marts.fct_transaction_cost, (
        SELECT max(interval_start_local) AS last FROM marts.fct_interval_utilization WHERE system_id = ?)
      WHERE system_id = ? AND class_kind = 'service_class' AND interval_start_local > last - INTERVAL 14 DAY
        AND {{during}}),
    common AS (SELECT hour_of_week FROM recent GROUP BY ALL HAVING count(DISTINCT is_last) = 2),
    weeks AS (
      SELECT *, 'last' AS week FROM recent WHERE is_last
      UNION ALL
      SELECT *, if(is_last, 'after', 'before') FROM recent SEMI JOIN common USING (hour_of_week))
    SELECT class_name, any_value(workload) AS workload, week, {CLASS_FIGURES}
    FROM (SELECT class_name, any_value(workload) AS workload, week, {CLASS_SUMS} FROM weeks GROUP BY ALL)
    GROUP BY ALL
"""

# The last 24 hours of systems and machines beside the same a week before: scope system or machine, and its name.
# Records seldom end at midnight, and a few hours of a night are no day. How busy one is of which no engines are
# recorded is not known. Local time repeats an hour when summer time ends: intervals are told apart by UTC.
_LAST_DAYS = """
    WITH busy AS (
      SELECT 'system' AS scope, system_id AS name, interval_start_utc, interval_start_local,
        sum(busy_s / interval_s) AS used, sum(online_s / interval_s) AS online
      FROM marts.fct_interval_utilization WHERE engine_type = 'CP' AND {during} GROUP BY ALL
      UNION ALL
      SELECT 'machine', cpc, interval_start_utc, interval_start_local, sum(dispatch_s / covered_s),
        max(physical_engines)
      FROM marts.fct_cpc_interval WHERE engine_type = 'CP' AND covered_s > 0 AND {during} GROUP BY ALL),
    last AS (
      SELECT scope, name, max(interval_start_local) AS start, 100 * max(used / online) AS highest_pct,
        arg_max(interval_start_local, used / online) AS highest_at
      FROM busy WHERE online > 0 GROUP BY ALL),
    days AS (
      SELECT scope, name, date_diff('second', interval_start_local, start) // 86400 AS back, max(online) AS cps,
        100 * sum(used) / sum(online) AS mean_pct, 100 * max(used / online) AS peak_pct
      FROM busy JOIN last USING (scope, name) WHERE online > 0 GROUP BY ALL),
    msu AS (
      SELECT 'system' AS scope, d.system_id AS name, m.interval_start_local, sum(msu) AS msu, sum(r4ha_msu) AS r4ha
      FROM marts.fct_msu m JOIN (SELECT DISTINCT system_id, smf_sid FROM marts.dim_system) d ON m.name = d.smf_sid
      WHERE m.scope = 'lpar' AND {during} GROUP BY d.system_id, m.interval_start_utc, m.interval_start_local
      UNION ALL
      SELECT 'machine', name, interval_start_local, msu, r4ha_msu FROM marts.fct_msu WHERE scope = 'cpc' AND {during})
    SELECT l.scope, l.name, l.start::date AS last_day, d.cps, d.mean_pct, d.peak_pct,
      w.mean_pct AS week_before_mean_pct, w.peak_pct AS week_before_peak_pct, l.highest_pct, l.highest_at,
      m.* EXCLUDE (scope, name)
    FROM last l JOIN days d USING (scope, name)
    LEFT JOIN (
      SELECT m.scope, m.name, max(m.msu) AS highest_msu, arg_max(m.interval_start_local, m.msu) AS highest_msu_at,
        max(m.r4ha) AS highest_r4ha_msu, arg_max(m.interval_start_local, m.r4ha) AS highest_r4ha_at,
        max(m.r4ha) FILTER (m.interval_start_local > l.start - INTERVAL 24 HOUR) AS r4ha_msu
      FROM msu m JOIN last l USING (scope, name) GROUP BY ALL) m USING (scope, name)
    LEFT JOIN days w ON w.scope = l.scope AND w.name = l.name AND w.back = 7
    WHERE d.back = 0
    ORDER BY l.scope, l.name
"""

_LPARS = """
    SELECT s.system_id, list(DISTINCT s.smf_sid ORDER BY s.smf_sid) AS lpars,
      any_value(s.cpc_name) AS machine_name, sum(s.cps) AS cps, sum(s.ziips) AS ziips, sum(s.intervals) AS intervals,
      sum(s.run_intervals) AS run_intervals, min(s.first_start_local) AS first_start_local,
      max(s.last_start_local) AS last_start_local,
      any_value((SELECT any_value(cpc) FROM marts.fct_cpc_interval m WHERE m.smf_sid = s.smf_sid)) AS machine
    FROM marts.dim_system s GROUP BY ALL
"""

# LPARs of the last 24 hours: others were deleted, renamed or moved. PHYSICAL is what partition management itself takes.
_ON_MACHINE = """
    SELECT m.cpc AS machine, count(DISTINCT lpar_name) AS lpars
    FROM marts.fct_cpc_interval m JOIN (
      SELECT cpc, max(interval_start_local) AS last FROM marts.fct_cpc_interval GROUP BY ALL) USING (cpc)
    WHERE engine_type = 'CP' AND lpar_name <> 'PHYSICAL' AND interval_start_local > last - INTERVAL 24 HOUR
    GROUP BY ALL
"""


def overview(snapshot: Snapshot, during: str = "true") -> Overview:
    """Every machine and LPAR with a history: its last 24 hours beside the same a week before, its peak, its MSU.

    during: SQL of the intervals that count, such as those of a shift; without any, an LPAR is left out.
    """
    published = snapshot.published_at()
    lpars = {row["system_id"]: row for row in snapshot.rows(_LPARS)}
    on_machine = {row["machine"]: row["lpars"] for row in snapshot.rows(_ON_MACHINE)}
    names = {about["machine"]: about["machine_name"] for about in lpars.values()}
    ratios = service_classes.capture_ratios(snapshot, during=during)
    systems, machines = [], []
    for row in snapshot.rows(_LAST_DAYS.format(during=during)):
        last = {
            "last_day": row["last_day"].isoformat(),
            "highest_at": row["highest_at"].isoformat(),
            **{
                f"{name}_busy_pct": number(row[f"{name}_pct"])
                for name in ("mean", "peak", "week_before_mean", "week_before_peak", "highest")
            },
            **{name: number(row[name]) for name in ("r4ha_msu", "highest_msu", "highest_r4ha_msu")},
            **{name: row[name].isoformat() if row[name] else None for name in ("highest_msu_at", "highest_r4ha_at")},
        }
        if row["scope"] == "machine":
            machines.append(
                MachineOverview(
                    machine=row["name"],
                    machine_name=names.get(row["name"], row["name"]),
                    cps=number(row["cps"]),
                    lpars=on_machine.get(row["name"], 0),
                    **last,
                )
            )
            continue
        about = lpars[row["name"]]
        if about["run_intervals"] == about["intervals"]:
            continue
        systems.append(
            SystemOverview(
                system=row["name"],
                machine=str(about["machine"] or ""),
                machine_name=about["machine_name"],
                capture_ratio=number(ratios.get(row["name"])),
                lpars=about["lpars"],
                cps=about["cps"],
                ziips=about["ziips"],
                first_start_local=about["first_start_local"].isoformat(),
                last_start_local=about["last_start_local"].isoformat(),
                **last,
            )
        )
    shown = {system.machine for system in systems}
    return Overview(
        published_at=published.isoformat() if published else None,
        machines=[machine for machine in machines if machine.machine in shown],
        systems=systems,
        classes=_class_msu(snapshot, {system.system for system in systems}, during),
    )


def _class_msu(snapshot: Snapshot, systems: Container[str], during: str) -> list[ClassMsu]:
    return [
        ClassMsu(
            system=row["system_id"],
            class_name=row["class_name"],
            workload=row["workload"] or "",
            msu=number(row["msu"]),
            peak_msu=number(row["peak_msu"]),
        )
        for row in service_classes.classes(snapshot, during=during)
        if row["system_id"] in systems
    ]


def span(snapshot: Snapshot, system: str) -> tuple[dt.datetime, dt.datetime] | None:
    """First and last recorded start of a system, local time; None for a system without intervals."""
    row = snapshot.rows(
        "SELECT min(interval_start_local) AS first, max(interval_start_local) AS last "
        "FROM marts.fct_interval_utilization WHERE system_id = ?",
        [system],
    )[0]
    return None if row["first"] is None else (row["first"], row["last"])


def finest(first: dt.datetime, last: dt.datetime) -> Every:
    """The finest bucket that keeps a span within the most rows."""
    seconds = (last - first).total_seconds()
    return "interval" if seconds / INTERVAL_S <= MAX_ROWS else "hour" if seconds / 3600 <= MAX_ROWS else "day"


def history(
    snapshot: Snapshot, system: str, first: dt.datetime, last: dt.datetime, every: Every, during: str = "true"
) -> History:
    """Engines in use by class group, capacity and MSU of a system, one value for every bucket of local time.

    during: SQL of the intervals that count, such as those of a shift.
    """
    span, within = _SPAN.format(during=during), _WITHIN.format(during=during)
    series = [query.format(bucket=BUCKETS[every], within=within, span=span, own=_OWN) for query in _SERIES]
    starts, columns = columns_over(snapshot, series, [system, first, last] * len(_SERIES))
    return History(system=system, every=every, start_local=starts, columns=columns)


def columns_over(
    snapshot: Snapshot, series: Sequence[str], parameters: list[Any] | dict[str, Any]
) -> tuple[list[str], list[Column]]:
    """The buckets of queries for bucket, kind, name, unit and value, and a column with a value for each of them."""
    query = _COLUMNS.format(" UNION ALL ".join(f"({query})" for query in series))
    buckets, *rows = snapshot.rows(query, parameters)
    columns = [Column(kind=one["kind"], name=one["name"], unit=one["unit"], values=one["values_"]) for one in rows]
    return buckets["starts"] or [], columns


def classes(snapshot: Snapshot, system: str, during: str = "true") -> list[ClassRow]:
    """Service classes of the last seven days, with the change from the seven before (hours of the week of both).

    during: SQL of the intervals that count, such as those of a shift.
    """
    goals = {row["class_name"]: row for row in service_classes.classes(snapshot, system, during)}
    weeks: dict[str, dict[str, dict[str, Any]]] = {}
    for row in snapshot.rows(_CLASSES.format(during=during), [system, system]):
        weeks.setdefault(row["class_name"], {})[row["week"]] = row
    rows = []
    for name, by_week in weeks.items():
        now, before, after = by_week.get("last"), by_week.get("before", {}), by_week.get("after", {})
        if now is None:
            continue
        goal = goals.get(name, {})
        rows.append(
            ClassRow(
                class_name=name,
                workload=str(now["workload"] or ""),
                importance=goal.get("importance"),
                goal_ms=number(goal.get("goal_ms")),
                goal_kind=goal.get("goal_kind"),
                **{key: number(goal.get(key)) for key in SERVED},
                **{key: number(now[key]) for key in ("rate_tps", "cpu_us_per_tran", "engines", "response_ms")},
                **{
                    f"{key}_change_pct": _change(after.get(key), before.get(key))
                    for key in ("rate_tps", "cpu_us_per_tran", "response_ms")
                },
            )
        )
    return sorted(rows, key=lambda row: -(row.engines or 0.0))


def workloads(rows: Sequence[ClassRow], cpu_hour_price: float | None) -> list[WorkloadRow]:
    """The workloads of classes, those that use most first.

    CPU of regions is in classes of their own, so that only all classes of a workload have all CPU of a transaction.
    """
    by_name: dict[str, list[ClassRow]] = {}
    for row in rows:
        by_name.setdefault(row.workload, []).append(row)
    workloads = []
    for name, members in by_name.items():
        engines, rate = (sum(getattr(one, key) or 0.0 for one in members) for key in ("engines", "rate_tps"))
        overflow = sum(one.ziip_on_cp_engines or 0.0 for one in members)
        cost_us = 1e6 * engines / rate if rate else None
        price = cpu_hour_price
        workloads.append(
            WorkloadRow(
                workload=name,
                msu=sum(one.msu or 0.0 for one in members) if any(one.msu is not None for one in members) else None,
                engines=engines,
                rate_tps=rate,
                cpu_us_per_tran=cost_us,
                ziip_on_cp_engines=overflow,
                cost_per_1000=None if price is None or cost_us is None else price * cost_us / 3.6e6,
                ziip_on_cp_cost_per_hour=None if price is None else price * overflow,
            )
        )
    return sorted(workloads, key=lambda one: -one.engines)


def class_history(
    snapshot: Snapshot,
    system: str,
    name: str,
    first: dt.datetime,
    last: dt.datetime,
    every: Every,
    during: str = "true",
) -> ClassHistory:
    """Rate, cost, engines in use and mean response of a service class, in the intervals that `during` (SQL) chooses."""
    within = _WITHIN.format(during=during)
    rows = snapshot.rows(_CLASS.format(bucket=BUCKETS[every], within=within), [system, first, last, name])
    units = {"rate_tps": "tran/s", "cpu_us_per_tran": "us/tran", "engines": "engines", "response_ms": "ms"}
    return ClassHistory(
        system=system,
        class_name=name,
        every=every,
        start_local=[row["bucket"].isoformat() for row in rows],
        columns=[
            Column(kind=kind, name=kind, unit=unit, values=[number(row[kind]) for row in rows])
            for kind, unit in units.items()
        ],
    )


def _change(now: Any, before: Any) -> float | None:
    new, old = number(now), number(before)
    return None if new is None or not old else 100.0 * (new / old - 1.0)
