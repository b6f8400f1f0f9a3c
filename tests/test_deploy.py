"""The units of deploy/ run what there is, in an environment like systemd's."""

import configparser
import shlex
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
