"""Transactions that come in bursts: found in records of intervals, and answered as a network plays them."""

from dataclasses import replace

import numpy as np
import pytest

from model.calibration.history import History
from model.calibration.production import entry
from model.capacity import queues
from model.capacity.ask import predict
from tests.model.calibration.test_production import (
    DEMAND_S,
    ENGINES,
    REST_MS,
    SECONDS,
    SHARE,
    bundle_of,
    history,
    peak_rates,
)
from tests.model.capacity.test_ensemble import scenario
from tests.model.capacity.test_network import agree, played, ranked

ON = 0.7


def waits_ms(busy: np.ndarray, rates: np.ndarray, bursting: int) -> np.ndarray:
    """(n, 2) waits in M/M/4 at (n,) engines in use by (n, 2) transactions/s, those of a class in long bursts."""
    own = (1.0 + SHARE) * rates[:, bursting] * DEMAND_S[bursting]
    burst, between = (1e3 * (queues.stretch(busy + by * own, ENGINES) - 1.0) for by in (1.0 / ON - 1.0, -1.0))
    found = np.outer(ON * burst + (1.0 - ON) * between, DEMAND_S)
    found[:, bursting] = burst * DEMAND_S[bursting]
    return found


def in_bursts(plain: History, bursting: int) -> History:
    """The same work, one class in bursts."""
    random = np.random.default_rng(5)
    found = waits_ms(plain.busy_s / SECONDS, plain.ended / SECONDS, bursting)
    response = (1e3 * DEMAND_S + REST_MS + found) * random.normal(1.0, 0.005, found.shape)
    return replace(plain, response_ms=response, p90_ms=2.2 * response)


@pytest.mark.parametrize("bursting", [0, 1])
def test_the_class_that_comes_in_bursts_is_found_and_waits_grow_as_with_them(bursting: int):
    given = in_bursts(history(), bursting)
    found = entry(given)
    assert found["bursts"]["stream"] == given.classes[bursting]
    assert found["bursts"]["on"]["centre"] == pytest.approx(ON, abs=0.06)
    rates, top = 1.06 * peak_rates(given), int(np.argmax(given.busy_s))
    answer = predict(bundle_of(given), "PRDA", {"growth_pct": 6})
    busy = given.busy_s[top] / SECONDS + 0.06 / 1.06 * (1.0 + SHARE) * float(rates @ DEMAND_S)
    expected = 1e3 * DEMAND_S + REST_MS + waits_ms(np.array([busy]), rates[None], bursting)[0]
    for name, truth in zip(given.classes, expected, strict=True):
        output = answer.output("response_ms", f"class={name}")
        assert output.value == pytest.approx(truth, rel=0.1)
        assert output.lo <= truth <= output.hi


def test_nothing_comes_in_bursts_where_waits_are_those_of_arrivals_by_chance():
    assert "bursts" not in entry(history())


@pytest.mark.parametrize("stream", ["online", "batch"])
def test_bursts_are_played_as_they_are_answered(stream: str):
    bursts = {"stream": stream, "on": {"centre": 0.7, "draws": []}, "lasting_s": {"centre": 2.0, "draws": []}}
    found, result = played(ranked(bursts=bursts), scenario(900.0, 300.0))
    agree(found, result, within=0.04)
    low = next(key for key in found.state.response_ms if key[1] == "batch")
    assert found.state.response_ms[low][0, 0] > 1.01 * ranked().evaluate(scenario(900.0, 300.0)).response_ms[low][0, 0]
