"""Follows a page of the documentation: writes its files, runs its commands and code, and looks for what it shows."""

import math
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from tests.pipelines.conftest import run_etalon

FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"-?\d[\d,]*(?:\.\d+)?|[^\d\s]+?(?=-?\d|\s|$)")
#: Digits of a figure may differ from machine to machine, in their last places.
_TOLERANCE = 0.01


def follow(page: Path, home: Path) -> int:
    """Do what a page says in the current folder, over a state folder; how many of its commands and programs were run.

    A block with a title is a file. A block that begins with `$ ` is commands with lines that they print, each of them
    somewhere in the output. A block of Python is run. All others are only for readers.
    """
    names: dict[str, object] = {}
    count = 0
    for kind, title, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if title:
            Path(title).parent.mkdir(parents=True, exist_ok=True)
            Path(title).write_text(body, encoding="utf-8")
        elif body.startswith("$ "):
            for example in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, *shown = example.splitlines()
                printed = _run(command, home)
                for line in filter(str.strip, shown):
                    assert any(alike(line, other) for other in printed), f"{command}: {line!r} is not in {printed}"
                count += 1
        elif kind == "python":
            with patch.dict(os.environ, ETALON_HOME=str(home)):
                exec(compile(body, str(page), "exec"), names)
            count += 1
    return count


def _run(command: str, home: Path) -> list[str]:
    """The lines that a command prints."""
    program, *words = shlex.split(command)
    if program != "etalon":
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.splitlines()
    done = run_etalon(home, *words)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout.splitlines()


def alike(shown: str, printed: str) -> bool:
    """Whether two lines have the same words, and numbers that differ by a per cent at most; blanks do not count."""
    first, second = _tokens(shown), _tokens(printed)
    return len(first) == len(second) and all(map(_equal, first, second))


def _tokens(line: str) -> Sequence[str]:
    return _TOKEN.findall(line)


def _equal(first: str, second: str) -> bool:
    try:
        numbers = [float(token.replace(",", "")) for token in (first, second)]
    except ValueError:
        return first == second or set(first) == set(second) == {"─"}
    return math.isclose(*numbers, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
