"""Mixed networks, and approximate mean value analysis against exact answers."""

from __future__ import annotations

import numpy as np
import pytest

from model.network import Station
from model.network.solvers import solve
from model.network.solvers.amva import FCFS, HEAD_OF_LINE, PREEMPTIVE, PRIORITY_SHARING, WEIGHTED, amva
from model.network.solvers.convolution import convolution
from model.network.solvers.mixed import mixed_product_form
from model.network.solvers.priorities import mg1_head_of_line, mg1_preemptive_resume
from model.network.solvers.sweep import sweep
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.oracles.markov_network import (
    MarkovNetwork,
    MarkovStation,
    Phases,
    cyclic_routing,
    solve_markov,
    with_sources,
)
from tests.oracles.product_form import mmc, open_product_form, truncated_product_form


def test_mixed_network_is_its_markov_chain() -> None:
    stations = (
        MarkovStation((Phases.exponential(1.0), Phases.exponential(0.5)), "ps", 2),
        MarkovStation((None, Phases.exponential(2.0)), "delay", -1),
    )
    closed = MarkovNetwork(stations, (0, 2), (((0.0, 0.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 0.0))))
    chain = solve_markov(with_sources(closed, (0.8, None), (12, 0)))
    cut = truncated_product_form([0.8], [[1.0], [0.0]], [2], [[0.5], [2.0]], [2, -1], [12])
    assert chain.queue_length[0, 0] == pytest.approx(cut.open_queue[0, 0], rel=1e-8)
    assert chain.queue_length[0, 1] == pytest.approx(cut.closed_queue[0, 0], rel=1e-8)
    whole = mixed_product_form([0.8], [[1.0], [0.0]], [2], [[0.5], [2.0]], [2, -1])
    assert whole.open_queue[0, 0] == pytest.approx(cut.open_queue[0, 0], rel=1e-3)


def test_mixed_network_with_nothing_open_is_closed_and_the_other_way_round() -> None:
    alone = mixed_product_form([1e-12], [[1.0]], [3], [[0.5]], [2], [1.0])
    assert alone.closed_throughput[0] == pytest.approx(convolution([3], [[0.5]], [2], [1.0]).throughput[0])
    opened = mixed_product_form([1.2], [[1.0]], [1], [[1e-9]], [2], [1.0])
    assert opened.open_residence[0, 0] == pytest.approx(mmc(1.2, 1.0, 2).response, rel=1e-6)


def test_open_classes_that_saturate_a_station_are_refused() -> None:
    with pytest.raises(ValueError, match="saturate station 0"):
        mixed_product_form([2.0], [[1.0]], [1], [[0.5]], [2])


def test_open_station_is_shared_in_proportion() -> None:
    result = open_product_form([0.2, 0.3], [[1.0, 2.0]], [1])
    assert result.residence[0] == pytest.approx([1.0 / 0.2, 2.0 / 0.2])


@pytest.mark.parametrize("servers", [1, 3, 18, 300])
def test_linearizer_is_exact_for_one_class_at_one_station(servers: int) -> None:
    for users in (1, servers, servers + 7):
        approximate, exact = amva([users], [[0.7]], [servers]), convolution([users], [[0.7]], [servers])
        assert approximate.throughput[0] == pytest.approx(exact.throughput[0], rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_linearizer_is_close_to_exact(seed: int) -> None:
    g = np.random.default_rng(seed)
    classes, stations = int(g.integers(1, 4)), int(g.integers(2, 5))
    n, d = g.integers(1, 8, classes), g.uniform(0.1, 2.0, (stations, classes))
    m, z = g.choice([1, 2, 4], stations), g.uniform(0.5, 5.0, classes)
    approximate, exact = amva(n, d, m, z), convolution(n, d, m, z)
    assert approximate.converged
    np.testing.assert_allclose(approximate.throughput, exact.throughput, rtol=0.03)
    np.testing.assert_allclose(approximate.residence.sum(axis=0), exact.residence.sum(axis=0), rtol=0.06)
    np.testing.assert_allclose(approximate.queue_length.sum(axis=0) + approximate.throughput * z, n, rtol=1e-4)


def test_open_multi_server_station_is_erlang() -> None:
    result = amva([0.0], [[1.0]], [18], rates=[14.4])
    assert result.residence[0, 0] == pytest.approx(mmc(14.4, 1.0, 18).response, rel=1e-4)


def test_open_priorities_are_the_exact_formulas() -> None:
    rates, mean, levels = [0.2, 0.3], np.array([[1.0, 1.0]]), [1.0, 0.0]
    for code, formula in ((HEAD_OF_LINE, mg1_head_of_line), (PREEMPTIVE, mg1_preemptive_resume)):
        result = amva([0, 0], mean, [1], rates=rates, discipline=[code], service=mean, priority=levels)
        expected = formula(rates, [1.0, 1.0], [2.0, 2.0], levels)
        np.testing.assert_allclose(result.residence[0], expected, rtol=1e-4)


@pytest.mark.parametrize("code", [PREEMPTIVE, PRIORITY_SHARING])
def test_levels_of_equal_work_at_several_servers_add_up_to_erlang(code: int) -> None:
    rates, servers = [1.2, 0.9, 1.3], 4
    result = amva([0, 0, 0], np.ones((1, 3)), [servers], rates=rates, discipline=[code], priority=[2, 1, 0])
    inside = np.cumsum(result.queue_length[0])
    expected = [mmc(float(rate), 1.0, servers).queue_length for rate in np.cumsum(rates)]
    np.testing.assert_allclose(inside, expected, rtol=1e-4)


def test_work_at_several_servers_that_is_not_interrupted_is_cobhams() -> None:
    rates, servers = np.array([1.2, 0.9, 1.3]), 4
    result = amva([0, 0, 0], np.ones((1, 3)), [servers], rates=rates, discipline=[HEAD_OF_LINE], priority=[2, 1, 0])
    loads = np.concatenate(([0.0], np.cumsum(rates) / servers))
    expected = 1 + mmc(float(rates.sum()), 1.0, servers).wait_probability / servers / (1 - loads[1:]) / (1 - loads[:-1])
    np.testing.assert_allclose(result.residence[0], expected, rtol=1e-4)


def test_shares_by_weight_of_open_classes_are_fayolles() -> None:
    rates, service, weights = np.array([0.3, 0.1, 0.2]), np.array([1.0, 3.0, 0.5]), np.array([1.0, 4.0, 2.0])
    # Times solve T_i (1 - sum a_ij rate_j) - sum a_ij rate_j T_j = S_i, a_ij the delay of i by one of j.
    delay = weights * np.outer(service, service) / (weights * service[:, None] + weights[:, None] * service)
    expected = np.linalg.solve(np.diag(1 - delay @ rates) - delay * rates, service)
    result = amva([0] * 3, [service], [1], rates=rates, discipline=[WEIGHTED], service=[service], weights=weights)
    np.testing.assert_allclose(result.residence[0], expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("servers", "weights", "service", "think", "users"),
    [(4, (1, 10), (1.3, 7.2), (0.13, 7.2), (20, 1)), (16, (1, 10), (1.4, 6.8), (7.1, 0.7), (5, 20)),
     (1, (2, 10), (5.8, 0.4), (0.6, 0.4), (5, 20)), (1, (1, 10), (0.8, 0.04), (0.08, 0.04), (1, 2))],
    ids=["a server each at most", "nobody waits", "nothing is left", "often nobody else"],
)  # fmt: skip
def test_users_who_share_by_weight_are_near_their_chain(servers, weights, service, think, users) -> None:
    laws = tuple(Phases.exponential(s) for s in service), tuple(Phases.exponential(z) for z in think)
    stations = (MarkovStation(laws[0], "dps", servers, weights), MarkovStation(laws[1], "delay", -1))
    chain = solve_markov(MarkovNetwork(stations, users, (cyclic_routing([1, 1]),) * 2))
    found = amva(users, [service], [servers], think, discipline=[WEIGHTED], service=[service], weights=weights)
    assert found.converged
    np.testing.assert_allclose(found.residence[0], chain.queue_length[0] / chain.throughput[0], rtol=0.12)


def test_variable_service_in_order_is_pollaczek_khinchine() -> None:
    result = amva([0], [[1.0]], [1], rates=[0.6], discipline=[FCFS], service=[[1.0]], scv=[[4.0]])
    assert result.residence[0, 0] == pytest.approx(1 + 0.6 * 5 / (2 * 0.4), rel=1e-4)


def test_saturated_open_class_is_not_called_converged() -> None:
    assert not amva([0], [[1.0]], [1], rates=[1.5]).converged


def test_a_sweep_is_its_points_one_by_one() -> None:
    g = np.random.default_rng(3)
    d, m, z = g.uniform(0.1, 1.0, (4, 2)), [1, 3, -1, 2], [1.0, 2.0]
    points = g.integers(1, 40, (50, 2))
    many = sweep(points, d, m, z)
    assert many.converged.all()
    for n, x, r in zip(points, many.throughput, many.response, strict=True):
        one = amva(n, d, m, z)
        np.testing.assert_allclose(x, one.throughput, rtol=1e-9)
        np.testing.assert_allclose(r, one.residence.sum(axis=0), rtol=1e-9)


def test_a_sweep_over_rates_meets_erlang_and_says_where_it_saturates() -> None:
    rates = np.array([[4.0], [12.0], [17.0], [19.0]])
    result = sweep(np.zeros((4, 1)), [[1.0]], [18], rates=rates)
    assert result.converged.tolist() == [True, True, True, False]
    for rate, response in zip(rates[:3, 0], result.response[:3, 0], strict=True):
        assert response == pytest.approx(mmc(float(rate), 1.0, 18).response, rel=1e-3)


@pytest.mark.parametrize(
    ("discipline", "scv", "service", "priority", "think", "users", "most_off"),
    [
        ("fcfs", 8.0, (0.4, 2.0), (0.0, 0.0), (2.0, 1.0), (2, 4), 0.15),
        ("fcfs", 1.0, (0.2, 3.0), (0.0, 0.0), (2.0, 1.0), (2, 4), 0.05),
        ("preemptive", 1.0, (0.5, 1.0), (0.0, 1.0), (2.0, 1.0), (2, 4), 0.15),
        ("preemptive", 1.0, (0.5, 1.0), (0.0, 1.0), (2.0, 4.0), (2, 3), 0.10),
        ("hol", 1.0, (0.5, 1.0), (0.0, 1.0), (2.0, 1.0), (2, 4), 0.15),
        ("hol", 1.0, (0.5, 1.0), (0.0, 1.0), (2.0, 4.0), (2, 3), 0.06),
    ],
    ids=["varied work", "unequal work", "many above", "few above", "many who go first", "few who go first"],
)
def test_users_who_are_there_do_not_come(discipline, scv, service, priority, think, users, most_off) -> None:
    stations = (
        MarkovStation(tuple(Phases.with_scv(one, scv) for one in service), discipline),
        MarkovStation(tuple(Phases.exponential(one) for one in think), "delay", -1),
    )
    chain = solve_markov(MarkovNetwork(stations, users, (cyclic_routing([1, 1]),) * 2, priority))
    code = {"fcfs": FCFS, "hol": HEAD_OF_LINE, "preemptive": PREEMPTIVE}[discipline]
    found = amva(users, [service], [1], think, discipline=[code], scv=[[scv, scv]], priority=priority)
    exact = chain.queue_length[0] / chain.throughput[0]
    assert found.residence[0] == pytest.approx(exact, rel=most_off)
    assert found.throughput @ service <= 1.0 + 1e-6


@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("think", [6.0, 10.0])
def test_many_users_of_several_priorities_settle(servers, think) -> None:
    found = amva(
        [100] * 3,
        [[0.02, 0.03, 0.05], [0.01, 0.01, 0.02]],
        [1, servers],
        [think] * 3,
        discipline=[PREEMPTIVE] * 2,
        priority=[0.0, 1.0, 2.0],
    )
    assert found.converged


@pytest.mark.parametrize(
    ("servers", "users", "think", "open_s", "load"),
    [
        (1, 1, 1.0, 8.0, 0.45),
        (1, 1, 4.0, 0.25, 0.7),
        (1, 1, 15.0, 8.0, 0.2),
        (1, 3, 4.0, 3.0, 0.2),
        (2, 1, 1.0, 3.0, 0.6),
    ],
)
def test_users_find_again_what_came_while_they_were_served(servers, users, think, open_s, load) -> None:
    """In order beside open work that is longer or shorter: those who come at any time find up to four times as much."""
    net = network(
        Station(name="q", servers=servers, scheduling="fcfs"),
        closed_class(users, think, visit("q", 1.0), name="users"),
        open_class(load * servers / open_s, visit("q", open_s), name="open"),
    )
    truth = solve(net, method="exact")
    assert solve(net, method="approximate").response_s == pytest.approx(truth.response_s, rel=0.15)
