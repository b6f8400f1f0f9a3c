"""`meta.ledger`: one row per input file, with what its bytes became. `meta.quarantine`: what could not be decoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from ingest.batch import Quarantined, of_file, quarantine_rows
from ingest.files.outcome import ExitCode, FileReport
from ingest.warehouse import holding, overlaps, parts, systems, version
from ingest.warehouse.writer import transaction

WAITING = "cics_dictionary_missing"
"""The reason code of records that are quarantined until their CICS dictionary is loaded."""

_CREATE = (
    """CREATE TABLE IF NOT EXISTS meta.ledger (
        file_id UBIGINT NOT NULL, path VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, bytes UBIGINT NOT NULL,
        kind VARCHAR NOT NULL, status VARCHAR NOT NULL,
        records UBIGINT NOT NULL, decoded UBIGINT NOT NULL, skipped UBIGINT NOT NULL, quarantined UBIGINT NOT NULL,
        decoded_bytes UBIGINT NOT NULL, skipped_bytes UBIGINT NOT NULL, quarantined_bytes UBIGINT NOT NULL,
        framing_bytes UBIGINT NOT NULL, overlap UBIGINT NOT NULL DEFAULT 0,
        skipped_by_type MAP(VARCHAR, STRUCT(records UBIGINT, bytes UBIGINT)) NOT NULL,
        reason_codes MAP(VARCHAR, UBIGINT) NOT NULL, row_counts MAP(VARCHAR, UBIGINT) NOT NULL,
        message VARCHAR, etalon_version VARCHAR NOT NULL, layouts_version VARCHAR NOT NULL,
        loaded_at TIMESTAMP NOT NULL,
        CHECK (status IN ('loaded', 'message', 'quarantined', 'undecoded', 'failed', 'superseded')),
        CHECK (status = 'failed' OR bytes = decoded_bytes + skipped_bytes + quarantined_bytes + framing_bytes),
        CHECK (status = 'failed' OR records = decoded + skipped + quarantined)
    )""",
    """CREATE TABLE IF NOT EXISTS meta.quarantine (
        file_id UBIGINT NOT NULL, record_seq UINTEGER, byte_offset UBIGINT NOT NULL, length UBIGINT NOT NULL,
        reason VARCHAR NOT NULL, detail VARCHAR, raw BLOB NOT NULL
    )""",
    # What was taken out on purpose since the snapshot was published: a file, or rows of marts before a time.
    """CREATE TABLE IF NOT EXISTS meta.dropped (
        file_id UBIGINT, path VARCHAR, sha256 VARCHAR, before TIMESTAMP, dropped_at TIMESTAMP NOT NULL
    )""",
    "ALTER TABLE meta.ledger ADD COLUMN IF NOT EXISTS overlap UBIGINT DEFAULT 0",
)


@dataclass(frozen=True)
class Entry:
    """A row of the ledger, as far as deciding what to do with a file needs it."""

    file_id: int
    sha256: str
    bytes: int
    kind: str
    status: str
    layouts_version: str
    row_counts: dict[str, int]


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of the schema `meta` unless they are there; where there are none yet, with their version.

    The version comes first: a process that is killed here leaves a warehouse of this version, not of none.
    """
    tables = con.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'meta'").fetchone()
    con.execute("CREATE SCHEMA IF NOT EXISTS meta")
    if tables == (0,):
        version.write(con)
    _take_new_statuses(con)
    for statement in _CREATE:
        con.execute(statement)
    con.execute(holding.CREATE)
    parts.create(con)
    overlaps.create(con)
    systems.create(con)


def _take_new_statuses(con: duckdb.DuckDBPyConnection) -> None:
    """Make a ledger of an earlier version again, which refuses statuses that there are now; DuckDB alters no CHECK."""
    outdated = con.execute(
        "SELECT 1 FROM duckdb_constraints() WHERE schema_name = 'meta' AND table_name = 'ledger' "
        "AND constraint_text LIKE '%superseded%' AND constraint_text NOT LIKE '%undecoded%'"
    ).fetchone()
    if outdated:
        with transaction(con):
            con.execute("ALTER TABLE meta.ledger RENAME TO earlier_ledger")
            con.execute(_CREATE[0])
            con.execute("INSERT INTO meta.ledger BY NAME FROM meta.earlier_ledger")
            con.execute("DROP TABLE meta.earlier_ledger")


def put_down_dropped(con: duckdb.DuckDBPyConnection, entry: Entry, path: str) -> None:
    """Record that a file is taken out on purpose."""
    row = [entry.file_id, path, entry.sha256]
    con.execute("INSERT INTO meta.dropped (file_id, path, sha256, dropped_at) VALUES (?, ?, ?, now()::TIMESTAMP)", row)


def waiting(con: duckdb.DuckDBPyConnection) -> list[int]:
    """The files that have records waiting for a CICS dictionary."""
    query = "SELECT DISTINCT file_id FROM meta.quarantine WHERE reason = ? ORDER BY file_id"
    return [file_id for (file_id,) in con.execute(query, [WAITING]).fetchall()]


def find(con: duckdb.DuckDBPyConnection, sha256: str) -> Entry | None:
    """The entry of a file with this content."""
    entries = _entries(con, "sha256 = ?", [sha256])
    return entries[0] if entries else None


def has(con: duckdb.DuckDBPyConnection, file_id: int) -> bool:
    """Whether there is an entry with this key."""
    return _holds(con, "file_id = ?", [file_id])


def may_hold(con: duckdb.DuckDBPyConnection, file_id: int, size: int) -> bool:
    """False if no entry can be of content with this key and size; its digest need not be looked for then.

    A key alone does not tell: other content may have had the key first, and earlier versions made keys differently.
    """
    return _holds(con, "file_id = ? OR bytes = ?", [file_id, size])


def _holds(con: duckdb.DuckDBPyConnection, where: str, values: Sequence[int]) -> bool:
    return bool(con.execute(f"SELECT 1 FROM meta.ledger WHERE {where} LIMIT 1", list(values)).fetchall())


def of_path(con: duckdb.DuckDBPyConnection, path: str) -> list[Entry]:
    """Entries of files that were loaded from a path, whatever their content was."""
    return _entries(con, "path = ? AND status <> 'superseded'", [path])


def all_of_path(con: duckdb.DuckDBPyConnection, path: str) -> list[Entry]:
    """Entries of a path, those of files too whose place others have taken."""
    return _entries(con, "path = ?", [path])


def _entries(con: duckdb.DuckDBPyConnection, where: str, values: Sequence[Any]) -> list[Entry]:
    columns = "file_id, sha256, bytes, kind, status, layouts_version, row_counts"
    rows = con.execute(f"SELECT {columns} FROM meta.ledger WHERE {where} ORDER BY file_id", list(values)).fetchall()
    return [Entry(*row) for row in rows]


def report_of(con: duckdb.DuckDBPyConnection, sha256: str, path: str) -> FileReport:
    """The report of a file that is not loaded again: what the ledger says of it, with status `unchanged`."""
    names = (
        "bytes, status, records, decoded, skipped_by_type, quarantined, row_counts, kind, message, reason_codes, "
        "decoded_bytes, quarantined_bytes, framing_bytes, overlap, file_id"
    )
    row = con.execute(f"SELECT {names} FROM meta.ledger WHERE sha256 = ?", [sha256]).fetchone()
    assert row is not None
    size, status, records, decoded, skipped, quarantined, rows, kind, message, reasons, *sizes = row
    code = ExitCode.QUARANTINED if quarantined else ExitCode.OK
    undecoded = status in ("quarantined", "undecoded")
    return FileReport(
        path=path,
        sha256=sha256,
        bytes=size,
        status="unchanged",
        records=records,
        decoded=decoded,
        skipped={name: entry["records"] for name, entry in skipped.items()},
        quarantined=quarantined,
        rows=rows,
        kind=kind,
        message=message,
        reason_codes=reasons,
        decoded_bytes=sizes[0],
        skipped_bytes={name: entry["bytes"] for name, entry in skipped.items()},
        quarantined_bytes=sizes[1],
        framing_bytes=sizes[2],
        overlap=sizes[3],
        overlap_with=overlaps.counted_elsewhere(con, sizes[4]),
        exit_code=ExitCode.UNRECOGNISED if undecoded else code,
    )


def keep_file(con: duckdb.DuckDBPyConnection, file_id: int, path: str) -> None:
    """Put the rows that a file has in a Parquet file into the quarantine."""
    rows = "SELECT * REPLACE ($id::UBIGINT AS file_id) FROM read_parquet($path)"
    con.execute(f"INSERT INTO meta.quarantine BY NAME {rows}", {"id": file_id, "path": path})


def overlapping(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Digests of the files of which records count in others."""
    return frozenset(sha256 for (sha256,) in con.execute("SELECT sha256 FROM meta.ledger WHERE overlap > 0").fetchall())


def write(con: duckdb.DuckDBPyConnection, report: FileReport, file_id: int, path: str, layouts_version: str) -> None:
    """Put the row of a file in place of any earlier one of the same content."""
    con.execute("DELETE FROM meta.ledger WHERE file_id = ?", [file_id])
    skipped = {
        name: {"records": count, "bytes": report.skipped_bytes.get(name, 0)}
        for name, count in sorted(report.skipped.items())
    }
    values = {
        "file_id": file_id,
        "path": path,
        "sha256": report.sha256,
        "bytes": report.bytes,
        "kind": report.kind or "unrecognised",
        "status": report.status,
        "records": report.records,
        "decoded": report.decoded,
        "skipped": sum(report.skipped.values()),
        "quarantined": report.quarantined,
        "decoded_bytes": report.decoded_bytes,
        "skipped_bytes": sum(report.skipped_bytes.values()),
        "quarantined_bytes": report.quarantined_bytes,
        "framing_bytes": report.framing_bytes,
        "overlap": report.overlap,
        "skipped_by_type": skipped,
        "reason_codes": dict(sorted(report.reason_codes.items())),
        "row_counts": dict(sorted(report.rows.items())),
        "message": report.message,
        "etalon_version": etalon_version(),
        "layouts_version": layouts_version,
    }
    names, marks = ", ".join(values), ", ".join("?" for _ in values)
    con.execute(
        f"INSERT INTO meta.ledger ({names}, loaded_at) VALUES ({marks}, now()::TIMESTAMP)", list(values.values())
    )


def quarantine(con: duckdb.DuckDBPyConnection, file_id: int, pieces: Sequence[Quarantined]) -> None:
    """Keep pieces of a file that could not be decoded."""
    if pieces:
        keep(con, of_file(file_id, quarantine_rows(pieces)))


def keep(con: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
    """Put rows into the quarantine."""
    con.execute("INSERT INTO meta.quarantine BY NAME FROM rows")


@cache
def etalon_version() -> str:
    """Version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("etalon-z")
    except PackageNotFoundError:
        return "unknown"
