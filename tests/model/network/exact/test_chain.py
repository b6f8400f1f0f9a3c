"""Small networks as Markov chains: against independent chains, theory and the simulator."""

from __future__ import annotations

import pytest

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    Distribution,
    Go,
    LparShare,
    Network,
    NetworkError,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    TransactionClass,
    Visit,
)
from model.network.arrays import as_arrays
from model.network.errors import UnsupportedError
from model.network.exact import solve
from model.network.exact.chain import markov_chain
from model.network.simulator import simulate
from tests.model.network.simulator.build import EXP, RUN, agrees, closed_class, network, open_class, visit
from tests.oracles.markov_network import MarkovNetwork, MarkovStation, Phases, solve_markov
from tests.oracles.product_form import mmc


@pytest.mark.parametrize(
    ("scheduling", "servers", "scvs"),
    [
        ("fcfs", 1, (1.0, 1.0)),
        ("fcfs", 2, (4.0, 0.5)),
        ("hol", 1, (1.0, 3.0)),
        ("hol", 2, (0.5, 1.0)),
        ("preemptive", 2, (1.0, 1.0)),
        ("ps", 2, (2.0, 0.5)),
        ("dps", 1, (1.0, 4.0)),
        ("dps", 3, (1.0, 1.0)),
    ],
)
def test_users_of_a_station_are_their_chain(scheduling: str, servers: int, scvs: tuple[float, float]) -> None:
    users, think, service, weights = (3, 4), (2.0, 1.0), (0.7, 1.9), (1.0, 5.0)
    laws = tuple(Phases.with_scv(one, scv) for one, scv in zip(service, scvs, strict=True))
    stations = (
        MarkovStation(laws, scheduling, servers, weights),
        MarkovStation(tuple(Phases.exponential(one) for one in think), "delay", -1),
    )
    truth = solve_markov(MarkovNetwork(stations, users, (((0.0, 1.0), (1.0, 0.0)),) * 2, (1.0, 0.0)))
    found = solve(
        network(
            Station(name="q", servers=servers, scheduling=scheduling),
            *(
                closed_class(
                    users[r], think[r], visit("q", Distribution.with_scv(service[r], scvs[r])), name=f"c{r}",
                    priority=1 - r, weight=weights[r],
                )
                for r in (0, 1)
            ),
        )
    )  # fmt: skip
    assert found.throughput_per_s == pytest.approx(truth.throughput[0], rel=1e-7)
    assert found.queue_length[:, 0] == pytest.approx(truth.queue_length[0], rel=1e-7)
    assert found.utilisation[:, 0] == pytest.approx(truth.busy[0] / servers, rel=1e-7)


@pytest.mark.parametrize("servers", [1, 3])
def test_the_chain_of_a_poisson_queue_is_as_long_as_it_takes(servers: int) -> None:
    net = network(Station(name="q", servers=servers), open_class(0.9 * servers, visit("q", 1.0)))
    found = markov_chain(as_arrays(net))
    assert found.residence[0, 0] == pytest.approx(mmc(0.9 * servers, 1.0, servers).response, rel=1e-4)


def loops() -> Network:
    """Visits again and again, by count, by chance and by a fraction, at stations of every kind."""
    route = (
        Visit(station="q", service=EXP(0.3), count=2.0, label="top"),
        visit("p", Distribution.erlang(0.4, 2)),
        Visit(station="q", service=Distribution.with_scv(0.2, 3.0), count=0.5),
        Go(to=(("top", 0.3),)),
    )
    stations = (Station(name="q", scheduling="hol"), Station(name="p", scheduling="dps"))
    low = closed_class(2, 1.0, visit("q", 0.6), visit("p", 0.5), name="low", weight=3.0)
    return network(stations, closed_class(3, 2.0, *route, priority=1), low)


def limits() -> Network:
    """Two classes within a limit by importance, one of them with a lock that it takes two units of."""
    stations = (Station(name="cp", servers=2, scheduling="priority_ps"), Station(name="disk"))
    both = (Acquire(resource="lock", units=2), visit("disk", 0.5), Release(resource="lock", units=2))
    first = closed_class(3, 1.0, Acquire(resource="mxt"), visit("cp", 0.8), *both, Release(resource="mxt"))
    lock = (Acquire(resource="lock"), visit("disk", 0.4), Release(resource="lock"))
    other = closed_class(
        4, 1.5, Acquire(resource="mxt"), visit("cp", 0.5), *lock, Release(resource="mxt"), name="b", priority=1
    )
    resources = (Resource(name="mxt", capacity=3, scheduling="hol"), Resource(name="lock", capacity=2))
    return network(stations, first, other, resources=resources)


def bursts() -> Network:
    """Bursts of pairs above users at two engines."""
    arrivals = Arrivals(interarrival=EXP(2.0), on=EXP(6.0), off=EXP(4.0), batch=Distribution.deterministic(2.0))
    high = TransactionClass(name="a", route=(visit("q", 0.9),), arrivals=arrivals, priority=1)
    return network(Station(name="q", servers=2, scheduling="preemptive"), high, closed_class(2, 1.0, visit("q", 0.5)
        , name="b"))  # fmt: skip


def pairs() -> Network:
    """Little work that comes in pairs and waits for users, who are most of the load."""
    arrivals = Arrivals(interarrival=EXP(1.0), batch=Distribution.deterministic(2.0))
    low = TransactionClass(name="a", route=(visit("q", 0.01),), arrivals=arrivals)
    return network(Station(name="q", scheduling="hol"), low, closed_class(2, 1.0, visit("q", 0.5), name="b"))


def unequal() -> Network:
    """The fastest engine that is free, of three."""
    station = Station(name="q", servers=3, speeds=(0.3, 1.0, 0.5), source="measured")
    return network(station, closed_class(6, 2.0, visit("q", Distribution.with_scv(1.0, 2.0))))


def machine() -> Network:
    """Two LPARs of a machine, one of them capped, with users by importance and by weight."""
    parts = LparShare(cec="m", weight=200), LparShare(cec="m", weight=100, cap=1.5)
    stations = [
        Station(name=name, servers=2, scheduling=how, lpar=part, speeds=(1.5,), source="measured")
        for name, how, part in zip("qp", ("priority_ps", "dps"), parts, strict=True)
    ]
    users = [closed_class(4, 3.0, visit("qp"[r // 2], 1.0 + r), name=f"c{r}", priority=r, weight=r) for r in (1, 2, 3)]
    return network(stations, *users, cecs=(Cec(name="m", engines=3),))


def overflowing() -> Network:
    """A core of two threads onto whose neighbour goes what finds it full."""
    core = Station(
        name="z", scheduling="ps", smt=Smt(gain=1.3), overflow=Overflow(to="q", waiting=1), source="measured"
    )
    stations = core, Station(name="q", servers=2, scheduling="priority_ps", cost_by_busy=(1.1, 1.4), source="measured")
    users = closed_class(3, 4.0, visit("q", 0.8), visit("z", 0.5), name="b", priority=1)
    return network(stations, closed_class(5, 3.0, visit("z", 1.0)), users)


def turned_away() -> Network:
    """More arrivals than a limit lets in and lets wait."""
    limited = Acquire(resource="mxt"), visit("q", 1.0), visit("d", 0.4), Release(resource="mxt")
    resources = [Resource(name="mxt", capacity=3, queue_limit=2)]
    return network((Station(name="q"), Station(name="d")), open_class(1.5, *limited), resources=resources)


@pytest.mark.parametrize("described", [loops, limits, bursts, pairs, unequal, machine, overflowing, turned_away])
def test_a_small_network_is_the_simulated_one(described) -> None:
    net = described()
    found, simulated = solve(net), simulate(net, **RUN)
    assert found.method == "Markov chain"
    for r, name in enumerate(net.class_names):
        here = simulated.classes[name]
        agrees(here.response_s, found.response_s[r])
        assert found.throughput_per_s[r] == pytest.approx(here.throughput_per_s.value, rel=0.03)
        for rho, resource in enumerate(net.resource_names):
            assert found.wait_s[r, rho] == pytest.approx(here.parts[resource].waiting_s, rel=0.08)


def test_those_let_in_together_go_on_in_their_order() -> None:
    """Both locks come back at once: ``a`` is ahead of ``b`` at the disk, and both wait for who then takes both."""
    locks = Resource(name="locks", capacity=2, scheduling="hol")

    def user(name: str, priority: int, units: int, station: str, seconds: float) -> TransactionClass:
        route = Acquire(resource="locks", units=units), visit(station, seconds), Release(resource="locks", units=units)
        return closed_class(1, 0.0, *route, name=name, priority=priority)

    both = user("both", 2, 2, "cp", 3.0)
    net = network(
        (Station(name="cp"), Station(name="disk", scheduling="fcfs")),
        both, user("a", 1, 1, "disk", 1.0), user("b", 0, 1, "disk", 1.0), resources=(locks,),
    )  # fmt: skip
    found = solve(net)
    assert found.response_s == pytest.approx([5.0, 5.0, 5.0])
    assert found.residence_s[1:, 1] == pytest.approx([1.0, 2.0])
    simulated = simulate(net, **RUN)
    for name, seconds in (("a", 1.0), ("b", 2.0)):
        agrees(simulated.stations["disk"].residence_s_by_class[name], seconds)


@pytest.mark.parametrize("scheduling", ["hol", "preemptive"])
def test_users_who_are_always_there_leave_nothing_for_others(scheduling: str) -> None:
    always = closed_class(3, 0.0, visit("q", 2.0), name="always", priority=1)
    never = closed_class(2, 1.0, visit("q", 1.0), name="never")
    found = solve(network(Station(name="q", scheduling=scheduling), always, never))
    assert found.response_s == pytest.approx([6.0, float("inf")])
    assert found.throughput_per_s == pytest.approx([0.5, 0.0])


def test_locks_taken_in_two_orders_are_a_deadlock_even_if_others_never_notice() -> None:
    def crossing(name: str, first: str, second: str) -> TransactionClass:
        taken = (Acquire(resource=first), visit("cp", 0.1), Acquire(resource=second), visit("cp", 0.1))
        return closed_class(1, 5.0, *taken, Release(resource=second), Release(resource=first), name=name)

    net = network(
        Station(name="cp", scheduling="ps"), crossing("a", "x", "y"), crossing("b", "y", "x"),
        open_class(1.0, visit("cp", 0.2), name="other"), resources=[Resource(name=n, capacity=1) for n in "xy"],
    )  # fmt: skip
    with pytest.raises(NetworkError, match="a, b come to wait for each other"):
        solve(net)


def test_what_mixes_too_slowly_or_is_too_large_is_refused() -> None:
    """Users leave the arrivals below them a server once in a very long time."""
    users = closed_class(50, 0.001, visit("q", 1.0), name="users", priority=1)
    low = open_class(1e-4, visit("q", 0.3), name="low")
    with pytest.raises(UnsupportedError):
        markov_chain(as_arrays(network(Station(name="q", scheduling="hol"), users, low)))
    many = [closed_class(40, 1.0, visit("q", 0.1 * (r + 1)), name=f"c{r}") for r in range(3)]
    with pytest.raises(UnsupportedError, match="too many states"):
        markov_chain(as_arrays(network(Station(name="q"), *many)))


@pytest.mark.parametrize("phases", [70_000, 10**12])
def test_times_of_more_phases_than_states_can_number_are_no_chain(phases: int) -> None:
    erlang = visit("q", Distribution.erlang(1.0, phases))
    with pytest.raises(UnsupportedError, match="too many"):
        markov_chain(as_arrays(network(Station(name="q"), closed_class(1, 2.0, erlang))))
