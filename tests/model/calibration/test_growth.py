"""Growth of a class from its days: trend, seasons, and bands that hold what comes."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.growth import fit, growth, shrunk
from model.capacity.growth import is_month_end
from tests.cases.histories import history

FIRST = np.datetime64("2026-06-01")
WEEK = np.array([0.05, 0.1, 0.1, 0.05, 0.0, -1.0, -1.2])
NOISE = 0.03


def logs(days, seed, slope=0.0, drift=0.0, month_end=0.0):
    """(days,) logs of what days have, from a Monday on."""
    random = np.random.default_rng(seed)
    level = 5.0 + slope * np.arange(days) / 7.0 + np.cumsum(drift * random.standard_normal(days))
    ends = np.array([is_month_end(day) for day in (FIRST + np.arange(days)).astype(object)])
    return level + WEEK[np.arange(days) % 7] + month_end * ends + NOISE * random.standard_normal(days)


def found(values, missing=()):
    """What calibration makes of a history with an interval a day."""
    kept = np.setdiff1d(np.arange(len(values)), missing)
    times = (FIRST + kept).astype("datetime64[s]")
    given = replace(history(), start_local=times, start_utc=times, seconds=np.full(len(kept), 86400.0))
    return growth(given, np.exp(values[kept]), "a class")


@pytest.mark.parametrize("slope", [-0.3, -0.02, 0.05])
def test_the_trend_of_many_weeks_is_what_it_was(slope):
    trend = found(logs(91, 1, slope))
    assert trend.rate[0] == pytest.approx(slope, abs=0.003)
    assert 0.0003 < np.std(trend.rate[1:]) < 0.01


def test_days_of_the_week_and_ends_of_months_are_found():
    trend = found(logs(120, 2, month_end=0.4))
    assert trend.weekday == pytest.approx(WEEK - WEEK.mean(), abs=0.03)
    assert trend.month_end == pytest.approx(0.4, abs=0.06)


def test_a_season_that_was_not_seen_often_is_none():
    assert found(logs(40, 3, month_end=0.4)).month_end == 0.0


def test_lost_days_and_a_holiday_change_no_trend():
    values = logs(91, 4, 0.02)
    whole = found(values).rate[0]
    values[45] -= 1.5
    assert found(values).rate[0] == pytest.approx(whole, abs=0.001)
    assert found(values, missing=[10, 11, 12, 60]).rate[0] == pytest.approx(whole, abs=0.002)


def test_few_days_and_days_of_nothing_show_no_growth():
    assert found(logs(9, 5)).rate[0] == 0.0
    assert found(np.full(30, 3.0)).rate[0] == pytest.approx(0.0, abs=1e-6)


def test_where_an_unchanged_load_was_the_better_forecast_it_is_the_forecast():
    trends = [found(logs(91, seed)) for seed in range(8)]
    better = [one for one in trends if one.backtest["unchanged_error_pct"] < 0.9 * one.backtest["error_pct"]]
    assert len(better) >= 4
    assert {one.rate[0] for one in better} == {0.0}
    assert all(one.backtest["origins"] == 11 for one in trends)


def test_bands_hold_what_comes():
    held = []
    for seed in range(80):
        slope, drift = ((0.0, 0.0), (0.02, 0.0), (0.0, 0.01), (-0.01, 0.02))[seed % 4]
        values = logs(91 + 56, 100 + seed, slope, drift)
        trend, last = found(values[:91]), values[84:91].mean()
        deviates = np.random.default_rng(seed).standard_normal((2, 128))
        for weeks in (1, 4, 8):
            off = trend.rate[1:] * weeks + trend.drift_sd * np.sqrt(weeks) * deviates[0]
            low, high = np.quantile(last + off + NOISE * np.sqrt(2 / 7) * deviates[1], [0.05, 0.95])
            held.append(low <= values[84 + 7 * weeks : 91 + 7 * weeks].mean() <= high)
    assert 0.85 <= np.mean(held) <= 0.97


def test_growth_that_hardly_shows_is_taken_for_less():
    mean, sd = shrunk(0.05, 0.05)
    assert 0.0 < mean < 0.03 and sd < 0.05
    assert shrunk(-0.36, 0.01)[0] == pytest.approx(-0.36, abs=0.005)


def test_the_same_days_have_the_same_fit():
    values = logs(60, 6)
    assert fit(20000, values).slope == fit(20000, values.copy()).slope
