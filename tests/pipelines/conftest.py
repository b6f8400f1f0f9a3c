"""The command line in this process, and a state folder under it."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from pipelines.cli import main
from tests.once import made_once

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


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The state folder after `etalon demo`, and what the command said."""

    def make(folder: Path) -> None:
        done = run_etalon(folder / "state", "demo")
        (folder / "done.json").write_text(json.dumps(asdict(done)))

    folder = made_once(tmp_path_factory, "demo", make)
    return folder / "state", Done(**json.loads((folder / "done.json").read_text()))
