"""Rows of a section read from, and written to, bytes that others have found or will place: the codec for handlers."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import of_numbers
from ingest.codec.columns import read_section
from ingest.codec.rows import section_rows, write_fields
from ingest.kernels.reading import read_odd
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
    columns = read_section(section, data, at, limits, selectors)
    columns["record_seq"], columns["section_seq"] = of_numbers(record_seq), of_numbers(section_seq)
    if parent_seq is not None:
        columns["parent_seq"] = of_numbers(parent_seq)
    schema = section.arrow_schema()
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def numbers_at(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The unsigned integers of so many bytes, fewer than eight, at places that lie inside the buffer."""
    out = np.empty((1, len(at)), np.uint64)
    read_odd(data, np.ascontiguousarray(at), np.zeros(1, np.int64), np.array([width], np.int64), out)
    return out[0].view(np.int64)


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
