"""Loads files into the warehouse: one transaction per file, each content once, every byte accounted for.

Killed at any moment, a load leaves whole files or nothing of them; run again, it does what is missing.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import duckdb

from ingest import collector
from ingest.registry import Registry
from ingest.sources import HEAD_BYTES, Kind, identify
from ingest.warehouse import ledger
from ingest.warehouse.accounts import Accounts
from ingest.warehouse.inputs import Digest, Fingerprint, StillChanging, digest, expand
from ingest.warehouse.outcome import ExitCode, FileReport, WarehouseError, WarehouseLocked
from ingest.warehouse.readers import read
from ingest.warehouse.tables import Tables, layouts_version

#: When to load content again that the ledger already has: never, when layouts have changed since, or always.
Reload = Literal["never", "outdated", "always"]

#: Called with the path, what is being done (`hash`, `batch`, `commit`, `done`) and the records read so far.
Progress = Callable[[str, str, int], None]

_MEMORY_LIMIT = "512MB"
_ATTEMPTS = 2
_REPLACES = {"etalon_run": collector.RUN_REPLACES, "etalon_group": collector.GROUP_REPLACES}


def load(
    paths: Iterable[str | Path],
    db_path: str | Path,
    registry: Registry,
    *,
    reload: Reload = "never",
    progress: Progress | None = None,
) -> list[FileReport]:
    """Load files, folders and patterns into the database at `db_path`; one report per file, in order.

    Content that was loaded before changes nothing (`unchanged`), whatever its name. Content that could not be decoded
    at all is tried again once layouts have changed. With `reload="outdated"` all content that was loaded with other
    layouts is loaded anew, with `"always"` all of it. A file that has grown since it was loaded from the same path
    takes the place of what was loaded then. What is wrong with a file is told in its report.

    Raises WarehouseError (WarehouseLocked while another process writes) when the database cannot be opened at all.
    """
    inputs = expand(paths)
    if not any(isinstance(item, str) for item in inputs):
        return [item for item in inputs if isinstance(item, FileReport)]
    with open_writer(db_path) as con:
        loader = _Loader(con, registry, reload, progress or (lambda path, step, records: None))
        return [item if isinstance(item, FileReport) else loader.load(item) for item in inputs]


def open_writer(db_path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open the writer's database, making it if need be. WarehouseLocked while another process has it open."""
    path = Path(db_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return duckdb.connect(str(path), config={"memory_limit": _MEMORY_LIMIT, "preserve_insertion_order": True})
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise WarehouseLocked(
                f"{path}: another process is writing to the warehouse; wait until it is done and try again ({error})"
            ) from None
        raise WarehouseError(f"{path}: cannot be opened as a DuckDB database: {error}") from None


class _Loader:
    """Loads one file after another over an open connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection, registry: Registry, reload: Reload, progress: Progress) -> None:
        self._con = con
        self._registry = registry
        self._reload = reload
        self._progress = progress
        self._version = layouts_version(registry)
        ledger.create(con)
        self._tables = Tables(con)
        self._tables.prepare(registry)

    def load(self, path: str) -> FileReport:
        """Load one file, trying again where it changes while it is read."""
        for _ in range(_ATTEMPTS):
            try:
                return self._load(path)
            except StillChanging:
                continue
            except OSError as error:
                text = f"{path}: cannot be read: {error.strerror or error}; check its permissions and the disk"
                return FileReport(path, message=text, exit_code=ExitCode.NO_INPUT)
        text = f"{path}: is still being written; it was left alone, ingest it again when it is complete"
        return FileReport(path, status="busy", message=text, exit_code=ExitCode.BUSY)

    def _load(self, path: str) -> FileReport:
        before = Fingerprint.of(path)
        if before.size == 0:
            text = f"{path}: is empty (0 bytes); check the transfer and ingest it again"
            return FileReport(path, message=text, exit_code=ExitCode.NO_INPUT)
        real = os.path.realpath(path)
        self._progress(path, "hash", 0)
        earlier = ledger.of_path(self._con, real)
        content = digest(path, before.size, [entry.bytes for entry in earlier])
        if Fingerprint.of(path) != before:
            raise StillChanging
        known = ledger.find(self._con, content.sha256)
        if known is not None and not self._again(known):
            return ledger.report_of(self._con, content.sha256, path)
        with Path(path).open("rb") as stream:
            identity = identify(Path(path).name, stream.read(HEAD_BYTES))
        report = FileReport(path, content.sha256, before.size, kind=str(identity.kind))
        self._con.execute("BEGIN")
        try:
            self._clear(content, known, earlier, identity.kind)
            accounts = Accounts()
            for batch in read(Path(path), identity, self._registry):
                for group in batch.tables:
                    for name, rows in group.items():
                        self._append(name, rows, content.file_id)
                ledger.quarantine(self._con, content.file_id, batch.quarantined)
                accounts.add(batch)
                said = batch.quarantined[0].detail if batch.quarantined else batch.message
                if said and not report.message:
                    report.message = f"{path}: {said}"
                self._progress(path, "batch", accounts.records)
            if Fingerprint.of(path) != before:
                raise StillChanging
            accounts.prove(before.size)
            _fill(report, accounts)
            ledger.write(self._con, report, content.file_id, real, self._version)
            self._progress(path, "commit", accounts.records)
            self._con.execute("COMMIT")
        except (StillChanging, OSError):
            self._roll_back()
            raise
        except Exception as error:
            self._roll_back()
            return self._failed(report, error, content, real)
        except BaseException:
            self._roll_back()
            raise
        self._progress(path, "done", accounts.records)
        return report

    def _again(self, known: ledger.Entry) -> bool:
        outdated = known.layouts_version != self._version
        if known.status in ("failed", "superseded") or self._reload == "always":
            return True
        return outdated and (self._reload == "outdated" or known.status == "quarantined")

    def _clear(self, content: Digest, known: ledger.Entry | None, earlier: list[ledger.Entry], kind: Kind) -> None:
        """Remove what this content, or what the file held before it grew or was corrected, once put into the tables."""
        if known is not None:
            self._tables.remove(content.file_id)
        for entry in earlier:
            grown = content.prefixes.get(entry.bytes) == entry.sha256
            corrected = entry.kind == kind and kind in (Kind.RUNS, Kind.GROUPS)
            if entry.sha256 != content.sha256 and (grown or corrected):
                self._tables.remove(entry.file_id, list(entry.row_counts))
                self._con.execute("DELETE FROM meta.ledger WHERE file_id = ?", [entry.file_id])

    def _append(self, name: str, rows, file_id: int) -> None:
        if name in _REPLACES:
            for old in self._tables.replaced(name, _REPLACES[name], rows):
                self._con.execute("UPDATE meta.ledger SET status = 'superseded' WHERE file_id = ?", [old])
        self._tables.append(name, rows, file_id)

    def _failed(self, report: FileReport, error: Exception, content: Digest, real: str) -> FileReport:
        """Put the failure on record; the file is tried again the next time."""
        report.status, report.exit_code = "failed", ExitCode.FAILED
        report.message = f"{report.path}: nothing of it was loaded: {type(error).__name__}: {error}"
        report.reason_codes = {type(error).__name__: 1}
        with suppress(duckdb.Error):
            ledger.write(self._con, report, content.file_id, real, self._version)
        return report

    def _roll_back(self) -> None:
        with suppress(duckdb.Error):
            self._con.execute("ROLLBACK")
        self._tables.forget()


def _fill(report: FileReport, accounts: Accounts) -> None:
    """Put the sums into the report and judge them."""
    report.records, report.decoded, report.quarantined = accounts.records, accounts.decoded, accounts.quarantined
    report.skipped = dict(sorted(accounts.skipped.items()))
    report.skipped_bytes = dict(sorted(accounts.skipped_bytes.items()))
    report.rows = dict(sorted(accounts.rows.items()))
    report.reason_codes = dict(sorted(accounts.reason_codes.items()))
    report.decoded_bytes, report.quarantined_bytes = accounts.decoded_bytes, accounts.quarantined_bytes
    report.framing_bytes = accounts.framing_bytes
    if accounts.quarantined and not accounts.decoded and not accounts.skipped:
        report.status, report.exit_code = "quarantined", ExitCode.UNRECOGNISED
    elif accounts.quarantined:
        report.status, report.exit_code = "loaded", ExitCode.QUARANTINED
    elif accounts.decoded and accounts.messages_only == accounts.decoded:
        report.status = "message"
    else:
        report.status = "loaded"
