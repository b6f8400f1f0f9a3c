"""What decoding yields: tables, and an account of every byte."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa

from ingest.framing import Quarantined


@dataclass(slots=True)
class Accounting:
    """What became of the bytes of a batch: decoded, skipped and quarantined records, and framing between them.

    notes counts what is worth knowing and lost nothing: sections longer than their layout, records with bytes in none
    of their known sections, split records with missing pieces.
    """

    records: int = 0
    decoded: int = 0
    decoded_bytes: int = 0
    skipped_bytes: int = 0
    quarantined_bytes: int = 0
    framing_bytes: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def bytes_in(self) -> int:
        """Every byte of the input that the batch accounts for."""
        return self.decoded_bytes + self.skipped_bytes + self.quarantined_bytes + self.framing_bytes


@dataclass(slots=True)
class Batch:
    """Decoded records and what became of the others.

    tables: table name → rows; skipped: `type.subtype` → (records, bytes) of records without a layout; incomplete:
    `record_seq` of records of this or an earlier batch that are pieces of a split record → number of pieces missing.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    skipped: dict[str, tuple[int, int]] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    accounting: Accounting = field(default_factory=Accounting)
    incomplete: dict[int, int] = field(default_factory=dict)
