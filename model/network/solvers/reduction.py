"""A network reduced to the arrays the analytic solvers work on, with what the arrays cannot say kept beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.network import Network, Station, demands
from model.network.flows import Flows, flows
from model.network.solvers.arrays import IN_TURN, RANKED, Returns
from model.network.solvers.returns import returns_of

Floats = NDArray[np.float64]

LEAST_WORK = 1e-9
"""Work of a visit without any, over the shortest that others bring: it waits as they do where work is done in turn."""


@dataclass(frozen=True)
class ForkBranches:
    """One fork of one class, executed ``flow`` times: ``branches`` (branches, stations) are visits in each, ``work``
    their seconds, ``acquires`` (branches, resources) units taken."""

    row: int
    flow: float
    branches: Floats
    work: Floats
    acquires: Floats


@dataclass(frozen=True)
class SyncRequest:
    """Requests of a class that hold engine ``engine`` while facility ``facility`` serves them.

    ``beside_s`` is the work on the engine around one of them, and half the time of other requests within that.
    """

    row: int
    engine: int
    facility: int
    flow: float
    service_s: float
    beside_s: float = 0.0
    threshold_s: float = np.inf
    async_issue_s: float = 0.0


@dataclass(frozen=True)
class Feed:
    """A class goes ``flow`` times from ``station``, or from outside, to station ``to``, which may be full."""

    row: int
    station: int | None
    to: int
    flow: float


@dataclass
class Reduced:
    """Arrays are (classes, ...) and in seconds.

    ``visits``, ``service``, ``scv``, ``demand`` (classes, stations) count synchronous facility requests too; what goes
    on on its engine after one is part of the same visit;
    ``inside`` (classes, resources, stations) is the part of the demand run while holding a resource, with
    ``inside_variance`` the sum of the variances of its visits; ``acquires`` (classes, resources) are units taken,
    ``nested`` (classes, resources, resources) units of the last taken while holding the one before; ``largest``
    (resources,) units taken at once. ``poisson``, ``dispersion`` and ``memory_s`` (classes,) are those of the arrivals;
    ``order`` has the stations of each class as its route first reaches them;
    ``occupied`` (stations,) are engines taken by work that is left out of the arrays; ``at_once`` (classes, stations)
    are visits that follow another one to the same station with nothing in between; ``returns`` are known of stations
    that serve by importance or in order, of classes without forks; ``most_above`` (classes, stations) are the more
    important customers that can be at one that serves by importance at a time.
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
    inside_variance: Floats
    nested: Floats
    largest: Floats
    ample: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    forks: list[ForkBranches] = field(default_factory=list)
    sync: list[SyncRequest] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    equal_fcfs: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    poisson: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    dispersion: Floats = field(default_factory=lambda: np.zeros(0))
    memory_s: Floats = field(default_factory=lambda: np.zeros(0))
    order: list[list[int]] = field(default_factory=list)
    switches: bool = False
    delay: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    servers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    pace: Floats = field(default_factory=lambda: np.zeros(0))
    curves: list[tuple[Floats, Floats]] = field(default_factory=list)
    plain: list[bool] = field(default_factory=list)
    product: bool | None = None
    occupied: Floats = field(default_factory=lambda: np.zeros(0))
    at_once: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    returns: Returns = field(default_factory=lambda: Returns.none(0, 0))
    most_above: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    notes: list[str] = field(default_factory=list)


def reduce(network: Network) -> Reduced:
    """Everything the analytic solvers need of a network, worked out once for each network; not to be changed."""
    known = network.derived.get("reduced")
    if not isinstance(known, Reduced):
        known = network.derived["reduced"] = _reduce(network)
    return known


def _reduce(network: Network) -> Reduced:
    base = demands(network)
    classes, stations, resources = len(network.classes), len(network.stations), len(network.resources)
    column = {name: i for i, name in enumerate(network.station_names)}
    resource = {name: i for i, name in enumerate(network.resource_names)}
    flow_of = flows(network)
    ops = flow_of.ops
    out = Reduced(
        network,
        base.visits.copy(),
        base.service_s.copy(),
        base.scv.copy(),
        base.demand_s.copy(),
        np.array([c.arrivals.rate_per_s if c.arrivals else (-1.0 if c.users else 0.0) for c in network.classes]),
        np.array([float(c.users) for c in network.classes]),
        np.array([c.think.mean if c.think else 0.0 for c in network.classes]),
        np.array([float(c.priority) for c in network.classes]),
        np.array([c.weight for c in network.classes]),
        base.acquires,
        np.zeros((classes, resources, stations)),
        np.zeros((classes, resources, stations)),
        np.zeros((classes, resources, resources)),
        np.ones(resources),
    )
    out.occupied, out.at_once = np.zeros(stations), np.zeros((classes, stations))
    out.poisson = np.array([c.arrivals is None or c.arrivals.is_poisson for c in network.classes])
    out.dispersion = np.array([c.arrivals.dispersion if c.arrivals else 1.0 for c in network.classes])
    out.memory_s = np.array([c.arrivals.memory_s if c.arrivals else 0.0 for c in network.classes])
    out.returns = Returns.none(classes, stations)
    ranked = [k for k, station in enumerate(network.stations) if station.scheduling in RANKED]
    ordered = [k for k, station in enumerate(network.stations) if station.scheduling in (*RANKED, *IN_TURN)]
    _measure_stations(out)
    _give_work(out)
    out.switches = any(op.kind == "switch" for op in ops)
    services: list[set[tuple[float, float]]] = [set() for _ in range(stations)]
    for row, described in enumerate(network.classes):
        is_started = described.arrivals is not None or described.users > 0
        order: dict[int, None] = {}
        stays = _stays(flow_of, row)
        for stay in stays:
            _join(out, stay, flow_of, row, column)
        _count_at_once(out, flow_of, row, column)
        if ordered and not any(flow_of.ops[at].kind == "fork" for at in flow_of.visited(row)):
            out.returns.share[row], out.returns.between[row] = returns_of(flow_of, row, column, ordered, stays)
        for at in flow_of.visited(row):
            op, flow = ops[at], float(flow_of.runs[row, at])
            held = [resource[name] for name, _ in op.held]
            if op.kind == "visit" and op.service is not None:
                k = column[op.name]
                order[k] = None
                mean = op.service.mean + (op.extra.mean if op.extra else 0.0)
                if is_started and (mean > 0 or network.stations[k].scheduling in IN_TURN):
                    is_exponential = op.extra is None and op.service.kind == "exponential"
                    services[k].add((round(mean, 15), op.service.scv if is_exponential else -1.0))
                for rho in held:
                    out.inside[row, rho, k] += flow * op.count * mean
                    out.inside_variance[row, rho, k] += flow * op.count * op.service.scv * op.service.mean**2
                if op.retain:
                    stay = next(one for one in stays if at in one)
                    out.sync.append(_sync_request(flow_of, at, row, column, mean, stay))
            elif op.kind == "acquire":
                sigma = resource[op.name]
                out.largest[sigma] = max(out.largest[sigma], op.units)
                for rho in held:
                    out.nested[row, rho, sigma] += flow * op.units
            elif op.kind == "fork":
                visits, work, acquires = _branches(flow_of, at, row, column, resource)
                out.forks.append(ForkBranches(row, flow, visits, work, acquires))
                for rho in held:
                    longest = work[work.sum(axis=1).argmax()]
                    out.inside[row, rho] += flow * longest
                    out.inside_variance[row, rho] += flow * longest**2
        out.order.append(list(order))
        out.feeds += _feeds(flow_of, row, column, network)
    out.most_above = _most_above(out, ranked)
    _leave_out_ample(out)
    out.equal_fcfs = np.array([len(found) <= 1 and all(scv == 1.0 for _, scv in found) for found in services])
    return out


def _most_above(out: Reduced, ranked: list[int]) -> Floats:
    """How many customers more important than each class can be at a station at a time: users, or units of a resource
    without which they are never there."""
    most = np.full(out.demand.shape, np.inf)
    branch = {fork.row for fork in out.forks}
    units = np.array([r.capacity * r.instances for r in out.network.resources]) / out.largest
    for k in ranked:
        here = [int(r) for r in np.flatnonzero(out.demand[:, k] > 0)]
        fewest: dict[int, int] = {}
        for s in here:
            always = np.flatnonzero(np.isclose(out.inside[s, :, k], out.demand[s, k]))
            fewest[s] = int(always[units[always].argmin()]) if len(always) else -1
        for r in here:
            alike: dict[int, float] = {}
            for s in (s for s in here if out.priority[s] > out.priority[r]):
                users = out.users[s] if out.users[s] > 0 and s not in branch else np.inf
                alike[fewest[s]] = alike.get(fewest[s], 0.0) + users
            most[r, k] = sum(users if rho < 0 else min(users, units[rho]) for rho, users in alike.items())
    return most


def _give_work(out: Reduced) -> None:
    """Let visits without work have next to none, where they wait in turn for what others bring."""
    for k, station in enumerate(out.network.stations):
        visits, service = out.visits[:, k], np.nan_to_num(out.service[:, k])
        none = (visits > 0) & (service == 0)
        if station.scheduling in IN_TURN and none.any() and service.any():
            least = LEAST_WORK * service[service > 0].min()
            out.service[none, k], out.scv[none, k], out.demand[none, k] = least, 0.0, least * visits[none]


def _stays(flow_of: Flows, row: int) -> list[list[int]]:
    """Stays of a class on engines: their visits one after the other, and those to facilities in between."""
    found: list[list[int]] = []
    stay: list[int] | None = None
    for at in flow_of.visited(row):
        op = flow_of.ops[at]
        if op.kind == "visit":
            if stay is None or not (op.goes_on or op.retain):
                found.append(stay := [])
            stay.append(at)
            stay = stay if op.keep or op.retain or op.stays else None
        elif op.kind == "free":
            stay = stay if op.stays else None
    return found


def _join(out: Reduced, stay: list[int], flow_of: Flows, row: int, column: dict[str, int]) -> None:
    """Count the visits of a stay to its engine as one."""
    own = [flow_of.ops[at] for at in stay if not flow_of.ops[at].retain]
    if len(own) < 2:
        return
    k, flow = column[own[0].name], float(flow_of.runs[row, stay[0]])
    means = np.array([op.service.mean for op in own if op.service is not None])
    visits, service = out.visits[row, k], out.service[row, k]
    square = visits * service**2 * (1.0 + out.scv[row, k]) + flow * (means.sum() ** 2 - (means**2).sum())
    out.visits[row, k] = joined = visits - flow * (len(own) - 1)
    out.service[row, k] = service * visits / joined
    out.scv[row, k] = square / (joined * out.service[row, k] ** 2) - 1.0


def _count_at_once(out: Reduced, flow_of: Flows, row: int, column: dict[str, int]) -> None:
    """Count the visits of a class that follow one to the same station at once; where servers are shared by importance
    or weight, and by nobody in order, these go on with the one before."""
    for at in flow_of.visited(row):
        op = flow_of.ops[at]
        if op.kind == "visit" and op.service is not None and not op.retain:
            made = min(op.count, 1.0)
            after = sum(part for to, part in flow_of.next_visits(at, row).items() if flow_of.ops[to].name == op.name)
            out.at_once[row, column[op.name]] += flow_of.runs[row, at] * (op.count - made + made * min(after, 1.0))
    ops = [flow_of.ops[at] for at in flow_of.visited(row)]
    if any(op.kind in ("acquire", "fork") or op.keep or op.stays for op in ops):
        return
    for k in np.flatnonzero(out.at_once[row] > 0):
        if out.network.stations[k].scheduling in ("priority_ps", "dps"):
            joined = out.visits[row, k] - out.at_once[row, k]
            out.service[row, k] *= out.visits[row, k] / joined
            out.visits[row, k], out.at_once[row, k] = joined, 0.0


def _sync_request(
    flow_of: Flows, at: int, row: int, column: dict[str, int], service_s: float, stay: list[int]
) -> SyncRequest:
    """The visit to a facility at ``at``, for which the engine that issued it, one operation before, is held.

    Where the operation before that decides whether the request goes asynchronously, its threshold and cost count.
    """
    ops, engine = flow_of.ops, flow_of.ops[at - 1]
    decided = ops[at - 2] if at >= 2 else None
    threshold_s, async_issue_s = np.inf, 0.0
    around = ((flow_of.ops[i], flow_of.ops[i].service) for i in stay if i != at)
    beside_s = sum(service.mean / (2.0 if op.retain else 1.0) for op, service in around if service is not None)
    if decided is not None and decided.kind == "cf_decide":
        other = ops[flow_of.base(at) + decided.targets[0][0]]
        threshold_s, async_issue_s = decided.threshold_s, other.extra.mean if other.extra else 0.0
    return SyncRequest(
        row,
        column[engine.name],
        column[ops[at].name],
        float(flow_of.runs[row, at]),
        service_s,
        beside_s,
        threshold_s,
        async_issue_s,
    )


def _feeds(flow_of: Flows, row: int, column: dict[str, int], network: Network) -> list[Feed]:
    """From where a class comes to stations that block when they are full."""
    blocking = {s.name for s in network.stations if s.capacity is not None and s.when_full == "block"}
    if not blocking:
        return []
    found: dict[tuple[int | None, int], float] = {}
    ops = flow_of.ops
    for at in (None, *(at for at in flow_of.visited(row) if ops[at].kind == "visit")):
        station = None if at is None else column[ops[at].name]
        flow = 1.0 if at is None else float(flow_of.runs[row, at]) * min(ops[at].count, 1.0)
        for next_visit, share in flow_of.next_visits(at, row).items():
            to = column[ops[next_visit].name]
            if ops[next_visit].name in blocking and station != to:
                found[station, to] = found.get((station, to), 0.0) + flow * share
    return [Feed(row, station, to, flow) for (station, to), flow in found.items()]


def in_service(net: Reduced, throughput: Floats, work: Floats, busy: Floats) -> Floats:
    """(classes, stations) seconds that the ``work`` of a transaction takes alone: where engines are unequal, on the
    engines that do it."""
    unequal = [k for k, s in enumerate(net.network.stations) if len(set(s.speeds)) > 1]
    out = work.copy()
    out[:, unequal] = busy[:, unequal] / np.where(throughput > 0, throughput, 1.0)[:, None]
    return out


def unhindered(net: Reduced) -> Floats:
    """(classes,) transactions a second if nobody waited for anything."""
    cycle = net.think + net.demand.sum(axis=1)
    alone = np.divide(net.users, cycle, out=np.zeros_like(cycle), where=cycle > 0)
    return np.where(net.rates >= 0, net.rates, alone)


def unwaited_holding(net: Reduced, throughput: Floats, using: Floats) -> Floats:
    """(resources,) units in use if whoever holds one waited for nothing else.

    Args:
        throughput: (classes,) transactions a second.
        using: (stations,) seconds of service a second, as each transaction would take alone.
    """
    work = throughput @ net.demand
    inside = np.tensordot(throughput, net.inside * net.largest[:, None] + net.ample, axes=1)
    return np.asarray(inside @ np.divide(using, work, out=np.zeros_like(using), where=work > 0))


def share_with_overflow(net: Reduced, share: Sequence[float] | Floats, k: int) -> float:
    """Part used of what a station can do together with those that overflow onto it and are fuller; nothing of one that
    overflows, whose work goes on elsewhere when it is full.

    Args:
        share: (stations,) part used of what each can do.
    """
    if net.network.stations[k].overflow is not None:
        return 0.0
    most = [float(work[-1]) for work, _ in net.curves]
    used, can = share[k] * most[k], most[k]
    name = net.network.station_names[k]
    feeding = [i for i, s in enumerate(net.network.stations) if s.overflow is not None and s.overflow.to == name]
    for i in sorted(feeding, key=lambda i: -share[i]):
        if share[i] > used / can:
            used, can = used + share[i] * most[i], can + most[i]
    return used / can


def holding_variation(net: Reduced, rho: int, residence: Floats) -> Floats:
    """(classes,) squared variation of the time a resource is held: a sum of visits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.where(net.demand > 0, residence / net.demand, 0.0)
        held = (stretch * net.inside[:, rho]).sum(axis=1)
        variance = (stretch**2 * net.inside_variance[:, rho]).sum(axis=1)
        taken = net.acquires[:, rho] / net.largest[rho]
        out = np.where(held > 0, variance * taken / held**2, 1.0)
    return np.clip(np.nan_to_num(out, nan=1.0), 0.05, 4.0)


def _measure_stations(net: Reduced) -> None:
    stations = net.network.stations
    net.delay = np.array([s.scheduling == "delay" for s in stations])
    net.servers = np.array([-1 if s.scheduling == "delay" else s.servers for s in stations], dtype=np.int64)
    net.pace = np.array([1.0 if s.scheduling == "delay" else base_pace(s) for s in stations])
    net.curves = [capacity(s) for s in stations]
    one_each = [np.arange(1.0, s.servers + 1) for s in stations]
    net.plain = [np.array_equal(work, one) for one, (work, _) in zip(one_each, net.curves, strict=True)]


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


def _branches(
    flow_of: Flows, at: int, row: int, column: dict[str, int], resource: dict[str, int]
) -> tuple[Floats, Floats, Floats]:
    """Visits, demand (branches, stations) and units taken (branches, resources) of one execution of a fork."""
    ops, runs, start = flow_of.ops, flow_of.runs[row], flow_of.base(at)
    first = [start + target for target, _ in ops[at].targets]
    after = start + ops[at + 1].targets[0][0]
    visits, work = np.zeros((len(first), len(column))), np.zeros((len(first), len(column)))
    acquires = np.zeros((len(first), len(resource)))
    for b, begin in enumerate(first):
        end = first[b + 1] if b + 1 < len(first) else after
        for i in range(begin, end):
            op = ops[i]
            if op.kind == "visit" and op.service is not None:
                share = runs[i] / runs[at] * op.count
                visits[b, column[op.name]] += share
                work[b, column[op.name]] += share * op.service.mean
            elif op.kind == "acquire":
                acquires[b, resource[op.name]] += op.units * runs[i] / runs[at]
    return visits, work, acquires


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
