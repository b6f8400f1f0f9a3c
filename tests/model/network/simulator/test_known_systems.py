"""The simulator against systems whose answers are known exactly."""

import math

import pytest

from model.network import (
    Acquire,
    Arrivals,
    Distribution,
    Fork,
    Go,
    Release,
    Resource,
    Station,
    Switch,
    TransactionClass,
)
from model.network.scheduling import DISCIPLINES, Discipline
from model.network.simulator import simulate
from tests.model.network.simulator.build import EXP, RUN, agrees, closed_class, network, open_class, visit
from tests.oracles import hardware_chains
from tests.oracles.markov_chain import explore, stationary

SHAPES = [
    Distribution.deterministic(1.0),
    Distribution.erlang(1.0, 4),
    Distribution.exponential(1.0),
    Distribution.with_scv(1.0, 4.0),
    Distribution.lognormal(1.0, 2.0),
    Distribution.quantiles((0.0, 0.5, 2.5)),
    Distribution.empirical((0.2, 1.0, 3.0), (0.5, 0.3, 0.2)),
]


def erlang_c(servers, load):
    """Chance of waiting in M/M/c with ``load`` erlangs."""
    b = 1.0
    for n in range(1, servers + 1):
        b = load * b / (n + load * b)
    return b / (1 - load / servers * (1 - b))


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (3, 2.0), (18, 14.4)])
def test_multi_server_queue_waits_as_erlang_c_says(servers, load):
    result = simulate(network(Station(name="cp", servers=servers), open_class(load, visit("cp", 1.0))), **RUN)
    wait = erlang_c(servers, load) / (servers - load)
    agrees(result.classes["a"].response_s, 1 + wait)
    agrees(result.stations["cp"].utilization, load / servers)
    agrees(result.stations["cp"].queue_length, load * (1 + wait))
    assert result.stations["cp"].waited_share == pytest.approx(erlang_c(servers, load), rel=0.05)
    assert result.classes["a"].parts["cp"].waiting_s == pytest.approx(wait, rel=0.1)


def test_percentiles_of_a_single_queue_are_exponential():
    result = simulate(network(Station(name="cp"), open_class(0.6, visit("cp", 1.0))), seed=3, horizon=1_000_000)
    for p, estimate in result.classes["a"].percentiles_s.items():
        agrees(estimate, -math.log(1 - p / 100) / 0.4)


@pytest.mark.parametrize("service", SHAPES, ids=lambda d: d.kind)
def test_any_service_time_in_order_and_shared(service):
    rate = 0.6 / service.mean
    result = simulate(
        network(
            [Station(name="q"), Station(name="s", scheduling="ps")],
            open_class(rate, visit("q", service), name="in order"),
            open_class(rate, visit("s", service), name="shared"),
        ),
        **RUN,
    )
    agrees(result.classes["in order"].response_s, service.mean + rate * service.second_moment / 2 / 0.4, 0.1)
    agrees(result.classes["shared"].response_s, service.mean / 0.4, 0.1)


def test_head_of_line_priority_follows_cobham():
    high, low = Distribution.exponential(1.0), Distribution.erlang(1.0, 2)
    result = simulate(
        network(
            Station(name="s", scheduling="hol"),
            open_class(0.3, visit("s", high), name="high", priority=9),
            open_class(0.4, visit("s", low), name="low"),
        ),
        **RUN,
    )
    residual = (0.3 * high.second_moment + 0.4 * low.second_moment) / 2
    agrees(result.classes["high"].response_s, 1 + residual / 0.7)
    agrees(result.classes["low"].response_s, 1 + residual / 0.7 / 0.3)


def test_preemptive_priority_hides_the_lower_class():
    high, low = Distribution.erlang(1.0, 2), Distribution.with_scv(1.0, 3.0)
    result = simulate(
        network(
            Station(name="s", scheduling="preemptive"),
            open_class(0.3, visit("s", high), name="high", priority=9),
            open_class(0.4, visit("s", low), name="low"),
        ),
        **RUN,
    )
    residual = (0.3 * high.second_moment + 0.4 * low.second_moment) / 2
    agrees(result.classes["high"].response_s, 1 + 0.3 * high.second_moment / 2 / 0.7)
    agrees(result.classes["low"].response_s, 1 / 0.7 + residual / 0.7 / 0.3, 0.1)


def test_priority_sharing_serves_the_upper_level_as_if_alone():
    result = simulate(
        network(
            Station(name="s", scheduling="priority_ps"),
            open_class(0.3, visit("s", Distribution.erlang(1.0, 3)), name="high", priority=2),
            open_class(0.4, visit("s", 1.0), name="low", priority=1),
        ),
        **RUN,
    )
    agrees(result.classes["high"].response_s, 1 / 0.7)
    agrees(result.stations["s"].utilization, 0.7)


def test_weighted_sharing_agrees_with_its_markov_chain():
    def moves(state):
        a, b = state
        if a < 80:
            yield (a + 1, b), 0.6
        if b < 80:
            yield (a, b + 1), 0.8
        rates = [a, b] if a + b <= 2 else hardware_chains.water_filling([a, b], [3.0 * a, 1.0 * b], 2.0)
        if a:
            yield (a - 1, b), rates[0]
        if b:
            yield (a, b - 1), rates[1]

    chain = explore((0, 0), moves)
    p = stationary(chain.rates)
    result = simulate(
        network(
            Station(name="s", scheduling="dps", servers=2),
            open_class(0.6, visit("s", 1.0), name="a", weight=3.0),
            open_class(0.8, visit("s", 1.0), name="b"),
        ),
        **RUN,
    )
    agrees(result.stations["s"].queue_length_by_class["a"], chain.mean(lambda s: s[0], p))
    agrees(result.stations["s"].queue_length_by_class["b"], chain.mean(lambda s: s[1], p))


def test_machine_repairman():
    result = simulate(
        network(
            [Station(name="up", scheduling="delay"), Station(name="crew")],
            closed_class(10, 0, visit("up", 1.0), visit("crew", 1.5, count=0.3)),
        ),
        **RUN,
    )
    agrees(result.stations["up"].visits_per_s, 2.22202732310341)
    agrees(result.stations["crew"].queue_length, 7.77797267689659)


def test_users_who_think_obey_the_response_time_law():
    result = simulate(network(Station(name="cp"), closed_class(30, 10.0, visit("cp", 0.4))), **RUN)
    answer = result.classes["a"]
    assert 30 / answer.throughput_per_s.value - 10.0 == pytest.approx(answer.response_s.value, rel=0.03)


def test_jackson_network_with_feedback():
    stations = [Station(name=n) for n in ("1", "2", "3", "4")]
    route = (
        visit("4", 0.05),
        visit("1", 0.04, label="one"),
        Go(to=(("three", 0.5),)),
        visit("2", 0.03),
        Go(to=(("one", 1.0),)),
        visit("3", 0.06, label="three"),
        Go(to=(("one", 0.6),)),
    )
    result = simulate(network(stations, open_class(4.0, *route)), **RUN)
    for name, truth in zip(("1", "2", "3", "4"), (4.0, 3 / 7, 1.5, 0.25), strict=True):
        agrees(result.stations[name].queue_length, truth, 0.1)


def test_a_full_station_turns_transactions_away():
    result = simulate(network(Station(name="s", servers=2, capacity=5), open_class(3.0, visit("s", 0.5))), **RUN)
    agrees(result.stations["s"].queue_length, 2.00595)
    agrees(result.classes["a"].lost_per_s, 3 * 0.085113)


def test_a_full_queue_of_a_limit_turns_transactions_away_and_gives_back_what_they_hold():
    route = (
        Acquire(resource="outer"),
        Acquire(resource="inner"),
        visit("d", 0.5),
        Release(resource="inner"),
        Release(resource="outer"),
    )
    resources = (Resource(name="outer", capacity=10**6), Resource(name="inner", capacity=2, queue_limit=3))
    result = simulate(
        network(Station(name="d", scheduling="delay"), open_class(3.0, *route), resources=resources), **RUN
    )
    agrees(result.classes["a"].lost_per_s, 3 * 0.085113)
    agrees(result.resources["outer"].in_use, 2.00595)


def test_fork_and_join_of_two_equal_branches():
    fork = Fork(branches=((visit("p", 1.0),), (visit("q", 1.0),)))
    result = simulate(network([Station(name="p"), Station(name="q")], open_class(0.5, fork)), **RUN)
    agrees(result.classes["a"].response_s, 2.875)


def test_many_branches_make_room_as_needed():
    fork = Fork(branches=tuple((visit("d", 1.0),) for _ in range(40)))
    result = simulate(
        network(Station(name="d", scheduling="delay"), closed_class(200, 1.0, fork)), seed=1, horizon=20_000
    )
    agrees(result.classes["a"].response_s, sum(1 / k for k in range(1, 41)))


def test_a_limit_in_front_of_a_delay_is_a_multi_server_queue():
    route = (Acquire(resource="mxt"), visit("d", 1.0), Release(resource="mxt"))
    result = simulate(
        network(
            Station(name="d", scheduling="delay"),
            open_class(14.4, *route),
            resources=(Resource(name="mxt", capacity=18),),
        ),
        **RUN,
    )
    mxt = result.resources["mxt"]
    agrees(mxt.in_use, 14.4)
    agrees(mxt.waited_share, erlang_c(18, 14.4), 0.1)
    assert mxt.wait_when_waited_s == pytest.approx(1 / 3.6, rel=0.1)
    assert mxt.limit_reached_per_s.value == pytest.approx(14.4 * erlang_c(18, 14.4), rel=0.1)


def test_locks_picked_at_random_are_as_many_single_queues():
    route = (Acquire(resource="lock"), visit("d", 1.0), Release(resource="lock"))
    result = simulate(
        network(
            Station(name="d", scheduling="delay"),
            open_class(6.0, *route),
            resources=(Resource(name="lock", capacity=1, instances=10),),
        ),
        **RUN,
    )
    agrees(result.classes["a"].response_s, 2.5)


def test_batches_and_on_off_streams():
    batches = TransactionClass(
        name="batch",
        arrivals=Arrivals(interarrival=EXP(1 / 0.3), batch=Distribution.deterministic(2.0)),
        route=(visit("s", 1.0),),
    )
    bursts = TransactionClass(
        name="bursts", arrivals=Arrivals(interarrival=EXP(0.1), on=EXP(3.0), off=EXP(7.0)), route=(visit("d", 1.0),)
    )
    result = simulate(network([Station(name="s"), Station(name="d", scheduling="delay")], batches, bursts), **RUN)
    agrees(result.stations["s"].queue_length, 0.6 * 1.5 / 0.4, 0.1)
    agrees(result.classes["bursts"].throughput_per_s, 3.0, 0.1)


def test_switching_class_changes_priority_and_route():
    first = open_class(0.5, visit("s", 1.0), Switch(to="b"), name="a")
    second = TransactionClass(name="b", route=(visit("t", 0.5),))
    result = simulate(network([Station(name="s"), Station(name="t")], first, second), **RUN)
    agrees(result.classes["a"].response_s, 2.0 + 0.5 / 0.75)
    agrees(result.stations["t"].throughput_by_class_per_s["b"], 0.5)


def test_a_scheduling_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels in order, and shares by weight within a level."""
    both = Discipline(kind="sharing", by_busy="sharing", lane_by_level=True, lane_by_weight=True)
    monkeypatch.setitem(DISCIPLINES, "weighted_levels", both)
    classes = [
        open_class(0.3, visit("q", 1.0), name="high", priority=1),
        open_class(0.2, visit("q", 1.0), name="heavy", weight=9.0),
        open_class(0.2, visit("q", 1.0), name="light"),
    ]
    found = simulate(network(Station(name="q", scheduling="weighted_levels"), *classes), **RUN).classes
    agrees(found["high"].response_s, 1 / (1 - 0.3))
    assert found["heavy"].response_s.value < 0.7 * found["light"].response_s.value
    inside = sum(one.inside.value for one in found.values())
    assert inside == pytest.approx(0.7 / 0.3, rel=0.05)
