"""Runs the project's dbt in a process of its own, as production does, with the unit tests of the models."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pipelines import record_marts, steps
from pipelines.home import Home


def build_with_unit_tests(home: Home) -> None:
    """Build every mart of the warehouse and run dbt's unit tests; fails with dbt's own words where dbt fails."""
    record_marts.prepare(home, home.warehouse)
    call = steps.dbt_call(home, home.warehouse, home.dbt / "target")
    at = call["args"].index("--exclude-resource-type")
    del call["args"][at : at + 2]
    done = subprocess.run(**call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def compiled(warehouse: Path, *models: str) -> list[str]:
    """The SQL of models as dbt ran it when it built a warehouse: it holds for any database of the same name."""
    written = (warehouse.parents[1] / "dbt" / "target" / "compiled").rglob("*.sql")
    found = {path.stem: path for path in written}
    return [found[model].read_text(encoding="utf-8") for model in models]
