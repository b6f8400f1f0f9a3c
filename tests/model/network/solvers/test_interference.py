from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from model.network import (
    Acquire,
    Arrivals,
    Distribution,
    Go,
    Network,
    Release,
    Resource,
    Station,
    TransactionClass,
    Visit,
)
from model.network.solvers import solve
from model.network.solvers.interference import drained
from model.network.solvers.priorities import mg1_preemptive_resume
from model.network.solvers.reduction import reduce

Exp = Distribution.exponential


def beneath(above, low, route, scheduling="preemptive", servers=1, **more):
    """A class named low beneath one at a station, and beside that a delay."""
    stations = (Station(name="cp", servers=servers, scheduling=scheduling), Station(name="disk", scheduling="delay"))
    who = {"users": low[0], "think": Exp(low[1])} if isinstance(low, tuple) else {"arrivals": Arrivals.poisson(low)}
    low_class = TransactionClass(name="low", route=tuple(route), **who)
    return Network(name="beneath", stations=stations, classes=(above, low_class), **more)


def important(service, **who):
    return TransactionClass(name="high", priority=1, route=(Visit(station="cp", service=service),), **who)


@pytest.mark.parametrize("left", [0.001, 0.05, 0.3, 0.9, 0.999])
def test_the_more_users_are_above_the_nearer_they_are_to_a_stream(left):
    # One user who is there takes its own time and does not come again meanwhile.
    assert drained(1, left) == pytest.approx(left)
    found = [drained(users, left) for users in (1, 2, 5, 20, 100)]
    assert all(fewer < more < 1.0 for fewer, more in pairwise(found))
    assert drained(0, left) == drained(5, 1.0) == 1.0


@pytest.mark.parametrize(("servers", "users"), [(2, 1), (4, 1), (4, 3), (8, 7)])
@pytest.mark.parametrize("think_s", [0.2, 2.0])
@pytest.mark.parametrize("low_s", [0.3, 3.0])
def test_users_above_who_are_fewer_than_servers_leave_the_others_alone(servers, users, think_s, low_s):
    """Against the Markov chain."""
    rate = 0.8 * (servers - users / (1 + think_s)) / low_s
    above = important(Exp(1.0), users=users, think=Exp(think_s))
    network = beneath(above, rate, [Visit(station="cp", service=Exp(low_s))], servers=servers)
    truth, answer = solve(network, "exact"), solve(network, "approximate")
    assert answer.response_s[1] == pytest.approx(truth.response_s[1], rel=0.06)


@pytest.mark.parametrize("scheduling", ["preemptive", "priority_ps"])
@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_variable_work_above_is_met_as_its_residual(scheduling, scv):
    service = Distribution.with_scv(1.0, scv)
    above = important(service, arrivals=Arrivals.poisson(0.6))
    network = beneath(above, 1e-4, [Visit(station="cp", service=Exp(0.5))], scheduling)
    truth = mg1_preemptive_resume([0.6, 1e-4], [1.0, 0.5], [1.0 + scv, 0.5], [1, 0])
    assert solve(network, "approximate").response_s[1] == pytest.approx(truth[1], rel=0.01)


@pytest.mark.parametrize("scheduling", ["hol", "preemptive", "priority_ps"])
def test_who_is_soon_back_finds_less_important_work(scheduling):
    """Against the Markov chain: it left when nothing more important waited."""
    route = [
        Visit(station="cp", service=Exp(0.5), label="again"),
        Go(to=(("end", 0.2),)),
        Visit(station="disk", service=Exp(0.2)),
        Go(to=(("again", 1.0),)),
    ]
    network = beneath(important(Exp(1.0), arrivals=Arrivals.poisson(0.5)), (4, 20.0), route, scheduling)
    returns = reduce(network).returns
    assert returns.share[1, 0] == pytest.approx(0.8) and returns.share[0, 0] == 0
    assert returns.between[1, 0] == pytest.approx([0.0, 1.0])
    truth, answer = solve(network, "exact"), solve(network, "approximate")
    assert answer.response_s[1] == pytest.approx(truth.response_s[1], rel=0.1)


def test_what_is_held_of_a_limit_is_no_more_than_there_is():
    """Importances inside a limit that is often full: who goes first is there the shorter, who goes last the longer."""

    def inside(name, cpu, disk_s, **more):
        visits = (Visit(station="cp", service=cpu), Visit(station="disk", service=Exp(disk_s)))
        route = (Acquire(resource="mxt"), *visits, Release(resource="mxt"))
        return TransactionClass(name=name, route=route, **more)

    stations = (Station(name="cp", scheduling="priority_ps"), Station(name="disk", scheduling="delay"))
    varied = Distribution.with_scv(0.0057, 4.0)
    classes = (
        inside("low", Exp(0.001), 0.0079, arrivals=Arrivals.poisson(98.0)),
        inside("middle", Distribution.with_scv(0.008, 2.0), 0.0051, users=400, think=Exp(10.0), priority=1),
        inside("high", varied, 0.0053, users=124, think=Exp(2.0), priority=2),
    )
    mxt = Resource(name="mxt", capacity=5)
    answer = solve(Network(name="n", stations=stations, classes=classes, resources=(mxt,)))
    assert np.all(answer.held.sum(axis=0) <= 5.15)


def test_users_above_who_never_leave_leave_nothing():
    """In whatever order the others came to wait for ever."""
    above = important(Exp(1.0), users=2)
    beneath_two = beneath(above, (2, 1.0), [Visit(station="cp", service=Exp(0.5))], servers=2)
    third = TransactionClass(name="third", route=(Visit(station="cp", service=Exp(0.2)),), users=2, think=Exp(2.0))
    answer = solve(replace(beneath_two, classes=(*beneath_two.classes, third)))
    assert answer.exact and answer.response_s[0] == pytest.approx(1.0)
    assert np.all(np.isinf(answer.response_s[1:])) and np.all(answer.throughput_per_s[1:] == 0)


def test_ample_limit_changes_nothing() -> None:
    """Less important work inside a limit that never keeps anybody out takes as long as without it."""

    def answer(limited: bool) -> np.ndarray:
        cp = Station(name="cp", servers=4, scheduling="priority_ps")
        inside = (Visit(station="cp", service=Distribution.exponential(0.01)),)
        route = (Acquire(resource="mxt"), *inside, Release(resource="mxt")) if limited else inside
        arrivals = Arrivals.poisson(175)
        high = TransactionClass(name="high", route=inside, priority=2, arrivals=arrivals)
        low = TransactionClass(name="low", route=route, priority=1, arrivals=arrivals)
        mxt = (Resource(name="mxt", capacity=100),) if limited else ()
        network = Network(name="ample", stations=(cp,), classes=(high, low), resources=mxt)
        return solve(network, "approximate").response_s

    np.testing.assert_allclose(answer(True), answer(False), rtol=0.01)
