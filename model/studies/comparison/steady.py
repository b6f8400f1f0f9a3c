"""Steady state as a laboratory takes it: the ramp-up cut off, the longest time at an even load kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from model.studies.comparison.errors import ComparisonError
from model.studies.comparison.runs import Interval

#: Busy may differ by so many percent points from the middle of the stretch (the IMS laboratory holds 80 % ± 1 %).
BAND_POINTS = 1.0
#: Fewer intervals say nothing of the variation between them.
FEWEST = 3
_HOLE = timedelta(seconds=2)


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
