"""The assets: what has landed, all the way to the published snapshot, the champion and the night's findings.

`etalon nightly` and the Dagster daemon do the same assets. Each does a step of a night, and everything that opens the
warehouse is in one pool of one.
"""

import datetime as dt
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg

from ingest.running import Runner
from pipelines import pages, runners, settings, steps
from pipelines.home import Home
from pipelines.nights import accounts, night, work
from pipelines.nights.night import Step
from state import saved

POOL = "duckdb_writer"
#: The default address of `etalon serve`.
SERVICE = "http://127.0.0.1:8321/"
#: Tag of a run with the day whose records should be there; yesterday without it.
DAY = "etalon/day"

landing_files = dg.AssetSpec(
    "landing_files",
    description="Files that arrived in the landing folder.",
    group_name="ingest",
    kinds={"file"},
)


@contextmanager
def step(home: Home, context: dg.AssetExecutionContext, title: str) -> Iterator[Step]:
    """A step of the night that the run is; what goes wrong fails it. Waiting for another writer is done in the step."""
    try:
        with night.step(home, settings.read(home), run_of(context.instance, context.run), title) as this:
            yield this
    except night.StepFailed as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error


def run_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> night.RunOfNight:
    """A run as nights know it."""
    record = instance.get_run_record_by_id(run.run_id)
    assert record is not None
    created = record.create_timestamp.astimezone(dt.UTC)
    tag = run.tags.get(DAY)
    day = dt.date.fromisoformat(tag) if tag else created.date() - dt.timedelta(days=1)
    return night.RunOfNight(run.run_id, created, day)


class Engine(dg.ConfigurableResource):
    """The runner of dumps and of windows of marts: that of `[build]` in the settings, unless another is given."""

    runner: str | None = None

    def open(self, this: Step) -> AbstractContextManager[Runner | None]:
        """The runner for a step of a night, until the block ends."""
        return runners.open_runner(self.name(this))

    def name(self, this: Step) -> str | None:
        """The engine for a step of a night, as `etalon build --runner` takes it."""
        return self.runner or this.rules.build.runner


def raw_records(home: Home) -> dg.AssetsDefinition:
    """The raw tables."""

    @dg.asset(
        name="raw_records",
        deps=[landing_files],
        group_name="ingest",
        kinds={"duckdb"},
        pool=POOL,
        check_specs=[
            dg.AssetCheckSpec(
                "every_byte_accounted_for",
                asset="raw_records",
                description="Every file could be loaded; each byte is decoded, skipped, quarantined or framing.",
            ),
            dg.AssetCheckSpec(
                "nothing_quarantined", asset="raw_records", description="Every record of a known type could be decoded."
            ),
        ],
    )
    def _raw_records(context: dg.AssetExecutionContext, engine: Engine) -> dg.MaterializeResult:
        """Complete files in the raw tables, with ledger and quarantine. Files loaded before change nothing."""
        with step(home, context, "ingesting") as this:
            with engine.open(this) as runner:
                work.load(this, runner)
            night.patiently(lambda: steps.prepare(home))
        files = this.night.files
        n_quarantined = sum(file["quarantined"] for file in files)
        failed = [file["message"] or file["path"] for file in files if file["status"] in ("failed", "busy")]
        link = _link(home, accounts.loads(home.reports / "loads", this.night.started.replace(":", ""), files))
        counts = {name: sum(file[name] for file in files) for name in ("bytes", "records", "decoded")}
        skipped = sum(count for file in files for count in file["skipped"].values())
        about = {"report": link, "files": len(files), **counts, "skipped": skipped, "quarantined": n_quarantined}
        return dg.MaterializeResult(
            metadata={**about, "messages": "\n".join(file["message"] for file in files if file["message"])},
            check_results=[
                dg.AssetCheckResult(
                    check_name="every_byte_accounted_for",
                    passed=not failed,
                    metadata={"report": link, "failed": "\n".join(failed)},
                ),
                dg.AssetCheckResult(
                    check_name="nothing_quarantined",
                    passed=not n_quarantined,
                    severity=dg.AssetCheckSeverity.WARN,
                    metadata={"report": link, "quarantined": n_quarantined},
                ),
            ],
        )

    return _raw_records


def quality_report(home: Home, mart_keys: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The data-quality report over the given marts, whose checks stop what comes after when a critical one fails."""

    @dg.asset(
        name="quality_report",
        deps=mart_keys,
        group_name="check",
        kinds={"greatexpectations"},
        pool=POOL,
        check_specs=[
            dg.AssetCheckSpec(
                "critical_expectations",
                asset="quality_report",
                blocking=True,
                description="No critical expectation fails. If one does, the former snapshot stays published.",
            ),
            dg.AssetCheckSpec(
                "nothing_held_back",
                asset="quality_report",
                description="All records are published. If a critical expectation fails for a system and day, only "
                "these records are held back; data of the system that were published before stay.",
            ),
            dg.AssetCheckSpec(
                "warnings",
                asset="quality_report",
                description="No warning was raised. Data with warnings are published.",
            ),
        ],
    )
    def _quality_report(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """The data-quality site: every expectation over raw tables and marts, and what to do where one is not met."""
        from model.studies.document import literal
        from pipelines.building import held_back

        with step(home, context, "checking data quality") as this:
            result = work.check(this) if this.night.due else None
            withheld = night.patiently(lambda: held_back.unpublished(home)) if result else []
        about: dict[str, Any] = {"report": _link(home, home.quality / "index.html"), "checked": "nothing new"}
        counts = {"fail": 0, "warn": 0}
        if result is not None:
            counts = result.counts
            problems = [finding.line + (f" ({finding.where})" if finding.where else "") for finding in result.problems]
            listed = dg.MetadataValue.md("\n".join(f"- {literal(line)}" for line in problems) or "none")
            about |= {"checked": result.extent, "problems": listed, "verdict": result.verdict}
        return dg.MaterializeResult(
            metadata={**about, **counts},
            check_results=[
                dg.AssetCheckResult(check_name="critical_expectations", passed=not counts["fail"], metadata=about),
                dg.AssetCheckResult(
                    check_name="nothing_held_back",
                    passed=not withheld,
                    metadata={**about, "held back": "\n".join(withheld)},
                ),
                dg.AssetCheckResult(
                    check_name="warnings",
                    passed=not counts["warn"],
                    severity=dg.AssetCheckSeverity.WARN,
                    metadata=about,
                ),
            ],
        )

    return _quality_report


def published_snapshot(home: Home) -> dg.AssetsDefinition:
    """The published snapshot."""

    @dg.asset(name="published_snapshot", deps=["quality_report"], group_name="publish", kinds={"duckdb"}, pool=POOL)
    def _published_snapshot(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """The read-only copy that analysts and the service open."""
        with step(home, context, "publishing the snapshot") as this:
            if this.night.due:
                work.publish(this)
        return dg.MaterializeResult(metadata={"path": str(home.snapshot), "bytes": home.snapshot.stat().st_size})

    return _published_snapshot


def champion(home: Home, after: str) -> dg.AssetsDefinition:
    """The model in service, made after the asset named."""

    @dg.asset(
        name="champion",
        deps=[after],
        group_name="calibrate",
        kinds={"scikitlearn", "mlflow"},
        pool="model_registry",
        check_specs=[
            dg.AssetCheckSpec(
                "validation_gate",
                asset="champion",
                description="Errors on held-out data are within the limits of the gate. If not, the former champion "
                "stays.",
            ),
            dg.AssetCheckSpec(
                "drift",
                asset="champion",
                description="The former champion was accurate on the days since its calibration.",
            ),
            dg.AssetCheckSpec(
                "every_system",
                asset="champion",
                description="No stage failed for any system. A system with a fault keeps its last good version.",
            ),
        ],
    )
    def _champion(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """The model calibrated on the snapshot, validated, registered, and exported if it passes its gate."""
        with step(home, context, "calibrating and validating") as this:
            fitted = work.fit(this) if this.rules.fit else None
        model = this.night.model or {}
        if fitted is None:
            # Records without runs have no measured point; the job ends here without a fault.
            outcome = model.get("outcome", "already calibrated on the same data" if this.rules.fit else "fit = false")
            about: dict[str, Any] = {"outcome": outcome, "report": _link(home, home.quality / "index.html")}
            passed, gate = not model, {**about, "reason": outcome}
        else:
            name = fitted.model_version.replace("/", "-")
            link = _link(
                home, pages.validation(home.reports / "validation", fitted.line, name, fitted.validation.to_dict())
            )
            limits = {
                f"{name}: {check.name}": check.value
                for name, checks in fitted.validation.gates.items()
                for check in checks
                if math.isfinite(check.value)
            }
            passed, gate = fitted.validation.passed, {"report": link, **limits}
            about = {
                "report": link,
                "model_version": fitted.model_version,
                "champion": fitted.promoted,
                "bundle": str(fitted.bundle),
                "left_out": "\n".join(f"{name}: {reason}" for name, reason in fitted.left_out.items()),
            }
        severity = dg.AssetCheckSeverity.WARN if fitted is None else dg.AssetCheckSeverity.ERROR
        faults = [f"{name}: {fault}" for name, fault in model.get("faults", {}).items()]
        return dg.MaterializeResult(
            metadata=about,
            check_results=[
                dg.AssetCheckResult(check_name="validation_gate", passed=passed, severity=severity, metadata=gate),
                _doubt("drift", model.get("drifted", [])),
                _doubt("every_system", faults),
            ],
        )

    return _champion


def record_coverage(home: Home) -> dg.AssetsDefinition:
    """Expected records that are missing."""

    @dg.asset(
        name="record_coverage",
        deps=["champion"],
        group_name="follow_up",
        check_specs=[
            dg.AssetCheckSpec(
                "nothing_missing",
                asset="record_coverage",
                description="The day has all the records that it usually has.",
            )
        ],
    )
    def _record_coverage(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """The day's records by system and type, compared with the weeks before."""
        with step(home, context, "looking for missing records") as this:
            work.look_for_missing(this)
        lacks = [lack["text"] for lack in this.night.lacks]
        return dg.MaterializeResult(
            metadata={"day": this.night.day, "missing": "\n".join(lacks)},
            check_results=[
                dg.AssetCheckResult(
                    check_name="nothing_missing",
                    passed=not lacks,
                    severity=dg.AssetCheckSeverity.WARN,
                    metadata={"missing": "\n".join(lacks)},
                )
            ],
        )

    return _record_coverage


def raised_alerts(home: Home) -> dg.AssetsDefinition:
    """Alerts raised by the rules."""

    @dg.asset(
        name="raised_alerts",
        deps=["record_coverage"],
        group_name="follow_up",
        check_specs=[
            dg.AssetCheckSpec(
                "no_alert",
                asset="raised_alerts",
                description="No rule of alerts.toml raised an alert for the last 24 recorded hours or the forecast.",
            )
        ],
    )
    def _raised_alerts(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """Alerts by cause: performance index, busy, R4HA, zIIP overflow, headroom."""
        with step(home, context, "looking for alerts") as this:
            work.raise_alerts(this)
        texts = [one["text"] for one in this.night.alerts]
        return dg.MaterializeResult(metadata={"alerts": "\n".join(texts)}, check_results=[_doubt("no_alert", texts)])

    return _raised_alerts


def saved_answers(home: Home) -> dg.AssetsDefinition:
    """The answers to saved questions."""

    @dg.asset(name="saved_answers", deps=["raised_alerts"], group_name="follow_up", kinds={"numpy"})
    def _saved_answers(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """Saved questions, answered by the champion in force; their history has an answer for each night."""
        questions = saved.read(home.root)
        if questions:
            with step(home, context, "answering saved questions") as this:
                work.answer_saved(this)
        return dg.MaterializeResult(metadata={"questions": len(questions)})

    return _saved_answers


def scheduled_reports(home: Home) -> dg.AssetsDefinition:
    """Reports for those who decide."""

    @dg.asset(name="scheduled_reports", deps=["saved_answers"], group_name="follow_up", kinds={"html"})
    def _scheduled_reports(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """The reports that `[reports]` of the settings names, on its days."""
        if not settings.read(home).reports.days:
            return dg.MaterializeResult(metadata={"written": "none: the settings define no days"})
        with step(home, context, "writing reports") as this:
            work.write_reports(this)
        return dg.MaterializeResult(metadata={"written": "\n".join(this.night.reports) or "none on this day"})

    return _scheduled_reports


def retained_records(home: Home) -> dg.AssetsDefinition:
    """Records within their retention."""

    @dg.asset(name="retained_records", deps=["scheduled_reports"], group_name="follow_up", kinds={"duckdb"}, pool=POOL)
    def _retained_records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """Raw tables and marts without what is older than it has to be kept."""
        if not settings.read(home).retain:
            return dg.MaterializeResult(metadata={"dropped": "nothing: the settings keep all data"})
        with step(home, context, "deleting data older than their retention") as this:
            work.drop(this)
        return dg.MaterializeResult(metadata={"dropped": dg.MetadataValue.json(this.night.retained)})

    return _retained_records


def of_a_night(home: Home, *, with_marts: bool = True) -> list[dg.AssetsDefinition]:
    """The assets of a night, each after those that it is made of; without those that nothing is due for."""
    built: list[dg.AssetsDefinition] = []
    if with_marts:
        # It takes as long to load as a night without new files lasts.
        from pipelines import dbt_assets

        marts = dbt_assets.marts(home, dbt_assets.dbt_project(home))
        names = sorted(key for key in marts.keys if key.path[0] == "marts")
        built = [marts, quality_report(home, names), published_snapshot(home)]
    after = "published_snapshot" if built else "raw_records"
    judged = (champion(home, after), record_coverage(home), raised_alerts(home))
    written = (saved_answers(home), scheduled_reports(home))
    return [raw_records(home), *built, *judged, *written, retained_records(home)]


def _doubt(name: str, remarks: list[str]) -> dg.AssetCheckResult:
    """A check that warns where there are remarks."""
    return dg.AssetCheckResult(
        check_name=name,
        passed=not remarks,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"remarks": dg.MetadataValue.json(remarks)},
    )


def _link(home: Home, page: Path) -> dg.UrlMetadataValue:
    """The address of a page of the state folder at the service, as `notify.link` names it, or on this machine."""
    service = settings.read(home).notify.link or SERVICE
    return dg.MetadataValue.url(f"{service.rstrip('/')}/{page.relative_to(home.root).as_posix()}")
