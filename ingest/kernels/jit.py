"""How kernels are compiled: without the interpreter lock, and cached so that a machine compiles each one once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop with numba. With ETALON_HOME set, compiled code is kept in its `cache` folder.

    What is kept is compiled anew when the function's own file changes, not when a file it calls into does.
    """
    _keep_in_home()
    return numba.njit(function, nogil=True, cache=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that loops call for every value, into the loop itself."""
    _keep_in_home()
    return numba.njit(function, nogil=True, cache=True, forceinline=True)


def _keep_in_home() -> None:
    home = os.environ.get("ETALON_HOME")
    if home and "NUMBA_CACHE_DIR" not in os.environ:
        setattr(config, "CACHE_DIR", str(Path(home).expanduser().absolute() / "cache"))  # noqa: B010
