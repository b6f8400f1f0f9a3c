"""A build makes anew what files touch, and ends where a build of everything would have."""

import datetime as dt
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.smf import decode_batches, encode_dump
from ingest.registry import load as load_layouts
from pipelines import steps
from pipelines.building import held_back, merge, window
from pipelines.building.marts import building
from pipelines.building.models import Project
from pipelines.building.touched import Span, _packed, union, written_limits
from pipelines.exits import EtalonError, Exit
from pipelines.home import DBT_PROJECT, Home
from tests.full_disk import files_no_larger_than
from tests.pipelines.building import load

EMPTY = Project((), (), {})
ROOT = Path(__file__).resolve().parents[2]
HOURS = st.integers(0, 500).map(lambda hour: dt.datetime(2025, 12, 1) + dt.timedelta(hours=hour))
SPANS = st.lists(st.tuples(HOURS, st.integers(1, 40)).map(lambda s: Span(s[0], s[0] + dt.timedelta(hours=s[1]))))


@given(SPANS)
def test_stretches_joined_hold_the_same_hours_without_meeting(spans):
    def hours(some):
        return {
            s.start + dt.timedelta(hours=n) for s in some for n in range((s.end - s.start) // dt.timedelta(hours=1))
        }

    joined = union(spans)
    assert hours(joined) == hours(spans)
    assert all(one.end < next_.start for one, next_ in pairwise(joined))


@given(HOURS)
def test_the_time_of_writing_is_read_as_it_is_looked_for(moment):
    low, high = written_limits(Span(moment, moment + dt.timedelta(hours=1)), "smf")
    assert _packed(low >> 32, (low & 0xFFFFFFFF) // 360_000) == moment
    assert low < high


def test_what_is_no_date_of_a_record_is_told_from_one():
    assert _packed(0x0126251A, 3) is not None
    assert _packed(0x0126000F, 3) is None
    assert _packed(0xC1C2C3C4, 3) is None


def test_of_every_mart_it_is_known_which_rows_belong_to_a_stretch_of_time():
    marts = {}
    for path in (DBT_PROJECT / "models" / "marts").rglob("*.yml"):
        for model in yaml.safe_load(path.read_text()).get("models", []):
            marts[model["name"]] = [column["name"] for column in model["columns"]]
    assert len(marts) > 20
    assert merge.has_rule(marts) == []


def split(dump: Path) -> dict[int, bytes]:
    """The records of a dump by the day of their writing."""
    data, at, days = dump.read_bytes(), 0, defaultdict(list)
    while at < len(data):
        size = int.from_bytes(data[at : at + 2])
        days[int(data[at + 10 : at + 14].hex()[4:7])].append(data[at : at + size])
        at += size
    return {day: b"".join(records) for day, records in days.items()}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory) -> dict[tuple[str, int], Path]:
    """Daily dumps of six days of two LPARs of one machine."""
    from model.lab.twin import Twin, live, write

    folder = tmp_path_factory.mktemp("twin")
    for path in (ROOT / "model" / "lab" / "twin" / "twins").glob("lpars-weights*"):
        text = path.read_text().replace("days = 21", "days = 6").replace("interval_s = 900", "interval_s = 3600")
        (folder / path.name).write_text(text)
    found = {}
    for dump in write(live(Twin.load(folder / "lpars-weights.toml")), folder / "records"):
        if dump.suffix != ".smf":
            continue
        for number, data in enumerate(split(dump).values()):
            lpar = dump.stem.rpartition(".")[2]
            found[lpar, number] = folder / f"{lpar}.{number}.smf"
            found[lpar, number].write_bytes(data)
    return found


def marts(home: Home) -> dict[str, list[tuple[str, ...]]]:
    """Every mart as rows in order, doubles to ten digits: a sum depends on its order."""
    with duckdb.connect(str(home.warehouse), read_only=True) as con:
        names = [
            row[0]
            for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts'").fetchall()
        ]
        found = {}
        for name in names:
            rows = con.execute(f"SELECT * FROM marts.{name} ORDER BY ALL").fetchall()
            found[name] = sorted(
                tuple(f"{value:.9e}" if isinstance(value, float) else str(value) for value in row) for row in rows
            )
    return found


def contradicting(dump: Path) -> bytes:
    """A dump in which the work that was done took ten times the CPU that there was."""
    known = load_layouts()
    (batch,) = decode_batches(dump, known)
    periods = batch.tables["smf72_3_period"]
    at = periods.schema.get_field_index("r723ccpu")
    too_much = pa.array(10 * periods["r723ccpu"].to_numpy())
    return encode_dump({**batch.tables, "smf72_3_period": periods.set_column(at, "r723ccpu", too_much)}, known)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_nights_with_late_files_overlaps_and_full_disks_end_where_one_build_does(dumps, tmp_path):
    """So does a night with an LPAR that contradicts itself, whose records of that day alone do not count."""
    home = Home(tmp_path / "state")
    sick = tmp_path / "sick.smf"
    sick.write_bytes(dumps["PRDA", 5].read_bytes() + contradicting(dumps["PRDB", 5]))
    overlapping = tmp_path / "overlap.smf"
    overlapping.write_bytes(dumps["PRDB", 1].read_bytes() + dumps["PRDA", 1].read_bytes())
    late = ("PRDB", 1)
    nights = [
        [path for (lpar, day), path in dumps.items() if day < 5 and (lpar, day) != late],
        [sick, dumps[late], overlapping],
    ]
    built = []
    for files in nights:
        steps.ingest(home, files)
        with files_no_larger_than(500_000), pytest.raises((EtalonError, duckdb.Error), match="File too large"):
            steps.build(home)
        built.append(steps.build(home))
        assert steps.judge(home).verdict == "warn"
        waiting = held_back.unpublished(home)
        steps.publish(home)
    assert built[0] == "all of it: first build"
    assert built[1].count(" to ") == 2, built
    assert steps.build(home) == "", "nothing has come, and yet something was built"
    by_night = marts(home)
    assert steps.build(home, everything=True).startswith("all of it")
    assert by_night == marts(home)
    assert by_night["fct_service_class"]
    assert [line.partition(" records")[0] for line in waiting] == ["PRDB: 8", "PRDB: 184"]
    last = "SELECT max(interval_start_local)::VARCHAR FROM marts.dim_interval GROUP BY smf_sid ORDER BY smf_sid"
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        assert con.execute(last).fetchall() == [("2026-09-12 22:00:00",), ("2026-09-11 22:00:00",)]


def test_a_file_that_was_taken_out_while_its_marts_were_built_has_all_built_again(tmp_path, new_warehouse):
    from ingest import warehouse
    from pipelines.building import touched

    with warehouse.open_writer(new_warehouse(tmp_path / "w.duckdb")) as con:
        touched.record(con, "project", touched.Plan(everything=True, files={7: "loaded"}))
        assert touched.plan(con, "project").everything
        touched.record(con, "project", touched.plan(con, "project"))
        assert touched.plan(con, "project").nothing


def test_what_was_built_and_not_published_is_built_again(tmp_path, new_warehouse):
    from ingest import warehouse
    from pipelines.building import touched

    database = new_warehouse(tmp_path / "w.duckdb")
    with warehouse.open_writer(database) as con:
        touched.forget(con)
        assert touched.plan(con, "a").everything
        touched.record(con, "a", touched.everything(con))
        assert touched.plan(con, "a").nothing
        assert touched.plan(con, "b").reason == "models, metrics or system names have changed"
        load(con, 1)
        assert (touched.changes(con), touched.unpublished(con)) == (((1,), ()), ())
        touched.record(con, "a", touched.plan(con, "a"))
        load(con, 2)
        assert (touched.changes(con), touched.unpublished(con)) == (((1, 2), ()), (1,))
        con.execute("DELETE FROM meta.ledger WHERE file_id = 2")
        touched.confirm(con)
        assert touched.unpublished(con) == ()
        assert touched.changes(con) == ((), ())
        con.execute("DELETE FROM meta.ledger")
        assert touched.changes(con) == ((), (1,))


def test_the_setting_of_clocks_is_read_for_steps_that_ran_through_it(tmp_path, new_warehouse):
    """Records of October to December; clocks were put back on October 25th, and a file of December 30th is gone."""
    from ingest import warehouse
    from pipelines.building import touched

    first, last, end = (dt.datetime(*day) for day in ((2026, 10, 1), (2026, 12, 30), (2027, 1, 1)))
    read = {}
    with warehouse.open_writer(new_warehouse(tmp_path / "w.duckdb")) as con:
        touched.record(con, "a", touched.everything(con))
        load(con, 1)
        con.execute(f"INSERT INTO meta.built_file SELECT 1, {touched._STATE}, ?, ? FROM meta.ledger", [first, end])
        con.execute("INSERT INTO meta.built_file VALUES (2, '', $1, $1 + INTERVAL 1 DAY)", [last])
        con.execute("CREATE SCHEMA intermediate")
        for ahead_after in (2, 1):
            con.execute(
                "CREATE OR REPLACE TABLE intermediate.int_interval AS SELECT 'PRDA' AS smf_sid, utc AS "
                "interval_start_utc, date_trunc('second', utc + INTERVAL 500 MILLISECOND) "
                "+ to_hours(if(utc < '2026-10-25 01:00', 2, ?)) AS interval_start_local "
                "FROM (SELECT start + to_milliseconds(hour(start) % 2 * -10) AS utc "
                "FROM range(?, ?, INTERVAL 1 HOUR) AS hours(start))",
                [ahead_after, first, end],
            )
            read[ahead_after] = touched.plan(con, "a").read
    assert len(read[2]) == 1 and read[1][1:] == read[2]
    assert read[1][0].start < dt.datetime(2026, 10, 25, 2) < read[1][0].end < dt.datetime(2026, 10, 27)


@pytest.mark.parametrize("everything", [True, False])
def test_what_comes_while_dbt_runs_is_left_for_the_next_build(tmp_path, new_warehouse, everything):
    from ingest import warehouse
    from pipelines.building import touched

    database = new_warehouse(tmp_path / "w.duckdb")
    with warehouse.open_writer(database) as con:
        touched.record(con, "a", touched.everything(con))
        load(con, 1)
        load(con, 2)
        plan = touched.everything(con) if everything else touched.plan(con, "a")
        load(con, 3)
        con.execute("UPDATE meta.ledger SET overlap = 1 WHERE file_id = 2")
        touched.record(con, "a", plan)
        touched.confirm(con)
        assert touched.changes(con) == ((2, 3), ())


def test_what_reaches_no_mart_touches_no_time_and_a_printed_report_its_own(tmp_path, new_warehouse):
    from ingest import warehouse
    from pipelines.building import touched
    from pipelines.coverage import marts_of

    assert not [table for table in marts_of() if table.startswith("dcollect")]
    database = new_warehouse(tmp_path / "w.duckdb")
    with warehouse.open_writer(database) as con:
        load(con, 1, "dcollect")
        load(con, 2, "rmf_text")
        load(con, 3, "table")
        con.execute(
            "INSERT INTO raw.rmf_report BY NAME SELECT 2::ubigint AS file_id, 0::uinteger AS record_seq, "
            "0::uinteger AS section_seq, 'data' AS status, TIMESTAMP '2026-03-01 10:15:00' AS interval_start_local"
        )
        hour = dt.datetime(2026, 3, 1, 10)
        assert touched.stretches(con, (1,)) == ()
        assert touched.stretches(con, (1, 2)) == (Span(hour, hour + dt.timedelta(hours=1)),)
        assert touched.stretches(con, (1, 2, 3)) is None


HOLD = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"


def test_a_build_beside_another_writer_is_told_to_wait(tmp_path):
    from ingest.warehouse import WarehouseLocked
    from pipelines.building.touched import Plan

    warehouse = tmp_path / "etalon.duckdb"
    command = [sys.executable, "-c", HOLD, warehouse]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        writer.stdout.readline()
        with pytest.raises(WarehouseLocked, match="wait until it ends"):
            merge.merge(warehouse, tmp_path / "window.duckdb", Plan(), EMPTY, lambda _: None)
        with pytest.raises(WarehouseLocked, match="wait until it ends"):
            window.cut(warehouse, tmp_path / "window.duckdb", Plan())
        writer.communicate()


def test_a_build_beside_another_build_is_refused(tmp_path, new_warehouse):
    home = Home(tmp_path)
    new_warehouse(home.warehouse)
    refused_by = pytest.raises(EtalonError, match="another build")
    with building(home, EMPTY), refused_by as refused, building(home, EMPTY):
        pass
    assert refused.value.code is Exit.LOCKED
    with building(home, EMPTY) as work:
        assert work is None, "the first one ended well"
