"""Loads and builds for tests."""

import duckdb


def load(con: duckdb.DuckDBPyConnection, file_id: int, kind: str = "smf") -> None:
    """Put a file into the ledger that has a record, which is not there."""
    # file_id, path, sha256, bytes, kind, status, records, decoded; then counts of nothing.
    con.execute(
        "INSERT INTO meta.ledger SELECT $1, '/' || $1, $1, 0, $2, 'loaded', 1, 1, 0, 0, 0, 0, 0, 0, 0, "
        "MAP {}, MAP {}, MAP {}, NULL, '', '', now()::TIMESTAMP",
        [file_id, kind],
    )
