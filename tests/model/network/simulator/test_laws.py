"""Operational laws on random networks: whatever the network, flows, utilisations and times must agree."""

import numpy as np
import pytest

from model.network import (
    Acquire,
    Arrivals,
    Call,
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
    demands,
)
from model.network.simulator import simulate

SCHEDULING = ["fcfs", "hol", "preemptive", "ps", "dps", "priority_ps", "delay"]


def random_service(rng, mean):
    kind = rng.integers(5)
    if kind == 0:
        return Distribution.deterministic(mean)
    if kind == 1:
        return Distribution.erlang(mean, int(rng.integers(2, 5)))
    if kind == 2:
        return Distribution.with_scv(mean, float(rng.uniform(1.5, 5)))
    if kind == 3:
        return Distribution.lognormal(mean, float(rng.uniform(0.2, 2)))
    return Distribution.exponential(mean)


def random_network(seed):
    """A network of every kind of station, resource and step, open and closed, at a load it can carry."""
    rng = np.random.default_rng(seed)
    stations = [
        Station(name=f"s{i}", servers=int(rng.integers(1, 5)), scheduling=str(rng.choice(SCHEDULING)))
        for i in range(int(rng.integers(3, 7)))
    ]
    stations += [
        Station(name="cp", servers=6, scheduling=str(rng.choice(["fcfs", "ps", "preemptive"]))),
        Station(name="cf", servers=2),
        Station(name="smt", servers=3, scheduling="ps", smt=Smt(gain=1.3), source="made up for the test"),
        Station(name="lpar 1", servers=3, scheduling="ps", lpar=LparShare(cec="m", weight=1.0)),
        Station(name="lpar 2", servers=3, scheduling="priority_ps", lpar=LparShare(cec="m", weight=3.0)),
        Station(name="ziip", servers=1, overflow=Overflow(to="help", waiting=1)),
        Station(name="help", servers=4),
    ]
    names = [s.name for s in stations if s.name not in ("cf", "help")]
    resources = (
        Resource(name="mxt", capacity=int(rng.integers(8, 40))),
        Resource(name="pool", capacity=int(rng.integers(3, 9)), scheduling="hol"),
        Resource(name="locks", capacity=1, instances=20),
    )

    def visit(**more):
        return Visit(
            station=str(rng.choice(names)),
            service=random_service(rng, float(rng.uniform(0.002, 0.01))),
            count=float(rng.choice([1.0, 1.0, 2.0, 2.5, 0.4])),
            **more,
        )

    def steps():
        out = [visit() for _ in range(int(rng.integers(1, 4)))]
        out.append(
            CfRequest(
                station="cf",
                engine="cp",
                service=random_service(rng, 0.001),
                issue=random_service(rng, 0.001),
                mode=str(rng.choice(["sync", "async"])),
                count=2,
            )
        )
        if rng.random() < 0.5:
            out.append(Go(to=(("skip", 0.4),)))
        out += [visit(holding=("pool",)), visit(holding=("locks",), label="skip"), Call(procedure="work", times=2)]
        if rng.random() < 0.5:
            out.append(Fork(branches=((visit(), visit()), (visit(),))))
        return (Acquire(resource="mxt"), *out, Release(resource="mxt"))

    classes = []
    for i in range(3):
        more = {"priority": int(rng.integers(0, 3)), "weight": float(rng.uniform(0.5, 4))}
        if i == 0:
            users = int(rng.integers(3, 20))
            think = random_service(rng, 0.5)
            classes.append(TransactionClass(name="c0", users=users, think=think, route=steps(), **more))
        else:
            arrivals = Arrivals(interarrival=random_service(rng, 1 / float(rng.uniform(2, 8))))
            classes.append(TransactionClass(name=f"c{i}", arrivals=arrivals, route=steps(), **more))
    return Network(
        name=f"random {seed}",
        stations=tuple(stations),
        classes=tuple(classes),
        resources=resources,
        cecs=(Cec(name="m", engines=3.0),),
        procedures=(("work", (visit(),)),),
    )


@pytest.mark.parametrize("seed", range(24))
def test_a_random_network_obeys_the_operational_laws(seed):
    network = random_network(seed)
    result = simulate(network, seed=seed, horizon=80_000, replications=4)
    expected = demands(network)
    assert result.settled
    for k, cls in enumerate(network.classes):
        answer = result.classes[cls.name]
        rate = answer.throughput_per_s.value
        if cls.arrivals is not None:
            assert rate == pytest.approx(cls.arrivals.rate_per_s, rel=0.12)
        else:
            cycle = answer.response_s.value + cls.think.mean
            assert rate * cycle == pytest.approx(cls.users, rel=0.04)
        assert answer.inside.value == pytest.approx(rate * answer.response_s.value, rel=1e-9)
        forked = any(isinstance(step, Fork) for step in cls.route)
        parts = sum(p.using_s + p.waiting_s for p in answer.parts.values())
        assert forked or parts == pytest.approx(answer.response_s.value, rel=0.02)
        assert not forked or parts > answer.response_s.value
        for s, station in enumerate(network.stations):
            visits = result.stations[station.name].throughput_by_class_per_s[cls.name].value / rate
            overflowed = station.name in ("ziip", "help")
            assert overflowed or visits == pytest.approx(expected.visits[k, s], rel=0.06, abs=0.02)
        assert sum(result.resources[name].acquired_per_s.value for name in network.resource_names) == pytest.approx(
            sum(
                result.classes[c.name].throughput_per_s.value * expected.acquires[i].sum()
                for i, c in enumerate(network.classes)
            ),
            rel=0.04,
        )
    for s, station in enumerate(network.stations):
        found = result.stations[station.name]
        assert found.queue_length.value == pytest.approx(
            found.visits_per_s.value * found.residence_s.value if found.visits_per_s.value else 0.0, rel=1e-9
        )
        work = sum(
            result.classes[c.name].throughput_per_s.value * expected.demand_s[k, s]
            for k, c in enumerate(network.classes)
        )
        if station.scheduling != "delay" and station.name not in ("ziip", "help", "smt"):
            busy = (found.utilization.value - found.spin_utilization) * station.servers
            assert busy == pytest.approx(work, rel=0.08, abs=0.003)
        assert sum(found.utilization_by_class.values()) == pytest.approx(found.utilization.value, rel=1e-6, abs=1e-12)
    for resource in network.resources:
        found = result.resources[resource.name]
        assert 0 <= found.in_use.value <= resource.capacity * resource.instances
