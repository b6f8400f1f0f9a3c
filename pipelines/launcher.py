"""How Dagster starts runs: a process for each, which Dagster's monitoring can tell from a dead one."""

import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Any, Self

from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass
from dagster._serdes.config_class import ConfigurableClassData

from pipelines import workers
from pipelines.home import ROOT, Home


class ProcessLauncher(RunLauncher, ConfigurableClass):
    """Starts a process for each run, which goes on when the daemon or the code server ends.

    Dagster's default launcher has the code server start it and cannot say whether it lives: after a kill, its run would
    be `STARTED` and hold its places in pools for ever. A run of a dead process is failed by Dagster's monitoring when
    the daemon starts and every few seconds, its places are freed, and `run_retries` starts it again.
    """

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        self._inst_data = inst_data
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        super().__init__()

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """As given by dagster.yaml."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> Mapping[str, Any]:
        """Nothing can be set."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """The launcher of dagster.yaml."""
        return cls(inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start the process of a run, and leave it the lock of the run."""
        run = context.dagster_run
        assert context.job_code_origin is not None
        arguments = ExecuteRunArgs(context.job_code_origin, run.run_id, self._instance.get_ref())
        with workers.lock_of(Home.from_environment(), run.run_id) as stream:
            child = subprocess.Popen(
                arguments.get_command_args(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[stream.fileno()],
                start_new_session=True,
            )
            workers.remember_process(stream, child.pid)
        self._children[run.run_id] = child
        self._instance.report_engine_event(f"Started process {child.pid}.", run, cls=self.__class__)

    def terminate(self, run_id: str) -> bool:
        """Have the process of a run stop it; False where none of this machine runs it."""
        run = self._instance.get_run_by_id(run_id)
        process = workers.process_of(Home.from_environment(), run_id)
        if run is None or run.is_finished or process is None:
            return False
        self._instance.report_run_canceling(run)
        os.kill(process, signal.SIGTERM)
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Dagster's monitoring may ask."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Whether the process of a run is alive."""
        # A child that has ended remains as a zombie until it is polled.
        for run_id, child in [*self._children.items()]:
            if child.poll() is not None:
                del self._children[run_id]
        if workers.is_alive(Home.from_environment(), run.run_id):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its process has ended")
