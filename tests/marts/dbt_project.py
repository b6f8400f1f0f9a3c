"""Runs the project's dbt in a process of its own, as production does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ingest import registry, warehouse
from pipelines import record_marts

PROJECT = Path(__file__).parents[2] / "dbt"


def build(
    database: Path, state: Path, *arguments: str, unit_tests: bool = True, own_metrics: Mapping[str, str] | None = None
) -> str:
    """Output of `dbt build` on a warehouse; fails the test with dbt's own words where dbt fails."""
    kinds = [] if unit_tests else ["--exclude-resource-type", "unit_test"]
    warehouse.make_views(database, registry.load(), frozenset().union(*record_marts.sources().values()))
    return _run("build", database, state, *arguments, *kinds, own_metrics=own_metrics)


def compiled(database: Path, state: Path, *models: str) -> list[str]:
    """The SQL of models as dbt runs it on a warehouse."""
    _run("compile", database, state, "--select", *models)
    found = {path.stem: path for path in (state / "target" / "compiled").rglob("*.sql")}
    return [found[model].read_text(encoding="utf-8") for model in models]


def _run(task: str, database: Path, state: Path, *arguments: str, own_metrics: Mapping[str, str] | None = None) -> str:
    command = [Path(sys.executable).with_name("dbt"), "--no-use-colors", "--log-level-file", "none", task]
    command += ["--project-dir", PROJECT, "--profiles-dir", PROJECT, *arguments]
    parsed = PROJECT / "target" / "partial_parse.msgpack"
    command += ["--partial-parse-file-path", parsed] if parsed.exists() else []
    places = {"ETALON_WAREHOUSE": database.name, "DBT_TARGET_PATH": state / "target", "DBT_LOG_PATH": state / "logs"}
    environment = os.environ | {name: str(place) for name, place in places.items()} | dict(own_metrics or {})
    done = subprocess.run(command, cwd=database.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout
