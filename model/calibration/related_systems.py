"""Systems of one workload: how they are described, and what one that lacks a measurement takes from the nearest other.

The demand of another system is scaled by the ratio of the two systems' totals, which both have measured. How far the
ratio of one address-space group deviates from that of the total is estimated from systems that measured both. A
response time is an M/M/c queue at the system's own usage, and a rest from its own or the other system's measurements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from model.calibration.pooling import PooledDemand
from model.published import catalogue
from model.published.catalogue import System
from model.published.plan import Point
from model.queueing.multiserver import slowdown

# The CPU activity report's own name for what the marts call CPU busy.
ALIASES = {"cpu_busy_pct": ("cpu_busy_pct", "lpar_busy_pct")}


@dataclass(frozen=True)
class SystemDescription:
    """A system as calibration sees it.

    ``conditions`` gives, by point and metric, the condition under which a value was published; a metric missing there
    was not published at that point. ``published`` says whether such a record exists at all: without it every value
    counts as measured.
    """

    system_id: str
    workload: str = ""
    machine: str = ""
    software: str = ""
    engines: int | None = None
    published: bool = False
    point_condition: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def measured(self, point: str, metric: str) -> bool:
        """Whether the metric was measured at the point, rather than assumed in rendering it."""
        if not self.published or point not in self.conditions:
            return True
        return any(name in self.conditions[point] for name in ALIASES.get(metric, (metric,)))

    def condition(self, point: str, metric: str) -> str | None:
        """The published condition of the metric at the point; None where it was not published."""
        return self.conditions.get(point, {}).get(metric)


def describe(system: System) -> SystemDescription:
    """What calibration uses of a reference system."""
    points = system.lab.points if system.lab is not None else ()
    conditions = {point.id: _published_at(system, point) for point in points if point.table}
    releases = [fact for fact in system.facts if fact.component == "software" or fact.attribute == "version"]
    return SystemDescription(
        system_id=system.id,
        workload=system.workload.id if system.workload is not None else "",
        machine=system.machine or "",
        software="; ".join(sorted(f"{fact.component} {fact.attribute} {fact.value}" for fact in releases)),
        engines=system.lab.engines or None if system.lab is not None else None,
        published=bool(conditions),
        point_condition={point.id: point.condition for point in points},
        conditions=conditions,
    )


def load_descriptions() -> dict[str, SystemDescription]:
    """Every reference system, by id."""
    return {name: describe(catalogue.system(name)) for name in catalogue.systems()}


def _published_at(system: System, point: Point) -> dict[str, str]:
    conditions = {figure.metric: figure.condition for figure in system.select(point.table, point.condition)}
    return conditions | {metric: condition for _, condition, metric in point.also}


# Before any pair is seen, worth four observed groups: ratios of groups deviate 8 % from the ratio of the total where
# the software is another; 4 % where the same programs run on another machine, whose capacity ratio differs between
# kinds of work (IBM, Large Systems Performance Reference: low, average and high relative nest intensity).
OTHER_SOFTWARE_SD, SAME_SOFTWARE_SD = 0.08, 0.04
DEVIATION_WEIGHT = 4.0
# The part of response spent outside the engines: how much it may differ on a relative whose response was not measured.
OTHER_TIME_SD = 0.15

# Repeatability of a mean response; how wrong the CPU part may be, because the engines' queue is not exactly M/M/c;
# and how far the rest may answer to load, as a share of the growth of the stretch.
SCATTER = 0.03
CPU_PART_SD = 0.3
LOAD_SD = 0.25
RESPONSE_QUANTILE = float(stats.t.ppf(0.95, 5.0))


Array = NDArray[np.float64]
Demands = Mapping[str, PooledDemand]


def nearest(system: SystemDescription, candidates: Iterable[SystemDescription]) -> SystemDescription | None:
    """The candidate that differs least: first in software, then in machine, then in engines; ties by name."""

    def distance(other: SystemDescription) -> tuple[bool, bool, int, str]:
        engines = abs((other.engines or 0) - (system.engines or 0))
        return other.software != system.software, other.machine != system.machine, engines, other.system_id

    return min(candidates, key=distance, default=None)


def shared_total(one: Demands, other: Demands) -> str | None:
    """The total both have measured: a workload's own before the LPAR's, and none that rests on an assumption."""
    measured = [name for name in one if name in other and one[name].total]
    measured = [name for name in measured if not (one[name].assumed or other[name].assumed)]
    return min(measured, key=lambda name: (name == "lpar", name), default=None)


def same_software(one: SystemDescription, other: SystemDescription) -> bool:
    """Whether two systems are known to run the same software."""
    return one.software == other.software != ""


def deviation_sd(pairs: Iterable[tuple[Demands, Demands]], prior_sd: float) -> float:
    """Standard deviation of ln(ratio of a group / ratio of the total) over pairs of systems that measured both."""
    squares, count = DEVIATION_WEIGHT * prior_sd**2, DEVIATION_WEIGHT
    for one, other in pairs:
        total = shared_total(one, other)
        parts = [name for name in one if not one[name].total and name in other]
        if total is None or len(parts) < 2:
            continue
        rate = min(one[total].support[1], other[total].support[1])
        whole = one[total].mean(rate) / other[total].mean(rate)
        deviations = [math.log(one[name].mean(rate) / other[name].mean(rate) / whole) for name in parts]
        squares += sum(deviation**2 for deviation in deviations)
        count += len(deviations) - 1
    return math.sqrt(squares / count)


def demand_of_relative(
    name: str, demands: Demands, relative: Demands, relative_id: str, deviation: float
) -> PooledDemand | None:
    """The relative's demand of group ``name`` scaled to the system; None where they share no total.

    The shares of all groups sum to the total, whose ratio is known, so a group that is most of the total can deviate
    little: its variance is ``deviation^2 (1 - w^2 / sum of w^2)`` with the shares w.
    """
    total = shared_total(demands, relative)
    if total is None:
        return None
    ours, theirs = demands[total], relative[total]
    rate = ours.support[1]
    ratio, ratio_sd = ours.mean(rate) / theirs.mean(rate), math.hypot(ours.noise_rel, theirs.noise_rel)
    shares = {key: one.mean(rate) / theirs.mean(rate) for key, one in relative.items() if not one.total}
    unaccounted = max(0.0, 1.0 - sum(shares.values()))
    squares = unaccounted**2 + sum(share**2 for share in shares.values())
    bound = 1.0 - shares.get(name, 0.0) ** 2 / squares
    return replace(
        relative[name],
        scale=relative[name].scale * ratio,
        extra_rel=math.sqrt(relative[name].extra_rel ** 2 + ratio_sd**2 + deviation**2 * max(bound, 0.0)),
        support=ours.support,
        points=0,
        origin=f"not measured; from {relative_id}, scaled by {ratio:.4f}, the ratio of both systems' {total} usage",
    )


@dataclass(frozen=True)
class MeasuredResponse:
    """A response time beside M/M/c: the ``rest_ms`` outside the engines with its standard deviation.

    ``slowdown`` is that of the measured points; ``noise_rel`` the relative scatter of a measurement; ``relative`` the
    system whose rest it is, empty for the system's own.
    """

    rest_ms: float
    rest_sd_ms: float
    slowdown: float
    noise_rel: float
    points: int
    origin: str = "measured"
    relative: str = ""


def measured_response(
    rate: Array, response_ms: Array, error_rel: Array, demand: PooledDemand, engines: int
) -> MeasuredResponse | None:
    """The response of one system; None where no point has both a response and a steady state.

    Parameters
    ----------
    rate, response_ms, error_rel
        (n,) transactions/s, mean response in ms, and its relative standard error.
    demand
        That of the LPAR.
    engines
        General-purpose CPs of the LPAR.
    """
    offered = np.array([demand.mean(value) for value in rate])
    steady = offered < engines
    if not steady.any():
        return None
    slowdowns = slowdown(offered[steady], engines)
    cpu_ms = 1e3 * offered[steady] / rate[steady] * slowdowns
    rest = np.maximum(response_ms[steady] - cpu_ms, 0.0)
    spread = float(np.std(rest, ddof=1)) if len(rest) > 1 else 0.0
    return MeasuredResponse(
        rest_ms=float(rest.mean()),
        rest_sd_ms=float(np.hypot(CPU_PART_SD * cpu_ms.mean(), spread)),
        slowdown=float(slowdowns.mean()),
        noise_rel=float(max(SCATTER, np.median(error_rel[steady]))),
        points=len(rest),
    )


def response_of_relative(response: MeasuredResponse, relative_id: str) -> MeasuredResponse:
    """The relative's response: the CPU part follows the system's own service time, the rest is kept and widened."""
    return replace(
        response,
        rest_sd_ms=math.hypot(response.rest_sd_ms, OTHER_TIME_SD * response.rest_ms),
        points=0,
        origin=f"not measured; the part outside the engines from {relative_id}, the CPU part its own",
        relative=relative_id,
    )
