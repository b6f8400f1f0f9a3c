"""A scratch database like the warehouse, with the records of some stretches of time only, to build from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from model.names import sql_text
from pipelines.building.touched import Span, union, written_limits

#: Tables of a few rows that apply to all time.
_WHOLE = ("etalon_run", "etalon_group", "held_back", "system_name")
#: Tables of the schema `meta` that models and checks read.
_OF_FILES = (
    "held_back",
    "ledger",
    "quarantine",
    "record_identity",
    "record_incomplete",
    "record_overlap",
    "system_name",
)
_BY_RECORD = ("smf", "ims_log")


@dataclass(frozen=True)
class Cut:
    """Which records to read: those of the time in `read`, and all of the files in `files` for which None is given.

    files: files that `meta.built_file` does not have as they are now, with the time that they hold records of.
    tables: raw tables to read, all without it.
    """

    read: tuple[Span, ...]
    files: Mapping[int, tuple[Span, ...] | None]
    tables: frozenset[str] | None = None


def cut(warehouse: Path, window: Path, wanted: Cut) -> None:
    """Make `window` anew from records of the warehouse.

    Raises WarehouseLocked while another process writes the warehouse.
    """
    from ingest.warehouse import open_writer, opening
    from ingest.warehouse.parts import SUFFIX

    for left in (window, window.with_name(window.name + ".wal")):
        left.unlink(missing_ok=True)
    with open_writer(window) as con:
        with opening(warehouse):
            con.execute(f"ATTACH {sql_text(str(warehouse))} AS whole (READ_ONLY)")
        con.execute("BEGIN")
        con.execute("CREATE TEMP TABLE wanted_file (file_id UBIGINT, kind VARCHAR, is_whole BOOLEAN)")
        con.executemany("INSERT INTO wanted_file VALUES (?, ?, ?)", _wanted(con, wanted) or [(0, "none", True)])
        con.execute("CREATE TEMP TABLE wanted_record (file_id UBIGINT, record_seq UINTEGER)")
        con.execute("CREATE TEMP TABLE wanted_time (kind VARCHAR, low UBIGINT, high UBIGINT)")
        in_parts = [name for (name,) in con.execute("SELECT DISTINCT table_name FROM whole.meta.part").fetchall()]
        identities = f"record_identity{SUFFIX if 'record_identity' in in_parts else ''}"
        for kind in _BY_RECORD:
            for span in wanted.read:
                low, high = written_limits(span, kind)
                con.execute("INSERT INTO wanted_time VALUES (?, ?, ?)", [kind, low, high])
                con.execute(
                    f"INSERT INTO wanted_record SELECT file_id, record_seq FROM whole.meta.{identities} "
                    "SEMI JOIN (SELECT file_id FROM wanted_file WHERE NOT is_whole AND kind = ?) AS cut "
                    "USING (file_id) WHERE written_raw BETWEEN ? AND ?",
                    [kind, low, high],
                )
        tables = con.execute(
            "SELECT schema_name, table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'whole' "
            "AND (schema_name = 'raw' OR schema_name = 'meta' AND list_contains($tables, table_name)) ORDER BY ALL",
            {"tables": [*_OF_FILES, identities]},
        ).fetchall()
        cut_short = con.execute("SELECT count(*) FROM wanted_record").fetchall()[0][0] > 0
        for schema in ("raw", "meta"):
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        for schema, table, size in tables:
            named = wanted.tables is None or table.removesuffix(SUFFIX) in wanted.tables
            is_read = schema == "meta" or table in _WHOLE or named
            _copy(con, schema, table, is_read and size > 0, cut_short)
        _link(con, in_parts)
        con.execute("COMMIT")


def _link(con: duckdb.DuckDBPyConnection, tables: list[str]) -> None:
    """Name the parts of the warehouse that may hold wanted records: nothing of them is copied."""
    from ingest.warehouse.parts import create, make_views

    create(con)
    con.execute(
        "INSERT INTO meta.part FROM whole.meta.part AS part SEMI JOIN (SELECT file_id, is_whole, low, high "
        "FROM wanted_file LEFT JOIN wanted_time USING (kind)) AS wanted ON part.file_id = wanted.file_id "
        "AND (is_whole OR written_from IS NULL OR written_to >= low AND written_from <= high)"
    )
    con.execute("INSERT INTO meta.part_folder FROM whole.meta.part_folder")
    con.execute(
        "INSERT INTO meta.part_hole SELECT path, file_id FROM whole.meta.part SEMI JOIN meta.part USING (path) "
        "ANTI JOIN meta.part AS wanted USING (path, file_id) UNION FROM whole.meta.part_hole"
    )
    make_views(con, tables)


def _copy(con: duckdb.DuckDBPyConnection, schema: str, table: str, filled: bool, cut_short: bool) -> None:
    """Copy the wanted rows of a table: of whole files, and single records of others."""
    name = f'{schema}."{table}"'
    if table in _WHOLE:
        con.execute(f"CREATE TABLE {name} AS FROM whole.{name}")
        return
    if table == "ledger":
        con.execute(
            f"CREATE TABLE {name} AS FROM whole.{name} WHERE status = 'failed' OR file_id IN "
            "(SELECT file_id FROM wanted_file WHERE is_whole)"
        )
        return
    con.execute(f"CREATE TABLE {name} AS FROM whole.{name} LIMIT 0")
    first, last = None, None
    if filled:
        # Rows of a few days are adjacent; without limits DuckDB reads all columns of all time.
        limits = con.execute(f"SELECT min(rowid), max(rowid) FROM whole.{name} SEMI JOIN wanted_file USING (file_id)")
        [(first, last)] = limits.fetchall()
    if first is None:
        return
    near = f"(FROM whole.{name} WHERE rowid BETWEEN {first} AND {last})"
    con.execute(f"INSERT INTO {name} FROM {near} SEMI JOIN (FROM wanted_file WHERE is_whole) USING (file_id)")
    if cut_short and not table.startswith(("quarantine", "record_identity", "record_incomplete")):
        con.execute(f"INSERT INTO {name} FROM {near} SEMI JOIN wanted_record USING (file_id, record_seq)")


def _wanted(con: duckdb.DuckDBPyConnection, wanted: Cut) -> list[tuple[int, str, bool]]:
    """Files with records in the time to read, with their kinds and whether all of their time lies in it.

    A file that counts for all time is always among them.
    """
    kinds = dict(con.execute("SELECT file_id, kind FROM whole.meta.ledger").fetchall())
    spans: dict[int, list[Span] | None] = {}
    for file_id, first, last in con.execute("SELECT file_id, first_at, last_at FROM whole.meta.built_file").fetchall():
        if first is None:
            spans[file_id] = None
        elif (stretches := spans.setdefault(file_id, [])) is not None:
            stretches.append(Span(first, last))
    spans |= {file_id: None if file_spans is None else list(file_spans) for file_id, file_spans in wanted.files.items()}
    files = []
    for file_id, file_spans in spans.items():
        if file_id not in kinds:
            continue
        if file_spans is None:
            files.append((file_id, kinds[file_id], True))
        elif any(span.meets(read) for span in file_spans for read in wanted.read):
            within = union([*wanted.read, *file_spans]) == union(wanted.read)
            files.append((file_id, kinds[file_id], within or kinds[file_id] not in _BY_RECORD))
    return files
