"""Write CICS monitoring records: dictionaries (class 1) and performance records (class 3), plain or compressed."""

import datetime as dt
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.codec.codepages import encoding_table
from ingest.formats.cics import catalogue, csrcesrv
from ingest.formats.cics.dictionary import ENTRY_BYTES, Entry, pack_entries

_PRODUCT_AT = 44
_PRODUCT_BYTES = 116
_SECTION_AT = _PRODUCT_AT + _PRODUCT_BYTES
_LARGEST_RECORD = 32_756


@dataclass(frozen=True)
class Region:
    """Who writes: system identifier, generic and specific APPLID, job name, release as four hexadecimal digits.

    `utc_offset_tod` is local time minus UTC in store-clock units (4,096 to the microsecond).
    """

    smf_sid: str
    applid: str
    job_name: str
    release: str = "0700"
    generic_applid: str = ""
    utc_offset_tod: int = 0


def _ebcdic(text: str, width: int) -> bytes:
    return text.ljust(width)[:width].encode("latin-1").translate(encoding_table("ebcdic"))


def _packed_date(day: dt.date) -> bytes:
    digits = f"{(day.year - 1900) // 100:02d}{day.year % 100:02d}{day.timetuple().tm_yday:03d}F"
    return bytes.fromhex(digits)


def _record(
    region: Region,
    written_local: dt.datetime,
    monitoring_class: int,
    section: bytes,
    data_length: int,
    data_count: int,
    connectors: int,
    compressed: bool,
) -> bytes:
    connector_bytes = 2 * connectors
    data_at = _SECTION_AT + connector_bytes
    body = csrcesrv.compress(section) if compressed else section
    total = _SECTION_AT + len(body)
    midnight = written_local.replace(hour=0, minute=0, second=0, microsecond=0)
    hundredths = (written_local - midnight) // dt.timedelta(milliseconds=10)
    date = _packed_date(written_local.date())
    head = (
        struct.pack(">HHBBI", total, 0, 0xC0, 110, hundredths) + date + _ebcdic(region.smf_sid, 4) + _ebcdic("CICS", 4)
    )
    head += struct.pack(">HHHIHHIHH", 1, 2, 0, _PRODUCT_AT, _PRODUCT_BYTES, 1, _SECTION_AT, len(body) & 0xFFFF, 1)
    product = (
        bytes.fromhex(region.release) + _ebcdic(region.generic_applid or region.applid, 8) + _ebcdic(region.applid, 8)
    )
    product += struct.pack(
        ">HHHIHHIHH", 0, 0, monitoring_class, _SECTION_AT, 2, connectors, data_at, data_length, data_count
    )
    product += bytes(20) + struct.pack(">iqq", 0, 0, region.utc_offset_tod) + bytes(2) + _ebcdic(region.job_name, 8)
    product += date + struct.pack(">I", 0) + bytes(8) + _ebcdic("", 8)
    return head + bytes(_PRODUCT_AT - len(head)) + product.ljust(_PRODUCT_BYTES, b"\0") + body


def encode_dictionary(region: Region, entries: Sequence[Entry], written_local: dt.datetime) -> list[bytes]:
    """Class 1 records that hold these entries, as many as it takes."""
    room = (_LARGEST_RECORD - _SECTION_AT) // ENTRY_BYTES
    return [
        _record(region, written_local, 1, pack_entries(part), ENTRY_BYTES, len(part), 0, False)
        for part in (entries[start : start + room] for start in range(0, len(entries), room))
    ]


def _numbers(column: pa.ChunkedArray, width: str) -> NDArray[np.generic]:
    return column.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False).astype(width)


def _bytes_of(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(values.size, -1)


def _packed(digits: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    cells = np.zeros((digits.size, width), np.uint8)
    cells[:, -1] = (digits % 10 << 4) | 0x0C
    digits = digits // 10
    for k in range(width - 2, -1, -1):
        cells[:, k] = (digits // 10 % 10 << 4) | digits % 10
        digits = digits // 100
    return cells


def _cells(table: pa.Table, entry: Entry) -> NDArray[np.uint8] | None:
    """Bytes of one field for all rows, shape (rows, entry.length); None where the table has no such column."""
    field = catalogue.find(entry.group, entry.id, entry.nickname)
    if field is None:
        return None
    name = f"{field.column}_raw" if entry.type == "T" else field.column
    if name not in table.column_names:
        return None
    column = table.column(name)
    if entry.type == "C":
        texts = [_ebcdic(text or "", entry.length) for text in column.to_pylist()]
        return np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), entry.length)
    if entry.type == "T":
        return _bytes_of(_numbers(column, ">u8"))
    if entry.type == "P":
        cells = _packed(_numbers(column, "i8").astype(np.int64), entry.length)
        cells[column.is_null().to_numpy()] = 0
        return cells
    if entry.type == "S":
        time = _bytes_of(_numbers(column, ">u8"))
        count = _bytes_of(_numbers(table.column(f"{field.column}_n"), ">u4"))
        count[:, 0] = 0
        return np.hstack([time, count])
    return _bytes_of(_numbers(column, f">u{entry.length}"))


def performance_matrix(
    entries: Sequence[Entry], rows: pa.Table, others: Mapping[tuple[int, str, str], bytes] | None = None
) -> NDArray[np.uint8]:
    """The data records of performance rows with these fields in order, shape (rows, bytes of all fields).

    others: (row, group, nickname) → bytes of a field without a column. What the table lacks is zero or blank.
    """
    matrix = np.zeros((rows.num_rows, sum(entry.length for entry in entries)), np.uint8)
    at = 0
    for entry in entries:
        cells = _cells(rows, entry)
        if cells is not None:
            matrix[:, at : at + entry.length] = cells
        elif entry.type == "C":
            matrix[:, at : at + entry.length] = 0x40
        for row in range(rows.num_rows if others else 0):
            value = (others or {}).get((row, entry.group, entry.nickname))
            if value is not None:
                matrix[row, at : at + entry.length] = np.frombuffer(value.ljust(entry.length, b"\0"), np.uint8)
        at += entry.length
    return matrix


def encode_performance(
    region: Region,
    entries: Sequence[Entry],
    rows: pa.Table,
    written_local: dt.datetime,
    *,
    compressed: bool = False,
    rows_per_record: int | None = None,
) -> Iterator[bytes]:
    """Class 3 records holding these rows, whose connectors name `entries` in order.

    `rows` has the columns of the performance table (those missing, and nulls, become zeros or blanks); clocks must have
    12 bytes, counts 4 or 8. A record takes as many rows as fit into 32,756 bytes uncompressed.
    """
    width = sum(entry.length for entry in entries)
    connectors = struct.pack(f">{len(entries)}H", *(entry.connector for entry in entries))
    fitting = (_LARGEST_RECORD - _SECTION_AT - len(connectors)) // width
    if fitting < 1:
        raise ValueError(f"a row of {width} bytes and {len(entries)} connectors do not fit into one SMF record")
    matrix = performance_matrix(entries, rows)
    step = min(rows_per_record or fitting, fitting)
    for start in range(0, rows.num_rows, step):
        part = matrix[start : start + step]
        section = connectors + part.tobytes()
        yield _record(region, written_local, 3, section, width, len(part), len(entries), compressed)
