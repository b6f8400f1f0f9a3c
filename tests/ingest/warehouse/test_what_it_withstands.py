"""Inputs that are no input, machines that die, processes that collide: one clear message, and nothing half done."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import duckdb
import pytest

from ingest import registry
from ingest.formats.identify import Kind, identify
from ingest.snapshot import BadQuery, SnapshotDamaged, SnapshotMissing
from ingest.warehouse import (
    ExitCode,
    WarehouseError,
    WarehouseLocked,
    WarehouseMissing,
    exit_code,
    export_schema,
    kept_open,
    ledger,
    load,
    prepare,
    publish,
    query,
    version,
)
from ingest.warehouse.writer import open_writer
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import RUNS, report_xml, write

KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from ingest import registry
    from ingest.warehouse import load

    database, folder, fatal = sys.argv[1], sys.argv[2], int(sys.argv[3])
    registry.LAYOUT_DIR = Path(sys.argv[4])
    sys.modules["ingest.warehouse.load"]._SHARED_BYTES = 8000
    steps = 0

    def progress(path, step, records):
        global steps
        if steps == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1

    print("ready", flush=True)
    load([folder], database, registry.load(), progress=progress)
    """
)


def run_and_die(database, folder, step, layouts) -> int:
    """Load in another process that is killed at the given step; its return code."""
    return subprocess.run([sys.executable, "-c", KILLED, database, folder, str(step), layouts], timeout=120).returncode


@pytest.fixture
def inputs(tmp_path, dump):
    """A folder of files of every kind, some of them damaged."""
    line = "cics,SYSA,p,rate=1,2020-01-01T00:00:00Z,2020-01-01T00:05:00Z\n"
    return write(
        tmp_path / "in",
        a__xml=report_xml(*range(50)),
        b__xml=report_xml(1, 2, 3)[:-60],
        c__bin=bytes(5000),
        d__runs__csv=RUNS + line,
        e__xml=report_xml(*range(20), system="SYSB"),
        f__smf=dump,
        g__smf=dump[: len(dump) // 2 + 7],
    )


@pytest.mark.slow
def test_killed_at_every_step_and_run_again_gives_the_same_tables(tmp_path, inputs, layouts, few_layouts, monkeypatch):
    monkeypatch.setattr(sys.modules["ingest.warehouse.load"], "_SHARED_BYTES", 8000)
    undisturbed = tmp_path / "undisturbed.duckdb"
    steps = []
    load([inputs], undisturbed, layouts, progress=lambda path, step, records: steps.append(step))
    expected = content_hash(undisturbed)
    assert steps.count("commit") == 4
    database = tmp_path / "killed.duckdb"
    for step in (2, 3, 6, 9):
        assert run_and_die(database, inputs, step, few_layouts.folder) == -signal.SIGKILL
    assert run_and_die(database, inputs, len(steps), few_layouts.folder) == 0
    assert content_hash(database) == expected
    assert {r.status for r in load([inputs], database, layouts)} == {"unchanged"}


@pytest.mark.slow
def test_killed_at_any_moment_and_run_again_gives_the_same_tables(tmp_path, inputs, layouts, few_layouts):
    undisturbed = tmp_path / "undisturbed.duckdb"
    load([inputs], undisturbed, layouts)
    expected = content_hash(undisturbed)
    chance = random.Random(20)
    for attempt in range(4):
        database = tmp_path / f"killed{attempt}.duckdb"
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, database, inputs, "100000", few_layouts.folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        timer = threading.Timer(chance.uniform(0.0, 0.6), process.kill)
        timer.start()
        process.wait(timeout=120)
        timer.cancel()
        process.stdout.close()
        load([inputs], database, layouts)
        assert content_hash(database) == expected


@pytest.mark.parametrize("statements", range(2, 6))
def test_a_warehouse_whose_making_was_cut_short_is_of_this_version(statements, tmp_path):
    class Killed:
        def __init__(self, con):
            self.con, self.left = con, statements

        def execute(self, sql):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            return self.con.execute(sql)

    with open_writer(tmp_path / "etalon.duckdb") as con:
        with pytest.raises(KeyboardInterrupt):
            ledger.create(Killed(con))
        ledger.create(con)
        assert version.read(con) == version.SCHEMA


def test_what_is_no_file_is_reported_and_the_rest_is_loaded(tmp_path, ingest, rows):
    folder = write(tmp_path / "in", cpu__xml=report_xml(1), empty__xml="")
    (tmp_path / "bare").mkdir()
    os.mkfifo(tmp_path / "pipe")
    reports = ingest(tmp_path / "none.dmp", tmp_path / "bare", tmp_path / "*.smf", tmp_path / "pipe", folder)
    results = [(r.status, r.exit_code, (r.message or "").removeprefix(f"{r.path}: ").split(";")[0]) for r in reports]
    assert results == [
        ("failed", ExitCode.NO_INPUT, "no such file"),
        ("failed", ExitCode.NO_INPUT, "the folder has no files"),
        ("failed", ExitCode.NO_INPUT, "no file matches this pattern"),
        ("failed", ExitCode.NO_INPUT, "neither a file nor a folder"),
        ("loaded", ExitCode.OK, ""),
        ("failed", ExitCode.NO_INPUT, "is empty (0 bytes)"),
    ]
    assert exit_code(reports) == ExitCode.NO_INPUT
    assert rows("SELECT count(*) FROM meta.ledger") == [(1,)]


def test_no_database_is_made_for_nothing(tmp_path, layouts):
    assert exit_code(load([tmp_path / "none.dmp"], tmp_path / "etalon.duckdb", layouts)) == ExitCode.NO_INPUT
    assert not (tmp_path / "etalon.duckdb").exists()


def test_patterns_and_folders_name_each_file_once(tmp_path, ingest):
    folder = write(tmp_path / "in", a__xml=report_xml(1), b__xml=report_xml(2))
    write(folder / "below", c__xml=report_xml(3))
    write(folder / ".hidden", d__xml=report_xml(4))
    names = [r.path.rsplit("/", 1)[1] for r in ingest(folder / "b*.xml", folder, folder / "a.xml")]
    assert names == ["b.xml", "a.xml", "c.xml"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (bytes(70_000), "only zeros: the transfer failed; repeat it"),
        (b"just a letter to a friend\n" * 10, "text: if it was a dump, it was transferred as text"),
        (b"<html><body/></html>", "a web page, which a server sent instead of a report"),
        (b"HTTP/1.1 200 OK\r\n\r\n<ddsml/>", "an HTTP reply with its header lines"),
        (b"day.smf".ljust(257, b"\0") + b"ustar\0" + bytes(250), "a tar archive: unpack it"),
        (b"\x1f\x8b\x08\0" + bytes(range(256)), "the packed data are cut or damaged"),
        ('<?xml version="1.0"?><ddsml/>'.encode("cp037"), "XML in EBCDIC"),
        (random.Random(7).randbytes(50_000), "no record descriptor at offset 0"),
    ],
    ids=["zeros", "text", "html", "http", "tar", "gzip", "ebcdic", "random"],
)
def test_what_is_of_no_known_kind_is_reported_kept_and_accounted_for(tmp_path, ingest, rows, content, text):
    path = write(tmp_path / "in", thing=content) / "thing"
    (report,) = ingest(path)
    assert (report.status, report.exit_code, report.decoded) == ("quarantined", ExitCode.UNRECOGNISED, 0)
    assert report.message is not None and report.message.startswith(f"{path}: {text}")
    assert rows("SELECT sum(length) FROM meta.quarantine") == [(len(content),)]
    assert rows("SELECT bytes = quarantined_bytes FROM meta.ledger") == [(True,)]
    (again,) = ingest(path)
    assert (again.status, again.exit_code, again.message) == ("unchanged", ExitCode.UNRECOGNISED, report.message)


def test_a_file_that_is_being_written_is_left_alone(tmp_path, ingest, rows):
    path = write(tmp_path / "in", cpu__xml=report_xml(1)) / "cpu.xml"

    def append(_path, step, _records):
        if step == "batch":
            with path.open("a") as stream:
                stream.write("<!-- more -->")

    (report,) = ingest(path, progress=append)
    assert (report.status, report.exit_code) == ("busy", ExitCode.BUSY)
    assert report.message is not None and "still being written" in report.message
    assert rows("SELECT count(*) FROM meta.ledger") == rows("SELECT count(*) FROM raw.rmf_report") == [(0,)]
    assert [r.status for r in ingest(path)] == ["loaded"]


def test_a_file_that_was_written_to_once_is_read_again(tmp_path, ingest, rows):
    path = write(tmp_path / "in", cpu__xml=report_xml(1)) / "cpu.xml"
    pending = [report_xml(1, 2)]

    def replace(_path, step, _records):
        if step == "batch" and pending:
            path.write_text(pending.pop())

    assert [r.status for r in ingest(path, progress=replace)] == ["loaded"]
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(1,), (2,)]


def test_an_interrupt_leaves_no_trace_of_files_that_share_a_transaction(tmp_path, ingest, rows):
    folder = write(tmp_path / "in", a__xml=report_xml(1), b__xml=report_xml(2))

    def interrupt(path, step, _records):
        if path.endswith("b.xml") and step == "commit":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(folder, progress=interrupt)
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == []
    assert [r.status for r in ingest(folder)] == ["loaded", "loaded"]


def test_a_second_writer_is_told_to_wait(tmp_path, ingest, database, layouts):
    folder = write(tmp_path / "in", a__xml=report_xml(1))
    ingest(folder)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()",
            str(database),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None and holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "open\n"
        for attempt in (lambda: load([folder], database, layouts), lambda: publish(database, tmp_path / "s.duckdb")):
            with pytest.raises(WarehouseLocked, match="another process is writing to the warehouse; wait"):
                attempt()
        holder.stdin.close()
    assert [r.status for r in ingest(folder)] == ["unchanged"]
    assert list(tmp_path.glob(".s.duckdb*")) == []


def test_a_file_that_is_no_database_is_reported(tmp_path, layouts):
    folder = write(tmp_path / "in", a__xml=report_xml(1))
    (tmp_path / "not.duckdb").write_text("something else entirely " * 1000)
    with pytest.raises(WarehouseError, match="is not a readable DuckDB database"):
        load([folder], tmp_path / "not.duckdb", layouts)


def test_readers_keep_their_snapshot_while_a_new_one_is_published(tmp_path, ingest, database):
    snapshot = tmp_path / "published" / "etalon.duckdb"
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    publish(database, snapshot)
    count = "SELECT count(*) AS n FROM raw.rmf_report"
    with duckdb.connect(str(snapshot), read_only=True) as reader:
        ingest(write(tmp_path / "in", b__xml=report_xml(2)))
        publish(database, snapshot)
        assert reader.execute(count).fetchone() == (1,)
    with kept_open(snapshot):
        assert query(snapshot, count).to_pylist() == [{"n": 2}]
        ingest(write(tmp_path / "in", c__xml=report_xml(3)))
        publish(database, snapshot)
        assert query(snapshot, count).to_pylist() == [{"n": 2}]
        with pytest.raises(BadQuery):
            query(snapshot, "DELETE FROM raw.rmf_report")
    assert query(snapshot, count).to_pylist() == [{"n": 3}]
    assert content_hash(snapshot) == content_hash(database)
    assert [p.name for p in snapshot.parent.iterdir()] == ["etalon.duckdb"]


def test_a_query_cannot_change_the_snapshot_and_says_what_is_wrong(tmp_path, ingest, database):
    snapshot = tmp_path / "s.duckdb"
    with pytest.raises(SnapshotMissing, match="nothing has been published yet"):
        query(snapshot, "SELECT 1")
    with pytest.raises(WarehouseMissing, match="no warehouse to publish") as missing:
        publish(tmp_path / "none.duckdb", snapshot)
    assert missing.value.exit_code == ExitCode.NOT_READY
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    publish(database, snapshot)
    before = content_hash(snapshot)
    for sql in ("DELETE FROM raw.rmf_report", "SELECT nothing FROM nowhere", "SELEKT"):
        with pytest.raises(BadQuery):
            query(snapshot, sql)
    assert query(snapshot, "SELECT ? + 1 AS n", [41]).to_pylist() == [{"n": 42}]
    assert content_hash(snapshot) == before


def test_a_damaged_snapshot_is_named_with_the_remedy(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    snapshot = publish(database, tmp_path / "s.duckdb")
    whole = snapshot.read_bytes()
    for damaged in (whole[:50_000], b"no database" * 1000, b""):
        snapshot.write_bytes(damaged)
        for ask in (lambda: query(snapshot, "SELECT 1"), lambda: list(export_schema(snapshot, "raw", tmp_path, "csv"))):
            with pytest.raises(SnapshotDamaged, match=r"s\.duckdb: cannot be read .*; run `etalon publish`"):
                ask()


def test_a_query_touches_no_other_file_and_no_setting(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    snapshot, outside = publish(database, tmp_path / "s.duckdb"), tmp_path / "out.csv"
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for sql in (
        f"COPY (SELECT 1) TO '{outside}'",
        f"ATTACH '{tmp_path / 'other.duckdb'}'",
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
    ):
        with pytest.raises(BadQuery, match="reads the snapshot alone"):
            query(snapshot, sql)
    with pytest.raises(BadQuery, match="locked"):
        query(snapshot, "SET enable_external_access = true")
    assert not outside.exists()
    assert sorted(path.name for path in tmp_path.glob("*.duckdb")) == ["s.duckdb"]


@pytest.mark.parametrize("sql", ["", "  ", ";", "-- nothing"])
def test_a_query_that_says_nothing_is_refused(tmp_path, ingest, database, sql):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    with pytest.raises(BadQuery, match="the query is empty"):
        query(publish(database, tmp_path / "s.duckdb"), sql)


def test_several_statements_are_refused_rather_than_all_but_the_last_left_unsaid(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    with pytest.raises(BadQuery, match="2 statements; ask one at a time"):
        query(publish(database, tmp_path / "s.duckdb"), "SELECT 1; SELECT 2")


def test_what_a_killed_publication_left_is_cleared_away(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    snapshot = tmp_path / "published" / "etalon.duckdb"
    write(snapshot.parent, **{".etalon.duckdb.x1__tmp": "half a copy", ".etalon.duckdb.x1.tmp__wal": "its log"})
    publish(database, snapshot)
    assert [path.name for path in snapshot.parent.iterdir()] == ["etalon.duckdb"]


def test_tables_are_shown_and_found_without_their_schema(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    snapshot = publish(database, tmp_path / "s.duckdb")
    assert {"ledger", "quarantine"} <= set(query(snapshot, "SHOW TABLES")["name"].to_pylist())
    assert query(snapshot, "SELECT status FROM ledger").to_pylist() == [{"status": "loaded"}]


def test_a_cut_file_written_a_moment_ago_may_still_grow(tmp_path, ingest, rows):
    folder = write(tmp_path / "in", fresh__xml=report_xml(1, 2)[:-40], old__xml=report_xml(3, 4)[:-40])
    for name in ("whole.xml", "shop.runs.csv"):
        (folder / name).write_text(RUNS if name.endswith("csv") else report_xml(5))
    os.utime(folder / "old.xml", (1.6e9, 1.6e9))
    reports = {Path(report.path).name: report for report in ingest(folder)}
    assert [reports[name].exit_code for name in ("fresh.xml", "old.xml")] == [ExitCode.QUARANTINED] * 2
    assert [name for name, report in reports.items() if "may be incomplete" in (report.message or "")] == ["fresh.xml"]
    assert rows("SELECT path FROM meta.ledger WHERE message LIKE '%may be incomplete%'") == []


def test_the_snapshot_has_the_staging_views_the_warehouse_does_without(tmp_path, ingest, database):
    ingest(write(tmp_path / "in", a__xml=report_xml(1)))
    with open_writer(database) as con:
        con.execute("CREATE TABLE raw.many (number INTEGER)")
        for _ in range(3):
            con.execute("INSERT INTO raw.many FROM range(20480)")
    known = registry.load()
    prepare(database, known)
    snapshot = publish(database, tmp_path / "s.duckdb", known)
    names = {f"stg_{section.table}" for _, section in known.tables()}
    found = query(snapshot, "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'staging'")
    assert names <= set(found["name"].to_pylist())
    assert query(snapshot, "SELECT count(*) AS n FROM staging.stg_smf74_1_device").to_pylist() == [{"n": 0}]
    groups = "SELECT count(DISTINCT row_group_id) AS n FROM pragma_storage_info('raw.many')"
    assert query(snapshot, groups).to_pylist() == [{"n": 3}], "publishing has rewritten a table"


def test_kinds_are_told_from_content_not_from_names():
    assert identify("report.dmp", b'\xef\xbb\xbf<?xml version="1.0"?>').kind == Kind.RMF_XML
    assert identify("list.txt", RUNS.encode()).kind == Kind.RUNS
    assert identify("x.xml", b"\0\x1e\0\0\x5e\x02" + bytes(24)).kind == Kind.SMF


@pytest.mark.parametrize("fatal", ["b.xml", "c.xml"], ids=["in the middle", "at the commit"])
def test_a_file_that_cannot_be_loaded_keeps_none_out_that_share_its_transaction(tmp_path, ingest, rows, fatal):
    folder = write(tmp_path / "in", a__xml=report_xml(1), b__xml=report_xml(2), c__xml=report_xml(3))

    def fail(path, step, _records):
        if path.endswith(fatal) and step == ("batch" if fatal == "b.xml" else "commit"):
            raise RuntimeError("a defect")

    reports = ingest(folder, progress=fail)
    assert [r.status for r in reports if not r.path.endswith(fatal)] == ["loaded", "loaded"]
    assert [r.message for r in reports if r.status == "failed"] == [
        f"{folder / fatal}: nothing of it was loaded: RuntimeError: a defect"
    ]
    assert rows("SELECT count(*) FROM raw.rmf_cpu_processor") == [(2,)]
    assert sorted(r.status for r in ingest(folder)) == ["loaded", "unchanged", "unchanged"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_file_of_any_name_is_loaded_and_called_so_that_it_can_be_shown(tmp_path, ingest):
    folder = tmp_path / "in"
    folder.mkdir()
    for place, name in enumerate([b"caf\xe9.xml", rb"caf\xe9.xml", b"a\nb\x1b[2J.xml", "ü ß.xml".encode()]):
        (folder / os.fsdecode(name)).write_text(report_xml(place + 0.5))
    for status in ("loaded", "unchanged"):
        reports = ingest(folder)
        assert {report.status for report in reports} == {status}
        names = {Path(report.path).name for report in reports}
        assert names == {r"a\nb\x1b[2J.xml", r"caf\xe9.xml", r"caf\\xe9.xml", "ü ß.xml"}
