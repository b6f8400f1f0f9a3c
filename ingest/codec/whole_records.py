"""Records that are one section from their first byte on: their columns, and back."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec import values
from ingest.codec.columns import read_section
from ingest.codec.rows import EncodeError, array, field_arrays
from ingest.layout import Section

Ints = npt.NDArray[np.int64]


def read_records(section: Section, data: npt.NDArray[np.uint8], at: Ints, limits: Ints, sequence: Ints) -> pa.Table:
    """Rows of the records that start at `at` and have `limits` bytes; `sequence` are their ordinals in the file."""
    keys = [sequence.astype(np.uint32), np.zeros(len(sequence), np.uint32)]
    return pa.Table.from_batches([read_section(section, data, at, limits, keys)])


def write_records(section: Section, table: pa.Table) -> dict[int, bytes]:
    """record_seq → bytes of the record, as far as its last field that is not NULL; raises EncodeError."""
    rows = table.num_rows
    fixed = np.zeros((rows, section.length), np.uint8)
    ends = np.zeros(rows, np.int64)
    rest: list[bytes | None] = [None] * rows
    for item in section.fields:
        column, raw = field_arrays(table, item)
        if column is None:
            continue
        if item.is_rest:
            rest = [value if value is not None else None for value in column.to_pylist()]
            continue
        try:
            written = values.to_bytes(item, column, raw)
        except (values.ValueDomainError, pa.ArrowInvalid) as error:
            raise EncodeError(f"{section.table}.{item.column} ({item.ibm}): {error}") from error
        valid = values.valid_rows(item, column, raw)
        fixed[np.flatnonzero(valid)[:, None], item.offset + np.arange(written.shape[1])] = written[valid]
        ends = np.maximum(ends, np.where(valid, item.end, 0))
    sequence = array(table, "record_seq")
    if sequence is None:
        raise EncodeError(f"{section.table}: the column record_seq is missing")
    records = {}
    for place, number in enumerate(sequence.to_pylist()):
        tail = rest[place]
        end = section.rest.offset if tail is not None and section.rest is not None else int(ends[place])
        records[number] = fixed[place, :end].tobytes() + (tail or b"")
    return records
