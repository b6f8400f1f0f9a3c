"""What the service reads of histories: overview, series, classes, periods, gaps and the records behind an interval."""

import datetime as dt
import json

import duckdb
import pytest

from serve.options import options
from serve.periods import student_95

DAYS, HOURS = 16, 24
FIRST = dt.datetime(2026, 9, 7)


@pytest.fixture
def history(home):
    """The snapshot of an LPAR: 4 CPs, one class that costs 10 % more from the second week on, one hour missing."""
    starts = [FIRST + dt.timedelta(hours=i) for i in range(DAYS * HOURS) if i != 30]
    rows = [
        {
            "system_id": "PRDA",
            "smf_sid": "PRDA",
            "engine_type": "CP",
            "interval_key": f"PRDA {start}",
            "interval_start_local": start.isoformat(),
            "interval_end_local": (start + dt.timedelta(hours=1)).isoformat(),
            "interval_s": 3600.0,
            "online_s": 4 * 3600.0,
            "busy_s": 3600.0 * (1.0 + start.hour / 24),
            "appl_cp_pct": (100.0 if start < FIRST + dt.timedelta(days=7) else 110.0) * (1 + 0.01 * (start.day % 3)),
            "class": "CICSHI",
        }
        for start in starts
    ]
    source = home / "rows.json"
    source.write_text(json.dumps(rows))
    target = home / "published" / "etalon.duckdb"
    with duckdb.connect(str(target)) as con:
        con.execute(f"CREATE TABLE rows AS SELECT * FROM read_json('{source}')")
        con.execute("CREATE SCHEMA meta")
        con.execute("CREATE TABLE marts.fct_interval_utilization AS SELECT * FROM rows")
        con.execute(
            "CREATE TABLE marts.dim_system AS SELECT 'PRDA' AS system_id, 'PRDA' AS smf_sid, '3906' AS cpc_type, "
            "'704' AS cpc_model, 4 AS cps, 0 AS ziips, count(*) AS intervals, 0 AS run_intervals, "
            "min(interval_start_local) AS first_start_local, max(interval_start_local) AS last_start_local FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_transaction_cost AS SELECT *, 'CICS' AS workload, 'service_class' AS class_kind, "
            '"class" AS class_name, 36000.0 AS transactions_ended, 12.5 AS response_ms FROM rows'
        )
        con.execute("CREATE TABLE marts.fct_uncaptured AS SELECT *, 360.0 AS uncaptured_s FROM rows")
        con.execute("CREATE TABLE marts.dim_interval AS SELECT *, NULL AS point FROM rows")
        con.execute(
            "CREATE TABLE marts.fct_service_class AS SELECT *, 'service_class' AS class_kind, \"class\" AS class_name, "
            "1 AS period_number, 2 AS importance, 30.0 AS goal_ms, 'average response' AS goal_kind FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_machine_interval AS SELECT 'CEC1' AS machine, 'PRDA' AS smf_sid, "
            "interval_start_local, interval_start_local AS interval_start_utc, 'CP' AS engine_type, "
            "false AS is_dedicated, weight, 8.0 AS shared_engines, NULL::double AS cap_engines "
            "FROM rows, (VALUES (300.0)) w(weight) "
            "UNION ALL SELECT 'CEC1', NULL, interval_start_local, interval_start_local, 'CP', false, 500.0, 8.0, NULL "
            "FROM rows"
        )
        con.execute(
            "CREATE TABLE marts.fct_msu AS SELECT 'lpar' AS scope, 'PRDA' AS name, interval_start_local, "
            "100.0 AS msu, 90.0 AS four_hour_average_msu, NULL::double AS capacity_msu FROM rows"
        )
        con.execute(
            "CREATE TABLE meta.ledger AS SELECT 7 AS file_id, '/somewhere/private/day.smf' AS path, 'smf' AS kind, "
            "'loaded' AS status, 10 AS bytes, 5 AS records, 5 AS decoded, 0 AS quarantined, NULL AS message, "
            "TIMESTAMP '2026-09-23 01:00' AS loaded_at"
        )
        con.execute("CREATE SCHEMA staging")
        con.execute(
            "CREATE TABLE staging.stg_smf70_1_product AS SELECT 7 AS file_id, 3 AS record_seq, smf_sid, "
            "interval_start_local FROM rows LIMIT 1"
        )
    return home


def test_the_overview_sets_the_last_day_beside_the_same_day_a_week_before(client, history):
    found = client("GET", "/v1/overview").json()
    (system,) = found["systems"]
    assert (system["system"], system["machine"], system["last_day"]) == ("PRDA", "CEC1", "2026-09-22")
    assert system["peak_busy_pct"] == pytest.approx(100 * (1 + 23 / 24) / 4)
    assert system["week_before_peak_busy_pct"] == pytest.approx(system["peak_busy_pct"])
    assert system["four_hour_msu"] == 90.0


def test_a_history_has_engines_in_use_by_class_group_and_its_lines_of_capacity(client, history):
    found = client("GET", "/v1/systems/PRDA/history?every=day").json()
    by_kind = {column["kind"]: column["values"] for column in found["columns"]}
    assert len(found["start_local"]) == DAYS
    assert by_kind["class_group"][0] == pytest.approx(1.01)
    assert by_kind["uncaptured"][0] == pytest.approx(0.1)
    assert by_kind["cp_online"][0] == pytest.approx(4.0)
    assert by_kind["cp_share"][0] == pytest.approx(3.0)
    assert "cp_cap" not in by_kind


def test_a_span_keeps_to_its_limits_and_refuses_offsets(client, history):
    path = "/v1/systems/PRDA/history?from=2026-09-08T00:00:00&to=2026-09-08T03:00:00"
    assert len(client("GET", path).json()["start_local"]) == 3
    refused = client("GET", "/v1/systems/PRDA/history?from=2026-09-08T00:00:00Z")
    assert (refused.status_code, refused.json()["field"]) == (422, "from")


def test_classes_have_goal_cost_and_change_from_the_week_before(client, history):
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    assert (row["class_name"], row["importance"], row["goal_ms"]) == ("CICSHI", 2, 30.0)
    assert row["cpu_us_per_tran"] == pytest.approx(1.1e5, rel=0.02)
    assert row["response_ms_change_pct"] == pytest.approx(0.0)
    series = client("GET", "/v1/systems/PRDA/classes/CICSHI?every=day").json()
    assert [column["kind"] for column in series["columns"]] == ["rate_tps", "cpu_us_per_tran", "engines", "response_ms"]


def test_a_class_that_is_not_there_is_404(client, history):
    assert client("GET", "/v1/systems/PRDA/classes/NOPE").status_code == 404
    assert client("GET", "/v1/systems/NOPE/classes").status_code == 404


def test_a_change_beyond_the_scatter_of_days_is_significant_and_one_within_is_not(client, history):
    path = "/v1/systems/PRDA/periods?a_from=2026-09-07&a_to=2026-09-13&b_from=2026-09-14&b_to=2026-09-20"
    changes = {(row["metric"], row["class_name"]): row for row in client("GET", path).json()["changes"]}
    cost = changes["cpu_us_per_tran", "CICSHI"]
    assert cost["significant"]
    assert cost["lo_pct"] < 10 < cost["hi_pct"]
    assert not changes["cpu_busy_pct", ""]["significant"]


def test_files_name_no_folder_and_gaps_are_found(client, history):
    found = client("GET", "/v1/files").json()
    assert found["files"][0]["file"] == "day.smf"
    assert "private" not in json.dumps(found)
    (gap,) = found["gaps"]
    assert (gap["from_local"], gap["hours"]) == ("2026-09-08T06:00:00", 1.0)
    assert found["days"]["PRDA"]["2026-09-08"] == 23.0


def test_the_records_behind_an_interval_are_named(client, history):
    found = client("GET", "/v1/systems/PRDA/records?at=2026-09-07T00:00:00").json()
    assert found["records"] == [{"file": "day.smf", "record_type": "SMF 70.1", "records": 1, "first_record": 3}]


def test_the_verdict_of_the_data_is_given_without_paths(client, home):
    assert client("GET", "/v1/quality").json()["verdict"] is None
    finding = {"rule": "r", "title": "t", "subject": "s", "severity": "warning", "status": "warn", "examples": ["x"]}
    report = {"verdict": "warn", "counts": {"warn": 1}, "report": "/somewhere/private", "findings": [finding]}
    (home / "quality" / "quality.json").write_text(json.dumps(report))
    found = client("GET", "/v1/quality")
    assert found.json()["problems"][0]["title"] == "t"
    assert "private" not in found.text


def test_a_system_of_points_has_no_recorded_intervals_to_set_the_model_beside(client):
    refused = client("GET", "/v1/systems/shop/fitted")
    assert (refused.status_code, refused.json()["field"]) == (422, "system")


def test_options_offer_what_the_records_show():
    entry = {
        "engines": 6,
        "ziip": {"engines": 2.0, "threads": 2.0},
        "on_machine": {"engines": 14.0, "capped": True},
        "weights": {"own": 600.0, "total": 1000.0},
        "limits": [{"name": "CICSHI", "servers": {"centre": 20.0}}],
        "adjustments": {
            "encryption": {"title": "Data sets encrypted", "factors": {"cpu": {}}},
            "flashcopy": {"title": "FlashCopy", "factors": {"elapsed": {}}},
        },
    }
    today = {option.key: option.today for option in options(entry)}
    assert today == {
        "engines": 6.0,
        "ziip_engines": 2.0,
        "smt": "on",
        "weight": 600.0,
        "cap": "on",
        "limit.CICSHI": 20.0,
        "adjust.encryption": "off",
    }


def test_students_quantile_is_that_of_the_tables():
    assert student_95(6) == pytest.approx(1.9432, abs=0.001)
    assert student_95(2) == pytest.approx(2.9200, rel=0.013)
