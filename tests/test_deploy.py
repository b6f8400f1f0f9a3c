"""The units of deploy/ find their programs in an environment like systemd's, and the image is built and runs."""

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.conftest import ROOT

UNITS = sorted((ROOT / "deploy").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_finds_its_program_where_the_environment_holds_nothing_else(unit, tmp_path):
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.read_string(unit.read_text(encoding="utf-8"))
    about = read["Service"]
    set_there = dict(pair.split("=", 1) for pair in shlex.split(about["Environment"]))
    program, *words = shlex.split(about["ExecStart"])
    assert set_there.get("PWD", "/opt/etalon") == about.get("WorkingDirectory", "/opt/etalon")
    # The daemon would not end; what wipes its heartbeats looks for the same instance.
    words = ["wipe"] if program.endswith("dagster-daemon") else [*words, "--help"]
    done = subprocess.run(
        [Path(sys.executable).with_name(Path(program).name), *words],
        env={name: value.replace("/opt/etalon", str(ROOT)) for name, value in set_there.items()}
        | {"ETALON_HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_container_image_is_built_and_runs():
    builder = shutil.which("podman") or shutil.which("buildah")
    if builder is None:
        pytest.skip("neither podman nor buildah is installed: the container image is not tested")

    def run(*words: str) -> str:
        done = subprocess.run([builder, *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    image = "localhost/etalon-test"
    run("build", "--file", "deploy/Containerfile", "--tag", image, ".")
    try:
        if Path(builder).name == "podman":
            said = run("run", "--rm", image, "--version") + run("run", "--rm", image, "questions")
        else:
            container = run("from", image).strip()
            try:
                said = run("run", container, "--", "etalon", "--version")
                said += run("run", container, "--", "etalon", "questions")
            finally:
                run("rm", container)
    finally:
        run("rmi", image)
    assert said.startswith("etalon ")
    assert "busy-channels" in said
