"""Unit tests of a dbt model and its ancestors on an empty warehouse: `python -m pipelines.unit_tests MODEL`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory

from pipelines import layouts, metrics, record_marts
from pipelines.building import project
from pipelines.home import DBT_PROJECT, Home


def build(home: Home, options: Sequence[str] = (), *, capture: bool = False) -> "subprocess.CompletedProcess[str]":
    """Have dbt build the marts of a state folder in a separate process, and run the unit tests of the models."""
    record_marts.staging(home).prepare(home.warehouse)
    target = home.dbt / "target"
    target.mkdir(parents=True, exist_ok=True)
    parsed = project.manifest(home).parent
    if parsed.resolve() != target.resolve():
        shutil.copy(parsed / "partial_parse.msgpack", target)
    command = [sys.executable, "-c", project.DBT, "build", *options, "--log-level-file", "none", "--no-write-json"]
    command += ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT), "--target-path", str(target)]
    environment = {**os.environ, **home.environment(), **metrics.environment(home)}
    environment["ETALON_WAREHOUSE"] = home.warehouse.name
    folder = home.warehouse.parent
    return subprocess.run(command, cwd=folder, env=environment, capture_output=capture, text=True, check=False)


def main(arguments: Sequence[str]) -> int:
    """Build a model and its ancestors without records, with their unit tests.

    Returns dbt's exit code: 0 where all tests passed; 2 where no model has that name.
    """
    if len(arguments) != 1:
        sys.stderr.write("make unit: name one model, as in make unit MODEL=fct_service_class\n")
        return 2
    from ingest import warehouse

    (name,) = arguments
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        models = [model.name for model in project.read(home).models]
        if name not in models:
            near = get_close_matches(name, models, n=5, cutoff=0.4) or models[:5]
            sys.stderr.write(f"make unit: unknown model {name!r}; models include {', '.join(near)}\n")
            return 2
        home.warehouse.parent.mkdir(parents=True)
        warehouse.prepare(home.warehouse, layouts.registry(home))
        return build(home, ("--select", f"+{name}")).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
