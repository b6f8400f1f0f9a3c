"""The utilisation law as a scikit-learn estimator: engines in use against rate, for one system or a family."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from model.calibration.pooling import Priors, fit_family
from model.calibration.usage_law import usage as evaluate_usage

Array = NDArray[np.float64]


class UtilizationLaw(RegressorMixin, BaseEstimator):
    """Usage = fixed part + demand x rate, slightly bent, with 90 % intervals, for systems of one workload.

    ``X`` has the rate (transactions/s) in column 0 and, where a family is fitted, the system's code (0, 1, ...) in
    column 1; ``y`` is engines in use (1.0 = one engine), above zero.

    Args:
        priors: what is held about the law beforehand; None for those of a total.
        calibrate: stretch the intervals so that they hold the points left out one at a time.

    Attributes:
        laws_: one law for each system, as ``model.calibration.usage_law`` evaluates it.
        inflation_: the factor by which the intervals are stretched.
    """

    def __init__(self, priors: Priors | None = None, calibrate: bool = True) -> None:
        self.priors = priors
        self.calibrate = calibrate

    def fit(self, X: ArrayLike, y: ArrayLike, error_rel: ArrayLike | None = None) -> UtilizationLaw:
        """Fit to points; ``error_rel`` is each point's relative standard error from its intervals."""
        rate, system = _columns(X)
        usage = check_array(y, ensure_2d=False, dtype=np.float64)
        check_consistent_length(rate, usage)
        errors = np.zeros_like(usage) if error_rel is None else np.nan_to_num(np.asarray(error_rel, dtype=np.float64))
        if (rate <= 0).any() or (usage <= 0).any():
            raise ValueError("rates and engines in use must be above zero")
        codes = np.unique(system)
        if not np.array_equal(codes, np.arange(len(codes))):
            raise ValueError(f"system codes must be 0 to {len(codes) - 1} without a gap, found {codes.tolist()}")
        self.n_features_in_ = np.asarray(X).shape[1]
        self.laws_ = self._laws(rate, usage, system, errors)
        self.inflation_ = self._inflation(rate, usage, system, errors) if self.calibrate else 1.0
        for law in self.laws_:
            law["inflation"] = self.inflation_
        return self

    def predict(self, X: ArrayLike, return_interval: bool = False) -> Any:
        """Engines in use, shape (n,); with ``return_interval`` also the 90 % limits, each of shape (n,)."""
        check_is_fitted(self, "laws_")
        rate, system = _columns(X)
        if len(system) and system.max() >= len(self.laws_):
            raise ValueError(f"system code {system.max()} was not fitted; known are 0 to {len(self.laws_) - 1}")
        estimates = [evaluate_usage(self.laws_[k], float(r)) for r, k in zip(rate, system, strict=True)]
        rows = np.array(estimates).reshape(-1, 3)
        return (rows[:, 0], rows[:, 1], rows[:, 2]) if return_interval else rows[:, 0]

    def _laws(self, rate: Array, usage: Array, system: NDArray[np.int64], errors: Array) -> list[dict[str, Any]]:
        priors = self.priors or Priors()
        reference = float(rate.max())
        posterior = fit_family(
            rate,
            usage,
            system,
            systems=int(system.max()) + 1,
            reference_rate=reference,
            error_rel=errors,
            priors=priors,
        )
        return [
            {
                "reference_rate": reference,
                "scale": float(posterior.scale[k]),
                "coef": posterior.mean[k].tolist(),
                "cov": posterior.cov[k].tolist(),
                "noise_rel": posterior.noise_rel,
                "extra_rel": 0.0,
                "drift_rel": priors.drift,
                "dof": posterior.dof,
                "quantile": posterior.quantile,
                "inflation": 1.0,
                "support": [float(rate[system == k].min()), float(rate[system == k].max())],
                "points": int((system == k).sum()),
            }
            for k in range(len(posterior.scale))
        ]

    def _inflation(self, rate: Array, usage: Array, system: NDArray[np.int64], errors: Array) -> float:
        """The 90 % order statistic of |error| / half-width over points left out one at a time, not below 1."""
        scores = []
        for i in range(len(rate)):
            if (system == system[i]).sum() < 2:
                continue
            keep = np.arange(len(rate)) != i
            law = self._laws(rate[keep], usage[keep], system[keep], errors[keep])[system[i]]
            estimate = evaluate_usage(law, float(rate[i]))
            scores.append(abs(usage[i] - estimate.value) / max(estimate.half, 1e-12))
        if not scores:
            return 1.0
        rank = min(len(scores), int(np.ceil(0.9 * (len(scores) + 1))))
        return float(max(1.0, np.sort(scores)[rank - 1]))


def _columns(X: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    values = check_array(X, dtype=np.float64)
    if values.shape[1] > 2:
        raise ValueError(f"X has the rate and, if wanted, the system's code: 1 or 2 columns, not {values.shape[1]}")
    code = values[:, 1] if values.shape[1] == 2 else np.zeros(len(values))
    if (code != np.round(code)).any() or (code < 0).any():
        raise ValueError("system codes are whole numbers from 0")
    return values[:, 0], code.astype(np.int64)
