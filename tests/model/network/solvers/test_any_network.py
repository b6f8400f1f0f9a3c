"""Whatever a description allows is solved with figures that can be, or refused with a reason."""

import warnings

import numpy as np
import pytest

from benchmarks.any_network import any_network
from model.network import NetworkError, Station
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
            )
        ).known_error[1]

    assert stated(4) < 0.6 < 1.0 < stated(60)


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
        Station(name="cp", servers=4, scheduling="preemptive", capacity=7),
        open_class(5.0, visit("cp", 0.08), name="arrivals"),
        closed_class(300, 90.0, visit("cp", 90.0), name="users"),
    )
    with pytest.raises(NetworkError, match=r"does \d+\.\d+ times what it can do.*Simulate it"):
        solve(net)
