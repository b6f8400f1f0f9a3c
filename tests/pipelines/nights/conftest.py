"""A night of made-up files, and a warehouse of made-up rows."""

import datetime as dt
import importlib
import os
import shutil
import time

import dagster as dg
import pytest

from ingest import registry
from ingest import warehouse as opened
from pipelines import assets, steps
from pipelines.building.marts import unpublished
from pipelines.home import Home
from pipelines.nights import coverage
from pipelines.nights.night import patiently

DAY = dt.date(2026, 11, 20)


def landed(folder, name, age_s=3600.0):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    when = time.time() - age_s
    os.utime(path, (when, when))
    return path


@pytest.fixture(autouse=True)
def only_few_layouts(few_layouts, monkeypatch):
    """Nights know the layouts that the empty warehouse has the tables of."""
    monkeypatch.setattr(registry, "LAYOUT_DIR", few_layouts.folder)


@pytest.fixture
def warehouse(tmp_path, new_warehouse):
    """A state folder with a warehouse of made-up rows: a raw table and a mart of sixty days."""
    home = Home(tmp_path / "state")
    new_warehouse(home.warehouse)
    with opened.open_writer(home.warehouse) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.fct_msu AS SELECT NULL::TIMESTAMP AS interval_start_local, repeat('x', 100) AS name, "
            "TIMESTAMP '2026-09-21' + INTERVAL 1 DAY * range AS interval_start_utc FROM range(60)"
        )
    return home


@pytest.fixture(scope="session")
def instance(tmp_path_factory):
    """The storage of Dagster without runs: making it takes longer than a night."""
    home = Home(tmp_path_factory.mktemp("dagster"))
    with pytest.MonkeyPatch.context() as patched:
        for name, value in home.environment().items():
            patched.setenv(name, value)
        with dg.DagsterInstance.get() as made:
            assert made.get_runs_count() == 0
    return home.dagster


@pytest.fixture
def made_up(tmp_path, monkeypatch, new_warehouse, instance):
    """A state folder with a landed runs file, dbt and expectations replaced by what they leave behind."""
    from pipelines import dbt_assets
    from pipelines.building import touched

    home = Home(tmp_path / "state")
    for name, value in home.environment().items():
        monkeypatch.setenv(name, value)
    shutil.copytree(instance, home.dagster)
    new_warehouse(home.warehouse)
    landed(home.landing, "a.runs.csv").write_text(
        "system_id,smf_sid,point,condition,start_utc,end_utc\n"
        "cics,SYSA,p,rate=1,2020-01-01T00:00:00Z,2020-01-01T00:05:00Z\n"
    )
    (home.root / "etalon.toml").write_text("fit = false\n[landing]\nsettle_s = 0\n")
    made: list[str] = []

    def build(home, progress):
        with opened.open_writer(home.warehouse) as con:
            touched.record(con, "made up", touched.everything(con))
        made.append("build")
        return "all of it"

    def marts(home, project):
        @dg.asset(key=["marts", "dim_metric"], deps=["raw_records"])
        def dim_metric(context) -> None:
            with assets.step(home, context, "building the marts") as step:
                step.night.due = patiently(lambda: unpublished(home))
                if step.night.due:
                    step.night.built = patiently(lambda: steps.build(home, progress=step.night.late.append))

        return dim_metric

    class Passed:
        verdict, counts, problems = "pass", {"pass": 1, "warn": 0, "fail": 0}, ()
        extent = "the whole warehouse"

    def check(home):
        made.append("check")
        return Passed

    monkeypatch.setattr(dbt_assets, "dbt_project", lambda home: None)
    monkeypatch.setattr(dbt_assets, "marts", marts)
    monkeypatch.setattr(steps, "build", build)
    monkeypatch.setattr(steps, "check", check)
    monkeypatch.setattr(coverage, "lacks", lambda *_: [])
    # A night asks for none of the views, and they take longer than all else of it.
    monkeypatch.setattr(importlib.import_module("ingest.warehouse.publish"), "staging_statements", lambda *_, **__: [])
    return home, made
