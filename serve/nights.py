"""The last night as its own file tells it, for the overview."""

from __future__ import annotations

from pathlib import Path

from serve.log import Log
from serve.records import LastNight
from state.catalogue import NIGHT
from state.files import StateDamaged

log = Log()


def last(folder: Path) -> LastNight | None:
    """The night that began last; None before the first, or where its file is damaged."""
    paths = sorted(folder.glob("20*.json"))
    if not paths:
        return None
    try:
        night = NIGHT.read(paths[-1])
    except (OSError, StateDamaged) as problem:
        log.error("night_unreadable", problem=str(problem))
        return None
    if night is None:
        return None
    return LastNight(
        day=night["day"],
        started=night["started"],
        ended=night["ended"] or None,
        verdict=str(night.get("verdict") or ("failed" if night["errors"] else "")),
        files=len(night["files"]),
        records=sum(int(file.get("records") or 0) for file in night["files"]),
        errors=night["errors"],
        page=f"/nights/{paths[-1].stem}.html",
    )
