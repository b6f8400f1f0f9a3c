"""A model is calibrated on recent intervals, each system's own."""

import duckdb
import pytest

from pipelines import histories
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

EMPTY = {
    "fct_service_class": "interval_s, class_kind, class_name, workload, importance, goal_kind, transactions_ended, "
    "response_ms, response_p90_estimate_ms, cp_s, appl_ziip_pct, appl_ziip_on_cp_pct, ios_per_tran, mean_idle",
    "fct_facility_utilization": "facility_name, processors, requests, busy_s",
    "fct_device": "storage_group, requests, busy_pct, interval_s, pending_ms, ios_queue_ms",
    "fct_transaction_cost": "class_kind, workload, transaction_class, transactions_ended",
    "fct_address_space_cost": "cost_kind, workload, name, cp_s, ziip_s, ziip_on_cp_s",
    "fct_transaction_state": "class_name, class_kind, phase, state, samples, state_s, is_resource_type",
    "fct_machine_interval": "machine, smf_sid, lpar_name, engine_type, interval_start_utc, interval_s, dispatch_s, "
    "is_dedicated, weight, is_initially_capped, cap_engines, logical_processors, shared_engines, physical_engines",
    "dim_system": "system_id, smf_sid, cpc_type",
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


def test_intervals_before_the_days_of_calibration_are_left_out(tmp_path, monkeypatch):
    home = Home(tmp_path)
    home.snapshot.parent.mkdir(parents=True)
    with duckdb.connect(str(home.snapshot)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_interval_utilization AS SELECT smf_sid || day AS interval_key, smf_sid AS "
            "system_id, smf_sid, TIMESTAMP '2026-11-01' - INTERVAL (day) DAY AS interval_start_utc, interval_start_utc "
            "AS interval_start_local, 86400.0 AS interval_s, 'CP' AS engine_type, 4.0 AS engines, 90.0 AS busy_s, "
            "NULL::DOUBLE AS thread_density FROM range(200) AS t(day), (VALUES ('SYSA'), ('SYSB')) AS s(smf_sid) "
            "WHERE smf_sid = 'SYSA' OR day >= 150"
        )
        con.execute(
            "INSERT INTO marts.fct_interval_utilization BY NAME SELECT * REPLACE ('wrong date' AS interval_key, "
            "TIMESTAMP '2042-09-17' AS interval_start_utc, interval_s / 2 AS interval_s) "
            "FROM marts.fct_interval_utilization LIMIT 1"
        )
        con.execute("CREATE TABLE marts.dim_interval AS FROM marts.fct_interval_utilization")
        empty_marts(con)
    monkeypatch.setenv("ETALON_FIT_DAYS", "30")
    seen = {}
    monkeypatch.setattr("model.calibration.intervals.histories", seen.update)
    histories.recent(home)
    assert dict(seen["utilization"].groupby("smf_sid").size()) == {"SYSA": 30, "SYSB": 30}
    with duckdb.connect(str(home.snapshot)) as con:
        con.execute("ALTER TABLE marts.fct_service_class DROP COLUMN mean_idle")
    with pytest.raises(EtalonError, match=r"not those of this version .*mean_idle.*; run `etalon build`") as raised:
        histories.recent(home)
    assert raised.value.code == Exit.NOT_READY
