"""What is dropped after its days, and a warehouse made small."""

import datetime as dt
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from ingest.formats.cics.dictionary import full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.running import Here
from ingest.warehouse import waves
from pipelines import steps
from pipelines.exits import EtalonError
from pipelines.home import Home
from pipelines.nights import retention
from tests.pipelines.conftest import run_etalon


def test_rows_older_than_their_days_are_dropped_and_others_kept(warehouse):
    dropped = retention.retain(warehouse, {"marts.fct_msu": 30}, dt.date(2026, 11, 20))
    assert dropped == {"marts.fct_msu": 30}
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT min(interval_start_utc)::date FROM marts.fct_msu").fetchone() == (
            dt.date(2026, 10, 21),
        )


def test_a_clock_that_is_years_ahead_drops_no_more(warehouse):
    from pipelines.building import touched

    with duckdb.connect(str(warehouse.warehouse)) as con:
        touched.create(con)
        con.execute("INSERT INTO meta.built_file VALUES (1, '', '2026-11-19', '2026-11-20')")
    assert retention.retain(warehouse, {"marts.fct_msu": 30}, dt.date(2031, 1, 1)) == {"marts.fct_msu": 30}
    assert retention.retain(warehouse, {"marts.fct_msu": 30}, dt.date(2035, 1, 1)) == {}


def test_without_a_warehouse_nothing_is_dropped_and_none_is_made(tmp_path):
    home = Home(tmp_path / "state")
    with pytest.raises(EtalonError, match="no warehouse"):
        retention.retain(home, {"marts.*": 30}, dt.date(2026, 11, 20))
    assert not home.warehouse.exists()


def test_a_warehouse_of_which_much_is_dropped_becomes_small_and_holds_the_rest(warehouse):
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute(
            "CREATE TABLE marts.big AS SELECT random() AS x, TIMESTAMP '2026-01-01' AS interval_start_utc "
            "FROM range(1_000_000)"
        )
        # What is written behind it keeps its space in the file.
        con.execute("CHECKPOINT")
        con.execute("CREATE TABLE marts.kept AS SELECT random() AS x FROM range(10_000)")
    before = warehouse.warehouse.stat().st_size
    beside = warehouse.warehouse.parent
    for left in (".etalon.duckdb.compact", ".etalon.duckdb.compact.wal"):
        (beside / left).write_bytes(b"of one that was killed")
    assert retention.retain(warehouse, {"marts.big": 30}, dt.date(2026, 11, 20)) == {"marts.big": 1_000_000}
    assert warehouse.warehouse.stat().st_size < before / 2
    assert [path.name for path in beside.iterdir()] == ["etalon.duckdb"]
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    steps.prepare(warehouse)


def test_what_records_are_known_by_goes_with_the_last_rows_of_a_file(warehouse):
    from pipelines.building import touched

    with duckdb.connect(str(warehouse.warehouse)) as con:
        touched.create(con)
        for file_id, tables in ((1, ["smf70_1_cpu"]), (2, ["smf70_1_cpu", "smf72_3_period"])):
            con.execute("INSERT INTO raw.smf70_1_cpu (file_id, record_seq, section_seq) VALUES (?, 0, 0)", [file_id])
            con.execute(
                "INSERT INTO meta.ledger SELECT $1, '/' || $1, $1, 0, 'smf', 'loaded', 1, 1, 0, 0, 0, 0, 0, 0, 0, "
                "MAP {}, MAP {}, map_from_entries([{k: t, v: 1} for t in $2]), NULL, '', '', now()::TIMESTAMP",
                [file_id, tables],
            )
            con.execute("INSERT INTO meta.built_file VALUES (?, '', '2026-09-01', '2026-09-02')", [file_id])
            con.execute("INSERT INTO meta.record_identity VALUES (?, 0, 0, 0)", [file_id])
        con.execute("INSERT INTO meta.built_file VALUES (3, '', '2026-11-19', '2026-11-20')")
    dropped = retention.retain(warehouse, {"raw.smf70_*": 30}, dt.date(2026, 11, 20))
    assert dropped == {"raw.smf70_1_cpu": 2}
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT file_id FROM meta.record_identity").fetchall() == [(2,)]
        assert con.execute("FROM meta.retained").fetchall() == [("smf70_1_cpu", dt.datetime(2026, 10, 21))]


READER = """
import duckdb, sys
con = duckdb.connect(sys.argv[1], read_only=True)
for _ in sys.stdin:
    print(con.execute("SELECT count(*) FROM raw.smf110_1_performance").fetchone()[0], flush=True)
"""
SUMS = """
    SELECT bool_and(bytes = decoded_bytes + skipped_bytes + quarantined_bytes + framing_bytes),
      bool_and(records = decoded + skipped + quarantined), count(*) FROM meta.ledger
"""


def tasks(ended: dt.datetime) -> bytes:
    """A dump of twenty CICS tasks with their dictionary."""
    region, rows = Region("SYSA", "CICSAOR1", "AORJOB1"), pa.table({"tran": ["AAAA"] * 20})
    records = [*encode_dictionary(region, full_dictionary(), ended)]
    return b"".join([*records, *encode_performance(region, full_dictionary(), rows, ended, rows_per_record=5)])


def test_expired_dumps_leave_no_file_but_those_that_a_reader_still_has_open(warehouse, tmp_path, monkeypatch):
    from ingest.warehouse import open_writer
    from pipelines.building import touched

    monkeypatch.setattr(Here, "unit_bytes", 20_000)
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    dumps = tmp_path / "earlier.smf", tmp_path / "later.smf"
    for path, ended in zip(dumps, (dt.datetime(2026, 6, 1), dt.datetime(2026, 11, 1)), strict=True):
        path.write_bytes(tasks(ended))
    steps.ingest(warehouse, dumps)
    with open_writer(warehouse.warehouse) as con:
        touched.create(con)
        touched.record(con, "made up", touched.everything(con))
    steps.publish(warehouse)
    (warehouse.root / "etalon.toml").write_text('[retain]\n"raw.*" = 30\n')

    def parts() -> set[str]:
        return {path.name for path in warehouse.warehouse.with_suffix(".parts").rglob("*.parquet")}

    before = parts()
    command = [sys.executable, "-c", READER, str(warehouse.snapshot)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:

        def rows_read() -> int:
            reader.stdin.write("again\n")
            reader.stdin.flush()
            return int(reader.stdout.readline())

        assert rows_read() == 40
        done = run_etalon(warehouse.root, "retain")
        assert done.returncode == 0 and "raw.smf110_1_performance" in done.stdout, done.stderr
        assert run_etalon(warehouse.root, "publish").returncode == 0
        assert (rows_read(), parts()) == (40, before)
        reader.stdin.close()
    assert run_etalon(warehouse.root, "publish").returncode == 0
    with duckdb.connect(str(warehouse.snapshot), read_only=True) as con:
        named = {path.rpartition("/")[2] for (path,) in con.execute("SELECT path FROM meta.part").fetchall()}
        assert con.execute("SELECT count(*) FROM raw.smf110_1_performance").fetchone() == (20,)
        assert con.execute("SELECT count(DISTINCT file_id) FROM meta.record_identity").fetchone() == (1,)
        assert con.execute(SUMS).fetchone() == (True, True, 2)
    assert parts() == named and set() < named < before
    assert [report.status for report in steps.ingest(warehouse, dumps)] == ["unchanged"] * 2
