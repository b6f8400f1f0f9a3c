"""Limits around parts of a network, one within another, against chains and the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from model.network import Acquire, Cec, LparShare, Network, NetworkError, Release, Resource, Station
from model.network.simulator import simulate
from model.network.solvers import Solution, solve
from model.network.solvers.passive.parts import Limited, limited_parts
from model.network.solvers.reduction import reduce
from tests.model.network.simulator.build import closed_class, network, open_class, visit
from tests.oracles.hardware_chains import passive_resource

CPU, DISK = Station(name="cp", servers=2, scheduling="ps"), Station(name="disk", scheduling="delay")


def approximate(net: Network) -> Solution:
    """Also of a network that is small enough for its Markov chain."""
    return solve(net, method="approximate")


def region(mxt: int, qr: int, *classes, instances: int = 1) -> Network:
    """MXT around engines and a disk; the QR TCB around some of the engines' work."""
    limits = (Resource(name="mxt", capacity=mxt), Resource(name="qr", capacity=qr, instances=instances))
    return network((CPU, DISK), *classes, resources=limits)


def work(cp_s: float, qr_s: float, disk_s: float) -> list:
    """The steps of a transaction inside MXT."""
    steps = [visit("cp", cp_s), visit("cp", qr_s, holding=("qr",)), visit("disk", disk_s)]
    return [Acquire(resource="mxt"), *steps, Release(resource="mxt")]


def test_one_limit_is_its_markov_chain():
    chain = passive_resource(arrival_rate=1.4, units=4, engines=2, service_rate=1.0, io_rate=0.8)
    route = (Acquire(resource="mxt"), visit("cp", 1.0), visit("disk", 1 / 0.8), Release(resource="mxt"))
    answer = approximate(network((CPU, DISK), open_class(1.4, *route), resources=(Resource(name="mxt", capacity=4),)))
    assert answer.response_s[0] == pytest.approx(chain.response_s, rel=0.06)
    assert answer.held[0, 0] == pytest.approx(1.4 * (answer.response_s[0] - answer.wait_s[0, 0]))


@pytest.mark.parametrize(("rate", "users", "servers"), [(0.9, 40, 1), (0.5, 5, 1), (2.7, 30, 3)])
def test_a_limit_of_as_many_as_there_are_servers_is_a_queue_in_order(rate, users, servers):
    def queue(*around) -> Network:
        inside = [*around[:1], visit("cp", 1.0), *around[1:]]
        station = Station(name="cp", servers=servers, scheduling="fcfs")
        limits = (Resource(name="mxt", capacity=servers),) if around else ()
        both = open_class(rate, *inside), closed_class(users, 1.0, *inside, name="users")
        return network((station,), *both, resources=limits)

    limited, plain = approximate(queue(Acquire(resource="mxt"), Release(resource="mxt"))), solve(queue())
    assert plain.exact
    # Users keep the open class waiting far beyond what it would wait alone.
    np.testing.assert_allclose(limited.response_s, plain.response_s, rtol=0.08)


@pytest.mark.parametrize("others", [1, 3])
def test_users_outside_a_limit_may_leave_it_too_little(others):
    inside = (Acquire(resource="mxt"), visit("cp", 1.0), Release(resource="mxt"))
    outside = closed_class(others, 0.0, visit("cp", 1.0), name="outside")
    station = Station(name="cp", scheduling="ps")
    limits = (Resource(name="mxt", capacity=1),)

    def at(rate: float):
        return approximate(network((station,), open_class(rate, *inside), outside, resources=limits))

    share = 1 / (others + 1)
    over = at(1.01 * share)
    assert over.saturated == ("mxt",)
    assert np.isinf(over.response_s[0])
    assert over.throughput_per_s[1] == pytest.approx(1 - share, rel=1e-6)


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_a_limit_within_a_limit_is_the_simulated_one(rate):
    net = region(5, 1, open_class(rate, *work(0.5, 0.8, 1.0)))
    answer = approximate(net)
    found = simulate(net, seed=1, horizon=60_000).classes["a"].response_s
    assert answer.response_s[0] == pytest.approx(found.value, rel=0.1)


def test_a_limit_that_is_nearly_always_held_is_no_more_than_full():
    users = closed_class(100, 300.0, *work(0.3, 0.5, 2.0), name="b")
    net = region(400, 1, open_class(0.8, *work(0.5, 0.8, 1.0)), users)
    answer = approximate(net)
    assert 0.8 < answer.held[:, 1].sum() < 1
    assert answer.held[:, 0] == pytest.approx(answer.throughput_per_s * (answer.response_s - answer.wait_s[:, 0]))
    found = simulate(net, seed=1, horizon=60_000)
    for r, name in enumerate(net.class_names):
        assert answer.response_s[r] == pytest.approx(found.classes[name].response_s.value, rel=0.25)


@pytest.mark.parametrize("scheduling", ["ps", "priority_ps"])
@pytest.mark.parametrize("cap", [None, 4.0])
def test_a_limit_holds_up_its_own_and_spares_the_others(scheduling, cap):
    """Eight at a time of two classes online, batch beside them below, on a machine of their own or a shared one."""
    share = LparShare(cec="machine", weight=4.0, cap=cap) if cap else None
    cp = Station(name="cp", servers=4, scheduling=scheduling, lpar=share)
    inside = [
        [Acquire(resource="mxt"), visit("cp", work_s), visit("disk", 2 * work_s), Release(resource="mxt")]
        for work_s in (0.8, 1.0)
    ]
    online = (open_class(1.6, *inside[0], name="a", priority=3), open_class(1.4, *inside[1], name="b", priority=2))
    batch = open_class(0.1, visit("cp", 4.0), name="c", priority=1)
    net = network(
        (cp, DISK), *online, batch, resources=(Resource(name="mxt", capacity=9),),
        cecs=(Cec(name="machine", engines=6),) if cap else (),
    )  # fmt: skip
    answer, found = approximate(net), simulate(net, seed=1, horizon=200_000)
    assert answer.wait_s[0, 0] > 0.1
    for r, name in enumerate(net.class_names):
        assert answer.response_s[r] == pytest.approx(found.classes[name].response_s.value, rel=0.15), name


def test_users_and_arrivals_share_nested_limits():
    net = region(6, 1, open_class(0.5, *work(0.5, 0.6, 1.0)), closed_class(5, 4.0, *work(0.3, 0.5, 2.0), name="b"))
    answer, found = approximate(net), simulate(net, seed=1, horizon=60_000)
    for r, name in enumerate(net.class_names):
        assert answer.response_s[r] == pytest.approx(found.classes[name].response_s.value, rel=0.1)


def test_copies_of_a_limit_leave_some_idle():
    one = np.arange(1.0, 9)
    copies = Limited(0, 1, 4, np.ones(1), np.ones((1, 1)))
    assert copies.inside(8) == pytest.approx(one * 4 / (one + 3))
    assert Limited(0, 3, 1, np.ones(1), np.ones((1, 1))).inside(5) == pytest.approx([1, 2, 3, 3, 3])
    net = region(8, 1, open_class(1.2, *work(0.3, 0.9, 1.0)), instances=3)
    found = simulate(net, seed=1, horizon=60_000).classes["a"].response_s.value
    assert approximate(net).response_s[0] == pytest.approx(found, rel=0.12)


def test_copies_of_a_limit_before_nearly_full_engines_are_soon_answered(monkeypatch):
    limits = (Resource(name="mxt", capacity=3, instances=3),)
    route = (Acquire(resource="mxt"), visit("cp", 0.5), visit("disk", 0.3), Release(resource="mxt"))
    answers = [
        float(approximate(network((CPU, DISK), open_class(rate, *route), resources=limits)).response_s[0])
        for rate in (3.99, 3.999)
    ]
    # A tenth of what was left of the engines, ten times the queue.
    assert answers[1] == pytest.approx(10 * answers[0], rel=0.1)
    many = Limited(0, 20, 5, np.ones(1), np.ones((1, 1)))
    whole = many.inside(3_000)
    monkeypatch.setattr("model.network.solvers.passive.parts.SPREAD", 3_000)
    assert whole == pytest.approx(many.inside(3_000), rel=5e-4)


def test_a_limit_around_nothing_holds_nothing_up():
    limits = (Resource(name="mxt", capacity=3),)
    route = (Acquire(resource="mxt"), Release(resource="mxt"), visit("cp", 0.3))
    answer = approximate(network((CPU, DISK), open_class(1.0, *route), resources=limits))
    free = approximate(network((CPU, DISK), open_class(1.0, visit("cp", 0.3))))
    assert answer.response_s[0] == pytest.approx(free.response_s[0])


def test_an_inner_limit_that_never_binds_changes_nothing():
    def answered(qr: int) -> float:
        return float(approximate(region(4, qr, open_class(0.9, *work(0.5, 0.5, 1.0)))).response_s[0])

    assert answered(4) == pytest.approx(answered(400))
    assert answered(1) > 1.1 * answered(4)


def test_a_limit_nobody_reaches_is_no_limit():
    wide = approximate(region(900, 900, open_class(0.9, *work(0.5, 0.5, 1.0))))
    free = approximate(network((CPU, DISK), open_class(0.9, visit("cp", 0.5), visit("cp", 0.5), visit("disk", 1.0))))
    # The engines are met twice inside, which the inside of the limit takes for two stations that slow each other down.
    assert wide.response_s == pytest.approx(free.response_s, rel=0.03)
    assert wide.wait_s == pytest.approx(np.zeros((1, 2)), abs=1e-9)


def test_overlapping_limits_that_nobody_waits_for_are_left_out():
    limits = (Resource(name="mxt", capacity=60), Resource(name="tclass", capacity=50), Resource(name="qr", capacity=1))
    both = (Acquire(resource="tclass"), *work(0.3, 0.4, 1.0), Release(resource="tclass"))
    net = network(
        (CPU, DISK), open_class(0.8, *work(0.3, 0.4, 1.0)), open_class(0.6, *both, name="b"), resources=limits
    )
    answer, found = approximate(net), simulate(net, seed=1, horizon=40_000)
    assert "layered resources" not in answer.approximated and answer.held[1, 1] > 0
    for r, name in enumerate(net.class_names):
        assert answer.response_s[r] == pytest.approx(found.classes[name].response_s.value, rel=0.1)


def test_limits_that_overlap_are_answered_and_called_so():
    crossed = open_class(
        0.3, Acquire(resource="mxt"), Acquire(resource="qr"), visit("cp", 1.0),
        Release(resource="mxt"), visit("disk", 1.0), Release(resource="qr"),
    )  # fmt: skip
    other = open_class(0.1, *work(0.5, 0.5, 1.0), name="b")
    alone = open_class(0.1, Acquire(resource="qr"), visit("cp", 0.1), Release(resource="qr"), name="c")
    assert limited_parts(reduce(region(2, 1, other, alone))) is None
    assert "layered resources" in approximate(region(2, 1, other, alone)).approximated
    assert np.isfinite(approximate(region(5, 2, crossed)).response_s).all()


def test_limited_work_that_others_starve_of_the_engine_has_no_steady_state():
    inside = (Acquire(resource="lock"), visit("cp", 0.1), Release(resource="lock"))
    low = open_class(0.01, *inside[:2], visit("tape", 0.1), inside[2], name="low", priority=0)
    high = open_class(4.0, *inside, name="high", priority=1)
    flood = open_class(20.0, visit("cp", 0.1), name="flood", priority=2)
    stations = [Station(name="cp", scheduling="hol"), Station(name="tape")]
    answer = approximate(network(stations, low, high, flood, resources=(Resource(name="lock", capacity=2),)))
    assert np.isinf(answer.response_s).all()


def test_locks_taken_in_two_orders_are_a_deadlock_by_either_method():
    classes = [
        closed_class(
            4, 0.01, Acquire(resource=first), visit("cp", 1e-3), Acquire(resource=then), visit("cp", 1e-3),
            Release(resource=then), Release(resource=first), name=first,
        )
        for first, then in (("mxt", "qr"), ("qr", "mxt"))
    ]  # fmt: skip
    with pytest.raises(NetworkError, match="hold what another waits for at mxt and qr"):
        approximate(region(1, 1, *classes))
    with pytest.raises(NetworkError, match="come to wait for each other, without end"):
        solve(region(1, 1, *classes))


@pytest.mark.parametrize(("rate", "is_unsure"), [(0.6, True), (0.1, False)])
def test_a_limit_nearly_full_of_unlike_work_is_answered_as_unsure_as_it_is(rate: float, is_unsure: bool) -> None:
    """A lock is held by those who wait for an engine behind rarer, longer work."""
    held = open_class(rate, visit("cp", 1.0, holding=("lock",)))
    long = open_class(0.01, visit("cp", 20.0), name="long")
    lock = Resource(name="lock", capacity=1)
    answer = approximate(network(Station(name="cp", scheduling="hol"), held, long, resources=(lock,)))
    assert ("limits around unlike work" in answer.approximated) is is_unsure
    assert (answer.known_error[1] > 1) is is_unsure
