"""A response whose changes a baseline predicts more closely than the model, by the backtest at higher loads."""

from dataclasses import replace

import pytest

from model.capacity.ask import compare, max_rate, predict, size, sweep
from model.capacity.evidence import explain
from model.capacity.forecast import headroom
from model.capacity.parameters import HIGHER, LATER, MMC, PROPORTIONAL, USUAL
from tests.cases.histories import bundle_of, history

HISTORY = history()
PEAK = {"when": "peak"}
GROWTH = {"when": "peak", "growth_pct": 40}


@pytest.fixture(scope="module")
def bundle():
    return bundle_of(HISTORY)


def judged(bundle, **backtest):
    one = {"held_out": HIGHER, "metric": "response_ms", "class": "LOW", "model_pct": 5.0, "baseline_pct": 2.0}
    gate = {"passed": True, "checks": [], "baselines": [one | backtest]}
    return {**bundle, "systems": {"PRDA": replace(bundle["systems"]["PRDA"], gate=gate)}}


def response(bundle, at, name="LOW"):
    return predict(bundle, "PRDA", at).output("response_ms", f"class={name}").value


def test_a_constant_response_that_was_closer_is_kept_at_higher_loads(bundle):
    by = judged(bundle, baseline=USUAL)
    assert response(by, GROWTH) == pytest.approx(response(by, PEAK))
    assert response(bundle, GROWTH) > 1.05 * response(bundle, PEAK)
    assert response(by, GROWTH, "HIGH") == pytest.approx(response(bundle, GROWTH, "HIGH"))
    [note] = [note for note in predict(by, "PRDA", GROWTH).notes if USUAL in note]
    assert note.startswith("backtest at higher loads") and "predicted by the baseline" in note


def test_a_response_as_of_mmc_changes_with_the_busy_engines(bundle):
    by = judged(bundle, baseline=MMC)
    assert response(by, PEAK) == pytest.approx(response(bundle, PEAK))
    assert response(by, GROWTH) > 1.05 * response(by, PEAK)


def test_busy_is_in_proportion_to_the_work_where_that_was_closer(bundle):
    by = judged(bundle, **{"metric": "cpu_busy_pct", "class": "", "baseline": PROPORTIONAL})

    def busy(model, at):
        return predict(model, "PRDA", at).output("cpu_busy_pct").value

    assert busy(by, PEAK) == pytest.approx(busy(bundle, PEAK))
    assert busy(by, GROWTH) == pytest.approx(1.4 * busy(by, PEAK), rel=1e-3)
    assert busy(bundle, GROWTH) < 1.39 * busy(bundle, PEAK)
    [note] = [note for note in predict(by, "PRDA", GROWTH).notes if PROPORTIONAL in note]
    assert note.startswith("backtest at higher loads") and "predicted by the baseline" in note


def test_a_baseline_that_is_not_plainly_closer_or_of_later_days_is_not_used(bundle):
    for backtest in ({"baseline": USUAL, "baseline_pct": 4.8}, {"baseline": USUAL, "held_out": LATER}):
        assert response(judged(bundle, **backtest), GROWTH) == pytest.approx(response(bundle, GROWTH))


def sweep_growth(bundle, system, at):
    return sweep(bundle, system, "growth_pct", [0.0, 10.0], at=at)


def what_if(bundle, system, at):
    return compare(bundle, system, at, GROWTH)["b"]


@pytest.mark.parametrize("ask", [predict, explain, headroom, max_rate, size, sweep_growth, what_if])
def test_a_failed_gate_is_in_every_answer(bundle, ask):
    check = {"name": "median error of busy at higher loads, %", "value": 5.0, "limit": 3.0, "passed": False}
    failed = {"passed": False, "checks": [check], "baselines": []}
    entry = replace(bundle["systems"]["PRDA"], gate=failed)
    answer = ask({**bundle, "systems": {"PRDA": entry}}, "PRDA", PEAK)
    notes = answer.notes if hasattr(answer, "notes") else answer["notes"]
    assert any("did not pass its gate (median error of busy at higher loads, %)" in note for note in notes)
