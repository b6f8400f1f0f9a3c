"""The dbt project, compiled: once for each version of its files, of the installation's metrics and of dbt.

dbt's manifest has the compiled SQL. `make setup` compiles the project for all state folders without metrics of their
own (`python -m pipelines.building.project`); others keep a manifest of their own.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import yaml

from pipelines import metrics
from pipelines.building.models import Column, DataTest, Model, Project
from pipelines.exits import EtalonError
from pipelines.home import DBT_PROJECT, Home
from state.files import write_text

DBT = "import gc, sys; gc.set_threshold(100_000, 20, 20); from dbt.cli.main import cli; sys.exit(cli())"
"""Program that is dbt. Of what it reads, next to nothing goes away: looking for it was a twelfth of a small build."""
#: The models' SQL names the database: every warehouse and every window is a file of this name.
_DATABASE = "etalon.duckdb"
_MARK, _PARSED = "manifest-of", "partial_parse.msgpack"


def read(home: Home) -> Project:
    """The project as compiled for a state folder, compiled anew where it is another one. Raises EtalonError."""
    nodes = json.loads(manifest(home).read_text(encoding="utf-8"))["nodes"]
    models = {key: node for key, node in nodes.items() if node["resource_type"] == "model"}
    reads = {key: [name for name in nodes[key]["depends_on"]["nodes"] if name in models] for key in sorted(models)}
    return Project(
        tuple(_model(key, models[key], reads[key]) for key in TopologicalSorter(reads).static_order()),
        tuple(
            DataTest(key, node["name"], node["compiled_code"], tuple(node["depends_on"]["nodes"]))
            for key, node in sorted(nodes.items())
            if node["resource_type"] == "test"
        ),
        _settings(),
    )


def _model(key: str, node: Mapping[str, Any], reads: list[str]) -> Model:
    columns = [
        Column(name, column["data_type"], not any(rule["type"] == "not_null" for rule in column["constraints"]))
        for name, column in node["columns"].items()
        if node["contract"]["enforced"]
    ]
    is_view = node["config"]["materialized"] == "view"
    return Model(key, node["schema"], node["name"], node["compiled_code"], is_view, tuple(reads), tuple(columns))


def _settings() -> dict[str, str]:
    """DuckDB's settings in the project's profile."""
    text = (DBT_PROJECT / "profiles.yml").read_text(encoding="utf-8")
    variables = {"ETALON_WAREHOUSE": _DATABASE, **os.environ}
    rendered = jinja2.Environment(autoescape=False).from_string(text).render(env_var=variables.get)
    target = yaml.safe_load(rendered)["etalon"]["outputs"]["warehouse"]
    return {name: str(value) for name, value in target["settings"].items()}


def manifest(home: Home) -> Path:
    """dbt's manifest of the project as it is, with the compiled SQL: the installation's, or that of a state folder.

    Times of files do not tell what a manifest was made of: those of an image, or of a copied checkout, are older than
    the state that an earlier version left.
    """
    entries = metrics.environment(home)
    folders = (DBT_PROJECT / "target", home.dbt / "target")
    target = next((folder for folder in folders if _is_of(folder, entries)), None)
    if target is None:
        target = home.dbt / "target"
        before = next((folder for folder in reversed(folders) if (folder / _PARSED).exists()), None)
        compile_into(target, entries, before)
    return target / "manifest.json"


def _is_of(target: Path, entries: Mapping[str, str]) -> bool:
    """Whether a folder has the manifest of the project as it is, for these metrics of an installation."""
    path, mark = target / "manifest.json", target / _MARK
    return path.exists() and mark.exists() and mark.read_bytes() == _digest(path, entries).encode()


def compile_into(target: Path, entries: Mapping[str, str], before: Path | None) -> None:
    """Have dbt compile the project into a folder; `before` is one with the project as dbt has parsed it before."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=target) as folder:
        if before:
            shutil.copy(before / _PARSED, folder)
        # No database is opened: no model asks one while it is compiled.
        command = [sys.executable, "-c", DBT, "compile", "--quiet", "--log-level-file", "none", "--no-use-colors"]
        command += ["--no-introspect", "--no-populate-cache", "--target-path", folder]
        command += ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
        environment = {**os.environ, **entries, "ETALON_WAREHOUSE": _DATABASE}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            message = done.stdout.strip() or done.stderr.strip()
            raise EtalonError(f"dbt could not compile the models:\n{message[-4000:]}")
        write_text(Path(folder) / _MARK, _digest(Path(folder) / "manifest.json", entries))
        # The mark last: another process may look for it.
        for name in (_PARSED, "manifest.json", _MARK):
            (Path(folder) / name).replace(target / name)


def files() -> list[Path]:
    """The files that the project is made of."""
    paths = (path for path in sorted(DBT_PROJECT.rglob("*")) if path.suffix in (".sql", ".yml", ".csv"))
    return [path for path in paths if not path.is_relative_to(DBT_PROJECT / "target")]


def _digest(path: Path, entries: Mapping[str, str]) -> str:
    """Changes with a manifest, the files of the project, their names, an installation's metrics, and dbt's version."""
    versions = [version("dbt-core"), version("dbt-duckdb"), json.dumps(dict(entries), sort_keys=True)]
    running = hashlib.sha256("\n".join(versions).encode() + path.read_bytes())
    for file in files():
        running.update(file.relative_to(DBT_PROJECT).as_posix().encode() + file.read_bytes())
    return running.hexdigest()


if __name__ == "__main__":
    compile_into(DBT_PROJECT / "target", {"ETALON_METRICS": "{}"}, None)
