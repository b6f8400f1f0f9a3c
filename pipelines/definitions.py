"""Definitions that the Dagster server loads: assets, the nightly job and its schedule, the sensors."""

import datetime as dt
import hashlib
import json

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.events import RunFailureReason
from dagster._core.storage.tags import RUN_FAILURE_REASON_TAG, WILL_RETRY_TAG

from pipelines import assets, settings
from pipelines.assets import DAY, run_of
from pipelines.home import Home
from pipelines.nights import landing, night

JOB = "night"
#: So many runs in a row whose process died are left to somebody.
_MOST_DEAD = 4
#: Tag of the runs of `etalon nightly`, which reports them itself.
NIGHTLY = "etalon/nightly"
_RESOURCES = {"engine": assets.Engine()}


@dg.schedule(
    job_name=JOB,
    cron_schedule="15 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """A quarter past midnight UTC, for the day that has just ended."""
    ended = (context.scheduled_execution_time.astimezone(dt.UTC) - dt.timedelta(days=1)).date().isoformat()
    return dg.RunRequest(run_key=f"nightly-{ended}", tags={DAY: ended})


@dg.sensor(job_name=JOB, minimum_interval_seconds=60, default_status=dg.DefaultSensorStatus.RUNNING)
def landed(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """A run once complete files are the same, in name, size and time, as at the look before.

    No clock is compared with another: a file server's may differ. The same files are requested once, and again where
    the process of their run was killed and Dagster's retry was lost, as where its code server was killed as well.
    """
    home = Home.from_environment()
    rules = settings.read(home).landing
    if dead := _dead(context.instance):
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=f"after-{dead}")], cursor=context.cursor)
    if isinstance(rules.folder, str):
        return dg.SensorResult(skip_reason="landing.folder is an address: the schedule fetches its files")
    folder = landing.local(home, rules)
    before = json.loads(context.cursor or "{}")
    marks = {str(path): landing.fingerprint([path]) for path, why_left in landing.files(folder, rules) if not why_left}
    # Marks of the look before, and whether a run was requested for the file as it is.
    looks = {path: [mark, before.get(path) == [mark, True]] for path, mark in marks.items()}
    new = [
        path for path, (mark, is_requested) in looks.items() if before.get(path) == [mark, False] and not is_requested
    ]
    if not new:
        return dg.SensorResult(skip_reason=f"no new complete file in {folder}", cursor=json.dumps(looks))
    for path in new:
        looks[path][1] = True
    key = hashlib.sha256(json.dumps([[path, marks[path]] for path in new]).encode()).hexdigest()[:16]
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=f"landed-{key}")], cursor=json.dumps(looks))


def _dead(instance: dg.DagsterInstance) -> str | None:
    """The latest run, where its process died and Dagster does not start it again; None after several in a row."""
    latest = instance.get_runs(dg.RunsFilter(job_name=JOB), limit=_MOST_DEAD)
    died = [
        run.status is dg.DagsterRunStatus.FAILURE
        and run.tags.get(RUN_FAILURE_REASON_TAG) != RunFailureReason.STEP_FAILURE.value
        and run.tags.get(WILL_RETRY_TAG) == "false"
        for run in latest
    ]
    return latest[0].run_id if any(died[:1]) and not (len(died) == _MOST_DEAD and all(died)) else None


def failure_of(instance: dg.DagsterInstance, run_id: str) -> str:
    """Why a run failed, as Dagster says it: the error of a step, or else of the run."""
    kinds = dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_CANCELED
    for event in instance.all_logs(run_id, of_type=set(kinds)):
        if (dagster_event := event.dagster_event) is not None:
            error = getattr(dagster_event.event_specific_data, "error", None)
            while error is not None and error.cause is not None:
                error = error.cause
            return (
                f"{dagster_event.step_key}: {error.message.strip()}"
                if error is not None and dagster_event.step_key
                else dagster_event.message or ""
            )
    return "The run failed without a reason from Dagster."


def interrupted(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether a run was stopped by a signal."""
    failures = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    errors = [event.dagster_event.step_failure_data.error for event in failures if event.dagster_event]
    return any(error is not None and error.cls_name == "DagsterExecutionInterruptedError" for error in errors)


def _reporting(status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    """Ends the nights whose run came to this end."""

    @dg.run_status_sensor(
        run_status=status, name=f"report_{status.value.lower()}", default_status=dg.DefaultSensorStatus.RUNNING
    )
    def report(context: dg.RunStatusSensorContext) -> None:
        """Exit code, messages and pages of a night that the daemon ran."""
        run = context.dagster_run
        if run.job_name == JOB and NIGHTLY not in run.tags:
            home = Home.from_environment()
            failure = "" if status is dg.DagsterRunStatus.SUCCESS else failure_of(context.instance, run.run_id)
            night.finish(home, settings.read(home), run_of(context.instance, run), failure)

    return report


def _jobs(home: Home, with_marts: bool = True) -> tuple[list[dg.AssetsDefinition], UnresolvedAssetJobDefinition]:
    of_a_night = assets.of_a_night(home, with_marts=with_marts)
    job = dg.define_asset_job(
        JOB,
        selection=dg.AssetSelection.assets(*of_a_night),
        # A step in a separate process would begin with four seconds of imports.
        executor_def=dg.in_process_executor,
        tags={"dagster/retry_strategy": "ALL_STEPS"},
        description="What has landed, from files to the published snapshot, the champion and the morning's page.",
    )
    return of_a_night, job


def night_job(home: Home, *, with_marts: bool) -> dg.JobDefinition:
    """The job of a night over a state folder, without the assets of the marts where nothing is due for them."""
    of_a_night, job = _jobs(home, with_marts)
    defined = dg.Definitions(assets=[assets.landing_files, *of_a_night], jobs=[job], resources=_RESOURCES)
    return defined.resolve_job_def(JOB)


@dg.definitions
def defs() -> dg.Definitions:
    """The code location, over the state folder that ETALON_HOME names."""
    home = Home.from_environment()
    home.activate()
    of_a_night, job = _jobs(home)
    ends = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
    return dg.Definitions(
        assets=[assets.landing_files, *of_a_night],
        resources=_RESOURCES,
        jobs=[job],
        schedules=[nightly],
        sensors=[landed, *map(_reporting, ends)],
    )
