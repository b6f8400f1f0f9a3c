"""Loading speed: a dump of CICS performance records into committed DuckDB tables, on all cores, beside its parts.

Beside the whole stand decoding alone and DuckDB's insertion of the same Arrow tables alone, each in the same run: what
the whole takes is at best the longer of the two.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmarks import dumps
from ingest import registry
from ingest.allocation import keep_freed_memory
from ingest.batch import of_file
from ingest.formats.smf import decode_batches
from ingest.warehouse import load
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer

RUNS = 3
ROWS, TIMES = 20_000, 10


def main() -> int:
    """Measure and print a table."""
    keep_freed_memory()
    known = registry.load()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump, few, prepared = folder / "cics.smf", folder / "few.smf", folder / "prepared.duckdb"
        with dump.open("wb") as out:
            for records in dumps.cics_records(ROWS, TIMES):
                out.write(records)
        few.write_bytes(dumps.cics_dump(3))
        load([few], prepared, known)
        tables = [batch.tables for batch in decode_batches(dump, known)]

        def whole() -> None:
            (report,) = load([dump], shutil.copy(prepared, folder / "whole.duckdb"), known)
            assert report.status == "loaded"

        def decode() -> None:
            for _ in decode_batches(dump, known):
                pass

        size = dump.stat().st_size / 1e6
        print(f"{'CICS 110.1 dump':40} {'MB':>7} {'s':>7} {'CPU s':>7} {'MB/s':>7} {'MB per CPU s':>13}")
        works: dict[str, Callable[[], None]] = {
            "to committed tables": whole,
            "decoded, nothing kept": decode,
            "insertion of the decoded tables": lambda: _insert(tables, shutil.copy(prepared, folder / "rows.duckdb")),
        }
        for title, (wall, processor) in _best(works).items():
            line = f"{title:40} {size:7.0f} {wall:7.2f} {processor:7.2f} {size / wall:7.0f} {size / processor:13.0f}"
            print(line, flush=True)
        print(f"cores: {os.cpu_count()}; load when it ended: {os.getloadavg()[0]:.1f}")
    return 0


def _insert(batches: list[dict[str, pa.Table]], path: Path) -> None:
    with open_writer(path) as con:
        rows = Tables(con).row_buffer()
        con.execute("BEGIN")
        for batch in batches:
            for name, part in batch.items():
                rows.add(name, of_file(1, part))
        rows.write()
        con.execute("COMMIT")


def _best(works: dict[str, Callable[[], None]]) -> dict[str, tuple[float, float]]:
    """Shortest time and shortest processor time of each piece of work, done in turn."""
    times: dict[str, list[tuple[float, float]]] = {title: [] for title in works}
    for _ in range(RUNS):
        for title, work in works.items():
            start, processor = time.perf_counter(), time.process_time()
            work()
            times[title].append((time.perf_counter() - start, time.process_time() - processor))
    return {title: (min(wall for wall, _ in taken), min(cpu for _, cpu in taken)) for title, taken in times.items()}


if __name__ == "__main__":
    sys.exit(main())
