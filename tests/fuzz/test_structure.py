"""Inputs of a changed structure: a round of each target in which every place that is read or written is tested."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import structure
from tests.fuzz.checks import bounded
from tests.fuzz.targets import TARGETS, TOML, toml
from tests.shared import ROOT


def test_every_target_has_changes_of_its_structure() -> None:
    assert list(structure.CHANGES) == list(TARGETS)


@pytest.mark.parametrize("name", [name for name, _, _ in TOML])
@pytest.mark.parametrize(
    "text",
    [
        "a = " + 100_000 * "[",
        "a = " + 100_000 * "{ a = ",
        100_000 * "a." + "a = 1",
        "[" + 100_000 * "a." + "a]",
        "a = " + 10_000 * "9",
        "a = 0x" + 100_000 * "F",
        "a = 1e999",
        "a = 99999-99-99",
        "a = '" + 1_000_000 * "x" + "'",
        "a = [" + 200_000 * "1, " + "]",
        "\0",
    ],
    ids=["arrays", "tables", "key", "heading", "digits", "hexadecimal", "infinite", "date", "text", "list", "zero"],
)
def test_hostile_toml_is_refused_by_everything_that_reads_it(name: str, text: str) -> None:
    place = [each for each, _, _ in TOML].index(name)
    with bounded():
        toml(bytes([place]) + text.encode())


@pytest.mark.slow
def test_changed_structure_breaks_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "structure", "--inputs", "40", "--findings", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": 40 inputs, 0 faults") == len(TARGETS)
