"""A load of large dumps into parts against the same into tables: processor time, elapsed time, space, and a query.

`python -m benchmarks.parts [MB]` writes dumps of about so many MB, 300 without, into a temporary folder: four fifths of
CICS tasks of a day, one fifth of ended connections, and a dump of many record types. Each load is a process of its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.dumps import SECTIONS, made_up_dump, write_cics
from ingest import registry
from ingest.allocation import keep_freed_memory
from ingest.running import Here
from ingest.warehouse import load, merge_small, open_writer, prepare, publish

CONNECTIONS_PER_MB = 2_750
_QUERY = """
    SELECT tran, date_trunc('hour', stop) AS hour, count(*), avg(usrcput), quantile_cont(usrdispt, 0.95)
    FROM raw.smf110_1_performance WHERE start >= TIMESTAMP '1990-01-01' GROUP BY ALL
"""


def main(arguments: list[str]) -> int:
    """Print the measures."""
    if arguments and arguments[0] == "--load":
        _load(Path(arguments[1]), Path(arguments[2]), in_parts=arguments[3] == "parts")
        return 0
    size = int(arguments[0]) if arguments else 300
    with tempfile.TemporaryDirectory(prefix="etalon-parts-") as name:
        folder = Path(name)
        dumps = _dumps(folder / "in", size)
        total = sum(path.stat().st_size for path in dumps)
        prepare(folder / "empty" / "etalon.duckdb", registry.load())
        print(f"{total / 1e6:,.0f} MB in {len(dumps)} dumps", flush=True)
        print(f"{'load':28} {'s':>6} {'CPU s':>6} {'CPU s/GB':>9} {'peak MB':>8} {'of the dumps':>13}")
        walls: dict[int, float] = {}
        for form, cores in (("tables", 2), ("parts", 1), ("parts", 2)):
            database = folder / f"{form}{cores}" / "etalon.duckdb"
            database.parent.mkdir()
            database.write_bytes((folder / "empty" / "etalon.duckdb").read_bytes())
            empty = database.stat().st_size
            wall, processor, peak = _measured(folder / "in", database, form, cores)
            held = sum(path.stat().st_size for path in database.parent.rglob("*") if path.is_file()) - empty
            line = f"{wall:6.1f} {processor:6.1f} {processor / total * 1e9:9.1f} {peak:8.0f} {held / total:13.3f}"
            print(f"{form + f', {cores} cores':28} {line}", flush=True)
            walls[cores] = wall
        queries: dict[str, float] = {}
        for form in ("tables", "parts", "merged parts"):
            database = folder / f"{form.split()[-1]}2" / "etalon.duckdb"
            if form == "merged parts":
                with open_writer(database) as con:
                    merge_small(con, most=1)
            started = time.perf_counter()
            snapshot = publish(database, database.parent / "published" / "etalon.duckdb")
            took = time.perf_counter() - started
            queries[form] = _query_time(snapshot)
            print(f"{form}: published in {took:.2f} s, {snapshot.stat().st_size / 1e6:.0f} MB; ", end="")
            print(f"query in {queries[form]:.3f} CPU s", flush=True)
        print(f"two cores against one: {walls[2] / walls[1]:.2f} × the elapsed time")
        for form in ("parts", "merged parts"):
            print(f"query of {form} against tables: {queries[form] / queries['tables']:.2f} × the CPU time")
    return 0


def _dumps(folder: Path, size: int) -> list[Path]:
    """The dumps, of about `size` MB together."""
    folder.mkdir()
    known = registry.load()
    write_cics(folder / "cics.smf", size * 800_000)
    (folder / "connections.smf").write_bytes(made_up_dump(known, "smf119_2", size * CONNECTIONS_PER_MB // 5))
    mixed = b"".join(made_up_dump(known, name, 1000 if name != "smf74_1" else 100) for name in SECTIONS)
    (folder / "mixed.smf").write_bytes(mixed)
    return sorted(folder.iterdir())


def _load(folder: Path, database: Path, *, in_parts: bool) -> None:
    keep_freed_memory()
    if not in_parts:
        Here.unit_bytes = 1 << 60
    assert {report.status for report in load([folder], database, registry.load())} == {"loaded"}


def _measured(folder: Path, database: Path, form: str, cores: int) -> tuple[float, float, float]:
    """Elapsed and processor seconds of a load, and the peak of the largest of its processes in MB."""
    command = [sys.executable, "-m", "benchmarks.parts", "--load", str(folder), str(database), form]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    mask = sorted(os.sched_getaffinity(0))[:cores]
    subprocess.run(command, check=True, preexec_fn=lambda: os.sched_setaffinity(0, mask))
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent, after.ru_maxrss / 1e3


def _query_time(snapshot: Path) -> float:
    """Processor seconds of an analyst's query: the least of three."""
    times = []
    with duckdb.connect(str(snapshot), read_only=True, config={"threads": "1"}) as con:
        for _ in range(3):
            started = time.process_time()
            con.execute(_QUERY).fetchall()
            times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
