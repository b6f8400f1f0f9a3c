"""Findings of nights that somebody has looked at: each with a note, which shows with it until it is found no more."""

import json
from collections.abc import Mapping
from typing import Any

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights.files import read, write

_FILE = "acknowledged.json"


def notes(home: Home) -> dict[str, str]:
    """Notes by finding."""
    return read(home.nights / _FILE)


def name_of(lack: Mapping[str, Any]) -> str:
    """What something that did not come is on every night."""
    return f"{lack['what']} of {lack['system']}"


def shown(home: Home, night: Mapping[str, Any]) -> dict[str, str]:
    """Notes by what a night found."""
    here = findings(night)
    return {name: note for name, note in notes(home).items() if name in here}


def expire(home: Home, night: Mapping[str, Any]) -> None:
    """Drop the notes of what a night that looked at everything found no more: should it come again, it is told."""
    kept = shown(home, night)
    if kept != notes(home):
        write(home.nights / _FILE, json.dumps(kept, indent=1))


def findings(night: Mapping[str, Any]) -> dict[str, str]:
    """What a night found, as it is told, by what it is on every night."""
    lacks = {name_of(lack): lack["text"] for lack in night.get("lacks", [])}
    return lacks | {problem: problem for problem in (night.get("quality") or {}).get("problems", [])}


def acknowledge(home: Home, words: str, note: str) -> list[str]:
    """Keep a note with those findings of the latest night that contain these words; without a note, drop theirs.

    Returns the findings. EtalonError (NO_INPUT) where none contains the words.
    """
    latest = max(home.nights.glob("20*.json"), default=None)
    found = findings(read(latest)) if latest else {}
    meant = {name: told for name, told in found.items() if words.lower() in f"{name} {told}".lower()}
    if not meant:
        there = "; ".join(found.values()) or "none"
        raise EtalonError(f"no finding of the latest night contains {words!r}; there are: {there}", Exit.NO_INPUT)
    kept = {name: text for name, text in notes(home).items() if name not in meant}
    write(home.nights / _FILE, json.dumps({**kept, **(dict.fromkeys(meant, note) if note else {})}, indent=1))
    return list(meant.values())
