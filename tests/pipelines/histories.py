"""Marts of histories for tests."""

import duckdb

EMPTY = {
    "fct_service_class": "interval_s, class_kind, class_name, workload, importance, goal_kind, transactions_ended, "
    "response_ms, response_p90_estimate_ms, cp_s, appl_ziip_pct, appl_ziip_on_cp_pct, ios_per_tran, mean_idle, "
    "cp_using_s, cp_delay_s, ziip_using_s, ziip_delay_s",
    "fct_facility_utilization": "facility_name, processors, requests, busy_s",
    "fct_device": "storage_group, requests, busy_pct, interval_s, pending_ms, ios_queue_ms",
    "fct_transaction_cost": "class_kind, workload, transaction_class, transactions_ended",
    "fct_address_space_cost": "cost_kind, workload, name, cp_s, ziip_s, ziip_on_cp_s",
    "fct_transaction_state": "class_name, class_kind, phase, state, samples, state_s, is_resource_type",
    "fct_served_class": "class_name, served_class_name, times_served",
    "fct_cpc_interval": "cpc, smf_sid, lpar_name, engine_type, interval_start_utc, interval_s, dispatch_s, "
    "is_dedicated, weight, is_initially_capped, cap_engines, logical_processors, shared_engines, physical_engines",
    "dim_system": "system_id, smf_sid, cpc_serial, cpc_name, cpc_type",
}


def empty_marts(con: duckdb.DuckDBPyConnection) -> None:
    """Make the marts that a calibration reads, as far as there are none yet, without rows."""
    con.execute("CREATE SCHEMA IF NOT EXISTS marts")
    for table, columns in EMPTY.items():
        made = ", ".join(
            f"NULL::{'DOUBLE' if table in ('fct_device', 'fct_facility_utilization') else 'VARCHAR'} AS {name}"
            for name in columns.split(", ")
        )
        con.execute(f"CREATE TABLE IF NOT EXISTS marts.{table} AS SELECT NULL::VARCHAR AS interval_key, {made} LIMIT 0")
