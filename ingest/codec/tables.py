"""The codec for handlers: rows of a section read from bytes that the handler located, or written to bytes it places."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.columns import read_section
from ingest.codec.rows import Rows, section_rows, write_fields
from ingest.kernels.reading import read_odd
from ingest.kernels.repeating import mark_entries
from ingest.layout import Section


def rows_table(
    section: Section,
    data: npt.NDArray[np.uint8],
    at: npt.NDArray[np.int64],
    limits: npt.NDArray[np.int64],
    record_seq: npt.NDArray[np.uint32],
    section_seq: npt.NDArray[np.uint32],
    parent_seq: npt.NDArray[np.uint32] | None = None,
    selectors: Mapping[str, npt.NDArray[np.int64]] | None = None,
) -> pa.Table:
    """The table of a section's rows with their keys.

    data: the buffer, `framing.BLANK_BYTES` of zeros at its end; at and limits: where each row stands and how long it
    is, all inside the buffer; selectors: per row, what other sections say in the fields that conditions name.
    """
    keys = [record_seq, section_seq] if parent_seq is None else [record_seq, section_seq, parent_seq]
    return pa.Table.from_batches([read_section(section, data, at, limits, keys, selectors)])


def entries_table(
    section: Section,
    data: npt.NDArray[np.uint8],
    at: npt.NDArray[np.int64],
    limits: npt.NDArray[np.int64],
    record_seq: npt.NDArray[np.uint32],
    parent_seq: npt.NDArray[np.uint32],
) -> pa.Table:
    """The table of a repeated section: a row for each entry that is not all zeros.

    at and limits: where each row of the parent stands and how long it is; record_seq and parent_seq: its keys.
    """
    marks = np.zeros((len(at), section.entries), np.bool_)
    fields = np.array([(item.offset, item.length, item.stride) for item in section.fields], np.int64)
    mark_entries(data, at, limits, _areas(section), *np.ascontiguousarray(fields.T), marks)
    row, entry = np.nonzero(marks)
    entry_seq, parent_seq = entry.astype(np.uint32), parent_seq[row]
    keys = [record_seq[row], parent_seq * np.uint32(section.entries) + entry_seq, parent_seq, entry_seq]
    return pa.Table.from_batches([read_section(section, data, at[row], limits[row], keys, entry=entry)])


def write_entries(
    data: npt.NDArray[np.uint8],
    rows: Rows,
    entry: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64],
    limits: npt.NDArray[np.int64],
) -> None:
    """Write rows of a repeated section into rows of its parent, which stand at `at` and are `limits` bytes long."""
    for stride, part in _parts(rows.section):
        write_fields(data, replace(rows, section=part), at + entry * stride, limits - entry * stride)


@cache
def _parts(section: Section) -> list[tuple[int, Section]]:
    """The fields of a repeated section by the bytes from one entry's value to the next one's."""
    strides = sorted({item.stride for item in section.fields})
    return [
        (stride, replace(section, fields=tuple(item for item in section.fields if item.stride == stride)))
        for stride in strides
    ]


@cache
def _areas(section: Section) -> npt.NDArray[np.int64]:
    """First offset and end of each run of bytes that entries of a repeated section take: shape (runs, 2)."""
    taken = np.zeros(1 << 16, np.int8)
    for item in section.fields:
        for entry in range(section.entries):
            taken[item.offset + entry * item.stride : item.end + entry * item.stride] = 1
    edges = np.diff(taken, prepend=0, append=0)
    return np.stack([np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)], axis=1)


def numbers_at(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The unsigned integers of so many bytes, fewer than eight, at places that lie inside the buffer."""
    out = np.empty(len(at), np.uint64)
    read_odd(data, np.ascontiguousarray(at), 0, width, out)
    return out.view(np.int64)


def row_bytes(section: Section, table: pa.Table) -> tuple[pa.Table, list[bytes]]:
    """The rows in the order of their keys, and the bytes of each, as long as its last field that is not NULL.

    Raises EncodeError where a value does not fit its field.
    """
    sequence = np.unique(table["record_seq"].to_numpy().astype(np.int64))
    rows = section_rows(section, table, sequence)
    starts = np.cumsum(rows.lengths) - rows.lengths
    data = np.zeros(int(rows.lengths.sum()), np.uint8)
    write_fields(data, rows, starts, rows.lengths)
    ends = starts + rows.lengths
    return rows.table, [data[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
