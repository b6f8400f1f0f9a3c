"""Systems that share an SMF identifier are told apart by sysplex and machine, whichever file comes first."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from ingest import registry
from ingest.warehouse import load, make_views, open_writer
from ingest.warehouse.systems import name_systems
from tests.marts.unusual import Interval, Lpar, quarters, write

REGISTRY = registry.load()
VIEWS = ("smf70_1_control", "smf72_3_control", "smf30_header", "smf30_cpu")
FIRST = Interval("SYSA", Lpar("SYSA"), sysplex="PLEX1", serial="01111", tasks=["ONE"])
SECOND = Interval("SYSA", Lpar("SYSA"), sysplex="PLEX2", serial="02222", tasks=["TWO"])
ALONE = Interval("SYSB", Lpar("SYSB"), sysplex="PLEX1", serial="01111", tasks=["ONE"])


def named(warehouse: Path) -> dict[str, dict[str, int]]:
    """Records by table and name of their system, after naming."""
    with open_writer(warehouse) as con:
        name_systems(con)
    make_views(warehouse, REGISTRY, VIEWS)
    with open_writer(warehouse) as con:
        return {
            view: dict(
                con.execute(f"SELECT smf_sid, count(*) FROM staging.stg_{view} GROUP BY ALL ORDER BY 1").fetchall()
            )
            for view in VIEWS
        }


@pytest.mark.parametrize("order", permutations(("one", "two")))
def test_names_do_not_depend_on_the_order_of_files(tmp_path: Path, order: tuple[str, str]) -> None:
    files = {"one": [*quarters(FIRST, 8, 9), *quarters(ALONE, 8, 9)], "two": quarters(SECOND, 8, 9)}
    warehouse = tmp_path / "etalon.duckdb"
    for name in order:
        load([write(tmp_path / f"{name}.smf", files[name], REGISTRY)], warehouse, REGISTRY)
    assert named(warehouse) == {view: {"PLEX1.SYSA": 4, "PLEX2.SYSA": 4, "SYSB": 4} for view in VIEWS}


def test_records_of_one_file_go_by_the_sysplex_that_they_say(tmp_path: Path) -> None:
    warehouse = tmp_path / "etalon.duckdb"
    load(
        [write(tmp_path / "all.smf", [*quarters(FIRST, 8, 9), *quarters(SECOND, 8, 9)], REGISTRY)], warehouse, REGISTRY
    )
    assert named(warehouse) == {view: {"PLEX1.SYSA": 4, "PLEX2.SYSA": 4} for view in VIEWS}


def test_only_a_second_system_with_an_identifier_changes_what_marts_are_built_with(tmp_path: Path) -> None:
    warehouse = tmp_path / "etalon.duckdb"
    marks = []
    for name, intervals in (
        ("one", quarters(FIRST, 8, 9)),
        ("next", quarters(FIRST, 9, 10)),
        ("two", quarters(SECOND, 8, 9)),
        ("later", quarters(SECOND, 9, 10)),
    ):
        load([write(tmp_path / f"{name}.smf", intervals, REGISTRY)], warehouse, REGISTRY)
        with open_writer(warehouse) as con:
            marks.append(name_systems(con))
    assert marks[:2] == ["", ""]
    assert marks[2] == marks[3] != ""


def test_an_lpar_that_moved_keeps_its_name(tmp_path: Path) -> None:
    moved = [*quarters(FIRST, 8, 9), *(one.at(one.start, serial="03333") for one in quarters(FIRST, 9, 10))]
    warehouse = tmp_path / "etalon.duckdb"
    load([write(tmp_path / "moved.smf", moved, REGISTRY)], warehouse, REGISTRY)
    assert named(warehouse) == {view: {"SYSA": 8} for view in VIEWS}
