"""How the load of a class grows, from its days: a level with a steady trend, days of the week and ends of months.

The logarithm of what a day has is a state-space model of statsmodels (``UnobservedComponents``, Harvey 1989): a level
that drifts, a constant slope, effects of the day of the week and of the last working day of the month, and noise. One
pass of the Kalman filter also yields the forecasts of every earlier day: their errors scale the uncertainty.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History
from model.calibration.regression import normal_samples
from model.capacity.growth import is_month_end
from model.capacity.parameters import Growth

Array = NDArray[np.float64]

GROWTH = 0.01
"""Growth a week as a logarithm: half of all classes grow or shrink by less, beforehand."""
SPREADS = GROWTH * np.tan(np.pi / 2 * (np.arange(64) + 0.5) / 64)
"""How far growth may spread beforehand: a half-Cauchy distribution, so that a class may plainly come or go."""
FEWEST_DAYS = 10
"""Whole days that a trend needs."""
FEWEST_MONTH_ENDS = 2
COMPLETE = 0.9
"""Part of the usual recorded time that a whole day has."""
OUTLYING = 5.0
"""Standard deviations beyond which a day, such as a holiday, says nothing of growth."""
MOST_WEEKS_AHEAD = 8
FIRST_ORIGIN, LEAST_ORIGINS = 14, 4
"""Days before the first forecast of the backtest, and weeks with forecasts that tell which way of it is better."""
PRIOR_ORIGINS = 4.0
"""Weeks of forecasts whose errors are as expected, beforehand."""
BETTER = 0.9
"""Part of the trend's error below which an unchanged load is the better forecast."""


@dataclass(frozen=True)
class Fitted:
    """Growth from consecutive days as fitted.

    ``slope`` a day with its standard deviation; standard deviations of the level's ``drift`` in a day and of the
    ``noise`` of a day; seasons. By day: the level ``smoothed`` (days,); of the filter ``level`` and ``slopes`` (days,)
    with their covariances (days, 2, 2); logs ``adjusted`` for seasons (days,), NaN where there are none.
    """

    slope: float
    slope_sd: float
    drift: float
    noise: float
    weekdays: Array
    month_end: float
    smoothed: Array
    level: Array
    slopes: Array
    covariances: Array
    adjusted: Array


def growth(h: History, amounts: Array, name: str) -> Growth:
    """Growth of what intervals have, (intervals,), for each week: a logarithm with samples, the
    drift of its level, seasons, and what forecasts of earlier weeks were off."""
    days, index = np.unique(h.day, return_inverse=True)
    recorded, of_day = np.bincount(index, weights=h.seconds), np.bincount(index, weights=amounts)
    whole = (recorded > COMPLETE * np.median(recorded)) & (of_day > 0)
    if whole.sum() < FEWEST_DAYS:
        return Growth(normal_samples(0.0, GROWTH, name))
    first = int(days[whole][0])
    logs = np.full(int(days[whole][-1]) - first + 1, np.nan)
    logs[days[whole] - first] = np.log(of_day[whole])
    fitted = fit(first, logs)
    scale, tested = _backtest(fitted)
    mean, sd = shrunk(7.0 * fitted.slope, 7.0 * scale * fitted.slope_sd)
    if (
        tested is not None
        and tested["origins"] >= LEAST_ORIGINS
        and tested["unchanged_error_pct"] < BETTER * tested["error_pct"]
    ):
        mean, sd = 0.0, math.hypot(mean, sd)
    return Growth(
        normal_samples(mean, sd, name),
        drift_sd=scale * fitted.drift * math.sqrt(7.0),
        weekday=tuple(fitted.weekdays.tolist()),
        month_end=fitted.month_end,
        backtest=tested,
    )


def shrunk(seen: float, sd: float) -> tuple[float, float]:
    """Mean and standard deviation of growth a week that was seen so, with what is known of growth beforehand."""
    variance = max(sd, 1e-9) ** 2
    evidence = variance + SPREADS**2
    chance = np.exp(-0.5 * (seen**2 / evidence - seen**2 / evidence.max())) / np.sqrt(evidence)
    chance /= chance.sum()
    means, variances = seen * SPREADS**2 / evidence, variance * SPREADS**2 / evidence
    mean = float(chance @ means)
    return mean, math.sqrt(float(chance @ (variances + (means - mean) ** 2)))


def fit(first: int, logs: Array) -> Fitted:
    """The model of consecutive days from ``first`` (days since 1970) on, (days,) logarithms, NaN for none."""
    fitted = _fit(first, logs)
    residual = np.abs(fitted.adjusted - fitted.smoothed)
    usual = 1.4826 * float(np.nanmedian(residual))
    outlying = residual > OUTLYING * max(usual, 1e-6)
    if outlying.any() and (~np.isnan(logs) & ~outlying).sum() >= FEWEST_DAYS:
        return _fit(first, np.where(outlying, np.nan, logs))
    return fitted


def _fit(first: int, logs: Array) -> Fitted:
    # A second of import, for calibration alone.
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    weekday = (first + 3 + np.arange(len(logs))) % 7
    weekdays = np.unique(weekday[~np.isnan(logs)])
    # Effects of the days of the week add up to nothing.
    columns = [(weekday == day) * 1.0 - (weekday == weekdays[-1]) for day in weekdays[:-1]]
    ends = _month_ends(first, len(logs))
    has_ends = (ends * ~np.isnan(logs)).sum() >= FEWEST_MONTH_ENDS
    design = np.column_stack([*columns, *([ends] if has_ends else [])])
    with warnings.catch_warnings():
        # Variances of nearly nothing do not converge to nothing; where they are does not matter.
        warnings.simplefilter("ignore")
        model = UnobservedComponents(logs, level="lldtrend", exog=design, mle_regression=False)
        results = model.fit(disp=False, maxiter=50)
    names = dict(zip(results.model.param_names, results.params, strict=True))
    effects = results.smoothed_state[2:, -1]
    levels = np.zeros(7)
    levels[weekdays[:-1]] = effects[: len(weekdays) - 1]
    levels[weekdays[-1]] = -effects[: len(weekdays) - 1].sum()
    return Fitted(
        slope=float(results.smoothed_state[1, -1]),
        slope_sd=math.sqrt(max(float(results.smoothed_state_cov[1, 1, -1]), 0.0)),
        drift=math.sqrt(max(float(names.get("sigma2.level", 0.0)), 0.0)),
        noise=math.sqrt(max(float(names.get("sigma2.irregular", 0.0)), 0.0)),
        weekdays=levels,
        month_end=float(effects[-1]) if has_ends else 0.0,
        smoothed=np.asarray(results.smoothed_state[0], float),
        level=np.asarray(results.filtered_state[0], float),
        slopes=np.asarray(results.filtered_state[1], float),
        covariances=np.moveaxis(np.asarray(results.filtered_state_cov[:2, :2], float), -1, 0),
        adjusted=logs - design @ effects,
    )


def _month_ends(first: int, days: int) -> Array:
    """(days,) 1 for the last working day of a month, 0 else."""
    dates = np.datetime64(first, "D") + np.arange(days)
    return np.array([is_month_end(date) for date in dates.astype(object)], float)


def _backtest(fitted: Fitted) -> tuple[float, dict[str, Any] | None]:
    """How many times the expected errors those of forecasts from earlier weeks were, and these in the median, beside
    those of a load that stays as it is; None for these without any."""
    squares: list[float] = []
    errors: list[float] = []
    unchanged: list[float] = []
    for origin in range(FIRST_ORIGIN - 1, len(fitted.level) - 7, 7):
        at_origin = []
        for week in range(1, MOST_WEEKS_AHEAD + 1):
            target = fitted.adjusted[origin + 7 * week - 6 : origin + 7 * week + 1]
            if len(target) < 7 or np.isnan(target).sum() > 2:
                continue
            ahead = 7.0 * week - 3.0
            seen = float(np.nanmean(target))
            off = seen - fitted.level[origin] - ahead * fitted.slopes[origin]
            weights = np.array([1.0, ahead])
            variance = weights @ fitted.covariances[origin] @ weights + ahead * fitted.drift**2 + fitted.noise**2 / 7.0
            at_origin.append(off**2 / max(float(variance), 1e-12))
            errors.append(abs(off))
            unchanged.append(abs(seen - fitted.level[origin]))
        if at_origin:
            squares.append(float(np.mean(at_origin)))
    if not squares:
        return 1.0, None
    scale = math.sqrt((PRIOR_ORIGINS + sum(squares)) / (PRIOR_ORIGINS + len(squares)))
    pct = [100.0 * float(np.expm1(np.median(some))) for some in (errors, unchanged)]
    return scale, {"origins": len(squares), "error_pct": pct[0], "unchanged_error_pct": pct[1]}
