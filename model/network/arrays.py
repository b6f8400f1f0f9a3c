"""A network as arrays: what one transaction of each class asks of each station and resource, and what these can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.network.description import Network, demands
from model.network.elements import Station
from model.network.flows import Flows, flows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Arrays:
    """Loads and capacities of a network, in seconds and per second.

    Attributes
    ----------
    visits, service, scv, demand : (classes, stations)
        Visits of a transaction, mean and squared variation of one visit, visits × service. A synchronous facility
        request counts as a visit to the facility.
    rates : (classes,)
        Arrivals per second; -1 where the class is closed, 0 where it only continues others.
    users, think, priority, weight : (classes,)
        Of the class descriptions; ``users`` is 0 for open classes.
    acquires : (classes, resources)
        Units taken by a transaction, of resources for which it may have to wait: 0 where there are units for all users.
    inside : (classes, resources, stations)
        The part of the demand that runs while the resource is held; of parallel branches the longest.
    largest : (resources,)
        Most units taken at once.
    delay, servers : (stations,)
        Whether nobody queues there; engines, -1 at a delay.
    pace : (stations,)
        Time of a customer alone over its described service.
    curves
        By station: work done per second with 1, 2, … customers in units of one alone (the last holds beyond), and
        engines busy with it.
    """

    network: Network
    visits: Floats
    service: Floats
    scv: Floats
    demand: Floats
    rates: Floats
    users: Floats
    think: Floats
    priority: Floats
    weight: Floats
    acquires: Floats
    inside: Floats
    largest: Floats
    delay: NDArray[np.bool_]
    servers: Ints
    pace: Floats
    curves: list[tuple[Floats, Floats]]

    @property
    def work(self) -> Floats:
        """(classes, stations) engine seconds of a transaction that nobody delays."""
        return self.demand * self.pace

    def is_plain(self, k: int) -> bool:
        """Whether station ``k`` does one unit of work for each customer at its engines."""
        done = self.curves[k][0]
        return np.array_equal(done, np.arange(1.0, self.network.stations[k].servers + 1))


def as_arrays(network: Network) -> Arrays:
    """Arrays of a network, computed once and kept with it; not to be changed."""
    kept = network.derived.get("arrays")
    if not isinstance(kept, Arrays):
        kept = network.derived["arrays"] = _as_arrays(network)
    return kept


def _as_arrays(network: Network) -> Arrays:
    base, stations, classes = demands(network), network.stations, network.classes
    inside, largest, nested = _holding(network)
    acquires, users = base.acquires.copy(), np.array([float(c.users) for c in classes])
    rates = np.array([c.arrivals.rate_per_s if c.arrivals else (-1.0 if c.users else 0.0) for c in classes])
    forks = any(op.kind == "fork" for op in flows(network).ops)
    for rho, resource in enumerate(network.resources):
        takers = acquires[:, rho] > 0
        single = resource.instances == 1 and not nested[rho] and not forks and not np.any(rates[takers] > 0)
        if single and users[takers].sum() * largest[rho] <= resource.capacity:
            acquires[:, rho] = 0.0
    delay = np.array([not s.discipline.queues for s in stations])
    return Arrays(
        network=network,
        visits=base.visits,
        service=base.service_s,
        scv=base.scv,
        demand=base.demand_s,
        rates=rates,
        users=users,
        think=np.array([c.think.mean if c.think else 0.0 for c in classes]),
        priority=np.array([float(c.priority) for c in classes]),
        weight=np.array([c.weight for c in classes]),
        acquires=acquires,
        inside=inside,
        largest=largest,
        delay=delay,
        servers=np.array([s.servers if s.discipline.queues else -1 for s in stations], dtype=np.int64),
        pace=np.where(delay, 1.0, [base_pace(s) for s in stations]),
        curves=[capacity(s) for s in stations],
    )


def _holding(network: Network) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """``inside`` and ``largest`` of :class:`Arrays`, and (resources,) whether some take more while they hold some."""
    flow = flows(network)
    column = {name: k for k, name in enumerate(network.station_names)}
    resource = {name: rho for rho, name in enumerate(network.resource_names)}
    inside = np.zeros((len(network.classes), len(resource), len(column)))
    largest, nested = np.ones(len(resource)), np.zeros(len(resource), dtype=np.bool_)
    for row in range(len(network.classes)):
        for at in flow.visited(row):
            op, runs = flow.ops[at], float(flow.runs[row, at])
            resources = [resource[name] for name, _ in op.holdings]
            if op.kind == "acquire":
                taken = resource[op.name]
                largest[taken] = max(largest[taken], op.units)
                nested[taken] |= taken in resources
            elif op.kind == "visit" and op.service is not None:
                mean = op.service.mean + (op.extra.mean if op.extra else 0.0)
                inside[row, resources, column[op.name]] += runs * op.count * mean
            elif op.kind == "fork" and resources:
                inside[row, resources] += runs * _longest_branch(flow, at, row, column)
    return inside, largest, nested


def _longest_branch(flow: Flows, at: int, row: int, column: dict[str, int]) -> Floats:
    """(stations,) seconds of work in the branch with the most, for one execution of the fork at ``at``."""
    ops, runs, start = flow.ops, flow.runs[row], flow.base(at)
    begins = [start + target for target, _ in ops[at].targets]
    ends = [*begins[1:], start + ops[at + 1].targets[0][0]]
    work = np.zeros((len(begins), len(column)))
    for branch, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for i in range(begin, end):
            if ops[i].kind == "visit" and (service := ops[i].service) is not None:
                work[branch, column[ops[i].name]] += runs[i] / runs[at] * ops[i].count * service.mean
    return work[int(work.sum(axis=1).argmax())]


def capacity(station: Station) -> tuple[Floats, Floats]:
    """Work done per second with 1, 2, … customers (last beyond), in units of one server alone, and busy servers."""
    c = station.servers
    if station.smt is not None:
        n = np.arange(1, 2 * c + 1, dtype=float)
        gain = station.smt.gain
        if station.smt.packing == "dense":
            work, busy = gain * (n // 2) + n % 2, np.ceil(n / 2)
        else:
            work, busy = np.minimum(n, c) + np.maximum(n - c, 0) * (gain - 1), np.minimum(n, c)
    else:
        n = np.arange(1, c + 1, dtype=float)
        speeds = np.sort(np.asarray(station.speeds, dtype=float))[::-1]
        work = np.cumsum(speeds) / speeds[0] if len(speeds) == c else n.copy()
        busy = n.copy()
    if station.cost_by_busy:
        costs = np.asarray(station.cost_by_busy, dtype=float)
        index = np.minimum(np.ceil(busy).astype(int), len(costs)) - 1
        work = work / costs[index] * costs[0]
    return work, busy


def base_pace(station: Station) -> float:
    """How much slower or faster than its written service one customer alone is served."""
    return (station.cost_by_busy[0] if station.cost_by_busy else 1.0) / max(station.speeds)
