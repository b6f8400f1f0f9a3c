"""The command line in this process, and a state folder under it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from pipelines.cli import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """What a command left behind: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Etalon = Callable[..., Done]


def run_etalon(home: Path, *arguments: object, stdin: str | bytes | None = None) -> Done:
    """Run the command line over a state folder, in this process, whose environment stays as it was."""
    words = [str(argument) for argument in arguments]
    with (
        patch.dict(os.environ, ETALON_HOME=str(home)),
        patch.object(sys, "argv", ["etalon", *words]),
        CliRunner().isolation(stdin) as (out, err, _),
    ):
        with pytest.raises(SystemExit) as left:
            main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(int(left.value.code or 0), out.getvalue().decode(), err.getvalue().decode())


@pytest.fixture
def etalon(tmp_path: Path) -> Etalon:
    """The command line over an empty state folder."""
    return lambda *arguments, **more: run_etalon(tmp_path / "state", *arguments, **more)
