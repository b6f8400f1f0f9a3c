"""From a described network to its analytic solution."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
    Fork,
    Go,
    LparShare,
    Network,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    TransactionClass,
    Visit,
)
from model.network.simulator import simulate
from model.network.solvers import Solution, solve
from model.network.solvers.known_errors import KNOWN_ERRORS
from model.network.solvers.layers.fixed_point import _may_settle
from model.network.solvers.overload import overloaded_by_arrivals, without_starved
from model.network.solvers.reduction import reduce
from model.network.solvers.report import as_dict, as_text
from model.network.solvers.stations import mmc_response, mmck
from tests.oracles.fork_join import fork_join_closed, fork_join_open
from tests.oracles.hardware_chains import passive_resource, sync_cf
from tests.oracles.product_form import mmc

Exp = Distribution.exponential


def opened(route: tuple, rate: float, name: str = "a", **options: object) -> TransactionClass:
    return TransactionClass(name=name, route=route, arrivals=Arrivals.poisson(rate), **options)  # type: ignore[arg-type]


def network(stations: tuple, classes: tuple, **options: object) -> Network:
    return Network(name="test", stations=stations, classes=classes, **options)  # type: ignore[arg-type]


def check_laws(net: Network, solution: Solution) -> None:
    """Little's law everywhere, and that a response is the sum of its parts."""
    x = solution.throughput_per_s
    np.testing.assert_allclose(solution.queue_length, x[:, None] * solution.residence_s, rtol=1e-9)
    np.testing.assert_allclose(solution.population, x * solution.response_s, rtol=1e-9)
    for r, c in enumerate(net.classes):
        if c.users:
            think = c.think.mean if c.think else 0.0
            assert solution.population[r] + x[r] * think == pytest.approx(c.users, rel=2e-3)


def test_one_open_queue_is_erlang() -> None:
    solution = solve(network((Station(name="q", servers=3),), (opened((Visit(station="q", service=Exp(1.0)),), 2.0),)))
    assert solution.exact
    assert solution.response_s[0] == pytest.approx(mmc(2.0, 1.0, 3).response)
    assert solution.station_utilisation[0] == pytest.approx(2 / 3)
    assert solution.bottleneck is not None
    assert solution.bottleneck.rate_per_s == pytest.approx(3.0)


def test_mixed_network_is_exact_and_obeys_the_laws() -> None:
    net = network(
        (Station(name="cp", servers=4, scheduling="ps"), Station(name="disk")),
        (
            opened((Visit(station="cp", service=Exp(0.01)), Visit(station="disk", service=Exp(0.002), count=2.5)), 100),
            TransactionClass(name="b", route=(Visit(station="cp", service=Exp(0.02)),), users=5, think=Exp(0.1)),
        ),
    )
    solution = solve(net)
    assert solution.exact
    check_laws(net, solution)
    rough = solve(net, "approximate")
    assert not rough.exact
    np.testing.assert_allclose(rough.response_s, solution.response_s, rtol=0.03)
    assert [x.name for x in solution.limits] == ["disk", "cp"]


def test_routing_by_chance_gives_the_visits() -> None:
    route = (Visit(station="q", service=Exp(0.1), label="again"), Go(to=(("again", 0.5),)))
    solution = solve(network((Station(name="q"),), (opened(route, 4.0),)))
    assert solution.response_s[0] == pytest.approx(2 * 0.1 / (1 - 0.8))


def test_smt_core_is_its_birth_death_chain() -> None:
    core = Station(name="core", scheduling="ps", smt=Smt(gain=1.2), source="test")
    solution = solve(network((core,), (opened((Visit(station="core", service=Exp(1.0)),), 0.6),)))
    # p(0) (1 + 0.6 + 0.3 / (1 - 0.5)) = 1, and the mean follows from the geometric tail.
    empty = 1 / 2.2
    assert solution.exact
    assert solution.queue_length[0, 0] == pytest.approx(empty * (0.6 + 0.3 * (2 / 0.5 + 0.5 / 0.25)))
    assert solution.station_utilisation[0] == pytest.approx(1 - empty)


def test_full_station_turns_away() -> None:
    station = Station(name="q", servers=2, capacity=5, when_full="reject")
    solution = solve(network((station,), (opened((Visit(station="q", service=Exp(0.5)),), 3.0),)))
    expected = mmck(3.0, 0.5, 2, 5)
    assert solution.exact
    assert solution.throughput_per_s[0] == pytest.approx(expected.throughput)
    assert solution.response_s[0] == pytest.approx(expected.response)


def test_priorities_at_one_queue_are_exact_and_ordered() -> None:
    route = (Visit(station="q", service=Exp(1.0)),)
    net = network(
        (Station(name="q", scheduling="hol"),), (opened(route, 0.3, "low"), opened(route, 0.3, "high", priority=1))
    )
    solution = solve(net)
    assert solution.exact
    assert solution.response_s[1] < solution.response_s[0]


def test_what_goes_first_on_several_engines_never_takes_less_than_its_service() -> None:
    cp = Station(name="cp", servers=3, scheduling="priority_ps")
    visits = [(Visit(station="cp", service=Distribution.exponential(s)),) for s in (0.006, 0.01)]
    net = network((cp,), (opened(visits[0], 100.0, priority=2), opened(visits[1], 200.0, "b", priority=1)))
    assert solve(net, method="approximate").response_s[0] >= 0.006


def test_limit_on_transactions_is_near_its_chain() -> None:
    for rate, units in ((1.2, 6), (1.4, 12)):
        net = network(
            (Station(name="cp", servers=2), Station(name="io", scheduling="delay")),
            (
                opened(
                    (
                        Acquire(resource="mxt"),
                        Visit(station="cp", service=Exp(1.0)),
                        Visit(station="io", service=Exp(2.0)),
                        Release(resource="mxt"),
                    ),
                    rate,
                ),
            ),
            resources=(Resource(name="mxt", capacity=units, kind="mxt"),),
        )
        solution, exact = solve(net, method="approximate"), passive_resource(rate, units, 2, 1.0, 0.5)
        assert not solution.exact
        assert solution.response_s[0] == pytest.approx(exact.response_s, rel=0.08)
        assert solution.held[0, 0] == pytest.approx(exact.in_use, rel=0.03)


def test_ample_limit_changes_nothing_and_is_reported() -> None:
    body = (Visit(station="cp", service=Exp(1.0)),)
    closed = TransactionClass(
        name="a", route=(Acquire(resource="mxt"), *body, Release(resource="mxt")), users=4, think=Exp(2)
    )
    net = network((Station(name="cp"),), (closed,), resources=(Resource(name="mxt", capacity=10),))
    solution = solve(net)
    assert solution.exact
    assert solution.held[0, 0] == pytest.approx(solution.queue_length[0, 0])


@pytest.mark.parametrize(("rate", "engines"), [(1.2, 3), (4.0, 8)])
def test_engines_held_by_synchronous_requests_are_near_their_chain(rate: float, engines: int) -> None:
    facility = 2.0 if engines == 3 else 8.0
    request = CfRequest(station="cf", service=Exp(1 / facility), engine="cp", issue=Exp(1.0))
    solution = solve(network((Station(name="cp", servers=engines), Station(name="cf")), (opened((request,), rate),)))
    exact = sync_cf(rate, engines, 1.0, facility)
    assert solution.response_s[0] == pytest.approx(exact.response_s, rel=0.08)
    assert solution.station_utilisation[0] == pytest.approx(exact.utilization, rel=0.03)


def test_work_around_synchronous_requests_is_one_visit_to_its_engine() -> None:
    request = CfRequest(station="cf", service=Exp(0.2), engine="cp", issue=Exp(0.1), count=3)
    before, after = Visit(station="cp", service=Exp(0.5)), Visit(station="cp", service=Exp(0.4))
    cf = Station(name="cf", scheduling="delay")
    solution = solve(network((Station(name="cp"), cf), (opened((before, request, after), 0.3),)))
    mean, variance = 0.5 + 3 * 0.3 + 0.4, 0.5**2 + 3 * (0.2**2 + 0.1**2) + 0.4**2
    waited = 0.3 * (variance + mean**2) / 2 / (1 - 0.3 * mean)
    assert solution.response_s[0] - mean == pytest.approx(waited, rel=0.02)


def test_requests_that_wait_for_nobody_hold_their_engine_only_while_they_are_served() -> None:
    request = CfRequest(station="cf", service=Exp(0.1), engine="cp", issue=Exp(0.1))
    short, long = Visit(station="cp", service=Exp(0.1)), Visit(station="cp", service=Exp(1.0))
    stations = (Station(name="cp", scheduling="fcfs"), Station(name="cf", servers=2))
    classes = (opened((short, request, short), 0.6, "short"), opened((long, request), 0.3, "long"))
    solution = solve(network(stations, classes))
    assert solution.station_utilisation[0] == pytest.approx(0.6 * 0.4 + 0.3 * 1.2, rel=1e-6)


@pytest.mark.parametrize(
    "engines",
    [
        {"smt": Smt(gain=1.3), "source": "measured"},
        {"lpar": LparShare(cec="machine", weight=100, cap="share")},
        {"lpar": LparShare(cec="machine", weight=300)},
        {"speeds": (1.0, 0.5), "scheduling": "fcfs", "source": "measured"},
    ],
)
@pytest.mark.parametrize("rate", [0.9, 1.4])
def test_requests_answered_at_once_leave_engines_what_they_do(engines: dict, rate: float) -> None:
    work = (Visit(station="cp", service=Exp(0.9)),)
    request = CfRequest(station="cf", service=Exp(1e-9), engine="cp", issue=Exp(1e-9))
    other = opened((Visit(station="other", service=Exp(1.0)),), 0.5, "other")
    stations = [Station(**{"name": "cp", "servers": 2, "scheduling": "ps", **engines}), Station(name="cf", servers=2)]
    machine = {"cecs": (Cec(name="machine", engines=2),)} if "lpar" in engines else {}
    lpar = LparShare(cec="machine", weight=100) if machine else None
    stations.append(Station(name="other", servers=2, scheduling="ps", lpar=lpar))
    with_requests, without = (
        solve(network(tuple(stations), (opened(route, rate), other), **machine), method="approximate")
        for route in ((*work, request), work)
    )
    assert with_requests.response_s == pytest.approx(without.response_s, rel=1e-4)
    assert with_requests.saturated == without.saturated


def test_fork_of_two_equal_branches_is_flatto_and_hahn() -> None:
    fork = Fork(branches=((Visit(station="x", service=Exp(1.0)),), (Visit(station="y", service=Exp(1.0)),)))
    solution = solve(network((Station(name="x"), Station(name="y")), (opened((fork,), 0.6),)))
    assert solution.response_s[0] == pytest.approx(fork_join_open(0.6, [1.0, 1.0]).response, rel=1e-3)


@pytest.mark.parametrize("rates", [(1.0, 1.0), (1.0, 1.5)])
def test_branches_wait_for_their_locks_at_the_same_time(rates: tuple[float, float]) -> None:
    branches = tuple(
        (Visit(station="engines", service=Exp(1 / rate), holding=(f"lock {i}",)),) for i, rate in enumerate(rates)
    )
    locks = tuple(Resource(name=f"lock {i}", capacity=1) for i in range(len(rates)))
    engines = Station(name="engines", servers=50, scheduling="ps")
    solution = solve(network((engines,), (opened((Fork(branches=branches),), 0.6),), resources=locks))
    assert solution.response_s[0] == pytest.approx(fork_join_open(0.6, rates).response, rel=0.04)
    assert not solution.exact


@pytest.mark.parametrize(("users", "branches"), [(1, 5), (2, 5), (3, 3), (6, 2)])
def test_users_whose_branches_run_side_by_side_are_near_their_chain(users: int, branches: int) -> None:
    """Most of the time at the stations is saved, and users who nearly never think meet only each other."""
    rates = [1 + 0.2 * i for i in range(branches)]
    fork = Fork(branches=tuple((Visit(station=f"b{i}", service=Exp(1 / rate)),) for i, rate in enumerate(rates)))
    stations = tuple(Station(name=f"b{i}", scheduling="fcfs") for i in range(branches))
    user = TransactionClass(name="a", route=(fork,), users=users, think=Exp(0.2))
    found = solve(network(stations, (user,)))
    truth = fork_join_closed(users, 0.2, rates, "fcfs").response
    assert not found.notes
    assert found.response_s[0] == pytest.approx(truth, rel=1e-6 if users == 1 else 0.05)


def test_threads_take_work_before_it_overflows() -> None:
    def busy_cps(gain: float) -> float:
        smt = Smt(gain=gain, packing="dense")
        over = Overflow(to="cp", waiting=1)
        ziip = Station(name="ziip", servers=4, scheduling="ps", smt=smt, overflow=over, source="a table")
        route = (Visit(station="ziip", service=Exp(1.0)),)
        return 4 * solve(network((ziip, Station(name="cp", servers=4)), (opened(route, 3.8),))).station_utilisation[1]

    # The share that the ninth place of the station alone turns away, by its birth and death rates.
    assert busy_cps(1.3) == pytest.approx(3.8 * 0.06906, rel=1e-3)
    assert busy_cps(1.0) > 1.5 * busy_cps(1.3)


def test_overflow_moves_work_to_the_other_engines() -> None:
    net = network(
        (Station(name="ziip", overflow=Overflow(to="cp")), Station(name="cp", servers=4)),
        (opened((Visit(station="ziip", service=Exp(1.0)),), 1.0),),
    )
    solution = solve(net)
    # No one waits for the only zIIP: Erlang's loss of 1/2 goes across.
    assert solution.station_utilisation[0] == pytest.approx(0.5, rel=1e-6)
    assert solution.station_utilisation[1] == pytest.approx(0.125, rel=1e-6)


def test_a_heavier_lpar_gets_more() -> None:
    def pool(name: str, weight: float) -> Station:
        return Station(name=name, servers=2, scheduling="ps", lpar=LparShare(cec="m", weight=weight))

    classes = tuple(
        TransactionClass(name=n, route=(Visit(station=n, service=Exp(1.0)),), users=6, think=Exp(1.0)) for n in "xy"
    )
    net = network((pool("x", 3), pool("y", 1)), classes, cecs=(Cec(name="m", engines=2),))
    solution = solve(net)
    assert solution.throughput_per_s[0] > solution.throughput_per_s[1]
    assert solution.throughput_per_s.sum() <= 2 + 1e-6


def test_overload_is_named_not_raised() -> None:
    net = network((Station(name="q"),), (opened((Visit(station="q", service=Exp(1.0)),), 2.0),))
    solution = solve(net)
    assert np.isinf(solution.response_s[0])
    assert solution.saturated == ("q",)
    with pytest.raises(ValueError, match="q is overloaded"):
        solve(net, "exact")


@pytest.mark.parametrize("scheduling", ["preemptive", "priority_ps"])
def test_more_important_classes_keep_their_steady_state_at_an_overloaded_station(scheduling: str) -> None:
    stations = (Station(name="cp", servers=4, scheduling=scheduling), Station(name="disk", servers=2))
    route = (Visit(station="cp", service=Exp(0.1)), Visit(station="disk", service=Exp(0.03)))
    classes = [opened(route, rate, name, priority=at) for name, rate, at in (("high", 20.0, 2), ("mid", 30.0, 1))]
    batch = TransactionClass(name="batch", route=route, users=3)
    solution = solve(network(stations, (*classes, batch)))
    assert solution.saturated == ("cp",) and "mid, batch" in " ".join(solution.notes)
    alone = mmc_response(20.0, 0.1, 4)
    # 20 a second of "mid" get through, so the disk does 40 in all.
    assert solution.response_s[0] == pytest.approx(alone + mmc_response(40.0, 0.03, 2), rel=1e-3)
    assert np.isinf(solution.response_s[1:]).all()
    assert solution.throughput_per_s[2] == 0


@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_preemptive_priorities_at_one_server_are_exact_for_varied_work(scv: float) -> None:
    work = ((0.2, 1.6), (0.3, 0.8), (0.4, 0.6))
    classes = [
        opened((Visit(station="q", service=Distribution.with_scv(mean, scv)),), rate, f"c{at}", priority=-at)
        for at, (mean, rate) in enumerate(work)
    ]
    found = solve(network((Station(name="q", scheduling="preemptive"),), classes), "approximate").response_s
    load, residual = 0.0, 0.0
    for (mean, rate), response in zip(work, found, strict=True):
        above, load, residual = load, load + rate * mean, residual + rate * mean**2 * (1 + scv) / 2
        # Takács: M/G/1 with preemptive priorities.
        assert response == pytest.approx(mean / (1 - above) + residual / (1 - above) / (1 - load), rel=1e-4)


def test_the_last_class_of_a_station_that_is_just_full_still_gets_what_is_left() -> None:
    rates = (4.749140639983304, 4.738981282520419, 0.5118780774962752)
    stations = (Station(name="cp", scheduling="preemptive"), Station(name="disk"))
    route = (Visit(station="cp", service=Exp(0.1)), Visit(station="disk", service=Exp(0.01)))
    net = reduce(network(stations, [opened(route, rate, f"c{at}", priority=-at) for at, rate in enumerate(rates)]))
    work, starved = without_starved(net, overloaded_by_arrivals(net))
    assert starved.tolist() == [False, False, True]
    assert work.rates == pytest.approx(rates)


def test_an_overloaded_lpar_leaves_its_neighbour_no_more_of_the_machine() -> None:
    pools = [
        Station(name=n, servers=4, scheduling="priority_ps", lpar=LparShare(cec="m", weight=1.0)) for n in ("a", "b")
    ]

    def busy(low_per_s: float) -> Solution:
        classes = (
            opened((Visit(station="a", service=Exp(1.0)),), 2.0, "high", priority=2),
            opened((Visit(station="a", service=Exp(1.0)),), low_per_s, "low", priority=1),
            opened((Visit(station="b", service=Exp(1.0)),), 1.5, "beside", priority=1),
        )
        return solve(network(tuple(pools), classes, cecs=(Cec(name="m", engines=6),)))

    nearly, over = busy(1.9), busy(4.0)
    assert over.saturated == ("a",) and np.isfinite(over.response_s[[0, 2]]).all()
    assert over.response_s[2] >= nearly.response_s[2]
    machine = next(limit for limit in over.limits if limit.name == "m")
    assert machine.utilisation == pytest.approx((4.0 + 1.5) / 6.0)


def test_important_work_of_two_overloaded_lpars_keeps_its_steady_state() -> None:
    classes = [
        opened((Visit(station=at, service=Exp(1.0)),), rate, f"{name} {at}", priority=priority)
        for at, low in (("a", 4.0), ("b", 1.5))
        for name, rate, priority in (("high", 2.0, 2), ("low", low, 1))
    ]
    share = LparShare(cec="m", weight=1.0)
    pools = tuple(Station(name=n, servers=4, scheduling="priority_ps", lpar=share) for n in ("a", "b"))
    solution = solve(network(pools, tuple(classes), cecs=(Cec(name="m", engines=6),)))
    assert solution.saturated == ("a", "b")
    assert np.isfinite(solution.response_s).tolist() == [True, False, True, False]


def test_an_overloaded_station_that_shares_spares_nobody() -> None:
    route = (Visit(station="cp", service=Exp(0.1)),)
    classes = (opened(route, 20.0, "high", priority=2), opened(route, 30.0, "low", priority=1))
    assert np.isinf(solve(network((Station(name="cp", servers=4),), classes)).response_s).all()


@pytest.mark.parametrize("scheduling", ["ps", "fcfs", "dps"])
def test_behind_an_overloaded_station_comes_only_what_gets_through_it(scheduling: str) -> None:
    stations = (Station(name="full", servers=2, scheduling=scheduling), Station(name="next", servers=2))
    behind = (Visit(station="next", service=Exp(0.2)),)
    net = network(stations, (
        opened((Visit(station="full", service=Exp(0.3)), *behind), 4.0, "short", weight=1.0),
        opened((Visit(station="full", service=Exp(1.0)), *behind), 2.0, "long", weight=3.0),
        opened(behind, 2.0, "beside"),
        TransactionClass(name="users", route=behind, users=3, think=Exp(2.0)),
        TransactionClass(name="stuck", route=(Visit(station="full", service=Exp(0.5)), *behind), users=3),
    ))  # fmt: skip
    solution, simulated = solve(net), simulate(net, seed=1, horizon=60_000)
    assert solution.saturated == ("full",) and "short, long, stuck" in " ".join(solution.notes)
    assert np.isfinite(solution.response_s).tolist() == [False, False, True, True, False]
    assert solution.throughput_per_s[4] == 0
    # Unequal work done in order comes out in bursts.
    within = 0.1 if scheduling == "fcfs" else 0.03
    for row, name in ((2, "beside"), (3, "users")):
        assert solution.response_s[row] == pytest.approx(simulated.classes[name].response_s.value, rel=within)
    through = [simulated.classes[name].throughput_per_s.value for name in ("short", "long")]
    busy = 0.2 * (sum(through) + 2.0 + solution.throughput_per_s[3]) / 2
    assert solution.utilisation[:, 1].sum() == pytest.approx(busy, rel=0.03)


def test_before_an_overloaded_station_all_arrivals_count() -> None:
    stations = (Station(name="before"), Station(name="full"))
    both = (Visit(station="before", service=Exp(0.2)), Visit(station="full", service=Exp(1.0)))
    before = (Visit(station="before", service=Exp(0.2)),)
    solution = solve(network(stations, (opened(both, 3.0, "x"), opened(before, 1.0, "y"))))
    assert solution.response_s[1] == pytest.approx(0.2 / (1 - 0.8), rel=1e-4)
    assert solution.residence_s[0].tolist() == pytest.approx([0.2 / (1 - 0.8), np.inf], rel=1e-4)


def test_weak_answers_say_so() -> None:
    stations = (Station(name="q", scheduling="fcfs"),)
    fast, slow = (Visit(station="q", service=Exp(0.1)),), (Visit(station="q", service=Exp(1.0)),)
    net = network(stations, (
        TransactionClass(name="f", route=fast, users=3, think=Exp(1.0)),
        TransactionClass(name="s", route=slow, users=3, think=Exp(1.0)),
    ))  # fmt: skip
    solution = solve(net, method="approximate")
    assert not solution.exact
    assert "class-dependent fcfs" in solution.error_note
    assert 0 < solution.known_error[0] < solution.known_error[1]
    check_laws(net, solution)


def test_stated_errors_are_those_of_the_documented_comparison() -> None:
    page = (Path(__file__).parents[4] / "docs/solvers.md").read_text(encoding="utf-8")
    cells = (
        r"^\| ([^|]+) \| (open classes alone|with users) \| (\d+) \| ([^|]+) % \| ([^|]+) % \| ([^|]+) % \| [^|]+ \|$"
    )
    measured = re.findall(cells, page, re.MULTILINE)
    assert len(measured) > len(KNOWN_ERRORS)
    for kind, who, *found in measured:
        classes, (median, p95, p98) = int(found[0]), (float(part) / 100 for part in found[1:])
        # The chance that one more is further off than the largest is 1 / (classes + 1): 2 % where there are 49.
        stated = min(p98 * max(50 / (classes + 1), 1), 2 * p95)
        assert KNOWN_ERRORS[kind][who == "with users"] == pytest.approx(
            (max(median, 0.001), max(stated, 0.01)), abs=0.0022
        ), kind


def test_an_engine_is_held_for_as_long_as_its_requests_take() -> None:
    # Requests find work much longer than theirs at the facility, which the engine's own queue knows nothing of.
    stations = (Station(name="cpu", servers=16, scheduling="ps"), Station(name="cf", scheduling="ps"))
    request = CfRequest(station="cf", service=Exp(0.005), engine="cpu", issue=Exp(0.001))
    for how in ({"arrivals": Arrivals.poisson(3.0)}, {"users": 5, "think": Exp(1.0)}):
        net = network(stations, (
            opened((Visit(station="cf", service=Exp(0.2)),), 3.0, "long"),
            TransactionClass(name="short", route=(Visit(station="cpu", service=Exp(0.05)), request), **how),
        ))  # fmt: skip
        solution = solve(net, method="approximate")
        assert solution.residence_s[1, 0] > 0.05
        simulated = simulate(net, seed=3, horizon=20_000, workers=1, replications=2)
        for name, found in zip(net.class_names, solution.response_s, strict=True):
            true = simulated.classes[name].response_s
            assert abs(found - true.value) < solution.known_error[1] * true.value + true.half_width


def test_layers_that_shrink_too_slowly_to_settle_are_stopped() -> None:
    assert _may_settle([0.8**n for n in range(100)])
    assert _may_settle([0.5] * 40)
    assert not _may_settle([0.5] * 100)
    assert not _may_settle([0.99**n for n in range(100)])


def test_order_of_stations_and_classes_does_not_matter() -> None:
    stations = (Station(name="x", servers=2, scheduling="ps"), Station(name="y", scheduling="ps"))
    classes = tuple(
        TransactionClass(
            name=n,
            route=tuple(Visit(station=s, service=Exp(w)) for s, w in zip("xy", work, strict=True)),
            users=u,
            think=Exp(2.0),
        )
        for n, work, u in (("a", (1.0, 0.3), 3), ("b", (0.5, 0.9), 4))
    )
    straight, turned = solve(network(stations, classes)), solve(network(stations[::-1], classes[::-1]))
    np.testing.assert_allclose(straight.response_s, turned.response_s[::-1], rtol=1e-10)


def test_report_is_text_and_plain_values() -> None:
    net = network((Station(name="q", component="cp"),), (opened((Visit(station="q", service=Exp(0.5)),), 1.0),))
    solution = solve(net)
    values = json.loads(json.dumps(as_dict(solution)))
    assert values["classes"]["a"]["response_s"] == pytest.approx(1.0)
    assert values["bottleneck"] == "q"
    assert values["exact"] is True
    text = as_text(solution)
    assert "50.0 %" in text
    assert "1 s" in text
    over = as_dict(solve(network(net.stations, (opened((Visit(station="q", service=Exp(0.5)),), 3.0),))))
    assert over["classes"]["a"]["response_s"] is None
    assert over["saturated"] == ["q"]
