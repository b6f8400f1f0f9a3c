"""A night with one new day of ten LPARs on histories of growing length: time, processor time and memory by step.

`python -m benchmarks.nights [--hourly] [--large[=MB]] [DAYS …]` renders a week of five machines with two LPARs each, in
intervals of 15 minutes or an hour, and the day after it, loads them, repeats the week in the raw tables until the
history has that many days, builds it at once as a backfill does, and then does the night of the day after, each step in
a process of its own. Everything is written into a temporary folder and deleted. Without days: 30, 90, 365 and 720. With
`--large` the night also has 2,000 MB, or so many, to load: four fifths CICS tasks, one fifth ended connections.
"""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.daily import daily_dumps
from benchmarks.dumps import made_up_dump, write_cics
from ingest import registry
from pipelines import steps
from pipelines.building.touched import Span, written_limits
from pipelines.home import ROOT, Home
from pipelines.nights import coverage
from pipelines.settings import Coverage

MACHINES, WEEK = 5, 7
LARGE_MB = 2_000
CONNECTIONS_PER_MB = 2_750
#: So much more than at the shortest history may a night take at the longest.
ALLOWED = 1.3
_STEPS: dict[str, Callable[[Home, str], object]] = {
    "ingest": lambda home, _: steps.ingest(home, sorted(home.landing.iterdir())),
    "build": lambda home, _: steps.build(home),
    "check": lambda home, _: steps.check(home),
    "publish": lambda home, _: steps.publish(home),
    "fit": lambda home, _: steps.fit(home),
    "coverage": lambda home, day: coverage.lacks(home.snapshot, dt.date.fromisoformat(day), Coverage()),
}


def main(arguments: Sequence[str]) -> int:
    """A table for each length of history; 1 where the longest takes more than is allowed."""
    if arguments and arguments[0] in _STEPS:
        step, root, day = arguments
        _STEPS[step](Home(Path(root)), day)
        return 0
    interval_s = 3600 if "--hourly" in arguments else 900
    lengths = [int(argument) for argument in arguments if argument.isdigit()] or [30, 90, 365, 720]
    totals: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="etalon-nights-") as folder:
        *days_of_week, day_after = _apart(daily_dumps, Path(folder) / "lab", MACHINES, WEEK + 1, interval_s)
        week = [path for dumps in days_of_week for path in dumps]
        for large in (argument for argument in arguments if argument.startswith("--large")):
            day_after += _apart(large_dumps, Path(folder), int(large.partition("=")[2] or LARGE_MB))
        for days in lengths:
            with tempfile.TemporaryDirectory(dir=folder) as state:
                totals[days] = _night(Home(Path(state)), days, week, day_after)
    first, last = totals[lengths[0]], totals[lengths[-1]]
    times, memory = last[0] / first[0], last[1] / first[1]
    print(f"night at {lengths[-1]} days against {lengths[0]}: {times:.2f} × the CPU time, {memory:.2f} × the memory")
    return int(max(times, memory) > ALLOWED)


def _night(home: Home, days: int, week: Sequence[Path], day_after: Sequence[Path]) -> tuple[float, float]:
    """CPU seconds and peak MB of the night after so many days."""
    print(f"\n{days} days of {2 * MACHINES} LPARs", flush=True)
    home.landing.mkdir(parents=True)
    with _landed(home, week):
        measure(home, "ingest")
    last = _apart(repeat, home.warehouse, days)
    for step in ("build", "publish"):
        _line(f"backfill {step}", *measure(home, step))
    print(f"{'warehouse MB':<18} {home.warehouse.stat().st_size / 1e6:9,.0f}", flush=True)
    elapsed = total = peak = 0.0
    with _landed(home, day_after):
        for step in _STEPS:
            wall_s, cpu_s, peak_mb = measure(home, step, last)
            _line(step, wall_s, cpu_s, peak_mb)
            elapsed, total, peak = elapsed + wall_s, total + cpu_s, max(peak, peak_mb)
    _line("night", elapsed, total, peak)
    return total, peak


def large_dumps(folder: Path, size_mb: int) -> list[Path]:
    """Four fifths CICS tasks with all fields (SMF 110.1), one fifth ended connections (SMF 119.2)."""
    tasks, connections = folder / "cics.smf", folder / "connections.smf"
    write_cics(tasks, size_mb * 800_000)
    connections.write_bytes(made_up_dump(registry.load(), "smf119_2", size_mb // 5 * CONNECTIONS_PER_MB))
    return [tasks, connections]


def measure(home: Home, step: str, day: str = "") -> tuple[float, float, float]:
    """Wall and CPU seconds and peak MB of a step, the processes it starts included."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.nights", step, str(home.root), day], cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{step}: ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _apart(do: Callable[..., Any], *arguments: object) -> Any:
    """Do it in a process of its own: a process that is started counts the memory of the one that started it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(do, *arguments).result()


def _line(name: str, wall_s: float, cpu_s: float, peak_mb: float) -> None:
    print(f"{name:<18} {wall_s:9.1f} s {cpu_s:9.1f} CPU s {peak_mb:9,.0f} MB", flush=True)


@contextmanager
def _landed(home: Home, files: Sequence[Path]) -> Iterator[None]:
    for path in files:
        os.link(path, home.landing / path.name)
    yield
    for path in files:
        (home.landing / path.name).unlink()


def repeat(warehouse: Path, days: int) -> str:
    """Repeat the loaded week in the days before until there are so many days; the last day that is there."""
    with duckdb.connect(str(warehouse), config={"memory_limit": "2GB"}) as con:
        con.execute("SET enable_progress_bar = false")
        tables = con.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE estimated_size > 0 AND (schema_name = 'raw' "
            "OR table_name IN ('ledger', 'record_identity')) ORDER BY ALL"
        ).fetchall()
        con.execute(
            "CREATE TEMP TABLE of_day AS SELECT file_id, split_part(path, '.', -2)::INTEGER AS number FROM meta.ledger"
        )
        con.execute("CREATE TEMP TABLE packed (date UBIGINT, w UBIGINT, earlier UBIGINT)")
        dates = con.execute("SELECT DISTINCT smf70dte::TIMESTAMP FROM raw.smf70_1_header").fetchall()
        con.executemany(
            "INSERT INTO packed VALUES (?, ?, ?)",
            [
                (_packed(date), w, _packed(date - dt.timedelta(weeks=w)))
                for (date,) in dates
                for w in range(-(-days // WEEK))
            ],
        )
        for schema, table in tables:
            columns = con.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?",
                [schema, table],
            ).fetchall()
            moved = ["file_id + back.w::UBIGINT AS file_id"]
            moved += [f"{name} - INTERVAL (7 * back.w) DAY AS {name}" for name, kind in columns if kind == "TIMESTAMP"]
            moved += [
                f"({name} - INTERVAL (7 * back.w) DAY)::DATE AS {name}" for name, kind in columns if kind == "DATE"
            ]
            if table == "ledger":
                moved += ["sha256(sha256 || back.w) AS sha256", "path || back.w AS path"]
            if table == "record_identity":
                moved += [
                    "earlier * 4294967296 + written_raw % 4294967296 AS written_raw",
                    "hash(digest + back.w) AS digest",
                ]
            of_packed = "JOIN packed ON date = written_raw >> 32 AND packed.w = back.w" if "identity" in table else ""
            # Days in the order of their coming, as loaded night by night.
            con.execute(f"ALTER TABLE {schema}.{table} RENAME TO week")
            con.execute(f"CREATE TABLE {schema}.{table} AS FROM {schema}.week LIMIT 0")
            con.execute(
                f"INSERT INTO {schema}.{table} BY NAME SELECT week.* REPLACE ({', '.join(moved)}) "
                f"FROM range({-(-days // WEEK)}) AS back(w), {schema}.week JOIN of_day USING (file_id) "
                f"{of_packed} WHERE 7 * back.w + 6 - number < {days} ORDER BY back.w DESC, number"
            )
            con.execute(f"DROP TABLE {schema}.week")
        [(last,)] = con.execute("SELECT max(smf70dte)::VARCHAR FROM raw.smf70_1_header").fetchall()
    return str(last)


def _packed(day: dt.datetime) -> int:
    return written_limits(Span(day, day), "smf")[0] >> 32


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
