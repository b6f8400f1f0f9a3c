"""Whatever a description allows is solved with figures that can be, or refused with a reason."""

import warnings

import numpy as np
import pytest

from benchmarks.any_network import any_network
from model.network import Cec, LparShare, NetworkError, Station
from model.network.solvers import solve
from tests.model.network.simulator.build import closed_class, network, open_class, visit


def test_every_network_is_solved_with_figures_that_can_be_or_refused():
    generator, solved = np.random.default_rng(3), 0
    for _ in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                net = any_network(generator)
                found = solve(net)
            except NetworkError:
                continue
        solved += 1
        times = np.concatenate((found.residence_s, found.wait_s, found.queue_length, found.held), axis=1)
        assert not np.isnan(times).any() and not np.isnan(found.response_s).any()
        assert times.min() >= -0.03 * np.max(found.response_s, where=np.isfinite(found.response_s), initial=0.0)
        full = [
            u
            for s, u in zip(net.stations, found.station_utilisation, strict=True)
            if s.scheduling != "delay" and not s.overflow
        ]
        assert max(full, default=0.0) <= 1.03 or found.saturated
    assert solved > 8


def test_users_above_who_leave_next_to_nothing_make_the_answer_unsure():
    def stated(users: int) -> float:
        return solve(
            network(
                Station(name="cp", scheduling="preemptive"),
                closed_class(users, 10.0, visit("cp", 1.0), name="high", priority=1),
                closed_class(1, 1.0, visit("cp", 1.0), name="low"),
            ),
            method="approximate",
        ).known_error[1]

    assert stated(4) < 0.6 < 1.0 < stated(60)


@pytest.mark.parametrize(("scheduling", "rate", "sure"), [("preemptive", 0.1, True), ("preemptive", 0.148, False),
    ("hol", 0.1, True), ("hol", 0.14, False)])  # fmt: skip
def test_arrivals_that_nearly_fill_what_users_above_leave_are_as_unsure_as_these(scheduling, rate, sure):
    users = closed_class(2, 4.63, visit("cp", 2.37), name="high", priority=1)
    low = open_class(rate, visit("cp", 2.6), name="low")
    answer = solve(network(Station(name="cp", scheduling=scheduling), users, low), method="approximate")
    truth = solve(network(Station(name="cp", scheduling=scheduling), users, low))
    assert (answer.known_error[1] < 0.6) == sure
    assert np.abs(answer.response_s / truth.response_s - 1).max() < answer.known_error[1]


@pytest.mark.parametrize("scheduling", ["hol", "preemptive", "priority_ps"])
def test_arrivals_below_users_who_leave_no_room_never_get_through(scheduling):
    found = solve(
        network(
            Station(name="cp", scheduling=scheduling),
            closed_class(50, 0.001, visit("cp", 1.0), name="high", priority=1),
            open_class(1e-4, visit("cp", 0.3), name="low"),
        )
    )
    assert found.saturated == ("cp",)
    assert found.response_s == pytest.approx([50 - 0.001, np.inf], rel=1e-3)


def test_impossible_figures_are_refused_with_a_reason():
    net = network(
        Station(name="cp", scheduling="preemptive", capacity=1), closed_class(3, 0.0, visit("cp", 1.0), name="users")
    )
    with pytest.raises(NetworkError, match=r"does \d+ times what it can do.*Simulate it"):
        solve(net)


@pytest.mark.parametrize(("weight", "arrivals", "near"), [(200, (200.0, 100.0), True), (490, (150.0, 70.0), False)])
def test_an_lpar_that_lives_on_what_another_leaves_is_answered_as_unsure_as_it_is(weight, arrivals, near):
    shares = [LparShare(cec="m", weight=1000 - weight), LparShare(cec="m", weight=weight)]
    work_s, engines = (0.0047, 0.009), (3, 2)
    stations = [
        Station(name=f"cp{k}", servers=engines[k], scheduling="ps", component="cp", lpar=shares[k]) for k in (0, 1)
    ]
    classes = [open_class(arrivals[k], visit(f"cp{k}", work_s[k]), name=f"class{k}") for k in (0, 1)]
    net = network(stations, *classes, cecs=(Cec(name="m", engines=3),))
    found = solve(net, "approximate")
    truth = responses_of_two(arrivals, work_s, engines, 3.0, 3.0 * (1 - weight / 1000))
    assert np.abs(found.response_s / truth - 1).max() < found.known_error[1]
    assert ("LPARs near their share" in found.approximated) is near
    assert solve(net, "exact").response_s == pytest.approx(truth, rel=1e-3)


def responses_of_two(arrivals, work_s, engines, physical, share, most=45):
    """(2,) mean responses of two LPARs' transactions, exponential and shared equally, as a Markov chain."""
    n = np.arange(most + 1)
    one, two = np.meshgrid(np.minimum(n, engines[0]), np.minimum(n, engines[1]), indexing="ij")
    left = np.maximum(share, physical - two)
    first = np.minimum(one, left)
    second = np.minimum(two, physical - first)
    moves = np.zeros(((most + 1) ** 2,) * 2)
    state = np.arange((most + 1) ** 2).reshape(most + 1, most + 1)
    moves[state[:-1], state[1:]] = arrivals[0]
    moves[state[:, :-1], state[:, 1:]] = arrivals[1]
    moves[state[1:], state[:-1]] = (first / work_s[0])[1:]
    moves[state[:, 1:], state[:, :-1]] = (second / work_s[1])[:, 1:]
    np.fill_diagonal(moves, -moves.sum(axis=1))
    moves[:, 0] = 1.0
    chance = np.linalg.solve(moves.T, np.eye(1, len(moves))[0]).reshape(most + 1, most + 1)
    return np.array([chance.sum(axis=1) @ n / arrivals[0], chance.sum(axis=0) @ n / arrivals[1]])
