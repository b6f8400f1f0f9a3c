"""Inputs of a changed structure: a round of each target in which every place that is read or written is tested."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import structure
from tests.fuzz.targets import TARGETS
from tests.shared import ROOT


def test_every_target_has_changes_of_its_structure() -> None:
    assert list(structure.CHANGES) == list(TARGETS)


@pytest.mark.slow
def test_changed_structure_breaks_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "structure", "--inputs", "40", "--findings", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": 40 inputs, 0 faults") == len(TARGETS)
