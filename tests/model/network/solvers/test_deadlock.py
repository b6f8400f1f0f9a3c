"""Deadlocks that are found in a description are those that a simulation runs into."""

from __future__ import annotations

import pytest

from model.network import Acquire, Distribution, Go, Network, NetworkError, Release, Resource, Station, Step
from model.network.simulator import SimulationError, simulate
from model.network.solvers import solve
from model.network.solvers.deadlock import smallest_deadlock
from tests.model.network.simulator.build import closed_class, network, open_class, visit


def ring(users: int, places: list[int], think: float = 0.0) -> Network:
    stations = [Station(name=f"s{k}", capacity=room, when_full="block") for k, room in enumerate(places)]
    return network(stations, closed_class(users, think, *(visit(s.name, 1.0 + k) for k, s in enumerate(stations))))


def locks(around: tuple[str, ...] = (), places: int = 1) -> Network:
    """Arrivals that take x and y in either order, all within ``around``, beside work that needs neither."""

    def crossing(name: str, first: str, second: str) -> tuple[Step, ...]:
        taken = [*around, first, second]
        route: list[Step] = []
        for resource in taken:
            route += [Acquire(resource=resource), visit("cp", 0.3)]
        return (*route, *(Release(resource=resource) for resource in reversed(taken)))

    classes = [open_class(0.2, *crossing(n, *order), name=n) for n, order in (("ab", "xy"), ("ba", "yx"))]
    resources = [Resource(name=n, capacity=places) for n in (*around, "x", "y")]
    return network(Station(name="cp", servers=2), *classes, resources=resources)


def growing(users: int) -> Network:
    """Two units of ten, and one more later."""
    route = [Acquire(resource="x", units=2), visit("cp", 0.3), Acquire(resource="x"), visit("cp", 0.3)]
    user = closed_class(users, 9.0, *route, Release(resource="x", units=3))
    return network(Station(name="cp", servers=2), user, resources=[Resource(name="x", capacity=10)])


@pytest.mark.parametrize(
    ("net", "fewest"),
    [(ring(12, [5, 3, 4]), 12), (ring(8, [4, 4]), 8), (locks(), 2), (growing(40), 5)],
    ids=["three stations", "two stations", "locks", "units"],
)
def test_what_deadlocks_in_a_simulation_is_refused_by_name(net: Network, fewest: int) -> None:
    found = smallest_deadlock(net)
    assert found is not None and found.reached and found.transactions == fewest
    with pytest.raises(NetworkError, match=f"hold what another waits for at {found.names[0]}"):
        solve(net, "approximate")
    with pytest.raises(SimulationError, match="waits for another"):
        simulate(net, seed=3, horizon=400_000, replications=1)


@pytest.mark.parametrize(
    ("net", "fewest"),
    [(ring(11, [5, 3, 4]), 12), (growing(4), 5), (ring(8, [4, 4], think=1.0), None), (locks(around=("g",)), None)],
    ids=["three stations", "units", "users who think hold no place", "one at a time"],
)
def test_what_cannot_deadlock_is_solved(net: Network, fewest: int | None) -> None:
    found = smallest_deadlock(net)
    assert (found and (found.transactions, found.reached)) == (fewest and (fewest, False))
    notes = solve(net, "approximate").notes
    assert any("more than there are" in note for note in notes) == (fewest is not None)
    simulate(net, seed=3, horizon=20_000, replications=1)


def test_what_hardly_ever_deadlocks_is_solved_with_a_word() -> None:
    assert any("rare here" in note for note in solve(locks(places=30)).notes)


def test_who_comes_back_at_once_to_a_full_station_keeps_its_place() -> None:
    """Where servers are shared, two exponential visits in a row are one of two phases."""
    law, whole = Distribution.exponential(0.5), Distribution.erlang(1.0, 2)
    stations = [Station(name="z", servers=4), Station(name="b", servers=2, capacity=3, when_full="block")]
    twice, once = (
        simulate(network(stations, closed_class(8, 1.0, visit("z", 0.2), again)), seed=3, horizon=100_000)
        for again in (visit("b", law, count=2.0), visit("b", whole))
    )
    found, known = (next(iter(run.classes.values())).response_s for run in (twice, once))
    assert found.value == pytest.approx(known.value, abs=2 * (found.half_width + known.half_width))


def test_equations_without_a_solution_are_refused_and_not_raised() -> None:
    limit, done = Acquire(resource="limit"), Release(resource="limit")
    loop = open_class(
        0.0557, Acquire(resource="limit", label="top"), visit("s1", 1e-4), visit("s2", 0.009, count=2.0), done,
        Go(to=(("top", 0.99),)), priority=1,
    )  # fmt: skip
    users = [
        closed_class(10, 1.57, limit, visit("s0", 0.064, count=2.0), visit("s1", 0.27, count=2.0),
                     visit("s2", 2.47), done, name="d", priority=1),
        closed_class(10, 12.1, limit, visit("s1", 0.022), done, name="b"),
        closed_class(1, 4.77, limit, visit("s1", 0.0013, count=2.0), done, name="c"),
    ]  # fmt: skip
    stations = [
        Station(name="s0", servers=64, scheduling="priority_ps"), Station(name="s1", capacity=2),
        Station(name="s2", scheduling="hol"),
    ]  # fmt: skip
    net = network(stations, loop, *users, resources=[Resource(name="limit", capacity=2, scheduling="hol")])
    with pytest.raises(NetworkError, match="too far apart"):
        solve(net)
