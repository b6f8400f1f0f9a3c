"""What the structure of a response does not follow, as the history itself shows it: inside its range, and beyond."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.calibration.regression import Fit, fit
from model.capacity.parts import beyond as reach

Array = NDArray[np.float64]

BINS = 20
# Least relative deviation of a mean response that is predicted inside the range of the data.
LEAST = 0.002
# How many histories the deviation held beforehand of waiting beyond what was fitted is worth.
WORTH = 1.0
# Waits that are fitted, and that are predicted from them, as quantiles.
FITTED, PREDICTED, FEWEST = 0.7, 0.95, 20


def inside(measured: Array, expected: Array, wait: Array, weight: Array, found: Fit) -> float:
    """Relative deviation of means over like waits beyond what scatter explains.

    Args:
        measured: (n,) responses.
        expected: (n,) as fitted.
        wait: (n,) all waiting as fitted, by which intervals are gathered.
        weight: (n,) as in the fit.
    """
    order = np.argsort(np.argsort(wait, kind="stable"), kind="stable")
    index = order * min(BINS, len(order)) // len(order)
    total = np.bincount(index, weights=weight)
    off = np.bincount(index, weights=weight * (measured - expected)) / total
    level = np.bincount(index, weights=weight * expected) / total
    variance = found.scale**2 * found.dependence / total
    excess = float(np.mean((off**2 - variance) / np.maximum(level, 1e-12) ** 2))
    return float(np.hypot(LEAST, np.sqrt(max(excess, 0.0))))


def beyond(
    design: Array,
    target: Array,
    weight: Array,
    day: NDArray[np.int64],
    found: Fit,
    prior: tuple[list[float], list[float]],
    usual: float,
) -> float:
    """Relative deviation of waiting beyond the waits that were fitted: the longest predicted from the shorter ones.

    Args:
        design: (n, p) the rest and the waits.
        target: (n,) response less service.
        prior: mean and standard deviation of the coefficients.
        usual: what is held beforehand.
    """
    wait = design[:, 1:] @ np.maximum(found.mean[1:], 0.0)
    fitted, asked = wait <= np.quantile(wait, FITTED), wait >= np.quantile(wait, PREDICTED)
    if fitted.sum() < FEWEST or asked.sum() < FEWEST:
        return usual
    lower = fit(design[fitted], target[fitted], weight[fitted], day[fitted], *prior)
    waits = design[:, 1:] @ np.maximum(lower.mean[1:], 0.0)
    share = weight[asked] / weight[asked].sum()
    further = float(share @ reach(waits[asked], float(np.quantile(waits[fitted], 0.995))))
    off = float(share @ (target[asked] - lower.mean[0] - waits[asked]))
    mean = share @ design[asked]
    noise = float(lower.scale**2 * lower.dependence / weight[asked].sum() + mean @ lower.cov @ mean)
    if not further > 0:
        return usual
    known = usual**2 / (usual**2 + noise / further**2)
    missed = min(max(off**2 - noise, 0.0) / further**2, 1.0)
    return float(np.sqrt((WORTH * usual**2 + known * missed) / (WORTH + known)))
