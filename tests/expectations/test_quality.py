"""What is wrong with the data is found, located and reported; what is sound passes."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from expectations.frame import Frame
from expectations.frames import read_frames
from expectations.quality import run
from expectations.result import QualityError, QualityLocked, QualityResult
from expectations.rules import RULES, Rule
from expectations.suites import validate
from ingest.registry import load
from ingest.schema import baseline_expectations
from pipelines import metrics
from tests.expectations.conftest import FILE
from tests.full_disk import files_no_larger_than


def test_a_sound_warehouse_passes_every_expectation(sound: Path, tmp_path: Path) -> None:
    domains = {name: metric.domain for name, metric in metrics.registry().items()}
    result = run(sound, tmp_path / "quality", baseline=baseline_expectations(load()), domains=domains)
    assert [(finding.rule, finding.examples) for finding in result.problems] == []
    assert result.verdict == "pass"
    assert result.counts["pass"] == len(result.findings) > 15
    assert all(finding.checked for finding in result.findings)


@pytest.mark.parametrize(
    ("rule", "status", "where"),
    [
        ("ledger_bytes_add_up", "fail", {"file": FILE, "bytes_unaccounted": 7}),
        ("ledger_records_add_up", "fail", {"file": FILE, "records_unaccounted": 2}),
        ("ledger_rows_are_there", "fail", {"file": FILE, "raw_table": "smf70_1_cpu", "rows_missing": 1}),
        ("files_were_readable", "warn", {"file": FILE, "message": "no data in range", "status": "message"}),
        ("nothing_is_quarantined", "warn", {"file": FILE, "quarantined": 1}),
        ("intervals_have_no_holes", "warn", {"system": "LPA", "interval": "2020-05-01 08:02:00", "hole_s": 20.0}),
        ("intervals_do_not_overlap", "fail", {"interval": "2021-05-01 08:15:00", "file": FILE, "overlap_s": 100.0}),
        ("smf_lost_no_records", "warn", {"system": "SHRD", "lost_s": 120.0, "records_lost": 1234}),
        ("files_do_not_overlap", "warn", {"file": FILE, "counted_in": "", "records_shared": 2}),
        ("nothing_is_held_back", "warn", {"system": "LPB", "day": "2020-05-01", "file": FILE, "records": 7}),
        ("records_are_not_duplicated", "warn", {"system": "LPA", "records": "SMF 70.1", "file": FILE, "copies": 3}),
        ("job_intervals_end_after_they_begin", "warn", {"file": FILE, "backwards": 1, "job": "IMSCTL"}),
        ("busy_is_a_percentage", "fail", {"system": "LPB", "engine_type": "CP", "cpu_busy_pct": 104.0}),
        ("lpar_busy_is_a_percentage", "warn", {"system": "LPB", "lpar_busy_pct": 101.0}),
        ("waiting_engines_are_not_dispatched", "warn", {"system": "SHRD", "dispatched_waiting_pct": 6.766667}),
        ("ready_engines_are_dispatched", "warn", {"system": "LPB", "ready_with_room_pct": 30.0}),
        ("local_time_follows_its_offset", "warn", {"system": "SHRD", "intervals_off": 2}),
        ("cpu_and_workload_records_come_together", "warn", {"system": "SHRD", "records": "SMF 70.1"}),
        ("capture_ratio_is_a_ratio", "fail", {"system": "SHRD", "capture_ratio": 1.125}),
        ("capture_ratio_is_usual", "warn", {"system": "SHRD", "capture_ratio_when_busy": 0.25}),
        ("address_spaces_are_within_busy", "warn", {"system": "LPB", "day": "2020-05-01"}),
        (
            "transactions_fit_their_cpu",
            "warn",
            {"system": "SHRD", "interval": "2021-05-01 08:15:00", "class_name": "ONLINE"},
        ),
        (
            "responses_fit_their_distribution",
            "warn",
            {"system": "SHRD", "interval": "2021-05-01 08:15:00", "class_name": "ONLINE", "times_off": 1000.0},
        ),
        ("class_msu_are_within_lpar_msu", "fail", {"system": "SHRD", "class_share": 1.25}),
        ("cost_is_within_the_total", "warn", {"system": "LPA", "class_kind": "workload", "class_name": "ims"}),
        ("responses_are_not_negative", "fail", {"system": "SHRD", "class_name": "ONLINE", "response_ms": -5.0}),
        ("runs_have_intervals", "warn", {"system": "LPB", "point": "9", "covered_pct": 0.0}),
        (
            "figures_agree_with_rmf",
            "warn",
            {"system": "LPA", "subject": "CPU CP", "field": "engines", "excess_pct": 20.0},
        ),
        ("groups_match_something", "warn", {"system": "pair", "kind": "job_name", "pattern": "IMZ%", "matches": 0}),
        ("transaction_classes_are_named", "warn", {"system": "pair", "transaction_classes": 0}),
        ("metrics_lie_in_their_domain", "warn", {"metric": "cpu_busy_pct", "system": "SHRD"}),
        ("metrics_lie_in_their_domain", "warn", {"metric": "msu", "system": "pair", "subject": "fct_msu"}),
        ("points_are_unique", "fail", {"system": "SHRD", "workload": ""}),
        ("measured_points_have_a_rate", "warn", {"system": "pair", "point": "1", "etr_tps": 0.0}),
    ],
)
def test_each_defect_is_found_located_and_reported(
    spoiled: QualityResult, rule: str, status: str, where: dict[str, object]
) -> None:
    finding = next(finding for finding in spoiled.findings if finding.rule == rule)
    assert finding.status == status
    examples = [{k: round(v, 6) if isinstance(v, float) else v for k, v in e.items()} for e in finding.examples]
    assert any(where.items() <= example.items() for example in examples), examples
    text = html.unescape(spoiled.report.read_text())
    assert finding.advice in text
    details = html.unescape((spoiled.report.parent / "suites.html").read_text())
    assert f'id="{finding.rule}"' in details and finding.advice in details


def test_a_finding_names_its_systems_beside_a_line_that_stays_the_same(spoiled: QualityResult) -> None:
    found = [finding for finding in spoiled.problems if finding.rule == "groups_match_something"]
    assert found and all(one.where.startswith("pair, such as pair, ") for one in found), found
    assert all("pair" not in one.line for one in found)
    many = replace(found[0], examples=tuple({"n": n, "system": f"SYS{n}"} for n in range(8)))
    assert many.where == "SYS0, SYS1, SYS2, SYS3, SYS4 and 3 more, such as SYS0" and many.line == found[0].line


def broken_about_intervals(warehouse: Path) -> set[str]:
    """The rules about the sequence of intervals that a warehouse breaks."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        frames = read_frames(connection, ())
    rules = [rule for rule in RULES if rule.subject == "interval_sequence"]
    assert {rule.name for rule in rules} >= {"intervals_have_no_holes", "intervals_do_not_overlap"}
    return {finding.rule for finding in validate(frames, rules) if not finding.success}


def test_a_run_in_the_middle_of_a_day_makes_no_hole(changed: Callable[..., Path], tmp_path: Path) -> None:
    after = "'SHRD later' as interval_key, timestamp '2021-05-01 08:30:00' as interval_start_utc"
    second = "where interval_key = 'SHRD 2021-05-01T08:15:00Z'"
    warehouse = changed(
        f"insert into intermediate.int_record select * replace ({after}) from intermediate.int_record {second}",
        f"insert into marts.dim_interval select * replace ({after}) from marts.dim_interval {second}",
        f"update marts.dim_interval set system_id = 'study', point = '1', condition = 'load=high' {second}",
    )
    assert broken_about_intervals(warehouse) == set()


@pytest.mark.parametrize(("ipl", "broken"), [("08:01:50", set()), (None, {"intervals_have_no_holes"})])
def test_a_hole_in_which_the_system_was_started_is_an_outage(
    changed: Callable[..., Path], tmp_path: Path, ipl: str | None, broken: set[str]
) -> None:
    shorter = "update marts.dim_interval set interval_s = 100 where interval_key = 'LPA 2020-05-01T08:00:00Z'"
    gap = f"""
        insert into marts.fct_gap
        select system_id, smf_sid, interval_start_local + interval 100 second, interval_start_local + interval 5 minute,
          200, interval_start_utc::date + time '{ipl}' + (interval_start_local - interval_start_utc)
        from marts.dim_interval where interval_key = 'LPA 2020-05-01T08:00:00Z'
    """
    warehouse = changed(shorter, *([gap] if ipl else []))
    assert broken_about_intervals(warehouse) == broken


@pytest.mark.parametrize(("started", "broken"), [(True, set()), (False, {"intervals_have_no_holes"})])
def test_an_address_space_that_was_not_there_for_a_while_makes_no_hole(
    changed: Callable[..., Path], tmp_path: Path, started: bool, broken: set[str]
) -> None:
    left = (
        "update intermediate.int_job_interval set interval_end_utc = interval_end_utc - interval 1 minute "
        "where interval_key = 'LPA 2020-05-01T08:00:00Z'"
    )
    anew = (
        "update intermediate.int_job_interval set started_local = interval_begin_utc "
        "where interval_key = 'LPA 2020-05-01T08:02:00Z'"
    )
    warehouse = changed(left, *([anew] if started else []))
    assert broken_about_intervals(warehouse) == broken


def test_a_critical_finding_decides_the_verdict_and_comes_first(spoiled: QualityResult) -> None:
    assert spoiled.verdict == "fail"
    severities = [finding.severity for finding in spoiled.problems]
    assert severities == sorted(severities)
    assert spoiled.counts["fail"] == severities.count("critical") == 9


def test_a_baseline_expectation_names_table_column_and_file(spoiled: QualityResult) -> None:
    [finding] = [finding for finding in spoiled.problems if finding.rule == "raw_range"]
    example = finding.examples[0]
    assert (example["raw_table"], example["columns"], example["file"]) == ("smf70_1_cpu", "smf70cid", FILE)
    assert example["rule"] == "between 0 and 2"
    assert example["violations"] == 4


def test_a_finding_about_a_metric_says_how_the_metric_is_defined(spoiled: QualityResult) -> None:
    finding = next(finding for finding in spoiled.problems if finding.rule == "busy_is_a_percentage")
    assert finding.about == "fct_interval_utilization.cpu_busy_pct: Mean busy. (busy_s / online_s x 100)"
    assert "Mean busy." in spoiled.report.read_text()


def test_the_result_is_written_as_json_beside_the_page(spoiled: QualityResult) -> None:
    written = json.loads((spoiled.report.parent / "quality.json").read_text())
    assert written["verdict"] == "fail"
    assert {finding["rule"]: finding["status"] for finding in written["findings"]} == {
        finding.rule: finding.status for finding in spoiled.findings
    }


def test_a_new_site_takes_the_place_of_the_old_one(sound: Path, tmp_path: Path) -> None:
    site = tmp_path / "quality"
    site.mkdir()
    (site / "stale.html").write_text("old")
    result = run(sound, site)
    assert result.report == site / "index.html"
    assert not (site / "stale.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["quality"]


def test_a_full_disk_leaves_the_site_that_there_was(sound: Path, tmp_path: Path) -> None:
    site = tmp_path / "quality"
    site.mkdir()
    (site / "index.html").write_text("of the night before")
    with files_no_larger_than(4096), pytest.raises(OSError, match="too large"):
        run(sound, site)
    assert [path.read_text() for path in site.iterdir()] == ["of the night before"]


def test_a_missing_warehouse_or_unbuilt_marts_are_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(QualityError, match="no warehouse; load files first"):
        run(tmp_path / "none.duckdb", tmp_path / "quality")
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with pytest.raises(QualityError, match="has not built the marts"):
        run(tmp_path / "empty.duckdb", tmp_path / "quality")
    assert not (tmp_path / "quality").exists()


def test_a_mart_that_an_earlier_version_did_not_make_is_named(changed: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(QualityError, match=r"run `etalon build` \(.*fct_gap does not exist!\)$"):
        run(changed("drop table marts.fct_gap"), tmp_path / "quality")


def test_a_warehouse_that_is_being_written_is_told_apart_from_a_fault(tmp_path: Path) -> None:
    database = tmp_path / "etalon.duckdb"
    code = f"import duckdb, sys; con = duckdb.connect({str(database)!r}); print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(QualityLocked, match="another process is writing") as refused:
            run(database, tmp_path / "site")
        writer.communicate()
    assert refused.value.exit_code == 7


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    database = tmp_path / "etalon.duckdb"
    database.write_text("no database " * 1000)
    with pytest.raises(QualityError, match="is not a readable DuckDB database"):
        run(database, tmp_path / "site")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"subject": "pointz"}, "rule own: no frame 'pointz'; there are points"),
        ({"column": "etr"}, "rule own: points has no column 'etr'; it has etr_tps"),
    ],
)
def test_a_rule_about_what_there_is_not_is_refused(tmp_path: Path, names: dict[str, str], said: str) -> None:
    frame = Frame("points", "Points", (), pd.DataFrame({"etr_tps": [1.0]}))
    sound = Rule("own", "points", "etr_tps", title="", advice="", severity="warning")
    with pytest.raises(QualityError, match=said):
        validate([frame], [replace(sound, **names)])  # type: ignore[arg-type]
