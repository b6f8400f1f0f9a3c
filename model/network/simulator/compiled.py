"""How the simulator's functions are compiled.

Reference counting of arrays is off: the engine makes none, and counting atomically at every inner call took half of
its time. Compiled code is cached where ``NUMBA_CACHE_DIR`` says.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from model.network.kernel_cache import with_room

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}

compiled: Any = with_room(njit(**_OPTIONS), __file__)
"""A compiled function."""

inlined: Any = with_room(njit(**_OPTIONS, forceinline=True), __file__)
"""A compiled function that is always part of its caller."""

released: Any = with_room(njit(**_OPTIONS, nogil=True), __file__)
"""A compiled function that lets other threads run."""
