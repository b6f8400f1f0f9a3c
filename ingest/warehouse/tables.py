"""Raw tables in the database: made on demand, widened when a layout has grown, filled from Arrow."""

import hashlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.files.row_buffer import RowBuffer
from ingest.formats.schemas import DATA_FILES
from ingest.formats.schemas import schemas as report_schemas
from ingest.layout_files import LOGS
from ingest.registry import Registry
from ingest.schema import column_definitions
from ingest.units.parts import IDENTITIES, Part
from ingest.warehouse import parts
from ingest.warehouse.writer import transaction

_TYPES = {
    pa.string(): "VARCHAR",
    pa.float64(): "DOUBLE",
    pa.int64(): "BIGINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.timestamp("us"): "TIMESTAMP",
}

_BUFFER_BYTES = 32 << 20
_ROOM = Path(__file__).parent.parent


def layouts_version(registry: Registry) -> str:
    """Twelve hexadecimal digits that change with a layout, its parts, or the description of a report's tables."""
    running = hashlib.sha256()
    for package, name in DATA_FILES:
        running.update(files(package).joinpath(name).read_bytes())
    for file in sorted(registry.files.values(), key=lambda file: file.name):
        running.update(f"{file.name}\n".encode() + file.path.read_bytes())
    for folder in sorted({file.path.parent / "parts" for file in registry.files.values()}):
        for path in sorted(folder.glob("*.toml")):
            running.update(f"{path.name}\n".encode() + path.read_bytes())
    return running.hexdigest()[:12]


class Tables:
    """The raw tables of one open database, with their columns remembered."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._columns: dict[str, dict[str, str]] = {}
        self._in_parts: set[str] = set()
        self._canonical: dict[str, str] = {}
        self.forget()

    def bring_up_to(self, registry: Registry) -> None:
        """Prepare, unless that was done with these layouts and this code, and no column has changed since.

        Views of tables with parts name the folder in which these are by now.
        """
        parts.bring_up_to(self._con, parts.folder(self._con))
        layouts = layouts_version(registry)
        with suppress(duckdb.CatalogException):
            if self._con.execute("SELECT mark FROM meta.raw_columns").fetchall() == [(self._mark(layouts),)]:
                return
        self.prepare(registry)
        self._con.execute("CREATE OR REPLACE TABLE meta.raw_columns AS SELECT ? AS mark", [self._mark(layouts)])

    def _mark(self, layouts: str) -> str:
        """A hash of all columns there are, and of what says which there should be."""
        running = hashlib.sha256(f"{layouts}{self._columns}".encode())
        for path in sorted(_ROOM.rglob("*.py")):
            running.update(path.read_bytes())
        return running.hexdigest()

    def prepare(self, registry: Registry) -> None:
        """Make the tables of all layouts and reports, and widen those of an earlier version, in one transaction."""
        wanted = {section.table: column_definitions(section) for _, section in registry.tables()}
        for layout in (layout for log in LOGS for layout in registry.logged(log).values()):
            wanted[layout.header.table] = column_definitions(layout.header)
        for name, schema in report_schemas().items():
            wanted[name] = [("file_id", "UBIGINT NOT NULL"), *((f.name, _TYPES[f.type]) for f in schema)]
        try:
            with transaction(self._con):
                self._con.execute("CREATE SCHEMA IF NOT EXISTS raw")
                for name, columns in wanted.items():
                    if self._ensure(name, columns, retype=True) and name in self._in_parts:
                        parts.make_views(self._con, [name])
        finally:
            self.forget()

    def append(self, name: str, rows: pa.Table) -> None:
        """Write rows with the `file_id` of their files to a table, in order; columns it lacks are added first."""
        con = self._con
        # Queries find `rows` by its name: a registered table would stay in memory until the transaction ends.
        columns_now = self._columns.get(name)
        if name != IDENTITIES and (columns_now is None or not columns_now.keys() >= set(rows.column_names)):
            described = con.execute("DESCRIBE SELECT * FROM rows").fetchall()
            self.ensure(name, [(row[0], row[1] + " NOT NULL" * (row[0] == "file_id")) for row in described])
        con.execute(f"INSERT INTO {self._rows(name)} BY NAME SELECT * FROM rows")

    def row_buffer(self) -> RowBuffer:
        """A buffer of rows for the tables: a statement for several hundred columns takes milliseconds."""
        return RowBuffer(self.append, _BUFFER_BYTES)

    def add_parts(self, new_parts: Collection[Part]) -> None:
        """Count parts in; tables and columns that there are not yet are made first."""
        for part in {part.table: part for part in new_parts}.values():
            if part.table != IDENTITIES:
                self.ensure(part.table, parts.columns_of(self._con, part.path))
        parts.add(self._con, new_parts)
        self._in_parts |= {part.table for part in new_parts}

    def remove(self, file_id: int, names: Sequence[str] | None = None) -> None:
        """Remove what a file once put into the tables named (all, unless named) and into the quarantine."""
        for name in self._columns if names is None else names:
            if name in self._columns:
                self._con.execute(f"DELETE FROM {self._rows(name)} WHERE file_id = ?", [file_id])
        self._con.execute("DELETE FROM meta.quarantine WHERE file_id = ?", [file_id])
        if self._in_parts and parts.remove(self._con, [file_id]):
            self._in_parts = set(parts.tables(self._con))

    def replaced(self, name: str, rows: pa.Table) -> list[int]:
        """Remove what rows of a runs or groups file take the place of; ids of the files it came from.

        A groups file describes an LPAR completely, a runs file from its first start to its last end.
        """
        spans, within = "", ""
        if "start_utc" in rows.column_names:
            spans = ", min(start_utc) AS first_utc, max(end_utc) AS last_utc"
            within = "AND old.start_utc < new.last_utc AND old.end_utc > new.first_utc"
        removed_rows = self._con.execute(
            f"DELETE FROM raw.{_quoted(name)} AS old USING (SELECT system_id, smf_sid{spans} FROM rows GROUP BY ALL) "
            f"AS new WHERE old.system_id = new.system_id AND old.smf_sid = new.smf_sid {within} RETURNING old.file_id"
        ).fetchall()
        return sorted({row[0] for row in removed_rows})

    def forget(self) -> None:
        """Read the columns from the database again, as after a rolled back transaction."""
        self._read_columns()

    def _rows(self, name: str) -> str:
        """The table of the rows that are in no part."""
        schema = "meta" if name == IDENTITIES else "raw"
        return f"{schema}.{_quoted(name + parts.SUFFIX if name in self._in_parts else name)}"

    def ensure(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Make a table or add the columns it lacks."""
        if self._ensure(name, columns) and name in self._in_parts:
            parts.make_views(self._con, [name])

    def _ensure(self, name: str, columns: Sequence[tuple[str, str]], retype: bool = False) -> bool:
        """Make a table or add the columns it lacks; with `retype`, give the others the types they are to have.

        Whether anything changed.
        """
        table, changed = self._rows(name), name not in self._columns
        if name not in self._columns:
            body = ", ".join(f"{_quoted(column)} {kind}" for column, kind in columns)
            self._con.execute(f"CREATE TABLE {table} ({body})")
            self._columns[name] = {column: self._typed(kind) for column, kind in columns}
        columns_now = self._columns[name]
        for column, kind in columns:
            wanted = self._typed(kind)
            if column not in columns_now:
                self._con.execute(f"ALTER TABLE {table} ADD COLUMN {_quoted(column)} {wanted}")
            elif retype and columns_now[column] != wanted:
                quoted = _quoted(column)
                # Bytes that no layout had a figure for hold it with its highest byte first. What is none of the new
                # type is NULL until its file is loaded anew.
                old = f"'0x' || hex({quoted})" if columns_now[column] == "BLOB" and "INT" in wanted else quoted
                new = f"SET DATA TYPE {wanted} USING TRY_CAST({old} AS {wanted})"
                self._con.execute(f"ALTER TABLE {table} ALTER COLUMN {quoted} {new}")
            else:
                continue
            columns_now[column] = wanted
            changed = True
        return changed

    def _typed(self, kind: str) -> str:
        """A type as DuckDB itself writes it, without constraints."""
        if kind not in self._canonical:
            plain = kind.removesuffix(" NOT NULL")
            row = self._con.execute(f"SELECT typeof(CAST(NULL AS {plain}))").fetchone()
            assert row is not None
            self._canonical[kind] = plain if row[0] == '"NULL"' else row[0]
        return self._canonical[kind]

    def _read_columns(self) -> None:
        columns_of: dict[str, dict[str, str]] = {}
        for table, column, kind in self._con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() "
            f"WHERE (schema_name = 'raw' OR table_name = '{IDENTITIES}{parts.SUFFIX}') AND NOT internal "
            "AND database_name = current_database() ORDER BY table_name, column_index"
        ).fetchall():
            columns_of.setdefault(table, {})[column] = kind
        self._in_parts = {name.removesuffix(parts.SUFFIX) for name in columns_of if name.endswith(parts.SUFFIX)}
        for name in self._in_parts:
            columns_of[name] = columns_of.pop(name + parts.SUFFIX)
        columns_of.pop(IDENTITIES, None)
        self._columns = columns_of


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
