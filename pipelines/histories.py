"""The data of the published snapshot on which a model is calibrated: the recent intervals of every LPAR."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

LEAST_DAYS = 3
"""A system is calibrated on no fewer days, so that what lies farther from the rest is no end of its history."""
_RECENT = """WITH dated AS (
    SELECT interval_key, system_id, coalesce(interval_start_utc, interval_start_local) AS start_at,
        sum(interval_s) OVER (PARTITION BY system_id ORDER BY start_at
            RANGE BETWEEN INTERVAL {days} DAY PRECEDING AND CURRENT ROW) AS recorded_s
    FROM marts.dim_interval
), ended AS (
    SELECT *, coalesce(max(start_at) FILTER (recorded_s >= 86400 * {least}) OVER system, max(start_at) OVER system)
        AS last_at
    FROM dated WINDOW system AS (PARTITION BY system_id)
), recent AS (
    SELECT interval_key, start_at FROM ended WHERE start_at > last_at - INTERVAL {days} DAY AND start_at <= last_at
) """
_QUERIES = {
    "utilization": """SELECT interval_key, system_id, smf_sid, interval_start_utc, interval_start_local, interval_s,
        engine_type, engines, busy_s, thread_density
        FROM marts.fct_interval_utilization SEMI JOIN recent USING (interval_key)""",
    "classes": """SELECT interval_key, interval_s, class_kind, class_name, workload, importance, goal_kind,
        transactions_ended, response_ms, response_p90_estimate_ms, cp_s, appl_ziip_pct, appl_ziip_on_cp_pct,
        ios_per_tran, mean_idle, cp_using_s, cp_delay_s, ziip_using_s, ziip_delay_s
        FROM marts.fct_service_class SEMI JOIN recent USING (interval_key)""",
    "systems": "SELECT system_id, smf_sid, cpc_type FROM marts.dim_system",
    "machines": """SELECT coalesce(cpc_name, cpc) AS machine, smf_sid, lpar_name, engine_type, interval_start_utc,
        interval_s, dispatch_s, is_dedicated, weight, is_initially_capped, cap_engines, logical_processors,
        shared_engines, physical_engines
        FROM marts.fct_cpc_interval
        LEFT JOIN (SELECT DISTINCT coalesce(cpc_serial, smf_sid) AS cpc, cpc_name FROM marts.dim_system) USING (cpc)
        SEMI JOIN (SELECT DISTINCT start_at FROM recent) ON start_at = interval_start_utc""",
    "transactions": """SELECT interval_key, class_kind, workload, transaction_class, transactions_ended
        FROM marts.fct_transaction_cost SEMI JOIN recent USING (interval_key)
        WHERE class_kind = 'workload' OR transaction_class IS NOT NULL""",
    "costs": """SELECT interval_key, workload, name, cp_s, ziip_s, ziip_on_cp_s
        FROM marts.fct_address_space_cost SEMI JOIN recent USING (interval_key)
        WHERE cost_kind = 'address_space_group'""",
    "states": """SELECT interval_key, class_name, phase, state, is_resource_type, samples, state_s
        FROM marts.fct_transaction_state SEMI JOIN recent USING (interval_key)
        WHERE class_kind = 'service_class'
            AND (is_resource_type OR state IN ('active', 'active application', 'ready', 'lock wait'))""",
    "serving": """SELECT interval_key, class_name, served_class_name, times_served
        FROM marts.fct_served_class SEMI JOIN recent USING (interval_key)""",
    "devices": """SELECT interval_key, storage_group AS name, count(*) AS servers, sum(requests) AS requests,
        sum(busy_pct * interval_s) / 100 AS busy_s,
        sum(requests * (coalesce(pending_ms, 0) + coalesce(ios_queue_ms, 0))) / 1e3 AS waited_s
        FROM marts.fct_device SEMI JOIN recent USING (interval_key)
        WHERE storage_group IS NOT NULL GROUP BY ALL
        UNION ALL
        SELECT interval_key, facility_name, processors, requests, busy_s, NULL
        FROM marts.fct_facility_utilization SEMI JOIN recent USING (interval_key)""",
}
"""Queries by the argument of `model.calibration.intervals.histories`; `recent` has the recent intervals."""


def recent(home: Home) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Recent intervals of every LPAR in the published snapshot, and the faults, both by system.

    Intervals are `model.calibration.intervals.History`. Recent is what lies in the `fit_days` of the settings before
    the last interval of a system. Fewer than three days after a longer gap, as of a record with a wrong date, are no
    end of it.
    Raises EtalonError (NOT_READY) where the marts cannot be read so, as when a version with other columns made them.
    """
    from ingest import warehouse
    from ingest.snapshot import BadQuery
    from model.calibration.intervals import histories
    from model.isolation import together
    from pipelines import settings

    days = settings.read(home).fit_days
    keys = _RECENT.format(days=days, least=min(days, LEAST_DAYS))
    try:
        rows = {name: warehouse.query(home.snapshot, keys + query).to_pandas() for name, query in _QUERIES.items()}
    except BadQuery as error:
        reason = str(error).splitlines()[0]
        raise EtalonError(
            f"the published marts are of another version ({reason}); run `etalon build`", Exit.NOT_READY
        ) from error
    utilization = rows.pop("utilization")

    def of_systems(names: Sequence[str]) -> Mapping[str, Any]:
        return histories(utilization=utilization[utilization["system_id"].isin(names)], **rows)

    intervals, faults = together("reading intervals", [*map(str, utilization["system_id"].unique())], of_systems)
    lpars = utilization.groupby("system_id")["smf_sid"].unique()
    named = {
        system: [system] if len(lpars[system]) == 1 else [f"{system}/{sid}" for sid in lpars[system]]
        for system in faults
    }
    return intervals or {}, {name: faults[system] for system, names in named.items() for name in names}
