"""Runs the project's dbt in a process of its own, with the unit tests of the models."""

from __future__ import annotations

from pathlib import Path

from pipelines import unit_tests
from pipelines.building import project
from pipelines.home import Home


def build_with_unit_tests(home: Home) -> None:
    """Build every mart of the warehouse and run dbt's unit tests; fails with dbt's own words where dbt fails."""
    done = unit_tests.build(home, capture=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def compiled(warehouse: Path, *models: str) -> list[str]:
    """The SQL of models as dbt compiled it for the state folder of a warehouse."""
    found = project.read(Home(warehouse.parents[1]))
    return [found.model(model).sql for model in models]
