"""What a night found, one line each: told in messages, counted in its verdict, shown on its page, acknowledged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.pages import anchor
from pipelines.text import counted

QUALITY_PAGE = "quality/index.html"
NOT_PUBLISHED = "not published: a critical expectation failed"
#: What the page of a night shows the first such record under.
UNDECODED = "First record that could not be decoded"


@dataclass(frozen=True)
class Finding:
    """Something found.

    name: what it is on every night. severity: `failure`, `warning`, `news`, or `remark`, which is shown and not told.
    page: about it, as a path in the state folder.
    """

    name: str
    severity: str
    text: str
    page: str


def lack_name(lack: Mapping[str, Any]) -> str:
    """What something that did not come is on every night."""
    return f"{lack['what']} of {lack['system']}"


def page_of(night: Mapping[str, Any]) -> str:
    """The page of a night, as a path in the state folder."""
    return f"nights/{night['started'].replace(':', '')}.html"


def findings(night: Mapping[str, Any]) -> list[Finding]:
    """What a night found, given as its file has it; the worst first."""
    here, quality, model = page_of(night), night["quality"] or {}, night["model"] or {}
    found = [Finding(error, "failure", error, here) for error in night["errors"]]
    if quality.get("verdict") == "fail":
        found.append(Finding("not published", "failure", NOT_PUBLISHED, QUALITY_PAGE))
    found += [
        Finding(lack_name(lack), "news" if lack["what"] == "outage" else "warning", lack["text"], here)
        for lack in night["lacks"]
    ]
    if held := sum(file["status"] in ("failed", "quarantined") or file["quarantined"] > 0 for file in night["files"]):
        told = f"{counted(held, 'file')} with records that could not be decoded"
        found.append(Finding("quarantine", "warning", told, f"{here}#{anchor(UNDECODED)}"))
    found += [Finding(text, "warning", text, here) for text in (*night.get("late", ()), *night.get("headroom", ()))]
    if model:
        found.append(Finding("model", "news" if model["champion"] else "warning", model["outcome"], here))
        found += [Finding(text, "warning", text, here) for text in model.get("drifted", ())]
    for problem in quality.get("problems", ()):
        status, _, text = problem.partition(": ")
        severity = "failure" if status == "fail" else "remark"
        found.append(Finding(problem, severity, f"not met: {text}", QUALITY_PAGE))
    order = ("failure", "warning", "remark", "news")
    return sorted(found, key=lambda finding: order.index(finding.severity))
