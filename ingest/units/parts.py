"""Rows of tables as Parquet files: immutable, never of the same name twice."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

IDENTITIES, QUARANTINE = "record_identity", "quarantine"
"""Tables of record identities and of undecoded pieces, in addition to the raw tables."""

_BUFFER_BYTES = 96 << 20
"""Bytes of rows that wait until they are a row group, over all tables."""
_MERGED_GROUP_BYTES = 256 << 20
"""Bytes in memory of a row group of a merged file: a query reads what a file says of all columns of all row groups."""
_COLUMN_BYTES = 1 << 10
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}

UNSIGNED = "etalon.unsigned"
"""Key of what the metadata of a column say: the bits of the number without sign that it was."""


@dataclass(frozen=True)
class Part:
    """A Parquet file with rows of one table and one file; None for the records' times of writing if they have none.

    Numbers without sign stand in it as numbers with one, as Spark knows no others: those of 64 bits as the number of
    the same bits.
    """

    table: str
    path: str
    rows: int
    bytes: int
    file_id: int
    written_from: int | None
    written_to: int | None


class Writer:
    """Holds rows of one file and writes those of large tables to Parquet files in a folder, `TABLE/NAME.parquet`."""

    def __init__(self, folder: Path, least_bytes: int) -> None:
        self._folder = folder
        self._least = least_bytes
        self._buffered: dict[str, list[pa.Table]] = {}
        self._bytes: dict[str, int] = {}
        self._open: dict[str, list[tuple[pq.ParquetWriter, Path, int]]] = {}

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows to a table, behind those added before."""
        tables = self._buffered.setdefault(name, [])
        if tables and tables[0].schema != rows.schema:
            self._write(name)
            tables = self._buffered[name]
        tables.append(rows)
        self._bytes[name] = self._bytes.get(name, 0) + rows.get_total_buffer_size() + _COLUMN_BYTES * rows.num_columns
        if sum(self._bytes.values()) >= _BUFFER_BYTES:
            self._write(max(self._bytes, key=lambda table: self._bytes[table]))

    def finish(self) -> tuple[list[tuple[str, Path, int]], dict[str, list[pa.Table]]]:
        """The files written, with table and rows of each; and the rows of tables too small for one."""
        rows: dict[str, list[pa.Table]] = {}
        for name in list(self._buffered):
            if name in self._open or self._bytes[name] >= self._least:
                self._write(name)
            elif self._buffered[name]:
                rows[name] = [pa.concat_tables(self._buffered[name]).combine_chunks()]
        files = []
        for name, written in self._open.items():
            for writer, path, count in written:
                writer.close()
                files.append((name, path, count))
        self._open = {}
        return files, rows

    def discard(self) -> None:
        """Remove what was written."""
        for written in self._open.values():
            for writer, path, _ in written:
                writer.close()
                path.unlink(missing_ok=True)
        self._open = {}

    def _write(self, name: str) -> None:
        """Write the buffered rows of a table as a row group."""
        tables, self._buffered[name], self._bytes[name] = self._buffered[name], [], 0
        if not tables:
            return
        rows = signed(pa.concat_tables(tables))
        written = self._open.setdefault(name, [])
        if not written or written[-1][0].schema != rows.schema:
            written.append((*_new(self._folder / name, rows.schema), 0))
        writer, path, count = written[-1]
        writer.write_table(rows, row_group_size=max(len(rows), 1))
        written[-1] = (writer, path, count + len(rows))


def merge(sources: Sequence[Path], kept: Sequence[Sequence[int] | None], folder: Path) -> Path:
    """Write the rows of files of the same columns, in their order, into a new file in a folder; its path.

    kept: for each, the numbers of the files whose rows it takes, with a sign, or None for all.
    """
    with pq.ParquetFile(sources[0]) as first:
        schema = first.schema_arrow
    writer, path = _new(folder, schema)
    waiting: list[pa.Table] = []

    def write() -> None:
        if waiting:
            rows = pa.concat_tables(waiting)
            writer.write_table(rows, row_group_size=len(rows))
            waiting.clear()

    try:
        with writer:
            for source, ids in zip(sources, kept, strict=True):
                with pq.ParquetFile(source) as file:
                    for group in range(file.num_row_groups):
                        rows = file.read_row_group(group)
                        if ids is not None:
                            rows = rows.filter(pc.is_in(rows["file_id"], pa.array(ids, pa.int64())))
                        if len(rows):
                            waiting.append(rows)
                        if sum(rows.nbytes for rows in waiting) >= _MERGED_GROUP_BYTES:
                            write()
            write()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _new(folder: Path, schema: pa.Schema) -> tuple[pq.ParquetWriter, Path]:
    """A file in a folder, of a name that no other has or had."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}.parquet"
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, use_dictionary=texts), path


def signed(rows: pa.Table) -> pa.Table:
    """Rows with signed numbers in the place of others."""
    return rows.cast(pa.schema([_signed(field) for field in rows.schema]), safe=False)


def _signed(field: pa.Field) -> pa.Field:
    if field.type not in _SIGNED:
        return field
    return field.with_type(_SIGNED[field.type]).with_metadata({UNSIGNED: str(field.type.bit_width)})
