"""Limits fitted to sampled waits whose truth the test knows: M/M/2 in closed form, with sampling noise."""

import numpy as np
import pytest

from model.calibration.limits import Observation, fit_limit

SERVERS, HOLD_S, INTERVALS, SECONDS, SAMPLING_S = 2, 0.02, 700, 900.0, 0.25


def observed(used: np.ndarray, seed: int) -> Observation:
    """Waits in M/M/2 at these utilizations, as samples every quarter of a second find them."""
    random = np.random.default_rng(seed)
    rate = used * SERVERS / HOLD_S
    wait_s = HOLD_S * used**2 / (1.0 - used**2)
    samples = random.poisson(rate * SECONDS * wait_s / SAMPLING_S)
    variance = np.maximum(samples, 1.0) * (SAMPLING_S / (rate * SECONDS)) ** 2
    return Observation(rate, np.ones(len(rate)), samples * SAMPLING_S / (rate * SECONDS), variance)


def utilization(fitted, rate: float) -> np.ndarray:
    return rate * fitted.hold_s / (fitted.servers * fitted.queues)


@pytest.mark.parametrize("top", [0.6, 0.8, 0.93])
def test_growth_tells_how_full_a_limit_is(top):
    used = np.random.default_rng(3).uniform(0.1, top, INTERVALS)
    fitted = fit_limit(observed(used, seed=5), "MXT")
    at_top = utilization(fitted, used.max() * SERVERS / HOLD_S)
    assert fitted.determined
    assert at_top[0] == pytest.approx(used.max(), rel=0.1)
    lo, hi = np.quantile(at_top[1:], [0.05, 0.95])
    assert lo <= used.max() + 0.04
    assert hi >= used.max() - 0.04


def test_rates_that_hardly_vary_do_not_tell_how_full_a_limit_is():
    used = np.random.default_rng(4).uniform(0.69, 0.71, INTERVALS)
    fitted = fit_limit(observed(used, seed=6), "MXT")
    assert not fitted.determined
    assert np.ptp(utilization(fitted, used.max() * SERVERS / HOLD_S)) > 0.3


def test_a_limit_that_nobody_waited_for_has_no_places():
    rate = np.linspace(1.0, 50.0, INTERVALS)
    nothing = np.zeros(INTERVALS)
    assert fit_limit(Observation(rate, np.ones(INTERVALS), nothing, np.full(INTERVALS, 1e-8)), "MXT") is None
