"""How the simulator's functions are compiled.

Reference counting of arrays is off: the engine makes none, and counting atomically at every inner call took half of
its time. Compiled code is cached where ``NUMBA_CACHE_DIR`` says.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}

compiled: Any = njit(**_OPTIONS)
"""A compiled function."""

inlined: Any = njit(**_OPTIONS, forceinline=True)
"""A compiled function that is always part of its caller."""

released: Any = njit(**_OPTIONS, nogil=True)
"""A compiled function that lets other threads run."""
