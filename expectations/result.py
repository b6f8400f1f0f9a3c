"""What a quality run found, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MOST_EXAMPLES = 20
"""Unexpected rows that a finding keeps."""
MOST_SYSTEMS = 5
"""Of those named beside a finding in one line."""


class QualityError(Exception):
    """The warehouse cannot be examined; the message says what is missing and what to do."""

    exit_code = 5


class QualityLocked(QualityError):
    """Another process has the warehouse open for writing."""

    exit_code = 7


@dataclass(frozen=True)
class Finding:
    """One expectation and whether the data meet it.

    `severity` is `critical` (stops the build when not met) or `warning`; `subject` is the frame it was checked on;
    `checked` and `unexpected` count rows; `examples` are the first unexpected rows by label, with the value seen;
    `places` are systems and intervals, as labelled, of all unexpected
    rows of a critical finding; none where a row has no such labels.
    """

    rule: str
    title: str
    subject: str
    severity: str
    success: bool
    checked: int
    unexpected: int
    advice: str
    examples: tuple[dict[str, Any], ...] = ()
    about: str = ""
    places: frozenset[tuple[str, str]] = frozenset()

    @property
    def page(self) -> str:
        """The address of its details, relative to the site."""
        return f"suites.html#{self.rule}"

    @property
    def expected(self) -> str:
        """The title as it stands in the middle of a sentence; what begins with an abbreviation stays as it is."""
        return self.title if self.title[1:2].isupper() else self.title[:1].lower() + self.title[1:]

    @property
    def status(self) -> str:
        """`pass`, `warn` or `fail`."""
        if self.success:
            return "pass"
        return "fail" if self.severity == "critical" else "warn"

    @property
    def line(self) -> str:
        """Status, what was expected and what to do: the same as long as it is not met."""
        return f"{self.status}: {self.title}: {self.advice}"

    @property
    def first(self) -> str:
        """Where the first example is: its labels but for messages, of files their names; empty where there is none."""
        if not self.examples:
            return ""
        _, *labels = self.examples[0].items()
        files = ("file", "counted_in")
        places = [(name, str(value)) for name, value in labels if value and name != "message"]
        return ", ".join(Path(place).name if name in files else place for name, place in places)

    @property
    def where(self) -> str:
        """The systems among the examples, and the first example."""
        systems = sorted({str(example["system"]) for example in self.examples if example.get("system")})
        more = f" and {len(systems) - MOST_SYSTEMS} more" if len(systems) > MOST_SYSTEMS else ""
        of = ", ".join(systems[:MOST_SYSTEMS]) + more
        return of if self.first in ("", of) else ", such as ".join(filter(None, (of, self.first)))


@dataclass(frozen=True)
class QualityResult:
    """Everything one run found. `verdict` is `fail` with a critical finding, `warn` with any other, else `pass`.

    `extent` says in words what was checked.
    """

    findings: tuple[Finding, ...]
    report: Path
    extent: str
    counts: dict[str, int] = field(init=False)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        counts = {status: sum(f.status == status for f in self.findings) for status in ("pass", "warn", "fail")}
        object.__setattr__(self, "counts", counts)
        verdict = "fail" if counts["fail"] else "warn" if counts["warn"] else "pass"
        object.__setattr__(self, "verdict", verdict)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that are not met, critical ones first."""
        failures = [finding for finding in self.findings if not finding.success]
        return tuple(sorted(failures, key=lambda finding: finding.severity != "critical"))

    def as_dict(self) -> dict[str, Any]:
        """The result in JSON's terms."""
        findings = [
            {name: value for name, value in asdict(finding).items() if name != "places"}
            | {"page": finding.page, "status": finding.status, "where": finding.where}
            for finding in self.findings
        ]
        about = {"verdict": self.verdict, "checked": self.extent, "counts": self.counts, "report": self.report.name}
        return {**about, "findings": findings}
