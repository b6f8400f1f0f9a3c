"""Records that are in more than one file: matched by their identity, flagged, and counted in one of the files.

`meta.record_identity` has a row for every record that has rows in the raw tables, `meta.record_overlap` one for every
such record that is counted in another file. Equal records within a file are legitimate and all count: the second
occurrence in one file is the same record as the second in another. So a record counts as often as the file that holds
it most often does, whatever the order in which files were loaded.

RMF splits large records. A file may lack pieces of such a record, as at the end of a dump that was cut. Its piece then
has fewer sections than in a file with all pieces. `meta.record_incomplete` has the number of missing pieces. Of equal
records the one that lacks fewest counts, then the one loaded first.

Equal records have equal times of writing. So the files of a load are settled in one pass, day by day of writing, each
day by one statement over the identities of that day. `meta.unsettled` names files that are loaded and not settled yet;
a load that was killed leaves them to the next.
"""

from collections.abc import Iterator, Mapping, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from ingest.arrays import of_columns
from ingest.batch import of_file
from ingest.schema.ddl import CREATE_OVERLAP
from ingest.units.parts import IDENTITIES
from ingest.warehouse import parts
from ingest.warehouse.writer import transaction

_CREATE = (
    """CREATE TABLE IF NOT EXISTS meta.record_incomplete (
        file_id UBIGINT NOT NULL, record_seq UINTEGER NOT NULL, missing UINTEGER NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS meta.unsettled (file_id UBIGINT NOT NULL)",
    CREATE_OVERLAP,
)
_CREATE_IDENTITY = """CREATE TABLE IF NOT EXISTS meta.record_identity (
    file_id UBIGINT NOT NULL, record_seq UINTEGER NOT NULL, written_raw UBIGINT NOT NULL, digest UBIGINT NOT NULL
)"""
_AT_ONCE = 4_000_000
"""Identities of so many records of the files to settle are looked at in one statement, or those of one day."""

#: Records whose identity is in `shared_identity`: which occurrence in its file each is, and where it counts.
_OCCURRENCES = """
    SELECT file_id, record_seq, written_raw, digest, counted_in, coalesce(missing, 0) AS missing,
      row_number() OVER (PARTITION BY file_id, written_raw, digest ORDER BY coalesce(missing, 0), record_seq)
        AS occurrence
    FROM ({identities}) AS identity
    SEMI JOIN shared_identity USING (written_raw, digest)
    LEFT JOIN meta.record_overlap USING (file_id, record_seq)
    LEFT JOIN meta.record_incomplete USING (file_id, record_seq)
"""
#: Of equal records that count so far, the one that lacks fewest pieces goes on counting, then that of the first file.
_RANKED = """
    SELECT occurring.*, first_value(file_id) OVER (PARTITION BY written_raw, digest, occurrence
      ORDER BY missing, coalesce(place, -1), loaded_at, ledger.rowid) AS counts_in
    FROM occurring LEFT JOIN meta.ledger USING (file_id) LEFT JOIN settling USING (file_id) WHERE counted_in IS NULL
"""


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables unless they are there."""
    for statement in _CREATE:
        con.execute(statement)
    if not con.execute("SELECT 1 FROM meta.part WHERE table_name = ? LIMIT 1", [IDENTITIES]).fetchall():
        con.execute(_CREATE_IDENTITY)


def record(con: duckdb.DuckDBPyConnection, file_id: int, rows: pa.Table) -> None:
    """Put down identities: columns `record_seq`, `written_raw`, `digest`."""
    identities = of_file(file_id, rows)  # noqa: F841 (the statement names it)
    con.execute(f"INSERT INTO {parts.rows_table(con, IDENTITIES)} BY NAME FROM identities")


def record_incomplete(con: duckdb.DuckDBPyConnection, file_id: int, missing: Mapping[int, int]) -> None:
    """Put down which records are pieces of split ones, and how many further pieces of each the file lacks."""
    if missing:
        columns = {"record_seq": list(missing), "missing": list(missing.values())}
        rows = of_file(file_id, of_columns({name: np.array(values, np.uint32) for name, values in columns.items()}))  # noqa: F841 (the statement names it)
        con.execute("INSERT INTO meta.record_incomplete BY NAME FROM rows")


def leave_unsettled(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Have a file settled later: by the load that it is of, or by the next."""
    con.execute("INSERT INTO meta.unsettled VALUES (?)", [file_id])


def settle(con: duckdb.DuckDBPyConnection) -> list[int]:
    """Flag the records of unsettled files that another file has and counts, in a separate transaction; the files.

    Pieces of a split record that the file which counted it so far has less of are counted in another from then on.
    The ledger has how many records of each file are flagged. Only identities written in the time that the files cover
    are looked at, which are few in a database of many days.
    """
    listed = con.execute("SELECT file_id FROM meta.unsettled ORDER BY rowid").fetchall()
    files = list(dict.fromkeys(file_id for (file_id,) in listed))
    if files:
        with transaction(con):
            settle_files(con, files)
            con.execute("DELETE FROM meta.unsettled")
    return files


def settle_files(con: duckdb.DuckDBPyConnection, files: Sequence[int]) -> None:
    """Settle files, given in the order in which they were loaded, in the open transaction."""
    con.execute("CREATE OR REPLACE TEMP TABLE settling (file_id UBIGINT, place INTEGER)")
    con.executemany("INSERT INTO settling VALUES (?, ?)", [[file_id, place] for place, file_id in enumerate(files)])
    con.execute("CREATE OR REPLACE TEMP TABLE changed (file_id UBIGINT)")
    con.execute("INSERT INTO changed SELECT file_id FROM settling")
    for low, high in _windows(con):
        identities = parts.identities(con, low, high)
        con.execute(
            "CREATE OR REPLACE TEMP TABLE shared_identity AS "
            f"SELECT written_raw, digest FROM ({identities}) AS identity "
            "LEFT JOIN settling USING (file_id) GROUP BY ALL "
            "HAVING min(file_id) < max(file_id) AND count(place) > 0"
        )
        if con.execute("SELECT count(*) FROM shared_identity").fetchone() != (0,):
            con.execute(f"CREATE OR REPLACE TEMP TABLE occurring AS {_OCCURRENCES.format(identities=identities)}")
            _flag(con)
    _update_ledger(con, "changed")
    for table in ("settling", "changed"):
        con.execute(f"DROP TABLE {table}")
    for table in ("shared_identity", "occurring", "ranked"):
        con.execute(f"DROP TABLE IF EXISTS {table}")


def _windows(con: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int]]:
    """Stretches of times of writing in which files to settle have records, and others may have the same.

    Of dumps they are days, several where these are of few records; of logs all that the files cover.
    """
    rest = parts.rows_table(con, IDENTITIES)
    limits = con.execute(
        f"""SELECT coalesce(kind, '') = 'ims_log', list(written_from), list(written_to), sum(rows)::BIGINT FROM (
            SELECT file_id, min(written_raw) AS written_from, max(written_raw) AS written_to, count(*) AS rows
            FROM {rest} SEMI JOIN settling USING (file_id) GROUP BY file_id
            UNION ALL SELECT file_id, written_from, written_to, rows FROM meta.part SEMI JOIN settling USING (file_id)
            WHERE table_name = '{IDENTITIES}'
        ) LEFT JOIN meta.ledger USING (file_id) GROUP BY ALL"""
    ).fetchall()
    for is_log, starts, ends, rows in limits:
        low, high = min(starts), max(ends)
        if is_log or rows <= _AT_ONCE:
            yield low, high
        else:
            days = sorted({day for start, end in zip(starts, ends, strict=True) for day in (start >> 32, end >> 32)})
            for day, following in zip(days, [*days[1:], (high >> 32) + 1], strict=True):
                yield day << 32, (following << 32) - 1


def _flag(con: duckdb.DuckDBPyConnection) -> None:
    """Flag what is in `occurring` and no longer counts, and have what counted there count where it does by now."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE ranked AS {_RANKED}")
    con.execute(
        "UPDATE meta.record_overlap SET counted_in = counts_in FROM ("
        "SELECT occurring.file_id, occurring.record_seq, counts_in FROM occurring "
        "JOIN ranked USING (written_raw, digest, occurrence) "
        "WHERE occurring.counted_in = ranked.file_id AND ranked.file_id <> counts_in) AS moved "
        "WHERE record_overlap.file_id = moved.file_id AND record_overlap.record_seq = moved.record_seq"
    )
    con.execute(
        "INSERT INTO meta.record_overlap SELECT file_id, record_seq, counts_in FROM ranked "
        "WHERE file_id <> counts_in ORDER BY file_id, record_seq"
    )
    con.execute("INSERT INTO changed SELECT DISTINCT file_id FROM ranked WHERE file_id <> counts_in")


def release(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Forget the records of a file that is being removed; what only it counted is counted in another that has it.

    The ledger's figures of the other files follow.
    """
    con.execute(
        "CREATE OR REPLACE TEMP TABLE orphan AS SELECT file_id, record_seq FROM meta.record_overlap "
        "WHERE counted_in = $id AND file_id <> $id",
        {"id": file_id},
    )
    con.execute("DELETE FROM meta.record_overlap WHERE file_id = $id OR counted_in = $id", {"id": file_id})
    for table in (parts.rows_table(con, IDENTITIES), "meta.record_incomplete", "meta.held_back", "meta.unsettled"):
        con.execute(f"DELETE FROM {table} WHERE file_id = ?", [file_id])
    if con.execute("SELECT count(*) FROM orphan").fetchone() != (0,):
        con.execute(
            "CREATE OR REPLACE TEMP TABLE shared_identity AS SELECT DISTINCT written_raw, digest "
            "FROM meta.record_identity SEMI JOIN orphan USING (file_id, record_seq)"
        )
        [(low, high)] = con.execute("SELECT min(written_raw), max(written_raw) FROM shared_identity").fetchall()
        con.execute("CREATE OR REPLACE TEMP TABLE settling (file_id UBIGINT, place INTEGER)")
        con.execute("CREATE OR REPLACE TEMP TABLE changed AS SELECT DISTINCT file_id FROM orphan")
        identities = parts.identities(con, low, high)
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE occurring AS SELECT * FROM ({_OCCURRENCES.format(identities=identities)}) "
            f"WHERE file_id <> {file_id}"
        )
        _flag(con)
        _update_ledger(con, "changed")
        for table in ("settling", "changed", "shared_identity", "occurring", "ranked"):
            con.execute(f"DROP TABLE {table}")
    con.execute("DROP TABLE orphan")


def counted_elsewhere(con: duckdb.DuckDBPyConnection, file_id: int) -> dict[str, int]:
    """Paths of the files in which records of a file count, with the number of these records."""
    rows = con.execute(
        "SELECT path, count(*) FROM meta.record_overlap AS overlap JOIN meta.ledger ON ledger.file_id = counted_in "
        "WHERE overlap.file_id = ? AND counted_in <> overlap.file_id GROUP BY path ORDER BY path",
        [file_id],
    ).fetchall()
    return dict(rows)


def _update_ledger(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Bring what the ledger says of overlap up to date for the files named in a table."""
    con.execute(
        f"UPDATE meta.ledger SET overlap = flagged.records FROM (SELECT file_id, count(counted_in) AS records "
        f"FROM (SELECT DISTINCT file_id FROM {table}) AS named LEFT JOIN (FROM meta.record_overlap "
        "WHERE counted_in <> file_id) AS flagged USING (file_id) GROUP BY file_id) AS flagged "
        "WHERE ledger.file_id = flagged.file_id AND overlap <> flagged.records"
    )
