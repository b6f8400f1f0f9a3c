"""Compiled kernels are kept, and thrown away when a file they call into has changed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ingest.kernels.jit import kernel
from tests.shared import ROOT

SCRIPT = """
import sys
import kernel
print(kernel.doubled(21), kernel.doubled.compiled, "numba" in sys.modules)
"""


def run(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "NUMBA_CACHE_DIR": str(folder / "cache")}
    return subprocess.check_output([sys.executable, "-c", SCRIPT], text=True, env=environment, cwd=folder).strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A loop that calls a function of the file beside it."""
    (tmp_path / "kernel.py").write_text(
        "from ingest.kernels.jit import kernel\nfrom neighbour import FACTOR\n\n\n"
        "@kernel\ndef doubled(value):\n    return FACTOR * value\n"
    )
    (tmp_path / "neighbour.py").write_text("FACTOR = 2\n")
    return tmp_path


def test_kept_code_runs_without_the_compiler(folder: Path) -> None:
    assert run(folder) == "42 1 True"
    assert run(folder) == "42 0 False"


def test_a_kernel_is_compiled_anew_when_a_neighbour_changes(folder: Path) -> None:
    run(folder)
    (folder / "neighbour.py").write_text("FACTOR = 10\n")
    assert run(folder) == "210 1 True"


def test_damaged_code_is_compiled_anew(folder: Path) -> None:
    run(folder)
    (kept,) = (folder / "cache").glob("doubled-*.o")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert run(folder) == "42 1 True"


@kernel
def returned(integer, unsigned, real, flag, places):
    return integer + 1, unsigned, real * 2, not flag, places[1, 1]


def test_numbers_pass_both_ways() -> None:
    places = np.arange(12).reshape(3, 4)
    assert returned(-5, np.uint64(2**64 - 1), 0.25, True, places) == (-4, 2**64 - 1, 0.5, False, 5)
    assert returned(2**40, np.uint64(0), -1.5, False, places[:, ::2]) == (2**40 + 1, 0, -3.0, True, 6)
