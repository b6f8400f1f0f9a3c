"""Steps of the CPU per transaction: found where they are, and not found in series without one."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import History
from model.calibration.lpar import calibrate_lpar, steady_since
from model.calibration.steps import last_step
from model.capacity.ask import max_rate
from model.capacity.question import parse
from model.capacity.system import System
from model.validation.origin import checks, held_out
from tests.cases.histories import FIXED, SECONDS, SHARE, bundle_of, history

AN_HOUR = 24
"""Intervals of a day in the series."""


def series(random, days, scatter, correlation=0.0, at=None, change=0.0):
    """CPU, drivers and days of a class with an office's day, a fixed part, a growing load and dearer weekends."""
    day = np.repeat(np.arange(20_000, 20_000 + days), AN_HOUR)
    of_day = random.normal(size=days)
    for i in range(1, days):
        of_day[i] = correlation * of_day[i - 1] + np.sqrt(1.0 - correlation**2) * of_day[i]
    weekend = (day - 2) % 7 < 2
    hour = 1.2 + np.sin(np.arange(len(day)) / AN_HOUR * 2.0 * np.pi)
    ended = random.poisson(1e3 * hour * np.where(weekend, 0.5, 1.0) * np.exp(0.3 * (day - day[0]) / days))
    cost = 0.01 * np.exp(scatter * of_day[day - day[0]]) * np.where(weekend, 1.05, 1.0)
    cost *= 1.0 + change * (np.arange(len(day)) >= (len(day) if at is None else at))
    cpu_s = ended * cost * random.normal(1.0, 0.01, len(day)) + 2.0
    return cpu_s, np.column_stack([np.full(len(day), SECONDS), ended]), day


def test_the_last_step_is_found_at_its_interval_with_its_size():
    first, second = 20 * AN_HOUR + 13, 34 * AN_HOUR + 7
    cpu_s, drivers, day = series(np.random.default_rng(4), 45, 0.004, 0.3, first, 0.12)
    found = last_step(cpu_s, drivers, day)
    assert abs(found.first - first) <= 2
    assert found.change == pytest.approx(0.12 * (1 - 2.0 * AN_HOUR * 45 / cpu_s.sum()), abs=0.02)
    back = np.where(np.arange(len(day)) >= second, 0.9, 1.0)
    again = last_step(cpu_s * back, drivers, day)
    assert abs(again.first - second) <= 4 and again.change == pytest.approx(-0.1, abs=0.02)


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0), (0.5, 2)])
def test_noisy_series_without_a_step_show_none(correlation, most):
    random = np.random.default_rng(6)
    false = [last_step(*series(random, days, 0.03, correlation)) for days in (9, 14, 30, 60) for _ in range(50)]
    assert sum(step is not None for step in false) <= most


def test_a_release_splits_the_backtest_and_does_not_widen_its_intervals():
    given, released = history(), np.datetime64("2026-09-12T05:00")
    cp_s = given.cp_s * np.where((given.start_local >= released)[:, None], [1.0, 1.25], 1.0)
    after = replace(given, cp_s=cp_s, busy_s=FIXED * SECONDS + (1.0 + SHARE) * cp_s.sum(axis=1))
    assert abs(steady_since(after) - released) <= np.timedelta64(30, "m")
    table = held_out(after)
    assert set(table["since"].str[:10]) == {"2026-09-12"}
    busy = table[(table["metric"] == "cpu_busy_pct") & (table["scheme"] == "later days")]
    assert (busy["half_width_pct"] < 2.0).all()
    assert [check.name for check in checks(table) if not check.passed] == []


def cheaper_since(moment: str) -> History:
    """The made history, with transactions that took a quarter more before."""
    given = history()
    cp_s = given.cp_s * np.where(given.start_local < np.datetime64(moment), 1.25, 1.0)[:, None]
    return replace(given, cp_s=cp_s, busy_s=FIXED * SECONDS + (1.0 + SHARE) * cp_s.sum(axis=1))


def test_growth_allowed_is_that_from_the_peak_since_a_step():
    allowed = max_rate(bundle_of(history()), "PRDA", max_busy_pct=90)["growth_pct"]["value"]
    assert allowed == pytest.approx(29.5, abs=0.5)
    stepped = max_rate(bundle_of(cheaper_since("2026-09-14")), "PRDA", max_busy_pct=90)
    assert stepped["growth_pct"]["value"] == pytest.approx(allowed, abs=0.5)
    assert not any("keeps its CPU" in note for note in stepped["notes"])


@pytest.mark.parametrize(("moment", "earlier"), [("2026-09-14", False), ("2026-09-17", True)])
def test_a_peak_from_before_a_step_is_kept_and_noted_where_few_days_follow(moment, earlier):
    given = cheaper_since(moment)
    shifts = {"shifts": {"prime": {"hours": ["09:00", "17:00"]}}}
    system = System(replace(calibrate_lpar(given), calendar=shifts))
    for at in ({}, {"when": "peak"}, {"shift": "prime"}, {"when": "2027-01-11"}):
        load = parse(system, at)
        noted = [note for note in load.notes if "keeps its CPU from before the step" in note]
        assert len(noted) == earlier
        index = load.scenario.recorded[0]
        assert (given.start_local[index] < np.datetime64(moment)) == earlier
        assert all(str(given.start_local[index]) in note for note in noted)
