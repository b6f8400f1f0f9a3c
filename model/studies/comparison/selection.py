"""The intervals of a run: `SYSTEM@POINT`, `SYSTEM@START/END`, `SYSTEM@steady`, `SYSTEM@*`.

Steady state is that of laboratories: the ramp-up is cut off, and the longest time at an even load is kept.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from model.studies.comparison.runs import ComparisonError, Interval, Measure, Metric, Run, clock, run

_MOST_NAMED = 30
#: Busy may differ by so many percent points from the middle of the stretch (the IMS laboratory holds 80 % ± 1 %).
BAND_POINTS = 1.0
#: Fewer intervals say nothing of the variation between them.
FEWEST = 3
_HOLE = timedelta(seconds=2)


@dataclass(frozen=True)
class Query:
    """A run as it was asked for: the system, and what stands behind the @ (None for nothing)."""

    text: str
    system: str
    what: str | None


def parse(text: str) -> Query:
    """`SYSTEM[@WHAT]` taken apart. Raises ComparisonError for an empty part."""
    system, at, what = text.partition("@")
    if not system.strip() or (at and not what.strip()):
        forms = "SYSTEM, SYSTEM@POINT, SYSTEM@START/END, SYSTEM@steady or SYSTEM@*"
        raise ComparisonError(f"{text!r} names no run: {forms}")
    return Query(text.strip(), system.strip(), what.strip() if at else None)


def unknown_system(system: str, systems: Sequence[str]) -> ComparisonError:
    """The refusal for a system that nothing is published of."""
    near = difflib.get_close_matches(system, systems, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    return ComparisonError(f"nothing is published of system {system!r}{hint} There is: {_some(sorted(systems))}")


def choose(
    query: Query, intervals: Sequence[Interval], measures: Mapping[Metric, Measure], *, band_points: float = BAND_POINTS
) -> list[Run]:
    """The runs meant, of the intervals of that system in the order of time: one, or every measured point for `@*`.

    Raises ComparisonError, naming what there is, when nothing fits.
    """
    what = query.what
    points = _points(intervals)
    if what is None or what == "*":
        if not points:
            raise ComparisonError(
                f"{query.system} has no named points: choose a time window ({query.system}@START/END) "
                f"or {query.system}@steady"
            )
        if what is None and len(points) > 1:
            raise ComparisonError(
                f"{query.system} has {len(points)} points: {_some(_labels(points))}; "
                f"choose one ({query.system}@{_labels(points)[0]}) or take all ({query.system}@*)"
            )
        return [
            run(_name(query.system, key, points), chosen, measures, f"point {_label(key, points)}")
            for key, chosen in points.items()
        ]
    if what == "steady" or what.startswith("steady:"):
        stretch = steady_stretch(intervals, band_points=band_points, near_pct=_near(query, what))
        return [run(query.text, stretch.intervals, measures, stretch.words)]
    fitting = [key for key in points if what in (key[0], key[1], f"{key[0]} ({key[1]})")]
    if len(fitting) == 1:
        [key] = fitting
        return [run(_name(query.system, key, points), points[key], measures, f"point {_label(key, points)}")]
    if fitting:
        raise ComparisonError(f"{query.text} fits several points: {_some([f'{p} ({c})' for p, c in fitting])}")
    if "/" in what:
        window = _window(query, what, intervals)
        if window is not None:
            return [_in_window(query, intervals, measures, window)]
    if not points:
        raise ComparisonError(
            f"{query.system} has no named points, and {what!r} is no time window: write one as "
            f"{query.system}@2026-11-21T10:00/2026-11-21T12:00"
        )
    raise ComparisonError(f"{query.system} has no point {what!r}; there is: {_some(_labels(points))}")


def _points(intervals: Sequence[Interval]) -> dict[tuple[str, str], list[Interval]]:
    """Intervals of measured runs by point and condition, in the order of the first."""
    by_point: dict[tuple[str, str], list[Interval]] = {}
    for interval in intervals:
        if interval.is_run:
            by_point.setdefault((interval.point, interval.condition), []).append(interval)
    return by_point


def _label(key: tuple[str, str], points: Mapping[tuple[str, str], object]) -> str:
    alone = sum(point == key[0] for point, _ in points) == 1
    return key[0] if alone else f"{key[0]} ({key[1]})"


def _labels(points: Mapping[tuple[str, str], object]) -> list[str]:
    return [_label(key, points) for key in points]


def _name(system: str, key: tuple[str, str], points: Mapping[tuple[str, str], object]) -> str:
    return f"{system}@{_label(key, points)}"


def _near(query: Query, what: str) -> float | None:
    _, colon, level = what.partition(":")
    if not colon:
        return None
    try:
        return float(level.rstrip(" %"))
    except ValueError:
        raise ComparisonError(f"{query.text}: {level!r} is no busy percentage") from None


def _window(query: Query, what: str, intervals: Sequence[Interval]) -> tuple[datetime, datetime] | None:
    pieces = what.split("/")
    if len(pieces) != 2:
        return None
    moments = []
    for piece in pieces:
        try:
            moment = datetime.fromisoformat(piece.strip())
        except ValueError:
            return None
        if moment.tzinfo and any(interval.is_local for interval in intervals):
            raise ComparisonError(
                f"{query.text}: reports tell the local time of {query.system} without its offset from UTC; "
                "name the window in local time, without offset"
            )
        moments.append(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)
    if moments[0] >= moments[1]:
        raise ComparisonError(f"{query.text}: the window ends before it starts")
    return moments[0], moments[1]


def _in_window(
    query: Query, intervals: Sequence[Interval], measures: Mapping[Metric, Measure], window: tuple[datetime, datetime]
) -> Run:
    start, end = window
    chosen = [each for each in intervals if start <= each.start + timedelta(seconds=each.seconds / 2) < end]
    if not chosen:
        first, last = intervals[0].start, intervals[-1].start + timedelta(seconds=intervals[-1].seconds)
        times = clock(intervals)
        raise ComparisonError(
            f"{query.text}: no interval has its midpoint in that window; the intervals of {query.system} reach from "
            f"{first:%Y-%m-%dT%H:%M:%S} to {last:%Y-%m-%dT%H:%M:%S} {times}"
        )
    words = f"window {start:%Y-%m-%dT%H:%M:%S} to {end:%Y-%m-%dT%H:%M:%S} {clock(chosen)}, intervals by their midpoint"
    return run(query.text, chosen, measures, words)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


@dataclass(frozen=True)
class Stretch:
    """Consecutive intervals whose busy stays within a band."""

    intervals: Sequence[Interval]
    middle_pct: float
    band_points: float
    cut_before: int
    cut_after: int

    @property
    def words(self) -> str:
        """How it was found."""
        return (
            f"steady state: {len(self.intervals)} consecutive intervals with every CPU busy within "
            f"{self.middle_pct:.2f} % ± {self.band_points:g} points; {self.cut_before} intervals cut off before "
            f"and {self.cut_after} after"
        )


def steady_stretch(
    intervals: Sequence[Interval], *, band_points: float = BAND_POINTS, near_pct: float | None = None
) -> Stretch:
    """The longest unbroken stretch of intervals, in the order of time, whose busy stays within ± `band_points`.

    With `near_pct` the band lies around that busy; without it, around the middle of the stretch. The later of two
    stretches of equal length is taken, as load rises to its level. Raises ComparisonError when none has
    three intervals.
    """
    best: tuple[int, int] | None = None
    first = 0
    for last in range(len(intervals)):
        if last and not _adjoin(intervals[last - 1], intervals[last]):
            first = last
        while first <= last and not _within(intervals[first : last + 1], band_points, near_pct):
            first += 1
        if last - first + 1 >= FEWEST and (best is None or last - first >= best[1] - best[0]):
            best = (first, last)
    if best is None:
        around = f" around {near_pct:g} %" if near_pct is not None else ""
        raise ComparisonError(
            f"no steady state: fewer than {FEWEST} consecutive intervals keep their CPU busy within "
            f"± {band_points:g} points{around} ({len(intervals)} intervals known)"
        )
    chosen = intervals[best[0] : best[1] + 1]
    busy = [interval.busy_pct for interval in chosen if interval.busy_pct is not None]
    middle = near_pct if near_pct is not None else (min(busy) + max(busy)) / 2
    return Stretch(chosen, middle, band_points, best[0], len(intervals) - best[1] - 1)


def _adjoin(before: Interval, after: Interval) -> bool:
    return abs(after.start - before.start - timedelta(seconds=before.seconds)) <= _HOLE


def _within(stretch: Sequence[Interval], band_points: float, near_pct: float | None) -> bool:
    busy = [interval.busy_pct for interval in stretch]
    values = [value for value in busy if value is not None]
    if len(values) < len(busy):
        return False
    if near_pct is not None:
        return all(abs(value - near_pct) <= band_points for value in values)
    return max(values) - min(values) <= 2 * band_points
