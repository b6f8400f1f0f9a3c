"""Rows of tables as Parquet files: immutable, never of the same name twice."""

import uuid
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

IDENTITIES, QUARANTINE = "record_identity", "quarantine"
"""What is known of records, and what could not be decoded: beside the raw tables, with a name of their own."""

_HELD_BYTES = 96 << 20
"""Bytes of rows that wait until they are a row group, over all tables."""
_COLUMN_BYTES = 1 << 10
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}

UNSIGNED = "etalon.unsigned"
"""Key of what the metadata of a column say: the bits of the number without sign that it was."""


@dataclass(frozen=True)
class Part:
    """A Parquet file with rows of one table and one file; None of records' times of writing where none is known.

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
        self._held: dict[str, list[pa.Table]] = {}
        self._bytes: dict[str, int] = {}
        self._open: dict[str, list[tuple[pq.ParquetWriter, Path, int]]] = {}

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows to a table, behind those added before."""
        held = self._held.setdefault(name, [])
        if held and held[0].schema != rows.schema:
            self._write(name)
            held = self._held[name]
        held.append(rows)
        self._bytes[name] = self._bytes.get(name, 0) + rows.get_total_buffer_size() + _COLUMN_BYTES * rows.num_columns
        if sum(self._bytes.values()) >= _HELD_BYTES:
            self._write(max(self._bytes, key=lambda table: self._bytes[table]))

    def finish(self) -> tuple[list[tuple[str, Path, int]], dict[str, list[pa.Table]]]:
        """The files written, with table and rows of each; and the rows of tables too small for one."""
        rows: dict[str, list[pa.Table]] = {}
        for name in list(self._held):
            if name in self._open or self._bytes[name] >= self._least:
                self._write(name)
            elif self._held[name]:
                rows[name] = [pa.concat_tables(self._held[name]).combine_chunks()]
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
        """Write what is held of a table as a row group."""
        held, self._held[name], self._bytes[name] = self._held[name], [], 0
        if not held:
            return
        rows = signed(pa.concat_tables(held))
        written = self._open.setdefault(name, [])
        if not written or written[-1][0].schema != rows.schema:
            folder = self._folder / name
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{uuid.uuid4().hex}.parquet"
            texts = [field.name for field in rows.schema if pa.types.is_string(field.type)]
            writer = pq.ParquetWriter(path, rows.schema, compression="zstd", compression_level=1, use_dictionary=texts)
            written.append((writer, path, 0))
        writer, path, count = written[-1]
        writer.write_table(rows, row_group_size=max(len(rows), 1))
        written[-1] = (writer, path, count + len(rows))


def signed(rows: pa.Table) -> pa.Table:
    """Rows with signed numbers in the place of others."""
    return rows.cast(pa.schema([_signed(field) for field in rows.schema]), safe=False)


def _signed(field: pa.Field) -> pa.Field:
    if field.type not in _SIGNED:
        return field
    return field.with_type(_SIGNED[field.type]).with_metadata({UNSIGNED: str(field.type.bit_width)})
