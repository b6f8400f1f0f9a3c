"""Fork-join, blocking, traces, scaling laws, demand estimation and chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import markov_chain
from tests.oracles.blocking import closed_blocking, closed_blocking_approximate, cyclic
from tests.oracles.demand_estimation import estimate_demands, mean_absolute_percentage_error
from tests.oracles.erlang import birth_death
from tests.oracles.fork_join import fork_join_closed, fork_join_open, largest_of_independent
from tests.oracles.markov_chain import explore, stationary
from tests.oracles.mean_value import exact_mva
from tests.oracles.processor_sharing_trace import share_processor
from tests.oracles.scaling import fit_scaling, saturating
from tests.oracles.usl import fit_usl


def test_chain_of_two_branches_meets_the_closed_form() -> None:
    exact = fork_join_open(0.7, [1.0, 1.0]).response
    chain = fork_join_open(0.7, [1.0, 1.0 + 1e-7]).response
    assert chain == pytest.approx(exact, rel=1e-5)


def test_join_lies_between_the_slowest_branch_and_independent_branches() -> None:
    for rates in ([1.0, 1.5], [1.0, 1.2, 2.0], [1.0] * 6):
        result = fork_join_open(0.6, rates)
        assert result.branch_response.max() <= result.response
        assert result.response <= largest_of_independent(1 / result.branch_response) + 1e-9


def test_closed_fork_join_of_one_branch_is_a_closed_queue() -> None:
    expected = exact_mva([6], [[0.5]], [1], [2.0]).throughput[0]
    for discipline in ("ps", "fcfs"):
        assert fork_join_closed(6, 2.0, [2.0], discipline).throughput == pytest.approx(expected)


def test_one_user_waits_for_the_larger_of_two_exponentials() -> None:
    assert fork_join_closed(1, 1.0, [1.0, 2.0]).response == pytest.approx(1 + 0.5 - 1 / 3)


def test_blocking_without_full_stations_is_exact_mva() -> None:
    routing = np.array([[0, 0.6, 0.4], [1, 0, 0], [1, 0, 0]])
    service = [0.5, 1.0, 0.8]
    free = closed_blocking(4, service, [9, 9, 9], routing)
    expected = exact_mva([4], np.array(service)[:, None] * [[1], [0.6], [0.4]], [1, 1, 1])
    np.testing.assert_allclose(free.queue_length, expected.queue_length[:, 0], rtol=1e-9)
    rough = closed_blocking_approximate(4, service, [9, 9, 9], routing)
    np.testing.assert_allclose(rough.queue_length, expected.queue_length[:, 0], rtol=1e-9)


def test_blocking_keeps_capacities_and_customers() -> None:
    result = closed_blocking(7, [1.0, 2.0, 0.5], [4, 3, 3], cyclic(3))
    assert np.all(result.queue_length <= [4, 3, 3])
    assert result.queue_length.sum() == pytest.approx(7)
    np.testing.assert_allclose(result.throughput, result.throughput[0])


def test_too_many_customers_are_refused() -> None:
    with pytest.raises(ValueError, match="places"):
        closed_blocking(6, [1, 1], [3, 3], cyclic(2))


@settings(max_examples=50, deadline=None)
@given(
    jobs=st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 5)), min_size=1, max_size=12),
    servers=st.integers(1, 3),
)
def test_shared_processor_conserves_work(jobs: list[tuple[float, float]], servers: int) -> None:
    arrivals, service = np.array(jobs).T
    departure = share_processor(arrivals, service, servers).departure
    assert np.all(departure >= arrivals + service - 1e-9)
    assert departure.max() >= arrivals.min() + service.sum() / servers - 1e-9
    latest = arrivals.max() + service.sum()
    assert departure.max() <= latest + 1e-9


def test_shared_processor_by_hand() -> None:
    result = share_processor([0.0, 1.0], [2.0, 2.0], 1, [2.0])
    np.testing.assert_allclose(result.departure, [3.0, 4.0])
    np.testing.assert_allclose(result.time_left[0], [0.5, 1.5])


def test_scaling_law_is_recovered() -> None:
    n = np.array([1, 2, 4, 8, 16, 32, 64])
    x = 50 * n / (1 + 0.03 * (n - 1) + 2e-4 * n * (n - 1))
    fit = fit_usl(n, x)
    assert (fit.alpha, fit.beta, fit.gamma) == pytest.approx((0.03, 2e-4, 50), rel=1e-5)
    assert fit.peak_load == pytest.approx(np.sqrt(0.97 / 2e-4), rel=1e-4)
    assert fit_scaling(n, x).name == "universal scalability law"


def test_a_hard_limit_is_recognised() -> None:
    n = np.array([1, 10, 20, 40, 80, 160])
    fit = fit_scaling(n, saturating(n, 10.0, 300.0, 8.0, 1e-3))
    assert fit.name == "closed system with a limit"
    np.testing.assert_allclose(fit.throughput([320]), saturating([320], 10.0, 300.0, 8.0, 1e-3), rtol=0.01)


def test_demands_are_recovered_and_never_negative() -> None:
    g = np.random.default_rng(4)
    rates = g.uniform(1, 10, (60, 3))
    demands = np.array([0.01, 0.0, 0.03])
    exact = estimate_demands(rates, rates @ demands + 0.05, intercept=True)
    np.testing.assert_allclose(exact.demands, demands, atol=1e-10)
    assert exact.intercept == pytest.approx(0.05)
    noisy = estimate_demands(rates, rates @ demands + g.normal(0, 0.02, 60))
    assert np.all(noisy.demands >= 0)
    bounded = estimate_demands(rates, rates @ demands, upper=[0.01, 0.01, 0.02])
    assert np.all(bounded.demands <= [0.01, 0.01, 0.02 + 1e-9])
    assert mean_absolute_percentage_error([1.1, 0.9], [1.0, 1.0]) == pytest.approx(0.1)


def test_sweeps_of_a_large_chain_meet_its_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov_chain, "DIRECT_LIMIT", 1_000)
    size, rate = 2_000, 0.5

    def moves(n: int) -> list[tuple[int, float]]:
        return [(n + 1, rate)] * (n < size) + [(n - 1, 1.0)] * (n > 0)

    p = stationary(explore(0, moves).rates)
    np.testing.assert_allclose(p[:20], birth_death(np.full(size, rate), np.ones(size))[:20], rtol=1e-6)


def test_a_chain_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="states"):
        explore(0, lambda n: [(n + 1, 1.0)], limit=100)
