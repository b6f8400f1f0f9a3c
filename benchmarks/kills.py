"""Nights killed at random moments, and the tables they end with beside those of an undisturbed night.

`python -m benchmarks.kills [LOOPS [SEED]]` does nights over three days of two LPARs in rounds of nine. One more file
lands before each of the first six, and each night is killed with SIGKILL at a random moment, alone or with what it
started; 200 loops without an argument. At the end of a round one night is left alone. 1 where a table of raw records
or marts then differs from those of a state that one night made; both states are kept.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from benchmarks.daily import daily_dumps
from pipelines.home import ROOT, Home

_DAYS, _ROUND = 3, 9


def main(arguments: Sequence[str]) -> int:
    """Do the nights; a line for every round."""
    loops, seed = (int(argument) for argument in (*arguments, *("200", "1")[len(arguments) :]))
    drawn = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="etalon-kills-"))
    dumps = [path for day in daily_dumps(folder / "lab", 1, _DAYS, 3600) for path in day]
    calm = _home(folder / "calm", dumps)
    lasts_s = _undisturbed(calm)
    print(f"an undisturbed night takes {lasts_s:.0f} s", flush=True)
    expected, cut_short, unequal = digests(calm), 0, 0
    for first in range(0, loops, _ROUND):
        home = _home(folder / f"nights{first}", ())
        for number in range(min(_ROUND, loops - first)):
            for dump in dumps[number : number + 1]:
                shutil.copy(dump, home.landing)
            cut_short += _night(home, drawn.uniform(0, lasts_s), whole=drawn.random() < 0.5)
        for dump in dumps:
            shutil.copy(dump, home.landing)
        lasts_s = _undisturbed(home)
        found = digests(home)
        wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        done = min(first + _ROUND, loops)
        print(f"{done} nights, {cut_short} killed; {len(expected)} tables, {len(wrong)} differ", *wrong, flush=True)
        unequal += bool(wrong)
        if not wrong:
            shutil.rmtree(home.root)
    if not unequal:
        shutil.rmtree(folder)
    return int(unequal > 0)


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
    _night(home)
    return time.monotonic() - start


def _night(home: Home, kill_after_s: float | None = None, *, whole: bool = True) -> bool:
    """Do a night; whether it was killed, with all that it started where `whole`. SystemExit where it failed."""
    command = [str(Path(sys.executable).with_name("etalon")), "nightly"]
    environment = {**os.environ, "ETALON_HOME": str(home.root)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        if process.wait(kill_after_s):
            raise SystemExit(f"a night ended with {process.returncode}: {home.nights / 'index.html'}")
    except subprocess.TimeoutExpired:
        if whole:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        return True
    return False


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
