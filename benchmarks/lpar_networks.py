"""Random LPARs as shops run them, where hard features stand together: for `benchmarks.agreement --family lpar`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from model.network import (
    Acquire,
    Arrivals,
    Cec,
    CfRequest,
    Distribution,
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
SOURCE = "random"


def lpar_network(g: np.random.Generator) -> Network:
    """An LPAR of 2 to 10 engines, 30 to 85 % busy, with 4 to 8 open classes of unequal work at four importances.

    Engines cost more the more are busy. By chance it shares its machine, has zIIPs with two threads a core whose work
    overflows, sends requests to a coupling facility, and lets half of the classes pass an MXT-like limit and hold one
    of a few locks while they use the CPs.
    """
    engines = int(g.choice([2, 4, 6, 10]))
    shares, zips, facility, limit, locks = (bool(g.random() < chance) for chance in (0.5, 0.5, 0.4, 0.6, 0.5))
    stations, cecs = _stations(engines, shares, zips, facility, g)
    resources = (Resource(name="mxt", capacity=int(g.choice([20, 40, 100]))),) if limit else ()
    if locks:
        resources += (Resource(name="lock", capacity=1, instances=int(g.choice([2, 4]))),)
    classes = []
    for r in range(int(g.integers(4, 9))):
        held = ("lock",) if locks and r % 2 == 0 else ()
        route = _route(held, zips, facility, g)
        if limit and r % 2 == 0:
            route = [Acquire(resource="mxt"), *route, Release(resource="mxt")]
        rate, priority = float(g.lognormal(0, 0.7)), int(g.integers(1, 5))
        classes.append(
            TransactionClass(name=f"c{r}", route=tuple(route), priority=priority, arrivals=Arrivals.poisson(rate))
        )
    if shares:
        work = Visit(station="other cp", service=Exp(0.01))
        classes.append(TransactionClass(name="other", route=(work,), priority=1, arrivals=Arrivals.poisson(1.0)))
    network = Network(name="lpar", stations=tuple(stations), classes=tuple(classes), resources=resources, cecs=cecs)
    return _loaded(network, float(g.uniform(0.3, 0.85)))


def _stations(
    engines: int, shares: bool, zips: bool, facility: bool, g: np.random.Generator
) -> tuple[list[Station], tuple[Cec, ...]]:
    weights = g.integers(1, 5, 2)
    own, other = (LparShare(cec="machine", weight=float(w)) if shares else None for w in weights)
    costs = tuple(1 + 0.1 * n / engines for n in range(engines))
    cp = Station(name="cp", servers=engines, scheduling="priority_ps", lpar=own, cost_by_busy=costs, source=SOURCE)
    stations = [cp, Station(name="disk", scheduling="delay")]
    if shares:
        stations.append(Station(name="other cp", servers=engines, scheduling="priority_ps", lpar=other))
    if zips:
        overflow = Overflow(to="cp", waiting=2)
        stations.append(
            Station(name="ziip", servers=2, scheduling="ps", smt=Smt(gain=1.25), overflow=overflow, source=SOURCE)
        )
    if facility:
        stations.append(Station(name="cf", servers=2, scheduling="fcfs"))
    return stations, (Cec(name="machine", engines=int(1.5 * engines)),) if shares else ()


def _route(held: tuple[str, ...], zips: bool, facility: bool, g: np.random.Generator) -> list[Step]:
    work = 0.01 * float(g.lognormal(0, 0.8))
    route: list[Step] = [Visit(station="cp", service=Exp(work), holding=held)]
    if zips and g.random() < 0.4:
        route.append(Visit(station="ziip", service=Exp(work / 2)))
    route.append(Visit(station="disk", service=Exp(work * float(g.uniform(0.5, 4)))))
    if facility:
        count = int(g.integers(1, 4))
        route.append(CfRequest(station="cf", engine="cp", service=Exp(work / 30), issue=Exp(work / 60), count=count))
    return route


def _loaded(network: Network, busy: float) -> Network:
    """The network with its rates scaled so that engines or locks are ``busy`` busy by demand alone."""
    rates = np.array([c.arrivals.rate_per_s for c in network.classes if c.arrivals])
    work = rates[:, None] * demands(network).demand_s
    loads = [work[:, k].sum() / s.servers for k, s in enumerate(network.stations) if s.scheduling != "delay"]
    locking = [any(isinstance(s, Visit) and s.holding for s in c.route) for c in network.classes]
    loads += [1.3 * work[locking, 0].sum() / lock.instances for lock in network.resources if lock.name == "lock"]
    scale = busy / max(loads)
    classes = [
        replace(c, arrivals=Arrivals.poisson(scale * rate)) for c, rate in zip(network.classes, rates, strict=True)
    ]
    return replace(network, classes=tuple(classes))
