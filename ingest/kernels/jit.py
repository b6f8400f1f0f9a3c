"""How kernels are compiled: without the interpreter lock, and cached so that a machine compiles each one once."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop with numba. With ETALON_HOME set, compiled code is kept in its `cache` folder.

    What is kept is compiled anew when any file of this room changes: a loop also holds what it calls.
    """
    _keep_in_home()
    return _fresh(numba.njit(function, nogil=True, cache=True))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that loops call for every value, into the loop itself."""
    _keep_in_home()
    return _fresh(numba.njit(function, nogil=True, cache=True, forceinline=True))


def _fresh(dispatcher: Any) -> Any:
    """Add the state of the room to what Numba compares kept code by, which is the function's own file alone."""
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = (index._source_stamp, room_stamp())
    return dispatcher


@cache
def room_stamp() -> str:
    """A hash of the files of this folder, whose functions kernels everywhere call."""
    total = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _keep_in_home() -> None:
    home = os.environ.get("ETALON_HOME")
    if home and "NUMBA_CACHE_DIR" not in os.environ:
        setattr(config, "CACHE_DIR", str(Path(home).expanduser().absolute() / "cache"))  # noqa: B010
