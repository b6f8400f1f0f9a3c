"""Accounts of a file's bytes and records, summed while it is read, and proven to add up."""

from collections import Counter
from dataclasses import dataclass, field

from ingest.batch import Batch
from ingest.files.outcome import ExitCode, FileReport

_MOST_KINDS = 6
_WITHOUT_RECORDS = frozenset({"lab_manifest"})
"""Kinds of files for people, which contain no records."""


class AccountsDoNotBalance(Exception):
    """Bytes or records of a file are missing or counted twice: a defect of a reader, so nothing of the file is kept."""


@dataclass
class Accounts:
    """The sums over all batches of a file.

    `message` is the first message about the file: why a piece was quarantined, or the text of a reply without data;
    `quarantined_to` is where the last quarantined piece ends, in bytes from the start.
    """

    decoded: int = 0
    decoded_bytes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_bytes: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0
    quarantined_bytes: int = 0
    framing_bytes: int = 0
    messages_only: int = 0
    reason_codes: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    message: str | None = None
    quarantined_to: int = 0

    @property
    def records(self) -> int:
        """All records of the file, whatever became of them."""
        return self.decoded + self.skipped.total() + self.quarantined

    def add(self, batch: Batch) -> None:
        """Count a batch in."""
        self.decoded += batch.decoded
        self.decoded_bytes += batch.decoded_bytes
        self.framing_bytes += batch.framing_bytes
        self.messages_only += batch.messages_only
        for kind, (records, size) in batch.skipped.items():
            self.skipped[kind] += records
            self.skipped_bytes[kind] += size
        for piece in batch.quarantined:
            self.quarantined += 1
            self.quarantined_bytes += piece.length
            self.reason_codes[piece.reason] += 1
            self.quarantined_to = max(self.quarantined_to, piece.offset + piece.length)
        first = batch.quarantined[0].message if batch.quarantined else batch.message
        self.message = self.message or first
        self.reason_codes.update(batch.notes)
        for name, table in batch.tables.items():
            self.rows[name] += table.num_rows

    def join(self, other: "Accounts") -> None:
        """Count in what became of the bytes behind these."""
        for name in ("decoded", "decoded_bytes", "quarantined", "quarantined_bytes", "framing_bytes", "messages_only"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("skipped", "skipped_bytes", "reason_codes", "rows"):
            getattr(self, name).update(getattr(other, name))
        self.message = self.message or other.message
        self.quarantined_to = max(self.quarantined_to, other.quarantined_to)

    def prove(self, size: int) -> None:
        """Raise AccountsDoNotBalance unless every byte of a file of `size` bytes is accounted for once."""
        total = self.decoded_bytes + self.skipped_bytes.total() + self.quarantined_bytes + self.framing_bytes
        if total != size:
            raise AccountsDoNotBalance(
                f"{size:,} bytes in, but {self.decoded_bytes:,} decoded + {self.skipped_bytes.total():,} skipped + "
                f"{self.quarantined_bytes:,} quarantined + {self.framing_bytes:,} framing = {total:,}"
            )

    def judge(self, report: FileReport) -> None:
        """Put the sums into the report of the file, and what they come to: its status, exit code and message."""
        report.records, report.decoded, report.quarantined = self.records, self.decoded, self.quarantined
        report.skipped = dict(sorted(self.skipped.items()))
        report.skipped_bytes = dict(sorted(self.skipped_bytes.items()))
        report.rows = dict(sorted(self.rows.items()))
        report.reason_codes = dict(sorted(self.reason_codes.items()))
        report.decoded_bytes, report.quarantined_bytes = self.decoded_bytes, self.quarantined_bytes
        report.framing_bytes = self.framing_bytes
        if self.message:
            others = f"; {self.quarantined - 1:,} more in the quarantine" if self.quarantined > 1 else ""
            report.message = f"{report.path}: {self.message}{others}"
        if self.quarantined and not self.decoded and not self.skipped:
            report.status, report.exit_code = "quarantined", ExitCode.UNRECOGNISED
        elif not self.decoded and not (self.skipped and self.skipped.keys() <= _WITHOUT_RECORDS):
            report.status, report.exit_code = "undecoded", ExitCode.UNRECOGNISED
            report.message = f"{report.path}: {self._nothing_decoded(report)}"
        elif self.quarantined:
            report.status, report.exit_code = "loaded", ExitCode.QUARANTINED
        elif self.decoded and self.messages_only == self.decoded:
            report.status = "message"
        else:
            report.status = "loaded"

    def _nothing_decoded(self, report: FileReport) -> str:
        """Why a file gave no rows, and what to do."""
        if not self.skipped:
            return f"no record of kind {report.kind}; check how the file was made"
        kinds = [f"{name} ({count:,})" for name, count in self.skipped.most_common()]
        more = f" and {len(kinds) - _MOST_KINDS} more kinds" if len(kinds) > _MOST_KINDS else ""
        return (
            f"no record was decoded: it was read as {report.kind}, and no layout describes its records "
            f"{', '.join(kinds[:_MOST_KINDS])}{more}; name another kind with --kind, or add a layout with --layouts"
        )
