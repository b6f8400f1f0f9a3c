"""Builds from warehouses that have the rows of large dumps in files of their own."""

import datetime as dt
import sys
from pathlib import Path

import duckdb
import pytest

from ingest.running import Here
from ingest.warehouse import load, make_views, merge_small, merging, open_writer, waves
from pipelines import steps
from pipelines.building import touched, window
from pipelines.building.marts import only_one
from pipelines.building.touched import Span
from pipelines.building.window import Cut
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import retention
from tests.ingest.units.dumps import dump
from tests.ingest.warehouse.holdings import files as files_of
from tests.ingest.warehouse.holdings import named

LOADER = sys.modules["ingest.warehouse.load"]
TABLES = ("smf70_1_partition", "smf110_1_performance")
DAY = Span(dt.datetime(2026, 3, 4), dt.datetime(2026, 3, 5))


@pytest.fixture
def warehouses(tmp_path, new_warehouse, few_layouts, monkeypatch) -> list[Path]:
    """One with a dump in tables, one with the same in parts."""
    (tmp_path / "a.smf").write_bytes(dump("rdw"))
    made = [new_warehouse(tmp_path / form / "etalon.duckdb") for form in ("tables", "parts")]
    load([tmp_path / "a.smf"], made[0], few_layouts.registry)
    monkeypatch.setattr(Here, "unit_bytes", 60_000)
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    load([tmp_path / "a.smf"], made[1], few_layouts.registry)
    for path in made:
        with duckdb.connect(str(path)) as con:
            touched.create(con)
    return made


def rows(database: Path, table: str) -> list[tuple]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(f"SELECT * FROM raw.{table} ORDER BY file_id, record_seq, section_seq").fetchall()


def test_the_time_of_records_in_parts_is_that_of_records_in_tables(warehouses):
    spans = []
    for path in warehouses:
        with duckdb.connect(str(path), read_only=True) as con:
            [(file_id,)] = con.execute("SELECT file_id FROM meta.ledger").fetchall()
            spans.append(touched._hours_written(con, file_id, "smf"))
    assert sorted(map(str, spans[0])) == sorted(map(str, spans[1]))


def test_a_window_reads_the_parts_of_whole_files_and_copies_none(warehouses, few_layouts):
    with duckdb.connect(str(warehouses[0]), read_only=True) as con:
        files = dict(con.execute("SELECT file_id, NULL FROM meta.ledger").fetchall())
    made = [path.with_name("window.duckdb") for path in warehouses]
    for path, scratch in zip(warehouses, made, strict=True):
        window.cut(path, scratch, Cut(read=(DAY,), files=files))
        assert make_views(scratch, few_layouts.registry, TABLES) == {*TABLES}
    for table in TABLES:
        assert rows(made[1], table) == rows(made[0], table) == rows(warehouses[0], table) != []
    assert not made[1].with_suffix(".parts").exists()


def test_a_window_reads_the_wanted_files_of_parts_with_several(warehouses, few_layouts, tmp_path):
    (tmp_path / "b.smf").write_bytes(dump("rdw") + dump("rdw")[:-9])
    load([tmp_path / "b.smf"], warehouses[1], few_layouts.registry)
    with duckdb.connect(str(warehouses[0]), read_only=True) as con:
        [(file_id,)] = con.execute("SELECT file_id FROM meta.ledger").fetchall()
    with open_writer(warehouses[1]) as con:
        assert merge_small(con, most=1) > 0
    scratch = warehouses[1].with_name("window.duckdb")
    window.cut(warehouses[1], scratch, Cut(read=(DAY,), files={file_id: None}))
    for table in TABLES:
        assert rows(scratch, table) == rows(warehouses[0], table) != rows(warehouses[1], table)


def test_a_window_of_another_time_reads_no_part(warehouses):
    """A file that was built before counts with the records of the time, and none of its parts is of it."""
    other = Span(dt.datetime(2027, 3, 4), dt.datetime(2027, 3, 5))
    with duckdb.connect(str(warehouses[1])) as con:
        con.execute(
            "INSERT INTO meta.built_file SELECT file_id, '', ?, ? FROM meta.ledger",
            [DAY.start, other.end],
        )
    scratch = warehouses[1].with_name("window.duckdb")
    window.cut(warehouses[1], scratch, Cut(read=(other,), files={}))
    assert [rows(scratch, table) for table in TABLES] == [[], []]
    window.cut(warehouses[1], scratch, Cut(read=(DAY,), files={}))
    assert rows(scratch, "smf110_1_performance") == rows(warehouses[0], "smf110_1_performance")


def test_a_warehouse_with_parts_is_made_small_and_holds_the_rest(warehouses):
    before = [rows(warehouses[1], table) for table in TABLES]
    retention.compact(warehouses[1])
    assert [rows(warehouses[1], table) for table in TABLES] == before


def test_what_a_build_of_some_time_left_is_read_after_parts_were_merged(
    tmp_path, new_warehouse, few_layouts, monkeypatch
):
    monkeypatch.setattr(Here, "unit_bytes", 60_000)
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    monkeypatch.setattr(merging, "MOST_SMALL", 1)
    home = Home(tmp_path / "state")
    new_warehouse(home.warehouse)
    (tmp_path / "a.smf").write_bytes(dump("rdw"))
    load([tmp_path / "a.smf"], home.warehouse, few_layouts.registry)
    with open_writer(home.warehouse) as con:
        touched.create(con)
        files = dict(con.execute("SELECT file_id, NULL FROM meta.ledger").fetchall())
    home.window.parent.mkdir()
    window.cut(home.warehouse, home.window, Cut(read=(DAY,), files=files))
    before = [rows(home.window, table) for table in TABLES]
    assert all(before)
    with only_one(home), pytest.raises(EtalonError, match="another build") as refused:
        steps.publish(home)
    assert refused.value.code is Exit.LOCKED
    steps.publish(home)
    merged = named(home.warehouse)
    assert not merged & named(home.window)
    assert files_of(home.warehouse) == merged | named(home.window)
    assert [rows(home.window, table) for table in TABLES] == before
    home.window.unlink()
    steps.publish(home)
    assert files_of(home.warehouse) == merged
