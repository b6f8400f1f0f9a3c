"""Building the marts of a day of CICS tasks: time and peak memory of `dbt build` with its data tests, on two cores.

`python -m benchmarks.marts [TASKS …]` renders one measured interval of an 18-CP CICS system, repeats it over a day of
five-minute intervals, adds that many task records (SMF 110 subtype 1) of 20 regions, and builds. Everything is written
into a temporary folder and deleted. Without arguments: 1, 2, 5 and 10 million tasks.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from pipelines import steps
from pipelines.home import Home

SYSTEM = "cics53-18cp"
INTERVAL_S, DAY_S = 300, 86_400
TASKS_PER_RECORD = 50
#: File identity of the task records, beside those of the rendered files.
TASK_FILE = 110
REQUIRED_S, REQUIRED_GB = 120.0, 4.0
_HEAD = (
    ("smf70_1", "smf70"),
    ("smf72_3", "smf72"),
)
#: Requests enter one of 4 terminal-owning regions, run in one of 12 application-owning regions and, one in four, call
#: one of 4 file-owning regions: nine tasks of four requests.
_TASKS = """
WITH task AS (
  SELECT i, i // 9 * 4 + least(i % 9 // 2, 3) AS request, CASE WHEN i % 9 = 8 THEN 2 ELSE i % 9 % 2 END AS hop,
    hash(i) AS h FROM range({tasks}) t(i)
), detail AS (
  SELECT *, TIMESTAMP '2015-12-08' + to_microseconds((request * {day_us} // {requests})::BIGINT) AS entered,
    CASE hop WHEN 0 THEN request % 4 WHEN 1 THEN 4 + request % 12 ELSE 16 + i // 9 % 4 END AS region,
    CASE hop WHEN 0 THEN request // 4 WHEN 1 THEN request // 12 ELSE i // 36 END AS ordinal,
    'TOR' || (request % 4) AS origin, printf('T%03d', hash(request) % 200) AS tran,
    (200 + h % 1000 + (h // 1000 % 97) * (h // 1000 % 97) // 8) AS cpu_us
  FROM task
)
INSERT INTO raw.smf110_1_performance BY NAME
SELECT {file}::UBIGINT AS file_id, (ordinal // {per} * 20 + region)::UINTEGER AS record_seq,
  (ordinal % {per})::UINTEGER AS section_seq, tran, 'T' AS rtype, (i % 9999999)::UINTEGER AS trannum,
  entered + to_microseconds(hop * 500) AS start,
  entered + to_microseconds((hop * 500 + cpu_us * (2 + h % 13))::BIGINT) AS stop,
  origin AS oapplid, tran AS otran, ((i - hop) % 9999999)::UINTEGER AS otrannum, entered AS ostart,
  (cpu_us * 4096)::UBIGINT AS usrcput, (cpu_us * 4096 * 11 // 10)::UBIGINT AS usrdispt,
  (cpu_us * 4096 * 3)::UBIGINT AS susptime, (cpu_us * 4096 * 9 // 10)::UBIGINT AS cputoncp,
  (cpu_us * 4096 // 20)::UBIGINT AS offlcput, (h % 300 * 4096)::UBIGINT AS dspdelay,
  (h % 500 * 4096)::UBIGINT AS dispwtt,
  CASE WHEN hop = 2 THEN (h % 4000 * 4096) END::UBIGINT AS fciowtt, '' AS abcodec
FROM detail
"""
_RECORDS = """
CREATE TEMP TABLE record AS
  SELECT record_seq, min(stop) AS written FROM raw.smf110_1_performance WHERE file_id = {file} GROUP BY record_seq;
INSERT INTO raw.smf110_1_header BY NAME
SELECT {file}::UBIGINT AS file_id, record_seq, 0::UINTEGER AS section_seq, '{sid}' AS smfsid,
  DATE '2015-12-08' AS smfdte, (epoch_ms(written) % 86400000 // 10)::UINTEGER AS smftme FROM record;
INSERT INTO raw.smf110_1_product BY NAME
SELECT {file}::UBIGINT AS file_id, record_seq, 0::UINTEGER AS section_seq,
  CASE WHEN record_seq % 20 < 4 THEN 'TOR' || (record_seq % 20) WHEN record_seq % 20 < 16
    THEN 'AOR' || (record_seq % 20 - 4) ELSE 'FOR' || (record_seq % 20 - 16) END AS smfmnspn
FROM record;
DROP TABLE record
"""


def main(arguments: Sequence[str]) -> int:
    """Build for every number of tasks, a line for each; 1 when ten million exceed what is required of them."""
    sizes = [int(argument.replace("_", "")) for argument in arguments] or [1_000_000, 2_000_000, 5_000_000, 10_000_000]
    print(f"{'tasks':>12} {'database MB':>12} {'build s':>9} {'CPU s':>8} {'peak MB':>9} {'rows of transactions':>21}")
    worst = 0
    for tasks in sizes:
        with tempfile.TemporaryDirectory(prefix="etalon-marts-") as folder:
            seconds, peak_mb = _measure(Path(folder), tasks)
        if tasks >= 10_000_000 and (seconds > REQUIRED_S or peak_mb > REQUIRED_GB * 1024):
            worst = 1
    return worst


def _measure(folder: Path, tasks: int) -> tuple[float, float]:
    home = Home(folder)
    prepare(home, tasks)
    size_mb = home.warehouse.stat().st_size / 1e6
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    steps.build(home)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest of all children so far: sizes go from small to large.
    peak_mb = after.ru_maxrss / 1024
    with duckdb.connect(str(home.warehouse), read_only=True) as connection:
        [(rows, counted)] = connection.execute(
            "SELECT count(*), sum(tasks_ended) FROM marts.fct_cics_transaction"
        ).fetchall()
    assert counted == tasks, (counted, tasks)
    print(f"{tasks:12,} {size_mb:12,.0f} {seconds:9.1f} {cpu_s:8.1f} {peak_mb:9,.0f} {rows:21,}", flush=True)
    shutil.rmtree(folder / "warehouse")
    return seconds, peak_mb


def prepare(home: Home, tasks: int) -> None:
    """A warehouse with a day of intervals and that many task records."""
    steps.ingest(home, steps.render([SYSTEM], home.lab))
    with duckdb.connect(str(home.warehouse)) as connection:
        connection.execute("SET threads TO 2")
        [(sid, seen, first, after)] = connection.execute(
            "WITH interval AS (SELECT file_id, record_seq, smf70sid AS sid, "
            "lead(record_seq) OVER (ORDER BY record_seq) AS next_seq FROM raw.smf70_1_header) "
            "SELECT sid, file_id, record_seq, next_seq FROM interval ORDER BY record_seq LIMIT 1 OFFSET 1"
        ).fetchall()
        _repeat_interval(connection, seen, first, after)
        add_tasks(connection, sid.strip(), tasks)
        connection.execute("CHECKPOINT")


def add_tasks(connection: duckdb.DuckDBPyConnection, sid: str, tasks: int) -> None:
    """That many task records of one day of a system, in the order and with the keys a decoded dump would have."""
    values = {"file": TASK_FILE, "per": TASKS_PER_RECORD, "sid": sid}
    connection.execute(_TASKS.format(tasks=tasks, requests=tasks // 9 * 4 + 4, day_us=DAY_S * 1_000_000, **values))
    for statement in _RECORDS.format(**values).split(";"):
        connection.execute(statement)


def _repeat_interval(connection: duckdb.DuckDBPyConnection, file: int, first: int, after: int) -> None:
    """The CPU and workload records of one interval, once for every interval of the day, in place of those rendered."""
    intervals = DAY_S // INTERVAL_S
    for layout, prefix in _HEAD:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND starts_with(table_name, ?)",
            [f"{layout}_"],
        ).fetchall()
        for (table,) in tables:
            moved = ["record_seq + k * 100000 AS record_seq"]
            if table.endswith("_product"):
                clock = f"k * {INTERVAL_S}"
                moved += [
                    f"({clock} // 3600 * 10000 + {clock} // 60 % 60 * 100)::UINTEGER AS {prefix}ist",
                    f"{INTERVAL_S // 60 * 100_000}::UINTEGER AS {prefix}int",
                    f"NULL::TIMESTAMP AS {prefix}iet",
                ]
            connection.execute(
                f"CREATE TEMP TABLE day AS SELECT * REPLACE ({', '.join(moved)}) "
                f"FROM raw.{table}, range({intervals}) t(k) "
                f"WHERE file_id = {file} AND record_seq >= {first} AND record_seq < {after}"
            )
            connection.execute(f"DELETE FROM raw.{table}")
            connection.execute(f"INSERT INTO raw.{table} BY NAME SELECT * EXCLUDE (k) FROM day")
            connection.execute("DROP TABLE day")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
