"""Deadlocks that are found in a description are those that a simulation runs into."""

from __future__ import annotations

import pytest

from model.network import Acquire, Network, NetworkError, Release, Resource, Station, Step
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
