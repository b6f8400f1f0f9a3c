"""The code location as the server loads it, and a day from landing folder to champion."""

import datetime as dt
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from pipelines.nights.landing import fingerprint
from tests.pipelines.conftest import ROOT

DAY = "2026-11-20"
SERVICE = "http://127.0.0.1:8321/"

LOADED = """
import json, sys
import dagster as dg
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import PyProjectFileTarget

with dg.DagsterInstance.get() as instance:
    with WorkspaceProcessContext(instance, PyProjectFileTarget("pyproject.toml")) as process:
        context = process.create_request_context()
        (entry,) = context.get_code_location_entries().values()
        assert entry.load_error is None, entry.load_error.message
        (repository,) = entry.code_location.get_repositories().values()
        print("RESULT " + json.dumps({
            "schedules": {s.name: s.default_status.value for s in repository.get_schedules()},
            "sensors": {s.name: s.default_status.value for s in repository.get_sensors()},
            "assets": sorted(node.asset_key.to_user_string() for node in repository.get_asset_node_snaps()),
            "groups": {n.asset_key.to_user_string(): n.group_name for n in repository.get_asset_node_snaps()},
            "pools": {n.asset_key.to_user_string(): sorted(n.pools) for n in repository.get_asset_node_snaps()},
            "blocking": sorted(c.name for c in repository.get_asset_check_node_snaps() if c.blocking),
            "telemetry": instance.telemetry_enabled,
        }))
"""

MATERIALISED = """
import json, sys
import dagster as dg
from pipelines.definitions import defs

# What runs leave in the instance of dagster.yaml is Dagster's affair, and a fifth of the time.
with dg.DagsterInstance.ephemeral() as instance:
    job = defs().resolve_job_def("night")
    result = job.execute_in_process(instance=instance)
    evaluations = result.get_asset_check_evaluations()
    checks = {e.asset_check_key.name: e.passed for e in evaluations}
    named = ("every_byte_accounted_for", "nothing_quarantined", "critical_expectations", "warnings", "validation_gate")
    links = {e.asset_check_key.name: e.metadata["report"].value for e in evaluations if e.asset_check_key.name in named}
    print("RESULT " + json.dumps({"success": result.success, "checks": checks, "links": links}))
"""


def run(code: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "ETALON_HOME": str(home),
        "ETALON_DAGSTER": str(home / "dagster"),
        "DAGSTER_HOME": str(ROOT),
    }
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def result_of(done: subprocess.CompletedProcess[str]) -> dict:
    """What a script printed as its result, among whatever Dagster and dbt print."""
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The state folder after the job of a day on which two systems landed, and what the job said.

    Its marts are built by windows in another process.
    """
    from model.lab.rendering import render

    home = tmp_path_factory.mktemp("day")
    (home / "etalon.toml").write_text("[landing]\nsettle_s = 0\n[build]\nrunner = 'processes:1'\nwindow = '999d'\n")
    for system in ("cics52-18cp", "cics53-18cp"):
        render(system, home / "landing" / DAY)
    return home, run(MATERIALISED, home)


@pytest.mark.slow
def test_the_server_loads_the_code_location_with_schedule_sensor_pool_and_blocking_checks(tmp_path):
    done = run(LOADED, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    seen = result_of(done)
    assert seen["schedules"] == {"nightly": "RUNNING"}
    assert set(seen["sensors"]) == {"landed", "report_success", "report_failure", "report_canceled"}
    assert set(seen["sensors"].values()) == {"RUNNING"}
    assert {
        "landing_files",
        "raw_records",
        "quality_report",
        "published_snapshot",
        "champion",
        "marts/fct_point",
    } <= set(seen["assets"])
    writers = {"raw_records", "quality_report", "published_snapshot", "marts/fct_point", "staging/stg_rmf_cpu_system"}
    assert {asset: seen["pools"].get(asset) for asset in writers} == {key: ["duckdb_writer"] for key in writers}
    steps = ("ingest", "build", "check", "publish", "calibrate", "follow_up")
    assert set(seen["groups"].values()) == set(steps)
    shown = ("raw_records", "marts/fct_point", "quality_report", "published_snapshot", "champion", "retained_records")
    assert tuple(seen["groups"][asset] for asset in shown) == steps
    assert seen["blocking"] == ["critical_expectations"]
    assert seen["telemetry"] is False
    assert list((tmp_path / "dagster").rglob("*.db")), "the run storage is not under the state folder"


@pytest.mark.slow
def test_a_day_goes_from_landing_folder_to_snapshot_and_champion(day):
    home, done = day
    assert done.returncode == 0, done.stderr[-4000:]
    seen = result_of(done)
    assert seen["success"] is True
    # Of some points only response is published: they have workload records, but no CPU activity, which is a warning.
    # The gaps between points of measurement are a remark.
    assert [name for name, passed in seen["checks"].items() if not passed] == ["warnings", "no_alert"]
    assert {"every_byte_accounted_for", "critical_expectations", "validation_gate"} <= set(seen["checks"])
    pages = {name: home / link.removeprefix(SERVICE) for name, link in seen["links"].items()}
    assert len(pages) == 5
    assert all(page.is_file() for page in pages.values())
    loaded = pages["every_byte_accounted_for"].read_text()
    assert "cics*-*cp.smf" in loaded and "cics53-18cp.rmf.xml" in loaded
    assert "cics53-18cp" in pages["validation_gate"].read_text()
    assert (home / "published" / "etalon.duckdb").is_file()
    champion = json.loads((home / "models" / "champion.json").read_text())
    assert sorted(champion["systems"]) == ["cics52-18cp", "cics53-18cp"]


def test_the_instance_keeps_everything_under_the_state_folder():
    instance = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    assert instance["telemetry"] == {"enabled": False}
    for section in ("local_artifact_storage", "compute_logs"):
        assert instance[section]["config"]["base_dir"] == {"env": "ETALON_DAGSTER"}
    assert instance["storage"]["sqlite"]["base_dir"] == {"env": "ETALON_DAGSTER"}
    assert instance["concurrency"]["pools"]["default_limit"] == 1


def touch(path: Path, when: dt.datetime) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (when.timestamp(), when.timestamp()))
    return path


def test_the_same_files_are_asked_for_once_and_a_grown_file_again(tmp_path):
    when = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
    path = touch(tmp_path / "a.smf", when)
    first = fingerprint([path])
    assert fingerprint([path]) == first
    path.write_bytes(b"xy")
    os.utime(path, (when.timestamp(), when.timestamp()))
    assert fingerprint([path]) != first


def look(cursor: str | None, instance=None) -> tuple[int, str]:
    """How many runs the sensor asks for, and what it remembers."""
    import dagster as dg

    from pipelines.definitions import landed

    with nullcontext(instance) if instance else dg.DagsterInstance.ephemeral() as instance:
        result = landed(dg.build_sensor_context(instance=instance, cursor=cursor))
    return len(result.run_requests or ()), result.cursor


def test_the_sensor_asks_for_a_run_once_files_stand_still_between_two_looks(tmp_path, monkeypatch):
    monkeypatch.setenv("ETALON_HOME", str(tmp_path))
    assert look(None)[0] == 0
    path = touch(tmp_path / "landing" / "2026-11-20" / "a.smf", dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    runs, cursor = look(None)
    assert runs == 0, "a file seen for the first time may still be growing"
    path.write_bytes(b"longer")
    os.utime(path, (0, 0))
    runs, cursor = look(cursor)
    assert runs == 0, "it has grown since, whatever its time says"
    touch(tmp_path / "landing" / "b.smf", dt.datetime(2026, 11, 19, tzinfo=dt.UTC))
    counts = []
    for _ in range(3):
        runs, cursor = look(cursor)
        counts.append(runs)
    assert counts == [1, 1, 0], "each file is asked for once"
    (tmp_path / "landing" / "b.smf").unlink()
    assert look(cursor)[0] == 0, "a file that went to the archive is no news"


def test_the_sensor_asks_again_for_a_run_that_died_and_that_dagster_does_not_retry(tmp_path, monkeypatch):
    import dagster as dg
    from dagster._core.test_utils import create_run_for_test

    monkeypatch.setenv("ETALON_HOME", str(tmp_path))
    lost, step = {"dagster/will_retry": "false"}, {"dagster/failure_reason": "STEP_FAILURE"}
    with dg.instance_for_test() as instance:
        asked = []
        for tags in ({"dagster/will_retry": "true"}, lost | step, lost, lost, lost, lost):
            create_run_for_test(instance, job_name="night", status=dg.DagsterRunStatus.FAILURE, tags=tags)
            asked.append(look(None, instance)[0])
        create_run_for_test(instance, job_name="night", status=dg.DagsterRunStatus.STARTED)
        asked.append(look(None, instance)[0])
    assert asked == [0, 0, 1, 1, 1, 0, 0]


def test_the_schedule_asks_for_the_day_that_ended():
    import dagster as dg

    from pipelines.definitions import nightly

    midnight = dt.datetime(2026, 11, 21, 0, 15, tzinfo=dt.UTC)
    request = nightly(dg.build_schedule_context(scheduled_execution_time=midnight))
    assert request.tags["etalon/day"] == "2026-11-20"


def page_of(home: Path, metadata) -> str:
    """The page that a check links to."""
    return (home / metadata["report"].value.removeprefix(SERVICE)).read_text(encoding="utf-8")


def test_the_checks_of_a_load_and_of_the_model_link_to_their_report(tmp_path, monkeypatch):
    import dagster as dg

    from pipelines import assets, steps
    from pipelines.home import Home

    class Validation:
        gates: ClassVar = {}
        failed = ()
        passed = True

        def to_dict(self):
            check = {"system": "shop", "name": "coverage", "value": 0.91, "limit": 0.8, "passed": True}
            rows = [{"system": "shop", "metric": "itr_tps", "measured": 5.0}]
            return {"rows": rows, "histories": [], "drift": [], "checks": [check]}

    home = Home(tmp_path)
    folder = tmp_path / "landing" / DAY
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text("words and more words\n" * 9)
    fitted = steps.Fitted("etalon-capacity/7", True, Validation(), tmp_path / "champion.json")
    monkeypatch.setattr(steps, "fit", lambda home: fitted)
    monkeypatch.setattr(steps, "data_identity", lambda home: {})
    monkeypatch.setenv("ETALON_LANDING__SETTLE_S", "0")
    parts = [assets.landing_files, assets.raw_records(home), assets.champion(home, "raw_records")]
    result = dg.materialize(parts, resources={"engine": assets.Engine(runner="here")})
    metadata = {e.asset_check_key.name: e.metadata for e in result.get_asset_check_evaluations()}
    assert set(metadata) == {
        "every_byte_accounted_for",
        "nothing_quarantined",
        "validation_gate",
        "drift",
        "every_system",
    }
    for name in ("every_byte_accounted_for", "nothing_quarantined"):
        page = page_of(tmp_path, metadata[name])
        assert f"<td>{DAY}/words.txt</td>" in page and "<td>text: if it was a dump" in page
    page = page_of(tmp_path, metadata["validation_gate"])
    assert "etalon-capacity/7 is champion" in page
    assert "<td>coverage</td>" in page and "<td>itr_tps</td>" in page
