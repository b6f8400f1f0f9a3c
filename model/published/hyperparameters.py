"""Standard deviations of a regression's terms by scikit-learn's Gaussian process.

The maximum of the posterior: the log marginal likelihood of `GaussianProcessRegressor`, with the terms' log-normal
priors added to what its optimizer minimizes. Only what fits a model imports this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from model.published.regression import FIXED, Regression

Array = NDArray[np.float64]

FIT_ITERATIONS, REFIT_ITERATIONS = 60, 3
"""Iterations on all figures, and from there without those that are left out."""
BOUNDS = (1e-4, 20.0)
"""Least and largest standard deviation of a term."""


class VarianceComponents(Kernel):
    """K = sum of sd_t^2 K_t, of matrices K_t that are known at the cells; X has the index of each cell.

    Parameters
    ----------
    matrices : ndarray of shape (terms, n, n)
    sd : ndarray of shape (terms,)
        `theta` has the logarithms.
    """

    def __init__(self, matrices: Array, sd: Array) -> None:
        self.matrices, self.sd = matrices, sd

    @property
    def hyperparameter_sd(self) -> Hyperparameter:
        """All standard deviations, as one hyper-parameter."""
        return Hyperparameter("sd", "numeric", (1e-9, 1e9), len(self.sd))

    def clone_with_theta(self, theta: Array) -> VarianceComponents:
        """The same kernel with other standard deviations; matrices are shared."""
        return VarianceComponents(self.matrices, np.exp(theta))

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """K at the cells of an index, and its gradient by theta, shape (n, n, terms)."""
        i = X[:, 0].astype(int)
        j = i if Y is None else Y[:, 0].astype(int)
        parts = self.sd[:, None, None] ** 2 * self.matrices[:, i[:, None], j]
        covariance = parts.sum(axis=0)
        return (covariance, 2.0 * np.moveaxis(parts, 0, -1)) if eval_gradient else covariance

    def diag(self, X: Array) -> Array:
        """The diagonal of K."""
        return np.diag(self(X))

    def is_stationary(self) -> bool:
        """False: K depends on the cells."""
        return False


def fitted(max_iter: int, start: Mapping[str, Mapping[str, float]] | None = None) -> Callable[[Regression], Any]:
    """A choice of standard deviations for `Regression`: the maximum of their posterior.

    Args:
        max_iter: iterations of L-BFGS-B.
        start: standard deviations to start from by group and term; else the medians of the priors.
    """

    def choose(regression: Regression) -> dict[str, float]:
        terms, noise, error_variance, target = regression.components()
        priors = regression.priors
        first = (start or {}).get(regression.group.name, {})
        names = [*terms, "noise"]
        median = np.log([priors[name].median for name in names])
        width = np.array([priors[name].log_sd for name in names])
        theta = np.log([first.get(name, priors[name].median) for name in names])
        free = width > FIXED
        theta[~free] = median[~free]

        def optimizer(objective: Any, initial: Array, bounds: Array) -> tuple[Array, float]:
            def penalized(part: Array) -> tuple[float, Array]:
                whole = initial.copy()
                whole[free] = part
                value, slope = objective(whole)
                away = (part - median[free]) / width[free]
                return value + 0.5 * float(away @ away), slope[free] + away / width[free]

            limits = [tuple(math.log(end) for end in BOUNDS)] * int(free.sum())
            best_fit = minimize(
                penalized, initial[free], jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": max_iter}
            )
            best = initial.copy()
            best[free] = best_fit.x
            return best, float(best_fit.fun)

        kernel = VarianceComponents(np.stack([*terms.values(), np.diag(noise)]), np.exp(theta))
        index = np.arange(len(target), dtype=np.float64)[:, None]
        process = GaussianProcessRegressor(kernel, alpha=error_variance, optimizer=optimizer if free.any() else None)
        process.fit(index, target)
        return dict(zip(names, np.exp(process.kernel_.theta).tolist(), strict=True))

    return choose
