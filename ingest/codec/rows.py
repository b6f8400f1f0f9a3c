"""Tables prepared for writing: rows in record order, with the length of the section each of them makes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec import values
from ingest.kernels.writing import scatter, scatter_runs
from ingest.layout import Field, Layout, Section

Ints = npt.NDArray[np.int64]


class EncodeError(ValueError):
    """Tables that do not make records. The message names table, column and what was expected."""


@dataclass(slots=True)
class Rows:
    """The rows of one section in record order.

    record: index of each row's record; index: ordinal of the row within it; lengths: bytes of section each row needs;
    entries: the whole bytes of each row, for sections of length-prefixed entries.
    """

    section: Section
    table: pa.Table
    record: Ints
    index: Ints
    lengths: Ints
    entries: list[bytes] | None = None

    def column(self, name: str) -> pa.Array | None:
        """A column as one array, or None if the table lacks it."""
        return array(self.table, name)


def array(table: pa.Table, name: str) -> pa.Array | None:
    """A column of a table as one array, or None if the table lacks it."""
    place = table.schema.get_field_index(name)
    if place < 0:
        return None
    column = table.column(place)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def field_arrays(table: pa.Table, item: Field) -> tuple[pa.Array | None, pa.Array | None]:
    """A field's column and its raw column; both None if the table says nothing about the field."""
    raw = array(table, item.raw[0]) if item.raw else None
    column = array(table, item.column)
    if column is None and raw is not None:
        column = pa.nulls(len(raw), item.arrow)
    return column, raw


def header_rows(layout: Layout, table: pa.Table) -> tuple[Rows, Ints]:
    """The header rows of a layout, and the record_seq of each."""
    table = _sorted(layout.header, table)
    sequence = _numbers(table, "record_seq")
    if len(np.unique(sequence)) != len(sequence):
        raise EncodeError(f"{layout.header.table}: record_seq is not unique")
    records = np.arange(len(sequence))
    return Rows(layout.header, table, records, np.zeros_like(records), _row_lengths(layout.header, table)), sequence


def section_rows(section: Section, table: pa.Table, sequence: Ints) -> Rows:
    """The rows of a section, each with the index of its record in `sequence`."""
    table = _sorted(section, table)
    owner = _numbers(table, "record_seq")
    record = np.searchsorted(sequence, owner)
    has_header = record < len(sequence)
    has_header[has_header] = sequence[record[has_header]] == owner[has_header]
    if not has_header.all():
        raise EncodeError(f"{section.table}: record_seq {owner[~has_header][0]} has no row in the header table")
    index = np.arange(len(record)) - np.searchsorted(record, record, side="left")
    if section.walk != "length_prefixed":
        return Rows(section, table, record, index, _row_lengths(section, table))
    entries = _prefixed_entries(section, table)
    return Rows(section, table, record, index, np.array([len(entry) for entry in entries], np.int64), entries)


def header_numbers(header: Rows, offset: int) -> Ints:
    """Values of the header's number field at this offset as the table states them, 0 where it has none."""
    for item in header.section.fields:
        if item.offset == offset:
            column = header.column(item.column)
            if column is not None:
                return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.zeros(len(header.record), np.int64)


def _numbers(table: pa.Table, name: str) -> Ints:
    return table[name].to_numpy().astype(np.int64)


def _sorted(section: Section, table: pa.Table) -> pa.Table:
    columns = {"file_id", *section.arrow_schema().names}
    strange = [name for name in table.column_names if name not in columns]
    if strange:
        raise EncodeError(f"{section.table}: the layout has no column {', '.join(strange)}")
    if "record_seq" not in table.column_names:
        raise EncodeError(f"{section.table}: the column record_seq is missing")
    keys = [(name, "ascending") for name in ("record_seq", "section_seq") if name in table.column_names]
    return table.sort_by(keys)


def _row_lengths(section: Section, table: pa.Table) -> Ints:
    """Bytes each row needs: up to its last field that is not NULL, the whole section if that is the last field."""
    lengths = np.zeros(table.num_rows, np.int64)
    ordered = sorted(section.fields, key=lambda item: (item.end, item.offset))
    for item in reversed(ordered):
        if (lengths > 0).all():
            break
        column, raw = field_arrays(table, item)
        valid = np.True_ if column is None else values.valid_rows(item, column, raw)
        end: int | Ints = section.length if item is ordered[-1] else item.end
        if item.is_rest and column is not None:
            end = item.offset + values.byte_lengths(column)
        elif item.when and column is None:
            continue
        lengths = np.where((lengths == 0) & valid, end, lengths)
    return np.maximum(lengths, 1)


def _prefixed_entries(section: Section, table: pa.Table) -> list[bytes]:
    """The bytes of each entry of a length-prefixed section: one length byte, then the text."""
    prefix, rest = section.fields
    stated, body = array(table, prefix.column), array(table, rest.column)
    lengths = stated.to_pylist() if stated is not None else [None] * table.num_rows
    words = body.to_pylist() if body is not None else [None] * table.num_rows
    is_text = rest.form.name.startswith("ebcdic")
    pad = bytes([values.BLANK if is_text else 0])
    entries = []
    for length, word in zip(lengths, words, strict=True):
        entry = values.ebcdic(word or "", rest.form.name) if is_text else (word or b"")
        size = max(length or 0, len(entry))
        if size > 255:
            raise EncodeError(f"{section.table}.{rest.column}: {size} bytes, at most 255 fit")
        entries.append(bytes([size]) + entry + pad * (size - len(entry)))
    return entries


def write_fields(data: npt.NDArray[np.uint8], rows: Rows, at: Ints, limits: Ints) -> None:
    """Write every field of the rows, row i at `at[i]` and within `limits[i]` bytes of it. Raises EncodeError."""
    for item in rows.section.fields:
        column, raw = field_arrays(rows.table, item)
        if column is None and (item.when or not item.form.name.startswith("ebcdic")):
            continue
        if item.is_rest and column is not None:
            entries = [entry or b"" for entry in column.to_pylist()]
            sizes = np.array([len(entry) for entry in entries], np.int64)
            scatter_runs(data, at + item.offset, sizes, np.frombuffer(b"".join(entries), np.uint8))
            continue
        try:
            written = values.empty(item, len(at)) if column is None else values.to_bytes(item, column, raw)
        except (values.ValueDomainError, pa.ArrowInvalid) as error:
            raise EncodeError(f"{rows.section.table}.{item.column} ({item.ibm}): {error}") from error
        holds = (
            limits if item.when is None or column is None else np.where(values.valid_rows(item, column, raw), limits, 0)
        )
        limit = np.where(holds < item.end, 0, limits)
        scatter(data, at, limit, item.offset, np.ascontiguousarray(written))
