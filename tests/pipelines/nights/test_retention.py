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


def test_without_a_warehouse_nothing_is_dropped_and_none_is_made(tmp_path):
    home = Home(tmp_path / "state")
    with pytest.raises(EtalonError, match="no warehouse"):
        retention.retain(home, {"marts.*": 30}, dt.date(2026, 11, 20))
    assert not home.warehouse.exists()


def test_a_warehouse_made_small_holds_the_same(warehouse):
    with duckdb.connect(str(warehouse.warehouse)) as con:
        con.execute("CREATE TABLE marts.big AS SELECT random() AS x FROM range(2_000_000)")
        con.execute("DROP TABLE marts.big")
        con.execute("CHECKPOINT")
    before = warehouse.warehouse.stat().st_size
    retention.compact(warehouse.warehouse)
    assert warehouse.warehouse.stat().st_size < before
    with duckdb.connect(str(warehouse.warehouse), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM marts.fct_msu").fetchone() == (60,)
    steps.prepare(warehouse)
