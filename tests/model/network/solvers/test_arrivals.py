"""Arrivals that are not Poisson: their moments, exact queues they feed, and what they add elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.simulator import simulate
from model.network.solvers import solve
from model.network.solvers.modulated import Stream, modulated
from model.network.solvers.stations import gmc_response, mmc_response
from tests.model.network.simulator.build import closed_class, network, open_class, visit

EXP = Distribution.exponential
TIMES = {
    "exponential": EXP(2.0),
    "deterministic": Distribution.deterministic(2.0),
    "erlang": Distribution.erlang(2.0, 3),
    "hyperexponential": Distribution.with_scv(2.0, 4.0),
    "empirical": Distribution.empirical((1.0, 2.0, 5.0)),
    "shifted": EXP(2.0).shifted(0.5),
}


def queue(arrivals: Arrivals, servers: int, service_s: float = 1.0, scheduling: str = "fcfs") -> Network:
    """One station fed by one open class."""
    station = Station(name="cp", servers=servers, scheduling=scheduling)
    route = (Visit(station="cp", service=EXP(service_s)),)
    return network(station, TransactionClass(name="a", route=route, arrivals=arrivals))


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_the_transform_has_the_moments_of_the_distribution(times):
    step = 1e-4
    low, middle, high = (times.transform(x) for x in (-step, 0.0, step))
    assert middle == pytest.approx(1.0)
    assert (low - high) / (2 * step) == pytest.approx(times.mean, rel=1e-5)
    assert (low - 2 * middle + high) / step**2 == pytest.approx(times.second_moment, rel=1e-4)
    step = 1e-3
    lowest, low, high, highest = (times.transform(x * step) for x in (-2, -1, 1, 2))
    assert (lowest - 2 * low + 2 * high - highest) / (2 * step**3) == pytest.approx(times.third_moment, rel=2e-2)


@given(st.floats(0.1, 10), st.floats(0.1, 50), st.floats(0.1, 50))
def test_interrupted_arrivals_have_one_rate_and_one_dispersion(gap_s, on_s, off_s):
    arrivals = Arrivals(interarrival=EXP(gap_s), on=EXP(on_s), off=EXP(off_s))
    step = 1e-4 * arrivals.rate_per_s
    low, high = arrivals.transform(-step), arrivals.transform(step)
    mean = (low - high) / (2 * step)
    assert mean == pytest.approx(1 / arrivals.rate_per_s, rel=1e-2)
    assert (low - 2 + high) / step**2 / mean**2 - 1 == pytest.approx(arrivals.dispersion, rel=2e-2)


@given(st.floats(0.1, 10), st.floats(0.1, 50), st.floats(0.1, 50))
def test_interrupted_arrivals_are_a_hyperexponential_stream_with_the_same_memory(gap_s, on_s, off_s):
    interrupted = Arrivals(interarrival=EXP(gap_s), on=EXP(on_s), off=EXP(off_s))
    # Kuczura 1973: poles and residues of the transform of the times between interrupted arrivals.
    rate, stop, go = 1 / gap_s, 1 / on_s, 1 / off_s
    root = math.sqrt((rate + stop + go) ** 2 - 4 * rate * go)
    fast, slow = (rate + stop + go + root) / 2, (rate + stop + go - root) / 2
    share = (rate - slow) / (fast - slow)
    renewal = Arrivals(interarrival=Distribution.hyperexponential((1 / fast, 1 / slow), (share, 1 - share)))
    assert interrupted.memory_s == pytest.approx(1 / (stop + go))
    assert renewal.dispersion == pytest.approx(interrupted.dispersion, rel=1e-6)
    assert renewal.memory_s == pytest.approx(interrupted.memory_s, rel=1e-4)


def test_what_comes_at_once_has_no_memory():
    assert Arrivals(interarrival=EXP(1.0), batch=Distribution.deterministic(3.0)).memory_s == 0
    assert Arrivals.poisson(3.0).memory_s == 0
    # A sum of four phases knows within a quarter of its mean when the next comes.
    assert 0 < Arrivals(interarrival=Distribution.erlang(1.0, 4)).memory_s < 0.25


@pytest.mark.parametrize("servers", [1, 2, 5, 18])
@pytest.mark.parametrize("busy", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("scv", [1.5, 4.0, 20.0])
def test_the_modulated_queue_of_one_stream_is_the_renewal_queue(servers, busy, scv):
    rate = busy * servers
    arrivals = Arrivals(interarrival=Distribution.with_scv(1 / rate, scv))
    stream = Stream(rate, arrivals.dispersion - 1, 1 / arrivals.memory_s)
    queue = modulated([stream], 0.0, np.arange(1.0, servers + 1))
    stay = np.maximum(np.arange(1.0, servers + 3) / servers, 1.0)
    expected = gmc_response(arrivals.interarrival.transform, rate, 1.0, servers)
    assert queue.mean(stay, seen_by=0) == pytest.approx(expected, rel=1e-6)


def test_a_modulated_queue_of_poisson_arrivals_alone_is_erlangs():
    queue = modulated([], 2.4, np.arange(1.0, 4.0))
    stay = np.maximum(np.arange(1.0, 6.0) / 3, 1.0)
    assert queue.mean(stay) == pytest.approx(mmc_response(2.4, 1.0, 3))
    numbers = queue.numbers()
    assert numbers @ np.arange(len(numbers)) == pytest.approx(2.4 * mmc_response(2.4, 1.0, 3), rel=1e-6)


@pytest.mark.parametrize(
    "arrivals",
    [
        Arrivals(interarrival=EXP(1.5), batch=Distribution.deterministic(3.0)),
        Arrivals(interarrival=EXP(0.25), on=EXP(6.0), off=EXP(6.0)),
        Arrivals(interarrival=Distribution.with_scv(0.5, 4.0)),
        Arrivals(interarrival=Distribution.erlang(0.5, 4)),
    ],
    ids=["batches", "bursts", "variable", "regular"],
)
def test_streams_keep_their_bursts_from_station_to_station(arrivals):
    stations = [Station(name=name, servers=n, scheduling="ps") for name, n in (("cp", 4), ("disk", 1), ("io", 8))]
    uneven = TransactionClass(
        name="u", route=(visit("cp", 0.8), visit("disk", 0.2), visit("io", 1.0)), arrivals=arrivals
    )
    even = TransactionClass(name="e", route=(visit("io", 0.5), visit("disk", 0.3)), arrivals=Arrivals.poisson(1.0))
    net = network(stations, uneven, even)
    answer, simulated = solve(net), simulate(net, seed=1, horizon=60_000)
    for row, name in enumerate(net.class_names):
        found = simulated.classes[name].response_s
        assert answer.response_s[row] == pytest.approx(found.value, rel=0.08, abs=found.half_width)


def test_what_bursts_add_grows_until_the_station_is_full():
    def response_s(load):
        bursty = Arrivals(interarrival=Distribution.with_scv(2 / load, 4.0))
        classes = [
            TransactionClass(name=name, route=(visit("cp", 1.0),), arrivals=arrivals)
            for name, arrivals in (("bursty", bursty), ("even", Arrivals.poisson(load / 2)))
        ]
        return solve(network([Station(name="cp", scheduling="ps")], *classes)).response_s

    found = [response_s(load) for load in (0.99, 0.998, 0.9989, 0.9991, 0.9999)]
    assert (np.diff(found, axis=0) > 0).all()


def test_dispersion_of_batches_counts_what_comes_at_once():
    assert Arrivals.poisson(3.0).dispersion == 1
    assert Arrivals(interarrival=EXP(1.0), batch=Distribution.deterministic(3.0)).dispersion == pytest.approx(3)
    # Two or three at once, as often: the mean of the square over the mean.
    assert Arrivals(interarrival=EXP(1.0), batch=Distribution.deterministic(2.5)).dispersion == pytest.approx(6.5 / 2.5)


@pytest.mark.parametrize("servers", [1, 2, 5, 18])
@pytest.mark.parametrize("busy", [0.3, 0.8, 0.95])
def test_the_renewal_queue_of_poisson_arrivals_is_erlangs(servers, busy):
    rate = busy * servers
    assert gmc_response(EXP(1 / rate).transform, rate, 1.0, servers) == pytest.approx(
        mmc_response(rate, 1.0, servers), rel=1e-5
    )


def test_regular_arrivals_wait_as_the_root_of_their_transform_says():
    answer = solve(queue(Arrivals(interarrival=Distribution.deterministic(2.0)), servers=1))
    assert answer.exact and answer.method == "GI/M/c"
    root = 1 - 1 / answer.response_s[0]
    assert root == pytest.approx(math.exp(-2 * (1 - root)))


@pytest.mark.parametrize(("servers", "every_s"), [(1, 1e6), (10, 10.0), (256, 0.5), (2_000, 0.001)])
def test_regular_arrivals_that_hardly_ever_meet_do_not_wait(servers, every_s):
    assert gmc_response(Distribution.deterministic(every_s).transform, 1 / every_s, 0.5, servers) == pytest.approx(0.5)


@pytest.mark.parametrize("scheduling", ["fcfs", "ps"])
@pytest.mark.parametrize("how", ["erlang", "hyperexponential", "interrupted"])
def test_the_renewal_queue_is_the_simulated_one(scheduling, how):
    arrivals = (
        Arrivals(interarrival=EXP(0.5), on=EXP(4.0), off=EXP(4.0))
        if how == "interrupted"
        else Arrivals(interarrival=TIMES[how].scaled(0.5))
    )
    net = queue(arrivals, servers=3, service_s=2.2, scheduling=scheduling)
    answer, simulated = solve(net), simulate(net, seed=1, horizon=40_000).classes["a"].response_s
    assert answer.exact
    assert answer.response_s[0] == pytest.approx(simulated.value, abs=2 * simulated.half_width)


def test_overloaded_renewal_queues_are_saturated():
    answer = solve(queue(Arrivals(interarrival=Distribution.deterministic(0.5)), servers=1))
    assert math.isinf(answer.response_s[0]) and answer.saturated == ("cp",)


@pytest.mark.parametrize("batch", [2, 3, 7])
def test_batches_at_one_server_wait_for_each_other(batch):
    arrivals = Arrivals(interarrival=EXP(batch / 0.6), batch=Distribution.deterministic(float(batch)))
    answer = solve(queue(arrivals, servers=1, scheduling="ps"), method="approximate")
    assert answer.response_s[0] == pytest.approx((1 + batch) / 2 / (1 - 0.6), rel=1e-5)
    assert answer.approximated == ("arrivals not Poisson",)


def test_users_who_share_a_station_with_bursts_wait_longer_too():
    def answered(arrivals: Arrivals) -> tuple[Network, float]:
        bursts = TransactionClass(name="b", route=(visit("cp", 1.0), visit("disk", 0.5)), arrivals=arrivals)
        net = network(
            [Station(name="cp", servers=2, scheduling="ps"), Station(name="disk", scheduling="ps")],
            bursts,
            closed_class(3, 5.0, visit("cp", 0.5), visit("disk", 0.2)),
        )
        return net, float(solve(net).response_s[1])

    _, even = answered(Arrivals.poisson(1.0))
    net, uneven = answered(Arrivals(interarrival=EXP(0.5), on=EXP(5.0), off=EXP(5.0)))
    simulated = simulate(net, seed=1, horizon=40_000).classes["a"].response_s.value
    assert uneven == pytest.approx(simulated, rel=0.1) and even < 0.8 * simulated


BURSTS = Arrivals(interarrival=EXP(0.02), on=EXP(1.0), off=EXP(3.0))
BATCHES = Arrivals(interarrival=EXP(0.25), batch=Distribution.deterministic(6.0))


@pytest.mark.parametrize("scheduling", ["ps", "priority_ps"])
def test_users_meet_bursts_and_batches_for_as_long_as_each_lasts(scheduling):
    net = network(
        Station(name="cp", servers=3, scheduling=scheduling),
        TransactionClass(name="bursts", route=(visit("cp", 0.015),), arrivals=BURSTS, priority=3),
        TransactionClass(name="batches", route=(visit("cp", 0.02),), arrivals=BATCHES, priority=2),
        closed_class(40, 2.0, visit("cp", 0.03), name="users", priority=1),
    )
    answer, simulated = solve(net), simulate(net, seed=1, horizon=60_000)
    for row, name in enumerate(net.class_names):
        found = simulated.classes[name].response_s
        assert answer.response_s[row] == pytest.approx(found.value, rel=0.12, abs=found.half_width), name


def test_more_important_work_does_not_meet_bursts_of_less_important_work():
    bursts = TransactionClass(name="bursts", route=(visit("cp", 0.015),), arrivals=BURSTS, priority=2)
    batches = TransactionClass(name="batches", route=(visit("cp", 0.02),), arrivals=BATCHES, priority=1)
    cp = Station(name="cp", servers=3, scheduling="preemptive")
    alone, beside = solve(network(cp, bursts)), solve(network(cp, bursts, batches))
    assert beside.response_s[0] == pytest.approx(alone.response_s[0], rel=1e-6)


@pytest.mark.parametrize("weight", [1.0, 8.0])
def test_bursts_crowd_those_of_more_weight_less(weight):
    arrivals = Arrivals(interarrival=EXP(0.4), on=EXP(6.0), off=EXP(6.0))
    bursts = TransactionClass(name="b", route=(visit("q", 0.35),), arrivals=arrivals)
    shared = Station(name="q", scheduling="dps")
    net = network(shared, bursts, open_class(0.2, visit("q", 0.7), weight=weight))
    answer, chain = solve(net, method="approximate"), solve(net)
    assert chain.exact
    assert answer.response_s == pytest.approx(chain.response_s, rel=0.15)


def test_batches_that_come_back_at_once_wait_for_each_other_till_the_last_visit():
    arrivals = Arrivals(interarrival=EXP(8.0), batch=Distribution.deterministic(3.0))
    batches = TransactionClass(name="b", route=(visit("q", 0.5, count=2.0),), arrivals=arrivals)
    net = network(Station(name="q", scheduling="ps"), batches)
    answer, chain = solve(net, method="approximate"), solve(net)
    assert chain.exact
    assert answer.response_s == pytest.approx(chain.response_s, rel=0.06)
