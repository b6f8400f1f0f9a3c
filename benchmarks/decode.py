"""Decode speed on one core: every field of a dump to Arrow, beside a copy of the same bytes in the same process.

`python -m benchmarks.decode [--repeat N] [FILE …]` measures made-up dumps, or the files named, each repeated N times.
Times are processor time, the best of several runs, so that other work on the machine disturbs them little; the ratio to
the copy can be compared between machines. CICS records are measured beside a bare gather of the same fields as well.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import dumps
from benchmarks.gather import Gather, row_starts
from ingest import registry
from ingest.allocation import keep_freed_memory
from ingest.formats.smf import decode_batches
from ingest.registry import Registry

RUNS = 9
CICS_ROWS = 20_000


def main(arguments: Sequence[str]) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args(arguments)
    keep_freed_memory()
    known = registry.load()
    print(f"{'dump':24} {'MB':>7} {'MB/s':>7} {'copy MB/s':>10} {'to copy':>8} {'to gather':>10}")
    for path in given.files:
        _report(path.name, path.read_bytes() * given.repeat, known)
    if not given.files:
        for name in dumps.SECTIONS:
            _report(name, dumps.made_up_dump(known, name, dumps.RECORDS[name]), known)
        plain = dumps.cics_dump(CICS_ROWS)
        _report("smf110_1", plain, known, gather=True)
        _report("smf110_1 compressed", dumps.cics_dump(CICS_ROWS, compressed=True), known, expanded=len(plain))
        print(f"first use of every kernel of these, compiled into an empty cache: {_compile_seconds():.1f} s")
    return 0


def _report(name: str, dump: bytes, known: Registry, *, gather: bool = False, expanded: int = 0) -> None:
    """One line; `expanded` is how many bytes a compressed dump stands for."""

    def decode() -> None:
        for batch in decode_batches(dump, known):
            assert not batch.quarantined

    data, whole = np.frombuffer(dump, np.uint8), np.zeros(expanded or len(dump), np.uint8)
    works: list[Callable[[], object]] = [decode, whole.copy]
    if gather:
        bare, starts = Gather(), row_starts(dump)
        works.append(lambda: bare.run(data, starts))
    size = expanded or len(dump)
    decoding, copying, *gathering = (size / 1e6 / seconds for seconds in _best(works))
    beside = f" {decoding / gathering[0]:10.2f}   of a gather of {bare.fields} fields" if gather else ""
    line = f"{name:24} {size / 1e6:7.1f} {decoding:7.0f} {copying:10.0f} {decoding / copying:8.3f}{beside}"
    print(line.rstrip(), flush=True)


def _best(works: Sequence[Callable[[], object]]) -> list[float]:
    """The shortest time of each of some pieces of work, done in turn."""
    times: list[list[float]] = [[] for _ in works]
    for run in range(RUNS + 1):
        for work, taken in zip(works, times, strict=True):
            start = time.process_time()
            work()
            # The first run compiles.
            if run:
                taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


def _compile_seconds() -> float:
    """Processor seconds that decoding takes longer with an empty cache of compiled code than with a full one."""
    program = (
        "import time; from ingest import registry; from ingest.formats.smf import decode_batches;"
        "from benchmarks import dumps; known = registry.load();"
        "made = [dumps.made_up_dump(known, name, 2) for name in dumps.SECTIONS];"
        "made += [dumps.cics_dump(2, compressed=flag) for flag in (False, True)];"
        "start = time.process_time(); [list(decode_batches(dump, known)) for dump in made];"
        "print(time.process_time() - start)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        first, second = (
            float(subprocess.check_output([sys.executable, "-c", program], env=environment)) for _ in range(2)
        )
    return first - second


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
