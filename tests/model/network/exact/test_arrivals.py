"""Arrivals that are not Poisson: their moments and the exact queues they feed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.exact import solve
from model.network.simulator import simulate
from model.queueing.stations import gmc_response
from tests.model.network.simulator.build import network
from tests.oracles.erlang import mmc_response

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


@given(st.floats(0.1, 10), st.floats(0.1, 50), st.floats(0.1, 50))
def test_interrupted_arrivals_have_one_rate_and_one_dispersion(gap_s, on_s, off_s):
    arrivals = Arrivals(interarrival=EXP(gap_s), on=EXP(on_s), off=EXP(off_s))
    step = 1e-4 * arrivals.rate_per_s
    low, high = arrivals.transform(-step), arrivals.transform(step)
    mean = (low - high) / (2 * step)
    assert mean == pytest.approx(1 / arrivals.rate_per_s, rel=1e-2)
    assert (low - 2 + high) / step**2 / mean**2 - 1 == pytest.approx(arrivals.dispersion, rel=2e-2)


@given(st.floats(0.1, 10), st.floats(0.1, 50), st.floats(0.1, 50))
def test_interrupted_arrivals_are_a_hyperexponential_stream(gap_s, on_s, off_s):
    interrupted = Arrivals(interarrival=EXP(gap_s), on=EXP(on_s), off=EXP(off_s))
    # Kuczura 1973: poles and residues of the transform of the times between interrupted arrivals.
    rate, stop, go = 1 / gap_s, 1 / on_s, 1 / off_s
    root = math.sqrt((rate + stop + go) ** 2 - 4 * rate * go)
    fast, slow = (rate + stop + go + root) / 2, (rate + stop + go - root) / 2
    share = (rate - slow) / (fast - slow)
    renewal = Arrivals(interarrival=Distribution.hyperexponential((1 / fast, 1 / slow), (share, 1 - share)))
    assert renewal.dispersion == pytest.approx(interrupted.dispersion, rel=1e-6)


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
    assert answer.method == "GI/M/c"
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
    assert answer.method == "GI/M/c"
    assert answer.response_s[0] == pytest.approx(simulated.value, abs=2 * simulated.half_width)
