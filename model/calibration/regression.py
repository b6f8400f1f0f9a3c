"""Weighted linear regression with a normal prior, whose errors may depend on each other within a day, and samples of
posteriors, spread evenly so that few of them give steady quantiles."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]

DRAWS = 128
Z90 = 1.6448536269514722


def normal_scores(columns: int, name: str, draws: int = DRAWS) -> Array:
    """(draws, columns) independent standard normals by Latin hypercube, with mean 0 and variance 1 in each column.

    ``name`` seeds them: equal names give equal draws.
    """
    sampler = stats.qmc.LatinHypercube(columns, rng=np.random.default_rng(zlib.crc32(name.encode())))
    scores = stats.norm.ppf(sampler.random(draws))
    return np.asarray((scores - scores.mean(axis=0)) / scores.std(axis=0))


def normal_samples(centre: float, sd: float, name: str) -> Array:
    """(1 + DRAWS,) samples of a quantity with a normal posterior, the best estimate first."""
    return np.append(float(centre), centre + sd * normal_scores(1, name)[:, 0])


def with_centre(centre: ArrayLike, drawn: ArrayLike) -> Array:
    """(1 + draws, ...) samples, of a best estimate and (draws, ...) of its posterior."""
    return np.concatenate([np.asarray(centre, float)[None], np.asarray(drawn, float)])


TURNS = 4
# Residuals beyond this many standard deviations count less (Huber).
OUTLYING = 3.0
# Intervals of a day that count as independent where designs are compared.
INDEPENDENT_A_DAY = 16
# Eigenvalues below this part of the largest are none.
RANK = 1e-15


@dataclass(frozen=True)
class Fit:
    """Posterior of the coefficients: ``mean`` (p,), ``cov`` (p, p); ``scale`` residual standard deviation at weight 1.

    ``bic`` is the Bayesian information criterion up to a constant, comparable between designs for the same data;
    ``dependence`` how many times larger the variance of a day's mean is than independent residuals would give.
    """

    mean: Array
    cov: Array
    scale: float
    bic: float
    dependence: float

    def drawn(self, name: str, draws: int = DRAWS) -> Array:
        """(draws, p) draws of the coefficients."""
        values, vectors = np.linalg.eigh((self.cov + self.cov.T) / 2.0)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return self.mean + normal_scores(len(self.mean), name, draws) @ root.T


def fit(
    design: Array,
    target: Array,
    weight: Array,
    day: NDArray[np.int64],
    prior_mean: Sequence[float] | Array | None = None,
    prior_sd: Sequence[float] | Array | None = None,
) -> Fit:
    """Posterior of ``target = design @ coefficients`` with variance ``scale^2 / weight``.

    Parameters
    ----------
    design
        (n, p).
    target
        (n,).
    weight
        (n,) above zero.
    day
        (n,) residuals of one day may move together; the covariance is widened by what they do.
    prior_mean
        (p,) 0 if not given.
    prior_sd
        (p,) infinite if not given.
    """
    n, p = design.shape
    centre = np.zeros(p) if prior_mean is None else np.asarray(prior_mean, float)
    precision = np.zeros(p) if prior_sd is None else 1.0 / np.asarray(prior_sd, float) ** 2
    robust, scale = np.ones(n), 1.0
    mean, inverse = centre, np.eye(p)
    root = np.sqrt(weight)
    least = 1e-9 * float(np.abs(target * root).mean() if n else 1.0) or 1e-9
    if n:
        scale = max(float(np.std(target * root)), least)
    columns = np.ascontiguousarray(design.T)
    for _ in range(TURNS):
        weighted = columns * (weight * robust / scale**2)
        inverse = _inverse(weighted @ design + np.diag(precision))
        mean = inverse @ (weighted @ target + precision * centre)
        residual = (target - design @ mean) * root
        scale = max(float(np.sqrt(np.sum(robust * residual**2) / max(n - p, 1))), least)
        robust = np.minimum(1.0, OUTLYING * scale / np.maximum(np.abs(residual), 1e-300))
    dependence, days = day_dependence(residual / scale, day)
    # The prior does not share the data's dependence: widen what the data say, and leave the prior its weight.
    widened = scale**2 * dependence
    weighted = columns * (weight * robust / widened)
    inverse = _inverse(weighted @ design + np.diag(precision))
    mean = inverse @ (weighted @ target + precision * centre)
    independent_rows = min(n, INDEPENDENT_A_DAY * max(days, 1))
    bic = 2.0 * independent_rows * np.log(scale) + p * np.log(max(independent_rows, 2))
    return Fit(mean, inverse, scale, float(bic), dependence)


def _inverse(matrix: Array) -> Array:
    """Pseudoinverse of a symmetric matrix (p, p), as NumPy's, which takes three times as long for a few rows."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.abs(values) > RANK * np.max(np.abs(values), initial=0.0)
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)


def non_negative_fit(
    design: Array,
    target: Array,
    weight: Array,
    day: NDArray[np.int64],
    prior_mean: Sequence[float] | Array,
    prior_sd: Sequence[float] | Array,
    unit: Sequence[float] | Array,
) -> Fit:
    """As :func:`fit`, with coefficients that come out negative held near nothing, within ``unit`` (p,) / 10,000.

    An infinite unit lets a coefficient be negative.
    """
    prior, spread = np.array(prior_mean, float), np.array(prior_sd, float)
    near = np.asarray(unit, float) / 1e4
    posterior = fit(design, target, weight, day, prior, spread)
    for _ in range(2 + len(prior)):
        wrong = (posterior.mean < 0.0) & np.isfinite(near) & (spread > near)
        if not wrong.any():
            break
        prior, spread = np.where(wrong, 0.0, prior), np.where(wrong, near, spread)
        posterior = fit(design, target, weight, day, prior, spread)
    return posterior


def day_dependence(standard: Array, day: NDArray[np.int64]) -> tuple[float, int]:
    """Variance of day means over that of independent residuals, from 1 up, 1 where there are fewer than three days; and
    the number of days."""
    since = day - day.min(initial=np.iinfo(np.int64).max)
    counts = np.bincount(since)
    days = np.flatnonzero(counts)
    if len(days) < 3:
        return 1.0, len(days)
    sums, counts = np.bincount(since, weights=standard)[days], counts[days]
    return float(np.clip(np.mean(sums**2 / counts), 1.0, counts.mean())), len(days)
