"""What reading RMF reports yields: rows of complete reports, or why the rest is none."""

from dataclasses import dataclass

import pyarrow as pa


class BadReport(Exception):
    """What the file holds from byte `offset` on is not a well-formed RMF XML report.

    `reason` is a code for the ledger, `detail` says what is wrong and where. The reports before `offset` were complete
    and have been handed over.
    """

    def __init__(self, reason: str, detail: str, offset: int = 0) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.offset = offset


@dataclass(frozen=True)
class RmfBatch:
    """Rows of complete reports: Arrow tables by name, how many reports ended, how many of these hold only a message.

    `end_offset` is where the last of them ended in the file.
    """

    tables: tuple[dict[str, pa.Table], ...]
    reports: int
    messages_only: int
    end_offset: int
