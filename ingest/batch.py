"""Batches, the result of reading any input: rows, and an account of every byte."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from ingest.arrays import of_numbers, of_rows

_QUARANTINE = pa.schema(
    [
        ("record_seq", pa.uint32()),
        ("byte_offset", pa.uint64()),
        ("length", pa.uint64()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("raw", pa.binary()),
    ]
)


class Unreadable(ValueError):
    """An input cannot be read from byte `offset` on; the data before it have been handed over.

    reason: a code for the ledger; detail: what is wrong, where, and what to do.
    """

    def __init__(self, reason: str, detail: str, offset: int = 0) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Bytes that could not be decoded: where they stand, how many, why, and the bytes or the first of them.

    raw: empty where the reader leaves it to its caller to take the bytes from the input.
    """

    offset: int
    length: int
    reason: str
    detail: str
    raw: bytes = b""
    record_seq: int | None = None

    @property
    def message(self) -> str:
        """What is wrong and where: which record, from which byte on, how many bytes."""
        if not self.offset and self.record_seq is None:
            return self.detail
        record = "" if self.record_seq is None else f"record_seq {self.record_seq:,}, "
        size = f"{self.length:,} byte{'' if self.length == 1 else 's'}"
        return f"{self.detail} ({record}{size} from byte {self.offset:,} on)"


@dataclass(slots=True)
class Batch:
    """Rows of a part of an input, in its order, and what became of all records and bytes of that part.

    tables: table name → rows; decoded: records (or reports, pages, rows of a table) that became rows; skipped: record
    type without a layout → (records, bytes); framing_bytes: bytes between records; notes: by reason code, how often
    something worth a note occurred without loss, such as sections longer than their layouts; incomplete:
    `record_seq` of records of this or an earlier batch that are pieces of a split record → number of pieces missing;
    messages_only: how many of the decoded hold a message in place of data; message: the first such message;
    identities: `record_seq`, `written_raw` and `digest` of the records that have rows (see `ingest.identity`), if
    requested.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    decoded: int = 0
    decoded_bytes: int = 0
    skipped: dict[str, tuple[int, int]] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    framing_bytes: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    incomplete: dict[int, int] = field(default_factory=dict)
    messages_only: int = 0
    message: str | None = None
    identities: pa.Table | None = None

    @property
    def records(self) -> int:
        """Every record of the part, whatever became of it."""
        quarantined = sum(piece.record_seq is not None for piece in self.quarantined)
        return self.decoded + sum(count for count, _ in self.skipped.values()) + quarantined

    @property
    def bytes_in(self) -> int:
        """Every byte of the input that the batch accounts for."""
        skipped = sum(size for _, size in self.skipped.values())
        return self.decoded_bytes + skipped + sum(piece.length for piece in self.quarantined) + self.framing_bytes

    def skip(self, name: str, records: int, size: int) -> None:
        """Count records without a layout, and their bytes, in."""
        before = self.skipped.get(name, (0, 0))
        self.skipped[name] = before[0] + records, before[1] + size


def of_file(file_id: int, rows: pa.Table) -> pa.Table:
    """Rows with the `file_id` of the file that they are of."""
    return rows.add_column(0, "file_id", of_numbers(np.full(len(rows), file_id, np.uint64)))


def quarantine_rows(pieces: Sequence[Quarantined]) -> pa.Table:
    """Pieces that could not be decoded, as rows of the quarantine without `file_id`."""
    return of_rows([asdict(piece) | {"byte_offset": piece.offset} for piece in pieces], _QUARANTINE)
