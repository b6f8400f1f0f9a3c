"""Customers who leave a queue with several servers as they would wait too long, against other ways to the same."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from model.queueing.multiserver import reneging


def by_integration(load: float, servers: int, patience: float) -> float:
    """Part of the arrivals that leave: the density of the virtual wait, integrated (Barrer 1957)."""
    states = [1.0]
    for n in range(1, servers):
        states.append(states[-1] * load / n)
    joined, _ = quad(lambda wait: load * states[-1] * np.exp(-(servers - load) * wait), 0.0, patience)
    gone, _ = quad(
        lambda wait: load * states[-1] * np.exp(-(servers - load) * patience - servers * (wait - patience)),
        patience, patience + 60.0 / servers,
    )  # fmt: skip
    return gone / (sum(states) + joined + gone)


@given(st.floats(0.05, 1.6), st.integers(1, 6), st.floats(0.0, 6.0))
def test_who_leaves_is_the_mass_of_virtual_waits_beyond_the_patience(used, servers, patience):
    expected = by_integration(used * servers, servers, patience)
    assert reneging(used * servers, servers, patience) == pytest.approx(expected, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("load", "servers", "patience"), [(0.8, 1, 1.5), (1.6, 2, 0.5), (2.5, 2, 1.0)])
def test_a_simulated_queue_loses_as_many(load, servers, patience):
    random, gone, arrivals = np.random.default_rng(3), 0, 200_000
    times = np.cumsum(random.exponential(1.0 / load, arrivals))
    free = [0.0] * servers
    for time, service in zip(times, random.exponential(1.0, arrivals), strict=True):
        if free[0] - time > patience:
            gone += 1
        else:
            heapq.heapreplace(free, max(free[0], time) + service)
    assert reneging(load, servers, patience) == pytest.approx(gone / arrivals, abs=0.006)


def test_without_patience_all_who_would_wait_leave():
    assert reneging(0.7, 1, 0.0) == pytest.approx(0.7 / 1.7)
    assert reneging(0.0, 1, 0.0) == pytest.approx(0.0, abs=1e-8)


def test_more_work_than_servers_leaves_in_any_case():
    assert reneging(2.5, 2, 100.0) == pytest.approx(0.2)


def test_between_whole_numbers_of_servers_fewer_leave_with_each():
    found = reneging(0.8, [1.0, 1.25, 1.5, 2.0], 1.0)
    assert (np.diff(found) < 0).all()
