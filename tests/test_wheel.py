"""The wheel holds the dbt project and Dagster's instance in a folder where an installation finds them."""

import shutil
import subprocess
import sys
from pathlib import Path

import tomli as tomllib

from tests.shared import ROOT

WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
    "wheel"
]
NOT_IN_IT = {"target", "logs", ".user.yml"}


def test_every_part_of_the_dbt_project_is_in_the_wheel():
    parts = {path.name for path in (ROOT / "dbt").iterdir()} - NOT_IN_IT
    packed = {Path(source).name for source in WHEEL["force-include"] if source.startswith("dbt/")}
    assert packed == parts
    assert not any(target.startswith("dbt/") for target in WHEEL["force-include"].values())


def test_an_installation_finds_the_project_without_a_checkout(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for package in WHEEL["packages"]:
        (site / package).symlink_to(ROOT / package)
    (site / "pipelines").unlink()
    shutil.copytree(ROOT / "pipelines", site / "pipelines", ignore=shutil.ignore_patterns("__pycache__"))
    for source, target in WHEEL["force-include"].items():
        (site / target).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, site / target)
    code = (
        "from pipelines import home, metrics\n"
        "here = home.Home.from_environment().environment()\n"
        "print(home.DBT_PROJECT, here['DAGSTER_HOME'], len(metrics.registry()) > 50, sep='\\n')\n"
        "from pipelines.cli import main; main(['questions'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(site), "ETALON_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    project = site / "pipelines" / "project"
    assert done.stdout.splitlines()[:3] == [str(project / "dbt"), str(project), "True"]
    assert "busy-channels" in done.stdout
    assert (project / "dagster.yaml").is_file()
