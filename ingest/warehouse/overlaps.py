"""Records that are in more than one file: found by their identity, flagged, and counted in one of the files.

`meta.record_identity` has a row for every record that has rows in the raw tables, `meta.record_overlap` one for every
such record that is counted in another file. Equal records within a file are legitimate and all count: the second
occurrence in one file is the same record as the second in another. So a record counts as often as the file that holds
it most often does, whatever the order in which files were loaded.

RMF splits large records. A piece of one whose other pieces a file lacks, as at the end of a dump that was cut, holds
less than the same piece in a file that has them all, where the sections of all are together: `meta.record_incomplete`
says how many pieces are missing, and of equal records the one that lacks fewest counts, then the one loaded first.
"""

from collections import deque
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from ingest.arrays import numbers_of, of_columns
from ingest.files.ahead import NICE, made_ahead
from ingest.formats.identify import Kind
from ingest.registry import Registry
from ingest.schema.ddl import CREATE_OVERLAP

if TYPE_CHECKING:
    from ingest.identity import Identities

_CREATE = (
    """CREATE TABLE IF NOT EXISTS meta.record_identity (
        file_id UBIGINT NOT NULL, record_seq UINTEGER NOT NULL, written_raw UBIGINT NOT NULL, digest UBIGINT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS meta.record_incomplete (
        file_id UBIGINT NOT NULL, record_seq UINTEGER NOT NULL, missing UINTEGER NOT NULL
    )""",
    CREATE_OVERLAP,
)
_AT_ONCE = 1 << 18
_READ_AT_ONCE = 12 << 20
_AHEAD = 4
_KEPT = 6
"""Stretches of identities remembered: more than the records that are decoded at once, whose tables may come apart."""

#: The records whose identity is in `shared_identity`: which occurrence in its file each is, and where it counts.
_OCCURRENCES = """
    SELECT file_id, record_seq, written_raw, digest, counted_in, coalesce(missing, 0) AS missing,
      row_number() OVER (PARTITION BY file_id, written_raw, digest ORDER BY coalesce(missing, 0), record_seq)
        AS occurrence
    FROM meta.record_identity
    SEMI JOIN shared_identity USING (written_raw, digest)
    LEFT JOIN meta.record_overlap USING (file_id, record_seq)
    LEFT JOIN meta.record_incomplete USING (file_id, record_seq)
"""


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables unless they are there."""
    for statement in _CREATE:
        con.execute(statement)


class Recorder:
    """Puts down the identities of a file's records while their rows are loaded; they are computed in another thread."""

    def __init__(self, con: duckdb.DuckDBPyConnection, registry: Registry, path: Path, kind: Kind) -> None:
        self._con = con
        self._path, self._kind = path, kind
        self._kept: list[pa.Table] = []
        self._rows = 0
        self._known: Generator[Identities, None, None] | None = None
        self._stretches: deque[Identities] = deque(maxlen=_KEPT)
        self._tables = _one_row_per_record(registry, kind)

    def add(self, tables: Mapping[str, pa.Table], file_id: int) -> None:
        """Put down the records that have rows in these tables, which come in the order of the file but for a stretch.

        Raises LookupError where the file has no such record, as when it was cut short meanwhile.
        """
        columns = [numbers_of(tables[name]["record_seq"]) for name in self._tables & tables.keys()]
        if not columns:
            return
        sequence = np.sort(np.concatenate(columns))
        while len(sequence):
            known = self._with(int(sequence[0]))
            here, sequence = np.split(sequence, [np.searchsorted(sequence, known.first + len(known.digest))])
            at = here - known.first
            found = {"record_seq": here, "written_raw": known.written[at], "digest": known.digest[at]}
            self._kept.append(of_columns(found))
            self._rows += len(here)
        if self._rows >= _AT_ONCE:
            self.write(file_id)

    def write(self, file_id: int) -> None:
        """Write what was put down and is not in the database yet."""
        if self._kept:
            record(self._con, file_id, pa.concat_tables(self._kept))
            self._kept, self._rows = [], 0

    def close(self) -> None:
        """Read no further in the file."""
        if self._known is not None:
            self._known.close()

    def _with(self, record_seq: int) -> "Identities":
        """Identities of the stretch that holds a record."""
        from ingest.framing import IMS_CLOCK, SMF_DATE
        from ingest.identity import read_identities

        if self._known is None:
            dating = IMS_CLOCK if self._kind == Kind.IMS_LOG else SMF_DATE
            identities = read_identities(self._path, dating, batch_bytes=_READ_AT_ONCE)
            self._known = made_ahead(identities, _AHEAD, NICE)
        for known in reversed(self._stretches):
            if known.first <= record_seq < known.first + len(known.digest):
                return known
        for found in self._known:
            self._stretches.append(found)
            if found.first <= record_seq < found.first + len(found.digest):
                return found
        raise LookupError(f"{self._path}: record {record_seq} was decoded, but is not found again")


def _one_row_per_record(registry: Registry, kind: Kind) -> set[str]:
    """Tables that have one row for each record with rows, for those kinds of file whose records have an identity."""
    if kind == Kind.SMF:
        return {f"{file.name}_header" for file in registry.record_files}
    return {"ims_log_record"} if kind == Kind.IMS_LOG else set()


def record(con: duckdb.DuckDBPyConnection, file_id: int, rows: pa.Table) -> None:
    """Put down identities: columns `record_seq`, `written_raw`, `digest`."""
    _insert(con, "record_identity", file_id, rows)


def record_incomplete(con: duckdb.DuckDBPyConnection, file_id: int, missing: Mapping[int, int]) -> None:
    """Put down which records are pieces of split ones, and how many further pieces of each the file lacks."""
    if missing:
        columns = {"record_seq": list(missing), "missing": list(missing.values())}
        rows = of_columns({name: np.array(values, np.uint32) for name, values in columns.items()})
        _insert(con, "record_incomplete", file_id, rows)


def _insert(con: duckdb.DuckDBPyConnection, table: str, file_id: int, rows: pa.Table) -> None:
    con.execute(f"INSERT INTO meta.{table} BY NAME SELECT {file_id}::UBIGINT AS file_id, * FROM rows")


def settle(con: duckdb.DuckDBPyConnection, file_id: int) -> int:
    """Flag the records of a file that another file has and counts; how many of them there are now.

    Pieces of a split record that another file has less of are counted in this one from now on, and flagged there. Only
    identities written in the time that the file covers are looked at, which are few in a database of many days.
    """
    low, high = con.execute(
        "SELECT min(written_raw), max(written_raw) FROM meta.record_identity WHERE file_id = ?", [file_id]
    ).fetchall()[0]
    if low is None:
        return 0
    con.execute(
        "CREATE OR REPLACE TEMP TABLE shared_identity AS SELECT DISTINCT written_raw, digest FROM meta.record_identity "
        "SEMI JOIN (SELECT written_raw, digest FROM meta.record_identity WHERE file_id = $id) AS own "
        "USING (written_raw, digest) WHERE file_id <> $id AND written_raw BETWEEN $low AND $high",
        {"id": file_id, "low": low, "high": high},
    )
    try:
        if con.execute("SELECT count(*) FROM shared_identity").fetchone() != (0,):
            _take_over(con, file_id)
            con.execute(
                f"WITH found AS ({_OCCURRENCES}) "
                "INSERT INTO meta.record_overlap SELECT own.file_id, own.record_seq, other.file_id "
                "FROM found AS own JOIN found AS other USING (written_raw, digest, occurrence) "
                "WHERE own.file_id = $id AND other.file_id <> $id "
                "AND own.counted_in IS NULL AND other.counted_in IS NULL ORDER BY own.record_seq",
                {"id": file_id},
            )
    finally:
        con.execute("DROP TABLE shared_identity")
    return _flagged(con, file_id)


def _take_over(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Count in this file what the file that counts it so far has less of, and flag it wherever else it is.

    The ledger's figures of the other files follow.
    """
    known = con.execute(
        "SELECT count(*) FROM meta.record_incomplete SEMI JOIN (SELECT file_id, record_seq FROM "
        "meta.record_identity SEMI JOIN shared_identity USING (written_raw, digest)) AS shared "
        "USING (file_id, record_seq)"
    ).fetchone()
    if known == (0,):
        return
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE taken AS WITH found AS ({_OCCURRENCES}) "
        "SELECT other.file_id, other.record_seq FROM found AS own "
        "JOIN found AS before USING (written_raw, digest, occurrence) "
        "JOIN found AS other USING (written_raw, digest, occurrence) "
        "WHERE own.file_id = $id AND own.counted_in IS NULL AND before.counted_in IS NULL "
        "AND before.missing > own.missing AND other.file_id <> $id ORDER BY ALL",
        {"id": file_id},
    )
    con.execute(
        "DELETE FROM meta.record_overlap USING taken WHERE record_overlap.file_id = taken.file_id "
        "AND record_overlap.record_seq = taken.record_seq"
    )
    con.execute(f"INSERT INTO meta.record_overlap SELECT *, {file_id}::UBIGINT FROM taken ORDER BY ALL")
    _update_ledger(con, "taken")
    con.execute("DROP TABLE taken")


def release(con: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Forget the records of a file that is being removed; what only it counted is counted in another that has it.

    The ledger's figures of the other files follow.
    """
    con.execute(
        "CREATE OR REPLACE TEMP TABLE orphan AS SELECT file_id, record_seq, written_raw, digest "
        "FROM meta.record_overlap JOIN meta.record_identity USING (file_id, record_seq) WHERE counted_in = ?",
        [file_id],
    )
    con.execute("CREATE OR REPLACE TEMP TABLE shared_identity AS SELECT DISTINCT written_raw, digest FROM orphan")
    con.execute("DELETE FROM meta.record_overlap WHERE file_id = $id OR counted_in = $id", {"id": file_id})
    for table in ("record_identity", "record_incomplete", "held_back"):
        con.execute(f"DELETE FROM meta.{table} WHERE file_id = ?", [file_id])
    con.execute(
        f"WITH found AS ({_OCCURRENCES}), "
        "heir AS (SELECT found.*, first_value(file_id) OVER (PARTITION BY written_raw, digest, occurrence "
        "ORDER BY missing, file_id) AS counts_in FROM found SEMI JOIN orphan USING (file_id, record_seq)) "
        "INSERT INTO meta.record_overlap SELECT file_id, record_seq, counts_in FROM heir WHERE file_id <> counts_in "
        "ORDER BY file_id, record_seq"
    )
    _update_ledger(con, "orphan")
    con.execute("DROP TABLE orphan")
    con.execute("DROP TABLE shared_identity")


def counted_elsewhere(con: duckdb.DuckDBPyConnection, file_id: int) -> dict[str, int]:
    """Paths of the files in which records of a file count, with the number of these records."""
    rows = con.execute(
        "SELECT path, count(*) FROM meta.record_overlap AS found JOIN meta.ledger ON ledger.file_id = counted_in "
        "WHERE found.file_id = ? AND counted_in <> found.file_id GROUP BY path ORDER BY path",
        [file_id],
    ).fetchall()
    return dict(rows)


def _update_ledger(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Bring what the ledger says of overlap up to date for the files named in a table."""
    for (other,) in con.execute(f"SELECT DISTINCT file_id FROM {table} ORDER BY file_id").fetchall():
        con.execute("UPDATE meta.ledger SET overlap = ? WHERE file_id = ?", [_flagged(con, other), other])


def _flagged(con: duckdb.DuckDBPyConnection, file_id: int) -> int:
    (found,) = con.execute(
        "SELECT count(*) FROM meta.record_overlap WHERE file_id = ? AND counted_in <> file_id", [file_id]
    ).fetchall()[0]
    return found
