"""Runs the project's dbt in a process of its own, as production does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pipelines import metrics, record_marts, steps
from pipelines.home import Home

PROJECT = Path(__file__).parents[2] / "dbt"


def build(database: Path, *, unit_tests: bool = True) -> None:
    """Build the marts of a warehouse, its folder being the state folder; fails with dbt's own words where dbt fails.

    Without unit tests, marts of record types that the warehouse lacks are made without dbt, as production does.
    """
    state = database.parent
    home = Home(state)
    idle = record_marts.prepare(home, database)
    kinds: list[str] = []
    if not unit_tests:
        record_marts.make_empty(database, idle)
        kinds = ["--exclude-resource-type", "unit_test", "--exclude", *idle]
    command = [sys.executable, "-c", steps.DBT, "--no-use-colors", "--log-level-file", "none"]
    command += ["build", "--no-write-json", "--project-dir", PROJECT, "--profiles-dir", PROJECT, *kinds]
    parsed = PROJECT / "target" / "partial_parse.msgpack"
    command += ["--partial-parse-file-path", parsed] if parsed.exists() else []
    places = {"ETALON_WAREHOUSE": database.name, "DBT_TARGET_PATH": state / "target", "DBT_LOG_PATH": state / "logs"}
    environment = os.environ | {name: str(place) for name, place in places.items()} | metrics.environment(home)
    done = subprocess.run(command, cwd=state, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def compiled(warehouse: Path, *models: str) -> list[str]:
    """The SQL of models as dbt ran it when it built a warehouse: it holds for any database of the same name."""
    written = (warehouse.parent / "target" / "compiled").rglob("*.sql")
    # The rows that unit tests give for models stand in folders of the tests' files.
    found = {path.stem: path for path in written if ".yml" not in {parent.suffix for parent in path.parents}}
    return [found[model].read_text(encoding="utf-8") for model in models]
