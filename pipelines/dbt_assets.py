"""The dbt project as assets: staging, intermediate, marts and their tests."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtProject, dbt_assets
from dagster_dbt.asset_utils import get_asset_check_key_for_test

from pipelines import runners
from pipelines.assets import POOL, Engine, step
from pipelines.building import project
from pipelines.building.models import Model, Outcome
from pipelines.home import DBT_PROJECT, Home
from pipelines.nights import night


def dbt_project(home: Home) -> DbtProject:
    """The dbt project with the manifest of a state folder as its target."""
    return DbtProject(project_dir=DBT_PROJECT, profiles_dir=DBT_PROJECT, target_path=project.manifest(home).parent)


class Translator(DagsterDbtTranslator):
    """Names dbt's nodes as they are named in the warehouse, and hangs every source on the raw load."""

    def get_asset_key(self, dbt_resource_props: Any) -> dg.AssetKey:
        """Sources are one asset, the raw records; models keep schema and name."""
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey("raw_records")
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_asset_check_spec(self, *arguments: Any, **named: Any) -> dg.AssetCheckSpec | None:
        """A test that fails ends the build, and the run with it: nothing after it has to be held up."""
        spec = super().get_asset_check_spec(*arguments, **named)
        return None if spec is None else spec._replace(blocking=False)

    def get_group_name(self, dbt_resource_props: Any) -> str:
        """All models are one group, so that the first screen shows the steps of a night."""
        del dbt_resource_props
        return "build"


TRANSLATOR = Translator(DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True))


def marts(home: Home, defined: DbtProject) -> dg.AssetsDefinition:
    """The dbt project as assets: staging, intermediate, marts and their tests."""

    @dbt_assets(
        manifest=defined.manifest_path, project=defined, dagster_dbt_translator=TRANSLATOR, name="dbt_build", pool=POOL
    )
    def dbt_build(context: dg.AssetExecutionContext, engine: Engine) -> Iterator[Any]:
        from pipelines.building import driver
        from pipelines.building.marts import building, unpublished

        if set(context.selected_asset_keys) != set(context.assets_def.keys):
            remedy = "the marts are built in one step; to rebuild single models, use `etalon build --select MODEL`"
            raise dg.Failure(description=remedy, allow_retries=False)
        with step(home, context, "building the marts") as this:
            models, manifest = project.read(home), json.loads(defined.manifest_path.read_text(encoding="utf-8"))
            this.night.due = night.patiently(lambda: unpublished(home))
            planned = None
            if this.night.due:
                window = runners.window_length(this.rules.build.window, engine.name(this))
                tables = driver.tables(home, models, window)
                with night.patiently_entered(lambda: building(home, models, tables=tables)) as planned:
                    if planned is not None:
                        this.night.built, this.night.late = planned.plan.line, list(planned.plan.late)
                        with engine.open(this) as runner:
                            for done in driver.make(home, planned, models, window, runner):
                                yield _event(done, manifest, defined)
        # What nothing touched is as it should be, too: what comes after goes on.
        yield from (_event(model, manifest, defined) for model in models.models if planned is None)

    return dbt_build


def _event(done: Model | Outcome, manifest: Mapping[str, Any], defined: DbtProject) -> Any:
    """The Dagster event for a model that was built or a data test that was run."""
    if isinstance(done, Model):
        return dg.MaterializeResult(asset_key=dg.AssetKey([done.schema, done.name]))
    key = get_asset_check_key_for_test(manifest, TRANSLATOR, done.test.key, defined)
    assert key is not None
    metadata: dict[str, Any] = {"rows": done.rows, "example": done.example}
    return dg.AssetCheckResult(passed=not done.rows, asset_key=key.asset_key, check_name=key.name, metadata=metadata)
