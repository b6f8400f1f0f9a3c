"""Findings of a night, one line each: sent in messages, counted in its verdict, shown on its page, acknowledged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from pipelines.pages import anchor
from pipelines.text import counted

QUALITY_PAGE = "quality/index.html"
NOT_PUBLISHED = "not published: a critical expectation failed"
#: What the page of a night shows the first such record under.
UNDECODED = "First record that could not be decoded"
#: And what came of all files.
FILES = "Files"
#: Rules of data quality about files that a line on the night's files already reports.
RULES_OF_FILES = ("files_were_readable", "nothing_is_quarantined")
#: Rules of data quality that say of gaps what alerts say of each, with its cause.
RULES_OF_GAPS = ("intervals_have_no_holes", "smf_lost_no_records")
_MOST_FILES, _LONGEST = 3, 300
_FAULT = "other systems have new models. The last good model of this system, if any, stays in service: report the fault"


@dataclass(frozen=True)
class Finding:
    """A finding of a night.

    name: what it is on every night. severity: `failure`, `warning`, `news`, or `remark`, which is shown and not sent.
    page: about it, as a path in the state folder. advice: what to do, where more can be said than the text does.
    rule: the rule of alerts that it is of, `night` or `data` without one. details: what has the same cause.
    """

    name: str
    severity: str
    text: str
    page: str
    advice: str = ""
    rule: str = "data"
    details: tuple[str, ...] = ()


def lack_name(lack: Mapping[str, Any]) -> str:
    """The name of missing records, the same on every night."""
    return f"{lack['what']} of {lack['system']}"


def page_of(night: Mapping[str, Any]) -> str:
    """The page of a night, as a path in the state folder."""
    return f"nights/{night['started'].replace(':', '')}.html"


def undecoded(files: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The files of which something could not be decoded."""
    lost = ("failed", "quarantined", "undecoded")
    return [file for file in files if file["status"] in lost or file["quarantined"] > 0]


def _quarantined(files: Sequence[Mapping[str, Any]]) -> str:
    """One line: which files, and of a single one what is wrong with it."""
    names = ", ".join(Path(file["path"]).name for file in files[:_MOST_FILES])
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    failed = all(file["status"] == "failed" for file in files)
    problem = "that could not be loaded" if failed else "with records that could not be decoded"
    line = f"{counted(len(files), 'file')} {problem}: {names}{more}"
    if len(files) > 1 or not files[0].get("message"):
        return line
    message = files[0]["message"].removeprefix(files[0]["path"] + ": ")
    return f"{line}: {shorten(message, _LONGEST, placeholder=' …')}"


def findings(night: Mapping[str, Any]) -> list[Finding]:
    """Findings of a night, given as in its file; the worst first."""
    page, quality, model = page_of(night), night["quality"] or {}, night["model"] or {}
    entries = [Finding(error, "failure", error, page, rule="night") for error in night["errors"]]
    if quality.get("verdict") == "fail":
        entries.append(Finding("not published", "failure", NOT_PUBLISHED, QUALITY_PAGE))
    entries += [Finding(text, "failure", text, QUALITY_PAGE) for text in night.get("held_back", ())]
    of_files = f"{page}#{anchor(FILES)}" if night["files"] else page
    entries += [
        Finding(lack_name(lack), "warning", lack["text"], of_files, rule="gap")
        if lack["what"] != "outage"
        else Finding(lack_name(lack), "news", lack["text"], of_files)
        for lack in night["lacks"]
    ]
    if files := undecoded(night["files"]):
        names = sorted(Path(file["path"]).name for file in files)
        shown = UNDECODED if any(file["quarantined"] for file in files) else FILES
        entries.append(
            Finding(f"quarantine of {', '.join(names)}", "warning", _quarantined(files), f"{page}#{anchor(shown)}")
        )
    entries += [Finding(text, "warning", text, page) for text in night.get("late", ())]
    entries += [
        Finding(one["name"], one["severity"], one["text"], page, rule=one["rule"], details=tuple(one["details"]))
        for one in night.get("alerts", ())
    ]
    if written := night.get("reports", ()):
        entries.append(Finding("reports", "news", f"{counted(len(written), 'report')} written", written[0]))
    if model:
        entries.append(Finding("model", "news" if model["champion"] else "warning", model["outcome"], page))
        entries += [Finding(text, "warning", text, page, rule="drift") for text in model.get("drifted", ())]
        entries += [
            Finding(f"fault of {system}", "warning", f"{system}: {why}", page, _FAULT)
            for system, why in model.get("faults", {}).items()
        ]
    has_gaps = any(one.rule == "gap" for one in entries)
    for problem in quality.get("problems", ()):
        if has_gaps and quality.get("rules", {}).get(problem) in RULES_OF_GAPS:
            continue
        status, text, advice = [*problem.split(": ", 2), ""][:3]
        severity = "failure" if status == "fail" else "remark"
        where = quality.get("where", {}).get(problem)
        of = f" for {where}" if where else ""
        entries.append(Finding(problem, severity, f"expectation failed{of}: {text}", QUALITY_PAGE, advice))
    entries = [replace(one, severity=night.get("severities", {}).get(one.rule, one.severity)) for one in entries]
    order = ("failure", "warning", "remark", "news")
    return sorted(entries, key=lambda finding: order.index(finding.severity))
