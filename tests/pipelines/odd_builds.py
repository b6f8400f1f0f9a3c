"""A warehouse of days that are hard to build by windows, and a comparison of marts."""

import datetime as dt
import math
from pathlib import Path

import duckdb
import pytest

from pipelines import steps
from pipelines.home import Home
from tests.marts import odd_days

#: A system that is recorded from the hour before midnight on.
OVER_MIDNIGHT = odd_days.Machine("MIDN", "PLEXE", "Europe/Berlin", dt.datetime(2026, 6, 10, 22, 45), 8)
RUNS = """system_id,smf_sid,point,condition,start_utc,end_utc
ODD,EUR1,base,,2026-03-29T00:45:00Z,2026-03-29T01:45:00Z
ODD,MIDN,night,baseline=base,2026-06-10T23:15:00Z,2026-06-11T00:30:00Z
"""


def odd_warehouse(folder: Path) -> Home:
    """Overlapping dumps of a day on which clocks are set, and of a run over midnight; the marts are built at once."""
    home = Home(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(odd_days, "MACHINES", (odd_days.MACHINES[0], OVER_MIDNIGHT))
        odd_days.load_dumps(home.root, home.warehouse)
    (home.root / "odd.runs.csv").write_text(RUNS)
    steps.ingest(home, [home.root / "odd.runs.csv"])
    steps.build(home)
    return home


def marts(home: Home) -> dict[str, list[tuple[str, list[float]]]]:
    """Every mart: rows by what is not a double, and the doubles."""
    found = {}
    with duckdb.connect(str(home.warehouse), read_only=True) as con:
        listed = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts'").fetchall()
        for (name,) in listed:
            rows = con.execute(f"SELECT * FROM marts.{name}").fetchall()
            keyed = [
                (repr([v for v in row if not isinstance(v, float)]), [v for v in row if isinstance(v, float)])
                for row in rows
            ]
            found[name] = sorted(keyed, key=lambda row: (row[0], [float(f"{value:.6g}") for value in row[1]]))
    return found


Rows = dict[str, list[tuple[str, list[float]]]]


def assert_equal(one: Rows, other: Rows) -> None:
    """The same marts, doubles to 1e-9."""
    assert one.keys() == other.keys()
    for name, rows in one.items():
        assert [row[0] for row in rows] == [row[0] for row in other[name]], name
        for (key, values), (_, others) in zip(rows, other[name], strict=True):
            close = [math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(values, others, strict=True)]
            assert all(close), (name, key, values, others)
