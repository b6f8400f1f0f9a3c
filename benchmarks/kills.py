"""Nights killed at random moments, and the tables they end with beside those of an undisturbed night.

`python -m benchmarks.kills [LOOPS]` does nights over three days of two LPARs, a file more whenever one ends, and kills
each with SIGKILL at a random moment, alone or with the processes it started; 200 loops without an argument. Then one
night is left alone. 1 where a table of raw records or marts differs from those of a state that one night made.
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

_DAYS, _SEED = 3, 1


def main(arguments: Sequence[str]) -> int:
    """Do the nights; a line for every table that differs."""
    loops = int(arguments[0]) if arguments else 200
    drawn = random.Random(_SEED)
    with tempfile.TemporaryDirectory(prefix="etalon-kills-") as name:
        folder = Path(name)
        dumps = [path for day in daily_dumps(folder / "lab", 1, _DAYS, 3600) for path in day]
        calm, killed = _home(folder / "calm", dumps), _home(folder / "killed", dumps[:1])
        start = time.monotonic()
        _night(calm)
        lasts_s = time.monotonic() - start
        print(f"an undisturbed night takes {lasts_s:.0f} s", flush=True)
        cut_short = 0
        for _ in range(loops):
            landed = len(list(killed.landing.iterdir()))
            if _night(killed, drawn.uniform(0, lasts_s), whole=drawn.random() < 0.5):
                cut_short += 1
            elif landed < len(dumps):
                shutil.copy(dumps[landed], killed.landing)
        for dump in dumps:
            shutil.copy(dump, killed.landing)
        _night(killed)
        one, other = digests(calm), digests(killed)
    wrong = sorted(table for table in one.keys() | other.keys() if one.get(table) != other.get(table))
    print(
        f"{loops} nights, {cut_short} killed before their end; {len(one)} tables, {len(wrong)} differ", *wrong, sep="\n"
    )
    return int(bool(wrong))


def _home(root: Path, dumps: Sequence[Path]) -> Home:
    home = Home(root)
    home.landing.mkdir(parents=True)
    (root / "etalon.toml").write_text("fit = false\n[landing]\nsettle_s = 0\n", encoding="utf-8")
    for dump in dumps:
        shutil.copy(dump, home.landing)
    return home


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
