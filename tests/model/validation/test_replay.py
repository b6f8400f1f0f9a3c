"""Recorded transactions through the calibrated network: near where it is right, far where it is not."""

import numpy as np
import pytest

from model.calibration.lpar import calibrate_lpar
from model.capacity.bundle import build
from model.capacity.network_export import export_network
from model.network.simulator import simulate
from model.validation.replay import ALLOWED, Transactions, judged, replayed
from tests.cases.histories import history

SECONDS = 60.0


@pytest.fixture(scope="module")
def found():
    return export_network(build({"PRDA": calibrate_lpar(history())}, data={}, validation={}), "PRDA")


def recorded(found, part=1.0, seed=3):
    """Poisson arrivals of the first class with exponential work, whose responses the network itself has made."""
    random = np.random.default_rng(seed)
    name = next(iter(found.response))
    one = next(c for c in found.network.classes if c.name == name)
    n = random.poisson(one.arrivals.rate_per_s * SECONDS * part)
    arrival = np.sort(random.uniform(0.0, SECONDS, n))
    cpu = random.exponential(1e-3, n)
    blank = Transactions(arrival, np.full(n, name), cpu, np.ones(n))
    mean = replayed(found, blank, seed=seed)[0]["replayed"]["mean_ms"] / 1e3
    return blank, mean


def test_a_class_that_responds_as_calibrated_is_near(found):
    given, mean = recorded(found)
    random = np.random.default_rng(5)
    times = random.gamma(2.0, mean / 2.0, len(given.arrival_s))
    row = replayed(found, Transactions(given.arrival_s, given.classes, given.cpu_s, times))[0]
    assert row["recorded_part"] > 0.95
    assert row["wasserstein"] < 0.35
    assert row["replayed"]["mean_ms"] == pytest.approx(1e3 * mean, rel=0.1)


def test_a_class_that_takes_twice_as_long_is_far(found):
    given, mean = recorded(found)
    times = np.full(len(given.arrival_s), 2.0 * mean)
    row = replayed(found, Transactions(given.arrival_s, given.classes, given.cpu_s, times))[0]
    assert row["wasserstein"] > 0.4
    assert row["ks"] > 0.8


def test_what_was_not_recorded_runs_beside_what_was(found):
    given, _ = recorded(found)
    half, _ = recorded(found, part=0.5)
    whole = replayed(found, given)[0]
    row = replayed(found, half)[0]
    assert row["recorded_part"] == pytest.approx(0.5, abs=0.05)
    assert row["replayed"]["mean_ms"] == pytest.approx(whole["replayed"]["mean_ms"], rel=0.1)


def test_other_classes_run_beside(found):
    given, _ = recorded(found)
    row = replayed(found, given)[0]
    whole = simulate(found.network, seed=1, horizon=100_000).classes[row["class"]].response_s.value
    assert row["replayed"]["mean_ms"] == pytest.approx(1e3 * whole, rel=0.05)


def test_transactions_of_no_known_class_are_refused_by_name(found):
    nothing = Transactions(np.arange(9.0), np.full(9, "OTHER"), np.ones(9), np.ones(9))
    with pytest.raises(ValueError, match="recorded: OTHER"):
        replayed(found, nothing)


def test_a_class_that_is_not_reproduced_is_named_with_its_distance():
    near, far = (
        {"class": name, "transactions": 99, "recorded_part": 1.0, "wasserstein": w, "ks": 0.1, "recorded": {}}
        for name, w in (("NEAR", 0.1), ("FAR", 2 * ALLOWED))
    )
    assert judged([near])["passed"]
    found = judged([near, far])
    assert not found["passed"]
    assert [(row["class"], row["wasserstein"]) for row in found["classes"]] == [("NEAR", 0.1), ("FAR", 2 * ALLOWED)]
