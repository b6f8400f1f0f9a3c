"""Missing records of a day: judged by the days before, or by the declared types.

Records missing from an earlier day are reported again until they arrive or until somebody acknowledges the report.
They are also reported no longer when later days show that the lack is usual, or when they are older than the weeks
that define what is usual.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from ingest.warehouse.holding import AFTER_END_MIN
from pipelines.settings import Coverage

_HEADER = re.compile(r"stg_smf(\d+)(?:_(\d+))?_header")
#: Fewer records of a type than these on a usual day may as well be none on another.
_FEW = 8
_HOUR = dt.timedelta(hours=1)
#: What was there on more than this part of the days is usual.
_MOST_OF = 0.6
_SATURDAY = 5
#: So many other days of the same lack are named.
_MOST_DAYS = 3


@dataclass(frozen=True)
class Lack:
    """Something that should have come: of which system, what, in words how it is usually, and of which days.

    What is `outage` did not come because the system was down, as its records say. Where no more than the last hour of a
    day is missing (`last_hour`), its records may be in the dump of the next day: they are written at its end.
    """

    system: str
    what: str
    text: str
    days: tuple[str, ...] = ()
    last_hour: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Outage:
    """A time in which a system was down (local time), and its IPL."""

    start: dt.datetime
    end: dt.datetime
    ipl: dt.datetime

    def covers(self, start: dt.datetime, end: dt.datetime) -> bool:
        """Whether the system was down at some time between two moments."""
        return self.start < end and self.end > start


Counts = Mapping[tuple[str, str], Mapping[dt.datetime, int]]
"""Records by system and type, by the hour they are about."""


def lacks(snapshot: Path, day: dt.date, rules: Coverage, before: Iterable[Lack] = ()) -> list[Lack]:
    """Missing records of a day (local time of the systems) in the published snapshot; one line per system and kind,
    those of which nothing came first.

    before: what was missing of earlier days: what still is comes with it, of as many weeks as say what is usual.
    """
    from ingest.warehouse import kept_open

    oldest = day - dt.timedelta(weeks=rules.weeks)
    awaited: dict[dt.date, set[tuple[str, str]]] = defaultdict(set)
    for lack in before:
        for named in map(dt.date.fromisoformat, lack.days):
            if named >= oldest:
                awaited[named] |= {(lack.system, kind) for kind in _kinds(lack)}
    awaited.pop(day, None)
    day_before = day - dt.timedelta(days=1)
    days = sorted({*awaited, day_before, day})
    with kept_open(snapshot):
        counts = written(snapshot, min(days) - dt.timedelta(weeks=rules.weeks), max(days))
        down = outages(snapshot, min(days), max(days))
        withheld = _held_back(snapshot)
        day_lacks = [
            (one, lack)
            for one in days
            for lack in _of_day(snapshot, one, day, rules, counts, down)
            if (lack.system, one) not in withheld
        ]
    by_kind: dict[tuple[str, str], list[Lack]] = defaultdict(list)
    silent_systems = {lack.system for one, lack in day_lacks if one == day and lack.what == "system"}
    for one, lack in day_lacks:
        ended = one == day_before and lack.system not in silent_systems
        due = not lack.last_hour if one == day else lack.last_hour and ended
        # Of a system of which nothing had come, whatever is missing still.
        if due or any((lack.system, kind) in awaited[one] for kind in ("system", *_kinds(lack))):
            by_kind[lack.system, lack.what].append(replace(lack, days=(str(one),)))
    return sorted(map(_of_days, by_kind.values()), key=lambda lack: (lack.what != "system", lack.system))


def _kinds(lack: Lack) -> list[str]:
    return lack.what.split(", ")


def _of_days(same: Sequence[Lack]) -> Lack:
    """The same lack of several days in one line: the last day, and which others."""
    *others, last = same
    days = [day for lack in others for day in lack.days]
    named = f"{', '.join(days[-_MOST_DAYS:])}" + f" and {len(days) - _MOST_DAYS} more" * (len(days) > _MOST_DAYS)
    return replace(last, text=f"{last.text}; also on {named}" if days else last.text, days=(*days, *last.days))


def _of_day(
    snapshot: Path,
    day: dt.date,
    until: dt.date,
    rules: Coverage,
    counts: Counts,
    down: Mapping[str, Sequence[Outage]],
) -> Iterator[Lack]:
    """Missing records of a day, by the weeks before it and the days since then, until the last recorded day."""
    since = day - dt.timedelta(weeks=rules.weeks)
    silent_systems = set()
    recorded = sorted({at.date() for hours in counts.values() for at in hours if since <= at.date() <= until})
    for system in sorted({system for system, _ in counts} | set(rules.expected)):
        types = {
            kind: {at: n for at, n in hours.items() if since <= at.date() <= until}
            for (name, kind), hours in counts.items()
            if name == system
        }
        for lack in _of_system(system, types, recorded, day, rules, down.get(system, ())):
            silent_systems |= {system} if lack.what == "system" else set()
            yield lack
    yield from (lack for lack in _classes(snapshot, day, since, until) if lack.system not in silent_systems)


def _of_system(
    system: str,
    types: Mapping[str, Mapping[dt.datetime, int]],
    recorded: Sequence[dt.date],
    day: dt.date,
    rules: Coverage,
    down: Sequence[Outage],
) -> list[Lack]:
    midnight = dt.datetime.combine(day, dt.time())
    down = [outage for outage in down if outage.covers(midnight, midnight + dt.timedelta(days=1))]
    stopped = [
        Lack(system, "outage", f"{system}: down from {outage.start:%Y-%m-%d %H:%M} until its IPL at {_at(outage)}")
        for outage in down
    ]
    others = {kind: _others(recorded, {at.date() for at in hours}, day) for kind, hours in types.items()}
    alike = {kind: _alike(days, day) for kind, days in others.items()}
    usual = {kind: _usual(hours, alike[kind]) for kind, hours in types.items()}
    # On days without earlier days like them, only whether a system has records can be checked.
    some = {kind: _usual(hours, alike[kind] or others[kind]) for kind, hours in types.items()}
    declared = rules.expected.get(system)
    expected = [kind for kind, n in usual.items() if n >= _FEW] if declared is None else declared
    counts = {kind: sum(n for at, n in types.get(kind, {}).items() if at.date() == day) for kind in {*types, *expected}}
    has_records = any(n >= _FEW for n in some.values()) if declared is None else bool(declared)
    if has_records and not any(counts.values()):
        if any(outage.start <= midnight and outage.end >= midnight + dt.timedelta(days=1) for outage in down):
            return stopped
        before = max((at.date() for hours in types.values() for at in hours if at.date() < day), default=None)
        last = f"; the last records are of {before}" if before else ""
        return [Lack(system, "system", f"{system}: nothing of {day}{last}")]
    lacks: list[Lack] = []
    for kind in expected:
        normal = usual.get(kind, 0.0)
        if not counts[kind]:
            lacks.append(
                Lack(system, kind, f"{system}: no SMF {kind} of {day}" + (f", usually {normal:,.0f}" if normal else ""))
            )
            continue
        silent = _silent(types[kind], alike[kind], day)
        lost = [hour for hour in silent if not any(outage.covers(hour, hour + _HOUR) for outage in down)]
        if lost:
            text = f"{system}: no SMF {kind} of {day} {_hours(lost)}"
            lacks.append(Lack(system, kind, text, last_hour=[hour.hour for hour in lost] == [23]))
        elif not silent and 100 * counts[kind] < rules.least_pct * normal:
            lacks.append(Lack(system, kind, f"{system}: {counts[kind]:,} SMF {kind} of {day}, usually {normal:,.0f}"))
    return stopped + _merged(lacks)


def _at(outage: Outage) -> str:
    """The time of the IPL, with its day where that is another than the one the outage began on."""
    return f"{outage.ipl:%H:%M}" if outage.ipl.date() == outage.start.date() else f"{outage.ipl:%Y-%m-%d %H:%M}"


def _hours(hours: Iterable[dt.datetime]) -> str:
    """Hours in words; adjoining hours are one span."""
    parts: list[list[int]] = []
    for hour in (at.hour for at in hours):
        if parts and parts[-1][1] == hour:
            parts[-1][1] = hour + 1
        else:
            parts.append([hour, hour + 1])
    return ", ".join(f"from {first:02d}:00 to {last:02d}:00" for first, last in parts)


def _merged(lacks: list[Lack]) -> list[Lack]:
    """Lacks that differ only in the record type in one line."""
    by_text: dict[str, list[Lack]] = defaultdict(list)
    for lack in lacks:
        by_text[lack.text.replace(f"SMF {lack.what}", "SMF {}")].append(lack)
    named = [(text, ", ".join(lack.what for lack in same), same[0]) for text, same in by_text.items()]
    return [replace(first, what=kinds, text=text.replace("{}", kinds)) for text, kinds, first in named]


def _usual(hours: Mapping[dt.datetime, int], days: Iterable[dt.date]) -> float:
    """Records of a usual day: the median of these days."""
    counts: dict[dt.date, int] = defaultdict(int)
    for at, count in hours.items():
        counts[at.date()] += count
    return median([counts[one] for one in days] or [0])


def _others(recorded: Iterable[dt.date], had: set[dt.date], day: dt.date) -> list[dt.date]:
    """The recorded days other than `day`, from the first of `had` on; days without records of the kind count, too."""
    return [one for one in recorded if one != day and one >= min(had, default=day)]


def _alike(others: Iterable[dt.date], day: dt.date) -> list[dt.date]:
    """Days that say what is usual on one: two or more of the same day of the week, else of weekends or working days."""
    same = [one for one in others if one.weekday() == day.weekday()]
    kind = [one for one in others if _is_weekend(one) == _is_weekend(day)]
    return next((days for days in (same, kind) if len(days) > 1), [])


def _is_weekend(day: dt.date) -> bool:
    return day.weekday() >= _SATURDAY


def _silent(hours: Mapping[dt.datetime, int], days: Sequence[dt.date], day: dt.date) -> list[dt.datetime]:
    """Hours of a day without records that had some on most of the days like it."""
    silent = []
    for hour in (dt.datetime.combine(day, dt.time(hour)) for hour in range(24)):
        with_records = sum(dt.datetime.combine(date, hour.time()) in hours for date in days)
        if with_records > _MOST_OF * len(days) and hour not in hours:
            silent.append(hour)
    return silent


def outages(snapshot: Path, since: dt.date, until: dt.date) -> dict[str, list[Outage]]:
    """When systems were down in a stretch of days; unknown in a snapshot of an earlier version."""
    from ingest import warehouse

    table = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts' AND table_name = 'fct_gap'"
    if not warehouse.query(snapshot, table).num_rows:
        return {}
    rows = warehouse.query(
        snapshot,
        "SELECT smf_sid, gap_start_local, gap_end_local, ipl_local FROM marts.fct_gap "
        "WHERE ipl_local IS NOT NULL AND gap_end_local >= ? AND gap_start_local < ? ORDER BY ALL",
        [since, until + dt.timedelta(days=1)],
    ).to_pylist()
    by_system: dict[str, list[Outage]] = defaultdict(list)
    for row in rows:
        by_system[row["smf_sid"]].append(Outage(row["gap_start_local"], row["gap_end_local"], row["ipl_local"]))
    return by_system


def _held_back(snapshot: Path) -> set[tuple[str, dt.date]]:
    """Systems and days whose records came and are held back; none in a snapshot of an earlier version."""
    from ingest import warehouse

    table = "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'meta' AND table_name = 'held_back'"
    if not warehouse.query(snapshot, table).num_rows:
        return set()
    rows = warehouse.query(snapshot, "SELECT DISTINCT smf_sid, day FROM meta.held_back").to_pylist()
    return {(row["smf_sid"], row["day"]) for row in rows}


def written(snapshot: Path, since: dt.date, until: dt.date) -> Counts:
    """Records about a stretch of days."""
    from ingest import warehouse

    views = warehouse.query(
        snapshot,
        "SELECT view_name FROM duckdb_views() WHERE schema_name = 'staging' AND view_name LIKE 'stg_smf%_header' "
        "AND replace(view_name, 'stg_', '') IN (SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' "
        "AND estimated_size > 0 UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'raw')",
    ).to_pylist()
    days = (since, until + dt.timedelta(days=1))
    written_between = [dt.datetime.combine(day, dt.time(minute=AFTER_END_MIN)) for day in days]
    counts: dict[tuple[str, str], dict[dt.datetime, int]] = {}
    for view in views:
        name = view["view_name"]
        named = _HEADER.fullmatch(name)
        if named is None:
            continue
        kind = ".".join(part for part in named.groups() if part)
        rows = warehouse.query(
            snapshot,
            f"SELECT smf_sid, date_trunc('hour', written_local - INTERVAL {AFTER_END_MIN} MINUTE) AS hour, "
            f"count(*) AS n FROM staging.{name} WHERE written_local >= ? AND written_local < ? GROUP BY ALL",
            written_between,
        ).to_pylist()
        for row in rows:
            counts.setdefault((row["smf_sid"], kind), {})[row["hour"]] = row["n"]
    return counts


def _classes(snapshot: Path, day: dt.date, since: dt.date, until: dt.date) -> Iterable[Lack]:
    """Service classes that ended transactions on most days like this one and none on it."""
    from ingest import warehouse

    rows = warehouse.query(
        snapshot,
        """SELECT smf_sid, class_name, list(DISTINCT interval_start_local::date) AS days FROM marts.fct_service_class
        WHERE class_kind = 'service_class' AND transactions_ended > 0
        AND interval_start_local >= ? AND interval_start_local < ? GROUP BY smf_sid, class_name ORDER BY ALL""",
        [since, until + dt.timedelta(days=1)],
    ).to_pylist()
    recorded: dict[str, set[dt.date]] = defaultdict(set)
    for row in rows:
        recorded[row["smf_sid"]].update(row["days"])
    for row in rows:
        ended = set(row["days"])
        alike = _alike(_others(recorded[row["smf_sid"]], ended, day), day)
        if alike and day not in ended and len(ended.intersection(alike)) > _MOST_OF * len(alike):
            text = f"{row['smf_sid']}: service class {row['class_name']} ended no transactions on {day}"
            yield Lack(row["smf_sid"], f"class {row['class_name']}", text)
