"""The published tables as Delta tables, in a folder or at any address that fsspec knows, for Spark, Trino and others.

A table `SCHEMA/TABLE` is Parquet files and a Delta log. Parts of large dumps are copied once. Merged parts are new
files, and are copied again. Other rows are in a file for each month: raw rows by when they were loaded, rows of marts
by their time. The name of a file follows from its content, so that a publication writes what is new and one Delta
transaction takes it in. Files that are no longer named stay until the next publication, for those who read them
meanwhile.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from pipelines.building.merge import TIMES
from pipelines.exits import EtalonError, Exit
from pipelines.settings import without_password

_LOG = "_delta_log"
#: Tables of `meta` without which raw rows cannot be counted.
_OF_META = ("ledger", "record_overlap")


@dataclass(frozen=True)
class File:
    """A file that a table should have: its rows, and what writes it to a path of this machine."""

    rows: int
    write: Callable[[Path], object]


def publish(snapshot: Path, address: str | Path, mirror: Path) -> int:
    """Bring the lake at an address up to a snapshot; how many tables changed.

    mirror: folder that keeps the Delta logs here. EtalonError where the extra is not installed, or the address cannot
    be written to.
    """
    try:
        import deltalake as _  # noqa: F401
    except ImportError as error:
        remedy = "install it: pip install 'etalon-z[spark]', or remove [lake] from etalon.toml"
        raise EtalonError(f"a lake needs deltalake; {remedy}", Exit.USAGE) from error
    from ingest.snapshot import connected

    try:
        from fsspec.core import url_to_fs

        files, root = url_to_fs(str(address))
        with connected(snapshot) as con:
            present = {path.rpartition("/")[2] for path in files.glob(f"{root.rstrip('/')}/raw/*")}
            tables = _tables(con, present)
            return sum(_Table(con, schema, name, files, root, mirror).publish() for schema, name in tables)
    except (EtalonError, duckdb.Error):
        raise
    except Exception as error:  # Every kind of file system has different errors.
        message = f"lake.address {address}: {type(error).__name__}: {error}"
        raise EtalonError(without_password(message), Exit.NO_INPUT) from error


def _tables(con: duckdb.DuckDBPyConnection, present: set[str]) -> list[tuple[str, str]]:
    """The tables of a lake, by schema and name: marts, and raw tables with rows or that are there already."""
    from ingest.warehouse import filled

    marts = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts' ORDER BY ALL").fetchall()
    raw = con.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'raw'").fetchall()
    wanted = {*filled(con), *(present & {name for (name,) in raw})}
    listed = [("raw", name) for name in sorted(wanted)] + [("marts", name) for (name,) in marts]
    return listed + [("meta", name) for name in _OF_META]


class _Table:
    """A table of the snapshot, and its files and log in the lake."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, schema: str, name: str, files: Any, root: str, mirror: Path
    ) -> None:
        from ingest.units.parts import signed

        self._con, self._files = con, files
        self._folder, self._mirror = f"{root.rstrip('/')}/{schema}/{name}", mirror / schema / name
        self._schema, self._name = schema, name
        self._signed = signed
        self._columns = signed(self._rows(f'{schema}."{name}" LIMIT 0')).schema
        described = repr([(field.name, str(field.type)) for field in self._columns])
        self._mark = hashlib.sha256(described.encode()).hexdigest()[:8]

    def publish(self) -> bool:
        """Write the files that the lake lacks, and commit; whether anything changed."""
        self._exchange_logs()
        table, active = self._delta()
        wanted = self._wanted()
        self._files.makedirs(self._folder, exist_ok=True)
        for path in self._files.glob(f"{self._folder}/*.parquet"):
            if (name := path.rpartition("/")[2]) not in active and name not in wanted:
                self._files.rm_file(path)
        new = {name: file for name, file in wanted.items() if name not in active}
        if table is not None and wanted.keys() == active.keys():
            return False
        self._commit(table, {name: self._put(name, file) for name, file in new.items()}, active.keys() - wanted.keys())
        self._exchange_logs()
        return True

    def _wanted(self) -> dict[str, File]:
        """The files that the table should have, by name."""
        from ingest.warehouse.parts import counted

        wanted: dict[str, File] = {}
        if self._schema == "raw":
            [folder] = self._con.execute("SELECT path FROM meta.part_folder").fetchall() or [("",)]
            for path, rows, counting in counted(self._con, self._name):
                source = Path(folder[0], path)
                of = "" if counting is None else f"-{hashlib.sha256(repr(counting).encode()).hexdigest()[:8]}"
                name = f"{source.stem}{of}-{self._mark}.parquet"
                wanted[name] = File(rows, partial(self._copy_part, source, counting))
        rest, chunk, mark = self._rest()
        chunks = self._con.execute(f"SELECT {chunk} AS chunk, count(*), {mark} FROM {rest} GROUP BY ALL").fetchall()
        for key, rows, digest in chunks:
            name = hashlib.sha256(f"{key} {rows} {digest}".encode()).hexdigest()[:16]
            of_chunk = f"{rest} WHERE {chunk} IS NOT DISTINCT FROM {_literal(key)}"
            wanted[f"{key or 'all'}-{name}-{self._mark}.parquet"] = File(rows, partial(self._write_rows, of_chunk))
        return wanted

    def _rest(self) -> tuple[str, str, str]:
        """Rows in no part, as SQL: the relation, the expression for the file of a row, and what changes with rows."""
        if self._schema == "raw":
            from ingest.warehouse.parts import rows_table

            relation = f"{rows_table(self._con, self._name)} AS lake_row JOIN meta.ledger AS ledger USING (file_id)"
            loaded = "sum(hash(file_id, ledger.loaded_at)::HUGEINT)"
            return relation, "strftime(ledger.loaded_at, '%Y-%m')", loaded
        names = set(self._columns.names)
        times = next((columns for these in TIMES if (columns := [name for name in these if name in names])), None)
        chunk = f"strftime(coalesce({', '.join(times)}, NULL), '%Y-%m')" if times else "NULL::VARCHAR"
        return f'{self._schema}."{self._name}" AS lake_row', chunk, "sum(hash(lake_row)::HUGEINT)"

    def _rows(self, relation: str) -> Any:
        columns = "lake_row.*" if " AS lake_row" in relation else "*"
        return self._con.sql(f"SELECT {columns} FROM {relation}").to_arrow_table()

    def _write_rows(self, relation: str, target: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(self._fitting(self._signed(self._rows(relation))), target, compression="zstd")

    def _copy_part(self, source: Path, counting: list[int] | None, target: Path) -> None:
        """Copy the rows of a part that count; one of other columns, as an earlier layout had them, gets the table's."""
        import pyarrow.parquet as pq

        from ingest.warehouse.parts import signed_id

        if counting is None and pq.read_schema(source).equals(self._columns):
            target.write_bytes(source.read_bytes())
        else:
            chosen = None if counting is None else [("file_id", "in", [*map(signed_id, counting)])]
            pq.write_table(self._fitting(pq.read_table(source, filters=chosen)), target, compression="zstd")

    def _fitting(self, rows: Any) -> Any:
        import pyarrow as pa

        have = set(rows.column_names)
        columns = [
            rows[field.name].cast(field.type, safe=False) if field.name in have else pa.nulls(len(rows), field.type)
            for field in self._columns
        ]
        return pa.table(columns, names=self._columns.names)

    def _put(self, name: str, file: File) -> Any:
        """Write a file into the lake; the action that adds it."""
        from deltalake.transaction import AddAction

        copy = self._mirror / f".{name}"
        file.write(copy)
        size = copy.stat().st_size
        self._files.put_file(str(copy), f"{self._folder}/{name}")
        copy.unlink()
        return AddAction(name, size, {}, int(time.time() * 1000), True, json.dumps({"numRecords": file.rows}))

    def _delta(self) -> tuple[Any, Mapping[str, int]]:
        """The Delta table, None before the first publication; its files by name, with their sizes."""
        from deltalake import DeltaTable

        if not any((self._mirror / _LOG).glob("*.json")):
            return None, {}
        table = DeltaTable(self._mirror)
        actions = table.get_add_actions(flatten=True)
        return table, dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))

    def _commit(self, table: Any, new: Mapping[str, Any], obsolete: set[str]) -> None:
        from deltalake import Schema
        from deltalake.transaction import RemoveAction, create_table_with_add_actions

        columns = Schema.from_arrow(self._columns)
        if table is None:
            create_table_with_add_actions(str(self._mirror), columns, list(new.values()), mode="error", partition_by=[])
        elif table.schema() != columns:
            # The names of all files have changed with the columns.
            table.create_write_transaction(list(new.values()), "overwrite", columns, [])
        else:
            sizes = self._delta()[1]
            now = int(time.time() * 1000)
            removed = [
                RemoveAction(name, True, now, size=sizes[name], partition_values={}) for name in sorted(obsolete)
            ]
            table.create_write_transaction([*new.values(), *removed], "append", columns, [])

    def _exchange_logs(self) -> None:
        """Make the logs here and in the lake the same, whichever has more of them."""
        local_log, lake_log = self._mirror / _LOG, f"{self._folder}/{_LOG}"
        local_log.mkdir(parents=True, exist_ok=True)
        for left in self._mirror.glob(".*.parquet"):
            left.unlink()
        self._files.makedirs(lake_log, exist_ok=True)
        listed = {path.rpartition("/")[2] for path in self._files.glob(f"{lake_log}/*")}
        present = {path.name for path in local_log.iterdir()}
        for name in sorted(listed - present):
            self._files.get_file(f"{lake_log}/{name}", str(local_log / name))
        for name in sorted(present - listed):
            self._files.put_file(str(local_log / name), f"{lake_log}/{name}")
        # What names the last checkpoint is written anew with each.
        if "_last_checkpoint" in present & listed:
            self._files.put_file(str(local_log / "_last_checkpoint"), f"{lake_log}/_last_checkpoint")


def _literal(key: str | None) -> str:
    return "NULL" if key is None else f"'{key}'"
