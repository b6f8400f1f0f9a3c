"""Random networks of the kinds that textbooks, papers and other solvers' tests are full of, one kind each.

A queue alone with any servers, work and arrivals; central servers with many visits; several classes in order, with
priorities or shares; forks; rings that block; limits. The numbers are drawn: servers, rates, variation, priorities,
limits, populations, and which of them come together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from model.network import (
    Acquire,
    Arrivals,
    Distribution,
    Fork,
    Go,
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
LOADS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


def textbook_network(generator: np.random.Generator) -> Network:
    """One network of a kind drawn at random, which is its name."""
    kind = str(generator.choice(list(KINDS)))
    stations, classes, resources = KINDS[kind](generator)
    network = Network(name=kind, stations=tuple(stations), classes=tuple(classes), resources=tuple(resources))
    return _loaded(network, float(generator.choice(LOADS)))


def visits_network(generator: np.random.Generator) -> Network:
    """Classes that come back at once, some of them often, to a station that serves in turn, beside longer work."""
    g = generator
    stations = [Station(name="queue", servers=int(g.choice([1, 1, 2, 4])), scheduling=str(g.choice(["fcfs", "hol"])))]  # type: ignore[arg-type]
    stations.append(Station(name="shared", scheduling="ps"))
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    for r in range(int(g.integers(2, 5))):
        count = float(g.choice([1, 2, 4, 10, 20]))
        route: list[Step] = [Visit(station="queue", service=Exp(float(g.lognormal(0, 1)) / count), count=count)]
        if g.random() < 0.5:
            route.append(Visit(station="shared", service=Exp(float(g.uniform(0.1, 0.5)))))
        opens, level = kind == "open" or (kind == "mixed" and r == 0), int(g.integers(0, 2))
        part = float(g.uniform(0.2, 1))
        classes.append(_open(f"c{r}", route, part, level) if opens else _users(f"c{r}", route, g, level))
    return _loaded(Network(name="visits", stations=tuple(stations), classes=tuple(classes)), float(g.choice(LOADS)))


Parts = tuple[list[Station], list[TransactionClass], list[Resource]]


def _varied(mean_s: float, g: np.random.Generator) -> Distribution:
    """Work from always the same to very varied."""
    scv = float(g.choice([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 4.0, 10.0]))
    return Distribution.deterministic(mean_s) if scv == 0 else Distribution.with_scv(mean_s, scv)


def _servers(g: np.random.Generator) -> int:
    return int(g.choice([1, 1, 2, 3, 4, 5, 8, 18]))


def _open(name: str, route: list[Step], part: float = 1.0, priority: int = 0, weight: float = 1.0) -> TransactionClass:
    """A class that makes out ``part`` of the arrivals, which are scaled later."""
    return TransactionClass(
        name=name, route=tuple(route), arrivals=Arrivals.poisson(part), priority=priority, weight=weight
    )


def _users(
    name: str, route: list[Step], g: np.random.Generator, priority: int = 0, weight: float = 1.0
) -> TransactionClass:
    """A class of users, some of whom think."""
    think_s = float(g.choice([0.0, 1.0, 4.0, 10.0, 30.0])) * float(g.uniform(0.5, 2))
    users = int(g.choice([1, 2, 3, 5, 6, 10, 16, 40]))
    return TransactionClass(
        name=name,
        route=tuple(route),
        users=users,
        think=Exp(think_s) if think_s else None,
        priority=priority,
        weight=weight,
    )


def _one_queue(g: np.random.Generator) -> Parts:
    """M/G/c in order."""
    station = Station(name="queue", servers=_servers(g), scheduling="fcfs")
    return [station], [_open("all", [Visit(station="queue", service=_varied(1.0, g))])], []


def _places(g: np.random.Generator) -> Parts:
    """M/G/c/K, in order or shared."""
    servers = _servers(g)
    kind = str(g.choice(["fcfs", "fcfs", "ps"]))
    station = Station(name="queue", servers=servers, scheduling=kind, capacity=servers + int(g.integers(0, 9)))  # type: ignore[arg-type]
    classes = [
        _open(f"c{r}", [Visit(station="queue", service=_varied(float(g.uniform(0.3, 2)), g))])
        for r in range(int(g.integers(1, 3)))
    ]
    return [station], classes, []


def _uneven_arrivals(g: np.random.Generator) -> Parts:
    """GI/G/c, and a second queue behind it."""
    stations = [Station(name=f"s{k}", servers=_servers(g), scheduling="fcfs") for k in range(int(g.integers(1, 3)))]
    route: list[Step] = [Visit(station=s.name, service=_varied(s.servers * 1.0, g)) for s in stations]
    gaps = _varied(1.0, g)
    batch = Distribution.deterministic(float(g.integers(2, 6))) if g.random() < 0.25 else None
    more = {} if batch is None else {"batch": batch}
    return (
        stations,
        [TransactionClass(name="all", route=tuple(route), arrivals=Arrivals(interarrival=gaps, **more))],
        [],
    )


def _ranked(g: np.random.Generator) -> Parts:
    """M/G/c with priorities: open, users, or both."""
    scheduling = str(g.choice(["hol", "hol", "preemptive", "preemptive", "priority_ps"]))
    stations = [Station(name="queue", servers=_servers(g), scheduling=scheduling)]  # type: ignore[arg-type]
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    equal = g.random() < 0.4
    for r in range(int(g.integers(2, 5))):
        mean_s = 1.0 if equal else float(g.lognormal(0, 0.7))
        service = Exp(mean_s) if equal or g.random() < 0.5 else _varied(mean_s, g)
        route: list[Step] = [Visit(station="queue", service=service)]
        level = int(g.integers(0, 3))
        opens = kind == "open" or (kind == "mixed" and r % 2 == 0)
        classes.append(
            _open(f"c{r}", route, float(g.uniform(0.2, 1)), level) if opens else _users(f"c{r}", route, g, level)
        )
    return stations, classes, []


def _central_server(g: np.random.Generator) -> Parts:
    """A processor and disks: many visits, one after another or in turn, in order or shared."""
    scheduling = str(g.choice(["fcfs", "fcfs", "ps"]))
    disks = int(g.integers(1, 5))
    stations = [Station(name="cpu", servers=int(g.choice([1, 1, 2, 4])), scheduling=scheduling)]  # type: ignore[arg-type]
    stations += [Station(name=f"disk{d}", servers=1, scheduling="fcfs") for d in range(disks)]
    disk_s = g.uniform(0.2, 2, disks)
    loops, classes = bool(g.random() < 0.6), []
    kind = str(g.choice(["open", "closed", "closed", "mixed"]))
    for r in range(int(g.integers(1, 4))):
        cpu = _varied(float(g.lognormal(-0.7, 0.8)), g)
        if loops:
            # After each burst of the processor one of the disks, and back, or the end.
            route: list[Step] = [Visit(station="cpu", service=cpu, label="cpu")]
            visited = [d for d in range(disks) if g.random() < 0.8] or [0]
            for d in visited:
                route.append(Visit(station=f"disk{d}", service=Exp(float(disk_s[d])), count=float(g.uniform(0.3, 1))))
            route.append(Go(to=(("cpu", float(g.choice([0.5, 0.8, 0.9]))),)))
        else:
            route = [Visit(station="cpu", service=cpu, count=float(g.choice([1, 2, 5, 8, 20])))]
            for d in range(disks):
                route.append(Visit(station=f"disk{d}", service=Exp(float(disk_s[d])), count=float(g.integers(1, 9))))
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_open(f"c{r}", route, float(g.uniform(0.2, 1))) if opens else _users(f"c{r}", route, g))
    return stations, classes, []


def _many_servers(g: np.random.Generator) -> Parts:
    """Classes of different work at stations of many servers, in order, visited many times."""
    stations = [
        Station(name=f"s{k}", servers=_servers(g), scheduling=str(g.choice(["fcfs", "ps"])))  # type: ignore[arg-type]
        for k in range(int(g.integers(1, 4)))
    ]
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    for r in range(int(g.integers(1, 4))):
        route: list[Step] = [
            Visit(
                station=s.name,
                service=Exp(float(g.lognormal(0, 0.8))) if g.random() < 0.6 else _varied(float(g.lognormal(0, 0.8)), g),
                count=float(g.choice([1, 1, 1, 2, 5, 20])),
            )
            for s in stations
        ]
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_open(f"c{r}", route, float(g.uniform(0.2, 1))) if opens else _users(f"c{r}", route, g))
    return stations, classes, []


def _forks(g: np.random.Generator) -> Parts:
    """Fork-join of two to five branches, open or closed, with a second station before."""
    branches = int(g.integers(2, 6))
    stations = [Station(name="before", servers=_servers(g), scheduling="ps")]
    stations += [Station(name=f"b{k}", servers=int(g.choice([1, 1, 2])), scheduling="fcfs") for k in range(branches)]
    equal = g.random() < 0.5
    service = np.full(branches, 1.0) if equal else g.uniform(0.2, 1.5, branches)
    fork = Fork(branches=tuple((Visit(station=f"b{k}", service=Exp(float(service[k]))),) for k in range(branches)))
    route: list[Step] = [Visit(station="before", service=Exp(0.5)), fork] if g.random() < 0.5 else [fork]
    return stations, [_open("all", route) if g.random() < 0.5 else _users("all", route, g)], []


def _weights(g: np.random.Generator) -> Parts:
    """Shares by weight, with a second queue that serves all alike."""
    stations = [
        Station(name="weighted", servers=_servers(g), scheduling="dps"),
        Station(name="shared", servers=1, scheduling="ps"),
    ]
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    for r in range(int(g.integers(2, 4))):
        service = Exp if g.random() < 0.7 else (lambda mean_s: _varied(mean_s, g))
        route: list[Step] = [Visit(station="weighted", service=service(float(g.lognormal(0, 0.7))))]
        if g.random() < 0.5:
            route.append(Visit(station="shared", service=Exp(float(g.uniform(0.1, 0.5)))))
        weight = float(g.choice([1, 2, 5, 10]))
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(
            _open(f"c{r}", route, float(g.uniform(0.2, 1)), 0, weight)
            if opens
            else _users(f"c{r}", route, g, 0, weight)
        )
    return stations, classes, []


def _ring(g: np.random.Generator) -> Parts:
    """A ring, or a line, whose stations block when full."""
    size, closed = int(g.integers(2, 5)), bool(g.random() < 0.5)
    places = [int(x) for x in g.integers(2, 15, size)]
    service = g.uniform(0.3, 1.0, size)
    stations = [
        Station(
            name=f"s{k}",
            servers=1,
            scheduling="fcfs",
            capacity=places[k] if closed or k else None,
            when_full="block" if closed or k else "reject",
        )
        for k in range(size)
    ]
    if not closed:
        route: list[Step] = [
            Visit(station=s.name, service=Exp(float(x))) for s, x in zip(stations, service, strict=True)
        ]
        return stations, [_open("all", route)], []
    users = int(g.integers(max(places), max(sum(places) - 2, max(places) + 1)))
    route = [Visit(station=s.name, service=Exp(float(x))) for s, x in zip(stations, service, strict=True)]
    stations[0] = Station(name="s0", servers=1, scheduling="fcfs")
    return stations, [TransactionClass(name="all", route=tuple(route), users=users)], []


def _unequal(g: np.random.Generator) -> Parts:
    """Engines of different speeds, for which all classes wait in one queue."""
    servers = int(g.integers(2, 8))
    speeds = tuple(float(x) for x in g.uniform(0.3, 1.0, servers))
    station = Station(name="queue", servers=servers, scheduling="fcfs", speeds=speeds, source="random")
    kind, classes = str(g.choice(["open", "open", "closed", "mixed"])), []
    for r in range(int(g.integers(1, 4))):
        mean_s = float(g.lognormal(0, 0.8))
        route: list[Step] = [Visit(station="queue", service=Exp(mean_s) if g.random() < 0.6 else _varied(mean_s, g))]
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_open(f"c{r}", route, float(g.uniform(0.2, 1))) if opens else _users(f"c{r}", route, g))
    return [station], classes, []


def _second_choice(g: np.random.Generator) -> Parts:
    """Work that overflows to a second station with work of its own."""
    stations = [
        Station(
            name="first",
            servers=_servers(g),
            scheduling="fcfs",
            overflow=Overflow(to="second", waiting=int(g.integers(0, 4))),
        ),
        Station(name="second", servers=_servers(g), scheduling="fcfs"),
    ]
    classes = [
        _open("first", [Visit(station="first", service=Exp(1.0))], float(g.uniform(0.3, 2))),
        _open("second", [Visit(station="second", service=Exp(float(g.uniform(0.3, 2))))], float(g.uniform(0.3, 2))),
    ]
    if g.random() < 0.4:
        classes[1] = _users("second", [Visit(station="second", service=Exp(1.0))], g)
    return stations, classes, []


def _memory(g: np.random.Generator) -> Parts:
    """A limit on how many are inside a central server."""
    stations = [Station(name="cpu", servers=int(g.choice([1, 2, 4])), scheduling="ps")]
    stations += [Station(name=f"disk{d}", servers=1, scheduling="fcfs") for d in range(int(g.integers(1, 4)))]
    disk_s = g.uniform(0.2, 2, len(stations))
    limits = [Resource(name="limit", capacity=int(g.integers(1, 11)))]
    kind, classes = str(g.choice(["open", "closed", "mixed"])), []
    for r in range(int(g.integers(1, 4))):
        inside: list[Step] = [Visit(station="cpu", service=Exp(float(g.uniform(0.2, 2))))]
        inside += [Visit(station=s.name, service=Exp(float(disk_s[k]))) for k, s in enumerate(stations) if k]
        route = (
            [Acquire(resource="limit"), *inside, Release(resource="limit")] if r == 0 or g.random() < 0.7 else inside
        )
        opens = kind == "open" or (kind == "mixed" and r == 0)
        classes.append(_open(f"c{r}", route, float(g.uniform(0.2, 1))) if opens else _users(f"c{r}", route, g))
    return stations, classes, limits


KINDS: dict[str, Callable[[np.random.Generator], Parts]] = {
    "one queue": _one_queue,
    "limited places": _places,
    "uneven arrivals": _uneven_arrivals,
    "priorities": _ranked,
    "central server": _central_server,
    "many servers": _many_servers,
    "forks": _forks,
    "weights": _weights,
    "blocking": _ring,
    "unequal engines": _unequal,
    "second choice": _second_choice,
    "memory limit": _memory,
}


def _loaded(network: Network, busy: float) -> Network:
    """The network with its open rates scaled so that the busiest station, or limit, is ``busy`` busy by demand."""
    rates = np.array([c.arrivals.rate_per_s if c.arrivals else 0.0 for c in network.classes])
    if not rates.any():
        return network
    table = demands(network)
    most = np.array([sum(s.speeds) if len(s.speeds) > 1 else s.servers for s in network.stations], dtype=float)
    load = float(np.max(rates @ table.demand_s / most))
    for rho, resource in enumerate(network.resources):
        load = max(load, 1.5 * float(rates @ (table.demand_s.sum(axis=1) * table.acquires[:, rho])) / resource.capacity)
    factor = busy / load

    def scaled(gaps: Arrivals) -> Arrivals:
        law = gaps.interarrival
        mean_s = law.mean / factor
        even = Distribution.deterministic(mean_s) if law.scv == 0 else Distribution.with_scv(mean_s, law.scv)
        return replace(gaps, interarrival=even)

    classes = [replace(c, arrivals=scaled(c.arrivals)) if c.arrivals else c for c in network.classes]
    return replace(network, classes=tuple(classes))
