"""Decoding keeps within its bounds: of the buffer it reads, and of the memory it takes."""

import os
import subprocess
import sys

import pytest

from ingest import registry
from ingest.formats.smf import decode_batches
from tests.shared import ROOT, shared

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
    from ingest.kernels.reading import read_odd
    read_odd(np.zeros(8, np.uint8), np.array([7]), 0, 2, np.empty(1, np.uint64))
except IndexError:
    print("checked")
"""

# Sections that end at any of their fields, as an older or a damaged record has them.
SHORT = """
import numpy as np
from ingest import registry
from ingest.codec.columns import read_section
from ingest.framing import BLANK_BYTES

made = 0
for layout in registry.load().layouts:
    for section in (section for section in layout.sections if not section.entries):
        keys = [np.zeros(1, np.uint32)] * (2 + bool(section.parent))
        selectors = {name: np.ones(1, np.int64) for name in section.selectors_elsewhere}
        ends = sorted({0, 1, *(item.end for item in section.fields)})
        for length in ends[:: max(1, len(ends) // 6)]:
            data = np.repeat(np.array([0xC1, 0], np.uint8), (length, BLANK_BYTES))
            at, limits = np.zeros(1, np.int64), np.array([length])
            read_section(section, data, at, limits, keys, selectors).validate(full=True)
            made += 1
print(made)
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


CHECKS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")
"""What has every place tested: compiled loops with checks, which are kept beside those without, or Python's own."""


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_no_kernel_reads_or_writes_outside_its_buffer(check: str) -> None:
    decoded, quarantined, checked = run(BOUNDS, **{check: "1"})
    assert int(decoded) > 500
    assert int(quarantined) > 50
    assert checked == "checked"


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_a_batch_has_room_for_sections_that_end_anywhere(check: str) -> None:
    (made,) = run(SHORT, **{check: "1"})
    assert int(made) > 2000


def test_a_section_that_ends_before_a_long_field_is_decoded() -> None:
    batches = list(decode_batches(shared("faults/smf120_9_beside_good_records.smf").read_bytes(), registry.load()))
    assert sum(batch.decoded for batch in batches) == 3
    (rows,) = [batch.tables["smf120_9_user_data"].to_pylist() for batch in batches]
    assert [(row["usr_version"] is None, row["usr_data"]) for row in rows] == [(False, None)]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump() -> None:
    few, peak_of_few, many, peak_of_many = map(int, run(MEMORY))
    assert few > 39_000_000
    assert many > 399_000_000
    assert peak_of_many < peak_of_few + 100
    assert peak_of_many < 700
