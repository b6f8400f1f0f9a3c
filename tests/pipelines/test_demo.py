"""`etalon demo` and what can be asked afterwards."""

import csv
import io
import json
import subprocess

import pytest

from tests.pipelines.conftest import ROOT, run_etalon

pytestmark = pytest.mark.slow


def test_the_demo_ends_with_a_summary_of_records_quality_errors_answer_and_next_steps(demo):
    home, done = demo
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "0 quarantined" in said
    assert str(home / "quality" / "index.html") in said
    assert "etalon-capacity/1 is champion" in said
    assert "90 % interval" in said
    assert "bottleneck: general-purpose CPs" in said
    for command in ("etalon sql", "etalon serve", "dagster dev"):
        assert command in said
    assert len(said.splitlines()) <= 50
    assert "\x1b" not in done.stderr


def test_the_checkout_stays_clean(demo):
    _, done = demo
    assert done.returncode == 0, done.stderr
    command = [
        "git",
        "status",
        "--porcelain",
        "--untracked-files=all",
        "--",
        "dbt",
        "pipelines",
        "serve",
        "dagster.yaml",
    ]
    changed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    generated = [line for line in changed.splitlines() if "target/" in line or "logs/" in line or ".duckdb" in line]
    assert generated == []


def test_running_it_again_changes_nothing_and_keeps_the_champion(demo):
    home, _ = demo
    count = "select count(*) as files, sum(records) as records from meta.ledger"
    before = run_etalon(home, "sql", count, "--json").stdout
    again = run_etalon(home, "ingest", str(home / "lab" / "ims14-ff-haldb-z13.smf"), "--json")
    assert again.returncode == 0, again.stderr
    assert [file["status"] for file in json.loads(again.stdout)["files"]] == ["unchanged"]
    assert run_etalon(home, "sql", count, "--json").stdout == before


def test_published_figures_come_out_of_the_marts(demo):
    home, _ = demo
    query = "select system_id, itr_tps, cpu_us_per_tran from marts.fct_point where system_id like 'ims14%' order by 1"
    rows = json.loads(run_etalon(home, "sql", query, "--json").stdout)
    assert [(round(row["itr_tps"], 2), round(row["cpu_us_per_tran"], 2)) for row in rows] == [
        (7504.83, 532.99),
        (8017.71, 498.90),
    ]


def test_sql_prints_tables_csv_and_json(demo):
    home, _ = demo
    query = "select 1 as a, 'x' as b union all select 2, 'y' order by a"
    assert list(csv.reader(io.StringIO(run_etalon(home, "sql", query, "--csv").stdout))) == [
        ["a", "b"],
        ["1", "x"],
        ["2", "y"],
    ]
    assert json.loads(run_etalon(home, "sql", query, "--json").stdout) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert run_etalon(home, "sql", "-", stdin=query).stdout.split()[:2] == ["a", "b"]


def test_sql_cannot_change_the_snapshot_and_says_why_a_query_fails(demo):
    home, _ = demo
    for query in ("drop table marts.fct_point", "select * from nowhere", "selct 1"):
        refused = run_etalon(home, "sql", query)
        assert refused.returncode == 6
        assert refused.stderr.startswith("etalon: ")
        assert "Traceback" not in refused.stderr


def test_predict_prints_the_documented_form(demo):
    home, _ = demo
    done = run_etalon(home, "predict", "cics53-18cp", "--at", "etr_tps=110560.9", "--json")
    answer = json.loads(done.stdout)
    assert {"system", "at", "model_version", "outputs", "bottleneck", "extrapolated"} <= set(answer)
    total = next(output for output in answer["outputs"] if output["metric"] == "total_cics_cpu_pct")
    assert set(total) == {"metric", "condition", "value", "lo", "hi", "unit"}
    assert total["lo"] < total["value"] < total["hi"]
    assert "etr_tps=110560.9" in total["condition"]


def test_predict_without_an_operating_point_answers_at_the_published_one(demo):
    home, _ = demo
    answer = json.loads(run_etalon(home, "predict", "ims14-ff-haldb-z13", "--json").stdout)
    values = {output["metric"]: output["value"] for output in answer["outputs"]}
    assert values["cpu_busy_pct"] == pytest.approx(80.11, abs=0.5)


def test_validate_prints_the_error_table_and_the_gate(demo):
    home, _ = demo
    done = run_etalon(home, "validate", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    totals = [row for row in found["rows"] if row["metric"] == "total_cics_cpu_pct" and row["system"] == "cics53-18cp"]
    assert len(totals) == 4
    assert max(abs(row["error_pct"]) for row in totals) <= 0.6
    assert found["passed"] is True
    assert {check["system"] for check in found["checks"]} == {"cics52-18cp", "cics53-18cp"}


def test_sizing_names_engines_and_certainty(demo):
    home, _ = demo
    answer = json.loads(
        run_etalon(home, "size", "cics53-18cp", "--at", "etr_tps=150000", "--max-busy-pct", "90", "--json").stdout
    )
    assert answer["engines"]["lo"] <= answer["engines"]["value"] <= answer["engines"]["hi"]


def test_doctor_finds_everything_in_order(demo):
    home, _ = demo
    done = run_etalon(home, "doctor", "--json")
    checks = {check["what"]: check["status"] for check in json.loads(done.stdout)["checks"]}
    assert {checks[what] for what in ("python", "home", "disk", "warehouse", "snapshot", "champion")} == {"good"}
