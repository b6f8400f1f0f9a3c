"""The units of deploy/ find their programs in an environment like systemd's, and the image is built and runs."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from serve.recorded_gauges import GAUGES
from serve.snapshot import Snapshot
from serve.telemetry import Telemetry
from tests.pipelines.conftest import ROOT

CONTAINERFILE = ROOT / "deploy" / "Containerfile"
RULES = ROOT / "deploy" / "prometheus" / "etalon.rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "etalon.json"
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
    """ETALON_IMAGE_BASE names another base image, such as a local one where no registry can be reached."""
    builder = shutil.which("buildah") or shutil.which("podman")
    if builder is None:
        pytest.skip("neither podman nor buildah is installed: the container image is not tested")
    named = re.search(r"^ARG BASE=(\S+)", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    base, image = os.environ.get("ETALON_IMAGE_BASE", named[1]), "localhost/etalon-test"

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([builder, *words], cwd=ROOT, capture_output=True, text=True, check=False)

    def run(*words: str) -> str:
        done = call(*words)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    if not call("images", "--quiet", base).stdout.strip() and (pulled := call("pull", base)).returncode:
        pytest.skip(f"the base image {base} cannot be pulled: {pulled.stderr.strip()[-200:]}")
    with_buildah = Path(builder).name == "buildah"
    # Without a runtime and control groups, which a container of its own may lack.
    apart = ["--isolation", "chroot"] if with_buildah else []
    of_image = ["--build-arg", f"BASE={base}", "--file", "deploy/Containerfile", "--tag", image]
    run("build", *apart, "--network", "host", *of_image, ".")
    try:
        if with_buildah:
            container = run("from", image).strip()
            try:
                said = run("run", *apart, container, "--", "etalon", "--version")
                said += run("run", *apart, container, "--", "etalon", "questions")
            finally:
                run("rm", container)
        else:
            said = run("run", "--rm", image, "--version") + run("run", "--rm", image, "questions")
    finally:
        run("rmi", image)
    assert said.startswith("etalon ")
    assert "busy-channels" in said


class NoChampion:
    in_force = None


def exported(home):
    """The names of the metrics that the service exports."""
    telemetry = Telemetry(NoChampion(), Snapshot(home / "none.duckdb"), home)
    own = re.findall(rb"^# TYPE (\w+)", telemetry.exposition(), re.MULTILINE)
    return {*GAUGES, *(name.decode() for name in own)}


def test_rules_and_dashboard_ask_for_metrics_that_the_service_exports(tmp_path):
    rules = [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [rule["expr"] for rule in rules]
    asked += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    named = {name for text in asked for name in re.findall(r"\betalon_\w+", text)}
    assert len(rules) >= 5
    assert named - exported(tmp_path) == set()
    assert {rule["labels"]["severity"] for rule in rules} <= {"warning", "info", "critical"}


def test_promtool_accepts_the_rules():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool found: install prometheus to check the rules with it")
    done = subprocess.run([promtool, "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
