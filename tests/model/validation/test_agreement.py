"""Agreement of answers with the simulator: who agrees, who does not, and what an answer then says."""

import json
import math
from dataclasses import replace
from functools import cache

import pytest

from model.calibration.production import entry
from model.capacity.ask import SOLVER, predict
from model.capacity.bundle import build
from model.network.simulator.simulate import simulate
from model.validation.agreement import agreement
from tests.model.calibration.test_production import history


@cache
def calibrated():
    return entry(history())


@pytest.fixture
def wrong(monkeypatch):
    """An ensemble that leaves half of the queueing for engines out of its responses."""
    from model.capacity import queues

    true = queues.stretch
    monkeypatch.setattr(queues, "stretch", lambda *load: 1.0 + (true(*load) - 1.0) / 2.0)


def test_a_system_is_played_at_three_loads_and_agrees():
    found = agreement("PRDA", calibrated())
    assert found["passed"]
    assert [row["filled_pct"] for row in found["loads"]] == [50.0, 70.0, 85.0]
    assert found == agreement("PRDA", calibrated())


def test_answers_that_the_simulator_does_not_confirm_say_so(wrong):
    found = agreement("PRDA", calibrated())
    assert not found["passed"]
    assert found["worst_pct"] > found["allowed_pct"]["response"]
    # Of its classes a load shows the one that waits for engines longest beside what it uses.
    assert {row["class"] for row in found["loads"]} == {"HIGH"}
    gate = {"passed": None, "checks": [], "behind_baseline": [], "simulated": found}
    answer = predict(build({"PRDA": calibrated() | {"gate": gate}}, data={}, validation={}), "PRDA")
    assert answer.solver["relative_error"] == pytest.approx(found["worst_pct"] / 100.0)
    assert answer.solver["relative_error"] > SOLVER["relative_error"]
    assert any("the simulator gives" in note for note in answer.notes)
    assert not any("busier" in note for note in answer.notes)


def test_responses_too_long_for_the_simulation_are_not_compared(wrong, monkeypatch):
    from model.validation import agreement as checked

    monkeypatch.setattr(checked, "LONG", 1e9)
    found = agreement("PRDA", calibrated())
    assert found["passed"] and found["worst_pct"] == 0.0
    for row in found["loads"]:
        assert set(row["not_compared"]) == {"HIGH", "LOW"} and not row["class"]
        # All that the classes use of the engines is in doubt; uncaptured work is not.
        assert 50.0 < row["busy_half_width_pct"] < 100.0


def test_a_class_seen_too_seldom_to_have_a_half_width_is_not_compared(monkeypatch):
    from model.validation import agreement as checked

    def seldom(*about, **options):
        result = simulate(*about, **options)
        high = result.classes["HIGH"]
        high = replace(high, response_s=replace(high.response_s, half_width=math.nan))
        return replace(result, classes=result.classes | {"HIGH": high})

    monkeypatch.setattr(checked, "simulate", seldom)
    monkeypatch.setattr(checked, "FILLED", (0.5,))
    [row] = agreement("PRDA", calibrated())["loads"]
    assert (row["not_compared"], row["class"]) == (["HIGH"], "LOW")
    json.dumps(row, allow_nan=False)


def test_answers_say_where_the_simulator_has_the_engines_busier():
    load = {"filled_pct": 85.0, "busy_error_pct": 3.1, "response_error_pct": 55.0, "class": "LOW", "agrees": False}
    found = {"passed": False, "allowed_pct": {"busy": 1.0, "response": 42.9}, "worst_pct": 43.0, "loads": [load]}
    gate = {"passed": None, "checks": [], "behind_baseline": [], "simulated": found}
    answer = predict(build({"PRDA": calibrated() | {"gate": gate}}, data={}, validation={}), "PRDA")
    assert any("the engines 3.1 % busier" in note for note in answer.notes)


def test_a_simulated_response_beyond_measure_is_called_full_in_place_of_a_percentage():
    load = {"filled_pct": 85.0, "busy_error_pct": 0.1, "response_error_pct": 24102.0, "class": "HIGH", "agrees": False}
    found = {"passed": False, "allowed_pct": {"busy": 1.0, "response": 42.9}, "worst_pct": 43.0, "loads": [load]}
    gate = {"passed": None, "checks": [], "behind_baseline": [], "simulated": found}
    answer = predict(build({"PRDA": calibrated() | {"gate": gate}}, data={}, validation={}), "PRDA")
    assert any("response of HIGH so long that it has something full" in note for note in answer.notes)
