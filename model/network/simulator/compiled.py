"""How the simulator's functions are compiled.

Reference counting of arrays is off: the engine makes none, and counting atomically at every inner call took half of
its time. `model.network.kernel_cache` keeps the code.
"""

from __future__ import annotations

from typing import Any

from model.network.kernel_cache import kernel

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

compiled: Any = kernel(**_OPTIONS)
"""A compiled function."""

inlined: Any = kernel(**_OPTIONS, forceinline=True)
"""A compiled function that is always part of its caller."""

released: Any = kernel(**_OPTIONS, nogil=True)
"""A compiled function that lets other threads run."""
