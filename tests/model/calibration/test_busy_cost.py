"""Cost that grows with how busy the engines are: found where it is there, and only there."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.demands import cost_by_busy
from model.calibration.lpar import calibrate_lpar
from model.capacity.ask import predict
from model.capacity.bundle import build
from tests.cases.histories import ENGINES, FIXED, SECONDS, SHARE, history

GROWTH = 0.2


def dearer(rates_factor: float = 1.0):
    """The made history with work that costs more when more engines are busy: CPU and busy of each interval."""
    given = history()
    work, busy = given.cp_s * rates_factor, given.busy_s * rates_factor
    for _ in range(30):
        part = busy / SECONDS / ENGINES
        cpu = work * (1.0 + GROWTH * part)[:, None]
        busy = FIXED * SECONDS + (1.0 + SHARE) * cpu.sum(axis=1)
    return replace(given, cp_s=cpu, busy_s=busy)


def test_growth_of_cost_is_found_and_followed_beyond_the_data():
    given = dearer()
    found, _ = cost_by_busy(given, [0, 1])
    assert found.slope[0] * (1.0 + GROWTH * found.reference) == pytest.approx(GROWTH, rel=0.1)
    truth = dearer(1.15)
    top = int(given.busy_s.argmax())
    answer = predict(build({"PRDA": calibrate_lpar(given)}, data={}, validation={}), "PRDA", {"growth_pct": 15})
    busy = answer.output("cpu_busy_pct")
    expected = 100.0 * truth.busy_s[top] / SECONDS / ENGINES
    assert busy.value == pytest.approx(expected, rel=0.01)
    assert busy.lo <= expected * 1.005 and busy.hi >= expected * 0.995


def excludes_none(slope) -> bool:
    """Whether the 90 % interval of a growth is above nothing."""
    return bool(np.quantile(slope[1:], 0.05) > 0.0)


def test_cost_that_stays_is_left_alone():
    slope = cost_by_busy(history(), [0, 1])[0].slope
    assert slope[0] < 0.01
    assert not excludes_none(slope)


def test_growth_that_low_loads_hardly_tell_stays_as_unsure_as_they_leave_it():
    given = dearer()
    low = given.busy_s < np.quantile(given.busy_s, 0.5)
    cost, _ = cost_by_busy(given.rows(low), [0, 1])
    low_end, high_end = np.quantile(cost.slope[1:], [0.05, 0.95]) * (1.0 + GROWTH * cost.reference)
    assert 0.0 < low_end < 0.8 * GROWTH < high_end


def test_more_engines_are_surer_where_busy_engines_do_not_disturb_each_other():
    bundle = build({"PRDA": calibrate_lpar(history()), "PRDB": calibrate_lpar(dearer())}, data={}, validation={})
    quiet, noisy = (
        predict(bundle, system, {"engines": ENGINES + 2}).output("cpu_busy_pct") for system in bundle["systems"]
    )
    assert quiet.hi - quiet.lo < (noisy.hi - noisy.lo) / 2


def test_what_one_class_happens_to_use_is_no_growth_of_its_cost():
    given, random = history(), np.random.default_rng(4)
    alone = given.cp_s * np.where(np.arange(given.cp_s.shape[1]) == 0, 1.0, 0.0)
    alone[:, 0] = given.ended[:, 0] * 0.02 * np.exp(random.normal(0.0, 0.01, len(given.seconds)))
    busy = FIXED * SECONDS + (1.0 + SHARE) * alone.sum(axis=1)
    flat = given.ended[:, 0] < 1.3 * given.ended[:, 0].min()
    assert flat.sum() > 50
    quiet = replace(given, cp_s=np.where(flat[:, None], alone, np.nan), busy_s=busy)
    assert not excludes_none(cost_by_busy(quiet, [0])[0].slope)
