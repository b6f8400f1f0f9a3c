"""Limits: passive resources whose waits the records show, by name or by state samples.

A limit has several servers or several single servers side by side, a holding time that stretches with waits for CPs
where it is held on engines, and a variability. Few of these are determined by records: the posterior over a grid of
kinds and utilizations is kept as samples, and a limit whose utilization stays undetermined is never a bottleneck.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from model.calibration.regression import DRAWS, normal_scores
from model.capacity.parameters import Limit
from model.queueing.multiserver import limit_wait

Array = NDArray[np.float64]

SERVERS, QUEUES = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16)
UTILIZATIONS = np.concatenate([np.arange(0.02, 0.3, 0.02), np.arange(0.3, 0.97, 0.04), [0.97, 0.985]])
VARIABILITY_SD = 0.7
"""Prior standard deviation of the log of the variability factor (1 + c^2) / 2."""
DETERMINED = 0.25
"""Relative width of the 90 % interval of the utilization below which it counts as determined."""
HELD, HELD_SD = 0.7, 0.5
"""Part of a transaction's time on engines for which it holds a limit there, and the prior deviation of its log."""
LIKELY = 6.0
"""Twice the log likelihood by which a candidate may be worse than the best and still be possible."""
INDEPENDENT = 160
"""Intervals that count as independent of each other, at most."""
RELATIVE = 0.1
"""Relative error of the wait's formula, which intervals of one load share."""


@dataclass(frozen=True)
class Observation:
    """What is known of one limit, interval by interval (n,).

    ``rate`` arrivals per second of all members, ``stretch`` holding time relative to that without waits for CPs,
    ``wait_s`` mean wait of an arrival, ``variance`` its sampling variance.
    """

    rate: Array
    stretch: Array
    wait_s: Array
    variance: Array


@dataclass(frozen=True)
class LimitFit:
    """Samples of a limit's parameters, the best estimate first, (1 + DRAWS,) each."""

    servers: Array
    queues: Array
    hold_s: Array
    variability: Array
    determined: bool

    def wait_s(self, rate: Array, stretch: Array) -> Array:
        """Mean wait of the best estimate, (n,), in s."""
        wait = limit_wait(rate, self.hold_s[0] * stretch, self.servers[0], self.queues[0])
        return np.asarray(self.variability[0] * wait)


@dataclass(frozen=True)
class _Candidates:
    """Limits that are tried, (N,): servers, queues, holding time, and utilization at the highest rate."""

    servers: Array
    queues: Array
    hold_s: Array
    utilization: Array

    @classmethod
    def of(cls, busiest: float) -> _Candidates:
        """Every kind and utilization; the holding time follows from the ``busiest`` rate."""
        kinds = [*product(SERVERS, (1,)), *product((1,), QUEUES[1:])]
        rows = [(servers, queues, used) for servers, queues in kinds for used in UTILIZATIONS]
        servers, queues, used = np.array(rows, float).T
        return cls(servers, queues, used * servers * queues / busiest, used)

    def waits(self, rate: Array, stretch: Array) -> Array:
        """(N, n) mean wait in s, of exponential holding times."""
        hold_s = self.hold_s[:, None] * stretch
        return limit_wait(rate, hold_s, self.servers[:, None], self.queues[:, None])

    def sampled(self, score: Array, likelihood: Array, factor: Array, name: str) -> LimitFit:
        """Posterior samples by ``score`` (minus twice the log posterior), (N,); without the prior by ``likelihood``."""
        best = int(np.argmin(score))
        weight = np.exp(-0.5 * (score - score[best]))
        cumulative = np.cumsum(weight / weight.sum())
        # Where several candidates explain the waits, the best estimate is the one of median utilization.
        ascending = np.argsort(self.utilization, kind="stable")
        middle = int(np.searchsorted(np.cumsum(weight[ascending] / weight.sum()), 0.5))
        best = int(ascending[min(middle, len(ascending) - 1)])
        picked = np.minimum(np.searchsorted(cumulative, (np.arange(DRAWS) + 0.5) / DRAWS), len(score) - 1)
        # Strata in the order of the table go with each other; other parameters must not.
        picked = picked[np.argsort(np.argsort(normal_scores(1, f"{name} limit")[:, 0]))]
        chosen = np.concatenate([[best], picked])
        possible = self.utilization[likelihood < likelihood.min() + LIKELY]
        determined = bool((possible.max() - possible.min()) / 2.0 < DETERMINED * self.utilization[best])
        return LimitFit(self.servers[chosen], self.queues[chosen], self.hold_s[chosen], factor[chosen], determined)


def fit_limit(seen: Observation, name: str, busy_s: float | None = None) -> LimitFit | None:
    """Posterior of a limit whose waits are recorded; None where nobody waited.

    For each kind (servers, queues) and utilization at the highest rate the holding time follows; the variability
    factor has a log-normal prior and is estimated by weighted least squares. A limit on engines is held for about part
    of the ``busy_s`` that a transaction is on them. Reference: Gelman et al., *Bayesian Data Analysis*, section 3.7
    (grid posteriors).
    """
    if not (seen.wait_s > 0).any():
        return None
    tried = _Candidates.of(float(np.quantile(seen.rate * seen.stretch, 0.995)))
    precision = 1.0 / np.maximum(seen.variance + (RELATIVE * seen.wait_s) ** 2, 1e-18)
    waits = tried.waits(seen.rate, seen.stretch)
    usable = np.asarray(np.isfinite(waits).all(axis=1) & waits.any(axis=1))
    waits = np.where(usable[:, None], waits, 1.0)
    factor = np.maximum(waits @ (precision * seen.wait_s) / (waits**2 @ precision), 1e-6)
    misfit = (seen.wait_s - factor[:, None] * waits) ** 2 @ precision
    # Residuals of neighbouring intervals are alike: intervals count as so many independent ones, at the scale that the
    # best candidate leaves.
    noise = max(float(misfit[usable].min()) / max(len(seen.rate) - 2, 1), 1.0) * max(len(seen.rate) / INDEPENDENT, 1.0)
    likelihood = np.where(usable, misfit / noise, np.inf)
    score = likelihood + (np.log(factor) / VARIABILITY_SD) ** 2
    if busy_s is not None:
        score = score + (np.log(tried.hold_s / (HELD * busy_s)) / HELD_SD) ** 2
    return tried.sampled(score, likelihood, factor, name)


def device_limit(seen: Observation, servers: float, busy_s: Array, seconds: Array, facility: bool) -> LimitFit:
    """A group of volumes, each with its queue, or the processors of a coupling facility, which share one.

    Their number and how long they were busy, (n,) in s of intervals of so many ``seconds``, are recorded: the holding
    time follows, and the waits tell the variability.
    """
    hold_s = float(busy_s.sum() / max(float((seen.rate * seconds).sum()), 1e-12))
    places, queues = (servers, 1.0) if facility else (1.0, servers)
    wait = limit_wait(seen.rate, hold_s, places, queues)
    measured = np.isfinite(wait)
    weight = 1.0 / np.maximum(seen.variance + (RELATIVE * seen.wait_s) ** 2, 1e-18) * measured
    wait = np.where(measured, wait, 0.0)
    # A prior of one interval of usual wait keeps the factor near 1 where nobody waits.
    prior = float(weight.mean() * np.mean(wait) ** 2) + 1e-300
    factor = (float(weight @ (seen.wait_s * wait)) + prior) / (float(weight @ wait**2) + prior)

    def alike(value: float) -> Array:
        return np.full(1 + DRAWS, value)

    return LimitFit(alike(places), alike(queues), alike(hold_s), alike(max(factor, 1e-6)), True)


def limit_of(
    fitted: LimitFit,
    name: str,
    members: list[str],
    weights: list[float],
    on_engines: bool,
    kind: str = "limit",
) -> Limit:
    """The fitted limit as parameters."""
    return Limit(
        name=name,
        kind=kind,
        members=tuple(members),
        weights=tuple(weights),
        servers=fitted.servers,
        queues=fitted.queues,
        hold_s=fitted.hold_s,
        variability=fitted.variability,
        on_engines=on_engines,
        determined=fitted.determined,
    )
