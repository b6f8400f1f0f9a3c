"""Arrivals that are not Poisson: their moments and the exact queues they feed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.exact import solve
from model.network.simulator import simulate
from tests.model.network.simulator.build import network

EXP = Distribution.exponential
TIMES = {"erlang": Distribution.erlang(1.0, 3), "hyperexponential": Distribution.with_scv(1.0, 4.0)}


def queue(arrivals: Arrivals, servers: int, service_s: float = 1.0, scheduling: str = "fcfs") -> Network:
    """One station fed by one open class."""
    station = Station(name="cp", servers=servers, scheduling=scheduling)
    route = (Visit(station="cp", service=EXP(service_s)),)
    return network(station, TransactionClass(name="a", route=route, arrivals=arrivals))


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


@pytest.mark.parametrize("scheduling", ["fcfs", "ps"])
@pytest.mark.parametrize("how", ["erlang", "hyperexponential", "interrupted"])
def test_the_queue_of_arrivals_in_phases_is_the_simulated_one(scheduling, how):
    arrivals = (
        Arrivals(interarrival=EXP(0.5), on=EXP(4.0), off=EXP(4.0))
        if how == "interrupted"
        else Arrivals(interarrival=TIMES[how])
    )
    net = queue(arrivals, servers=3, service_s=2.2, scheduling=scheduling)
    answer, simulated = solve(net), simulate(net, seed=1, horizon=40_000).classes["a"].response_s
    assert answer.method == "Markov chain"
    assert answer.response_s[0] == pytest.approx(simulated.value, abs=2 * simulated.half_width)
