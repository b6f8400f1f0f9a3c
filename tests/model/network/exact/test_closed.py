"""Closed networks: three exact algorithms agree, and the laws hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.network.exact.convolution import Convolution
from tests.oracles.bounds import asymptotic, balanced_job, proportional
from tests.oracles.markov_network import MarkovNetwork, MarkovStation, Phases, cyclic_routing, solve_markov
from tests.oracles.mean_value import exact_mva
from tests.oracles.product_form import mmc


def _random(seed: int, servers: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    classes, stations = int(g.integers(1, 3)), int(g.integers(1, 4))
    demands = g.uniform(0.1, 2.0, (stations, classes))
    return g.integers(1, 4, classes), demands, g.choice(servers, stations), g.uniform(0.1, 3.0, classes)


@pytest.mark.parametrize("seed", range(12))
def test_convolution_is_exact_mva_for_single_servers(seed: int) -> None:
    n, d, m, z = _random(seed, (1, -1))
    a, b = exact_mva(n, d, m, z), Convolution(n, d, m, z).solve()
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_convolution_is_the_markov_chain_for_several_servers(seed: int) -> None:
    n, d, m, z = _random(seed, (1, 2, 3, -1))
    stations = [
        MarkovStation(tuple(Phases.exponential(float(x)) for x in row), "delay" if c < 0 else "ps", int(c))
        for row, c in zip(d, m, strict=True)
    ]
    stations.append(MarkovStation(tuple(Phases.exponential(float(x)) for x in z), "delay", -1))
    routing = (cyclic_routing(np.ones(len(stations))),) * len(n)
    chain = solve_markov(MarkovNetwork(tuple(stations), tuple(int(x) for x in n), routing))
    solved = Convolution(n, d, m, z).solve()
    np.testing.assert_allclose(chain.queue_length[:-1], solved.queue_length, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(chain.throughput[-1], solved.throughput, rtol=1e-8)


def test_first_come_first_served_chain_has_product_form_for_equal_exponential_service() -> None:
    one = Phases.exponential(1.0)
    stations = (
        MarkovStation((one, one), "fcfs", 2),
        MarkovStation((Phases.exponential(2.0), Phases.exponential(3.0)), "delay", -1),
    )
    chain = solve_markov(MarkovNetwork(stations, (3, 2), (cyclic_routing([1, 1]),) * 2))
    solved = Convolution([3, 2], [[1.0, 1.0]], [2], [2.0, 3.0]).solve()
    np.testing.assert_allclose(chain.queue_length[0], solved.queue_length[0], rtol=1e-9)


def test_sharing_is_insensitive_to_the_shape_of_service() -> None:
    shaped = MarkovStation((Phases.hyperexponential((0.1, 4.0), (0.7, 0.3)),), "ps")
    mean = 0.07 + 1.2
    chain = solve_markov(
        MarkovNetwork((shaped, MarkovStation((Phases.erlang(2.0, 3),), "delay", -1)), (4,), (cyclic_routing([1, 1]),))
    )
    assert chain.queue_length[0, 0] == pytest.approx(exact_mva([4], [[mean]], [1], [2.0]).queue_length[0, 0])


@settings(max_examples=40, deadline=None)
@given(
    demands=st.lists(st.floats(0.01, 10), min_size=1, max_size=4),
    servers=st.lists(st.sampled_from([1, 2, 5, -1]), min_size=4, max_size=4),
    users=st.integers(1, 30),
    think=st.floats(0, 20),
)
def test_operational_laws_hold(demands: list[float], servers: list[int], users: int, think: float) -> None:
    m = servers[: len(demands)]
    result = Convolution([users], np.array(demands)[:, None], m, [think]).solve()
    x = result.throughput[0]
    np.testing.assert_allclose(result.queue_length.sum() + x * think, users, rtol=1e-9)
    np.testing.assert_allclose(result.residence.sum() + think, users / x, rtol=1e-9)
    np.testing.assert_allclose(result.utilisation[:, 0], x * np.array(demands) / np.where(np.array(m) < 0, 1, m))
    assert np.all(result.utilisation[np.array(m) > 0] <= 1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    demands=st.lists(st.floats(0.05, 5), min_size=1, max_size=5),
    users=st.integers(1, 40),
    think=st.floats(0, 10),
)
def test_bounds_hold_the_exact_throughput(demands: list[float], users: int, think: float) -> None:
    exact = exact_mva([users], np.array(demands)[:, None], np.ones(len(demands)), [think]).throughput[0]
    for bounds in (asymptotic, balanced_job, proportional):
        low, high = bounds(users, demands, think)[:2]
        assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9), bounds.__name__


def test_throughput_grows_with_users_and_order_of_classes_does_not_matter() -> None:
    d = np.array([[1.0, 0.4], [0.5, 1.2]])
    x = Convolution([40], d[:, :1], [2, 1], [3.0]).throughput_by_population()
    assert np.all(np.diff(x) > -1e-12)
    straight = Convolution([3, 5], d, [2, 1], [1.0, 2.0]).solve()
    turned = Convolution([5, 3], d[:, ::-1], [2, 1], [2.0, 1.0]).solve()
    np.testing.assert_allclose(straight.throughput, turned.throughput[::-1], rtol=1e-12)


def test_three_hundred_servers_and_five_hundred_users_are_stable() -> None:
    x = Convolution([500], [[0.5]], [300]).throughput_by_population()
    np.testing.assert_allclose(x, np.minimum(np.arange(1, 501), 300) / 0.5, rtol=1e-9)


def test_a_load_dependent_station_says_several_servers_otherwise() -> None:
    d, z = np.array([[1.0, 0.7], [0.3, 0.6]]), [1.0, 2.0]
    as_servers = Convolution([3, 4], d, [3, 1], z).solve()
    as_rates = Convolution([3, 4], d, [1, 1], z, {0: [1, 2, 3]}).solve()
    np.testing.assert_allclose(as_servers.queue_length, as_rates.queue_length, rtol=1e-10)
    falling = Convolution([6], [[1.0]], [1], [2.0], {0: [1.0, 1.5, 1.2]})
    assert falling.marginal(0).sum() == pytest.approx(1.0)
    assert falling.marginal(0) @ np.arange(7) == pytest.approx(falling.queue_length(0)[0])


def test_many_users_with_long_think_times_approach_poisson_arrivals() -> None:
    rate, users = 1.5, 4000
    closed = Convolution([users], [[1.0]], [2], [users / rate]).solve()
    assert closed.residence[0, 0] == pytest.approx(mmc(rate, 1.0, 2).response, rel=6e-3)
