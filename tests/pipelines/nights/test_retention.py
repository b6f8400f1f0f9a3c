"""What is dropped after its days, and a warehouse made small."""

import datetime as dt

import duckdb
import pytest

from pipelines import steps
from pipelines.exits import EtalonError
from pipelines.home import Home
from pipelines.nights import retention


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
