"""Memory freed by one stretch of a file serves the next one."""

import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, resource, sys
from ingest.allocation import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    held = [libc.malloc(4 << 20) for _ in range(4)]
    for place in held:
        ctypes.memset(place, 1, 4 << 20)
    for place in held:
        libc.free(place)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="asks the GNU C library")
def test_freed_memory_is_used_again_without_new_pages():
    faults = {
        how: int(subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, check=True).stdout)
        for how in ("given back", "kept")
    }
    once = (16 << 20) // 4096
    assert faults["kept"] < 2 * once < faults["given back"]
