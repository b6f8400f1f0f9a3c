"""Findings of nights that somebody has looked at: each with a note, which shows with it until it is found no more."""

from collections.abc import Mapping
from typing import Any

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights.findings import findings
from state.catalogue import ACKNOWLEDGED, NIGHT

_FILE = "acknowledged.json"


def notes(home: Home) -> dict[str, str]:
    """Notes by finding."""
    return dict(ACKNOWLEDGED.read_or(home.nights / _FILE, {}))


def shown(home: Home, night: Mapping[str, Any]) -> dict[str, str]:
    """Notes by what a night found."""
    here = {finding.name for finding in findings(night)}
    return {name: note for name, note in notes(home).items() if name in here}


def expire(home: Home, night: Mapping[str, Any]) -> None:
    """Drop the notes of what a night that looked at everything found no more: should it come again, it is sent."""
    kept = shown(home, night)
    if kept != notes(home):
        ACKNOWLEDGED.write(home.nights / _FILE, kept)


def acknowledge(home: Home, words: str, note: str) -> list[str]:
    """Keep a note with those findings of the latest night that contain these words; without a note, drop theirs.

    Returns the findings. EtalonError (NO_INPUT) where none contains the words.
    """
    latest = max(home.nights.glob("20*.json"), default=None)
    night = NIGHT.read(latest) if latest else {}
    found = [finding for finding in findings(night) if finding.severity != "failure"] if night else []
    meant = {one.name: one.text for one in found if words.lower() in f"{one.name} {one.text}".lower()}
    if not meant:
        there = "; ".join(finding.text for finding in found) or "none"
        raise EtalonError(f"no finding of the latest night contains {words!r}; there are: {there}", Exit.NO_INPUT)
    kept = {name: text for name, text in notes(home).items() if name not in meant}
    ACKNOWLEDGED.write(home.nights / _FILE, {**kept, **(dict.fromkeys(meant, note) if note else {})})
    return list(meant.values())
