"""Speed of reading RMF reports in XML, every value to Arrow, on one core.

`python -m benchmarks.reports [FILE …]` measures a made-up report of 3.1 MB, or the files named, beside three others in
the same run: a copy of the same bytes, lxml's parser making a tree of them and nothing else, and the full reader that
takes over where a report is not in its plain form. Times are processor time, the best of several runs, with freed
memory kept as the `etalon` command keeps it.
"""

import io
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from lxml import etree

from benchmarks.dumps import rmf_report
from ingest.allocation import keep_freed_memory
from ingest.batch import Batch
from ingest.formats.rmf import read_reports
from ingest.formats.rmf.reader import read_strictly

RUNS = 15
SIZE = 3_100_000


def main(paths: list[str]) -> int:
    """Measure and print a table."""
    pa.set_cpu_count(1)
    keep_freed_memory()
    print(
        f"{'report':28} {'MB':>5} {'values':>8} {'MB/s':>6} {'to copy':>8} {'to lxml tree':>13} {'to full reader':>15}"
    )
    reports = {Path(path).name: Path(path).read_bytes() for path in paths} or {"made up": rmf_report(SIZE)}
    for name, data in reports.items():
        tables = [batch.tables for batch in read_reports(io.BytesIO(data))]
        values = sum(group["rmf_value"].num_rows for group in tables if "rmf_value" in group)
        plain, strict, tree, copy = _best(
            data,
            lambda data: _drained(read_reports(io.BytesIO(data))),
            lambda data: _drained(read_strictly(io.BytesIO(data))),
            etree.fromstring,
            bytearray,
        )
        size = len(data) / 1e6
        ratios = f"{copy / plain:8.4f} {tree / plain:13.2f} {strict / plain:15.1f}"
        print(f"{name:28} {size:5.1f} {values:8} {size / plain:6.0f} {ratios}", flush=True)
    return 0


def _drained(batches: Iterator[Batch]) -> None:
    for _ in batches:
        pass


def _best(data: bytes, *works: Callable[[bytes], object]) -> list[float]:
    """The shortest time of each of some pieces of work, done in turn."""
    times: list[list[float]] = [[] for _ in works]
    for run in range(RUNS + 1):
        for work, taken in zip(works, times, strict=True):
            start = time.process_time()
            work(data)
            # The first run compiles.
            if run:
                taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
