"""Large dumps: their rows in files beside the database, and everything else as with any other."""

import errno
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import units
from ingest.running import Here, Processes
from ingest.snapshot import BadQuery
from ingest.units.parts import merge
from ingest.warehouse import (
    FileReport,
    load,
    merge_small,
    merging,
    open_writer,
    parts,
    prepare,
    publish,
    query,
    remove,
    waves,
)
from tests.ingest.units.dumps import dump
from tests.ingest.warehouse.holdings import content, files, named
from tests.runners import Twice

SCHEMA = pa.schema([pa.field("file_id", pa.int64(), metadata={"etalon.unsigned": "64"}), pa.field("x", pa.int64())])
LOADER = sys.modules["ingest.warehouse.load"]


@pytest.fixture
def in_parts(monkeypatch):
    """Dumps of a few kilobytes are large, and a row makes a file."""
    monkeypatch.setattr(Here, "unit_bytes", 60_000)
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    monkeypatch.setattr(LOADER, "_FEWEST_UNITS", 1000)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """Two dumps, of which the second has all records of the first, once in blocks and once without."""
    folder = tmp_path_factory.mktemp("in")
    (folder / "1.smf").write_bytes(dump("rdw"))
    (folder / "2.smf").write_bytes(dump("bdw") + dump("bdw"))
    return folder


@pytest.fixture(scope="module")
def in_tables(inputs, layouts, new_warehouse, tmp_path_factory) -> tuple[list[FileReport], dict[str, list]]:
    """The same loaded into tables: reports, and what the tables hold."""
    database = new_warehouse(tmp_path_factory.mktemp("tables") / "etalon.duckdb")
    return load([inputs], database, layouts), content(database)


@pytest.fixture
def loaded(database, inputs, layouts, in_parts) -> Path:
    """A warehouse with both dumps, in parts."""
    load([inputs], database, layouts)
    return database


def test_rows_ledger_and_overlaps_are_those_of_a_load_into_tables(
    database, layouts, inputs, in_tables, in_parts, monkeypatch
):
    monkeypatch.setattr(LOADER, "_FEWEST_UNITS", 4)
    reports = load([inputs], database, layouts)
    assert [vars(report) for report in reports] == [vars(report) for report in in_tables[0]]
    assert content(database) == in_tables[1]
    assert named(database) == files(database)
    assert {path.partition("/")[0] for path in files(database)} >= {"smf110_1_performance", "record_identity"}
    assert [report.status for report in load([inputs], database, layouts)] == ["unchanged"] * 2


class Failing(Here):
    """Cannot decode units with records of one file."""

    unit_bytes = 1 << 30

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, function, items):
        given = list(items)
        if function is not units.scan and any(self.name in piece.file.path for unit in given for piece in unit.pieces):
            raise ValueError("a defect")
        return map(function, given)


def test_files_decoded_together_in_processes_twice_are_those_loaded_one_after_another(
    database, layouts, inputs, in_tables, monkeypatch
):
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    with Processes(2) as processes:
        reports = load([inputs], database, layouts, runner=Twice(processes, 60_000))
    assert [vars(report) for report in reports] == [vars(report) for report in in_tables[0]]
    assert content(database) == in_tables[1]
    left = {path for path in files(database) - named(database) if not path.startswith("quarantine/")}
    assert len(left) == len(named(database)), "those of the other attempt"
    publish(database, database.with_name("s.duckdb"), layouts)
    assert files(database) == named(database)


def test_a_file_that_cannot_be_decoded_takes_none_of_those_in_its_unit_with_it(database, layouts, inputs, monkeypatch):
    monkeypatch.setattr(LOADER, "_SHARED_BYTES", 1000)
    reports = load([inputs], database, layouts, runner=Failing("2.smf"))
    assert [report.status for report in reports] == ["loaded", "failed"]
    assert [report.status for report in load([inputs], database, layouts)] == ["unchanged", "loaded"]


KILLED = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from ingest import registry
from ingest.running import Here
from ingest.warehouse import load, waves
from tests.runners import Killing

waves._PART_BYTES = 1
database, inputs, layouts = sys.argv[1:]
registry.LAYOUT_DIR = Path(layouts)
load([inputs], database, registry.load(), runner=Killing(Here(), 60_000))
"""


def test_a_driver_killed_before_it_commits_has_loaded_nothing(
    database, layouts, inputs, in_tables, in_parts, few_layouts
):
    command = [sys.executable, "-c", KILLED, str(database), str(inputs), str(few_layouts.folder)]
    assert subprocess.run(command, check=False).returncode == -9
    left = files(database)
    assert left and not named(database)
    load([inputs], database, layouts)
    assert content(database) == in_tables[1]
    publish(database, database.with_name("s.duckdb"), layouts)
    assert files(database) == named(database)
    assert not named(database) & left


def test_loaded_again_a_file_has_other_files_and_the_same_rows(loaded, inputs, layouts, in_tables):
    before = files(loaded)
    load([inputs], loaded, layouts, reload="always")
    assert content(loaded) == in_tables[1]
    assert not named(loaded) & before


def test_a_file_that_is_forgotten_leaves_what_the_other_has(loaded, inputs, layouts, new_warehouse, tmp_path):
    """Where both have rows in the same parts, and where these become parts of the other one."""
    never = new_warehouse(tmp_path / "never" / "etalon.duckdb")
    load([inputs / "2.smf"], never, layouts)
    with open_writer(loaded) as con:
        merge_small(con, most=1)
    remove(loaded, ["1.smf"])
    left = content(loaded)
    assert left == content(never)
    load([inputs / "1.smf"], loaded, layouts)
    both = content(loaded)
    with open_writer(loaded) as con:
        assert con.execute("SELECT count(*) > 0 FROM meta.part_hole").fetchone() == (True,)
        assert merge_small(con, most=1) > 0
        assert con.execute("SELECT count(*) FROM meta.part_hole").fetchone() == (0,)
    assert content(loaded) == both
    remove(loaded, ["1.smf"])
    assert content(loaded) == left
    remove(loaded, ["2.smf"])
    assert not named(loaded)
    assert files(loaded)


def test_small_parts_become_few_with_the_same_rows(loaded, layouts, in_tables, monkeypatch):
    before = files(loaded)
    monkeypatch.setattr(merging, "MOST_SMALL", 1)
    publish(loaded, loaded.with_name("s.duckdb"), layouts)
    with open_writer(loaded) as con:
        sizes = con.execute("SELECT count(*), count(DISTINCT path) FROM meta.part WHERE table_name = 'record_identity'")
        assert sizes.fetchone() == (2, 1)
        assert merge_small(con, most=1) == 0
    assert content(loaded) == in_tables[1]
    assert files(loaded) == named(loaded)
    assert not named(loaded) & before and len(named(loaded)) < len(before)


MERGED = """
import os, signal, sys
from ingest.warehouse import merge_small, open_writer

class Killing:
    def __init__(self, con):
        self.con = con

    def __getattr__(self, name):
        return getattr(self.con, name)

    def execute(self, sql, *values):
        if sql == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.con.execute(sql, *values)

merge_small(Killing(open_writer(sys.argv[1])), most=1)
"""


def test_a_merge_that_is_killed_before_it_commits_changes_nothing(loaded, layouts, in_tables):
    before = named(loaded)
    assert subprocess.run([sys.executable, "-c", MERGED, str(loaded)], check=False).returncode == -9
    assert (named(loaded), content(loaded)) == (before, in_tables[1])
    assert files(loaded) > before
    publish(loaded, loaded.with_name("s.duckdb"), layouts)
    assert files(loaded) == before


@pytest.mark.parametrize("failing", [pq.ParquetWriter, merging])
def test_a_merge_for_which_the_disk_is_too_full_is_left_out_of_a_publication(
    loaded, layouts, in_tables, monkeypatch, caplog, failing
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = files(loaded)
    monkeypatch.setattr(merging, "MOST_SMALL", 1)
    monkeypatch.setattr(failing, "write_table" if failing is pq.ParquetWriter else "sync", refuse)
    with open_writer(loaded) as con, pytest.raises(OSError, match="No space left"):
        merge_small(con, most=1)
    assert files(loaded) == before
    snapshot = publish(loaded, loaded.with_name("s.duckdb"), layouts)
    assert "small parts were not merged: [Errno 28] No space left" in caplog.text
    assert files(loaded) == named(loaded) == named(snapshot) == before
    assert content(loaded) == in_tables[1]


def test_a_part_of_which_less_than_half_counts_is_written_again(loaded, layouts, in_tables):
    with open_writer(loaded) as con:
        merge_small(con, most=1)
    remove(loaded, ["2.smf"])
    left, before = content(loaded), named(loaded)
    publish(loaded, loaded.with_name("s.duckdb"), layouts)
    assert content(loaded) == left
    assert files(loaded) == named(loaded) and not named(loaded) & before
    with open_writer(loaded) as con:
        assert con.execute("SELECT count(*) FROM meta.part_hole").fetchone() == (0,)
        rows = con.execute("SELECT path, sum(rows) FROM meta.part GROUP BY ALL").fetchall()
    assert all(pq.read_metadata(loaded.with_suffix(".parts") / path).num_rows == count for path, count in rows)


PIECE = st.tuples(st.integers(0, 2**64 - 1), st.lists(st.integers(-5, 5), max_size=4))


@given(st.lists(PIECE, min_size=1, max_size=5), st.data())
def test_merged_files_have_the_rows_that_count_in_their_order(pieces, data):
    with TemporaryDirectory() as name:
        paths, kept, expected = [], [], []
        for place, (file_id, numbers) in enumerate(pieces):
            ids = [parts.signed_id((file_id + number) % 2**64) for number in numbers]
            paths.append(Path(name, f"{place}.parquet"))
            pq.write_table(pa.table({"file_id": pa.array(ids, pa.int64()), "x": numbers}, SCHEMA), paths[-1])
            kept.append(data.draw(st.none() | st.lists(st.sampled_from(ids or [0]), max_size=2)))
            rows = zip(ids, numbers, strict=True)
            expected += [row for row in rows if kept[-1] is None or row[0] in kept[-1]]
        made = pq.read_table(merge(paths, kept, Path(name, "made")))
        assert made.schema == SCHEMA
        assert list(zip(*made.to_pydict().values(), strict=True)) == expected


def test_a_load_that_fails_leaves_no_row_and_no_file(database, inputs, layouts, in_parts, monkeypatch):
    def refuse(*_: object) -> None:
        raise ValueError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(LOADER.overlaps, "leave_unsettled", refuse)
        reports = load([inputs / "1.smf"], database, layouts)
    assert [report.status for report in reports] == ["failed"]
    assert not files(database)
    assert [report.status for report in load([inputs / "1.smf"], database, layouts)] == ["loaded"]


READER = """
import duckdb, sys
con = duckdb.connect(sys.argv[1], read_only=True)
for _ in sys.stdin:
    print(con.execute("SELECT count(*) FROM raw.smf110_1_performance").fetchone()[0], flush=True)
"""


def test_a_snapshot_keeps_its_files_while_another_process_reads_it(loaded, layouts, tmp_path):
    snapshot = publish(loaded, tmp_path / "published" / "etalon.duckdb", layouts)
    count = "SELECT count(*) AS n FROM raw.smf110_1_performance"
    [before] = query(snapshot, count)["n"].to_pylist()
    command = [sys.executable, "-c", READER, str(snapshot)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:

        def asked() -> int:
            reader.stdin.write("again\n")
            reader.stdin.flush()
            return int(reader.stdout.readline())

        assert asked() == before
        remove(loaded, ["2.smf"])
        publish(loaded, snapshot, layouts)
        publish(loaded, snapshot, layouts)
        [after] = query(snapshot, count)["n"].to_pylist()
        assert 0 < after < before
        assert asked() == before
        reader.stdin.close()
    publish(loaded, snapshot, layouts)
    assert files(loaded) == named(loaded)
    assert [path.name for path in snapshot.parent.iterdir()] == ["etalon.duckdb"]


def test_what_killed_loads_left_goes_when_a_snapshot_is_published(loaded, layouts, tmp_path):
    left = loaded.with_suffix(".parts") / "smf110_1_performance" / "of-a-killed-load.parquet"
    left.write_bytes(b"half a file")
    publish(loaded, tmp_path / "etalon.duckdb", layouts)
    assert files(loaded) == named(loaded)


def test_a_query_of_a_snapshot_writes_no_file_beside_those_it_reads(loaded, layouts, tmp_path):
    snapshot = publish(loaded, tmp_path / "s.duckdb", layouts)
    written = loaded.with_suffix(".parts") / "out.parquet"
    copy = f"COPY (SELECT 1) TO '{written}'"
    for sql in (copy, f"EXPLAIN ANALYZE {copy}", f"EXPLAIN (ANALYZE, FORMAT json) {copy}", f"ATTACH '{written}'"):
        with pytest.raises(BadQuery):
            query(snapshot, sql)
    assert not written.exists()
    assert query(snapshot, "EXPLAIN SELECT * FROM raw.smf110_1_performance").num_rows


def test_a_warehouse_that_was_moved_reads_its_files_where_they_are(loaded, layouts, tmp_path, in_tables):
    moved = tmp_path / "moved" / "etalon.duckdb"
    shutil.move(loaded.parent, moved.parent)
    prepare(moved, layouts)
    assert content(moved) == in_tables[1]
