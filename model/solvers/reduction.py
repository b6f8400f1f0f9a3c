"""A network reduced to the arrays the analytic solvers work on, with what the arrays cannot say kept beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.network import Network, Station, demands
from model.network.lowering import Op

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ForkBranches:
    """One fork of one class, executed ``flow`` times: ``branches`` (branches, stations) are visits in each."""

    row: int
    flow: float
    branches: Floats
    work: Floats


@dataclass(frozen=True)
class SyncRequest:
    """Requests of a class that hold engine ``engine`` while facility ``facility`` serves them."""

    row: int
    engine: int
    facility: int
    flow: float
    service_s: float
    issue_s: float = 0.0
    threshold_s: float = np.inf
    async_issue_s: float = 0.0


@dataclass
class Reduced:
    """Arrays are (classes, ...) and in seconds.

    ``visits``, ``service``, ``scv``, ``demand`` (classes, stations) count synchronous facility requests too;
    ``inside`` (classes, resources, stations) is the part of the demand run while holding a resource, ``acquires``
    (classes, resources) units taken, ``nested`` (classes, resources, resources) units of the last taken while holding
    the one before; ``largest`` (resources,) units taken at once.
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
    nested: Floats
    largest: Floats
    ample: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    forks: list[ForkBranches] = field(default_factory=list)
    sync: list[SyncRequest] = field(default_factory=list)
    equal_fcfs: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    arrival_scv: Floats = field(default_factory=lambda: np.zeros(0))
    notes: list[str] = field(default_factory=list)


def reduce(network: Network) -> Reduced:
    """Everything the analytic solvers need of a network."""
    base = demands(network)
    classes, stations, resources = len(network.classes), len(network.stations), len(network.resources)
    column = {name: i for i, name in enumerate(network.station_names)}
    resource = {name: i for i, name in enumerate(network.resource_names)}
    programs = {name: network.operations(name) for name in network.class_names}
    starts: dict[str, int] = {}
    ops: list[tuple[Op, int]] = []
    for name, program in programs.items():
        starts[name] = len(ops)
        ops.extend((op, starts[name]) for op in program)
    flows = _flows(ops, starts, network.class_names)
    out = Reduced(
        network,
        base.visits,
        base.service_s,
        base.scv,
        base.demand_s,
        np.array([c.arrivals.rate_per_s if c.arrivals else (-1.0 if c.users else 0.0) for c in network.classes]),
        np.array([float(c.users) for c in network.classes]),
        np.array([c.think.mean if c.think else 0.0 for c in network.classes]),
        np.array([float(c.priority) for c in network.classes]),
        np.array([c.weight for c in network.classes]),
        base.acquires,
        np.zeros((classes, resources, stations)),
        np.zeros((classes, resources, resources)),
        np.ones(resources),
    )
    out.arrival_scv = np.array([_arrival_scv(c.arrivals) if c.arrivals else 1.0 for c in network.classes])
    sync_columns = np.zeros((classes, stations))
    first_service: list[set[float]] = [set() for _ in range(stations)]
    variation: list[set[float]] = [set() for _ in range(stations)]
    for row in range(classes):
        reached = network.classes[row].arrivals is not None or network.classes[row].users > 0
        for at, (op, start) in enumerate(ops):
            flow = flows[row, at]
            if flow <= 0:
                continue
            held = [(resource[name], units) for name, units in op.held]
            if op.kind == "visit" and op.service is not None:
                k = column[op.name]
                mean = op.service.mean + (op.extra.mean if op.extra else 0.0)
                if reached and mean > 0:
                    first_service[k].add(round(mean, 15))
                    variation[k].add(op.service.scv if op.extra is None and op.service.kind == "exponential" else -1.0)
                for rho, _ in held:
                    out.inside[row, rho, k] += flow * op.count * mean
                if op.retain:
                    engine = column[ops[at - 1][0].name]
                    decided = ops[at - 2][0] if at >= 2 else None
                    issued = ops[at - 1][0].service
                    issue = issued.mean if issued is not None else 0.0
                    threshold, extra = np.inf, 0.0
                    if decided is not None and decided.kind == "cf_decide":
                        threshold = decided.threshold_s
                        other = ops[start + decided.targets[0][0]][0]
                        extra = other.extra.mean if other.extra else 0.0
                    out.sync.append(SyncRequest(row, engine, k, flow, mean, issue, threshold, extra))
                    sync_columns[row, k] += flow
            elif op.kind == "acquire":
                sigma = resource[op.name]
                out.largest[sigma] = max(out.largest[sigma], op.units)
                for rho, _ in held:
                    out.nested[row, rho, sigma] += flow * op.units
            elif op.kind == "fork":
                branches = _branches(ops, at, start, flows[row], column, stations)
                out.forks.append(ForkBranches(row, flow, branches[0], branches[1]))
    _leave_out_ample(out)
    out.equal_fcfs = np.array([len(first_service[k]) <= 1 and variation[k] <= {1.0} for k in range(stations)])
    return out


def _leave_out_ample(net: Reduced) -> None:
    """Resources with units for every user of the closed classes that take them: nobody waits."""
    net.ample = np.zeros_like(net.inside)
    if net.forks:
        return
    for rho, resource in enumerate(net.network.resources):
        takers = net.acquires[:, rho] > 0
        own_nesting = np.any(net.nested[:, rho, rho] > 0)
        if np.any(net.rates[takers] > 0) or own_nesting or resource.instances > 1:
            continue
        if float(net.users[takers].sum()) * net.largest[rho] <= resource.capacity:
            net.ample[:, rho] = net.inside[:, rho] * net.largest[rho]
            net.inside[:, rho] = 0.0
            net.acquires[:, rho] = 0.0
            net.nested[:, rho] = 0.0
            net.nested[:, :, rho] = 0.0


def _arrival_scv(arrivals: object) -> float:
    """Squared variation of the time between arrivals, 1 for Poisson; -1 where it has no single value."""
    from model.network import Arrivals

    assert isinstance(arrivals, Arrivals)
    if arrivals.on is not None or arrivals.batch.mean != 1.0 or arrivals.batch.scv > 0:
        return -1.0
    return 1.0 if arrivals.interarrival.kind == "exponential" else arrivals.interarrival.scv


def _flows(ops: list[tuple[Op, int]], starts: dict[str, int], names: tuple[str, ...]) -> Floats:
    """(classes, operations) executions of each operation per transaction of each class."""
    matrix = np.eye(len(ops))
    for at, (op, start) in enumerate(ops):
        if op.kind in ("end", "join"):
            continue
        if op.kind == "switch":
            matrix[starts[op.name], at] -= 1.0
            continue
        rest = 1.0
        if op.kind != "cf_decide":
            for target, chance in op.targets:
                matrix[start + target, at] -= chance
                rest -= chance if op.kind != "fork" else 0.0
        if rest > 1e-12:
            matrix[at + 1, at] -= rest
    entries = np.zeros((len(ops), len(names)))
    for row, name in enumerate(names):
        entries[starts[name], row] = 1.0
    return np.asarray(np.linalg.solve(matrix, entries).T)


def _branches(
    ops: list[tuple[Op, int]], at: int, start: int, flow: Floats, column: dict[str, int], stations: int
) -> tuple[Floats, Floats]:
    """Visits and demand (branches, stations) of one execution of the fork at ``at``."""
    first = [start + target for target, _ in ops[at][0].targets]
    after = start + ops[at + 1][0].targets[0][0]
    visits, work = np.zeros((len(first), stations)), np.zeros((len(first), stations))
    for b, begin in enumerate(first):
        end = first[b + 1] if b + 1 < len(first) else after
        for i in range(begin, end):
            op = ops[i][0]
            if op.kind == "visit" and op.service is not None:
                share = flow[i] / flow[at] * op.count
                visits[b, column[op.name]] += share
                work[b, column[op.name]] += share * op.service.mean
    return visits, work


def capacity(station: Station) -> tuple[Floats, Floats]:
    """Work done per second with 1, 2, ... customers (last beyond), in units of one server alone, and busy servers."""
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
