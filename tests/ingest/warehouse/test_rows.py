"""Buffered rows arrive in a table in their order, whatever their columns."""

from pathlib import Path

import pyarrow as pa
import pytest

from ingest.batch import of_file
from ingest.files import row_buffer
from ingest.warehouse import tables
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_parts_of_a_table_arrive_in_order_also_with_new_columns(tmp_path: Path, monkeypatch, room: int):
    monkeypatch.setattr(tables, "_BUFFER_BYTES", room)
    with open_writer(tmp_path / "etalon.duckdb") as con:
        con.execute("CREATE SCHEMA raw")
        rows = Tables(con).row_buffer()
        for place in range(6):
            part = {"record_seq": pa.array([place], pa.uint32())}
            rows.add("letters", of_file(7, pa.table(part | ({"name": ["A"]} if place in (2, 3) else {}))))
            rows.add("figures", of_file(7, pa.table(part)))
        rows.write()
        rows.write()
        found = con.execute("SELECT * FROM raw.letters").fetchall()
        assert found == [(7, place, "A" if place in (2, 3) else None) for place in range(6)]
        assert con.execute("SELECT * FROM raw.figures").fetchall() == [(7, place) for place in range(6)]


def test_what_is_held_is_bounded(tmp_path: Path, monkeypatch):
    part = of_file(7, pa.table({"record_seq": pa.array(range(1000), pa.uint32())}))
    monkeypatch.setattr(tables, "_BUFFER_BYTES", 3 * (part.nbytes + row_buffer._COLUMN_BYTES))
    with open_writer(tmp_path / "etalon.duckdb") as con:
        con.execute("CREATE SCHEMA raw")
        rows = Tables(con).row_buffer()
        rows.add("figures", part)
        rows.add("figures", part)
        assert not con.execute("SELECT * FROM duckdb_tables() WHERE table_name = 'figures'").fetchall()
        rows.add("figures", part)
        assert con.execute("SELECT count(*) FROM raw.figures").fetchone() == (3000,)


def test_many_short_tables_are_held_no_longer_than_long_ones(tmp_path: Path):
    wide = of_file(7, pa.table({f"c{place}": pa.array([place], pa.uint32()) for place in range(500)}))
    with open_writer(tmp_path / "etalon.duckdb") as con:
        con.execute("CREATE SCHEMA raw")
        rows = Tables(con).row_buffer()
        batches = 2 * tables._BUFFER_BYTES // (wide.nbytes + 1000 * wide.num_columns)
        for _ in range(batches):
            rows.add("wide", wide)
        (written,) = con.execute("SELECT count(*) FROM raw.wide").fetchone() or (0,)
        assert batches // 3 < written < batches
