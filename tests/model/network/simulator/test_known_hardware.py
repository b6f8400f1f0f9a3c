"""The simulator of engines, LPARs and coupling facilities against systems whose answers are known exactly."""

import itertools
import math

import pytest

from model.network import (
    Acquire,
    Cec,
    CfRequest,
    LparShare,
    Overflow,
    Release,
    Resource,
    Smt,
    Station,
)
from model.network.simulator import simulate
from tests.model.network.simulator.build import EXP, RUN, agrees, closed_class, network, open_class, visit
from tests.oracles import hardware_chains
from tests.oracles.markov_chain import explore, stationary


def test_unequal_engines_fastest_first():
    rates = (25.0, 20.0, 20.0, 15.0, 10.0)

    def moves(state):
        busy, waiting = state
        if 0 in busy:
            i = busy.index(0)
            yield ((*busy[:i], 1, *busy[i + 1 :]), 0), 73.0
        elif waiting < 300:
            yield (busy, waiting + 1), 73.0
        if waiting:
            yield (busy, waiting - 1), sum(rates)
        else:
            for i, on in enumerate(busy):
                if on:
                    yield ((*busy[:i], 0, *busy[i + 1 :]), 0), rates[i]

    chain = explore(((0,) * 5, 0), moves)
    p = stationary(chain.rates)
    station = Station(name="s", servers=5, speeds=rates, source="Bolch et al., asymmetric M/M/5")
    result = simulate(network(station, open_class(73.0, visit("s", 1.0))), seed=5, horizon=600_000)
    agrees(result.stations["s"].queue_length, chain.mean(lambda s: sum(s[0]) + s[1], p))


def test_overflow_of_a_specialty_pool_is_erlangs_loss():
    stations = [Station(name="ziip", servers=2, overflow=Overflow(to="cp")), Station(name="cp", servers=60)]
    result = simulate(network(stations, open_class(2.0, visit("ziip", 1.0))), **RUN)
    assert result.stations["ziip"].overflow_per_s == pytest.approx(2.0 * 0.4, rel=0.02)
    agrees(result.stations["cp"].visits_per_s, 0.8)


@pytest.mark.parametrize("smt", [None, Smt(gain=1.4)])
def test_overflow_of_a_sharing_pool_is_the_chance_to_find_it_full(smt):
    pool = Station(
        name="ziip", servers=2, scheduling="ps", smt=smt, overflow=Overflow(to="cp", waiting=1), source="made up"
    )
    rates = [1.0, 2.0, 2.0] if smt is None else [*hardware_chains.smt_rates(2, 1.4), 2.8]
    weights = list(itertools.accumulate(rates, lambda w, r: w * 2.0 / r, initial=1.0))
    result = simulate(
        network([pool, Station(name="cp", scheduling="delay")], open_class(2.0, visit("ziip", 1.0))), **RUN
    )
    assert result.stations["ziip"].overflow_per_s == pytest.approx(2.0 * weights[-1] / sum(weights), rel=0.03)


def test_blocking_after_service_agrees_with_its_markov_chain():
    moves = {
        "31": [("31 b blocked", 1.25), ("22", 1.0)],
        "22": [("22 a blocked", 1.0), ("31", 1.25)],
        "22 a blocked": [("22", 1.25)],
        "31 b blocked": [("31", 1.0)],
    }
    chain = explore("31", lambda s: moves[s])
    p = stationary(chain.rates)
    result = simulate(
        network(
            [
                Station(name="a", capacity=3, when_full="block"),
                Station(name="b", capacity=2, when_full="block"),
            ],
            closed_class(4, 0, visit("a", 1.0), visit("b", 0.8)),
        ),
        **RUN,
    )
    agrees(result.classes["a"].throughput_per_s, chain.mean(lambda s: float(s != "22 a blocked"), p))
    agrees(result.stations["a"].queue_length, chain.mean(lambda s: float(s[0]), p))
    agrees(result.stations["b"].queue_length, chain.mean(lambda s: float(s[1]), p))


@pytest.mark.parametrize("packing", ["spread", "dense"])
def test_smt_cores_agree_with_their_birth_death_chain(packing):
    station = Station(
        name="ziip", servers=3, scheduling="ps", smt=Smt(gain=1.3, packing=packing), source="made up for the test"
    )
    result = simulate(network(station, open_class(2.6, visit("ziip", 1.0))), **RUN)
    truth = hardware_chains.smt_birth_death(2.6, 1.0, 3, 1.3, packing)
    agrees(result.stations["ziip"].queue_length, truth.length, 0.1)
    agrees(result.stations["ziip"].thread_density, truth.thread_density)
    agrees(result.stations["ziip"].utilization, truth.utilization)


@pytest.mark.parametrize("cap", ["none", "share"])
def test_weighted_lpars_agree_with_their_markov_chain(cap):
    stations = [
        Station(name="A", servers=2, scheduling="ps", lpar=LparShare(cec="m", weight=1.0, cap=cap)),
        Station(name="B", servers=3, scheduling="ps", lpar=LparShare(cec="m", weight=2.0)),
    ]
    result = simulate(
        network(
            stations,
            open_class(0.6, visit("A", 1.0), name="a"),
            open_class(1.5, visit("B", 1.0), name="b"),
            cecs=(Cec(name="m", engines=3),),
        ),
        **RUN,
    )
    truth = hardware_chains.weighted_lpars(3, [2, 3], [1, 2], [0.6, 1.5], [1, 1], [cap == "share", False], longest=80)
    agrees(result.stations["A"].queue_length, truth.length[0], 0.1)
    agrees(result.stations["B"].queue_length, truth.length[1], 0.1)
    agrees(result.machines["m"], truth.machine_utilization)


def test_engines_of_a_vertical_lpar_are_high_medium_low_and_parked():
    """Alone on four engines, entitled to two and a half: an M/M/4 whose third engine is half and fourth all low."""
    shares = [LparShare(cec="m", weight=w, polarity="vertical") for w in (5.0, 3.0)]
    stations = [Station(name=n, servers=4, scheduling="ps", lpar=s) for n, s in zip("AB", shares, strict=True)]
    classes = (open_class(2.0, visit("A", 1.0)), open_class(1e-6, visit("B", 1.0), name="b"))
    result = simulate(network(stations, *classes, cecs=(Cec(name="m", engines=4),)), **RUN)
    polarity = result.stations["A"].polarity
    assert (polarity.entitled_engines, polarity.high, polarity.medium, polarity.low) == (2.5, 2, 1, 1)
    weights = [2.0**n / math.prod(min(k, 4) for k in range(1, n + 1)) for n in range(60)]
    low = sum(w * max(min(n, 4) - 2.5, 0.0) for n, w in enumerate(weights)) / sum(weights)
    assert polarity.low_in_use == pytest.approx(low, rel=0.03)
    assert polarity.parked == pytest.approx(1 - low, rel=0.03)
    assert result.stations["B"].polarity.entitled_engines == 1.5


def test_work_beyond_the_entitlement_of_a_vertical_lpar_costs_more():
    cheap, dear = (
        simulate(
            network(
                [
                    Station(
                        name=name,
                        servers=4,
                        scheduling="ps",
                        lpar=LparShare(cec="m", weight=1.0, polarity="vertical", low_cost=cost),
                        source="made up for the test",
                    )
                    for name in ("A", "B")
                ],
                open_class(2.4, visit("A", 1.0), name="a"),
                open_class(0.1, visit("B", 1.0), name="b"),
                cecs=(Cec(name="m", engines=4),),
            ),
            **RUN,
        ).machines["m"]
        for cost in (1.0, 1.25)
    )
    # Beyond two engines, 1.25 engines do the work of one: an M/M/2-like birth-death chain with rates 1, 2, 2.8, 3.6.
    rates = [1.0, 2.0, 2 + 1 / 1.25, 2 + 2 / 1.25]
    weights = [1.0]
    for n in range(1, 400):
        weights.append(weights[-1] * 2.4 / rates[min(n, 4) - 1])
    used = sum(w * min(n, 4) for n, w in enumerate(weights)) / sum(weights)
    agrees(cheap, 2.5 / 4)
    assert dear.value == pytest.approx((used + 0.1) / 4, rel=0.02)


def test_a_limit_around_engines_and_io_agrees_with_its_markov_chain():
    route = (Acquire(resource="mxt"), visit("cp", 1.0), visit("io", 2.0), Release(resource="mxt"))
    result = simulate(
        network(
            [Station(name="cp", servers=2), Station(name="io", scheduling="delay")],
            open_class(1.2, *route),
            resources=(Resource(name="mxt", capacity=6),),
        ),
        seed=7,
        horizon=800_000,
    )
    truth = hardware_chains.passive_resource(1.2, 6, 2, 1.0, 0.5)
    agrees(result.classes["a"].response_s, truth.response_s)
    agrees(result.resources["mxt"].wait_s, truth.wait_s, 0.1)
    agrees(result.resources["mxt"].in_use, truth.in_use)


@pytest.mark.parametrize("scheduling", ["fcfs", "ps", "dps", "preemptive"])
def test_synchronous_requests_hold_their_engine(scheduling):
    request = CfRequest(station="cf", engine="cp", service=EXP(0.5), issue=EXP(1.0))
    stations = [Station(name="cp", servers=3, scheduling=scheduling), Station(name="cf")]
    result = simulate(network(stations, open_class(1.2, request)), **RUN)
    truth = hardware_chains.sync_cf(1.2, 3, 1.0, 2.0)
    agrees(result.classes["a"].response_s, truth.response_s)
    agrees(result.stations["cp"].utilization, truth.utilization)
    assert result.stations["cp"].spin_utilization == pytest.approx(truth.spin_utilization, rel=0.03)


@pytest.mark.parametrize("scheduling", ["fcfs", "preemptive"])
def test_work_around_synchronous_requests_stays_on_its_engine(scheduling):
    """One engine with all of it as one service: Pollaczek and Khinchine."""
    request = CfRequest(station="cf", engine="cp", service=EXP(0.2), issue=EXP(0.1), count=3)
    stations = [Station(name="cp", scheduling=scheduling), Station(name="cf", scheduling="delay")]
    result = simulate(network(stations, open_class(0.3, visit("cp", 0.5), request, visit("cp", 0.4))), **RUN)
    mean, variance = 0.5 + 3 * 0.3 + 0.4, 0.5**2 + 3 * (0.2**2 + 0.1**2) + 0.4**2
    agrees(result.classes["a"].response_s, mean + 0.3 * (variance + mean**2) / 2 / (1 - 0.3 * mean))
    agrees(result.stations["cp"].utilization, 0.3 * mean)
    assert result.stations["cp"].spin_utilization == pytest.approx(0.3 * 0.6, rel=0.03)


def test_asynchronous_requests_free_their_engine():
    request = CfRequest(
        station="cf", engine="cp", service=EXP(1.0), issue=EXP(0.5), mode="async", async_issue=EXP(0.25)
    )
    result = simulate(
        network([Station(name="cp"), Station(name="cf", scheduling="delay")], open_class(0.5, request)), **RUN
    )
    agrees(result.stations["cp"].utilization, 0.375)
    assert result.stations["cp"].spin_utilization == 0


def test_heuristic_requests_go_async_when_the_facility_is_slow():
    shares = []
    for threshold in (0.05, 1.0, 50.0):
        request = CfRequest(
            station="cf", engine="cp", service=EXP(0.5), issue=EXP(0.1), mode="heuristic", threshold_s=threshold
        )
        stations = [Station(name="cp", servers=4), Station(name="cf")]
        shares.append(simulate(network(stations, open_class(1.2, request)), **RUN).stations["cf"].async_share)
    assert shares[0] > 0.99 and shares[2] == 0 and 0.01 < shares[1] < 0.99


def test_utilization_cost_slows_a_busy_pool():
    for scheduling in ("fcfs", "ps"):
        station = Station(
            name="cp", servers=2, scheduling=scheduling, cost_by_busy=(1.0, 1.5), source="made up for the test"
        )
        result = simulate(network(station, open_class(0.8, visit("cp", 1.0))), **RUN)
        if scheduling == "ps":
            rates = [min(n, 2) / (1.0 if n == 1 else 1.5) for n in range(1, 200)]
            weights = list(itertools.accumulate(rates, lambda w, r: w * 0.8 / r, initial=1.0))
            truth = sum(n * w for n, w in enumerate(weights)) / sum(weights)
            agrees(result.stations["cp"].queue_length, truth)
        assert result.stations["cp"].utilization.value > 0.43


@pytest.mark.parametrize("count", [1, 3])
def test_an_engine_held_for_a_synchronous_request_is_not_taken_away(count):
    """It is given up between requests, if anything more important waits."""
    request = CfRequest(station="cf", engine="cp", service=EXP(0.5), issue=EXP(0.5), count=count)
    stations = [Station(name="cp", scheduling="preemptive"), Station(name="cf", scheduling="delay")]
    result = simulate(
        network(
            stations,
            open_class(0.2, visit("cp", 1.0), name="high", priority=1),
            open_class(0.3 / count, request, name="low"),
        ),
        **RUN,
    )
    # The upper class waits behind its own kind, and behind what is left of a request when it arrives (chance 0.15).
    agrees(result.classes["high"].response_s, 1 + (0.2 * 2 / 2 + 0.15 * 0.5) / 0.8)
    agrees(result.stations["cp"].utilization, 0.5)
