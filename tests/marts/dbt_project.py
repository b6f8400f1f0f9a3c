"""Runs the project's dbt in a process of its own, with the unit tests of the models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pipelines import metrics, record_marts
from pipelines.building import project
from pipelines.home import DBT_PROJECT, Home


def build_with_unit_tests(home: Home) -> None:
    """Build every mart of the warehouse and run dbt's unit tests; fails with dbt's own words where dbt fails."""
    record_marts.staging(home).prepare(home.warehouse)
    target = home.dbt / "target"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(project.manifest(home).parent / "partial_parse.msgpack", target)
    command = [sys.executable, "-c", project.DBT, "build", "--log-level-file", "none", "--no-write-json"]
    command += ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT), "--target-path", str(target)]
    environment = {**os.environ, **home.environment(), **metrics.environment(home)}
    environment["ETALON_WAREHOUSE"] = home.warehouse.name
    folder = home.warehouse.parent
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def compiled(warehouse: Path, *models: str) -> list[str]:
    """The SQL of models as dbt compiled it for the state folder of a warehouse."""
    found = project.read(Home(warehouse.parents[1]))
    return [found.model(model).sql for model in models]
