"""A warehouse that an earlier version made is brought up to date before the marts are built."""

from pathlib import Path

import duckdb

from ingest import registry, warehouse
from ingest.warehouse.tables import Tables


def test_tables_and_columns_that_an_earlier_version_did_not_know_are_made(tmp_path: Path) -> None:
    database = tmp_path / "etalon.duckdb"
    known = registry.load()
    warehouse.prepare(database, known)
    with duckdb.connect(str(database)) as con:
        before = con.sql("select table_name, column_name from duckdb_columns() where schema_name = 'raw'").fetchall()
        con.execute("drop table raw.collector_gauge")
        con.execute("drop table meta.record_overlap")
    warehouse.prepare(database, known)
    with duckdb.connect(str(database)) as con:
        after = con.sql("select table_name, column_name from duckdb_columns() where schema_name = 'raw'").fetchall()
        assert con.sql("select count(*) from meta.record_overlap").fetchall() == [(0,)]
    assert sorted(after) == sorted(before)


def test_a_warehouse_that_is_up_to_date_is_left_as_it_is(tmp_path: Path, monkeypatch) -> None:
    database = tmp_path / "etalon.duckdb"
    warehouse.prepare(database, registry.load())
    monkeypatch.delattr(Tables, "prepare")
    warehouse.prepare(database, registry.load())
