"""`etalon nightly`: the assets of Dagster, done in this process; no daemon is needed.

Every step may be done again: a night that was killed is gone on with by the next.
"""

import contextlib
import datetime as dt
import io
import uuid
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pipelines import settings as configured
from pipelines import workers
from pipelines.exits import EtalonError, Exit
from pipelines.home import ROOT, Home
from pipelines.locks import alone
from pipelines.nights import work
from pipelines.nights.night import Night, finish

if TYPE_CHECKING:
    import dagster as dg

#: Runs are kept for so long in Dagster's storage; the pages of nights stay.
_KEPT = dt.timedelta(days=90)


def run(home: Home, day: dt.date | None = None) -> Night:
    """Load what is complete, build what it touches, check, publish, calibrate, retain, report and notify.

    day: the day whose coverage is looked at; yesterday (UTC) without it. Raises EtalonError (LOCKED) while another
    night is under way, and for settings that cannot be used; whatever else goes wrong is in the result and its code.
    """
    home.require_writable()
    rules = configured.read(home)
    with only_one(home):
        from pipelines import definitions

        home.activate()
        run_id = str(uuid.uuid4())
        with _instance() as instance, workers.lock_of(home, run_id):
            end_dead_runs(home, instance)
            job = definitions.night_job(home, with_marts=work.is_due(home, rules))
            # What dbt and Dagster print is in the run; standard output is the command's.
            with contextlib.redirect_stdout(io.StringIO()):
                result = job.execute_in_process(
                    instance=instance,
                    run_id=run_id,
                    raise_on_error=False,
                    tags={definitions.DAY: str(day or ""), definitions.NIGHTLY: "true", "dagster/max_retries": "0"},
                    run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                )
            if definitions.interrupted(instance, run_id):
                raise KeyboardInterrupt
            of = definitions.run_of(instance, result.dagster_run)
            failure = "" if result.success else definitions.failure_of(instance, run_id)
            _forget_old_runs(instance)
            return finish(home, rules, of, failure)


def only_one(home: Home) -> AbstractContextManager[None]:
    """The lock of nights: see `alone`."""
    return alone(home.nights / "lock", "night", home.root)


def _instance() -> "dg.DagsterInstance":
    """The instance of dagster.yaml, without what keeps the output of runs: that of a night goes to its caller."""
    import dagster as dg
    from dagster._core.instance.ref import InstanceRef

    nothing = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(ROOT), overrides={"compute_logs": nothing}))


def end_dead_runs(home: Home, instance: "dg.DagsterInstance") -> None:
    """Fail the runs whose process was killed, and free their places in pools, as Dagster's daemon does.

    Raises EtalonError (LOCKED) where a run is under way.
    """
    from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES, RunsFilter

    for run in instance.get_runs(RunsFilter(statuses=IN_PROGRESS_RUN_STATUSES)):
        if workers.is_alive(home, run.run_id):
            raise EtalonError(f"Dagster run {run.run_id} is active in {home.root}: wait until it ends", Exit.LOCKED)
        instance.report_run_failed(run, "The process of the run has ended before the run.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def _forget_old_runs(instance: "dg.DagsterInstance") -> None:
    from dagster._core.storage.dagster_run import FINISHED_STATUSES, RunsFilter

    before = dt.datetime.now(dt.UTC) - _KEPT
    for run in instance.get_runs(RunsFilter(statuses=FINISHED_STATUSES, updated_before=before)):
        instance.delete_run(run.run_id)
