"""How memory is to be treated that a process frees while it reads file after file."""

import ctypes
import os
import platform
import sys
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 << 20
_KEPT = 128 << 20
#: Processors for which Arrow is published with jemalloc; elsewhere asking for it would print a warning.
_WITH_JEMALLOC = ("x86_64", "aarch64")


def take_jemalloc() -> None:
    """Have Arrow, once it is loaded, take memory from jemalloc, which has fewer pages cleared anew than mimalloc.

    For programs, before all else: `pa.set_memory_pool` is for arrays made by Python alone. A choice that the user made
    stays.
    """
    if sys.platform == "linux" and platform.machine() in _WITH_JEMALLOC:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def keep_freed_memory() -> bool:
    """Have freed memory kept for the next arrays, up to 128 MiB per thread, not given back; False where it cannot be.

    Every stretch of a file needs arrays as large as the last one's. Without this the kernel takes their pages back and
    clears them anew each time. That takes a tenth of the reading time, and up to a third for RMF reports. It applies
    to the whole process and is therefore called by programs, not by the library. GNU C library only (`mallopt`).
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD) and mallopt(_TRIM_THRESHOLD, _KEPT))
    return False
