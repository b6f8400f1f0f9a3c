"""Decode speed of every layout with triplets, one core: records of three rows a section, no two texts in a row alike.

`python -m benchmarks.layouts [NAME …]`. Times are processor time, the best of several runs; the slowest come first.
"""

import sys
import time

from benchmarks.dumps import made_up_dump
from ingest import registry
from ingest.allocation import keep_freed_memory
from ingest.formats.smf import decode_batches
from ingest.layout import Layout
from ingest.registry import Registry

RUNS, ROWS, BYTES = 4, 3, 6_000_000


def main(names: list[str]) -> int:
    """Measure and print a table."""
    keep_freed_memory()
    known = registry.load()
    wanted = [one for one in known.layouts if not (one.handler or one.when) and (not names or one.name in names)]
    found = sorted(_measured(known, layout) for layout in wanted)
    print(f"{'layout':14} {'bytes a record':>14} {'MB/s':>7}")
    for speed, name, size in found:
        print(f"{name:14} {size:14,} {speed:7.0f}")
    return 0


def _measured(known: Registry, layout: Layout) -> tuple[float, str, int]:
    """MB/s, name, and bytes of a record."""
    rows = {
        part.name: 1 if part.cardinality == "one" or part.name == "product" else ROWS
        for part in layout.placed
        if part.walk == "fixed"
    }
    size = len(made_up_dump(known, layout.name, 1, rows))
    dump = made_up_dump(known, layout.name, max(BYTES // size, 1), rows)
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        for batch in decode_batches(dump, known):
            assert not batch.quarantined, batch.quarantined[0].message
        times.append(time.process_time() - start)
    return len(dump) / min(times) / 1e6, layout.name, size


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
