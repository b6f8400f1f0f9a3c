"""Loads files into the warehouse: all of a file or nothing, each content once, every byte accounted for.

Small files share a transaction. Killed at any moment, a load leaves whole files or nothing of them; run again, it does
what is missing.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from ingest import units
from ingest.batch import of_file
from ingest.codec.handlers import Handler
from ingest.containers.limits import Limits
from ingest.containers.opening import STANDARD_INPUT, Member, form_of, inner_name, standard_input, unpack
from ingest.files.accounts import Accounts
from ingest.files.ahead import made_ahead
from ingest.files.inputs import Content, Fingerprint, StillChanging, expand
from ingest.files.names import shown
from ingest.files.outcome import (
    ExitCode,
    FileReport,
    damaged,
    empty,
    holds_nothing,
    unreadable,
)
from ingest.formats.cics.dictionary import DictionaryMemory
from ingest.formats.identify import HEAD_BYTES, Identity, Kind, identify
from ingest.registry import Registry
from ingest.running import Here, Processes, Runner
from ingest.units.parts import IDENTITIES, QUARANTINE, Part
from ingest.warehouse import ledger, overlaps, parts
from ingest.warehouse.errors import is_damage
from ingest.warehouse.removal import take_out
from ingest.warehouse.tables import Tables, layouts_version
from ingest.warehouse.waves import Waves
from ingest.warehouse.writer import open_writer

#: When to load content again that the ledger already has: never, when layouts have changed since, or always.
Reload = Literal["never", "outdated", "always"]

#: Called with the path, what is being done (`hash`, `batch`, `commit`, `done`) and the records read so far.
Progress = Callable[[str, str, int], None]

_SCRATCH = ".unpack-"
_ATTEMPTS = 2
_REPLACING = ("etalon_run", "etalon_group")
_SHARED_BYTES = 4 << 20
"""Files share a transaction until they have so many bytes, and so the statements that write their rows."""
_FEWEST_UNITS = 8
"""Units for which further processes are started: for fewer, starting them costs more than they save."""


def load(
    paths: Iterable[str | Path],
    db_path: str | Path,
    registry: Registry,
    *,
    reload: Reload = "never",
    progress: Progress | None = None,
    kind: Kind | None = None,
    limits: Callable[[], Limits] = Limits,
    runner: Runner | None = None,
) -> list[FileReport]:
    """Load files, folders and patterns into the database at `db_path`; one report per file, in order.

    Content that was loaded before changes nothing (`unchanged`), whatever its name. Content that could not be decoded
    at all is tried again once layouts have changed. With `reload="outdated"` all content that was loaded with other
    layouts is loaded anew, with `"always"` all of it. With `kind` all files are read as this kind, whatever they look
    like, and loaded anew where they were read as another. A file that has grown since it was loaded from the same path
    takes the place of what was loaded then. Its report says what is wrong with a file. Compressed files,
    archives, AMATERSE and TRANSMIT files are unpacked next to the database, each file inside with a separate report,
    within limits that are read when the first of them comes; `-` is standard input.

    Dumps of 4 MB or more are decoded by `runner`, if there is one. Without one, dumps of 24 MB or more are decoded in
    units, by processes where these are many.

    Raises WarehouseError (WarehouseLocked while another process writes) when the database cannot be opened at all.
    """
    inputs = expand(paths)
    if not any(isinstance(item, str) for item in inputs):
        return [item for item in inputs if isinstance(item, FileReport)]
    with open_writer(db_path) as con, _scratch(Path(db_path).parent) as scratch, Processes() as processes:
        say = progress or (lambda path, step, records: None)

        def runner_for(count: int) -> Runner:
            return runner or (processes if count >= _FEWEST_UNITS else Here())

        least = min(runner.unit_bytes, _SHARED_BYTES) if runner else Here.unit_bytes
        loader = _Loader(con, registry, reload, say, scratch, kind, limits, runner_for, least)
        reports: list[FileReport] = []
        for place, item in enumerate(inputs):
            following = [path for path in inputs[place + 1 :] if isinstance(path, str)]
            reports += [item] if isinstance(item, FileReport) else loader.load(item, following)
        loader.commit()
        loader.finish()
        return [loader.anew(report) for report in reports]


def prepare(db_path: str | Path, registry: Registry) -> None:
    """Make every table that an earlier version did not know yet in the database at `db_path`, and columns it lacked.

    Raises WarehouseError (WarehouseLocked while another process writes) when the database cannot be opened.
    """
    with open_writer(db_path) as con:
        ledger.create(con)
        Tables(con).bring_up_to(registry)
        overlaps.settle(con)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder to unpack into. Whoever holds the writer's lock may clear away what killed loads have left."""
    for left in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as name:
        yield Path(name)


class _Loader:
    """Loads one file after another over an open connection."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        registry: Registry,
        reload: Reload,
        progress: Progress,
        scratch: Path,
        kind: Kind | None,
        limits: Callable[[], Limits],
        runner_for: Callable[[int], Runner],
        least_bytes: int,
    ) -> None:
        self._con = con
        self._registry = registry
        self._reload = reload
        self._progress = progress
        self._scratch, self._kept = scratch, scratch / "kept"
        self._kept.mkdir()
        self._ask_limits = limits
        self._kind = kind
        self._damaged: set[str] = set()
        self._overlapping: frozenset[str] = frozenset()
        self._following: list[str] = []
        self._fresh: list[Part] = []
        self._version = layouts_version(registry)
        ledger.create(con)
        self._tables = Tables(con)
        self._tables.bring_up_to(registry)
        self._waves = Waves(con, registry, kind, parts.folder(con), runner_for, least_bytes, self._dictionaries)
        self._rows = self._tables.row_buffer()
        self._shared_files: list[tuple[Path, FileReport]] = []
        self._shared_bytes = 0

    @cached_property
    def _limits(self) -> Limits:
        return self._ask_limits()

    @cached_property
    def _handlers(self) -> dict[str, Handler]:
        """Handlers with the dictionaries in the warehouse when the first dump is read, and with those read later."""
        from ingest.warehouse import dictionaries

        return dictionaries.handlers(self._con)

    def finish(self) -> None:
        """Decode what had to be left in the quarantine and can be read by now, and settle which records count."""
        files = ledger.waiting(self._con)
        if files:
            from ingest.warehouse import dictionaries

            dictionaries.decode_waiting(self._con, self._registry, self._tables, files)
        overlaps.settle(self._con)
        self._overlapping = ledger.overlapping(self._con)

    def anew(self, report: FileReport) -> FileReport:
        """The report of a file with later changes: records that waited and are now decoded, and overlap."""
        if report.sha256 is None:
            return report
        if ledger.WAITING not in report.reason_codes or report.path in self._damaged:
            if report.status != "unchanged" and report.sha256 in self._overlapping:
                report_now = ledger.report_of(self._con, report.sha256, report.path)
                report.overlap, report.overlap_with = report_now.overlap, report_now.overlap_with
            return report
        report_now = ledger.report_of(self._con, report.sha256, report.path)
        report_now.status = report.status if report.status == "unchanged" or not report_now.decoded else "loaded"
        report_now.container = report.container
        return report_now

    def load(self, path: str, following: list[str]) -> list[FileReport]:
        """Load one file, or the files inside it where it is a container; following: paths that come after it."""
        self._following = following
        if path == STANDARD_INPUT:
            with standard_input(self._scratch) as spooled:
                return self._load_any(spooled, "standard input")
        return self._load_any(Path(path), shown(path))

    def _load_any(self, path: Path, name: str) -> list[FileReport]:
        try:
            with path.open("rb") as stream:
                form = form_of(stream.read(HEAD_BYTES))
        except OSError as error:
            return [unreadable(name, error)]
        if form is None:
            return [self._load_steady(path, name)]
        try:
            before = Fingerprint.of(path)
            reports = [
                self._load_member(member, before) for member in unpack(path, name, form, self._scratch, self._limits)
            ]
            changed = Fingerprint.of(path) != before
            if not changed and len(reports) == 1 and reports[0].message and not reports[0].bytes:
                detail = reports[0].message.removeprefix(f"{name}: ")
                identity = Identity(Kind.UNRECOGNISED, "container_damaged", detail)
                return [self._load_steady(path, name, identity)]
        except OSError as error:
            return [unreadable(name, error)]
        if changed:
            return [_busy(name)]
        if not reports:
            return [holds_nothing(name, form)]
        return reports

    def _load_member(self, member: Member, container: Fingerprint) -> FileReport:
        # It may have to be read again, when the transaction that it shares with others is rolled back.
        path = member.path.rename(self._kept / f"{len(self._shared_files):06d}")
        report = self._load_steady(path, member.name, apart=member.damage is not None)
        report.container = member.form
        if member.damage:
            self._damaged.add(report.path)
            damaged(report, member.damage + (container.may_grow if report.decoded else ""))
        if not self._shared_files or self._shared_files[-1][0] != path:
            path.unlink(missing_ok=True)
        return report

    def _let_go(self, path: Path) -> None:
        """Remove the file of a member that need not be read again."""
        if path.parent == self._kept:
            path.unlink(missing_ok=True)

    def _load_steady(self, path: Path, name: str, identity: Identity | None = None, apart: bool = False) -> FileReport:
        """Load one file, trying again where it changes while it is read."""
        for _ in range(_ATTEMPTS):
            try:
                return self._load(path, name, identity, apart)
            except StillChanging:
                continue
            except OSError as error:
                return unreadable(name, error)
        return _busy(name)

    def _load(self, path: Path, name: str, identity: Identity | None, apart: bool = False) -> FileReport:
        before = Fingerprint.of(path)
        if before.size == 0:
            return empty(name)
        spooled = self._scratch in path.parents
        # What has been spooled is gone when the next file is read, unless it is kept.
        apart = apart or identity is not None or before.size >= _SHARED_BYTES or path.parent == self._scratch
        if apart:
            self.commit()
        real = name if spooled else shown(os.path.realpath(path))
        self._progress(name, "hash", 0)
        earlier = ledger.of_path(self._con, real)
        lengths = [entry.bytes for entry in earlier]
        with Content(path, before.size, lengths, self._waves.key(str(path), before)) as content:
            entry = self._entry_of(content, earlier)
            if Fingerprint.of(path) != before:
                raise StillChanging
            if entry is not None and not self._again(entry):
                return ledger.report_of(self._con, entry.sha256, name)
            if identity is None:
                identity = Identity(self._kind) if self._kind else self._identify(path, name)
            report = FileReport(name, bytes=before.size, kind=str(identity.kind))
            file_id = entry.file_id if entry else self._new_id(content)
            content.make_way()
            in_units = self._waves.has(identity, before.size)
            if not self._shared_files:
                self._con.execute("BEGIN")
            self._fresh = []
            try:
                self._clear(content, entry, earlier, identity.kind)
                if in_units:
                    file = units.File(str(path), file_id, identity, before.size)
                    accounts, replaced = self._insert_units(file, before, name), list[int]()
                else:
                    accounts, replaced = self._insert(path, name, identity, file_id)
                report.sha256 = content.digest.sha256
                if Fingerprint.of(path) != before:
                    raise StillChanging
                accounts.prove(before.size)
                accounts.judge(report)
                report.message = report.message or self._left(name, replaced)
                overlaps.leave_unsettled(self._con, file_id)
                ledger.write(self._con, report, file_id, real, self._version)
                if apart:
                    self._commit(name, accounts.records)
            except BaseException as error:
                undone = self._roll_back()
                for part in self._fresh:
                    Path(part.path).unlink(missing_ok=True)
                shared = in_units and self._waves.is_shared
                if in_units:
                    self._waves.discard()
                if (undone or shared) and isinstance(error, Exception):
                    self._load_apart(undone)
                    self._following = []
                    return self._load(path, name, identity, apart=True)
                if isinstance(error, (StillChanging, OSError)) or not isinstance(error, Exception) or is_damage(error):
                    raise
                report.sha256 = content.digest.sha256
                if Fingerprint.of(path) != before:
                    raise StillChanging from error
                return self._failed(report, error, file_id, real)
        if report.decoded and accounts.quarantined_to == before.size and not spooled:
            report.message = f"{report.message}{before.may_grow}"
        if apart:
            self._progress(name, "done", accounts.records)
            return report
        self._shared_files.append((path, report))
        self._shared_bytes += report.bytes
        if self._shared_bytes >= _SHARED_BYTES:
            self.commit()
        return report

    def _identify(self, path: Path, name: str) -> Identity:
        with path.open("rb") as stream:
            return identify(inner_name(name), stream.read(HEAD_BYTES))

    def commit(self) -> None:
        """Commit the files that share a transaction; where that fails, each is loaded again in a separate one."""
        if self._shared_files:
            try:
                self._commit(*((last := self._shared_files[-1][1]).path, last.records))
            except BaseException as error:
                undone = self._roll_back()
                for part in self._fresh:
                    Path(part.path).unlink(missing_ok=True)
                if not isinstance(error, Exception):
                    raise
                self._load_apart(undone)
            for path, report in self._shared_files:
                self._progress(report.path, "done", report.records)
                self._let_go(path)
            self._shared_files, self._shared_bytes = [], 0

    def _commit(self, name: str, records: int) -> None:
        self._rows.write()
        self._progress(name, "commit", records)
        self._con.execute("COMMIT")

    def _load_apart(self, files: list[tuple[Path, FileReport]]) -> None:
        """Load files whose transaction was rolled back, each in a separate one, and bring their reports up to date."""
        for path, report in files:
            vars(report).update(vars(self._load_steady(path, report.path, apart=True)), container=report.container)
            self._let_go(path)

    def _insert(self, path: Path, name: str, identity: Identity, file_id: int) -> tuple[Accounts, list[int]]:
        """Decode a file and write its rows, its records' identities and what is quarantined of it.

        Its account, and the ids of files of which it replaced rows.
        """
        # What loads nothing does without every kind of reader.
        from ingest.formats.readers import read

        accounts, replaced = Accounts(), list[int]()
        handlers = self._handlers if identity.kind is Kind.SMF else None
        with closing(made_ahead(read(path, identity, self._registry, handlers, identify=True))) as batches:
            for batch in batches:
                for table, part in batch.tables.items():
                    if table in _REPLACING:
                        self._rows.write()
                        replaced += self._replace(table, part)
                    self._rows.add(table, of_file(file_id, part))
                if batch.identities is not None:
                    self._rows.add(IDENTITIES, of_file(file_id, batch.identities))
                overlaps.record_incomplete(self._con, file_id, batch.incomplete)
                ledger.quarantine(self._con, file_id, batch.quarantined)
                accounts.add(batch)
                self._progress(name, "batch", accounts.records)
        return accounts, replaced

    def _dictionaries(self) -> DictionaryMemory | None:
        from ingest.formats.cics.performance import MonitoringDecoder

        handler = self._handlers.get("cics_monitoring")
        return handler.memory if isinstance(handler, MonitoringDecoder) else None

    def _insert_units(self, file: units.File, fingerprint: Fingerprint, name: str) -> Accounts:
        """Decode a large dump in units, with the dumps that follow it, and write its rows; returns its account.

        Its large tables are parts; the rest of its rows go into the tables.
        """
        accounts, fresh = Accounts(), list[Part]()
        self._fresh = fresh
        for share in self._waves.take(file, fingerprint, self._following):
            fresh += share.parts
            for table, rows in share.rows.items():
                for some in rows:
                    if table == QUARANTINE:
                        ledger.keep(self._con, some)
                    else:
                        self._rows.add(table, some)
            for part in (part for part in share.parts if part.table == QUARANTINE):
                ledger.keep_file(self._con, file.file_id, part.path)
                Path(part.path).unlink()
            overlaps.record_incomplete(self._con, file.file_id, share.incomplete)
            accounts.join(share.accounts)
            self._progress(name, "batch", accounts.records)
        self._tables.add_parts([part for part in fresh if part.table != QUARANTINE])
        return accounts

    def _entry_of(self, content: Content, earlier: list[ledger.Entry]) -> ledger.Entry | None:
        """The entry of this content. The digest is not waited for where path, key and size are all new."""
        if not earlier and not ledger.may_hold(self._con, content.key, content.size):
            return None
        return ledger.find(self._con, content.digest.sha256)

    def _new_id(self, content: Content) -> int:
        """The key of content that is not in the ledger; where other content has that, the start of its digest."""
        return int(content.digest.sha256[:16], 16) if ledger.has(self._con, content.key) else content.key

    def _again(self, entry: ledger.Entry) -> bool:
        if self._kind and entry.kind != self._kind:
            return True
        outdated = entry.layouts_version != self._version
        if entry.status in ("failed", "superseded") or self._reload == "always":
            return True
        return outdated and (self._reload == "outdated" or entry.status in ("quarantined", "undecoded"))

    def _clear(self, content: Content, same: ledger.Entry | None, earlier: list[ledger.Entry], kind: Kind) -> None:
        """Remove earlier rows of this content, or of the file before it grew or was corrected."""
        if same is not None or earlier:
            self._rows.write()
        if same is not None:
            self._tables.remove(same.file_id, list(same.row_counts))
            overlaps.release(self._con, same.file_id)
        for entry in earlier:
            grown = content.digest.prefixes.get(entry.bytes) == entry.sha256
            corrected = entry.kind == kind and kind in (Kind.RUNS, Kind.GROUPS)
            if entry.sha256 != content.digest.sha256 and (grown or corrected):
                take_out(self._con, self._tables, entry)

    def _replace(self, name: str, rows: pa.Table) -> list[int]:
        """Remove the rows whose place new ones take; ids of the files they came from."""
        replaced = self._tables.replaced(name, rows)
        for old in replaced:
            self._con.execute("UPDATE meta.ledger SET status = 'superseded' WHERE file_id = ?", [old])
        return replaced

    def _left(self, name: str, replaced: list[int]) -> str | None:
        """A message about files of runs that were replaced in part; None where nothing of them is left."""
        if not replaced:
            return None
        left = self._con.execute(
            "SELECT path, count(*) FROM raw.etalon_run JOIN meta.ledger USING (file_id) "
            "WHERE list_contains($files, file_id) GROUP BY path ORDER BY path",
            {"files": replaced},
        ).fetchall()
        if not left:
            return None
        kept = ", ".join(f"{count} of {path}" for path, count in left)
        return (
            f"{name}: replaces earlier runs between its first start and its last end; others stay ({kept}). "
            "To remove one of those, load the corrected file under its path"
        )

    def _failed(self, report: FileReport, error: Exception, file_id: int, real: str) -> FileReport:
        """Put the failure on record; the file is tried again the next time."""
        report.status, report.exit_code = "failed", ExitCode.FAILED
        report.overlap, report.overlap_with = 0, {}
        report.message = f"{report.path}: nothing of it was loaded: {type(error).__name__}: {error}"
        report.reason_codes = {type(error).__name__: 1}
        with suppress(duckdb.Error):
            ledger.write(self._con, report, file_id, real, self._version)
        return report

    def _roll_back(self) -> list[tuple[Path, FileReport]]:
        """Undo the open transaction; the files before the present one that shared it."""
        with suppress(duckdb.Error):
            self._con.execute("ROLLBACK")
        self._tables.forget()
        self._rows = self._tables.row_buffer()
        undone, self._shared_files, self._shared_bytes = self._shared_files, [], 0
        return undone


def _busy(name: str) -> FileReport:
    text = f"{name}: is still being written; it was left alone, ingest it again when it is complete"
    return FileReport(name, status="busy", message=text, exit_code=ExitCode.BUSY)
