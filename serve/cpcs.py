"""CPCs over time, from the published snapshot: every LPAR, its share and caps, MSU and R4HA against their limits."""

from __future__ import annotations

import datetime as dt
from typing import Any

from serve.evidence import number
from serve.history import BUCKETS, Every, columns_over
from serve.records import Cpc, CpcHistory, CpcLpar, CpcSummary, Peak
from serve.snapshot import Snapshot

NAMES = "SELECT DISTINCT coalesce(cpc_serial, smf_sid) AS cpc, cpc_name FROM marts.dim_system"
"""The names of CPCs for readers, by the identifier that the marts have."""
SHORTEST = 4
"""Characters that tell a CPC by the end of its serial number."""

_LISTED = f"""
    SELECT cpc, coalesce(any_value(cpc_name), cpc) AS name, min(interval_start_local) AS first,
      max(interval_start_local) AS last,
      list(DISTINCT system_id ORDER BY system_id) FILTER (system_id IS NOT NULL) AS systems
    FROM marts.fct_cpc_interval LEFT JOIN ({NAMES}) USING (cpc)
    LEFT JOIN (SELECT DISTINCT smf_sid, system_id FROM marts.dim_system) USING (smf_sid)
    GROUP BY cpc ORDER BY name
"""
_HERE = """SELECT *, if(engine_type = 'CP', 'cp', 'ziip') AS pool, {bucket} AS bucket FROM marts.fct_cpc_interval
      WHERE cpc = $cpc AND engine_type IN ('CP', 'zIIP') AND covered_s > 0"""
_SPAN = "interval_start_local >= $first AND interval_start_local < $last AND {during}"

# Engines dispatched, of every LPAR and of PHYSICAL. An LPAR that was there in a part of a bucket has its mean over all.
_ENGINES = f"""
    WITH here AS ({_HERE} AND {_SPAN}),
    total AS (
      SELECT pool, bucket, interval_start_utc, any_value(covered_s) AS seconds, sum(dispatch_s / covered_s) AS used,
        max(physical_engines) AS physical
      FROM here GROUP BY ALL),
    spans AS (
      SELECT pool, bucket, sum(seconds) AS seconds, max(used) AS peak,
        sum(physical * seconds) / sum(seconds) AS physical
      FROM total GROUP BY ALL)
    SELECT bucket, pool || '_lpar' AS kind, lpar_name AS name, 'engines' AS unit, sum(dispatch_s) / any_value(seconds)
    FROM here JOIN spans USING (pool, bucket) GROUP BY ALL
    UNION ALL SELECT bucket, pool || '_peak', 'highest interval', 'engines', peak FROM spans
    UNION ALL SELECT bucket, pool || '_physical', 'physical', 'engines', physical FROM spans WHERE physical IS NOT NULL
"""
# An LPAR without records of its own has no R4HA of its own; it is in that of the CPC.
_MSU = f"""
    WITH lpars AS (
      SELECT smf_sid, any_value(lpar_name) AS lpar, any_value(capacity_group_name) AS capacity_group
      FROM marts.fct_cpc_interval WHERE cpc = $cpc AND smf_sid IS NOT NULL GROUP BY ALL),
    msu AS (
      SELECT {{bucket}} AS bucket, scope, name, lpar, capacity_group, avg(msu) AS msu, avg(r4ha_msu) AS r4ha
      FROM marts.fct_msu LEFT JOIN lpars ON scope = 'lpar' AND name = smf_sid
      WHERE {_SPAN} AND if(scope = 'cpc', name = $cpc, lpar IS NOT NULL) GROUP BY ALL)
    SELECT bucket, 'msu', 'MSU', 'MSU', msu FROM msu WHERE scope = 'cpc'
    UNION ALL SELECT bucket, 'r4ha_msu', 'R4HA', 'MSU', r4ha FROM msu WHERE scope = 'cpc'
    UNION ALL SELECT bucket, 'r4ha_lpar', lpar, 'MSU', r4ha FROM msu WHERE scope = 'lpar'
    UNION ALL SELECT bucket, 'r4ha_group', capacity_group, 'MSU', sum(r4ha)
    FROM msu WHERE capacity_group IS NOT NULL GROUP BY ALL
"""
_LIMITS = f"""
    WITH here AS ({_HERE} AND {_SPAN})
    SELECT bucket, 'group_limit', capacity_group_name, 'MSU', max(capacity_group_limit_msu)
    FROM here WHERE capacity_group_name IS NOT NULL AND capacity_group_limit_msu > 0 GROUP BY ALL
    UNION ALL SELECT bucket, 'defined_capacity', lpar_name, 'MSU', max(defined_capacity_msu)
    FROM here WHERE defined_capacity_msu > 0 GROUP BY ALL
"""

# LPARs of the last seven days: their use over these days, and their definition in the latest interval.
_DEFINITION = {
    "cps": "logical_processors",
    "weight": "weight",
    "share_pct": "100 * share",
    "share_engines": "share * shared_engines",
    "is_dedicated": "is_dedicated",
    "is_capped": "is_initially_capped",
    "cap_engines": "cap_engines",
    "group_cap_engines": "group_cap_engines",
    "defined_capacity_msu": "nullif(defined_capacity_msu, 0)",
    "capacity_group": "capacity_group_name",
    "capacity_group_limit_msu": "nullif(capacity_group_limit_msu, 0)",
}
_DEFINED = ", ".join(
    f"last({column} ORDER BY interval_start_local) FILTER (pool = 'cp') AS {name}"
    for name, column in _DEFINITION.items()
)
_LPARS = f"""
    WITH here AS ({_HERE.format(bucket="interval_start_local")}),
    recent AS (
      SELECT *, dispatch_s / covered_s AS used, max(interval_start_local) OVER () AS latest,
        weight / nullif(sum(if(is_dedicated, NULL, weight)) OVER (PARTITION BY pool, interval_start_utc), 0) AS share
      FROM here QUALIFY interval_start_local > latest - INTERVAL 7 DAY)
    SELECT lpar_name AS lpar, any_value(system_id) AS system, {_DEFINED},
      sum(dispatch_s) FILTER (pool = 'cp') / sum(covered_s) FILTER (pool = 'cp') AS cps_used,
      max(used) FILTER (pool = 'cp') AS peak_cps_used,
      arg_max(interval_start_local, used) FILTER (pool = 'cp') AS peak_at,
      last(logical_processors ORDER BY interval_start_local) FILTER (pool = 'ziip') AS ziips,
      sum(dispatch_s) FILTER (pool = 'ziip') / sum(covered_s) FILTER (pool = 'ziip') AS ziips_used,
      max(capped_pct) AS capped_pct,
      (SELECT max(r4ha_msu) FROM marts.fct_msu m WHERE m.scope = 'lpar' AND m.name = any_value(recent.smf_sid)
        AND m.interval_start_local > any_value(latest) - INTERVAL 7 DAY) AS r4ha_msu
    FROM recent LEFT JOIN (SELECT DISTINCT smf_sid, system_id FROM marts.dim_system) USING (smf_sid)
    GROUP BY lpar_name
    HAVING max(interval_start_local) > any_value(latest) - INTERVAL 24 HOUR
    ORDER BY lpar_name = 'PHYSICAL', cps_used DESC NULLS LAST, lpar_name
"""
_PEAKS = f"""
    WITH here AS ({_HERE.format(bucket="interval_start_local")}),
    total AS (
      SELECT pool, interval_start_utc, min(bucket) AS start, sum(dispatch_s / covered_s) AS used,
        max(physical_engines) AS physical
      FROM here GROUP BY ALL)
    SELECT pool AS kind, 'engines' AS unit, max(used) AS value, arg_max(start, used) AS at_local,
      last(physical ORDER BY start) AS capacity
    FROM total GROUP BY ALL
    UNION ALL
    SELECT 'msu', 'MSU', max(msu), arg_max(interval_start_local, msu), NULL
    FROM marts.fct_msu WHERE scope = 'cpc' AND name = $cpc HAVING count(msu) > 0
    UNION ALL
    SELECT 'r4ha_msu', 'MSU', max(r4ha_msu), arg_max(interval_start_local, r4ha_msu), NULL
    FROM marts.fct_msu WHERE scope = 'cpc' AND name = $cpc AND hours_averaged > 3.9 HAVING count(r4ha_msu) > 0
"""
_RATING = """
    SELECT avg(software_service_units_per_s) * 3600 / 1e6 AS msu_per_engine
    FROM marts.dim_system WHERE coalesce(cpc_serial, smf_sid) = $cpc
"""


def listed(snapshot: Snapshot) -> list[CpcSummary]:
    """The CPCs of which intervals are recorded, by name."""
    return [
        CpcSummary(
            cpc=row["cpc"],
            name=row["name"],
            first_start_local=row["first"].isoformat(),
            last_start_local=row["last"].isoformat(),
            systems=row["systems"] or [],
        )
        for row in snapshot.rows(_LISTED)
    ]


def names_of(snapshot: Snapshot, system: str) -> list[str]:
    """Identifier and name of the CPC that a system runs on; none for an unknown one."""
    return next(([one.cpc, one.name] for one in listed(snapshot) if system in one.systems), [])


def find(snapshot: Snapshot, given: str) -> CpcSummary | None:
    """A CPC by its identifier, its name, or the end of its serial number if it alone ends so; None for another."""
    cpcs = listed(snapshot)
    exact = [one for one in cpcs if given in (one.cpc, one.name)]
    alike = exact or [one for one in cpcs if len(given) >= SHORTEST and one.cpc.upper().endswith(given.upper())]
    return alike[0] if len(alike) == 1 else None


def about(snapshot: Snapshot, cpc: CpcSummary) -> Cpc:
    """A CPC with its recorded peaks and its LPARs as last defined; MSU of all its CPs where a rating is recorded."""
    key = {"cpc": cpc.cpc}
    rating = number(snapshot.rows(_RATING, key)[0]["msu_per_engine"])
    peaks = [
        Peak(**{**row, "at_local": row["at_local"].isoformat(), "capacity": number(row["capacity"])})
        for row in snapshot.rows(_PEAKS, key)
        if row["value"] is not None
    ]
    physical = next((peak.capacity for peak in peaks if peak.kind == "cp"), None)
    if rating is not None and physical is not None:
        peaks = [
            peak.model_copy(update={"capacity": rating * physical}) if peak.unit == "MSU" else peak for peak in peaks
        ]
    return Cpc(
        **cpc.model_dump(),
        msu_per_engine=rating,
        peaks=peaks,
        lpars=[_lpar(row) for row in snapshot.rows(_LPARS, key)],
    )


def history(
    snapshot: Snapshot, cpc: str, first: dt.datetime, last: dt.datetime, every: Every, during: str = "true"
) -> CpcHistory:
    """Engines and MSU of a CPC by LPAR and capacity group, with their limits, one value a bucket of local time.

    during: SQL of the intervals that count, such as those of a shift.
    """
    series = [query.format(bucket=BUCKETS[every], during=during) for query in (_ENGINES, _MSU, _LIMITS)]
    starts, columns = columns_over(snapshot, series, {"cpc": cpc, "first": first, "last": last})
    return CpcHistory(cpc=cpc, every=every, start_local=starts, columns=columns)


def _lpar(row: dict[str, Any]) -> CpcLpar:
    texts = ("lpar", "system", "capacity_group", "is_dedicated", "is_capped")
    fields = {name: value if name in texts else number(value) for name, value in row.items()}
    return CpcLpar.model_validate({**fields, "peak_at": row["peak_at"].isoformat() if row["peak_at"] else None})
