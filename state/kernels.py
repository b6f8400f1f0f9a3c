"""Where the machine code of compiled loops is kept, and which sources it is of.

Two kinds of code are kept here: object files that run without numba (:mod:`ingest.kernels.native`), and numba's own
cache (:mod:`model.network.kernel_cache`).
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path


def folders() -> Iterator[Path]:
    """Folders to look in, of which the first that can be written keeps new code.

    It is where ``NUMBA_CACHE_DIR`` says; else the environment that compiles, where ``make setup`` puts it, then the
    state folder. Each has a folder for every version of Python and of the compiler, so that environments that share
    a state folder do not replace each other's code.
    """
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / _built_by()
        return
    yield Path(sys.prefix, "lib", "etalon") / _built_by()
    if home := os.environ.get("ETALON_HOME"):
        yield Path(home).expanduser().absolute() / "cache" / "kernels" / _built_by()


@cache
def room_stamp(folder: Path) -> str:
    """A hash of the Python files of a folder, whose functions its loops call."""
    total = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


@cache
def _built_by() -> str:
    """Versions that code depends on; that of llvmlite decides numba's."""
    return f"{sys.implementation.cache_tag}-llvmlite-{version('llvmlite')}"
