"""Outcomes of loading files: the report on each, and the exit code of a whole run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes for everything that has to do with the warehouse, finer than a command line may want to show."""

    OK = 0
    """Everything was loaded, was loaded before, or is a reply that holds only a message."""
    FAILED = 1
    """A file could not be loaded because of the machine or the program (disk full, an error in the program)."""
    NO_INPUT = 3
    """A file is missing, empty or unreadable, a folder or pattern has no files."""
    NOT_READY = 5
    """There is no warehouse to publish, or no published snapshot to read."""
    BAD_QUERY = 6
    """The query cannot be run."""
    LOCKED = 7
    """Another process is writing to the warehouse."""
    UNRECOGNISED = 11
    """A file is of no supported kind, or no record of it was decoded."""
    QUARANTINED = 12
    """Files were loaded, but some of their records could not be decoded; these are kept in the quarantine."""
    BUSY = 13
    """A file is still being written; it was left alone."""


@dataclass
class FileReport:
    """The outcome of one input file.

    `status` is `loaded`, `unchanged` (loaded before), `message` (a reply that holds only messages), `quarantined`
    (nothing of it could be decoded; it is kept in the quarantine), `undecoded` (it holds no record that a layout
    describes), `busy` (being written, left alone) or `failed`.
    `records` = `decoded` + skipped + `quarantined`; byte counts likewise add up to `bytes`, with `framing_bytes`
    between records. Each member of a container has a separate report, named `archive!member` in an archive:
    `sha256` and `bytes` are those of the unpacked content, `container` the form it was packed in. `overlap` of the
    records are counted in other files that hold them too; `overlap_with` says by path how many in which.
    """

    path: str
    sha256: str | None = None
    bytes: int = 0
    status: str = "failed"
    records: int = 0
    decoded: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    quarantined: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    kind: str | None = None
    message: str | None = None
    reason_codes: dict[str, int] = field(default_factory=dict)
    decoded_bytes: int = 0
    skipped_bytes: dict[str, int] = field(default_factory=dict)
    quarantined_bytes: int = 0
    framing_bytes: int = 0
    container: str | None = None
    overlap: int = 0
    overlap_with: dict[str, int] = field(default_factory=dict)
    exit_code: ExitCode = ExitCode.OK

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON; the order of the first nine keys is fixed."""
        return {
            "path": self.path,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "status": self.status,
            "records": self.records,
            "decoded": self.decoded,
            "skipped": dict(self.skipped),
            "quarantined": self.quarantined,
            "rows": dict(self.rows),
            "kind": self.kind,
            "message": self.message,
            "reason_codes": dict(self.reason_codes),
            "decoded_bytes": self.decoded_bytes,
            "skipped_bytes": dict(self.skipped_bytes),
            "quarantined_bytes": self.quarantined_bytes,
            "framing_bytes": self.framing_bytes,
            "container": self.container,
            "overlap": self.overlap,
            "overlap_with": dict(self.overlap_with),
        }


def unreadable(name: str, error: OSError) -> FileReport:
    """The report of a file that cannot be read."""
    text = f"{name}: cannot be read: {error.strerror or error}; check its permissions and the disk"
    return FileReport(name, message=text, exit_code=ExitCode.NO_INPUT)


def empty(name: str) -> FileReport:
    """The report of a file without a byte."""
    text = f"{name}: is empty (0 bytes); check the transfer and try again"
    return FileReport(name, message=text, exit_code=ExitCode.NO_INPUT)


def holds_nothing(name: str, form: str) -> FileReport:
    """The report of an archive without files."""
    text = f"{name}: the archive has no files; check the packed data"
    return FileReport(name, message=text, exit_code=ExitCode.NO_INPUT, container=form)


def damaged(report: FileReport, damage: str) -> None:
    """Put on the report of a container's member that the container was damaged there."""
    report.message = f"{report.path}: {damage}"
    report.exit_code = ExitCode.QUARANTINED if report.decoded else ExitCode.UNRECOGNISED


_GRAVITY = (
    ExitCode.FAILED,
    ExitCode.NO_INPUT,
    ExitCode.UNRECOGNISED,
    ExitCode.BUSY,
    ExitCode.QUARANTINED,
    ExitCode.OK,
)


def exit_code(reports: Iterable[FileReport]) -> ExitCode:
    """The gravest exit code among the files of a run; NO_INPUT when there were none."""
    codes = {report.exit_code for report in reports}
    return next((code for code in _GRAVITY if code in codes), ExitCode.NO_INPUT)
