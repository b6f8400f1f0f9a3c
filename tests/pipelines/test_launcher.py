"""Dagster's daemon after its processes were killed: the run is ended and started again, and its pool is free."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import dagster as dg
import pytest

from pipelines.home import Home
from tests.pipelines.conftest import ROOT


class Dagster:
    """The daemon over a state folder, with the processes that it starts."""

    def __init__(self, home: Home, instance: dg.DagsterInstance) -> None:
        self.home, self.instance, self.environment = home, instance, {**os.environ, **home.environment()}
        self.log = home.root / "daemon.log"

    def start(self) -> None:
        command = [sys.executable, "-m", "dagster._daemon", "run"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def state(self) -> dict:
        runs = self.instance.get_runs()
        events = [event.dagster_event for run in runs for event in self.instance.all_logs(run.run_id)]
        return {
            "runs": [(run.status.value, run.tags.get("dagster/retry_number")) for run in runs],
            "starts": Counter(event.step_key for event in events if event and event.event_type_value == "STEP_START"),
            "pools": sorted(self.instance.event_log_storage.get_concurrency_run_ids()),
        }

    def wait(self, until, seconds=500):
        """The state once it is as wanted."""
        end = time.monotonic() + seconds
        while not until(state := self.state()):
            assert time.monotonic() < end, (state, self.log.read_text()[-3000:])
            time.sleep(0.5)
        return state

    def workers(self) -> list[int]:
        """Processes of runs."""
        return [int(file.read_text()) for file in (self.home.dagster / "workers").iterdir() if file.read_text()]

    def kill(self) -> None:
        """Kill the daemon and its code server, with whatever they started that is of their session."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def killed(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


@pytest.fixture
def dagster(tmp_path, monkeypatch):
    home = Home(tmp_path / "state")
    home.landing.mkdir(parents=True)
    (home.root / "etalon.toml").write_text("fit = false\n")
    (home.landing / "a.runs.csv").write_text(
        "system_id,smf_sid,point,condition,start_utc,end_utc\n"
        "cics,SYSA,p,rate=1,2020-01-01T00:00:00Z,2020-01-01T00:05:00Z\n"
    )
    os.utime(home.landing / "a.runs.csv", (0, 0))
    for name, value in home.environment().items():
        monkeypatch.setenv(name, value)
    with dg.DagsterInstance.get() as instance:
        daemon = Dagster(home, instance)
        daemon.start()
        yield daemon
        daemon.kill()
        for number in daemon.workers():
            killed(number)


def build_started(retry):
    """Whether the run of this retry builds the marts."""
    return lambda state: (
        state["runs"][:1] == [("STARTED", retry)] and state["starts"]["dbt_build"] == len(state["runs"])
    )


@pytest.mark.slow
def test_runs_whose_processes_were_killed_are_ended_and_started_again(dagster):
    dagster.wait(build_started(None))
    for number in dagster.workers():
        killed(number)
    dagster.wait(build_started("1"))
    dagster.kill()
    for number in dagster.workers():
        killed(number)
    assert dagster.state()["runs"] == [("STARTED", "1"), ("FAILURE", None)]
    dagster.start()
    state = dagster.wait(lambda state: state["runs"][0][0] == "SUCCESS")
    assert state["runs"] == [("SUCCESS", "2"), ("FAILURE", "1"), ("FAILURE", None)]
    assert state["pools"] == []
    assert dagster.home.snapshot.is_file()
    dagster.wait(lambda _: "no new files, published" in (dagster.home.nights / "index.html").read_text())
