"""Random networks as a planner describes a system: for `benchmarks.agreement --family regions`.

CPs by importance or in another order, I/O between bursts of CPU, arrivals and users who think, an MXT with a TCB or a
transaction class in it, two regions, a second LPAR, zIIPs, a coupling facility.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    Station,
    Step,
    TransactionClass,
    Visit,
    demands,
)

Exp = Distribution.exponential
LIMITS = ("none", "none", "mxt", "mxt", "mxt and tcb", "mxt and class", "two regions")
SCHEDULINGS = ("priority_ps", "priority_ps", "priority_ps", "ps", "preemptive", "hol", "fcfs", "dps")
LOADS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)


def region_network(g: np.random.Generator) -> Network:
    """An LPAR of 1 to 12 engines with 2 to 6 classes, open, closed or both, 30 to 90 % busy where all are open."""
    engines, scheduling, limit = (
        int(g.choice([1, 2, 3, 4, 6, 8, 12])),
        str(g.choice(SCHEDULINGS)),
        str(g.choice(LIMITS)),
    )
    shared = scheduling in ("priority_ps", "ps")
    shares, zips, facility = shared and g.random() < 0.25, shared and g.random() < 0.2, g.random() < 0.25
    own, other = (LparShare(cec="machine", weight=float(w)) if shares else None for w in g.integers(1, 5, 2))
    disks = int(g.choice([0, 1, 4, 16]))
    stations = [Station(name="cp", servers=engines, scheduling=scheduling, lpar=own)]  # type: ignore[arg-type]
    stations.append(Station(name="disk", servers=disks or 1, scheduling="fcfs" if disks else "delay"))
    classes = []
    if shares:
        stations.append(Station(name="other", servers=engines, scheduling=scheduling, lpar=other))  # type: ignore[arg-type]
        work = Visit(station="other", service=Exp(0.01))
        classes.append(TransactionClass(name="other", route=(work,), arrivals=Arrivals.poisson(1.0)))
    if zips:
        overflow = Overflow(to="cp", waiting=int(g.integers(0, 3)))
        stations.append(Station(name="ziip", servers=int(g.choice([1, 2])), scheduling="ps", overflow=overflow))
    if facility:
        stations.append(Station(name="cf", servers=int(g.choice([1, 2])), scheduling="fcfs"))
    kind = str(g.choice(["open", "open", "mixed", "mixed", "closed"]))
    for r in range(int(g.integers(2, 7))):
        work_s = 0.01 * float(g.lognormal(0, 0.9))
        route = _route(work_s, 0.3 if disks == 1 else 1.0, limit, zips, facility, g)
        opens = kind == "open" or (kind == "mixed" and g.random() < 0.5)
        who = {"arrivals": Arrivals.poisson(float(g.lognormal(0, 0.8)))} if opens else _users(work_s, engines, g)
        level, weight = int(g.integers(1, 5)), float(g.choice([1, 2, 5]))
        classes.append(TransactionClass(name=f"c{r}", route=tuple(route), priority=level, weight=weight, **who))
    cecs = (Cec(name="machine", engines=int(np.ceil(1.5 * engines))),) if shares else ()
    network = Network(
        name="regions", stations=tuple(stations), classes=tuple(classes), resources=_resources(limit, g), cecs=cecs
    )
    return _loaded(network, float(g.choice(LOADS)))


def _resources(limit: str, g: np.random.Generator) -> tuple[Resource, ...]:
    if limit == "none":
        return ()
    mxt = Resource(name="mxt", capacity=int(g.choice([5, 10, 20, 50, 100])))
    inner = {
        "mxt and tcb": (Resource(name="tcb", capacity=1),),
        "mxt and class": (Resource(name="class", capacity=int(g.choice([1, 2, 4, 8]))),),
        "two regions": (Resource(name="second mxt", capacity=int(g.choice([5, 10, 20, 50]))),),
    }
    return (mxt, *inner.get(limit, ()))


def _varied(mean_s: float, g: np.random.Generator) -> Distribution:
    return Distribution.with_scv(mean_s, float(g.choice([0.25, 0.5, 1, 1, 1, 1, 2, 4])))


def _route(work_s: float, faster: float, limit: str, zips: bool, facility: bool, g: np.random.Generator) -> list[Step]:
    """CPU and I/O one after the other, in a loop, or with CPU on both sides, within what limits them."""
    many, disk_s = float(g.choice([0.5, 1, 2, 4, 8])), float(g.uniform(0.0005, 0.004)) * faster
    held = ("tcb",) if limit == "mxt and tcb" and g.random() < 0.6 else ()
    disk = Visit(station="disk", service=Exp(disk_s))
    parts = {"one": (1.0,), "both": (0.6, 0.4), "loop": (1 / (many + 1),)}
    shape = str(g.choice(["one", "one", "loop", "both"]))
    bursts = [Visit(station="cp", service=_varied(work_s * part, g), holding=held) for part in parts[shape]]
    route: list[Step] = [bursts[0], replace(disk, count=many), *bursts[1:]]
    if shape == "loop":
        route = [replace(bursts[0], label="cp"), disk, Go(to=(("cp", many / (many + 1)),))]
    if zips and g.random() < 0.5:
        route.append(Visit(station="ziip", service=Exp(work_s / 2)))
    if facility and g.random() < 0.7:
        served, issue = Exp(work_s / 30), Exp(work_s / 60)
        route.append(CfRequest(station="cf", engine="cp", service=served, issue=issue, count=int(g.integers(1, 5))))
    if limit == "mxt and class" and g.random() < 0.4:
        route = [Acquire(resource="class"), *route, Release(resource="class")]
    inside = "second mxt" if limit == "two regions" and g.random() < 0.5 else "mxt"
    if limit != "none" and (limit == "mxt and class" or g.random() < 0.75):
        route = [Acquire(resource=inside), *route, Release(resource=inside)]
    return route


def _users(work_s: float, engines: int, g: np.random.Generator) -> dict[str, object]:
    """Users who ask for 5 to 40 % of the engines, or some who never think."""
    think_s = float(g.choice([0.0, 0.5, 2.0, 10.0], p=[0.15, 0.25, 0.45, 0.15]))
    if not think_s:
        return {"users": int(g.integers(1, 2 * engines + 1))}
    users = round(float(g.uniform(0.05, 0.4)) * engines * (think_s + 3 * work_s) / work_s)
    return {"users": int(np.clip(users, 1, 400)), "think": Exp(think_s)}


def _loaded(network: Network, busy: float) -> Network:
    """The network with rates that leave the busiest station, or limit, ``busy`` busy by demand with what users ask."""
    table = demands(network)
    rates = np.array([c.arrivals.rate_per_s if c.arrivals else 0.0 for c in network.classes])
    if not rates.any():
        return network
    cycle = np.array([(c.think.mean if c.think else 0.0) for c in network.classes]) + 1.5 * table.demand_s.sum(axis=1)
    users = np.array([c.users for c in network.classes]) / cycle
    most = np.array([np.inf if s.scheduling == "delay" else s.servers for s in network.stations])
    loads = [float((rates @ table.demand_s / most).max())]
    for rho, resource in enumerate(network.resources):
        held = table.demand_s[:, 0] if resource.name == "tcb" else table.demand_s.sum(axis=1)
        loads.append(1.3 * float(rates @ ((table.acquires[:, rho] > 0) * held)) / resource.capacity)
    scale = max(busy - float((users @ table.demand_s / most).max()), 0.1) / max(loads)
    classes = [
        replace(c, arrivals=Arrivals.poisson(scale * rate)) if c.arrivals else c
        for c, rate in zip(network.classes, rates, strict=True)
    ]
    return replace(network, classes=tuple(classes))
