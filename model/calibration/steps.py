"""Steps of the CPU per transaction, such as those of a new release: when the last one was, and how large.

Daily CPU is regressed on daily time and transactions, with a trend of the cost and an effect of weekends. A step is a
further regressor: the transactions since one day. The day with the largest F statistic is tested at a significance
level that is divided by the number of days tried (sup-F test; Andrews, *Econometrica* 61, 1993, p. 821, with
Bonferroni's bound). Residuals of consecutive days may be correlated by r: n days then count as n (1 - r) / (1 + r).
Within the two days around it, the step is where the likelihood is largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

SIGNIFICANCE = 1e-4
"""Probability of a step in a series without one, if its days are independent: an upper bound."""
LEAST_CHANGE = 0.01
"""Relative change of the CPU per transaction below which a step does not matter."""
LEAST_DAYS = 2
"""Days on each side of a step, and degrees of freedom of the residuals, at least."""
FEWEST_STEADY_DAYS = 7
"""Days without a step that the backtest needs, and days since the last one among which the peak is chosen."""
WINDOWS = 0.0, 0.5, 0.75
"""Parts of the days that are left out, in turn: earlier steps may hide the last one."""
CORRELATION_BIAS = 5.0
"""Days' correlation that a regression takes out of its residuals, times the number of days (an upper bound)."""
RANK = 1e-9
"""Relative size below which a part of the design is none."""
QUIET = 0.05
"""Part of the median day's transactions below which a day is left out."""


@dataclass(frozen=True)
class Step:
    """A step of the CPU per transaction: the first interval after it, and the relative change."""

    first: int
    change: float


def last_step(cpu_s: Array, drivers: Array, day: NDArray[np.int64]) -> Step | None:
    """The last step of the CPU per transaction; None without a significant one.

    Parameters
    ----------
    cpu_s
        (n,) CPU of each interval in s, in order of time.
    drivers
        (n, 1 + K) length of each interval in s, and the transactions of K classes.
    day
        (n,) ordinal of the day of each interval.
    """
    days, index = np.unique(day, return_inverse=True)
    daily = np.array([np.bincount(index, weights=one, minlength=len(days)) for one in (cpu_s, *drivers.T)]).T
    total = daily[:, 2:].sum(axis=1)
    usable = total > QUIET * np.median(total) if len(days) else np.zeros(0, bool)
    days, daily = days[usable], daily[usable]
    step, since = None, 0
    for left_out in WINDOWS:
        since = max(since, int(left_out * len(days)))
        while (split := _largest(daily[since:], days[since:])) is not None:
            at, coefficients = split
            whole, since = daily[since:], since + at
            near = np.flatnonzero((day >= days[since - 1]) & (day <= days[since]))
            first = near[_first_after(cpu_s[near], _design(drivers[near], day[near]), coefficients)]
            without_s = float(whole[:, 0].sum() - coefficients[-1] * whole[at:, 2:].sum())
            step = Step(int(first), float(coefficients[-1] * whole[:, 2:].sum()) / max(without_s, 1e-12))
    return step


def _design(drivers: Array, day: NDArray[np.int64]) -> Array:
    """(n, 3 + K) the drivers, a trend of the cost, and an effect of weekends."""
    total = drivers[:, 1:].sum(axis=1)
    # Ordinal 2 is Saturday, 3 January 1970.
    return np.column_stack([drivers, total * (day - 20_000.0), total * ((day - 2) % 7 < 2)])


def _largest(daily: Array, days: NDArray[np.int64]) -> tuple[int, Array] | None:
    """The first day after the most likely step, and the coefficients with that of the step; None without one."""
    if len(days) <= 2 * LEAST_DAYS or not daily[:, 0].any():
        return None
    total = daily[:, 2:].sum(axis=1)
    weight = 1.0 / np.sqrt(total)
    design, target = _design(daily[:, 1:], days) * weight[:, None], daily[:, 0] * weight
    basis, sizes, _ = np.linalg.svd(design / np.maximum(np.linalg.norm(design, axis=0), 1e-300), full_matrices=False)
    basis = basis[:, sizes > RANK * sizes.max()]
    freedom = len(days) - basis.shape[1] - 2
    if freedom < LEAST_DAYS:
        return None
    tried, order = np.arange(LEAST_DAYS, len(days) - LEAST_DAYS + 1), np.arange(len(days))[:, None]
    residual = target - basis @ (basis.T @ target)
    # The day of the step may have both costs: it has a coefficient of its own.
    later, mixed = ((total * weight)[:, None] * chosen for chosen in (order >= tried, order == tried))
    later, mixed = (one - basis @ (basis.T @ one) for one in (later, mixed))
    length = np.maximum((mixed**2).sum(axis=0), 1e-300)
    later -= mixed * ((later * mixed).sum(axis=0) / length)
    strength = np.maximum((later**2).sum(axis=0), RANK * total.sum())
    size = later.T @ residual / strength
    rest = residual[:, None] - mixed * (mixed.T @ residual / length) - later * size
    squares = np.maximum((rest**2).sum(axis=0), 1e-12 * float(target @ target))
    statistic = size**2 * strength / squares * freedom
    best = int(np.argmax(statistic))
    independent = _independent(rest[:, best], days)
    chance = float(stats.f.sf(statistic[best] * independent, 1, max(freedom * independent, 1.0)))
    small = abs(size[best]) < LEAST_CHANGE * daily[:, 0].sum() / total.sum()
    if small or chance * len(tried) * len(WINDOWS) > SIGNIFICANCE:
        return None
    at = int(tried[best])
    kept = np.arange(len(days)) != at
    full = np.column_stack([design, total * weight * (np.arange(len(days)) >= at)])
    norms = np.maximum(np.linalg.norm(full, axis=0), 1e-300)
    return at, np.linalg.lstsq(full[kept] / norms, target[kept], rcond=RANK)[0] / norms


def _independent(residual: Array, days: NDArray[np.int64]) -> float:
    """Number of independent days that a day counts as, by the correlation of consecutive days."""
    following = np.diff(days) == 1
    first, second = residual[:-1][following], residual[1:][following]
    correlation = float(first @ second) / max(float(residual @ residual), 1e-300)
    correlation = float(np.clip(correlation + CORRELATION_BIAS / len(days), 0.0, 0.9))
    return (1.0 - correlation) / (1.0 + correlation)


def _first_after(cpu_s: Array, design: Array, coefficients: Array) -> int:
    """The first interval after a step, among those of the two days around it."""
    total = design[:, 1:-2].sum(axis=1)
    off = cpu_s - design @ coefficients[:-1]
    gain = (off**2 - (off - coefficients[-1] * total) ** 2) / np.maximum(total, 1.0)
    return int(np.argmax(np.cumsum(gain[::-1])[::-1]))
