"""What the structure of a response does not follow, as the history itself shows it: inside its range, and beyond."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model.calibration.regression import Fit, fit
from model.capacity.parts import beyond as reach

Array = NDArray[np.float64]

BINS = 20
# Least relative deviation of a mean response that is predicted inside the range of the data. Laws of percentiles add
# none to it.
LEAST = 0.002
# How many histories the deviation held beforehand of waiting beyond what was fitted is worth.
WORTH = 1.0
# Waits that are fitted, and that are predicted from them, as quantiles.
FITTED, PREDICTED, FEWEST = 0.7, 0.95, 20
# Waits from one of these quantiles to the next are held against the law that was fitted to all; deviations beyond
# what scatter makes of it that are no chance; and how many times as far from the law those beyond the recorded are
# as these: 5 to 20 where arrivals come in bursts or zIIP work floods the CPs.
STEPS, PLAINLY, FURTHER_OFF = (0.5, 0.8, 0.95, 1.0), 2.5, 10.0


def inside(measured: Array, expected: Array, wait: Array, weight: Array, found: Fit, least: float = LEAST) -> float:
    """Relative deviation of means over like waits beyond what scatter explains.

    Args:
        measured: (n,) responses.
        expected: (n,) as fitted.
        wait: (n,) all waiting as fitted, by which intervals are gathered.
        weight: (n,) as in the fit.
        least: relative deviation that there is always.
    """
    order = np.argsort(np.argsort(wait, kind="stable"), kind="stable")
    index = order * min(BINS, len(order)) // len(order)
    total = np.bincount(index, weights=weight)
    off = np.bincount(index, weights=weight * (measured - expected)) / total
    level = np.bincount(index, weights=weight * expected) / total
    variance = found.scale**2 * found.dependence / total
    excess = float(np.mean((off**2 - variance) / np.maximum(level, 1e-12) ** 2))
    return float(np.hypot(least, np.sqrt(max(excess, 0.0))))


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


def lack_of_fit(classes: Iterable[tuple[Array, Array, Array, Fit]]) -> float:
    """Relative deviation of waiting beyond the waits that were fitted, where these plainly grow otherwise than the law.

    Nil where scatter explains how far the waits of a system are from the law, those of all its classes together.

    Args:
        classes: of each the (n,) waits as fitted, what was measured beside them, (n,), weights (n,), and the fit.
    """
    off, variance = [], []
    for wait, residual, weight, found in classes:
        steps = np.quantile(wait, STEPS)
        for low, high in pairwise(steps):
            rows = (wait >= low) & (wait <= high)
            total = weight[rows].sum()
            level = float(weight[rows] @ wait[rows] / total)
            if level > 0.0:
                off.append(float(weight[rows] @ residual[rows] / total) / level)
                variance.append(found.scale**2 * found.dependence / total / level**2)
    if not off:
        return 0.0
    sure = 1.0 / np.array(variance)
    beyond_chance = float(np.square(off) @ sure) - len(off) - PLAINLY * np.sqrt(2.0 * len(off))
    return FURTHER_OFF * float(np.sqrt(max(beyond_chance, 0.0) / sure.sum()))
