"""Stations that leave those who come in the engine before, against exact chains and the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from model.network import Network, Station
from model.network.simulator import simulate
from model.network.solvers import solve
from model.network.solvers.reduction import reduce
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.oracles.blocking import closed_blocking, cyclic


def line(places: list[int | None], services: list[float], servers: list[int] | None = None, **load: float) -> Network:
    """Stations passed one after the other, with so many places; ``rate`` or ``users``."""
    stations = [
        Station(name=f"s{k}", servers=c, capacity=room, when_full="block" if room else "reject")
        for k, (room, c) in enumerate(zip(places, servers or [1] * len(places), strict=True))
    ]
    route = [visit(station.name, mean) for station, mean in zip(stations, services, strict=True)]
    return network(
        stations, open_class(load["rate"], *route) if "rate" in load else closed_class(load["users"], 0, *route)
    )


@pytest.mark.parametrize(
    ("places", "services", "users"), [([3, 3, 3], [1.0, 1.0, 1.0], 6), ([4, 4], [1.0, 0.5], 5), ([5, 3], [0.7, 1.0], 6)]
)
def test_a_ring_is_its_markov_chain(places, services, users):
    exact = closed_blocking(users, services, places, cyclic(len(places)))
    answer = solve(line(places, services, users=users))
    assert answer.throughput_per_s[0] == pytest.approx(exact.throughput[0], rel=0.07)
    assert answer.population[0] == pytest.approx(users)


@pytest.mark.parametrize(
    ("net", "within"),
    [
        (line([None, 3, None], [1.0, 0.9, 0.5], rate=0.6), 0.04),
        (line([None, 4, 4], [0.5, 0.6, 0.6], rate=1.2), 0.1),
        (line([None, 2, None], [1.0, 1.4, 0.5], [1, 2, 1], rate=0.65), 0.15),
    ],
)
def test_a_full_station_holds_up_the_one_before_it(net, within):
    found = simulate(net, seed=1, horizon=200_000).classes["a"].response_s.value
    answer = solve(net)
    assert answer.response_s[0] == pytest.approx(found, rel=within)
    work, rate = answer.service_s[0, 0], answer.throughput_per_s[0]
    assert answer.residence_s[0, 0] > 1.05 * work / (1 - rate * work)


def test_room_for_all_blocks_nobody():
    wide, free = (solve(line([None, room, None], [1.0, 0.9, 0.5], rate=0.6)) for room in (200, None))
    assert wide.response_s == pytest.approx(free.response_s, rel=1e-6)


def test_feeds_follow_branches():
    route = (visit("s0", 1.0), visit("s2", 0.5, count=0.25), visit("s1", 0.5))
    stations = [Station(name="s0"), Station(name="s1", capacity=2, when_full="block"), Station(name="s2")]
    feeds = {(feed.station, feed.to): feed.flow for feed in reduce(network(stations, open_class(0.2, *route))).feeds}
    assert feeds == pytest.approx({(0, 1): 0.75, (2, 1): 0.25})


def test_users_who_go_nowhere_else_block_nobody():
    station = Station(name="s0", servers=2, capacity=3, when_full="block")
    users = closed_class(3, 0, visit("s0", 1.0), name="b")
    answer = solve(network(station, open_class(0.1, visit("s0", 0.5)), users))
    assert np.isfinite(answer.throughput_per_s).all()


def test_figures_that_cannot_be_found_are_called_so():
    """Users beside less important arrivals that overload a station whose work in service is not interrupted."""
    stations = [Station(name="s0"), Station(name="s1", scheduling="hol")]
    users = closed_class(7, 5.0, visit("s0", 1.0), visit("s1", 0.01), name="b", priority=1)
    answer = solve(network(stations, open_class(9.0, visit("s0", 0.1), visit("s1", 1.0)), users))
    assert "s1" in answer.saturated
    assert np.isfinite(answer.throughput_per_s).all() or any("did not agree" in note for note in answer.notes)
