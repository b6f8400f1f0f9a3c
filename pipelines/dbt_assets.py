"""The dbt project as assets: staging, intermediate, marts and their tests."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliInvocation, DbtProject, dbt_assets
from packaging.version import Version

from pipelines import steps
from pipelines.assets import POOL, step
from pipelines.home import DBT_PROJECT, Home
from pipelines.nights import night
from state.files import write_text

if TYPE_CHECKING:
    from pipelines.building.marts import Work


def dbt_project(home: Home) -> DbtProject:
    """The dbt project with its target under `home`, its manifest made anew when it or a file of the project is another.

    A new state folder begins with the project as `make setup` has parsed it. Times of files do not tell what a manifest
    was made of: those of an image, or of a copied checkout, are older than the state that an earlier version left.
    """
    project = DbtProject(project_dir=DBT_PROJECT, profiles_dir=DBT_PROJECT, target_path=home.dbt / "target")
    mark, manifest = home.dbt / "manifest-of", project.manifest_path
    if not (manifest.exists() and mark.exists() and mark.read_bytes() == _digest(manifest).encode()):
        manifest.unlink(missing_ok=True)
        if not _take_over(DBT_PROJECT / "target", home.dbt / "target"):
            project.preparer.prepare(project)
        write_text(mark, _digest(manifest))
    return project


def _take_over(parsed: Path, target: Path) -> bool:
    """Copy what dbt parsed, the manifest last, each file at once: another process may look for it. False where it has
    not parsed the project as it is.
    """
    manifest = parsed / "manifest.json"
    if not manifest.exists() or max(path.stat().st_mtime for path in _files()) > manifest.stat().st_mtime:
        return False
    target.mkdir(parents=True, exist_ok=True)
    for name in ("partial_parse.msgpack", "manifest.json"):
        if (parsed / name).exists():
            copy = target / f".{name}.{os.getpid()}"
            shutil.copy2(parsed / name, copy)
            copy.replace(target / name)
    return True


def _files() -> list[Path]:
    """The files that a manifest is made of."""
    found = (path for path in sorted(DBT_PROJECT.rglob("*")) if path.suffix in (".sql", ".yml", ".csv"))
    return [path for path in found if not path.is_relative_to(DBT_PROJECT / "target")]


def _digest(manifest: Path) -> str:
    """Changes with a manifest, the files of the project, their names, and the version of dbt."""
    running = hashlib.sha256(version("dbt-core").encode() + manifest.read_bytes())
    for path in _files():
        running.update(path.relative_to(DBT_PROJECT).as_posix().encode() + path.read_bytes())
    return running.hexdigest()


class Translator(DagsterDbtTranslator):
    """Names dbt's nodes as they are named in the warehouse, and hangs every source on the raw load."""

    def get_asset_key(self, dbt_resource_props: Any) -> dg.AssetKey:
        """Sources are one asset, the raw records; models keep schema and name."""
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey("raw_records")
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_asset_check_spec(self, *arguments: Any, **named: Any) -> dg.AssetCheckSpec | None:
        """A test that fails ends the build, and the run with it: nothing after it has to be held up."""
        found = super().get_asset_check_spec(*arguments, **named)
        return None if found is None else found._replace(blocking=False)

    def get_group_name(self, dbt_resource_props: Any) -> str:
        """All models are one group, so that the first screen shows the steps of a night."""
        del dbt_resource_props
        return "build"


TRANSLATOR = Translator(DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True))


def marts(home: Home, project: DbtProject) -> dg.AssetsDefinition:
    """The dbt project as assets: staging, intermediate, marts and their tests."""

    @dbt_assets(
        manifest=project.manifest_path, project=project, dagster_dbt_translator=TRANSLATOR, name="dbt_build", pool=POOL
    )
    def dbt_build(context: dg.AssetExecutionContext) -> Iterator[Any]:
        from pipelines import record_marts
        from pipelines.building.marts import building, unpublished

        if set(context.selected_asset_keys) != set(context.assets_def.keys):
            remedy = "the marts are built together; of single models `etalon build --select MODEL` makes tables anew"
            raise dg.Failure(description=remedy, allow_retries=False)
        made = set[dg.AssetKey]()
        deps = context.assets_def.asset_deps
        with step(home, context, "building the marts") as this:
            this.night.due = night.patiently(lambda: unpublished(home))
            if this.night.due:
                with night.patiently_entered(lambda: building(home)) as planned:
                    if planned is not None:
                        this.night.built, this.night.late = planned.plan.line, list(planned.plan.late)
                        idle = record_marts.prepare(home, planned.database)
                        record_marts.make_empty(planned.database, idle)
                        empty = {dg.AssetKey(["marts", name]) for name in idle}
                        for event in _running(context, project, home, planned, idle):
                            if isinstance(event, dg.Output):
                                key = context.asset_key_for_output(event.output_name)
                                yield from _as_it_is(deps[key] & empty, deps, empty, made)
                                made.add(key)
                            yield event
        # What nothing touched is as it should be, too: what comes after goes on.
        yield from _as_it_is(sorted(context.assets_def.keys), deps, context.assets_def.keys, made)

    return dbt_build


def _as_it_is(
    keys: Iterable[dg.AssetKey],
    deps: Mapping[dg.AssetKey, Set[dg.AssetKey]],
    among: Set[dg.AssetKey],
    made: set[dg.AssetKey],
) -> Iterator[dg.MaterializeResult]:
    """Assets that nothing had to be done for, each after those among them that it is made of, as Dagster wants them."""
    for key in keys:
        if key not in made:
            made.add(key)
            yield from _as_it_is(sorted(deps[key] & among), deps, among, made)
            yield dg.MaterializeResult(asset_key=key)


def _running(
    context: dg.AssetExecutionContext, project: DbtProject, home: Home, planned: "Work", idle: list[str]
) -> Iterator[Any]:
    """What dbt says of a build while it runs. Dagster's resource would start dbt twice, and parse the project anew."""
    more = ("--exclude", *idle) if idle else ()
    call = steps.dbt_call(home, planned.database, planned.target, *more)
    call["env"] |= {"DBT_LOG_FORMAT": "json", "PYTHONUNBUFFERED": "1"}
    invocation = DbtCliInvocation(
        process=subprocess.Popen(**call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT),
        manifest=json.loads(project.manifest_path.read_text(encoding="utf-8")),
        dagster_dbt_translator=TRANSLATOR,
        project_dir=DBT_PROJECT,
        target_path=planned.target,
        raise_on_error=False,
        cli_version=Version(version("dbt-core")),
        project=project,
        context=context,
    )
    yield from invocation.stream()
    if (error := invocation.get_error()) is not None:
        raise steps.dbt_failure(home, str(error).partition("Errors parsed from dbt logs:")[2].strip() or str(error))
