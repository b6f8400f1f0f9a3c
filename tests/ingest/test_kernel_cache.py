"""Compiled kernels are kept, and thrown away when a file they call into has changed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT

SCRIPT = """
from pathlib import Path
from ingest.kernels import jit
jit.room_stamp = lambda: Path({folder!r}, "neighbour.py").read_text()
import kernel
print(kernel.doubled(21), sum(kernel.doubled.stats.cache_hits.values()))
"""


def run(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "NUMBA_CACHE_DIR": str(folder / "cache")}
    program = SCRIPT.format(folder=str(folder))
    return subprocess.check_output([sys.executable, "-c", program], text=True, env=environment, cwd=folder).strip()


def test_a_kernel_is_compiled_anew_when_a_neighbour_changes(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "from ingest.kernels.jit import kernel\nfrom neighbour import FACTOR\n\n\n"
        "@kernel\ndef doubled(value):\n    return FACTOR * value\n"
    )
    (tmp_path / "neighbour.py").write_text("FACTOR = 2\n")
    assert run(tmp_path) == "42 0"
    assert run(tmp_path) == "42 1"
    (tmp_path / "neighbour.py").write_text("FACTOR = 10\n")
    assert run(tmp_path) == "210 0"
