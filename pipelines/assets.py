"""The assets: a day's landed files, all the way to the published snapshot and the champion.

Each asset calls the step that the command line calls. Everything that opens the warehouse is in one pool of one.
"""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliInvocation, DbtProject, dbt_assets
from packaging.version import Version

from pipelines import pages, settings, steps
from pipelines.exits import EtalonError, Exit, code_of
from pipelines.home import DBT_PROJECT, Home
from pipelines.nights import accounts
from pipelines.nights.landing import local
from pipelines.partitions import daily, landed

if TYPE_CHECKING:
    from pipelines.building.marts import Work

POOL = "duckdb_writer"
AGAIN = dg.RetryPolicy(max_retries=2, delay=60, backoff=dg.Backoff.EXPONENTIAL)

landing_files = dg.AssetSpec(
    "landing_files",
    description="Files that arrived in ETALON_HOME/landing, by day.",
    group_name="ingest",
    kinds={"file"},
    partitions_def=daily,
)


def dbt_project(home: Home) -> DbtProject:
    """The dbt project with its target under `home`, its manifest made anew when a file of the project is newer.

    A new state folder begins with the project as `make setup` has parsed it.
    """
    project = DbtProject(project_dir=DBT_PROJECT, profiles_dir=DBT_PROJECT, target_path=home.dbt / "target")
    if not project.manifest_path.exists():
        _take_over(DBT_PROJECT / "target", home.dbt / "target")
    if _stale(project.manifest_path):
        project.preparer.prepare(project)
    return project


def _take_over(parsed: Path, target: Path) -> None:
    """Copy what dbt parsed, the manifest last, each file at once: another process may look for it."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("partial_parse.msgpack", "manifest.json"):
        if (parsed / name).exists():
            copy = target / f".{name}.{os.getpid()}"
            shutil.copy2(parsed / name, copy)
            copy.replace(target / name)


def _stale(manifest: Path) -> bool:
    if not manifest.exists():
        return True
    sources = (path for path in DBT_PROJECT.rglob("*") if path.suffix in (".sql", ".yml", ".csv"))
    return max(path.stat().st_mtime for path in sources) > manifest.stat().st_mtime


class Translator(DagsterDbtTranslator):
    """Names dbt's nodes as they are named in the warehouse, and hangs every source on the raw load."""

    def get_asset_key(self, dbt_resource_props: Any) -> dg.AssetKey:
        """Sources are one asset, the raw records; models keep schema and name."""
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey("raw_records")
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_partitions_def(self, dbt_resource_props: Any) -> dg.PartitionsDefinition:
        """Days, like everything else; said here and not of the whole, so that a backfill goes day by day."""
        return daily

    def get_group_name(self, dbt_resource_props: Any) -> str:
        """The layer."""
        return str(dbt_resource_props["schema"])


TRANSLATOR = Translator(DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True))


@dg.asset(
    deps=[landing_files],
    partitions_def=daily,
    group_name="ingest",
    kinds={"duckdb"},
    pool=POOL,
    retry_policy=AGAIN,
    check_specs=[
        dg.AssetCheckSpec(
            "every_byte_accounted_for",
            asset="raw_records",
            blocking=True,
            description="Every file could be loaded; each of its bytes is decoded, skipped, quarantined or framing.",
        ),
        dg.AssetCheckSpec(
            "nothing_quarantined", asset="raw_records", description="Every record of a known type could be decoded."
        ),
    ],
)
def raw_records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """The day's files in the raw tables, with their ledger and quarantine. Files loaded before change nothing."""
    home = Home.from_environment()
    rules = settings.read(home).landing
    with as_failures():
        folder = local(home, rules)
        files = landed(folder, rules).get(context.partition_key, [])
        reports = [accounts.of_report(report, folder) for report in (steps.ingest(home, files) if files else ())]
    sums = {name: sum(report[name] for report in reports) for name in ("bytes", "records", "decoded")}
    held = sum(report["quarantined"] for report in reports)
    skipped = sum(count for report in reports for count in report["skipped"].values())
    failed = [report["message"] or report["path"] for report in reports if report["status"] in ("failed", "busy")]
    messages = [report["message"] for report in reports if report["message"]]
    link = _link(accounts.loads(home.reports / "loads", context.partition_key, reports))
    return dg.MaterializeResult(
        metadata={
            "report": link,
            "files": len(reports),
            **sums,
            "skipped": skipped,
            "quarantined": held,
            "messages": "\n".join(messages),
        },
        check_results=[
            dg.AssetCheckResult(
                check_name="every_byte_accounted_for",
                passed=not failed,
                metadata={"report": link, "failed": "\n".join(failed)},
            ),
            dg.AssetCheckResult(
                check_name="nothing_quarantined",
                passed=not held,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"report": link, "quarantined": held},
            ),
        ],
    )


def marts(project: DbtProject) -> dg.AssetsDefinition:
    """The dbt project as assets: staging, intermediate, marts and their tests."""

    @dbt_assets(
        manifest=project.manifest_path,
        project=project,
        dagster_dbt_translator=TRANSLATOR,
        name="dbt_build",
        pool=POOL,
        retry_policy=AGAIN,
    )
    def dbt_build(context: dg.AssetExecutionContext) -> Iterator[Any]:
        home = Home.from_environment()
        from pipelines import record_marts
        from pipelines.building.marts import building

        with as_failures():
            steps.prepare(home)
        if set(context.selected_asset_keys) != set(context.assets_def.keys):
            remedy = "the marts are built together; of single models `etalon build --select MODEL` makes tables anew"
            raise dg.Failure(description=remedy, allow_retries=False)
        with building(home) as work:
            if work is None:
                context.log.info("Nothing has come since the last build: what comes after is skipped.")
                return
            context.log.info(f"building {work.plan.line}")
            for line in work.plan.late:
                context.log.warning(line)
            record_marts.prepare(home, work.database)
            yield from _running(context, project, home, work).stream()

    return dbt_build


def _running(context: dg.AssetExecutionContext, project: DbtProject, home: Home, work: "Work") -> DbtCliInvocation:
    """The build that dbt has begun. Dagster's own resource would start dbt twice, and parse the project anew."""
    call = steps.dbt_call(home, work.database, work.target)
    call["env"] |= {"DBT_LOG_FORMAT": "json", "PYTHONUNBUFFERED": "1"}
    return DbtCliInvocation(
        process=subprocess.Popen(**call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT),
        manifest=json.loads(project.manifest_path.read_text(encoding="utf-8")),
        dagster_dbt_translator=TRANSLATOR,
        project_dir=DBT_PROJECT,
        target_path=work.target,
        raise_on_error=True,
        cli_version=Version(version("dbt-core")),
        project=project,
        context=context,
    )


def quality_report(mart_keys: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The data-quality report over the given marts, whose checks stop what comes after when a critical one fails."""

    @dg.asset(
        name="quality_report",
        deps=mart_keys,
        partitions_def=daily,
        group_name="quality",
        kinds={"greatexpectations"},
        pool=POOL,
        retry_policy=AGAIN,
        check_specs=[
            dg.AssetCheckSpec(
                "critical_expectations",
                asset="quality_report",
                blocking=True,
                description="Nothing contradicts itself. Where it does, the former snapshot stays published.",
            ),
            dg.AssetCheckSpec(
                "nothing_held_back",
                asset="quality_report",
                description="All records are published. Those of a system and day that failed a critical expectation "
                "are held back, where others are not; what was published of the system before stays.",
            ),
            dg.AssetCheckSpec(
                "warnings",
                asset="quality_report",
                description="Nothing is doubtful. What is, is published all the same.",
            ),
        ],
    )
    def _quality_report() -> dg.MaterializeResult:
        """The data-quality site: every expectation over raw tables and marts, and what to do where one is not met."""
        from model.studies.document import literal
        from pipelines.building import held

        home = Home.from_environment()
        with as_failures():
            result = steps.judge(home)
            held_back = held.unpublished(home)
        link = _link(Path(result.report))
        problems = [found.line + (f" ({found.where})" if found.where else "") for found in result.problems]
        counts = result.counts
        about: dict[str, Any] = {
            "report": link,
            "problems": dg.MetadataValue.md("\n".join(f"- {literal(line)}" for line in problems) or "none"),
        }
        return dg.MaterializeResult(
            metadata={**about, **counts, "verdict": result.verdict},
            check_results=[
                dg.AssetCheckResult(check_name="critical_expectations", passed=not counts["fail"], metadata=about),
                dg.AssetCheckResult(
                    check_name="nothing_held_back",
                    passed=not held_back,
                    metadata={**about, "held back": "\n".join(held_back)},
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


@dg.asset(
    deps=["quality_report"],
    partitions_def=daily,
    group_name="publish",
    kinds={"duckdb"},
    pool=POOL,
    retry_policy=AGAIN,
)
def published_snapshot() -> dg.MaterializeResult:
    """The read-only copy that analysts and the service open."""
    with as_failures():
        path = steps.publish(Home.from_environment())
    return dg.MaterializeResult(metadata={"path": str(path), "bytes": path.stat().st_size})


@dg.asset(
    deps=[published_snapshot],
    partitions_def=daily,
    group_name="model",
    kinds={"scikitlearn", "mlflow"},
    pool="model_registry",
    retry_policy=AGAIN,
    check_specs=[
        dg.AssetCheckSpec(
            "validation_gate",
            asset="champion",
            description="Predictions of what was held out are near enough. Else the champion before stays in service.",
        ),
        dg.AssetCheckSpec(
            "drift", asset="champion", description="The champion before was right on the days since it was fitted."
        ),
        dg.AssetCheckSpec(
            "every_system",
            asset="champion",
            description="No stage failed for a system. One that fails keeps its last good version.",
        ),
    ],
)
def champion() -> dg.MaterializeResult:
    """The model calibrated on the snapshot, validated, registered, and exported if it passes its gate."""
    home = Home.from_environment()
    try:
        fitted = steps.fit(home)
    except EtalonError as error:
        if error.code is not Exit.NOT_READY:
            raise
        # Records alone, with no runs beside them, have no measured point; the way ends here without a fault.
        unmeasured = dg.AssetCheckResult(
            check_name="validation_gate",
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"report": _link(home.quality / "index.html"), "reason": str(error)},
        )
        return dg.MaterializeResult(
            metadata={"outcome": str(error)}, check_results=[unmeasured, *map(_doubt, ("drift", "every_system"))]
        )
    gate = {
        f"{name}: {check.name}": check.value
        for name, checks in fitted.validation.gates.items()
        for check in checks
        if math.isfinite(check.value)
    }
    name = fitted.model_version.replace("/", "-")
    link = _link(pages.validation(home.reports / "validation", fitted.line, name, fitted.validation.to_dict()))
    result = dg.AssetCheckResult(
        check_name="validation_gate", passed=fitted.validation.passed, metadata={"report": link, **gate}
    )
    about: dict[str, Any] = {
        "report": link,
        "model_version": fitted.model_version,
        "champion": fitted.promoted,
        "bundle": str(fitted.bundle),
        "left_out": "\n".join(f"{name}: {reason}" for name, reason in fitted.left_out.items()),
    }
    faults = [f"{name}: {fault}" for name, fault in fitted.faults.items()]
    doubts = [_doubt("drift", fitted.drifted), _doubt("every_system", faults)]
    return dg.MaterializeResult(metadata=about, check_results=[result, *doubts])


def of_a_day(project: DbtProject) -> list[dg.AssetsDefinition]:
    """The assets that are made of a day's records, each of those before it."""
    built = marts(project)
    names = sorted(key for key in built.keys if key.path[0] == "marts")
    return [raw_records, built, quality_report(names), published_snapshot, champion]


def _doubt(name: str, remarks: Sequence[str] = ()) -> dg.AssetCheckResult:
    """A check that warns where there are remarks."""
    return dg.AssetCheckResult(
        check_name=name,
        passed=not remarks,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"remarks": dg.MetadataValue.json(list(remarks))},
    )


def _link(page: Path) -> dg.UrlMetadataValue:
    """A page as a link in the web interface."""
    return dg.MetadataValue.url(page.absolute().as_uri())


@contextmanager
def as_failures() -> Iterator[None]:
    """Turn a refusal that will not go away by itself into a failure that is not tried again."""
    try:
        yield
    except Exception as error:
        # Waiting may help where another process had the warehouse, and where nothing is known of the fault.
        if code_of(error) in (None, Exit.LOCKED):
            raise
        raise dg.Failure(description=str(error), allow_retries=False) from error
