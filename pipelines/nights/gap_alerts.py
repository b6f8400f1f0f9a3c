"""Alerts about times without records: one for each cause, in local time. An outage that an IPL explains is none."""

import datetime as dt
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pipelines.text import counted, figure
from serve.gaps import gaps
from serve.records import Gap
from serve.snapshot import Snapshot

#: The tables with gaps.
TABLES = ("fct_gap", "fct_system_event", "fct_interval_utilization", "fct_service_class")


def raised(snapshot: Path, today: dt.date, weeks: int, lacks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Alerts as `alerting.raised` gives them: name, rule, severity, text and details.

    Parameters
    ----------
    weeks
        all gaps that ended longer ago are one alert.
    lacks
        the night's missing records of whole days: a gap that they explain is no separate alert.
    """
    published = Snapshot(snapshot)
    if not all(published.has_table("marts", table) for table in TABLES):
        return []
    missed = {(lack["system"], day) for lack in lacks for day in lack.get("days", ())}
    unexplained = [one for one in gaps(published) if one.ipl_local is None and not missed & _days(one)]
    oldest = (today - dt.timedelta(weeks=weeks)).isoformat()
    recent = sorted((one for one in unexplained if one.to_local >= oldest), key=_cause)
    alerts = [_alert(list(group)) for _, group in groupby(recent, key=_cause)]
    return alerts + _older([one for one in unexplained if one.to_local < oldest], oldest)


def _cause(gap: Gap) -> tuple[str, str, str, str]:
    """The key that gaps of one cause share."""
    return gap.from_local, gap.to_local, gap.records, gap.cause


def _days(gap: Gap) -> set[tuple[str, str]]:
    """The system and every local day of a gap."""
    first, last = (dt.date.fromisoformat(one[:10]) for one in (gap.from_local, gap.to_local))
    return {(gap.system, (first + dt.timedelta(days=i)).isoformat()) for i in range((last - first).days + 1)}


def _alert(group: Sequence[Gap]) -> dict[str, Any]:
    first = group[0]
    systems = ", ".join(sorted({gap.system for gap in group}))
    missing = {"all": "no records", "some": "records lost"}.get(first.records, f"no {first.records}")
    span = f"{_minute(first.from_local)} to {_minute(first.to_local)}"
    text = f"{systems}: {missing} from {span} local time ({figure(first.hours, 3)} h): {first.cause}"
    return _described(f"gap of {systems} from {_minute(first.from_local)}", text)


def _older(old_gaps: Sequence[Gap], oldest: str) -> list[dict[str, Any]]:
    if not old_gaps:
        return []
    longest = max(old_gaps, key=lambda gap: gap.hours)
    text = (
        f"{counted(len(old_gaps), 'gap')} before {oldest}; the longest: {longest.system}, {figure(longest.hours, 3)} h"
    )
    return [_described("older gaps", f"{text} from {_minute(longest.from_local)}. The data view lists them.")]


def _described(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "rule": "gap", "severity": "remark", "text": text, "details": []}


def _minute(local: str) -> str:
    return local[:16].replace("T", " ")
