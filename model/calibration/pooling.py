"""Partial pooling: demands of systems that run the same workload, fitted together to their measured points.

For system s at rate ``lambda``, with x = lambda / reference rate::

    usage = scale_s (b0 + b1 x + b2 x (x - 1)) (1 + e),     e ~ N(0, max(sigma, se)^2)

``b0`` is the fixed part, ``b1`` the proportional part, ``b2`` the bend (cost per transaction changing with load).
Fixed part and bend vary around a value common to the family; the proportional part, the level of a system, is its
own. ``scale_s`` only makes the coefficients comparable between systems. Given the scatter ``sigma`` and the spread
``tau`` of the bend, everything is Gaussian and solved exactly; both are integrated over on a grid. docs/calibration.md
derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from model.capacity.state import CURVATURE_RANGE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Priors:
    """What is held about a usage law before its points are seen; relative to usage at the reference rate unless said
    otherwise.

    ``scatter`` and ``bend`` are medians of log-normal priors with the log standard deviations beside them. The scatter
    of a total is the repeatability of a measurement: ITRs within 1 % count as equal (ims14_z14), read as the band that
    98 of 100 pairs of runs stay within, 0.01 / (2.33 sqrt 2).
    """

    fixed: float = 0.03
    fixed_family_sd: float = 0.03
    fixed_system_sd: float = 0.015
    level_sd: float = 0.7
    scatter: float = 0.003
    scatter_log_sd: float = 0.6
    bend: float = 0.005
    bend_log_sd: float = 0.5
    bend_own_share: float = 0.3
    drift: float = 0.01

    def for_part(self, share: float) -> Priors:
        """Priors of one address-space group that uses ``share`` of the total.

        A part scatters and bends more than the whole, because work moves between parts: inversely with the root of its
        share, and less surely.
        """
        root = max(share, 1e-4) ** 0.5
        return Priors(
            fixed=self.fixed,
            fixed_family_sd=self.fixed_family_sd,
            fixed_system_sd=self.fixed_system_sd,
            level_sd=self.level_sd,
            scatter=1.8 * self.scatter / root,
            scatter_log_sd=1.5 * self.scatter_log_sd,
            bend=4.0 * self.bend / root,
            bend_log_sd=2.0 * self.bend_log_sd,
            bend_own_share=self.bend_own_share,
            drift=3.0 * self.drift,
        )


@dataclass(frozen=True)
class PooledDemand:
    """Engines in use by one series of a system against its rate, as moments; samples are drawn from them for answers.

    Parameters
    ----------
    reference_rate, scale
        Rate in 1/s and engines in use, of which the coefficients are parts.
    coef, cov
        (3,) and (3, 3) posterior of intercept, demand and curvature.
    noise_rel, extra_rel, drift_rel
        Relative standard deviations: of a measurement, of a curve that was taken from another system or of an assumed
        value, and for each e-fold outside ``support``.
    quantile, inflation
        Standard deviations from the mean to a 90 % limit, and the factor that leave-one-out errors require.
    support
        Least and highest calibrated rate in 1/s.
    """

    reference_rate: float
    scale: float
    coef: Array
    cov: Array
    noise_rel: float
    drift_rel: float
    quantile: float
    support: tuple[float, float]
    points: int
    extra_rel: float = 0.0
    inflation: float = 1.0
    total: bool = True
    assumed: bool = False
    origin: str = "measured"

    def mean(self, rate: float) -> float:
        """Engines in use at ``rate`` (1/s): never below zero, and far out never less than nearer."""
        edge = CURVATURE_RANGE * self.support[1]
        values = [self.scale * float(self.coef @ self._terms(one)) for one in (rate, min(rate, edge))]
        return max(0.0, *values)

    def half_width(self, rate: float) -> float:
        """Half the 90 % interval at ``rate`` (1/s): parameters, scatter, other systems, distance from the support."""
        terms, (low, high) = self._terms(rate), self.support
        outside = max(math.log(rate / high), math.log(low / rate), 0.0) if rate > 0 else 0.0
        relative = self.noise_rel**2 + self.extra_rel**2 + (self.drift_rel * outside) ** 2
        variance = max(0.0, self.scale**2 * float(terms @ self.cov @ terms)) + relative * self.mean(rate) ** 2
        return self.quantile * self.inflation * math.sqrt(variance)

    def _terms(self, rate: float) -> Array:
        """(3,) 1, x and x (x - 1) at x = rate / reference rate. Far beyond the support the parabola, which would bend
        back to zero, continues as its tangent."""
        x, edge = rate / self.reference_rate, CURVATURE_RANGE * self.support[1] / self.reference_rate
        bend = x * (x - 1.0) if x <= edge else edge * (edge - 1.0) + (2.0 * edge - 1.0) * (x - edge)
        return np.array([1.0, x, bend])


def _prior(priors: Priors, bend_sd: float, systems: int) -> tuple[Array, Array]:
    """Mean and covariance of the coefficients, systems by (fixed, proportional, bend), flattened."""
    together, own = np.ones((systems, systems)), np.eye(systems)
    covariance = np.zeros((systems, 3, systems, 3))
    covariance[:, 0, :, 0] = priors.fixed_family_sd**2 * together + priors.fixed_system_sd**2 * own
    covariance[:, 1, :, 1] = priors.level_sd**2 * own
    ours = priors.bend_own_share**2
    covariance[:, 2, :, 2] = bend_sd**2 * ((1.0 - ours) * together + ours * own)
    centre = np.tile([priors.fixed, 1.0 - priors.fixed, 0.0], systems)
    return centre, covariance.reshape(3 * systems, 3 * systems)


def _grid(priors: Priors) -> tuple[Array, Array, Array]:
    """Scatter, spread of the bend and log prior weight of every grid node."""
    steps = np.linspace(-3.0, 3.0, 19)
    scatter, bend = np.meshgrid(
        priors.scatter * np.exp(priors.scatter_log_sd * steps),
        priors.bend * np.exp(priors.bend_log_sd * steps[::2]),
        indexing="ij",
    )
    first, second = np.meshgrid(steps, steps[::2], indexing="ij")
    return scatter.ravel(), bend.ravel(), (-0.5 * (first**2 + second**2)).ravel()


def pooled_demands(
    rate: Array, usage: Array, system: NDArray[np.int64], error_rel: Array, priors: Priors, conformal: bool = True
) -> list[PooledDemand]:
    """Posterior demands of the systems of a family, one for each.

    Parameters
    ----------
    rate, usage
        (n,) transactions/s and engines in use, above zero.
    system
        (n,) index of each point's system, from 0 without a gap.
    error_rel
        (n,) relative standard error of each point from its intervals, 0 if unknown.
    conformal
        Whether intervals are scaled so that they contain 90 % of the points left out one at a time: the order statistic
        of error over half-width, not below 1.
    """
    demands = _family(rate, usage, system, error_rel, priors)
    scores = []
    for i in range(len(rate)) if conformal else ():
        kept = np.arange(len(rate)) != i
        if (system[kept] == system[i]).any():
            one = _family(rate[kept], usage[kept], system[kept], error_rel[kept], priors)[system[i]]
            at = float(rate[i])
            # A limit is not below zero.
            half = (one.mean(at) + one.half_width(at) - max(0.0, one.mean(at) - one.half_width(at))) / 2.0
            scores.append(abs(usage[i] - one.mean(at)) / max(half, 1e-12))
    rank = min(len(scores), math.ceil(0.9 * (len(scores) + 1)))
    inflation = max(1.0, float(np.sort(scores)[rank - 1])) if scores else 1.0
    return [replace(one, inflation=inflation) for one in demands]


def _family(
    rate: Array, usage: Array, system: NDArray[np.int64], error_rel: Array, priors: Priors
) -> list[PooledDemand]:
    reference, systems = float(rate.max()), int(system.max()) + 1
    x = rate / reference
    terms = np.stack([np.ones_like(x), x, x * (x - 1.0)], axis=-1)
    scale = np.array([np.mean(usage[system == k] / x[system == k]) for k in range(systems)])
    for turn in range(3):
        mean, cov, noise_rel, quantile = _posterior(terms, usage, system, scale, error_rel, priors)
        if turn < 2:
            # The scale is the usage at the reference rate, which is known better after a fit than before.
            scale = scale * np.maximum(mean[:, 0] + mean[:, 1], 0.05)
    return [
        PooledDemand(
            reference_rate=reference,
            scale=float(scale[k]),
            coef=mean[k],
            cov=cov[k],
            noise_rel=noise_rel,
            drift_rel=priors.drift,
            quantile=quantile,
            support=(float(rate[system == k].min()), float(rate[system == k].max())),
            points=int((system == k).sum()),
        )
        for k in range(systems)
    ]


def _posterior(
    terms: Array, usage: Array, system: NDArray[np.int64], scale: Array, error_rel: Array, priors: Priors
) -> tuple[Array, Array, float, float]:
    """(systems, 3) means and (systems, 3, 3) covariances of the coefficients, scatter, and quantile of a 90 % limit."""
    points, systems = len(usage), len(scale)
    design = np.zeros((points, systems, 3))
    design[np.arange(points), system] = terms * scale[system, None]
    flat = design.reshape(points, 3 * systems)
    scatter, bend, log_weight = _grid(priors)
    centre, _ = _prior(priors, 0.0, systems)
    by_bend = {value: _prior(priors, value, systems)[1] for value in np.unique(bend)}
    prior_cov = np.stack([by_bend[value] for value in bend])
    noise = np.maximum(scatter[:, None], error_rel[None, :])
    marginal = flat @ prior_cov @ flat.T
    marginal[:, np.arange(points), np.arange(points)] += (noise * usage) ** 2
    residual = usage - flat @ centre
    solved = np.linalg.solve(marginal, np.broadcast_to(residual[:, None], (len(scatter), points, 1)))[..., 0]
    _, log_det = np.linalg.slogdet(marginal)
    log_weight = log_weight - 0.5 * (solved @ residual + log_det)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    gain = np.swapaxes(np.linalg.solve(marginal, flat @ prior_cov), 1, 2)
    means = centre + gain @ residual
    covs = prior_cov - gain @ flat @ prior_cov
    mean = weight @ means
    apart = means - mean
    cov = np.einsum("g,gij->ij", weight, covs) + np.einsum("g,gi,gj->ij", weight, apart, apart)
    blocks = cov.reshape(systems, 3, systems, 3)[np.arange(systems), :, np.arange(systems), :]
    typical = np.maximum(scatter, np.median(error_rel)) ** 2
    second, fourth = weight @ typical, weight @ typical**2
    # The scatter's own uncertainty, matched to a scaled inverse chi-square, makes the predictive a Student t.
    dof = float(np.clip(4.0 + 2.0 * second**2 / max(fourth - second**2, 1e-300), 4.5, 200.0))
    quantile = float(stats.t.ppf(0.95, dof) * np.sqrt((dof - 2.0) / dof))
    return mean.reshape(systems, 3), blocks, float(np.sqrt(second)), quantile
