"""Nights killed at random moments, and the tables they end with beside those of an undisturbed night.

`python -m benchmarks kills [--loops N] [--seed N] [--dagster]` does nights over three days of two LPARs in rounds of
nine. One more file lands before each of the first six, and each night is killed with SIGKILL at a random moment:
`etalon nightly` alone or with what it started; with `--dagster` the daemon, its code server, the process of the run, or
all of them. At the end of a round one night is left alone. 1 where a table of raw records or marts then differs from
those of a state that one night made; both states are kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from benchmarks.daily import daily_dumps
from pipelines.home import ROOT, Home

_DAYS, _ROUND = 3, 9
_BIN = Path(sys.executable).parent
#: Seconds that a run may take from its request to its end; three retries after 5 minutes of waiting for a writer.
_PATIENCE_S = 3600


def main(arguments: Sequence[str]) -> int:
    """Do the nights; a line for every round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kills", description=__doc__.splitlines()[0])
    parser.add_argument("--loops", type=int, default=200, metavar="N", help="nights to kill; 200 without it")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random moments")
    parser.add_argument("--dagster", action="store_true", help="have Dagster's daemon do the nights")
    given = parser.parse_args(arguments)
    drawn = random.Random(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="etalon-kills-"))
    dumps = [path for day in daily_dumps(folder / "lab", 1, _DAYS, 3600) for path in day]
    calm = _home(folder / "calm", dumps)
    lasts_s = _undisturbed(calm)
    print(f"an undisturbed night takes {lasts_s:.0f} s", flush=True)
    expected, cut_short, unequal = digests(calm), 0, 0
    way = _daemon if given.dagster else _alone
    for first in range(0, given.loops, _ROUND):
        home = _home(folder / f"nights{first}", ())
        with way(home, drawn) as night:
            for number in range(min(_ROUND, given.loops - first)):
                for dump in dumps[number : number + 1]:
                    shutil.copy(dump, home.landing)
                cut_short += night(drawn.uniform(0, lasts_s))
            for dump in dumps:
                shutil.copy(dump, home.landing)
            night(None)
        lasts_s = max(lasts_s, _undisturbed(home) if given.dagster else 0)
        found = digests(home)
        wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        done = min(first + _ROUND, given.loops)
        print(f"{done} nights, {cut_short} killed; {len(expected)} tables, {len(wrong)} differ", *wrong, flush=True)
        unequal += bool(wrong)
        if not wrong:
            shutil.rmtree(home.root)
    if not unequal:
        shutil.rmtree(folder)
    return int(unequal > 0)


#: Does a night and kills it after so many seconds, or leaves it alone; whether it was killed.
_Night = Callable[[float | None], bool]


def _home(root: Path, dumps: Sequence[Path]) -> Home:
    home = Home(root)
    home.landing.mkdir(parents=True)
    (root / "etalon.toml").write_text("fit = false\n[landing]\nsettle_s = 0\n", encoding="utf-8")
    for dump in dumps:
        shutil.copy(dump, home.landing)
    return home


def _undisturbed(home: Home) -> float:
    """Seconds of a night that is left alone."""
    start = time.monotonic()
    with _alone(home, random.Random()) as night:
        night(None)
    return time.monotonic() - start


@contextmanager
def _alone(home: Home, drawn: random.Random) -> Iterator[_Night]:
    """Nights of `etalon nightly`, killed alone or with all that they started. SystemExit where one fails."""

    def night(kill_after_s: float | None) -> bool:
        command = [str(_BIN / "etalon"), "nightly"]
        environment = {**os.environ, "ETALON_HOME": str(home.root)}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, start_new_session=True, stdout=quiet, stderr=quiet
        )
        try:
            if process.wait(kill_after_s):
                raise SystemExit(f"a night ended with {process.returncode}: {home.nights / 'index.html'}")
        except subprocess.TimeoutExpired:
            if drawn.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
            return True
        return False

    yield night


@contextmanager
def _daemon(home: Home, drawn: random.Random) -> Iterator[_Night]:
    """Nights of Dagster's daemon, of whose processes some are killed. SystemExit where one does not end well."""
    import dagster as dg

    home.activate()
    daemon = _start_daemon(home)

    def night(kill_after_s: float | None) -> bool:
        nonlocal daemon
        launch = [str(_BIN / "dagster"), "job", "launch", "-j", "night"]
        subprocess.run(launch, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kill_after_s is None:
            end = time.monotonic() + _PATIENCE_S
            while not all(run.is_finished for run in instance.get_runs()):
                if time.monotonic() > end:
                    raise SystemExit(f"a run did not end: {home.root / 'daemon.log'}")
                time.sleep(2)
            latest = instance.get_runs(limit=1)[0]
            if not latest.is_success or (held := instance.event_log_storage.get_concurrency_run_ids()):
                raise SystemExit(f"run {latest.run_id}: {latest.status}; pools of ended runs are held: {held}")
            return False
        time.sleep(kill_after_s)
        servers, workers = _children(daemon.pid), _workers(home)
        victims = drawn.choice([[daemon.pid], servers, workers, [daemon.pid, *servers, *workers]])
        for number in victims:
            with suppress(ProcessLookupError):
                # The process of a run is killed alone or with dbt, which it has started.
                kill = os.killpg if number in workers and drawn.random() < 0.5 else os.kill
                kill(number, signal.SIGKILL)
        if daemon.pid in victims:
            daemon.wait()
            daemon = _start_daemon(home)
        return bool(victims)

    with dg.DagsterInstance.get() as instance:
        try:
            yield night
        finally:
            for number in (*_children(daemon.pid), *_workers(home)):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            daemon.kill()
            daemon.wait()


def _start_daemon(home: Home) -> subprocess.Popen[bytes]:
    with (home.root / "daemon.log").open("ab") as log:
        return subprocess.Popen([str(_BIN / "dagster-daemon"), "run"], cwd=ROOT, stdout=log, stderr=log)


def _children(parent: int) -> list[int]:
    """Processes that a process has started, such as the code server of a daemon; none of those of runs."""
    listed = [path.read_text(encoding="ascii") for path in Path(f"/proc/{parent}/task").glob("*/children")]
    return [number for number in map(int, " ".join(listed).split()) if "grpc" in _command(number)]


def _workers(home: Home) -> list[int]:
    """Processes of runs that are alive."""
    files = [*(home.dagster / "workers").glob("*")]
    numbers = {file.name: int(text) for file in files if (text := file.read_text(encoding="ascii"))}
    return [number for run_id, number in numbers.items() if run_id in _command(number)]


def _command(number: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


def digests(home: Home) -> dict[str, str]:
    """Digests of the raw tables and marts, in no order of rows, doubles to nine digits: a sum depends on its order."""
    with duckdb.connect(str(home.warehouse), read_only=True) as con:
        columns = con.execute(
            "SELECT schema_name || '.' || table_name, list(CASE data_type WHEN 'DOUBLE' "
            "THEN printf('printf(''%%.9e'', %s)', '\"' || column_name || '\"') ELSE '\"' || column_name || '\"' END) "
            "FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name) "
            "WHERE schema_name IN ('raw', 'marts') GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        return {
            table: str(con.execute(f"SELECT count(*), sum(hash({', '.join(names)})) FROM {table}").fetchone())
            for table, names in columns
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
