"""Intervals of a system and the metrics of a set of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


class ComparisonError(ValueError):
    """Runs that do not exist or cannot be compared; the message lists the existing ones."""


@dataclass(frozen=True)
class Metric:
    """One metric of one workload; `workload` and `subject` are None for the whole system."""

    workload: str | None
    name: str
    subject: str | None = None


@dataclass(frozen=True)
class Measure:
    """How a metric is made of its parts: a factor to its unit; `ratio` (of sums), `sum`, `min`, `max` or `point`."""

    scale: float
    aggregation: str = "ratio"


@dataclass(frozen=True)
class Part:
    """What one interval adds to a metric."""

    numerator: float
    denominator: float


@dataclass(frozen=True)
class Interval:
    """An interval of a system with what it adds to every metric.

    `start` is UTC, or local time where only that is known (`is_local`); `busy_pct` is the mean busy of its CPs.
    """

    system: str
    point: str
    condition: str
    is_run: bool
    position: int
    start: datetime
    seconds: float
    parts: Mapping[Metric, Part]
    busy_pct: float | None
    is_local: bool = False


@dataclass(frozen=True)
class Figure:
    """A metric of a run, its standard error from the variation between intervals, and how many intervals there were."""

    value: float
    se: float | None
    intervals: int


@dataclass(frozen=True)
class Run:
    """A system and the intervals chosen of it, and in words how they were chosen."""

    name: str
    system: str
    intervals: Sequence[Interval]
    chosen: str
    figures: Mapping[Metric, Figure] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Time measured."""
        return sum(interval.seconds for interval in self.intervals)

    @property
    def start(self) -> datetime:
        """Start of the first interval."""
        return min(interval.start for interval in self.intervals)

    @property
    def clock(self) -> str:
        """Whose times the intervals have: `UTC`, or `local` where they come of reports without offset."""
        return clock(self.intervals)


def clock(intervals: Sequence[Interval]) -> str:
    """Whose times these intervals have."""
    clocks = {"local" if interval.is_local else "UTC" for interval in intervals}
    return " and ".join(sorted(clocks))


def ratio_of_sums(parts: Sequence[Part], scale: float) -> Figure | None:
    """`scale` x Σ numerator / Σ denominator, its standard error by linearisation (Cochran, Sampling Techniques, 6.4).

    None where the denominators add up to nothing.
    """
    denominators = math.fsum(part.denominator for part in parts)
    if denominators == 0:
        return None
    ratio = math.fsum(part.numerator for part in parts) / denominators
    count = len(parts)
    if count == 1:
        return Figure(scale * ratio, None, 1)
    residual = math.fsum((part.numerator - ratio * part.denominator) ** 2 for part in parts)
    return Figure(scale * ratio, scale * math.sqrt(residual * count / (count - 1)) / abs(denominators), count)


def aggregate(parts: Sequence[Part], how: Measure) -> Figure | None:
    """A metric over several intervals, as the marts aggregate it; None where nothing is divided by anything."""
    if how.aggregation == "ratio":
        return ratio_of_sums(parts, how.scale)
    values = [part.numerator / part.denominator for part in parts if part.denominator]
    if not values:
        return None
    chosen = {"sum": math.fsum(values), "min": min(values), "max": max(values)}.get(how.aggregation, values[0])
    return Figure(how.scale * chosen, None, len(parts))


def run(name: str, intervals: Sequence[Interval], measures: Mapping[Metric, Measure], chosen: str) -> Run:
    """A run of these intervals, with every metric that any of them adds to."""
    gathered: dict[Metric, list[Part]] = {}
    for interval in intervals:
        for metric, part in interval.parts.items():
            gathered.setdefault(metric, []).append(part)
    figures = {metric: aggregate(parts, measures[metric]) for metric, parts in gathered.items()}
    measured = {metric: figure for metric, figure in figures.items() if figure is not None}
    return Run(name, intervals[0].system, tuple(intervals), chosen, measured)


def from_rows(rows: Iterable[Mapping[str, object]]) -> tuple[list[Interval], dict[Metric, Measure]]:
    """Intervals in the order of their time, and how each metric is made, from rows of `fct_interval_metric`."""
    parts: dict[tuple[object, ...], dict[Metric, Part]] = {}
    heads: dict[tuple[object, ...], Mapping[str, object]] = {}
    measures: dict[Metric, Measure] = {}
    for row in rows:
        key = (row["system_id"], row["point"], row["condition"], row["position"])
        heads.setdefault(key, row)
        metric = Metric(_text(row["workload"]), str(row["metric"]), _text(row.get("subject")))
        parts.setdefault(key, {})[metric] = Part(float(row["numerator"]), float(row["denominator"]))  # type: ignore[arg-type]
        measures[metric] = Measure(float(row["scale"]), str(row.get("aggregation") or "ratio"))  # type: ignore[arg-type]
    busy = Metric(None, "cpu_busy_pct")
    intervals = []
    for place, row in heads.items():
        part = parts[place].get(busy)
        busy_pct = measures[busy].scale * part.numerator / part.denominator if part and part.denominator else None
        is_local = row["interval_start_utc"] is None
        start = row["interval_start_local" if is_local else "interval_start_utc"]
        assert isinstance(start, datetime)
        system, point, condition = str(row["system_id"]), str(row["point"]), str(row["condition"])
        seconds = float(row["seconds"] or 0.0)  # type: ignore[arg-type]
        position = int(row["position"])  # type: ignore[call-overload]
        intervals.append(
            Interval(
                system,
                point,
                condition,
                bool(row["is_run"]),
                position,
                start,
                seconds,
                parts[place],
                busy_pct,
                is_local,
            )
        )
    return sorted(intervals, key=lambda each: (each.start, each.point)), measures


def _text(value: object) -> str | None:
    return str(value) if value else None
