"""The steps of the way from a file to an answer. The command line and the Dagster assets call these and nothing else.

Rooms are imported inside the functions: listing the commands or the assets must not load a scientific stack.
"""

import csv
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import drift, histories, layouts, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from state.catalogue import CHAMPION, VERSIONS
from state.files import StateDamaged

if TYPE_CHECKING:
    from ingest.running import Runner
    from model.calendar import Calendar
    from model.prices import Prices

Progress = Callable[[str], None]
LoadProgress = Callable[[str, str, int], None]


def render(
    systems: Sequence[str], folder: Path, seed: int | None = None, progress: Progress | None = None
) -> list[Path]:
    """Write the dumps of reference systems, with their runs, groups and manifests, into `folder`.

    `subsystems` stands for the made-up night with records of subsystems.
    """
    from model.lab import rendering, subsystems
    from model.lab.targets import SUBSYSTEMS

    written: list[Path] = []
    for system in systems:
        chosen = rendering.DEFAULT_SEED if seed is None else seed
        if system == SUBSYSTEMS:
            written += subsystems.render(folder, chosen)
        else:
            written += rendering.render(system, folder, seed=chosen, progress=progress)
    return written


def not_rendered(systems: Sequence[str]) -> list[str]:
    """A line for each point of activity of these systems that the lab cannot render, with the reason."""
    from model.lab import targets
    from model.lab.targets import SUBSYSTEMS
    from model.published import catalogue

    return [
        f"{system}: point {point.id} is not rendered: {reason}"
        for system in systems
        if system != SUBSYSTEMS
        for point, reason in targets.not_rendered(catalogue.system(system))
    ]


def require_renderable(systems: Sequence[str]) -> None:
    """Raise an EtalonError naming those that the lab can render, nearest first, unless it can render each of these."""
    from difflib import get_close_matches

    from model.lab.targets import SUBSYSTEMS, renderable

    names = (*renderable(), SUBSYSTEMS)
    for system in systems:
        if system not in names:
            near = get_close_matches(system, names, n=5, cutoff=0.4)
            rest = [name for name in names if name not in near]
            meant = f"; did you mean {' or '.join(near)}?" if near else "."
            raise EtalonError(
                f"the lab cannot render {system!r}{meant} Systems that it can render: {', '.join([*near, *rest])}",
                Exit.QUESTION,
            )


def ingest(
    home: Home,
    paths: Iterable[Path | str],
    *,
    reload: str = "never",
    progress: LoadProgress | None = None,
    layout_folders: Sequence[Path] | None = None,
    kind: str | None = None,
    runner: "Runner | None" = None,
) -> list[Any]:
    """Load files into the warehouse, read as `kind` if there is one; one `ingest.warehouse.FileReport` per file.

    runner: decodes dumps of 4 MB or more; this process and processes of this machine without one.
    """
    home.require_writable()
    from ingest import warehouse
    from ingest.allocation import keep_freed_memory
    from ingest.formats.identify import Kind

    keep_freed_memory()
    registry = layouts.registry(home, layout_folders)
    chosen = Kind(kind) if kind else None
    return warehouse.load(
        list(paths),
        home.warehouse,
        registry,
        reload=reload,  # type: ignore[arg-type]
        progress=progress,
        kind=chosen,
        limits=partial(unpacking, home),
        runner=runner,
    )


def unpacking(home: Home) -> Any:
    """How much of a container is unpacked by the settings of a state folder: `ingest.containers.limits.Limits`."""
    from pipelines import settings

    return settings.read(home).archives.limits


def forget(home: Home, files: Sequence[str]) -> list[str]:
    """Take loaded files out of the warehouse; their paths. The next build makes the marts without them."""
    require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    home.require_writable()
    from ingest import warehouse

    return warehouse.remove(home.warehouse, files)


def prepare(home: Home) -> None:
    """Make the tables that the marts are built from, as far as the warehouse lacks them; the warehouse itself too."""
    home.require_writable()
    from ingest import warehouse

    warehouse.prepare(home.warehouse, layouts.registry(home))


def build(
    home: Home,
    *,
    select: str | None = None,
    everything: bool = False,
    window: dt.timedelta | None = None,
    runner: "Runner | None" = None,
    progress: Progress | None = None,
) -> str:
    """Build the marts and run their data tests: as much of them as files touch that came since.

    select: models to build in the warehouse, with what they are made from. everything: all of it in any case. window:
    length of the windows that are built apart from one another, by `runner`; all at once without it. progress: called
    with a line on rows that come too late, because records of their time were dropped.
    Returns what was built, in words; empty where nothing had to be. Raises EtalonError with the model or data test that
    failed.
    """
    require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    prepare(home)
    from pipelines.building import driver

    if select:
        driver.select(home, select.split())
        return select
    plan = driver.build(home, everything=everything, window=window, runner=runner)
    for line in plan.late if plan and progress else ():
        progress(line)  # type: ignore[misc]
    return plan.line if plan else ""


def check(home: Home) -> Any:
    """Run the expectations over what was built last and write the data-quality site."""
    require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    home.require_writable()
    from expectations import quality
    from ingest import schema
    from pipelines import metrics
    from pipelines.building import project
    from pipelines.building.marts import readable

    in_part = readable(home.window)
    return quality.run(
        home.window if in_part else home.warehouse,
        home.quality,
        extent="tables that the last build replaced" if in_part else "the whole warehouse",
        baseline=schema.baseline_expectations(layouts.registry(home)),
        domains={name: metric.domain for name, metric in metrics.registry().items()},
        manifest=project.manifest(home),
    )


def judge(home: Home) -> Any:
    """Check what was built last, as `check` does. Where critical expectations fail for some systems on some days alone,
    their records are held back and the marts built and checked without: what is published has passed.
    """
    from pipelines.building import held_back

    result = check(home)
    while result.verdict == "fail" and held_back.hold_back(home, result):
        build(home)
        result = check(home)
    return result


def quality_line(result: Any) -> str:
    """The verdict of a quality run in one line."""
    counts = result.counts
    parts = [f"{text.counted(counts['pass'], 'expectation')} met", text.counted(counts["warn"], "warning")]
    if counts["fail"]:
        parts.append(text.counted(counts["fail"], "critical failure"))
    return f"quality {result.verdict}: {', '.join(parts)}"


def publish(home: Home, layout_folders: Sequence[Path] | None = None, *, force: bool = False) -> Path:
    """Put a copy of the warehouse in place of the published snapshot, and of the lake where the settings name one.

    Raises EtalonError (FEWER) where it lacks files, systems or days of the snapshot that were not dropped on purpose,
    unless `force`, and EtalonError (LOCKED) during a build: it reads parts that a publication may delete.
    """
    require(home.warehouse, "there is no warehouse", "load files first: `etalon ingest PATH`")
    home.require_writable()
    from ingest import warehouse
    from pipelines import lake, provenance, settings
    from pipelines.building import losses, touched
    from pipelines.building.marts import only_one

    with warehouse.open_writer(home.warehouse) as con:
        warehouse.ledger.create(con)
        if not force:
            losses.refuse(con, home.snapshot)
    registry = layouts.registry(home, layout_folders)
    with only_one(home):
        # A check reads what the last build made, which names parts of the warehouse.
        path = warehouse.publish(home.warehouse, home.snapshot, registry, kept=[home.window])
        with warehouse.open_writer(home.warehouse) as con:
            provenance.publish(con, home)
            touched.confirm(con)
            losses.clear(con)
    if address := settings.read(home).lake.address:
        lake.publish(path, address, home.lake)
    return path


def measured_points(home: Home) -> Any:
    """The mart of measured points, from the published snapshot, as an Arrow table; intervals outside runs are none."""
    from ingest import warehouse

    return warehouse.query(
        home.snapshot, "SELECT * FROM marts.fct_point WHERE is_run ORDER BY system_id, etr_tps, point"
    )


def measured_figures(home: Home) -> list[dict[str, Any]]:
    """Every metric of every measured point that belongs to a run, from the published snapshot."""
    from ingest import warehouse

    return warehouse.query(
        home.snapshot,
        "SELECT system_id, point, subject, metric, value, value_se, unit, condition, workload "
        "FROM marts.fct_point_metric WHERE is_run AND value IS NOT NULL",
    ).to_pylist()


def measured_ratings(home: Home) -> dict[str, tuple[float | None, float | None]]:
    """Service units and software service units a second of an engine, by system and, of its LPARs, by system/SID."""
    from ingest import warehouse

    rows = warehouse.query(
        home.snapshot,
        "SELECT system_id, smf_sid, service_units_per_s, software_service_units_per_s FROM marts.dim_system "
        "ORDER BY ALL",
    ).to_pylist()
    rates = [(row, (row["service_units_per_s"], row["software_service_units_per_s"])) for row in rows]
    by_system = {row["system_id"]: rate for row, rate in rates}
    return by_system | {f"{row['system_id']}/{row['smf_sid']}": rate for row, rate in rates}


def imported_ratings(home: Home) -> list[dict[str, Any]]:
    """Ratings of machines that the installation wrote into its state folder, none without."""
    from model.hardware.imported import read_ratings
    from model.hardware.machines import MachineError

    if not home.machines.is_file():
        return []
    try:
        # Answers name the line a rating is from, and no folder of this machine.
        return read_ratings(home.machines.read_text(encoding="utf-8-sig"), home.machines.name)
    except (MachineError, OSError, UnicodeDecodeError, csv.Error) as error:
        message = f"{home.machines}: the ratings of machines cannot be read: {error}; correct the file, or move it away"
        raise EtalonError(message, Exit.NO_INPUT) from error


def add_ratings(home: Home, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ratings of one machine into the installation's table, in place of those that it has of it."""
    from model.hardware.imported import with_ratings
    from state.files import write_text

    imported_ratings(home)
    before = home.machines.read_text(encoding="utf-8-sig") if home.machines.is_file() else ""
    home.require_writable()
    write_text(home.machines, with_ratings(before, rows))


def data_identity(home: Home) -> dict[str, Any]:
    """The data that a model was fitted on: the loaded files and a digest over their contents, in no order."""
    import hashlib

    from ingest import warehouse

    table = warehouse.query(
        home.snapshot,
        "SELECT sha256, bytes FROM meta.ledger WHERE status NOT IN ('failed', 'superseded') ORDER BY sha256",
    )
    digest = hashlib.sha256("\n".join(table["sha256"].to_pylist()).encode()).hexdigest()
    return {"files": table.num_rows, "bytes": sum(table["bytes"].to_pylist()), "sha256": digest}


def validate(home: Home) -> Any:
    """Errors of the current model on left-out data: points from the other points, later days and higher loads."""
    require_snapshot(home)
    from model.calibration.related_systems import load_descriptions
    from model.calibration.systems import usable
    from model.validation import validate as validate_left_out

    return validate_left_out(measured_points(home), load_descriptions(), usable(histories.recent(home)[0]))


def validate_studies(home: Home) -> Any:
    """Errors on left-out levels of the studies: every level of every condition of the published figures.

    Raises EtalonError where no reference system was measured at several levels of a condition.
    """
    require_snapshot(home)
    from model.published.reading import read_catalogue
    from model.published.validation import validate as levels_left_out

    validation = levels_left_out(read_catalogue(marts=measured_figures(home)))
    if validation.cases.empty:
        remedy = "load such a system, for example with `etalon lab all`"
        raise EtalonError(f"no loaded system was measured at several levels of a condition; {remedy}", Exit.NOT_READY)
    return validation


@dataclass(frozen=True)
class Fitted:
    """The result of a fit: the version, whether it became champion, its validation and the bundle in force.

    `left_out` gives the reason for every system with data that cannot be calibrated, `kept` for every one whose entry
    stays that of the champion; `drifted` says where the champion was wrong on the days since it was fitted. `faults`
    has the error by system for which a stage failed: it is left out, or kept from the champion.
    """

    model_version: str
    promoted: bool
    validation: Any
    bundle: Path
    systems: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    drifted: tuple[str, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The outcome in one line."""
        failed = self.validation.failed
        doubt = f"; {', '.join(failed)} did not pass" if failed else ""
        if self.promoted:
            return f"{self.model_version} is champion ({text.counted(len(self.systems), 'system')}{doubt})"
        return f"{self.model_version} did not pass: no system passed its gate; the champion stays"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model_version": self.model_version,
            "champion": self.promoted,
            "bundle": str(self.bundle),
            "systems": list(self.systems),
            "left_out": dict(self.left_out),
            "kept": dict(self.kept),
            "drifted": list(self.drifted),
            "faults": dict(self.faults),
            "validation": self.validation.to_dict(),
        }


def fit(home: Home, progress: Progress | None = None) -> Fitted:
    """Calibrate every system of the snapshot, validate, register, and export the champion if it may be one.

    A system for which a stage fails is reported in `faults`; the champion's entry of it stays in service.
    Raises EtalonError when there is nothing to calibrate on, or calibration fails for all systems.
    """
    require_snapshot(home)
    home.require_writable()
    from ingest import warehouse

    with warehouse.kept_open(home.snapshot):
        return _fit(home, progress or (lambda _: None))


def _fit(home: Home, say: Progress) -> Fitted:
    from model import registry
    from model.calibration.related_systems import load_descriptions
    from model.calibration.systems import NothingCalibratedError, calibrate, usable
    from model.isolation import each
    from model.validation import validate as validate_left_out
    from model.validation.drift import challenge, drifted, keep, keep_laws
    from pipelines import provenance, settings, transactions

    points, descriptions, before = measured_points(home), load_descriptions(), standing(home)
    say("calibrating")
    intervals, unread = histories.recent(home)
    try:
        fitted = calibrate(points, intervals, descriptions, measured_figures(home), measured_ratings(home))
    except NothingCalibratedError as error:
        why = "; ".join([str(error), *unread.values()])
        raise EtalonError(why, Exit.FAILED if error.faults or unread else Exit.NOT_READY) from error
    except ValueError as error:
        raise EtalonError(str(error), Exit.NOT_READY) from error
    say("validating")
    long = {name: history for name, history in usable(intervals).items() if name not in fitted.faults}
    validation = validate_left_out(fitted.points, descriptions, long)
    fitted = fitted.without({**unread, **validation.faults})
    replayed, faults = each(
        "replay of recorded transactions",
        sorted(fitted.systems),
        lambda name: transactions.agreements(home, {name: fitted.systems[name]}),
    )
    fitted = fitted.without(faults)
    fitted = replace(fitted, systems=provenance.marked(home, fitted.systems))
    contest = challenge(fitted.systems, before, long, fitted.refused)
    laws = keep_laws(fitted.conditions, before, fitted.faults)
    fitted = replace(fitted, systems=contest.systems, conditions=laws)
    if not (fitted.systems or fitted.conditions):
        reasons = "; ".join(f"{name}: {why}" for name, why in fitted.faults.items())
        raise EtalonError(f"no system can be registered: {reasons}", Exit.FAILED)
    validation = replace(
        validation.without(fitted.faults),
        replayed={name: judged for one in replayed.values() for name, judged in one.items()},
        drift=drift.recorded(home.drift, contest.scores),
    )
    say("registering")
    server = settings.read(home).registry_server
    version = registry.register(fitted, validation, data_identity(home), home.mlflow, server, before)
    if version.champion:
        registry.export_champion(home.mlflow, home.champion, server)
    registry.export_versions(home.mlflow, home.versions, server)
    systems = keep(fitted.systems, before, version.faults)
    faults = {**version.faults, **fitted.faults}
    return Fitted(
        version.model_version,
        version.champion,
        validation.without(version.faults),
        home.champion,
        tuple(sorted(systems)),
        {**fitted.refused, **version.faults},
        {name: one.kept for name, one in systems.items() if one.kept is not None},
        (*drifted(contest.scores, validation.drift), *(f"{name}: {why}" for name, why in contest.faults.items())),
        faults,
    )


def calendar(home: Home) -> "Calendar":
    """The shifts and holidays of the settings. Raises EtalonError for settings that cannot be used."""
    from model.calendar import Calendar
    from state.settings import FILE, read_toml

    try:
        # Without pydantic, which would take half of the time of an answer to import.
        return Calendar.of(read_toml(home.root / FILE).get("calendar"))
    except (OSError, ValueError):
        from pipelines import settings

        return settings.read(home).calendar


def prices(home: Home) -> "Prices":
    """The installation's prices of an MSU and of an hour of CPU; none without a table. Raises PriceError."""
    from model.prices import PriceError, Prices, read_prices

    try:
        table = home.prices.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Prices()
    except UnicodeDecodeError as error:
        raise PriceError(f"{home.prices.name}: is not UTF-8 text; save it as UTF-8") from error
    return read_prices(table, home.prices.name)


def standing(home: Home) -> Mapping[str, Any] | None:
    """The bundle in force, None where there is none that can be read."""
    try:
        return read_bundle(home)
    except (StateDamaged, OSError):
        return None


def read_bundle(home: Home) -> Mapping[str, Any] | None:
    """The bundle in force, None where there is none. Raises OSError, and StateDamaged, also for another schema."""

    def parse(content: dict[str, Any]) -> dict[str, Any]:
        # Parameters need NumPy, which commands without a model do without.
        from model.capacity.bundle import SCHEMA, typed

        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
        return typed(content)

    return CHAMPION.read(home.champion, parse)


def versions(home: Home) -> list[Mapping[str, Any]]:
    """The latest versions of the model; from the registry where their file is missing or damaged.

    Raises EtalonError where no model was ever fitted.
    """
    listed = VERSIONS.read_or(home.versions, None)
    if listed is None:
        require(home.mlflow, "there is no version", "run `etalon fit`, or `etalon demo`")
        from model import registry
        from pipelines import settings

        registry.export_versions(home.mlflow, home.versions, settings.read(home).registry_server)
        listed = VERSIONS.read(home.versions)
    return list(listed["versions"])


def require(path: Path, problem: str, remedy: str) -> None:
    """Raise a NOT_READY error naming the path and the remedy unless it exists."""
    if not path.exists():
        raise EtalonError(f"{problem} at {path}: {remedy}", Exit.NOT_READY)


def require_snapshot(home: Home) -> None:
    """Raise unless something was published."""
    require(home.snapshot, "there is no published snapshot", "run `etalon build` on loaded data, or `etalon demo`")


def make_champion(home: Home, version: str) -> None:
    """Put a registered version in service; it stays until a calibration takes its place.

    Raises NoVersionError where there is no such version, or this Etalon cannot read it.
    """
    home.require_writable()
    from model import registry
    from pipelines import settings

    server = settings.read(home).registry_server
    registry.make_champion(home.mlflow, version, server)
    registry.export_champion(home.mlflow, home.champion, server)


def champion(home: Home) -> Mapping[str, Any]:
    """The exported bundle of the champion, with the definitions of published marts, the ratings of machines and the
    calendar."""
    require(home.champion, "there is no champion", "run `etalon fit`, or `etalon demo`")
    from pipelines import provenance

    context = {
        "published_definitions": provenance.published(home),
        "machine_ratings": imported_ratings(home),
        "calendar": calendar(home).to_dict(),
    }
    return {**(read_bundle(home) or {}), **context}
