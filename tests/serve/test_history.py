"""What the service reads of histories: overview, series, classes, periods, gaps and the records behind an interval."""

import json
from dataclasses import replace

import duckdb
import pytest

from model.capacity.adjustments import Adjustment, Factor
from model.capacity.parameters import Limit, Weights, ZiipPool
from model.queueing.lpar_share import Sharer
from serve.options import of_network
from serve.periods import student_95
from tests.cases.systems import HISTORY, MACHINE
from tests.serve.recorded import DAYS, record


@pytest.fixture
def history(home):
    """The home with an LPAR's history in its snapshot."""
    record(home)
    return home


def test_the_overview_sets_the_last_day_beside_the_same_day_a_week_before(client, history):
    found = client("GET", "/v1/overview").json()
    (system,) = found["systems"]
    assert (system["system"], system["machine"], system["last_day"]) == ("PRDA", "CEC1", "2026-09-22")
    assert system["machine_name"] == "3906-704 CEC1"
    assert (system["highest_msu"], system["highest_msu_at"]) == (100.0, "2026-09-07T00:00:00")
    assert system["peak_busy_pct"] == pytest.approx(100 * (1 + 23 / 24) / 4)
    assert system["week_before_peak_busy_pct"] == pytest.approx(system["peak_busy_pct"])
    assert system["r4ha_msu"] == 90.0
    (machine,) = found["machines"]
    assert machine["lpars"] == 2
    assert (machine["machine"], machine["cps"], machine["r4ha_msu"]) == ("CEC1", 8, 180.0)
    assert machine["peak_busy_pct"] == pytest.approx(100 * (1 + 23 / 24 + 1) / 8)


def test_cpcs_are_listed_with_their_names_and_systems(client, history):
    [one] = client("GET", "/v1/cpcs").json()["cpcs"]
    assert (one["cpc"], one["name"], one["systems"]) == ("CEC1", "3906-704 CEC1", ["PRDA"])
    refused = client("GET", "/v1/cpcs/CEC2")
    assert refused.status_code == 404
    assert "/v1/cpcs lists them" in refused.json()["detail"]


@pytest.mark.parametrize("name", ["CEC1", "3906-704 CEC1", "cec1"])
def test_a_cpc_is_described_by_its_identifier_or_its_name_with_every_lpar_and_its_limits(client, history, name):
    found = client("GET", f"/v1/cpcs/{name}").json()
    peaks = {one["kind"]: one for one in found["peaks"]}
    assert (found["name"], found["msu_per_engine"]) == ("3906-704 CEC1", pytest.approx(20.0))
    assert (peaks["cp"]["capacity"], peaks["cp"]["value"]) == (8.0, pytest.approx(2 + 23 / 24))
    assert peaks["cp"]["at_local"].endswith("T23:00:00")
    assert (peaks["r4ha_msu"]["value"], peaks["r4ha_msu"]["capacity"]) == (180.0, pytest.approx(160.0))
    own, other = found["lpars"]
    assert (own["lpar"], own["system"], own["capacity_group"], own["capacity_group_limit_msu"]) == (
        "PRDA",
        "PRDA",
        "GROUP1",
        250.0,
    )
    assert (own["share_pct"], own["share_engines"]) == (pytest.approx(37.5), pytest.approx(3.0))
    assert (other["lpar"], other["system"], other["defined_capacity_msu"], other["r4ha_msu"]) == (
        "PRDB",
        None,
        120.0,
        None,
    )


def test_a_cpc_is_followed_by_lpar_with_its_physical_engines_and_its_limits(client, history):
    found = client("GET", "/v1/cpcs/CEC1/history?every=day").json()
    by_kind = {(column["kind"], column["name"]): column["values"] for column in found["columns"]}
    assert by_kind["cp_lpar", "PRDB"][0] == pytest.approx(1.0)
    assert by_kind["cp_physical", "physical"] == [8.0] * DAYS
    assert by_kind["cp_peak", "highest interval"][0] == pytest.approx(2 + 23 / 24)
    assert by_kind["r4ha_msu", "R4HA"][0] == 180.0
    assert by_kind["r4ha_group", "GROUP1"][0] == 90.0
    assert by_kind["group_limit", "GROUP1"][0] == 250.0
    assert by_kind["defined_capacity", "PRDB"][0] == 120.0
    assert client("GET", "/v1/cpcs/NONE/history").status_code == 404


def test_a_last_day_of_a_few_hours_is_made_whole_by_the_day_before(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        for table in ("fct_interval_utilization", "fct_cpc_interval", "fct_msu"):
            con.execute(f"DELETE FROM marts.{table} WHERE interval_start_local >= TIMESTAMP '2026-09-22 03:00'")
    (system,) = client("GET", "/v1/overview").json()["systems"]
    assert system["last_day"] == "2026-09-22"
    assert system["mean_busy_pct"] == pytest.approx(100 * (1 + 11.5 / 24) / 4)
    assert system["week_before_mean_busy_pct"] == pytest.approx(system["mean_busy_pct"])
    assert system["week_before_peak_busy_pct"] == pytest.approx(100 * (1 + 23 / 24) / 4)


def test_the_overview_leaves_out_a_machine_whose_engines_are_not_recorded(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute("UPDATE marts.fct_cpc_interval SET physical_engines = NULL")
    found = client("GET", "/v1/overview").json()
    assert (found["machines"], [one["system"] for one in found["systems"]]) == ([], ["PRDA"])


def test_a_history_has_engines_in_use_by_class_group_and_its_lines_of_capacity(client, history):
    found = client("GET", "/v1/systems/PRDA/history?every=day").json()
    by_kind = {column["kind"]: column["values"] for column in found["columns"]}
    assert len(found["start_local"]) == DAYS
    assert by_kind["class_group"][0] == pytest.approx(1.01)
    assert by_kind["uncaptured"][0] == pytest.approx(0.1)
    assert by_kind["cp_online"][0] == pytest.approx(4.0)
    assert by_kind["cp_share"][0] == pytest.approx(3.0)
    assert "cp_cap" not in by_kind


SHIFTS = """
[calendar]
holidays = ["2026-09-21"]
[calendar.shifts.late]
hours = ["20:00", "24:00"]
"""


def test_histories_of_a_shift_have_its_intervals_alone(client, history):
    (history / "etalon.toml").write_text(SHIFTS)
    listed = client("GET", "/v1/calendar").json()
    assert {"name": "late", "words": "20:00–00:00"} in listed["shifts"]
    assert listed["holidays"] == ["2026-09-21"]
    found = client("GET", "/v1/systems/PRDA/history?every=interval&shift=late").json()
    assert {start[11:13] for start in found["start_local"]} == {"20", "21", "22", "23"}
    prime = client("GET", "/v1/systems/PRDA/history?every=day&shift=prime").json()
    assert "2026-09-21T00:00:00" not in prime["start_local"]
    assert "2026-09-18T00:00:00" in prime["start_local"]
    weeks = "a_from=2026-09-07&a_to=2026-09-13&b_from=2026-09-14&b_to=2026-09-20"
    late, all_day = (
        client("GET", f"/v1/systems/PRDA/periods?{weeks}{shift}").json()["changes"][0] for shift in ("&shift=late", "")
    )
    assert late["a"] == pytest.approx(25 * (1 + 21.5 / 24))
    assert all_day["a"] < late["a"]
    assert client("GET", "/v1/systems/PRDA/classes?shift=late").json()["classes"]
    [prime] = client("GET", "/v1/overview?shift=prime").json()["systems"]
    assert prime["highest_at"].endswith("T17:00:00")
    assert prime["highest_busy_pct"] == pytest.approx(25 * (1 + 17 / 24))


def test_a_shift_that_there_is_not_is_refused_with_those_there_are(client, history):
    refused = client("GET", "/v1/systems/PRDA/history?shift=prim")
    assert refused.status_code == 422
    assert "did you mean prime" in refused.json()["detail"]
    assert "weekend" in refused.json()["allowed"]


@pytest.mark.parametrize(
    "address",
    ["history", "classes/HIGH", "periods?a_from=2026-09-07&a_to=2026-09-08&b_from=2026-09-14&b_to=2026-09-15"],
)
def test_a_snapshot_of_other_columns_is_not_usable(client, history, address):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute("ALTER TABLE marts.fct_transaction_cost DROP transactions_ended")
        con.execute("ALTER TABLE marts.fct_uncaptured DROP uncaptured_s")
    refused = client("GET", f"/v1/systems/PRDA/{address}")
    assert refused.status_code == 503
    assert "etalon publish" in refused.json()["detail"]


def test_a_span_keeps_to_its_limits_and_refuses_offsets(client, history):
    path = "/v1/systems/PRDA/history?from=2026-09-08T00:00:00&to=2026-09-08T03:00:00"
    assert len(client("GET", path).json()["start_local"]) == 3
    backwards = client("GET", "/v1/systems/PRDA/history?from=2026-09-08T00:00:00&to=2026-09-07T00:00:00")
    assert (backwards.status_code, backwards.json()["field"]) == (422, "to")
    refused = client("GET", "/v1/systems/PRDA/history?from=2026-09-08T00:00:00Z")
    assert (refused.status_code, refused.json()["field"]) == (422, "from")


@pytest.mark.parametrize("path", ["history", "classes", "points", "fitted"])
def test_a_misspelt_parameter_is_refused_with_those_that_are_known(client, history, path):
    refused = client("GET", f"/v1/systems/PRDA/{path}?form=2026-09-08T00:00:00")
    assert (refused.status_code, refused.json()["field"]) == (422, "form")
    assert ("from" in refused.json()["allowed"]) == (path == "history")


def test_a_span_is_cut_to_what_was_recorded_and_one_of_years_is_not_given_interval_by_interval(client, history):
    path = "/v1/systems/PRDA/history?from=1990-01-01T00:00:00&to=2090-01-01T00:00:00"
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute(
            "INSERT INTO marts.fct_interval_utilization BY NAME SELECT * REPLACE ('2024-09-07T00:00:00' AS "
            "interval_start_local) FROM marts.fct_interval_utilization LIMIT 1"
        )
    refused = client("GET", f"{path}&every=interval")
    assert (refused.status_code, refused.json()["field"]) == (422, "every")
    assert client("GET", path).json()["every"] == "day"
    recent = client("GET", "/v1/systems/PRDA/history?from=2026-09-01T00:00:00&to=2090-01-01T00:00:00")
    assert recent.json()["every"] == "interval"


def test_classes_have_goal_cost_and_change_from_the_week_before(client, history):
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    assert (row["class_name"], row["importance"], row["goal_ms"]) == ("HIGH", 2, 30.0)
    assert row["cpu_us_per_tran"] == pytest.approx(1.1e5, rel=0.02)
    assert row["response_ms_change_pct"] == pytest.approx(0.0)
    series = client("GET", "/v1/systems/PRDA/classes/HIGH?every=day").json()
    assert [column["kind"] for column in series["columns"]] == ["rate_tps", "cpu_us_per_tran", "engines", "response_ms"]


def test_the_trend_of_a_class_is_over_the_hours_of_the_week_that_both_weeks_have(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        table = "marts.fct_transaction_cost"
        con.execute(f"UPDATE {table} SET transactions_ended = 9000 WHERE isodow(interval_start_local) > 5")
        con.execute(f"DELETE FROM {table} WHERE interval_start_local::date = DATE '2026-09-13'")
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    assert row["rate_tps_change_pct"] == pytest.approx(0.0)
    assert row["rate_tps"] == pytest.approx(10.0 * (5 + 2 * 0.25) / 7)


def test_an_hour_that_local_time_repeats_counts_once_at_a_time(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        last = "interval_start_local = (SELECT max(interval_start_local) FROM marts.dim_interval)"
        later = "SELECT * REPLACE (interval_start_utc + INTERVAL 1 HOUR AS interval_start_utc)"
        for table in ("fct_msu", "fct_interval_utilization", "fct_cpc_interval"):
            con.execute(f"INSERT INTO marts.{table} BY NAME {later} FROM marts.{table} WHERE {last}")
    (row,) = client("GET", "/v1/overview").json()["systems"]
    assert (row["cps"], row["r4ha_msu"]) == (4.0, 90.0)
    columns = client("GET", "/v1/systems/PRDA/history?every=interval").json()["columns"]
    series = {column["kind"]: set(column["values"]) for column in columns}
    assert (series["msu"], series["r4ha_msu"], series["cp_online"]) == ({100.0}, {90.0}, {4.0})


def test_transactions_of_lpars_measured_together_add_up_and_untimed_ones_leave_the_mean_as_it_is(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute(
            "INSERT INTO marts.fct_transaction_cost BY NAME "
            "SELECT * REPLACE ('PRDB' AS smf_sid, NULL AS response_ms) FROM marts.fct_transaction_cost"
        )
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    assert (row["rate_tps"], row["response_ms"]) == (pytest.approx(20.0), pytest.approx(12.5))
    assert row["engines"] == pytest.approx(2.2, rel=0.02)
    series = client("GET", "/v1/systems/PRDA/classes/HIGH?every=day").json()
    by_kind = {column["kind"]: column["values"] for column in series["columns"]}
    assert (by_kind["rate_tps"][0], by_kind["response_ms"][0]) == (pytest.approx(20.0), pytest.approx(12.5))
    path = "/v1/systems/PRDA/periods?a_from=2026-09-07&a_to=2026-09-13&b_from=2026-09-14&b_to=2026-09-20"
    changes = {row["metric"]: row for row in client("GET", path).json()["changes"] if row["class_name"]}
    assert (changes["rate_tps"]["a"], changes["response_ms"]["a"]) == (pytest.approx(20.0), pytest.approx(12.5))


def test_a_class_that_is_not_there_is_404(client, history):
    assert client("GET", "/v1/systems/PRDA/classes/NOPE").status_code == 404
    assert client("GET", "/v1/systems/NOPE/classes").status_code == 404


def test_a_change_beyond_the_scatter_of_days_is_significant_and_one_within_is_not(client, history):
    path = "/v1/systems/PRDA/periods?a_from=2026-09-07&a_to=2026-09-13&b_from=2026-09-14&b_to=2026-09-20"
    changes = {(row["metric"], row["class_name"]): row for row in client("GET", path).json()["changes"]}
    cost = changes["cpu_us_per_tran", "HIGH"]
    assert cost["significant"]
    assert cost["lo_pct"] < 10 < cost["hi_pct"]
    assert not changes["cpu_busy_pct", ""]["significant"]


def test_the_interval_of_a_change_of_days_of_equal_work_is_student_s(client, history):
    from scipy import stats

    costs = [105.0, 109.0, 110.0, 111.0, 110.0, 112.0, 113.0]
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute("UPDATE marts.fct_transaction_cost SET appl_cp_pct = 100.0")
        for day, cost in enumerate(costs, start=16):
            con.execute(
                "UPDATE marts.fct_transaction_cost SET appl_cp_pct = ? WHERE day(interval_start_local) = ?", [cost, day]
            )
    path = "/v1/systems/PRDA/periods?a_from=2026-09-09&a_to=2026-09-15&b_from=2026-09-16&b_to=2026-09-22"
    found = next(one for one in client("GET", path).json()["changes"] if one["metric"] == "cpu_us_per_tran")
    assert found["change_pct"] == pytest.approx(10)
    expected = stats.t(6, 10, stats.sem(costs)).interval(0.90)
    assert (found["lo_pct"], found["hi_pct"]) == pytest.approx(expected, rel=1e-3)


def test_two_weeks_compared_are_those_of_the_class_table(client, history):
    """The last week has a day of few dear transactions, which a mean over days would count like any other."""
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute(
            "UPDATE marts.fct_transaction_cost SET transactions_ended = 360.0, appl_cp_pct = 40.0, response_ms = 90.0 "
            "WHERE interval_start_local::date = DATE '2026-09-20'"
        )
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    path = "/v1/systems/PRDA/periods?a_from=2026-09-09&a_to=2026-09-15&b_from=2026-09-16&b_to=2026-09-22"
    changes = {one["metric"]: one for one in client("GET", path).json()["changes"] if one["class_name"]}
    for metric in ("rate_tps", "cpu_us_per_tran", "response_ms"):
        assert changes[metric]["b"] == pytest.approx(row[metric])
        assert changes[metric]["change_pct"] == pytest.approx(row[f"{metric}_change_pct"])


def test_a_day_of_a_few_hours_is_compared_with_the_same_hours(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute(
            "DELETE FROM marts.fct_interval_utilization WHERE interval_start_local >= TIMESTAMP '2026-09-22 03:00'"
        )
    path = "/v1/systems/PRDA/periods?a_from=2026-09-09&a_to=2026-09-15&b_from=2026-09-16&b_to=2026-09-22"
    busy = next(one for one in client("GET", path).json()["changes"] if one["metric"] == "cpu_busy_pct")
    hours = 6 * 24 + 3
    assert busy["a"] == busy["b"] == pytest.approx(25 * (1 + (6 * 276 + 3) / 24 / hours))


def test_periods_without_days_are_the_last_two_weeks_or_lie_around_a_change(client, history):
    path = "/v1/systems/PRDA/periods"
    found = client("GET", path).json()
    days = [found[key] for key in ("a_from", "a_to", "b_from", "b_to")]
    assert days == ["2026-09-09", "2026-09-15", "2026-09-16", "2026-09-22"]
    found = client("GET", f"{path}?change=2026-09-14").json()
    days = [found[key] for key in ("a_from", "a_to", "b_from", "b_to")]
    assert days == ["2026-09-07", "2026-09-13", "2026-09-14", "2026-09-20"]
    cost = next(one for one in found["changes"] if one["metric"] == "cpu_us_per_tran")
    assert cost["change_pct"] == pytest.approx(10, abs=1)
    for query, said in (("change=2026-09-07", "from 2026-09-08 to 2026-09-22"), ("a_from=2026-09-07", "give all of")):
        refused = client("GET", f"{path}?{query}")
        assert refused.status_code == 422
        assert said in refused.json()["detail"]


def test_a_workload_has_the_cpu_of_its_regions_in_a_comparison(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute(
            "INSERT INTO marts.fct_transaction_cost "
            "SELECT * REPLACE ('REGION' AS class_name, 0.0 AS transactions_ended) FROM marts.fct_transaction_cost"
        )
    changes = client("GET", "/v1/systems/PRDA/periods?change=2026-09-14").json()["changes"]
    costs = {one["class_name"]: one["a"] for one in changes if one["metric"] == "cpu_us_per_tran"}
    assert costs["workload CICS"] == pytest.approx(2 * costs["HIGH"])


def test_periods_without_a_day_of_the_week_in_common_are_refused_with_the_reason(client, history):
    path = "/v1/systems/PRDA/periods?a_from=2026-09-07&a_to=2026-09-08&b_from=2026-09-09&b_to=2026-09-10"
    answer = client("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:etalon:problem:nothing-to-compare")
    assert "no recorded weekday in common" in answer.json()["detail"]


def test_files_name_no_folder_and_gaps_are_found(client, history):
    found = client("GET", "/v1/files").json()
    assert found["files"][0]["file"] == "day.smf"
    assert "private" not in json.dumps(found)
    gap, lost = found["gaps"]
    assert (gap["from_local"], gap["hours"], gap["records"]) == ("2026-09-08T06:00:00", 1.0, "all")
    assert (gap["ipl_local"], gap["cause"]) == ("2026-09-08T06:40:00", "down: IPL at 06:40")
    assert (lost["from_local"], lost["hours"], lost["records"]) == ("2026-09-10T09:00:00", 0.5, "some")
    assert lost["cause"] == "SMF lost 1,234 records (SMF 7: buffers full, or a filter)"
    assert found["days"]["PRDA"]["2026-09-08"] == 23.0


def test_intervals_without_the_records_of_one_kind_are_one_gap(client, history):
    with duckdb.connect(str(history / "published" / "etalon.duckdb")) as con:
        con.execute("DELETE FROM marts.fct_service_class WHERE interval_start_local::date = DATE '2026-09-12'")
    gap = client("GET", "/v1/files").json()["gaps"][0]
    assert (gap["from_local"], gap["to_local"], gap["hours"]) == ("2026-09-12T00:00:00", "2026-09-13T00:00:00", 24.0)
    assert gap["records"] == "SMF 72.3"
    assert gap["cause"] == "no IPL or loss recorded: a dump may be missing"


def test_the_last_night_is_in_the_overview_with_its_page(client, history):
    assert client("GET", "/v1/overview").json()["night"] is None
    night = {"day": "2026-11-20", "started": "2026-11-21T00:15:00Z", "ended": "2026-11-21T00:40:00Z", "built": ""}
    night |= {"steps": {}, "files": [{"records": 5}, {"records": 7}], "lacks": [], "quality": None, "model": None}
    night |= {"errors": [], "notes": [], "verdict": "fine"}
    (history / "nights").mkdir()
    (history / "nights" / "2026-11-21T001500Z.json").write_text(json.dumps(night))
    found = client("GET", "/v1/overview").json()["night"]
    assert (found["day"], found["files"], found["records"], found["verdict"]) == ("2026-11-20", 2, 12, "fine")
    assert found["page"] == "/nights/2026-11-21T001500Z.html"


def test_classes_have_their_msu_their_goal_and_ziip_overflow_by_shift(client, history):
    (row,) = client("GET", "/v1/systems/PRDA/classes").json()["classes"]
    assert (row["msu"], row["missed_pct"], row["ziip_on_cp_engines"]) == (70.0, 25.0, pytest.approx(0.05))
    found = client("GET", "/v1/systems/PRDA/classes?shift=prime").json()
    assert found["classes"][0]["missed_pct"] == 0.0
    assert found["capture_ratio"] == pytest.approx(1 - 0.1 / (1 + 12.5 / 24), abs=0.01)


def test_the_records_behind_an_interval_are_named(client, history):
    found = client("GET", "/v1/systems/PRDA/records?at=2026-09-07T00:00:00").json()
    assert found["records"] == [
        {"file": "day.smf", "record_type": "SMF 70.1", "records": 1, "first_record": 3},
        {"file": "day.smf", "record_type": "SMF 30", "records": 3, "first_record": 4},
    ]


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


def claim(title, quantity, scope=""):
    sources = ("system-a: a study, a table", "system-a: another table")
    return Adjustment(title, title, {quantity: Factor(0.1, 0.01)}, sources, scope)


def test_options_offer_what_the_records_show():
    others = (Sharer(2.0, 400.0, name="B"),)
    parameters = replace(
        HISTORY,
        engines=6.0,
        ziip=ZiipPool(2.0, 2.0),
        machine=replace(MACHINE, engines=14.0, ziips=3.0, capped=True, cap_engines=4.5, others=others),
        installation={"b": replace(HISTORY, smf_sid="B1", machine=replace(MACHINE, name="M2"))},
        msu_per_engine=100.0,
        weights=Weights(600.0, 1000.0),
        limits=(
            Limit("HIGH", ("online",), servers=5.0, queues=4.0, hold_s=1e-3),
            Limit("FAST", ("online",), servers=8.0, hold_s=1e-3, kind="devices"),
            Limit("NEVER", ("online",)),
        ),
        responses={"online": replace(HISTORY.responses["online"], interval_sd=0.02)},
        adjustments={
            "encryption": claim("Data sets encrypted", "cpu"),
            "flashcopy": claim("FlashCopy", "elapsed"),
            "attls": claim("AT-TLS", "cpu", scope="tn3270"),
        },
    )
    assert [(option.key, option.today) for option in of_network(parameters)] == [
        ("shift", ""),
        ("engines", 6.0),
        ("ziip_engines", 2.0),
        ("smt", "on"),
        ("weight", 600.0),
        ("cap", "on"),
        ("cap_engines", 4.5),
        ("cap_msu", 450.0),
        ("physical_cps", 14.0),
        ("physical_ziips", 3.0),
        ("add_lpar", None),
        ("remove_lpar", ""),
        ("cpc", ""),
        ("move_to.online", ""),
        ("move_to.batch", ""),
        ("move_from.batch", ""),
        ("move_from.online", ""),
        ("limit.HIGH", 20.0),
        ("limit.NEVER", None),
        ("response_ms.online", None),
        ("adjust.encryption", "off"),
        ("adjust.attls", "off"),
    ]
    claimed = of_network(parameters)[-1]
    assert claimed.meaning.endswith("; from system-a") and "0.25" in claimed.choices
    without = of_network(replace(parameters, ziip=None))
    assert [(one.key, one.today) for one in without if one.key in ("ziip_engines", "smt")] == [("ziip_engines", 0.0)]


def test_students_quantile_is_that_of_the_tables():
    assert student_95(6) == pytest.approx(1.9432, abs=0.001)
    assert student_95(2) == pytest.approx(2.9200, rel=0.013)
