"""The result of a night: kept step by step, whichever process does the steps, and reported at its end."""

import datetime as dt
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from model import documents
from pipelines.exits import Exit, code_of
from pipelines.home import Home
from pipelines.nights import notify, page
from pipelines.nights.findings import NOT_PUBLISHED, Finding, findings, lack_name, page_of
from pipelines.nights.notify import Event
from pipelines.progress import Reporter
from pipelines.settings import Settings
from pipelines.text import counted
from state import alerts, files
from state.alerts import Alert
from state.catalogue import NIGHT
from state.files import StateDamaged

#: Waits in seconds before a step is tried again, if another process was writing.
AGAIN_S = (15, 60, 240)
_LONGEST_VERDICT = 300
#: What the exit code of a night is, of all that its steps call for: the first of these.
_WORST = (
    *(Exit.FAILED, Exit.LOCKED, Exit.QUALITY, Exit.FEWER, Exit.HELD_BACK),
    *(Exit.NO_INPUT, Exit.UNRECOGNISED, Exit.QUARANTINED),
)


@dataclass
class Night:
    """The result of a night, which is a run of Dagster; its file in `nights/` has the same content.

    Every step reads it and writes it again. `due` says whether there is something to build, check or publish, `codes`
    are the exit codes that steps call for, and `code` is the one of the night.
    """

    day: str
    started: str
    ended: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    due: bool = False
    built: str = ""
    late: list[str] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    alerted: bool = False
    severities: dict[str, str] = field(default_factory=dict)
    quality: dict[str, Any] | None = None
    held_back: list[str] = field(default_factory=list)
    published: bool = False
    model: dict[str, Any] | None = None
    lacks: list[dict[str, Any]] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    retained: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    code: int = 0
    run: str = ""

    @property
    def verdict(self) -> str:
        """The night in one line."""
        loaded = sum(file["status"] == "loaded" for file in self.files)
        if not self.ended:
            return "did not end: the next night resumes it"
        if self.errors:
            return f"failed: {' '.join(self.errors[0].split())[:_LONGEST_VERDICT]}"
        if self.quality is not None and self.quality["verdict"] == "fail":
            return NOT_PUBLISHED
        loads = f"{counted(loaded, 'file')} loaded" if self.files else "no new files"
        loads += ", published" * self.published + " without what is held back" * bool(self.held_back)
        lacks = {lack_name(lack) for lack in self.lacks}
        warnings = [one.name for one in self.unacknowledged if one.severity == "warning"]
        missing = sum(name in lacks for name in warnings)
        unmet = sum(one.severity == "remark" for one in self.unacknowledged)
        counts = [(missing, counted(missing, "thing") + " missing")]
        counts += [(len(warnings) - missing, counted(len(warnings) - missing, "warning"))]
        counts += [(unmet, counted(unmet, "expectation") + " not met")]
        counts += [(len(self.acknowledged), f"{len(self.acknowledged)} acknowledged")]
        return "; ".join([loads, *(words for number, words in counts if number)])

    @property
    def unacknowledged(self) -> list[Finding]:
        """Findings that are not acknowledged."""
        return [finding for finding in findings(self.__dict__) if finding.name not in self.acknowledged]

    @property
    def events(self) -> list[Event]:
        """Events to report; of causes that rules detect, those that no earlier night reported."""
        reported = {one["name"] for one in self.alerts if not one["is_new"]}
        return [
            Event(finding.severity, ": ".join(filter(None, (finding.text, finding.advice))), finding.page)
            for finding in self.unacknowledged
            if finding.severity in notify.SEVERITIES and finding.name not in reported
        ]

    def is_over(self, alert: Alert) -> bool:
        """Whether the night looked for the cause of an alert that it did not find."""
        looked = {"night": not self.errors, "data": self.quality is not None, "gap": self.quality is not None}
        return looked.get(alert.rule, self.model is not None if alert.rule == "drift" else self.alerted)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"verdict": self.verdict, **self.__dict__}


@dataclass(frozen=True)
class RunOfNight:
    """A run of Dagster as nights know it: its name, when it was made, and the day whose records should be there."""

    run_id: str
    created: dt.datetime
    day: dt.date


@dataclass
class Step:
    """A step of a night under way: what became of the night so far, and what is kept for the next when the step ends.

    Memories are written after the messages about findings: if a night is killed, the next one sends them.
    """

    home: Home
    rules: Settings
    night: Night
    memories: list[Callable[[], object]] = field(default_factory=list)


class StepFailed(Exception):
    """A step failed; the night has it, with its exit code."""


@contextmanager
def step(home: Home, rules: Settings, of: RunOfNight, title: str) -> Iterator[Step]:
    """Do a step of a night. Raises StepFailed for whatever goes wrong in the block."""
    night = read(home, of)
    this, started_s = Step(home, rules, night), time.monotonic()
    try:
        with _noting(night), Reporter().step(title):
            yield this
    except Exception as error:
        message = f"{type(error).__name__}: {error}" if code_of(error) is None else str(error)
        night.errors.append(home.fault(error) or message)
        night.codes.append(int(code_of(error) or Exit.FAILED))
        raise StepFailed(night.errors[-1]) from error
    finally:
        night.steps[title] = round(time.monotonic() - started_s, 1)
        with _noting(night):
            night.acknowledged = _acknowledged(home, night)
            notify.put_down(night.events, rules.notify, _outbox(home))
        _write(home, night)
    for keep in this.memories:
        keep()


def read(home: Home, of: RunOfNight) -> Night:
    """The result of a night so far; empty, where it has just begun.

    A night is called by the second in which it was begun, or by the first one after that no other is called by.
    """
    created = of.created
    while True:
        started = created.strftime("%Y-%m-%dT%H:%M:%SZ")
        path = _file(home, started)
        try:
            saved = NIGHT.read(path)
        except StateDamaged:
            saved = {}
        if saved is None:
            return Night(str(of.day), started, run=of.run_id)
        if saved.get("run") == of.run_id:
            return Night(**{name.name: saved[name.name] for name in fields(Night) if name.name in saved})
        created += dt.timedelta(seconds=1)


def finish(home: Home, rules: Settings, of: RunOfNight, failure: str = "") -> Night:
    """End a night: its exit code, messages and pages. failure: why its run failed, where no step says so."""
    night = read(home, of)
    with _noting(night):
        if failure and not night.codes:
            night.errors.append(failure)
        night.code = int(
            next((code for code in _WORST if code in night.codes), Exit.FAILED if night.errors else Exit.OK)
        )
        night.acknowledged = _acknowledged(home, night)
        night.ended = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        notify.put_down(night.events, rules.notify, _outbox(home))
        alerts.record(home.root, _alerts(night), night.ended, night.is_over)
        night.notes += notify.send([], rules.notify, _outbox(home), dt.datetime.now(dt.UTC))
    _write(home, night)
    page.write_pages(home)
    return night


def _acknowledged(home: Home, night: Night) -> dict[str, str]:
    """Notes by name of the acknowledged findings of a night."""
    names = {finding.name for finding in findings(night.__dict__)}
    return {name: note for name, note in alerts.notes(home.root).items() if name in names}


def _alerts(night: Night) -> list[Alert]:
    """Findings of a night that need attention, one alert a cause."""
    return [
        Alert(one.name, one.rule, one.severity, one.text, one.details, one.page)
        for one in findings(night.__dict__)
        if one.severity != "news"
    ]


def patiently(do: Callable[[], Any], waits: tuple[float, ...] | None = None) -> Any:
    """The result of `do`; tried again after a while where another process is writing the warehouse."""
    for wait in AGAIN_S if waits is None else waits:
        try:
            return do()
        except Exception as error:
            if code_of(error) is not Exit.LOCKED:
                raise
            time.sleep(wait)
    return do()


@contextmanager
def patiently_entered(make: Callable[[], Any], waits: tuple[float, ...] | None = None) -> Iterator[Any]:
    """A context manager, entered as `patiently` does."""
    with ExitStack() as stack:
        yield patiently(lambda: stack.enter_context(make()), waits)


@contextmanager
def _noting(night: Night) -> Iterator[None]:
    """Note damaged files of the state that are gone on without."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            night.notes.append(record.getMessage())

    notes = Notes()
    files.log.addHandler(notes)
    try:
        yield
    finally:
        files.log.removeHandler(notes)


def _write(home: Home, night: Night) -> None:
    """Write the night's file, as far as the night has come."""
    NIGHT.write(_file(home, night.started), documents.finite(night.to_dict()))


def _file(home: Home, started: str) -> Path:
    return (home.root / page_of({"started": started})).with_suffix(".json")


def _outbox(home: Home) -> Path:
    return home.nights / "outbox.json"
