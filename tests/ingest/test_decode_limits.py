"""Decoding keeps within its bounds: of the buffer it reads, and of the memory it takes."""

import os
import subprocess
import sys

import pytest

from tests.shared import ROOT

BOUNDS = """
import numpy as np
from ingest import registry
from ingest.framing import FramingError
from ingest.formats.smf import decode_batches, encode_dump
from tests.ingest.tables import random_tables

known = registry.load()
rng = np.random.default_rng(1)
decoded = quarantined = 0
for seed, layout in enumerate(known.layouts):
    dump = np.frombuffer(encode_dump(random_tables(layout, seed, 4), known), np.uint8)
    for changes in (0, 3, 3, 30, 30):
        damaged = dump.copy()
        damaged[rng.integers(24, len(dump), changes)] = rng.integers(0, 256, changes)
        try:
            for batch in decode_batches(damaged.tobytes(), known):
                decoded += batch.decoded
                quarantined += len(batch.quarantined)
        except FramingError:
            quarantined += 1
print(decoded, quarantined)
try:
    from ingest.kernels.loads import load_8
    load_8(np.zeros(8, np.uint8), 1)
except IndexError:
    print("checked")
"""

# Peak memory is this program's own: `ru_maxrss` would begin with that of the process that started it.
MEMORY = """
import io
from pathlib import Path
from ingest import registry
from ingest.formats.smf import decode_batches, encode_dump
from tests.ingest.tables import random_tables

known = registry.load()
layouts = [known.layout_for(30, 2), known.layout_for(72, 3)]
dump = b"".join(encode_dump(random_tables(layout, 1, 20), known) for layout in layouts)

class Endless(io.RawIOBase):
    def __init__(self, size):
        self.left, self.rest = size // len(dump), b""

    def readinto(self, target):
        if not self.rest and self.left:
            self.left, self.rest = self.left - 1, dump
        size = min(len(target), len(self.rest))
        target[:size], self.rest = self.rest[:size], self.rest[size:]
        return size

    def readable(self):
        return True

for size in (40_000_000, 400_000_000):
    total = sum(batch.bytes_in for batch in decode_batches(Endless(size), known))
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(total, int(peak.split()[1]) // 1024)
"""


def run(program: str, **environment: str) -> list[str]:
    """Words that a program prints, run by itself from the root of the project."""
    variables = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
    return subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT, env=variables).split()


@pytest.mark.slow
def test_no_kernel_reads_outside_its_buffer() -> None:
    # Code that checks its places is kept beside the code that does not.
    decoded, quarantined, checked = run(BOUNDS, NUMBA_BOUNDSCHECK="1")
    assert int(decoded) > 500
    assert int(quarantined) > 50
    assert checked == "checked"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump() -> None:
    few, peak_of_few, many, peak_of_many = map(int, run(MEMORY))
    assert few > 39_000_000
    assert many > 399_000_000
    assert peak_of_many < peak_of_few + 100
    assert peak_of_many < 700
