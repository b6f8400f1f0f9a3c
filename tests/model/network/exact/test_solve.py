"""From a described network to its exact solution."""

from __future__ import annotations

import json

import numpy as np
import pytest

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
    Go,
    LparShare,
    Network,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
    Switch,
    TransactionClass,
)
from model.network.exact import Solution, solve
from model.network.exact.report import as_dict, as_text
from model.network.simulator import simulate
from tests.model.network.simulator.build import EXP, RUN, agrees, closed_class, network, open_class, visit
from tests.oracles.erlang import mmck
from tests.oracles.hardware_chains import passive_resource, weighted_lpars
from tests.oracles.product_form import mmc


def check_laws(net: Network, solution: Solution) -> None:
    """Little's law everywhere, and that a response is the sum of its parts."""
    x = solution.throughput_per_s
    np.testing.assert_allclose(solution.queue_length, x[:, None] * solution.residence_s, rtol=1e-9)
    np.testing.assert_allclose(solution.population, x * solution.response_s, rtol=1e-9)
    for r, c in enumerate(net.classes):
        if c.users:
            think = c.think.mean if c.think else 0.0
            assert solution.population[r] + x[r] * think == pytest.approx(c.users, rel=1e-9)


def test_one_open_queue_is_erlang() -> None:
    solution = solve(network(Station(name="q", servers=3), open_class(2.0, visit("q", 1.0))))
    assert solution.method == "open product form"
    assert solution.response_s[0] == pytest.approx(mmc(2.0, 1.0, 3).response)
    assert solution.station_utilisation[0] == pytest.approx(2 / 3)
    assert solution.bottleneck is not None and solution.bottleneck.rate_per_s == pytest.approx(3.0)


def test_mixed_network_obeys_the_laws() -> None:
    net = network(
        (Station(name="cp", servers=4, scheduling="ps"), Station(name="disk")),
        open_class(100, visit("cp", 0.01), visit("disk", 0.002, count=2.5)),
        closed_class(5, 0.1, visit("cp", 0.02), name="b"),
    )
    solution = solve(net)
    assert solution.method == "mixed product form"
    check_laws(net, solution)
    assert [x.name for x in solution.limits] == ["disk", "cp"]


def test_routing_by_chance_gives_the_visits() -> None:
    route = (visit("q", 0.1, label="again"), Go(to=(("again", 0.5),)))
    solution = solve(network(Station(name="q"), open_class(4.0, *route)))
    assert solution.response_s[0] == pytest.approx(2 * 0.1 / (1 - 0.8))


def test_a_class_that_becomes_another_visits_what_both_do() -> None:
    first = open_class(1.0, visit("q", 0.2), Switch(to="b"))
    second = TransactionClass(name="b", route=(visit("q", 0.3),))
    solution = solve(network(Station(name="q", scheduling="ps"), first, second))
    assert solution.response_s[0] == pytest.approx(0.5 / (1 - 0.5))


def test_a_fixed_part_of_the_work_counts_where_servers_are_shared() -> None:
    """Overheads of a station and of an asynchronous request, by their means."""
    cp = Station(name="cp", scheduling="ps", overhead_s=0.1, source="test")
    request = CfRequest(station="cf", engine="cp", service=EXP(0.2), issue=EXP(0.1), async_issue=EXP(0.2), mode="async")
    solution = solve(network((cp, Station(name="cf", scheduling="delay")), open_class(1.0, visit("cp", 0.1), request)))
    assert solution.response_s[0] == pytest.approx(0.6 / (1 - 0.6) + 0.2)


def test_smt_core_is_its_birth_death_chain() -> None:
    core = Station(name="core", scheduling="ps", smt=Smt(gain=1.2), source="test")
    solution = solve(network(core, open_class(0.6, visit("core", 1.0))))
    # p(0) (1 + 0.6 + 0.3 / (1 - 0.5)) = 1, and the mean follows from the geometric tail.
    empty = 1 / 2.2
    assert solution.queue_length[0, 0] == pytest.approx(empty * (0.6 + 0.3 * (2 / 0.5 + 0.5 / 0.25)))
    assert solution.station_utilisation[0] == pytest.approx(1 - empty)


def test_full_station_turns_away() -> None:
    solution = solve(network(Station(name="q", servers=2, capacity=5), open_class(3.0, visit("q", 0.5))))
    expected = mmck(3.0, 0.5, 2, 5)
    assert solution.throughput_per_s[0] == pytest.approx(expected.throughput)
    assert solution.response_s[0] == pytest.approx(expected.response)


def test_a_full_station_that_keeps_arrivals_waiting_is_no_loss_system() -> None:
    station = Station(name="q", capacity=2, when_full="block")
    with pytest.raises(ValueError, match="when_full = 'block'"):
        solve(network(station, open_class(0.5, visit("q", 1.0))))
    # Room for all users is no limit.
    users = closed_class(2, 1.0, visit("q", 1.0))
    wide, free = (solve(network(where, users)).response_s for where in (station, Station(name="q")))
    assert wide == pytest.approx(free)


def test_priorities_at_one_queue_are_exact_and_ordered() -> None:
    low, high = open_class(0.3, visit("q", 1.0), name="low"), open_class(0.3, visit("q", 1.0), name="high", priority=1)
    solution = solve(network(Station(name="q", scheduling="hol"), low, high))
    assert solution.method == "M/G/1 hol"
    assert solution.response_s == pytest.approx([1 + 0.6 / 0.7 / 0.4, 1 + 0.6 / 0.7])


@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_preemptive_priorities_at_one_server_are_exact_for_varied_work(scv: float) -> None:
    work = ((0.2, 1.6), (0.3, 0.8), (0.4, 0.6))
    classes = [
        open_class(rate, visit("q", Distribution.with_scv(mean, scv)), name=f"c{at}", priority=-at)
        for at, (mean, rate) in enumerate(work)
    ]
    found = solve(network(Station(name="q", scheduling="preemptive"), *classes)).response_s
    load, residual = 0.0, 0.0
    for (mean, rate), response in zip(work, found, strict=True):
        above, load, residual = load, load + rate * mean, residual + rate * mean**2 * (1 + scv) / 2
        # Takács: M/G/1 with preemptive priorities.
        assert response == pytest.approx(mean / (1 - above) + residual / (1 - above) / (1 - load))


def test_visits_without_work_wait_in_turn_for_that_of_others() -> None:
    nothing = open_class(0.5, visit("q", Distribution.deterministic(0.0)), name="nothing")
    solution = solve(network(Station(name="q"), open_class(0.5, visit("q", 1.0)), nothing))
    assert solution.response_s == pytest.approx([2.0, 1.0])


def test_a_limit_on_users_is_its_chain() -> None:
    """With a number of users so large that they come as a stream."""
    rate, users = 1.2, 60
    route = (Acquire(resource="mxt"), visit("cp", 1.0), visit("io", 2.0), Release(resource="mxt"))
    net = network(
        (Station(name="cp", servers=2), Station(name="io", scheduling="delay")), open_class(rate, *route),
        resources=(Resource(name="mxt", capacity=6, kind="mxt"),),
    )  # fmt: skip
    solution, exact = solve(net), passive_resource(rate, 6, 2, 1.0, 0.5)
    assert solution.method == "Markov chain" and users > solution.population[0]
    assert solution.response_s[0] == pytest.approx(exact.response_s, rel=1e-5)
    assert solution.held[0, 0] == pytest.approx(exact.in_use, rel=1e-5)


def test_a_limit_with_room_for_all_users_changes_nothing_and_is_reported() -> None:
    route = (Acquire(resource="mxt"), visit("cp", 1.0), Release(resource="mxt"))
    net = network(Station(name="cp"), closed_class(4, 2.0, *route), resources=(Resource(name="mxt", capacity=10),))
    solution = solve(net)
    assert solution.method == "convolution"
    assert solution.held[0, 0] == pytest.approx(solution.queue_length[0, 0])
    assert [limit.name for limit in solution.limits] == ["cp", "mxt"]


@pytest.mark.parametrize(
    ("units", "order", "rates_per_s"), [(10, ("cp", "mxt"), (100, 333)), (2, ("mxt", "cp"), (67, 100))]
)
def test_a_resource_whose_holders_wait_for_a_full_engine_is_not_the_bottleneck(units, order, rates_per_s):
    route = (Acquire(resource="mxt"), visit("cp", 0.01), visit("disk", 0.02), Release(resource="mxt"))
    net = network(
        [Station(name="cp"), Station(name="disk", scheduling="delay")], closed_class(20, 0.1, *route),
        resources=(Resource(name="mxt", capacity=units),),
    )  # fmt: skip
    for limits in (solve(net).limits, simulate(net, seed=1, horizon=20_000).limits):
        assert tuple(limit.name for limit in limits) == order
        assert [limit.rate_per_s for limit in limits] == pytest.approx(rates_per_s, rel=0.03)
        assert limits[0].utilisation == pytest.approx(1.0, abs=0.02)


def test_overflow_moves_work_to_the_other_engines() -> None:
    stations = (Station(name="ziip", overflow=Overflow(to="cp")), Station(name="cp", servers=4))
    solution = solve(network(stations, open_class(1.0, visit("ziip", 1.0))))
    # No one waits for the only zIIP: Erlang's loss of 1/2 goes across.
    assert solution.station_utilisation == pytest.approx([0.5, 0.125], rel=1e-5)


def test_lpars_share_their_machine_by_weight() -> None:
    pools = [
        Station(name=n, servers=2, scheduling="ps", lpar=LparShare(cec="m", weight=w)) for n, w in (("x", 3), ("y", 1))
    ]
    classes = [open_class(rate, visit(n, 1.0), name=n) for n, rate in (("x", 0.6), ("y", 0.5))]
    solution = solve(network(pools, *classes, cecs=(Cec(name="m", engines=2),)))
    truth = weighted_lpars(2, [2, 2], [3, 1], [0.6, 0.5], [1.0, 1.0], [False, False], longest=40)
    assert solution.population == pytest.approx(truth.length, rel=1e-3)


def test_order_of_stations_and_classes_does_not_matter() -> None:
    stations = (Station(name="x", servers=2, scheduling="ps"), Station(name="y", scheduling="ps"))
    classes = tuple(
        closed_class(users, 2.0, *(visit(s, w) for s, w in zip("xy", work, strict=True)), name=name)
        for name, work, users in (("a", (1.0, 0.3), 3), ("b", (0.5, 0.9), 4))
    )
    straight, turned = solve(network(stations, *classes)), solve(network(stations[::-1], *classes[::-1]))
    np.testing.assert_allclose(straight.response_s, turned.response_s[::-1], rtol=1e-10)


def pool(**more: object) -> Network:
    """A pool of two shared engines under open load."""
    station = Station(name="cp", servers=2, scheduling="ps", source="made up for the test", **more)
    return network(station, open_class(1.2, visit("cp", 1.0)))


@pytest.mark.parametrize(
    "net",
    [
        pool(smt=Smt(gain=1.3), speeds=(0.9,)),
        pool(smt=Smt(gain=1.3, packing="dense")),
        pool(cost_by_busy=(1.1, 1.3)),
        network(Station(name="cp", servers=2), TransactionClass(
            name="a", route=(visit("cp", 1.0),), arrivals=Arrivals(interarrival=Distribution.erlang(0.7, 3)))),
    ],
    ids=["smt", "dense smt", "cost by busy", "regular arrivals"],
)  # fmt: skip
def test_using_waiting_and_limits_mean_the_same_as_in_a_simulation(net: Network) -> None:
    solved, simulated = solve(net), simulate(net, **RUN)
    part = simulated.classes["a"].parts["cp"]
    agrees(simulated.classes["a"].response_s, solved.response_s[0])
    assert solved.service_s[0, 0] == pytest.approx(part.using_s, rel=0.02)
    assert solved.station_utilisation[0] == pytest.approx(simulated.stations["cp"].utilization.value, rel=0.02)
    for limit, other in zip(solved.limits, simulated.limits, strict=True):
        assert (limit.name, limit.kind) == (other.name, other.kind)
        assert limit.rate_per_s == pytest.approx(other.rate_per_s, rel=0.03)


def test_report_is_text_and_plain_values() -> None:
    solution = solve(network(Station(name="q", component="cp"), open_class(1.0, visit("q", 0.5))))
    values = json.loads(json.dumps(as_dict(solution)))
    assert values["classes"]["a"]["response_s"] == pytest.approx(1.0)
    assert (values["bottleneck"], values["method"]) == ("q", "open product form")
    text = as_text(solution)
    assert "50.0 %" in text and "1 s" in text and "exact" in text
