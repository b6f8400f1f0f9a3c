"""Partial pooling: usage laws of systems that run the same workload, fitted together.

Model. For system s at rate ``lambda``, with x = lambda / reference rate::

    usage = scale_s (b0 + b1 x + b2 x (x - 1)) (1 + e),     e ~ N(0, max(sigma, se)^2)

``b0`` is the fixed part, ``b1`` the proportional part, ``b2`` the bend (cost per transaction changing with load).
Fixed part and bend vary around a value common to the family; the proportional part, the level of a system, is its
own. ``scale_s`` only makes the coefficients comparable between systems. Given the scatter ``sigma`` and the spread
``tau`` of the bend, everything is Gaussian and solved exactly; both are integrated over on a grid. docs/calibration.md
derives it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
class FamilyPosterior:
    """Coefficients by system: ``mean`` (systems x 3), ``cov`` (systems x 3 x 3), ``scale`` (systems,)."""

    scale: Array
    mean: Array
    cov: Array
    noise_rel: float
    dof: float
    quantile: float


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


def fit_family(
    rate: Array,
    usage: Array,
    system: NDArray[np.int64],
    *,
    systems: int,
    reference_rate: float,
    error_rel: Array,
    priors: Priors,
) -> FamilyPosterior:
    """Posterior of the usage laws of a family.

    Args:
        rate: transactions/s, shape (n,).
        usage: engines in use, shape (n,), above zero.
        system: index of each point's system, shape (n,), below ``systems``; each system has at least one point.
        error_rel: relative standard error of each point from its intervals, shape (n,), 0 where unknown.
    """
    x = rate / reference_rate
    terms = np.stack([np.ones_like(x), x, x * (x - 1.0)], axis=-1)
    scale = np.array([np.mean(usage[system == k] / x[system == k]) for k in range(systems)])
    posterior = _posterior(terms, usage, system, scale, error_rel, priors)
    for _ in range(2):
        # The scale is the usage at the reference rate, which is known better after a fit than before.
        scale = posterior.scale * np.maximum(posterior.mean[:, 0] + posterior.mean[:, 1], 0.05)
        posterior = _posterior(terms, usage, system, scale, error_rel, priors)
    return posterior


def _posterior(
    terms: Array, usage: Array, system: NDArray[np.int64], scale: Array, error_rel: Array, priors: Priors
) -> FamilyPosterior:
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
    return FamilyPosterior(scale, mean.reshape(systems, 3), blocks, float(np.sqrt(second)), dof, quantile)
