"""Service demands from measured utilisation and rates: the utilisation law as constrained least squares.

Source: Rolia and Vetland 1995; Spinner et al., *Evaluating approaches to resource demand estimation*, Performance
Evaluation 92, 2015.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import lsq_linear, nnls

Floats = NDArray[np.float64]


class DemandEstimate(NamedTuple):
    """``demands`` (classes,) per engine-second of utilisation 1, ``intercept`` the utilisation without work."""

    demands: Floats
    intercept: float

    def utilisation(self, rates: ArrayLike) -> Floats:
        """Utilisation (intervals,) at ``rates`` (intervals, classes)."""
        return np.asarray(np.asarray(rates, dtype=float) @ self.demands + self.intercept)


def estimate_demands(
    rates: ArrayLike,
    utilisation: ArrayLike,
    intercept: bool = False,
    upper: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> DemandEstimate:
    """Non-negative demands that explain utilisation.

    Args:
        rates: (intervals, classes) completions per unit time.
        utilisation: (intervals,) busy share times engines.
        intercept: also fit a utilisation that no class causes.
        upper: (classes,) demands cannot exceed these (for instance a low quantile of the response times).
        weights: (intervals,) weight of each squared error.
    """
    a = np.asarray(rates, dtype=float)
    u = np.asarray(utilisation, dtype=float)
    design = np.column_stack((a, np.ones(len(u)))) if intercept else a
    w = np.ones(len(u)) if weights is None else np.sqrt(np.asarray(weights, dtype=float))
    if upper is None:
        solution = nnls(design * w[:, None], u * w)[0]
    else:
        ceiling = np.append(np.asarray(upper, dtype=float), np.inf) if intercept else np.asarray(upper, dtype=float)
        solution = lsq_linear(design * w[:, None], u * w, bounds=(0, ceiling)).x
    classes = a.shape[1]
    return DemandEstimate(solution[:classes], float(solution[classes]) if intercept else 0.0)


def mean_absolute_percentage_error(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Mean of |predicted / measured - 1|."""
    return float(np.mean(np.abs(np.asarray(predicted, dtype=float) / np.asarray(measured, dtype=float) - 1)))
