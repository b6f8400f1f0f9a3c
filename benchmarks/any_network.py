"""Random networks of all that a description allows, extremes included, several hard features together.

Service times over orders of magnitude, deterministic to very bursty, 1 to 64 engines, 1 to 1,000 users, no think time,
routes that nearly close a loop, and open load from a tenth of what the network can do to more than that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

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
    Step,
    TransactionClass,
    Visit,
    demands,
)

Exp = Distribution.exponential
SCHEDULINGS = ("ps", "ps", "fcfs", "fcfs", "hol", "preemptive", "priority_ps", "priority_ps", "dps", "delay")
LOADS = (0.1, 0.5, 0.8, 0.9, 0.97, 0.995, 1.3)
MACHINE = "machine"


def any_network(generator: np.random.Generator) -> Network:
    """One network: 1-4 stations, 1-4 classes.

    Raises :class:`model.network.NetworkError` for some combinations that a description does not allow.
    """
    g = generator
    shared = g.random() < 0.15
    stations = [_station(f"s{k}", shared, g) for k in range(int(g.integers(1, 5)))]
    blocks = any(s.capacity is not None and s.when_full == "block" for s in stations[:2])
    if len(stations) > 1 and stations[0].scheduling != "delay" and not blocks and g.random() < 0.12:
        stations[0] = replace(stations[0], overflow=Overflow(to="s1", waiting=int(g.integers(0, 4))))
    resources: tuple[Resource, ...] = ()
    if g.random() < 0.3:
        resources = (
            Resource(
                name="limit", capacity=int(g.choice([1, 2, 5, 20, 200])), scheduling=str(g.choice(["fcfs", "hol"]))
            ),  # type: ignore[arg-type]
            Resource(name="lock", capacity=int(g.choice([1, 1, 2])), instances=int(g.choice([1, 1, 5, 50]))),
        )[: int(g.integers(1, 3))]
    decades = float(g.choice([0.2, 0.6, 1.8]))
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    for r in range(int(g.integers(1, 5))):
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_class(f"c{r}", opens, stations, resources, 10.0 ** g.normal(-1, decades, len(stations)), g))
    cecs = (Cec(name=MACHINE, engines=float(g.choice([1, 2, 3.5, 8, 32]))),) if shared else ()
    network = Network(name="anything", stations=tuple(stations), classes=tuple(classes), resources=resources, cecs=cecs)
    return _loaded(network, float(g.choice(LOADS, p=[0.1, 0.25, 0.25, 0.15, 0.1, 0.05, 0.1])), g)


def _station(name: str, shared: bool, g: np.random.Generator) -> Station:
    servers, scheduling = int(g.choice([1, 1, 1, 2, 4, 16, 64])), str(g.choice(SCHEDULINGS))
    more: dict[str, Any] = {"source": "random"}
    if scheduling not in ("delay", "preemptive") and g.random() < 0.12:
        more["cost_by_busy"] = tuple(1 + 0.4 * i / servers for i in range(servers))
    if scheduling == "ps" and g.random() < 0.15:
        more["smt"] = Smt(gain=float(g.choice([1.0, 1.2, 1.6, 2.0])), packing=str(g.choice(["spread", "dense"])))  # type: ignore[arg-type]
    elif shared and scheduling in ("ps", "dps", "priority_ps"):
        cap = "share" if g.random() < 0.3 else "none"
        more["lpar"] = LparShare(cec=MACHINE, weight=float(g.integers(1, 6)), cap=cap)  # type: ignore[arg-type]
    if scheduling in ("fcfs", "hol") and servers > 1 and g.random() < 0.15:
        more["speeds"] = tuple(float(x) for x in g.uniform(0.3, 1, servers))
    if scheduling != "delay" and g.random() < 0.08:
        more |= {"capacity": servers + int(g.integers(0, 6)), "when_full": str(g.choice(["reject", "block"]))}
    return Station(name=name, servers=servers, scheduling=scheduling, **more)  # type: ignore[arg-type]


def _service(mean_s: float, g: np.random.Generator) -> Distribution:
    return {
        0: Distribution.deterministic(mean_s),
        1: Distribution.erlang(mean_s, int(g.integers(2, 6))),
        2: Distribution.with_scv(mean_s, float(g.choice([2, 4, 16, 64]))),
        3: Distribution.lognormal(mean_s, float(g.choice([0.5, 3, 20]))),
        4: Distribution.empirical((mean_s * 0.1, mean_s * 1.9)),
    }.get(int(g.integers(0, 8)), Exp(mean_s))


def _class(
    name: str,
    opens: bool,
    stations: list[Station],
    resources: tuple[Resource, ...],
    work_s: np.ndarray,
    g: np.random.Generator,
) -> TransactionClass:
    """A class with some ``work_s`` (stations,) in a route of visits, and perhaps a fork, a request or a loop."""
    visits = []
    for station, mean_s in zip(stations, work_s, strict=True):
        if len(stations) == 1 or g.random() > 0.25:
            count = float(g.choice([1, 1, 1, 2, 5, 0.3, 2.5]))
            holding = ("lock",) if len(resources) > 1 and g.random() < 0.4 else ()
            visits.append(
                Visit(station=station.name, service=_service(mean_s / count, g), count=count, holding=holding)
            )
    route: list[Step] = list(visits or [Visit(station="s0", service=_service(work_s[0], g))])
    if len(visits) > 1 and not any(v.holding for v in visits) and g.random() < 0.12:
        route = [*route[2:], Fork(branches=((route[0],), (route[1],)))]
    if len(stations) > 1 and stations[0].scheduling != "delay" and g.random() < 0.12:
        mode = str(g.choice(["sync", "async"]))
        served, issue = Exp(work_s[-1] / 5), Exp(work_s[0] / 20)
        route.append(CfRequest(station=stations[-1].name, engine="s0", service=served, issue=issue, mode=mode))  # type: ignore[arg-type]
    if resources and g.random() < 0.8:
        route = [Acquire(resource="limit"), *route, Release(resource="limit")]
    if g.random() < 0.15:
        route = [replace(route[0], label="top"), *route[1:], Go(to=(("top", float(g.choice([0.5, 0.9, 0.99]))),))]
    more: dict[str, Any] = {"priority": int(g.integers(0, 3)), "weight": float(g.choice([1, 2, 10]))}
    if opens:
        more["arrivals"] = Arrivals.poisson(1.0)
    else:
        more["users"] = int(g.choice([1, 1, 2, 3, 5, 10, 40, 300, 1000]))
        think_s = float(g.choice([0, 0, 0.5, 2, 10, 100]) * work_s.sum())
        more["think"] = Exp(think_s) if think_s else None
    return TransactionClass(name=name, route=tuple(route), **more)


def _loaded(network: Network, busy: float, g: np.random.Generator) -> Network:
    """The network with open rates, some of them uneven, that make the busiest limit ``busy`` busy by demand alone."""
    opens = np.array([c.arrivals is not None for c in network.classes])
    if not opens.any():
        return network
    table = demands(network)
    most = np.array([s.servers if s.scheduling != "delay" else 1e3 for s in network.stations], dtype=float)
    pools = [k for k, s in enumerate(network.stations) if s.lpar is not None]
    for cec in network.cecs:
        most[pools] = np.minimum(most[pools], cec.engines / max(len(pools), 1))
    part = g.dirichlet(np.full(len(opens), 1.5)) * opens
    rates = part / np.maximum((table.demand_s / most).max(axis=1), 1e-12)
    load = float(np.max(rates @ table.demand_s / most))
    for rho, resource in enumerate(network.resources):
        held = 1.2 * float((rates * (table.acquires[:, rho] > 0)) @ table.demand_s.sum(axis=1))
        load = max(load, held / (resource.capacity * resource.instances))
    uneven = g.random() < 0.3
    classes = [
        replace(c, arrivals=_arrivals(load / busy / rate, uneven, g)) if rate > 0 else c
        for c, rate in zip(network.classes, rates, strict=True)
    ]
    return replace(network, classes=tuple(classes))


def _arrivals(gap_s: float, uneven: bool, g: np.random.Generator) -> Arrivals:
    return {
        0: Arrivals(interarrival=Exp(3 * gap_s), batch=Distribution.deterministic(3.0)),
        1: Arrivals(interarrival=Exp(gap_s / 2), on=Exp(20 * gap_s), off=Exp(20 * gap_s)),
        2: Arrivals(interarrival=Distribution.erlang(gap_s, 4)),
        3: Arrivals(interarrival=Distribution.with_scv(gap_s, 4.0)),
        4: Arrivals(interarrival=Distribution.deterministic(gap_s)),
        5: Arrivals(interarrival=Exp(gap_s / 10), on=Exp(200 * gap_s), off=Exp(1800 * gap_s)),
    }.get(int(g.integers(0, 7)) if uneven else 6, Arrivals.poisson(1 / gap_s))
