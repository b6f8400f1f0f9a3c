"""Pace of engines told apart from waiting, limits that are reached, loads that a machine cannot carry, odd batches."""

import numpy as np
import pytest

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    Distribution,
    Fork,
    LparShare,
    Network,
    NetworkError,
    Overflow,
    Release,
    Resource,
    Route,
    Station,
    TransactionClass,
    Visit,
)
from model.network.exact import solve
from model.network.simulator import replay, simulate
from tests.model.network.simulator.build import closed_class, open_class, visit
from tests.model.network.simulator.build import network as network_of

Exp = Distribution.exponential


def one(station: Station, route: Route, rate: float, **options: object) -> Network:
    work = TransactionClass(name="work", route=route, arrivals=Arrivals.poisson(rate))
    return Network(name="one", stations=(station,), classes=(work,), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheduling", ["fcfs", "ps"])
def test_slow_engine_is_used_for_longer_and_not_waited_for(scheduling: str) -> None:
    station = Station(name="cp", servers=4, scheduling=scheduling, speeds=(0.5,), source="a table")  # type: ignore[arg-type]
    network = one(station, (Visit(station="cp", service=Distribution.deterministic(1.0)),), 0.01)
    result = simulate(network, seed=1, horizon=2_000, details=True)
    for part in (result.classes["work"].parts["cp"], result.classes["work"].percentile_parts[50.0]["cp"]):
        assert part.using_s == pytest.approx(2.0)
        assert part.waiting_s == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("scheduling", ["fcfs", "hol", "ps"])
def test_cost_follows_the_number_busy_while_work_goes_on(scheduling: str) -> None:
    station = Station(name="cp", servers=2, scheduling=scheduling, cost_by_busy=(1.0, 3.0), source="a table")  # type: ignore[arg-type]
    network = one(station, (Visit(station="cp", service=Exp(1.0)),), 0.3)
    # Birth-death: 1 a second with one inside, 2/3 with more. One inside in 1, then 0.3, then times 0.45 each.
    empty = 1 / (1 + 0.3 / 0.55)
    length = empty * 0.3 / 0.55**2
    assert solve(network).response_s[0] == pytest.approx(length / 0.3)
    response = simulate(network, seed=2, horizon=400_000, level=0.999).classes["work"].response_s
    assert response.low < length / 0.3 < response.high
    assert response.half_width < 0.05


def test_capped_lpar_is_full_at_its_cap() -> None:
    machine = Cec(name="machine", engines=4)
    stations = (
        Station(name="A", servers=4, scheduling="ps", lpar=LparShare(cec="machine", weight=1, cap="share")),
        Station(name="B", servers=4, scheduling="ps", lpar=LparShare(cec="machine", weight=3)),
    )
    classes = tuple(
        TransactionClass(name=n, route=(Visit(station=n, service=Exp(1.0)),), arrivals=Arrivals.poisson(rate))
        for n, rate in (("A", 0.9), ("B", 1.0))
    )
    network = Network(name="capped", stations=stations, classes=classes, cecs=(machine,))
    result = simulate(network, seed=1, horizon=40_000)
    assert result.bottleneck == "A" and result.limits[0].utilisation == pytest.approx(0.9, rel=0.05)
    assert result.limits[1].name == "machine" and result.limits[1].utilisation == pytest.approx(1.9 / 4, rel=0.03)


@pytest.mark.parametrize("engines", [4.0, 0.4])
def test_lpar_that_gets_less_than_it_is_asked_for_is_named(engines: float) -> None:
    share = LparShare(cec="machine", weight=1, cap=0.4 if engines > 1 else "none")
    station = Station(name="A", servers=2, scheduling="ps", lpar=share)
    network = one(
        station, (Visit(station="A", service=Exp(0.5)),), 1.0, cecs=(Cec(name="machine", engines=engines),)
    )  # fmt: skip
    with pytest.raises(NetworkError, match="load A by 125 %"):
        solve(network)
    result = simulate(network, seed=1, horizon=2_000, replications=2)
    assert result.overloaded == {"A": pytest.approx(1.25)} and not result.settled


def test_limits_that_refuse_are_reached() -> None:
    route = (Acquire(resource="line"), Visit(station="cp", service=Exp(1.0)), Release(resource="line"))
    line = Resource(name="line", capacity=1, queue_limit=0)
    result = simulate(one(Station(name="cp"), route, 2.0, resources=(line,)), seed=1, horizon=20_000)
    reached = result.resources["line"].limit_reached_per_s
    assert reached.value == pytest.approx(result.classes["work"].lost_per_s.value)
    assert reached.value == pytest.approx(4 / 3, rel=0.05)  # Erlang's loss formula: two of three are refused
    full = Station(name="cp", capacity=1, when_full="reject")
    result = simulate(one(full, (Visit(station="cp", service=Exp(1.0)),), 2.0), seed=1, horizon=20_000)
    assert result.stations["cp"].rejected_per_s == pytest.approx(4 / 3, rel=0.05)


@pytest.mark.parametrize("batch", [Exp(1.0), Distribution.deterministic(2.5)], ids=["exponential", "two or three"])
def test_batches_keep_their_mean(batch: Distribution) -> None:
    arrivals = Arrivals(interarrival=Exp(1.0), batch=batch)
    work = TransactionClass(name="work", route=(Visit(station="z", service=Exp(1.0)),), arrivals=arrivals)
    network = Network(name="batches", stations=(Station(name="z", scheduling="delay"),), classes=(work,))
    rate = simulate(network, seed=1, horizon=200_000, level=0.999).classes["work"].throughput_per_s
    assert rate.low < arrivals.rate_per_s < rate.high
    assert rate.half_width < 0.02 * rate.value


def test_queue_that_some_come_back_to_has_no_exact_solution() -> None:
    half = Visit(station="cp", service=Distribution.deterministic(1.0), count=0.5)
    pause = Visit(station="z", service=Distribution.deterministic(0.3))
    work = TransactionClass(name="work", route=(half, pause, half), arrivals=Arrivals.poisson(0.8))
    stations = (Station(name="cp"), Station(name="z", scheduling="delay"))
    with pytest.raises(NetworkError, match="station 'cp' more than once"):
        solve(Network(name="back", stations=stations, classes=(work,)))
    once = TransactionClass(name="work", route=(half, pause), arrivals=Arrivals.poisson(0.8))
    assert solve(Network(name="once", stations=stations, classes=(once,))).method == "M/G/1 fcfs"


def test_users_who_would_come_back_in_no_time_are_refused() -> None:
    route = (Visit(station="cp", service=Exp(1.0)),)
    full = Station(name="cp", capacity=2, when_full="reject")
    users = TransactionClass(name="users", route=route, users=4)
    with pytest.raises(NetworkError, match=r"turned away at 'cp'.*think time"):
        simulate(Network(name="hasty", stations=(full,), classes=(users,)), seed=1)
    enough = TransactionClass(name="users", route=route, users=2)
    result = simulate(Network(name="room", stations=(full,), classes=(enough,)), seed=1, horizon=2_000)
    assert result.classes["users"].lost_per_s.value == 0


def test_users_cannot_be_replayed() -> None:
    users = TransactionClass(name="users", route=(Visit(station="cp", service=Exp(1.0)),), users=2, think=Exp(1.0))
    network = Network(name="closed", stations=(Station(name="cp"),), classes=(users,))
    with pytest.raises(NetworkError, match="class 'users' has users"):
        replay(network, np.array([0.0, 1.0]), np.array([0, 0]), {})


def test_overflow_counts_visits_that_went_over() -> None:
    zip_ = Station(name="ziip", servers=1, scheduling="ps", overflow=Overflow(to="cp"))
    work = TransactionClass(
        name="work", route=(Visit(station="ziip", service=Exp(1.0), count=0.5),), arrivals=Arrivals.poisson(2.0)
    )
    network = Network(name="over", stations=(zip_, Station(name="cp", servers=20)), classes=(work,))
    result = simulate(network, seed=1, horizon=40_000)
    assert result.stations["ziip"].overflow_per_s == pytest.approx(result.stations["cp"].visits_per_s.value)
    assert result.stations["ziip"].overflow_per_s == pytest.approx(0.5, rel=0.05)  # Erlang: half of one a second


def test_what_overflows_is_limited_by_both_stations() -> None:
    """The pool alone could do 2 a second; both together do 4, of 1.5 s each on six engines."""
    ziip = Station(name="ziip", servers=2, scheduling="ps", overflow=Overflow(to="cp"))
    route = (Visit(station="ziip", service=Exp(1.0)), Visit(station="cp", service=Exp(0.5)))
    work = TransactionClass(name="work", route=route, arrivals=Arrivals.poisson(1.8))
    network = Network(name="over", stations=(ziip, Station(name="cp", servers=4, scheduling="ps")), classes=(work,))
    limits = simulate(network, seed=1, horizon=10_000).limits
    assert [limit.name for limit in limits] == ["cp", "ziip"]
    assert limits[0].rate_per_s == pytest.approx(6 / 1.5, rel=0.03)
    assert limits[1].rate_per_s == np.inf


def test_of_stations_overloaded_in_a_chain_the_one_asked_most_of_binds_first() -> None:
    net = network_of(
        [Station(name="cp"), Station(name="disk"), Station(name="link")],
        open_class(14.0, visit("link", 0.01), visit("cp", 0.1), visit("disk", 0.18)),
    )
    limits = simulate(net, seed=1, horizon=5_000).limits
    assert [limit.name for limit in limits] == ["disk", "cp", "link"]
    assert [limit.rate_per_s for limit in limits[:2]] == pytest.approx([1 / 0.18, 10.0])


def test_a_resource_held_across_a_fork_is_held_for_the_longest_branch() -> None:
    fork = Fork(branches=((visit("disk", 1.0),), (visit("link", 0.2),)))
    net = network_of(
        [Station(name="disk", scheduling="delay"), Station(name="link", scheduling="delay")],
        closed_class(10, 0.1, Acquire(resource="mxt"), fork, Release(resource="mxt")),
        resources=(Resource(name="mxt", capacity=2),),
    )
    limits = simulate(net, seed=1, horizon=20_000).limits
    assert [limit.name for limit in limits] == ["mxt"] and limits[0].rate_per_s == pytest.approx(2.0, rel=0.05)


def test_who_comes_back_at_once_to_a_full_station_keeps_its_place() -> None:
    """Where servers are shared, two exponential visits in a row are one of two phases."""
    law, whole = Distribution.exponential(0.5), Distribution.erlang(1.0, 2)
    stations = [Station(name="z", servers=4), Station(name="b", servers=2, capacity=3, when_full="block")]
    twice, once = (
        simulate(network_of(stations, closed_class(8, 1.0, visit("z", 0.2), again)), seed=3, horizon=100_000)
        for again in (visit("b", law, count=2.0), visit("b", whole))
    )
    found, known = (next(iter(run.classes.values())).response_s for run in (twice, once))
    assert found.value == pytest.approx(known.value, abs=2 * (found.half_width + known.half_width))
