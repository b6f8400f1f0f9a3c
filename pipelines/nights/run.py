"""`etalon nightly`: one night from the landing folder to the champion, without a daemon.

Every step may be done again: a night that was killed is gone on with by the next.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from model import documents
from pipelines import settings as configured
from pipelines import steps
from pipelines.exits import EtalonError, Exit, code_of
from pipelines.home import Home
from pipelines.locks import alone
from pipelines.nights import accounts, acknowledged, coverage, headroom, landing, notify, page, retention
from pipelines.nights.findings import (
    NOT_PUBLISHED,
    RULES_OF_FILES,
    Finding,
    findings,
    lack_name,
    page_of,
    undecoded,
)
from pipelines.nights.notify import Event
from pipelines.nights.remote import Remote
from pipelines.progress import Reporter
from pipelines.settings import Settings
from pipelines.text import counted
from state.catalogue import FITTED, HEADROOM, MISSING, NIGHT

#: Keeps what one night knows for the next.
Remember = Callable[[], object]
#: Waits before a step is tried again that found another process writing, in seconds.
AGAIN_S = (15, 60, 240)
_LONGEST_VERDICT = 300
#: What the exit code of a night is, of all that its steps call for: the first of these.
_WORST = (
    *(Exit.FAILED, Exit.LOCKED, Exit.QUALITY, Exit.FEWER, Exit.HELD_BACK),
    *(Exit.NO_INPUT, Exit.UNRECOGNISED, Exit.QUARANTINED),
)


@dataclass
class Night:
    """What became of a night; its file in `nights/` holds the same."""

    day: str
    started: str
    ended: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    built: str = ""
    late: list[str] = field(default_factory=list)
    headroom: list[str] = field(default_factory=list)
    quality: dict[str, Any] | None = None
    held_back: list[str] = field(default_factory=list)
    published: bool = False
    model: dict[str, Any] | None = None
    lacks: list[dict[str, Any]] = field(default_factory=list)
    retained: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    code: int = 0

    @property
    def verdict(self) -> str:
        """The night in one line."""
        loaded = sum(file["status"] == "loaded" for file in self.files)
        if not self.ended:
            return "did not end: the next night goes on with it"
        if self.errors:
            return f"failed: {' '.join(self.errors[0].split())[:_LONGEST_VERDICT]}"
        if self.quality is not None and self.quality["verdict"] == "fail":
            return NOT_PUBLISHED
        came = f"{counted(loaded, 'file')} loaded" if self.files else "no new files"
        came += ", published" * self.published + " without what is held back" * bool(self.held_back)
        lacks = {lack_name(lack) for lack in self.lacks}
        warnings = [one.name for one in self.unacknowledged if one.severity == "warning"]
        missing = sum(name in lacks for name in warnings)
        unmet = sum(one.severity == "remark" for one in self.unacknowledged)
        said = [(missing, counted(missing, "thing") + " missing")]
        said += [(len(warnings) - missing, counted(len(warnings) - missing, "warning"))]
        said += [(unmet, counted(unmet, "expectation") + " not met")]
        said += [(len(self.acknowledged), f"{len(self.acknowledged)} acknowledged")]
        return "; ".join([came, *(words for number, words in said if number)])

    @property
    def unacknowledged(self) -> list[Finding]:
        """What was found and is not acknowledged."""
        return [finding for finding in findings(self.__dict__) if finding.name not in self.acknowledged]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"verdict": self.verdict, **self.__dict__}


def run(home: Home, day: dt.date | None = None, reporter: Reporter | None = None) -> Night:
    """Load what is complete, build what it touches, check, publish, calibrate, retain, report and notify.

    day: the day whose coverage is looked at; yesterday (UTC) without it. Raises EtalonError (LOCKED) while another
    night is under way, and for settings that cannot be used; whatever else goes wrong is in the result and its code.
    """
    home.require_writable()
    rules = configured.read(home)
    now = dt.datetime.now(dt.UTC)
    with only_one(home):
        night = Night(str(day or (now - dt.timedelta(days=1)).date()), _begun(home, now))
        codes: list[Exit] = []
        try:
            _work(home, rules, night, reporter or Reporter(), codes)
        except Exception as error:
            said = f"{type(error).__name__}: {error}" if code_of(error) is None else str(error)
            night.errors.append(home.fault(error) or said)
            codes.append(code_of(error) or Exit.FAILED)
        night.code = int(next((code for code in _WORST if code in codes), Exit.FAILED if night.errors else Exit.OK))
        night.acknowledged = acknowledged.shown(home, night.__dict__)
        night.ended = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        night.notes += notify.send(events(night), rules.notify, _outbox(home), dt.datetime.now(dt.UTC))
        _put_down(home, night)
        page.write_pages(home)
    return night


def _begun(home: Home, now: dt.datetime) -> str:
    """When a night begins, to the second, by which it is called: the first second that no other night is called by."""
    started = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    taken = _file(home, started).exists()
    return _begun(home, now + dt.timedelta(seconds=1)) if taken else started


def _file(home: Home, started: str) -> Path:
    return (home.root / page_of({"started": started})).with_suffix(".json")


def _outbox(home: Home) -> Path:
    return home.nights / "outbox.json"


def _put_down(home: Home, night: Night) -> None:
    """Write the night's file, as far as the night has come."""
    NIGHT.write(_file(home, night.started), documents.finite(night.to_dict()))


def only_one(home: Home) -> AbstractContextManager[None]:
    """The lock of nights: see `alone`."""
    return alone(home.nights / "lock", "night", home.root)


@contextmanager
def _step(home: Home, rules: Settings, night: Night, reporter: Reporter, title: str) -> Iterator[list[Remember]]:
    """Yields a list for what keeps the memory for the next night.

    It is kept when what was found is put down to be sent: of a night that is killed, the next one tells it.
    """
    begun, memories = time.monotonic(), list[Remember]()
    try:
        with reporter.step(title):
            yield memories
    finally:
        night.steps[title] = round(time.monotonic() - begun, 1)
    night.acknowledged = acknowledged.shown(home, night.__dict__)
    _put_down(home, night)
    notify.put_down(events(night), rules.notify, _outbox(home))
    for remember in memories:
        remember()


def _work(home: Home, rules: Settings, night: Night, reporter: Reporter, codes: list[Exit]) -> None:
    step = partial(_step, home, rules, night, reporter)
    with step("ingesting") as remember:
        remember.append(_load(home, rules, night, codes))
    from pipelines.building import held
    from pipelines.building.marts import unpublished

    patiently(lambda: steps.prepare(home))
    if patiently(lambda: unpublished(home)):
        with step("building the marts"):
            night.built = patiently(lambda: steps.build(home, progress=night.late.append))
        with step("checking data quality"):
            result = patiently(lambda: steps.judge(home))
            of_files = RULES_OF_FILES if undecoded(night.files) else ()
            night.quality = {
                "verdict": result.verdict,
                "counts": result.counts,
                "problems": [found.line for found in result.problems if found.rule not in of_files],
                "where": {found.line: found.where for found in result.problems if found.where},
            }
        if result.verdict == "fail":
            codes.append(Exit.QUALITY)
            return
        with step("publishing the snapshot"):
            night.held_back = patiently(lambda: held.unpublished(home))
            codes += [Exit.HELD_BACK] * bool(night.held_back)
            patiently(lambda: steps.publish(home))
            night.published = True
    if rules.fit:
        with step("calibrating and validating") as remember:
            remember.append(_fit(home, rules, night))
            months, bundle = rules.notify.headroom_months, steps.standing(home)
            if months is not None and bundle is not None:
                short = headroom.short(bundle, months, dt.date.fromisoformat(night.day))
                systems = home.nights / "headroom.json"
                night.headroom = headroom.newly_short(short, systems)
                remember.append(lambda: HEADROOM.write(systems, {"short": sorted(short)}))
    with step("looking for what is missing") as remember:
        memory = home.nights / "missing.json"
        looked_at = acknowledged.notes(home)
        known = MISSING.read_or(memory, [], lambda found: [coverage.Lack(**lack) for lack in found["lacks"]])
        before = [lack for lack in known if lack_name(lack.to_dict()) not in looked_at]
        lacks = coverage.lacks(home.snapshot, dt.date.fromisoformat(night.day), rules.coverage, before)
        night.lacks = [lack.to_dict() for lack in lacks]
        still = [lack for lack in night.lacks if lack["what"] != "outage"]
        remember.append(lambda: MISSING.write(memory, {"lacks": still}))
    if night.quality is not None:
        acknowledged.expire(home, night.__dict__)
    if rules.retain:
        with step("dropping what is too old"):
            until = dt.date.fromisoformat(night.day)
            night.retained = patiently(lambda: retention.retain(home, rules.retain, until))


def _load(home: Home, rules: Settings, night: Night, codes: list[Exit]) -> Remember:
    """Load complete files that were not loaded as they are now.

    To the archive, if there is one, go those that an earlier night loaded and that are the same since: whoever wrote a
    file then may have gone on. Returns what keeps the memory for the next look at the landing folder.
    """
    from ingest import warehouse
    from pipelines import layouts

    remote = Remote(home, rules.landing) if isinstance(rules.landing.folder, str) else None
    version = warehouse.layouts_version(layouts.registry(home))
    before: landing.Memory = patiently(lambda: landing.Memory.read(home.warehouse, version))
    loaded, unread = dict(before.loaded), dict(before.unread)
    folder = landing.local(home, rules.landing) if remote is None else remote.copies
    if remote is None:
        seen = landing.arrivals(folder, rules.landing, before.seen)
        same = (found for found in seen if loaded.get(found.name) == found.mark)
        night.left = landing.archive(same, folder, rules.landing)
    else:
        night.left = remote.fetch(loaded)
        seen = remote.arrivals(before.seen)

    def here(text: str) -> str:
        """Files as they are called in the landing folder, wherever on the machine that is."""
        return text.replace(f"{folder}/", "")

    night.left |= {here(found.name): found.why_left for found in seen if found.why_left}
    wanted = [f for f in seen if not f.why_left and f.mark not in (loaded.get(f.name), unread.get(f.name))]
    if wanted:
        reports = patiently(lambda: steps.ingest(home, [found.path for found in wanted]))
        night.files = [accounts.of_report(report, folder) for report in reports]
        codes += [Exit(int(report.exit_code)) for report in reports if report.exit_code]
        bad = undecoded(night.files)
        night.notes += [file["message"] for file in night.files if file["message"] and file not in bad]
        # No later night finds data in an empty member of an archive.
        missed = [r.path for r in reports if r.status in ("failed", "busy") and (r.bytes or "!" not in r.path)]
        unknown = [report.path for report in reports if int(report.exit_code) == Exit.UNRECOGNISED]
        for found in wanted:
            if _is_of(found.name, missed):
                continue
            if _is_of(found.name, unknown):
                unread[found.name] = found.mark
                night.left[here(found.name)] = "could not be decoded; looked at again when it or layouts change"
            elif remote is None:
                loaded[found.name] = found.mark
            else:
                name = found.path.relative_to(folder).as_posix()
                loaded[name] = remote.marks[name]
                found.path.unlink()
    marks = {found.name: found.mark for found in seen}
    originals = marks if remote is None else remote.marks
    memory = landing.Memory(
        marks,
        {name: mark for name, mark in loaded.items() if name in originals},
        {name: mark for name, mark in unread.items() if name in marks},
    )
    return lambda: patiently(lambda: memory.write(home.warehouse, version))


def _is_of(file: str, names: list[str]) -> bool:
    """Whether a file, or one in it where it is an archive (`archive!file`), is among those named."""
    return any(name == file or name.startswith(f"{file}!") for name in names)


def _fit(home: Home, rules: Settings, night: Night) -> Remember:
    """Calibrate unless the last calibration was on the same data and days of it.

    Returns what keeps what this one was on.
    """
    memory = home.nights / "fitted.json"
    data = {**steps.data_identity(home), "fit_days": rules.fit_days}
    if FITTED.read_or(memory, {}) == data and steps.standing(home) is not None:
        return _nothing
    try:
        fitted = steps.fit(home)
    except EtalonError as error:
        if error.code is not Exit.NOT_READY:
            raise
        night.model = {"outcome": str(error), "champion": False}
    else:
        night.model = {
            "outcome": fitted.line,
            "champion": fitted.promoted,
            "drifted": list(fitted.drifted),
            "faults": dict(fitted.faults),
        }
    return lambda: FITTED.write(memory, data)


def _nothing() -> None:
    """Keep nothing."""


def patiently(do: Callable[[], Any], waits: tuple[float, ...] | None = None) -> Any:
    """What `do` returns; tried again after a while where another process is writing the warehouse."""
    for wait in AGAIN_S if waits is None else waits:
        try:
            return do()
        except Exception as error:
            if code_of(error) is not Exit.LOCKED:
                raise
            time.sleep(wait)
    return do()


def events(night: Night) -> list[Event]:
    """What is to be reported of a night."""
    return [
        Event(finding.severity, ": ".join(filter(None, (finding.text, finding.advice))), finding.page)
        for finding in night.unacknowledged
        if finding.severity in notify.SEVERITIES
    ]
