"""The demo, run once for all tests that look at what it leaves."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ETALON = "import sys; from pipelines.cli import main; main(sys.argv[1:])"

Etalon = Callable[..., subprocess.CompletedProcess[str]]


def run_etalon(home: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, over a state folder."""
    environment = {**os.environ, "ETALON_HOME": str(home)}
    command = [sys.executable, "-c", ETALON, *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture
def etalon(tmp_path: Path) -> Etalon:
    """The command line over an empty state folder."""
    return lambda *arguments, **more: run_etalon(tmp_path / "state", *arguments, **more)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The state folder after `etalon demo`, and what the command said."""
    home = tmp_path_factory.mktemp("demo")
    return home, run_etalon(home, "demo")
