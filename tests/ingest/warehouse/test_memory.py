"""A load holds no more of a file than the batches on their way, though all of it is one transaction."""

import weakref
from pathlib import Path

import pyarrow as pa

from ingest.batch import Quarantined, of_file
from ingest.warehouse import ledger, overlaps
from ingest.warehouse.tables import Tables
from ingest.warehouse.writer import open_writer


def test_rows_are_let_go_before_the_transaction_ends(tmp_path: Path):
    with open_writer(tmp_path / "etalon.duckdb") as con:
        ledger.create(con)
        con.execute("CREATE SCHEMA raw")
        tables = Tables(con)
        con.execute("BEGIN")
        held = []
        for place in range(3):
            rows = pa.table({"record_seq": pa.array([place], pa.uint32()), "name": ["A"]})
            identities = pa.table({name: pa.array([1], pa.uint64()) for name in ("written_raw", "digest")})
            identities = identities.append_column("record_seq", rows["record_seq"])
            held += [weakref.ref(rows), weakref.ref(identities)]
            tables.append("letters", of_file(7, rows))
            overlaps.record(con, 7, identities)
            ledger.quarantine(con, 7, [Quarantined(place, 1, "reason", "detail", b"x", record_seq=place)])
            del rows, identities
        assert [table() for table in held] == [None] * len(held)
        con.execute("COMMIT")
        for name in ("raw.letters", "meta.record_identity", "meta.quarantine"):
            assert con.execute(f"SELECT list(record_seq ORDER BY record_seq) FROM {name}").fetchall() == [([0, 1, 2],)]
