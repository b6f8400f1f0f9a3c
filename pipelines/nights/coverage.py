"""What should have come of a day and did not: judged by the days before, or by what is declared."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pipelines.settings import Coverage

_HEADER = re.compile(r"stg_smf(\d+)(?:_(\d+))?_header")
#: An interval's records are written after its end: those of the last before midnight, on the day after.
_AFTER_END_MIN = 5
#: Fewer records of a type than these on a usual day may as well be none on another.
_FEW = 8


@dataclass(frozen=True)
class Lack:
    """Something that should have come: of which system, what, and in words how it is usually.

    What is `outage` did not come because the system was down, as its records say.
    """

    system: str
    what: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


#: From which hour of a day to which.
Hours = tuple[int, int]
Counts = Mapping[tuple[str, str], Mapping[dt.datetime, int]]
"""Records by system and type, by the hour they are about."""


def lacks(snapshot: Path, day: dt.date, rules: Coverage) -> list[Lack]:
    """What is missing of a day (local time of the systems) in the published snapshot; one line per system and kind."""
    since = day - dt.timedelta(weeks=rules.weeks)
    counts = written(snapshot, since, day)
    starts = ipls(snapshot, day)
    known = {system for system, _ in counts} | set(rules.expected)
    found: list[Lack] = []
    for system in sorted(known):
        types = {kind: hours for (name, kind), hours in counts.items() if name == system}
        found += _of_system(system, types, day, rules, starts.get(system, ()))
    gone = {lack.system for lack in found if lack.what == "system"}
    found += [lack for lack in _classes(snapshot, day, since) if lack.system not in gone]
    return found


def _of_system(
    system: str,
    types: Mapping[str, Mapping[dt.datetime, int]],
    day: dt.date,
    rules: Coverage,
    starts: Iterable[dt.datetime],
) -> list[Lack]:
    usual = {kind: n for kind, hours in types.items() if (n := _usual(hours, day)) >= _FEW}
    expected = rules.expected.get(system, list(usual))
    came = {kind: sum(n for at, n in types.get(kind, {}).items() if at.date() == day) for kind in expected}
    if expected and not any(came.values()):
        before = max((at.date() for hours in types.values() for at in hours if at.date() < day), default=None)
        last = f"; the last records are of {before}" if before else ""
        return [Lack(system, "system", f"{system}: nothing of {day}{last}")]
    found: list[Lack] = []
    down: dict[Hours, dt.datetime] = {}
    for kind in expected:
        normal = usual.get(kind, 0.0)
        if not came[kind]:
            found.append(
                Lack(system, kind, f"{system}: no SMF {kind} of {day}" + (f", usually {normal:,.0f}" if normal else ""))
            )
            continue
        silent = _silent(types[kind], day)
        down |= {hours: start for hours in silent for start in starts if _ended(hours, day, start)}
        lost = ", ".join(f"from {first:02d}:00 to {last:02d}:00" for first, last in silent if (first, last) not in down)
        if lost:
            found.append(Lack(system, kind, f"{system}: no SMF {kind} of {day} {lost}"))
        elif not silent and 100 * came[kind] < rules.least_pct * normal:
            found.append(Lack(system, kind, f"{system}: {came[kind]:,} SMF {kind} of {day}, usually {normal:,.0f}"))
    outages = [
        Lack(system, "outage", f"{system}: down on {day} from about {first:02d}:00 until its IPL at {start:%H:%M}")
        for (first, _), start in sorted(down.items())
    ]
    return outages + _together(found, system)


def _ended(hours: Hours, day: dt.date, start: dt.datetime) -> bool:
    """Whether an IPL ended hours without records; those of the first interval after it are written within an hour."""
    first, last = (dt.datetime.combine(day, dt.time()) + dt.timedelta(hours=hour) for hour in hours)
    return first <= start < last + dt.timedelta(hours=1)


def _together(found: list[Lack], system: str) -> list[Lack]:
    """Lacks that differ only in the record type in one line."""
    by_text: dict[str, list[str]] = defaultdict(list)
    for lack in found:
        by_text[lack.text.replace(f"SMF {lack.what}", "SMF {}")].append(lack.what)
    return [Lack(system, ", ".join(kinds), text.replace("{}", ", ".join(kinds))) for text, kinds in by_text.items()]


def _usual(hours: Mapping[dt.datetime, int], day: dt.date) -> float:
    """Records of a usual day: the median of the same day of the week, or of all days where there are not two."""
    days: dict[dt.date, int] = defaultdict(int)
    for at, count in hours.items():
        if at.date() < day:
            days[at.date()] += count
    same = [count for date, count in days.items() if date.weekday() == day.weekday()]
    return median(same if len(same) > 1 else list(days.values())) if days else 0.0


def _silent(hours: Mapping[dt.datetime, int], day: dt.date) -> list[Hours]:
    """Hours without records that had some on most days before, those that adjoin together."""
    days = {at.date() for at in hours if at.date() < day}
    silent = []
    for hour in range(24):
        with_records = sum(dt.datetime.combine(date, dt.time(hour)) in hours for date in days)
        here = dt.datetime.combine(day, dt.time(hour)) in hours
        if len(days) > 1 and with_records > 0.6 * len(days) and not here:
            silent.append(hour)
    parts: list[Hours] = []
    for hour in silent:
        if parts and parts[-1][1] == hour:
            parts[-1] = (parts[-1][0], hour + 1)
        else:
            parts.append((hour, hour + 1))
    return parts


def ipls(snapshot: Path, day: dt.date) -> dict[str, list[dt.datetime]]:
    """When systems were started on a day or the one after, in their local time, as SMF 0 and SMF 70 say."""
    from ingest import warehouse

    told = {
        "stg_smf0_header": "written_local",
        "stg_smf70_1_control": "ipl_utc + (interval_start_local - interval_start_utc)",
    }
    views = warehouse.query(snapshot, "SELECT view_name FROM duckdb_views()")["view_name"].to_pylist()
    parts = [
        f"SELECT smf_sid, date_trunc('minute', {start}) AS start_local FROM staging.{view}"
        for view, start in told.items()
        if view in views
    ]
    rows = warehouse.query(
        snapshot,
        "SELECT smf_sid, list_sort(list(DISTINCT start_local)) AS starts FROM "
        f"({' UNION ALL '.join(parts) or 'SELECT NULL AS smf_sid, NULL::TIMESTAMP AS start_local'}) "
        "WHERE start_local >= ? AND start_local < ? GROUP BY smf_sid",
        [day, day + dt.timedelta(days=2)],
    ).to_pylist()
    return {row["smf_sid"]: row["starts"] for row in rows}


def written(snapshot: Path, since: dt.date, until: dt.date) -> Counts:
    """Records about a stretch of days."""
    from ingest import warehouse

    views = warehouse.query(
        snapshot,
        "SELECT view_name, estimated_size FROM duckdb_views() JOIN duckdb_tables() "
        "ON table_name = replace(view_name, 'stg_', '') WHERE duckdb_views.schema_name = 'staging' "
        "AND view_name LIKE 'stg_smf%_header' AND estimated_size > 0",
    ).to_pylist()
    days = (since, until + dt.timedelta(days=1))
    written_between = [dt.datetime.combine(day, dt.time(minute=_AFTER_END_MIN)) for day in days]
    counts: dict[tuple[str, str], dict[dt.datetime, int]] = {}
    for view in views:
        name = view["view_name"]
        named = _HEADER.fullmatch(name)
        if named is None:
            continue
        kind = ".".join(part for part in named.groups() if part)
        rows = warehouse.query(
            snapshot,
            f"SELECT smf_sid, date_trunc('hour', written_local - INTERVAL {_AFTER_END_MIN} MINUTE) AS hour, "
            f"count(*) AS n FROM staging.{name} WHERE written_local >= ? AND written_local < ? GROUP BY ALL",
            written_between,
        ).to_pylist()
        for row in rows:
            counts.setdefault((row["smf_sid"], kind), {})[row["hour"]] = row["n"]
    return counts


def _classes(snapshot: Path, day: dt.date, since: dt.date) -> Iterable[Lack]:
    """Service classes that ended transactions on most days before and none on this one."""
    from ingest import warehouse

    rows = warehouse.query(
        snapshot,
        """SELECT smf_sid, class_name, count(DISTINCT day) FILTER (WHERE day < $day) AS days,
          count(*) FILTER (WHERE day = $day) AS here, any_value(days_recorded) AS recorded
        FROM (SELECT smf_sid, class_name, interval_start_local::date AS day,
            count(DISTINCT interval_start_local::date) OVER (PARTITION BY smf_sid) - 1 AS days_recorded
          FROM marts.fct_service_class WHERE class_kind = 'service_class' AND transactions_ended > 0
          AND interval_start_local >= $since AND interval_start_local < $day + INTERVAL 1 DAY)
        GROUP BY smf_sid, class_name HAVING here = 0 AND days > 1 AND days > 0.6 * recorded ORDER BY ALL""".replace(
            "$day", f"DATE '{day}'"
        ).replace("$since", f"DATE '{since}'"),
    ).to_pylist()
    for row in rows:
        text = f"{row['smf_sid']}: service class {row['class_name']} ended no transactions on {day}"
        yield Lack(row["smf_sid"], f"class {row['class_name']}", text)
