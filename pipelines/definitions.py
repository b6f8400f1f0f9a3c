"""What the Dagster server loads: assets, the nightly job and its schedule, the sensor on the landing folder."""

import datetime as dt
import json

import dagster as dg

from pipelines import assets, settings
from pipelines.home import Home
from pipelines.nights.landing import fingerprint, local
from pipelines.partitions import daily, landed


@dg.schedule(
    job_name="day",
    cron_schedule="15 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
def nightly(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
    """A quarter past midnight UTC, for the day that has just ended and every day whose last run failed."""
    ended = (context.scheduled_execution_time.astimezone(dt.UTC) - dt.timedelta(days=1)).date().isoformat()
    days = sorted({ended, *_failed(context.instance)})
    return [dg.RunRequest(run_key=f"nightly-{ended}-{day}", partition_key=day) for day in days]


def _failed(instance: dg.DagsterInstance) -> list[str]:
    """Days whose last run failed."""
    last = instance.get_run_partition_data(dg.RunsFilter(job_name="day"))
    return [of.partition for of in last if of.status is dg.DagsterRunStatus.FAILURE]


@dg.sensor(job_name="day", minimum_interval_seconds=60, default_status=dg.DefaultSensorStatus.RUNNING)
def landing(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """A run for every day whose landed files are the same, in name, size and time, as at the look before.

    No clock is compared with another: a file server's may differ. The same files are run once.
    """
    home = Home.from_environment()
    rules = settings.read(home).landing
    folder = local(home, rules)
    known = set(daily.get_partition_keys())
    seen = {day: fingerprint(files) for day, files in sorted(landed(folder, rules).items()) if day in known}
    before = json.loads(context.cursor or "{}")
    requests = [
        dg.RunRequest(run_key=f"landed-{day}-{mark}", partition_key=day)
        for day, mark in seen.items()
        if before.get(day) == mark
    ]
    waiting = None if requests else f"nothing in {folder} has stood still since the look before"
    return dg.SensorResult(run_requests=requests or None, skip_reason=waiting, cursor=json.dumps(seen))


@dg.definitions
def defs() -> dg.Definitions:
    """The code location, over the state folder that ETALON_HOME names."""
    home = Home.from_environment()
    home.activate()
    of_a_day = assets.of_a_day(assets.dbt_project(home))
    day = dg.define_asset_job(
        "day",
        selection=dg.AssetSelection.assets(*of_a_day),
        partitions_def=daily,
        executor_def=dg.multiprocess_executor.configured({"max_concurrent": 2}),
        description="A day's records, from landed files to the published snapshot and the champion.",
    )
    return dg.Definitions(
        assets=[assets.landing_files, *of_a_day],
        jobs=[day],
        schedules=[nightly],
        sensors=[landing],
    )
