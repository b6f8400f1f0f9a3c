"""What the solvers and the simulator both say of a network, in the same terms."""

import pytest

from model.network import (
    Acquire,
    Cec,
    CfRequest,
    Distribution,
    Fork,
    LparShare,
    Network,
    NetworkError,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
)
from model.network.simulator import simulate
from model.network.solvers import solve
from tests.model.network.simulator.build import EXP, closed_class, network, open_class, visit


@pytest.mark.parametrize(
    ("units", "order", "rates_per_s"), [(10, ("cp", "mxt"), (100, 333)), (2, ("mxt", "cp"), (67, 100))]
)
def test_a_resource_whose_holders_wait_for_a_full_engine_is_not_the_bottleneck(units, order, rates_per_s):
    net = network(
        [Station(name="cp"), Station(name="disk", scheduling="delay")],
        closed_class(
            50, 0.1, Acquire(resource="mxt"), visit("cp", 0.01), visit("disk", 0.02), Release(resource="mxt")
        ),
        resources=(Resource(name="mxt", capacity=units),),
    )  # fmt: skip
    for limits in (solve(net).limits, simulate(net, seed=1, horizon=20_000).limits):
        assert tuple(limit.name for limit in limits) == order
        assert [limit.rate_per_s for limit in limits] == pytest.approx(rates_per_s, rel=0.03)
        assert next(limit for limit in limits if limit.name == "mxt").utilisation == pytest.approx(1.0, abs=1e-3)


def test_of_stations_overloaded_in_a_chain_the_one_asked_most_of_binds_first():
    net = network(
        [Station(name="cp"), Station(name="disk"), Station(name="link")],
        open_class(14.0, visit("link", 0.01), visit("cp", 0.1), visit("disk", 0.18)),
    )
    for limits in (solve(net).limits, simulate(net, seed=1, horizon=5_000).limits):
        assert [limit.name for limit in limits] == ["disk", "cp", "link"]
        assert [limit.rate_per_s for limit in limits[:2]] == pytest.approx([1 / 0.18, 10.0])


def test_a_resource_held_across_a_fork_is_held_for_the_longest_branch():
    fork = Fork(branches=((visit("disk", 1.0),), (visit("link", 0.2),)))
    net = network(
        [Station(name="disk", scheduling="delay"), Station(name="link", scheduling="delay")],
        closed_class(10, 0.1, Acquire(resource="mxt"), fork, Release(resource="mxt")),
        resources=(Resource(name="mxt", capacity=2),),
    )
    for limits in (solve(net).limits, simulate(net, seed=1, horizon=20_000).limits):
        assert [limit.name for limit in limits] == ["mxt"] and limits[0].rate_per_s == pytest.approx(2.0, rel=0.05)


def requests(mode: str) -> Network:
    """An engine pool that sends requests to a coupling facility."""
    request = CfRequest(
        station="cf", engine="cp", service=EXP(0.5), issue=EXP(0.2), mode=mode, threshold_s=0.01, async_issue=EXP(0.4)
    )  # fmt: skip
    return network([Station(name="cp", servers=2), Station(name="cf")], open_class(0.5, visit("cp", 1.0), request))


def pool(**more) -> Network:
    """A pool of two shared engines under open load."""
    station = Station(name="cp", servers=2, scheduling="ps", source="made up for the test", **more)
    return network(station, open_class(1.2, visit("cp", 1.0)))


@pytest.mark.parametrize(
    "net",
    [
        requests("sync"),
        requests("async"),
        requests("heuristic"),
        pool(smt=Smt(gain=1.3), speeds=(0.9,)),
        pool(smt=Smt(gain=1.3, packing="dense")),
        pool(cost_by_busy=(1.1, 1.3)),
    ],
    ids=["sync", "async", "heuristic", "smt", "dense smt", "cost by busy"],
)
def test_using_and_waiting_mean_the_same(net):
    solved, simulated = solve(net), simulate(net, seed=1, horizon=60_000)
    for k, name in enumerate(net.station_names):
        part = simulated.classes["a"].parts[name]
        assert solved.service_s[0, k] == pytest.approx(part.using_s, rel=0.07)
        waiting_s = solved.residence_s[0, k] - solved.service_s[0, k]
        assert waiting_s == pytest.approx(part.waiting_s, abs=0.06 * simulated.classes["a"].response_s.value)
    for limit, other in zip(solved.limits, simulated.limits, strict=True):
        assert (limit.name, limit.kind) == (other.name, other.kind)
        assert limit.rate_per_s == pytest.approx(other.rate_per_s, rel=0.05)


def by_class(net: Network, horizon: int = 150_000) -> tuple[dict[str, float], dict[str, float]]:
    """Mean response of each class, solved and simulated."""
    solved, simulated = solve(net), simulate(net, seed=1, horizon=horizon)
    return (
        dict(zip(net.class_names, map(float, solved.response_s), strict=True)),
        {name: simulated.classes[name].response_s.value for name in net.class_names},
    )


def test_transactions_of_unequal_work_overflow_alike():
    ziip = Station(
        name="ziip",
        servers=2,
        scheduling="ps",
        smt=Smt(gain=1.25),
        overflow=Overflow(to="cp", waiting=2),
        source="test",
    )
    net = network(
        [ziip, Station(name="cp", servers=4, scheduling="ps")],
        open_class(1.2, visit("ziip", 1.0), name="long"),
        open_class(4.0, visit("ziip", 0.1), name="short"),
    )
    solved, simulated = by_class(net)
    assert solved == pytest.approx(simulated, rel=0.05)


@pytest.mark.parametrize(
    ("loads", "most_off"),
    [
        ({"high": (1.2, 1.0, 3), "middle": (8.0, 0.1, 2), "low": (1.0, 0.5, 1)}, 0.10),
        ({"high": (1.5, 0.1, 3), "middle": (1.5, 1.0, 2), "low": (8.0, 0.1, 1)}, 0.08),
    ],
)
def test_short_work_below_long_work_waits_for_what_is_begun_alone(loads, most_off):
    net = network(
        [Station(name="cp", servers=4, scheduling="priority_ps")],
        *(open_class(rate, visit("cp", work), name=n, priority=p) for n, (rate, work, p) in loads.items()),
    )
    solved, simulated = by_class(net, 300_000)
    assert solved == pytest.approx(simulated, rel=most_off)


def test_engines_of_an_lpar_cost_more_the_more_are_busy():
    pool = Station(
        name="cp",
        servers=4,
        scheduling="priority_ps",
        cost_by_busy=(1.0, 1.1, 1.2, 1.3),
        lpar=LparShare(cec="m", weight=1.0),
        source="test",
    )
    net = network(
        [pool],
        *(open_class(1.5, visit("cp", 1.0), name=f"level {p}", priority=p) for p in (1, 2)),
        cecs=(Cec(name="m", engines=4),),
    )
    simulated = simulate(net, seed=1, horizon=100_000).stations["cp"].utilization.value
    assert solve(net).utilisation[:, 0].sum() == pytest.approx(simulated, rel=0.02)


def test_engines_that_wait_for_a_facility_cost_more_the_more_are_busy():
    request = CfRequest(station="cf", engine="cp", service=EXP(0.3), issue=EXP(0.1))
    pool = Station(name="cp", servers=2, scheduling="priority_ps", cost_by_busy=(1.0, 1.5), source="test")
    net = network([pool, Station(name="cf")], open_class(0.7, visit("cp", 1.0), request))
    solved, simulated = by_class(net)
    assert solved == pytest.approx(simulated, rel=0.05)
    # What busy engines cost more is waiting: alone, the work takes its own second and the issue of the request.
    assert solve(net).service_s[0, 0] == pytest.approx(1.1, rel=1e-6)


def test_what_is_done_without_a_lock_does_not_make_holding_it_more_even():
    stations = [Station(name="cp", scheduling="delay"), Station(name="disk", scheduling="delay")]
    held = visit("cp", 1.0, holding=("lock",))
    net = network(
        stations,
        open_class(0.5, held, visit("cp", 0.01, count=5), visit("disk", 0.1)),
        resources=(Resource(name="lock", capacity=1),),
    )
    assert solve(net).wait_s[0, 0] == pytest.approx(1.0, rel=0.02)
    steady = network(
        stations,
        open_class(0.5, visit("cp", Distribution.deterministic(1.0), holding=("lock",))),
        resources=(Resource(name="lock", capacity=1),),
    )
    assert solve(steady).wait_s[0, 0] == pytest.approx(0.5, rel=0.06)


@pytest.mark.parametrize("scheduling", ["hol", "preemptive"])
@pytest.mark.parametrize(("rate_per_s", "users"), [(1.3, 3), (0.6, 8)], ids=["alone", "beside users"])
def test_arrivals_that_no_longer_fit_below_users_go_on_as_far_as_they_get_through(scheduling, rate_per_s, users):
    net = network(
        [Station(name="cp", scheduling=scheduling), Station(name="disk", scheduling="ps")],
        open_class(rate_per_s, visit("cp", 1.0), visit("disk", 0.3), name="low"),
        closed_class(users, 4.0, visit("cp", 0.5), visit("disk", 0.1), name="high", priority=1),
        open_class(1.0, visit("disk", 0.4), name="beside"),
    )
    solved, simulated = by_class(net, 60_000)
    assert solve(net).saturated == ("cp",) and solved["low"] == float("inf")
    assert [solved[n] for n in ("high", "beside")] == pytest.approx(
        [simulated[n] for n in ("high", "beside")], rel=0.12
    )


@pytest.mark.parametrize(("capacity", "work_s", "visits"), [(2, 1.0, 1), (3, 0.6, 5)])
def test_who_is_turned_away_has_done_what_comes_before(capacity, work_s, visits):
    full = Station(name="full", scheduling="fcfs", capacity=capacity)
    net = network(
        [Station(name="before", servers=4), full, Station(name="after")],
        open_class(1.0, visit("before", 0.5), visit("full", work_s, count=visits), visit("after", 0.3)),
    )
    solved, simulated = solve(net), simulate(net, seed=1, horizon=60_000)
    assert solved.throughput_per_s[0] == pytest.approx(simulated.classes["a"].throughput_per_s.value, rel=0.02)
    assert solved.response_s[0] == pytest.approx(simulated.classes["a"].response_s.value, rel=0.04)
    busy = [simulated.stations[name].utilization.value for name in net.station_names]
    assert solved.station_utilisation.tolist() == pytest.approx(busy, rel=0.03)


@pytest.mark.parametrize(("scheduling", "stay_s"), [("ps", 0.0), ("fcfs", 0.2), ("hol", 0.0)])
def test_others_meet_an_overloaded_limit_as_full_as_it_is(scheduling, stay_s):
    inside = [visit("cp", 0.1), *([visit("disk", stay_s)] if stay_s else [])]
    net = network(
        [Station(name="cp", scheduling=scheduling), Station(name="disk", scheduling="delay")],
        open_class(14.0, Acquire(resource="mxt"), *inside, Release(resource="mxt"), name="limited"),
        open_class(3.0, visit("cp", 0.1), name="beside", priority=1),
        closed_class(2, 1.0, visit("cp", 0.05), name="users", priority=1),
        resources=(Resource(name="mxt", capacity=3),),
    )
    solved, simulated = by_class(net, 60_000)
    assert solved.pop("limited") == float("inf")
    assert solved == pytest.approx({name: simulated[name] for name in solved}, rel=0.12)


def test_what_an_overloaded_limit_lets_into_other_stations_is_refused():
    net = network(
        [Station(name="cp"), Station(name="disk")],
        open_class(14.0, Acquire(resource="mxt"), visit("cp", 0.1), Release(resource="mxt"), visit("disk", 0.05)),
        open_class(3.0, visit("cp", 0.1), name="beside"),
        resources=(Resource(name="mxt", capacity=1),),
    )
    with pytest.raises(NetworkError, match=r"asks for more of mxt than there is.*simulate it"):
        solve(net)
