"""The steps of a night: complete files, what is due, what is missing, what is too old."""

import datetime as dt
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pipelines import steps
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import accounts, alerting, coverage, gap_alerts, landing, retention
from pipelines.nights import rules as rule_files
from pipelines.nights.findings import RULES_OF_FILES, lack_name, undecoded
from pipelines.nights.night import Step, patiently
from pipelines.nights.remote import Remote
from pipelines.settings import Settings
from state import alerts
from state.catalogue import FITTED, MISSING

if TYPE_CHECKING:
    from ingest.running import Runner


def load(step: Step, runner: "Runner | None" = None) -> None:
    """Load complete files that were not loaded as they are now.

    To the archive, if there is one, go those that an earlier night loaded and that are the same since: whoever wrote a
    file then may have gone on.
    """
    home, rules, night = step.home, step.rules, step.night
    remote = Remote(home, rules.landing) if isinstance(rules.landing.folder, str) else None
    version = _version(home)
    before: landing.Memory = patiently(lambda: landing.Memory.read(home.warehouse, version))
    loaded, unread = dict(before.loaded), dict(before.unread)
    folder = landing.local(home, rules.landing) if remote is None else remote.copies
    if remote is None:
        arrivals = landing.arrivals(folder, rules.landing, before.seen)
        same = (arrival for arrival in arrivals if loaded.get(arrival.name) == arrival.mark)
        night.left = landing.archive(same, folder, rules.landing)
    else:
        night.left = remote.fetch(loaded)
        arrivals = remote.arrivals(before.seen)

    def landing_name(text: str) -> str:
        """Files as they are called in the landing folder, wherever on the machine that is."""
        return text.replace(f"{folder}/", "")

    night.left |= {landing_name(arrival.name): arrival.why_left for arrival in arrivals if arrival.why_left}
    wanted = _to_load(arrivals, before)
    if wanted:
        reports = patiently(lambda: steps.ingest(home, [arrival.path for arrival in wanted], runner=runner))
        night.files = [accounts.of_report(report, folder) for report in reports]
        night.codes += [int(report.exit_code) for report in reports if report.exit_code]
        bad = undecoded(night.files)
        night.notes += [file["message"] for file in night.files if file["message"] and file not in bad]
        # No later night finds data in an empty member of an archive.
        missed = [r.path for r in reports if r.status in ("failed", "busy") and (r.bytes or "!" not in r.path)]
        unknown = [report.path for report in reports if int(report.exit_code) == Exit.UNRECOGNISED]
        for arrival in wanted:
            if _is_of(arrival.name, missed):
                continue
            if _is_of(arrival.name, unknown):
                unread[arrival.name] = arrival.mark
                night.left[landing_name(arrival.name)] = (
                    "could not be decoded; tried again when the file or the layouts change"
                )
            elif remote is None:
                loaded[arrival.name] = arrival.mark
            else:
                name = arrival.path.relative_to(folder).as_posix()
                loaded[name] = remote.marks[name]
                arrival.path.unlink()
    marks = {arrival.name: arrival.mark for arrival in arrivals}
    originals = marks if remote is None else remote.marks
    memory = landing.Memory(
        marks,
        {name: mark for name, mark in loaded.items() if name in originals},
        {name: mark for name, mark in unread.items() if name in marks},
    )
    step.memories.append(lambda: patiently(lambda: memory.write(home.warehouse, version)))


def is_due(home: Home, rules: Settings) -> bool:
    """Whether a night may have something to load, build or publish: False saves it loading what builds marts."""
    from pipelines.building.marts import unpublished

    if isinstance(rules.landing.folder, str) or not home.warehouse.exists():
        return True
    try:
        before = landing.Memory.read(home.warehouse, _version(home))
        arrivals = landing.arrivals(landing.local(home, rules.landing), rules.landing, before.seen)
        return bool(_to_load(arrivals, before)) or unpublished(home)
    except Exception:
        # Whatever is wrong, the step that meets it says so.
        return True


def _version(home: Home) -> str:
    from ingest import warehouse
    from pipelines import layouts

    return warehouse.layouts_version(layouts.registry(home))


def _to_load(arrivals: Iterable[landing.Arrival], before: landing.Memory) -> list[landing.Arrival]:
    """Complete files that were not loaded as they are."""
    memories = before.loaded, before.unread
    return [one for one in arrivals if not one.why_left and one.mark not in (marks.get(one.name) for marks in memories)]


def _is_of(file: str, names: list[str]) -> bool:
    """Whether a file, or one in it where it is an archive (`archive!file`), is among those named."""
    return any(name == file or name.startswith(f"{file}!") for name in names)


def check(step: Step) -> Any:
    """Check the built marts, without records that must be held back; the result is that of `steps.judge`."""
    result = patiently(lambda: steps.judge(step.home))
    of_files = RULES_OF_FILES if undecoded(step.night.files) else ()
    step.night.quality = {
        "verdict": result.verdict,
        "counts": result.counts,
        "problems": [finding.line for finding in result.problems if finding.rule not in of_files],
        "where": {finding.line: finding.where for finding in result.problems if finding.where},
        "rules": {finding.line: finding.rule for finding in result.problems},
    }
    if result.verdict == "fail":
        step.night.codes.append(int(Exit.QUALITY))
    return result


def publish(step: Step) -> None:
    """Publish what was built and checked."""
    from pipelines.building import held_back

    night = step.night
    night.held_back = patiently(lambda: held_back.unpublished(step.home))
    night.codes += [int(Exit.HELD_BACK)] * bool(night.held_back)
    patiently(lambda: steps.publish(step.home))
    night.published = True


def fit(step: Step) -> Any:
    """Calibrate unless the last calibration was on the same data and days of it.

    What came of it, as `steps.fit` gives it; None where there was none.
    """
    home, rules, night = step.home, step.rules, step.night
    memory = home.nights / "fitted.json"
    data = {**steps.data_identity(home), "fit_days": rules.fit_days}
    fitted = None
    if FITTED.read_or(memory, {}) != data or steps.standing(home) is None:
        try:
            fitted = steps.fit(home)
        except EtalonError as error:
            if error.code is not Exit.NOT_READY:
                raise
            # Records without runs have no measured point.
            night.model = {"outcome": str(error), "champion": False}
        else:
            night.model = {
                "outcome": fitted.line,
                "champion": fitted.promoted,
                "drifted": list(fitted.drifted),
                "faults": dict(fitted.faults),
            }
        step.memories.append(lambda: FITTED.write(memory, data))
    return fitted


def look_for_missing(step: Step) -> None:
    """Compare the records of the day with what usually comes."""
    home, night = step.home, step.night
    memory = home.nights / "missing.json"
    looked_at = alerts.notes(home.root)
    missing = MISSING.read_or(memory, [], lambda saved: [coverage.Lack(**lack) for lack in saved["lacks"]])
    before = [lack for lack in missing if lack_name(lack.to_dict()) not in looked_at]
    lacks = coverage.lacks(home.snapshot, dt.date.fromisoformat(night.day), step.rules.coverage, before)
    night.lacks = [lack.to_dict() for lack in lacks]
    still = [lack for lack in night.lacks if lack["what"] != "outage"]
    step.memories.append(lambda: MISSING.write(memory, {"lacks": still}))


def raise_alerts(step: Step) -> None:
    """Look for what the rules of alerts say in what was published last, and in the champion."""
    home, night = step.home, step.night
    rules = rule_files.read(home, step.rules.calendar)
    open_alerts = {alert.name for alert in alerts.read(home.root) if alert.state != alerts.CLOSED}
    night.severities = {
        kind: next((rule.severity for rule in rules.values() if rule.kind == kind and rule.enabled), "remark")
        for kind in ("gap", "drift")
    }
    if home.snapshot.exists():
        today = dt.date.fromisoformat(night.day)
        causes = alerting.raised(home.snapshot, steps.standing(home), rules, step.rules.calendar, today)
        causes += gap_alerts.raised(home.snapshot, today, step.rules.coverage.weeks, night.lacks)
        night.alerts = [{**one, "is_new": one["name"] not in open_alerts} for one in causes]
    night.alerted = True


def answer_saved(step: Step) -> None:
    """Answer the saved questions with the champion, and keep the answers."""
    from serve.saved_answers import answer
    from state import saved

    questions = saved.read(step.home.root)
    if questions and step.home.champion.exists():
        bundle = steps.champion(step.home)
        answers = {name: answer(bundle, one) for name, one in questions.items()}
        step.night.notes += [f"saved question {name}: {one.refused}" for name, one in answers.items() if one.refused]
        step.memories.append(lambda: saved.record(step.home.root, answers))


def write_reports(step: Step) -> None:
    """Write the reports of the settings on their days; one that cannot be written is noted, and the others are."""
    from model.calendar import DAYS
    from model.names import file_name
    from pipelines import reports
    from pipelines.reports.sources import Sources
    from state.files import make_folder

    home, rules, night = step.home, step.rules.reports, step.night
    began = dt.datetime.fromisoformat(night.started)
    if DAYS[began.weekday()] not in rules.days or not home.snapshot.exists():
        return
    folder = home.reports / "scheduled" / began.date().isoformat()
    make_folder(folder)
    of = Sources.of(home, rules.shift)
    for name in rules.of:
        try:
            document = reports.report(of, name)
            for form in rules.to:
                path = folder / f"{file_name(name)}.{form}"
                path.write_bytes(reports.written(document, form))
                night.reports.append(path.relative_to(home.root).as_posix())
        except (EtalonError, ValueError) as error:
            night.notes.append(f"the report on {name} was not written: {error}")
    for old in sorted(path for path in folder.parent.iterdir() if path.is_dir())[: -rules.keep]:
        shutil.rmtree(old)


def drop(step: Step) -> None:
    """Drop what is older than it has to be kept."""
    until = dt.date.fromisoformat(step.night.day)
    step.night.retained = patiently(lambda: retention.retain(step.home, step.rules.retain, until))
