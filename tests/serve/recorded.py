"""A snapshot that holds the history of one LPAR, and a model of it."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import duckdb

from model.capacity.parameters import Machine, SystemParameters, Weights

DAYS, HOURS = 16, 24
FIRST = dt.datetime(2026, 9, 7)


def record(home: Path) -> None:
    """Put a history into the snapshot of `home`: 4 CPs, a class that costs 10 % more from the second week on, a gap."""
    starts = [FIRST + dt.timedelta(hours=i) for i in range(DAYS * HOURS) if i != 30]
    rows = [
        {
            "system_id": "PRDA",
            "smf_sid": "PRDA",
            "engine_type": "CP",
            "interval_key": f"PRDA {start}",
            "interval_start_local": start.isoformat(),
            "interval_start_utc": start.isoformat(),
            "interval_end_local": (start + dt.timedelta(hours=1)).isoformat(),
            "interval_s": 3600.0,
            "engines": 4,
            "online_s": 4 * 3600.0,
            "cpu_busy_pct": 25.0 * (1.0 + start.hour / 24),
            "busy_s": 3600.0 * (1.0 + start.hour / 24),
            "appl_cp_pct": (100.0 if start < FIRST + dt.timedelta(days=7) else 110.0) * (1 + 0.01 * (start.day % 3)),
            "class": "HIGH",
        }
        for start in starts
    ]
    source = home / "rows.json"
    source.write_text(json.dumps(rows))
    target = home / "published" / "etalon.duckdb"
    target.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(target)) as con:
        con.execute(f"CREATE TABLE rows AS SELECT * FROM read_json('{source}')")
        con.execute("CREATE SCHEMA IF NOT EXISTS marts")
        con.execute("CREATE SCHEMA meta")
        con.execute("CREATE TABLE marts.fct_interval_utilization AS SELECT * FROM rows")
        con.execute(
            "CREATE TABLE marts.dim_system AS SELECT 'PRDA' AS system_id, 'PRDA' AS smf_sid, '3906' AS cpc_type, "
            "'704' AS cpc_model, 'CEC1' AS cpc_serial, '3906-704 CEC1' AS cpc_name, "
            "20e6 / 3600 AS software_service_units_per_s, 4 AS cps, 0 AS ziips, "
            "count(*) AS intervals, 0 AS run_intervals, "
            "min(interval_start_local) AS first_start_local, max(interval_start_local) AS last_start_local FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_transaction_cost AS SELECT *, 'CICS' AS workload, 'service_class' AS class_kind, "
            '"class" AS class_name, 36000.0 AS transactions_ended, 12.5 AS response_ms FROM rows'
        )
        con.execute(
            "CREATE TABLE marts.fct_uncaptured AS "
            "SELECT *, 360.0 AS uncaptured_s, busy_s - 360.0 AS captured_s FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.dim_interval AS SELECT *, NULL AS point, "
            "interval_end_local AS interval_end_utc FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_gap AS SELECT 'PRDA' AS system_id, 'PRDA' AS smf_sid, 3600.0 AS gap_s, "
            "TIMESTAMP '2026-09-08 06:00:00' AS gap_start_local, TIMESTAMP '2026-09-08 07:00:00' AS gap_end_local, "
            "TIMESTAMP '2026-09-08 06:40:00' AS ipl_local"
        )
        con.execute(
            "CREATE TABLE marts.fct_service_class AS SELECT *, 'service_class' AS class_kind, \"class\" AS class_name, "
            "1 AS period_number, 2 AS importance, 30.0 AS goal_ms, 'average response' AS goal_kind, "
            "if(hour(interval_start_local::timestamp) < 6, 1.2, 0.4) AS performance_index, 'CICS' AS workload, "
            "70.0 AS cp_msu, 25.0 AS appl_ziip_pct, 5.0 AS appl_ziip_on_cp_pct FROM rows"
        )
        con.execute("CREATE TABLE marts.fct_ziip AS SELECT *, 180.0 AS ziip_on_cp_s FROM rows")
        con.execute(
            "CREATE TABLE marts.fct_system_event AS SELECT 'PRDA' AS system_id, 'PRDA' AS smf_sid, "
            "'records lost' AS event, TIMESTAMP '2026-09-10 09:00:00' AS event_start_local, "
            "TIMESTAMP '2026-09-10 09:30:00' AS event_end_local, 1234 AS records_lost"
        )
        con.execute(
            "CREATE TABLE marts.fct_cpc_interval AS WITH described AS ("
            "SELECT 'CEC1' AS cpc, 'PRDA' AS smf_sid, 'PRDA' AS lpar_name, "
            "interval_start_local, interval_start_local AS interval_start_utc, 'CP' AS engine_type, "
            "false AS is_dedicated, weight, 8.0 AS shared_engines, NULL::double AS cap_engines, "
            "busy_s AS dispatch_s, interval_s AS covered_s, 8.0 AS physical_engines "
            "FROM rows, (VALUES (300.0)) w(weight) "
            "UNION ALL SELECT 'CEC1', NULL, 'PRDB', interval_start_local, interval_start_local, 'CP', false, 500.0, "
            "8.0, NULL, 3600.0, interval_s, 8.0 FROM rows "
            "UNION ALL SELECT 'CEC1', NULL, 'DELETED', interval_start_local, interval_start_local, 'CP', false, 0.0, "
            "8.0, NULL, 0.0, interval_s, 8.0 FROM rows WHERE interval_start_local < TIMESTAMP '2026-09-08') "
            "SELECT *, 4 AS logical_processors, false AS is_initially_capped, NULL::double AS group_cap_engines, "
            "if(lpar_name = 'PRDB', 120.0, 0.0) AS defined_capacity_msu, 0.0 AS capped_pct, "
            "if(lpar_name = 'PRDA', 'GROUP1', NULL) AS capacity_group_name, "
            "if(lpar_name = 'PRDA', 250.0, 0.0) AS capacity_group_limit_msu FROM described"
        )
        con.execute(
            "CREATE TABLE marts.fct_msu AS SELECT 'lpar' AS scope, 'PRDA' AS name, interval_start_local, "
            "interval_start_utc, 100.0 AS msu, 90.0::double AS r4ha_msu, NULL::double AS capacity_msu, "
            "4.0 AS hours_averaged, system_id, interval_s FROM rows UNION ALL "
            "SELECT 'cpc', 'CEC1', interval_start_local, interval_start_utc, 200.0, 180.0, NULL, 4.0, NULL, interval_s "
            "FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_msu_hour AS SELECT 'lpar' AS scope, 'PRDA' AS name, 'PRDA' AS system_id, "
            "'CEC1' AS cpc, interval_start_local AS hour_local, DATE '2026-09-02' AS billing_month, 1 AS lpars, "
            "100.0::double AS msu, (80.0 + hour(interval_start_local))::double AS r4ha_msu, 95.0::double AS limit_msu, "
            "least(80.0 + hour(interval_start_local), 95.0)::double AS billable_msu, "
            "if(hour(interval_start_local) > 15, 12.5, 0.0) AS capped_pct, NULL::varchar AS capacity_group FROM rows "
            "UNION ALL SELECT 'cpc', 'CEC1', NULL, 'CEC1', interval_start_local, DATE '2026-09-02', 1, 200.0, "
            "180.0 + hour(interval_start_local), NULL, 180.0 + hour(interval_start_local), 0.0, NULL FROM rows"
        )
        con.execute(
            "CREATE TABLE meta.ledger AS SELECT 7 AS file_id, '/somewhere/private/day.smf' AS path, 'smf' AS kind, "
            "'loaded' AS status, 10 AS bytes, 5 AS records, 5 AS decoded, 0 AS quarantined, "
            "'/somewhere/private/day.smf: no descriptor leads on' AS message, TIMESTAMP '2026-09-23 01:00' AS loaded_at"
        )
        con.execute("CREATE SCHEMA staging")
        con.execute(
            "CREATE TABLE staging.stg_smf70_1_product AS SELECT 7 AS file_id, 3 AS record_seq, smf_sid, "
            "interval_start_local FROM rows LIMIT 1"
        )
        con.execute(
            "CREATE TABLE staging.stg_smf30_identification AS SELECT 7 AS file_id, 4 + range AS record_seq, smf_sid, "
            "interval_start_local + to_minutes(20 * range) AS interval_begin_utc "
            "FROM (FROM rows LIMIT 1) CROSS JOIN range(4)"
        )
        con.execute("CREATE SCHEMA raw")
        for name in ("smf70_1_product", "smf30_identification"):
            con.execute(f"CREATE TABLE raw.{name} AS SELECT 7 AS file_id")


def modelled() -> SystemParameters:
    """The parameters of the history, calibrated on two weeks of an LPAR of two classes on a machine it shares."""
    from model.calibration.lpar import calibrate_lpar
    from tests.cases.histories import history

    machine = Machine("3906-704 CEC1", engines=8.0, share=0.375, capped=False, management=0.0)
    return replace(calibrate_lpar(history(growth_per_week=0.01)), machine=machine, weights=Weights(300.0, 800.0))
