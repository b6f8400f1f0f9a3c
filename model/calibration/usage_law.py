"""A usage law while it is fitted: how many engines a group of address spaces keeps busy at a rate, with its moments.

The ensemble that answers is drawn from these moments (``model.calibration.samples``) and evaluates them alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from model.capacity.state import CURVATURE_RANGE

Law = Mapping[str, Any]


class Estimate(NamedTuple):
    """A value with its 90 % limits, in the unit of the value."""

    value: float
    lo: float
    hi: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.hi - self.lo) / 2


def basis(x: float) -> tuple[float, float, float]:
    """Fixed part, proportional part and bend at ``x`` = rate / reference rate; the bend is nil at x = 0 and x = 1."""
    return 1.0, x, x * (x - 1.0)


def rate_distance(support: Sequence[float], rate: float) -> float:
    """How far ``rate`` lies outside the calibrated rates, in natural logarithms of the rate; 0 inside."""
    low, high = support
    if low <= rate <= high or rate <= 0:
        return 0.0
    return math.log(rate / high) if rate > high else math.log(low / rate)


def terms_at(law: Law, rate: float) -> tuple[float, float, float]:
    """The basis at ``rate``; far beyond the calibrated rates the bend goes on as its tangent.

    A parabola fitted to a range of rates says nothing of rates many times as high, where it would bend back to zero.
    """
    x, edge = rate / law["reference_rate"], CURVATURE_RANGE * law["support"][1] / law["reference_rate"]
    if x <= edge:
        return basis(x)
    return 1.0, x, edge * (edge - 1.0) + (2.0 * edge - 1.0) * (x - edge)


def usage_mean(law: Law, rate: float) -> float:
    """Engines in use at ``rate`` (transactions/s): never below zero, and far out never less than nearer."""

    def at(rate: float) -> float:
        return law["scale"] * sum(c * b for c, b in zip(law["coef"], terms_at(law, rate), strict=True))

    edge = CURVATURE_RANGE * law["support"][1]
    return max(0.0, at(rate), at(edge) if rate > edge else 0.0)


def usage_sd(law: Law, rate: float) -> float:
    """Predictive standard deviation of the engines in use at ``rate``: parameters, scatter, relatives, distance."""
    terms = terms_at(law, rate)
    spread = sum(terms[i] * law["cov"][i][j] * terms[j] for i in range(3) for j in range(3))
    mean = usage_mean(law, rate)
    distance = law["drift_rel"] * rate_distance(law["support"], rate)
    relative = law["noise_rel"] ** 2 + law["extra_rel"] ** 2 + distance**2
    return math.sqrt(max(0.0, law["scale"] ** 2 * spread) + relative * mean**2)


def usage(law: Law, rate: float) -> Estimate:
    """Engines in use at ``rate`` (transactions/s) with 90 % limits."""
    mean = usage_mean(law, rate)
    half = law["quantile"] * law["inflation"] * usage_sd(law, rate)
    return Estimate(mean, max(0.0, mean - half), mean + half)
