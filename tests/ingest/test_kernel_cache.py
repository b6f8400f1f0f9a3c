"""Compiled kernels are kept, and thrown away when a file they call into has changed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ingest.kernels import native
from ingest.kernels.jit import kernel
from model.network import kernel_cache
from state import kernels
from tests.shared import ROOT

SCRIPT = """
import sys
sys.prefix = {prefix!r}
import kernel
print(kernel.doubled(21), kernel.doubled.compiled, "numba" in sys.modules)
"""


def run(folder: Path, prefix: str = "installed", home: str = "home") -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "ETALON_HOME": str(folder / home)}
    environment.pop("NUMBA_CACHE_DIR", None)
    script = SCRIPT.format(prefix=str(folder / prefix))
    return subprocess.check_output([sys.executable, "-c", script], text=True, env=environment, cwd=folder).strip()


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


def test_kept_code_serves_every_state_folder(folder: Path) -> None:
    run(folder)
    assert run(folder, home="another") == "42 0 False"
    assert not (folder / "another").exists()


def test_code_is_kept_in_the_state_folder_where_the_installation_cannot_be_written(folder: Path) -> None:
    (folder / "sealed").write_text("no folder can be made in a file")
    assert run(folder, "sealed") == "42 1 True"
    assert run(folder, "sealed") == "42 0 False"
    assert run(folder, "sealed", "another") == "42 1 True"


def test_a_kernel_is_compiled_anew_when_a_neighbour_changes(folder: Path) -> None:
    run(folder)
    (folder / "neighbour.py").write_text("FACTOR = 10\n")
    assert run(folder) == "210 1 True"


def test_damaged_code_is_compiled_anew(folder: Path) -> None:
    run(folder)
    (kept,) = (folder / "installed").rglob("doubled-*.o")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert run(folder) == "42 1 True"


def test_of_code_from_earlier_sources_the_newest_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (folder,) = kernels.folders()
    for sources in range(9):
        native.keep(f"doubled-one-{sources}.o", native.Kept("doubled", "q", True, bytes([sources])))
        os.utime(folder / f"doubled-one-{sources}.o", ns=(sources, sources))
    native.keep("doubled-two-0.o", native.Kept("doubled", "q", True, b"2"))
    assert sorted(path.name for path in folder.iterdir()) == [
        *(f"doubled-one-{sources}.o" for sources in (5, 6, 7, 8)),
        "doubled-two-0.o",
    ]


def test_code_of_loops_that_is_written_at_once_is_never_mixed_up(tmp_path: Path) -> None:
    def file(sources: str) -> kernel_cache._File:
        return kernel_cache._File(str(tmp_path), "loop", sources)

    reader = file("new")
    file("old").save("key", "old code")
    found = []
    # As another process finds the folder while code from newer sources is being written.
    for step in ("_save_data", "_save_index"):
        writer = file("new")
        write = getattr(writer, step)
        setattr(writer, step, lambda *what, write=write: (write(*what), found.append(reader.load("key"))))
        writer.save("key", "new code")
    assert set(found) <= {None, "new code"}
    assert (reader.load("key"), file("old").load("key"), len(list(tmp_path.glob("*.nbc")))) == ("new code", None, 1)


@kernel
def returned(integer, unsigned, real, flag, places):
    return integer + 1, unsigned, real * 2, not flag, places[1, 1]


def test_numbers_pass_both_ways() -> None:
    places = np.arange(12).reshape(3, 4)
    assert returned(-5, np.uint64(2**64 - 1), 0.25, True, places) == (-4, 2**64 - 1, 0.5, False, 5)
    assert returned(2**40, np.uint64(0), -1.5, False, places[:, ::2]) == (2**40 + 1, 0, -3.0, True, 6)


def test_each_environment_keeps_code_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("ETALON_HOME", str(tmp_path))
    own, shared = kernels.folders()
    assert own.is_relative_to(sys.prefix) and shared.is_relative_to(tmp_path)
    assert own.name == shared.name and sys.implementation.cache_tag in own.name and "llvmlite" in own.name
