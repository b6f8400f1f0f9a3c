"""In which order work gets the engines, as far as responses tell it."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import History
from model.calibration.production import entry
from model.calibration.regression import Fit
from model.calibration.waiting import Order, Seen
from model.capacity import queues
from model.capacity.ask import predict
from model.capacity.bundle import build
from tests.model.calibration.test_production import DEMAND_S, ENGINES, REST_MS, history

FEW = np.arange(1344) < 288


def strain(alone: float) -> float:
    """That of work that runs to its end and waits ``alone`` times as long as the queue has it."""
    none = np.zeros(1)
    seen = Seen(0, none > 0, *[none] * 11, none.astype(np.int64), Order.IN_LINE, alone=alone)
    cov = np.diag([1.0, *[(0.05 * alone) ** 2] * 2, 1.0, 0.3**2])
    return seen.strain(Fit(np.array([1.0, alone, alone, 0.0, 1.0]), cov, 1.0, 0.0, 1.0))


def test_work_that_never_waits_does_not_run_to_its_end():
    assert strain(0.02) == pytest.approx(strain(50.0))
    assert strain(0.02) > strain(1.0) + 10.0
    assert abs(strain(0.5) - strain(1.0)) < 1.0


def stretches(used: np.ndarray, busy: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """(n, 2) responses where the first class goes before the second, and uncaptured time before both."""
    more = busy - used.sum(axis=1)
    first, second = queues.stretch(used[:, 0], ENGINES, more), queues.stretch(used[:, 1], ENGINES, used[:, 0] + more)
    return (1e3 * DEMAND_S * np.column_stack([first, second]) + REST_MS) * scatter


def one_before_the_other() -> History:
    given = history()
    used, busy = given.cp_s / given.seconds[:, None], given.busy_s / given.seconds
    scatter = np.random.default_rng(5).normal(1.0, 0.01, used.shape)
    return replace(given, response_ms=stretches(used, busy, scatter)).rows(FEW)


def test_classes_of_one_importance_may_go_before_each_other():
    given = one_before_the_other()
    made = entry(given)
    assert made["usage"]["uncaptured"]["level"] < made["usage"]["HIGH"]["level"] < made["usage"]["LOW"]["level"]
    answer = predict(build({"PRDA": made}, data={}, validation={}), "PRDA", {"growth_pct.HIGH": 20})
    top = int(given.busy_s.argmax())
    rates = given.ended[top] / given.seconds[top] * [1.2, 1.0]
    busy = answer.output("cpu_busy_pct").value / 100.0 * ENGINES
    expected = stretches((rates * DEMAND_S)[None], np.array([busy]), np.ones(2))[0]
    for name, response in zip(given.classes, expected, strict=True):
        assert answer.output("response_ms", f"class={name}").value == pytest.approx(response, rel=0.03)


def test_where_waits_are_too_short_to_tell_the_order_answers_hold_for_both():
    given = history().rows(FEW)
    unwaiting = (1e3 * DEMAND_S + REST_MS) * np.random.default_rng(6).normal(1.0, 0.01, given.ended.shape)
    roomy = replace(given, importance=np.array([2, 4]), engines=4.0 * given.engines, response_ms=unwaiting)
    told = entry(roomy)["priorities"]
    assert told["centre"] == 1.0 and 0.5 < np.mean(told["draws"]) < 0.95
