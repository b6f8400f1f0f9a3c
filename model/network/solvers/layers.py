"""Everything product form cannot say, as a fixed point around approximate mean value analysis.

Passive resources, engines held by synchronous facility requests, forks, overflow, weighted sharing of a machine and
lossy stations are each solved alone, given the figures of the rest, and enter the rest as delays, longer demands or
less capacity. Sources: Jacobson and Lazowska, *Comm. ACM* 25, 1982 (surrogate delays); Rolia and Sevcik, *IEEE TSE*
21, 1995 (method of layers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.network.solvers.amva import (
    DELAY,
    FCFS,
    HEAD_OF_LINE,
    PREEMPTIVE,
    PRIORITY_SHARING,
    SHARING,
    WEIGHTED,
    amva,
)
from model.network.solvers.arrays import Ints
from model.network.solvers.convolution import Convolution, Floats
from model.network.solvers.exact_network import Figures
from model.network.solvers.fork_join import largest_of_independent, nelson_tantawi
from model.network.solvers.load_dependent import busy_at_queue_length
from model.network.solvers.reduction import Reduced, SyncRequest, in_service
from model.network.solvers.stations import mmc_response, mmck

ROUNDS = 200
TOLERANCE = 1e-6
DIVERGED = 1e5
CODES = {
    "delay": DELAY,
    "ps": SHARING,
    "fcfs": FCFS,
    "hol": HEAD_OF_LINE,
    "preemptive": PREEMPTIVE,
    "dps": WEIGHTED,
    "priority_ps": PRIORITY_SHARING,
}


@dataclass
class _State:
    """What the layers pass to each other; (classes, ...) arrays."""

    wait: Floats
    hold: Floats
    facility: Floats
    saving: Floats
    throughput: Floats
    residence: Floats
    busy: Floats
    using: Floats
    held: Floats


def layered(net: Reduced) -> tuple[Figures, bool]:
    """Approximate figures, and whether the layers agreed in the end."""
    classes, stations = net.demand.shape
    resources = len(net.network.resources)
    base = net.think + net.demand.sum(axis=1)
    guess = np.where(net.rates >= 0, net.rates, np.divide(net.users, base, out=np.zeros(classes), where=base > 0))
    state = _State(
        np.zeros((classes, resources)),
        np.zeros((classes, stations)),
        np.nan_to_num(net.service),
        np.zeros(classes),
        guess,
        net.demand.copy(),
        guess[:, None] * net.demand,
        net.demand.copy(),
        np.zeros((classes, resources)),
    )
    simple = not (net.sync or net.forks or np.any(net.acquires > 0)) and not any(
        s.overflow or s.lpar or s.capacity is not None for s in net.network.stations
    )
    settled = False
    for turn in range(ROUNDS):
        previous = state.residence.sum(axis=1) + state.wait.sum(axis=1) - state.saving
        _hardware(net, state)
        if simple:
            return _figures(net, state), True
        damping = 0.5 if turn < 50 else 0.2
        _resources(net, state, damping)
        _forks(net, state, damping)
        now = state.residence.sum(axis=1) + state.wait.sum(axis=1) - state.saving
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.abs(now - previous) / np.maximum(now, 1e-300)
        if turn > 2 and np.all(~np.isfinite(now) | (change < TOLERANCE)):
            settled = True
            break
    return _figures(net, state), settled


def _figures(net: Reduced, state: _State) -> Figures:
    return Figures(
        state.throughput,
        state.residence,
        state.busy,
        state.using,
        state.wait,
        state.held,
        "layered mean value analysis" if np.any(net.acquires) or net.sync else "approximate mean value analysis",
        state.saving,
    )


def _hardware(net: Reduced, state: _State) -> None:
    """Solve the stations, given waits for resources and what facilities do to their engines."""
    stations = net.network.stations
    classes = len(net.rates)
    pace = net.pace
    visits = net.visits.copy()
    demand = net.demand * pace + _issued(net, state)
    lost = np.zeros(classes)
    codes = np.array([CODES[s.scheduling] for s in stations])
    servers = net.servers.copy()
    curves: dict[int, Floats] = {}
    fixed: dict[int, Floats] = {}
    facilities = {request.facility for request in net.sync}
    for k in facilities:
        fixed[k] = visits[:, k] * state.facility[:, k]
    own_demand = demand.copy()
    engines = _engines(net, state, own_demand)
    for k, (alone, curve) in engines.items():
        demand[:, k] += alone
        curves[k] = curve
    for k, station in enumerate(stations):
        if k in facilities or station.scheduling == "delay":
            continue
        if net.equal_fcfs[k] and station.scheduling == "fcfs" and not np.any(state.hold[:, k]):
            codes[k] = SHARING
        elif station.smt and not net.equal_fcfs[k]:
            codes[k] = FCFS
        work, _ = net.curves[k]
        if k in engines:
            continue
        if not net.plain[k]:
            curves[k] = work
        if station.lpar is not None:
            curves[k] = _lpar_capacity(net, state, k, work)
        rate = float(state.throughput @ visits[:, k])
        load = float(state.throughput @ demand[:, k])
        # Threads of a core in SMT take work before any of it waits.
        limit = len(work) + station.overflow.waiting if station.overflow else station.capacity
        if rate > 0 and limit is not None and (station.overflow or station.when_full == "reject"):
            full = mmck(rate, load / rate, len(work), limit, work.tolist())
            if station.overflow:
                to = net.network.station_names.index(station.overflow.to)
                moved = full.loss_probability
                shift = moved * net.demand[:, k] * pace[to]
                demand[:, to] += shift
                own_demand[:, to] += shift
                visits[:, to] += moved * visits[:, k]
                demand[:, k] *= 1 - moved
                own_demand[:, k] *= 1 - moved
                visits[:, k] *= 1 - moved
            else:
                lost += visits[:, k] * full.loss_probability
            fixed[k] = np.where(demand[:, k] > 0, visits[:, k] * full.response, 0.0)
    for k, residence in fixed.items():
        demand[:, k] = residence
        codes[k], servers[k] = DELAY, -1
        curves.pop(k, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        service = np.where(visits > 0, demand / visits, 0.0)
    # Time in a facility while the engine is held is already part of the engine's own residence.
    held = state.hold.sum(axis=1)
    extra = net.think + state.wait.sum(axis=1) - state.saving - held
    result = amva(
        net.users,
        demand.T,
        servers,
        extra,
        rates=net.rates,
        discipline=codes,
        service=service.T,
        scv=_variation(net, state, service).T,
        priority=net.priority,
        weights=net.weight,
        load_dependent=curves,
    )
    state.residence = result.residence.T - state.hold
    accepted = np.clip(1 - lost, 0.0, 1.0)
    state.throughput = result.throughput * accepted
    if not result.converged:
        over = [
            k
            for k in range(len(stations))
            if codes[k] != DELAY and float(net.rates.clip(0) @ demand[:, k]) >= _ceiling(curves, servers, k)
        ]
        for k in over:
            state.residence[demand[:, k] > 0, k] = np.inf
        state.residence[state.residence > DIVERGED * demand.sum(axis=1, keepdims=True)] = np.inf
    _synchronous(net, state, own_demand, engines, result.queue_length.sum(axis=1))
    work = own_demand.copy()
    own_demand += state.hold
    for k in range(len(stations)):
        state.busy[:, k] = state.throughput * own_demand[:, k]
        if k in facilities:
            state.busy[:, k] = state.throughput * net.demand[:, k] * pace[k]
        capacity, used = net.curves[k]
        if codes[k] != DELAY and not net.plain[k]:
            total = state.busy[:, k].sum()
            if total > 0:
                state.busy[:, k] *= busy_at_queue_length(float(result.queue_length[k].sum()), capacity, used) / total
    state.using = in_service(net, state.throughput, work, state.busy)


def _ceiling(curves: dict[int, Floats], servers: Ints, k: int) -> float:
    return float(curves[k][-1]) if k in curves else float(servers[k])


def _lpar_capacity(net: Reduced, state: _State, k: int, work: Floats) -> Floats:
    """Engines an LPAR pool can get: its share, or what the others leave, within its cap and its own engines."""
    station = net.network.stations[k]
    lpar = station.lpar
    assert lpar is not None
    engines = next(c.engines for c in net.network.cecs if c.name == lpar.cec)
    peers = [j for j, s in enumerate(net.network.stations) if s.lpar is not None and s.lpar.cec == lpar.cec]
    weights = {j: float(net.network.stations[j].lpar.weight) for j in peers}  # type: ignore[union-attr]
    share = engines * lpar.weight / sum(weights.values())
    others = sum(float(state.busy[:, j].sum()) for j in peers if j != k)
    got = max(share, engines - others)
    if lpar.cap == "share":
        got = min(got, share)
    elif lpar.cap != "none":
        got = min(got, float(lpar.cap))
    got = min(got, float(station.servers), float(engines))
    n = np.minimum(np.arange(1, int(np.ceil(got)) + 1, dtype=float), got)
    if lpar.low_cost > 1:
        n = np.minimum(n, share) + np.maximum(n - share, 0.0) / lpar.low_cost
    return n * (work[0] if len(work) else 1.0)


def _issued(net: Reduced, state: _State) -> Floats:
    """(classes, stations) work that requests which go asynchronously add to their engines."""
    out = np.zeros_like(net.demand)
    for request in net.sync:
        if _goes_async(state, request):
            out[request.row, request.engine] += request.flow * request.async_issue_s * net.pace[request.engine]
    return out


def _engines(net: Reduced, state: _State, own: Floats) -> dict[int, tuple[Floats, Floats]]:
    """Engines that synchronous requests hold: facility work (classes,) without queueing, and capacity by customers.

    With n engines busy, each alternates between its own work and the facilities: a closed network of n customers, whose
    throughput over that of one is the capacity.
    """
    out: dict[int, tuple[Floats, Floats]] = {}
    for k in sorted({request.engine for request in net.sync}):
        here = [r for r in net.sync if r.engine == k and not _goes_async(state, r)]
        alone = np.zeros(len(net.rates))
        facilities = sorted({r.facility for r in here})
        total = float(state.throughput.sum())
        work = np.zeros(len(facilities))
        for request in here:
            alone[request.row] += request.flow * request.service_s
            work[facilities.index(request.facility)] += state.throughput[request.row] * request.flow * request.service_s
        mean = np.append(float(state.throughput @ own[:, k]), work) / max(total, 1e-300)
        servers = [-1]
        for i, f in enumerate(facilities):
            station = net.network.stations[f]
            delay = station.scheduling == "delay"
            servers.append(-1 if delay else station.servers)
            # What others send to the facility slows it down for this engine.
            others = float(state.throughput @ net.demand[:, f]) - work[i]
            if not delay:
                mean[i + 1] /= max(1 - max(others, 0.0) / station.servers, 0.02)
        engines = net.network.stations[k].servers
        if mean.sum() > 0 and here:
            inner = Convolution([engines], mean[:, None], servers).throughput_by_population()
            out[k] = (alone, inner * (float(mean[0]) + float(work.sum()) / max(total, 1e-300)))
        else:
            out[k] = (alone, np.arange(1.0, engines + 1))
    return out


def _variation(net: Reduced, state: _State, service: Floats) -> Floats:
    """(classes, stations) squared variation of a visit, the time an engine is held for a facility included."""
    out = np.nan_to_num(net.scv, nan=1.0)
    if not net.sync:
        return out
    square = np.nan_to_num(net.service) ** 2 * (1 + out) * net.visits
    for request in net.sync:
        if not _goes_async(state, request):
            held = request.service_s
            square[request.row, request.engine] += request.flow * 2 * (request.issue_s * held + held**2)
    for k in {request.engine for request in net.sync}:
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, k] = np.where(net.visits[:, k] > 0, square[:, k] / (net.visits[:, k] * service[:, k] ** 2) - 1, 1.0)
    return np.clip(np.nan_to_num(out, nan=1.0), 0.0, None)


def _goes_async(state: _State, request: SyncRequest) -> bool:
    return bool(state.facility[request.row, request.facility] > request.threshold_s)


def _synchronous(
    net: Reduced, state: _State, own: Floats, engines: dict[int, tuple[Floats, Floats]], queue: Floats
) -> None:
    """Residence at facilities and the time their synchronous requests hold engines, at the present throughput."""
    if not net.sync:
        return
    stations = net.network.stations
    hold = np.zeros_like(state.hold)
    held_by: dict[int, float] = {}
    for k, (alone, curve) in engines.items():
        load = float(state.throughput @ (own[:, k] + alone))
        busy = busy_at_queue_length(float(queue[k]), curve, np.arange(1.0, len(curve) + 1))
        facility_work = sum(
            state.throughput[r.row] * r.flow * r.service_s
            for r in net.sync
            if r.engine == k and not _goes_async(state, r)
        )
        own_work = load - facility_work
        held_by[k] = max((busy - own_work) / facility_work, 1.0) if facility_work > 0 else 1.0
    facility = state.facility.copy()
    for k in sorted({request.facility for request in net.sync}):
        station = stations[k]
        rate = float(state.throughput @ net.visits[:, k])
        if rate <= 0:
            continue
        service = float(state.throughput @ net.demand[:, k]) / rate
        queued = mmc_response(rate, service, -1 if station.scheduling == "delay" else station.servers) - service
        here = [r for r in net.sync if r.facility == k]
        sync_rate = sum(state.throughput[r.row] * r.flow for r in here if not _goes_async(state, r))
        stretched = max((held_by[r.engine] for r in here), default=1.0)
        share = min(sync_rate / rate, 1.0)
        wait = share * (stretched - 1) * service + (1 - share) * min(queued, 1e9)
        facility[:, k] = np.nan_to_num(net.service[:, k]) + wait
    for request in net.sync:
        if not _goes_async(state, request):
            hold[request.row, request.engine] += request.flow * facility[request.row, request.facility]
    state.facility += 0.5 * (facility - state.facility)
    state.hold += 0.5 * (hold - state.hold)


def _resources(net: Reduced, state: _State, damping: float) -> None:
    """Wait for each passive resource: a queue with a server per unit whose service is the time it is held."""
    resources = net.network.resources
    if not resources:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.where(net.demand > 0, state.residence / net.demand, 0.0)
    stretch = np.nan_to_num(stretch, posinf=1e9)
    total = np.nan_to_num(state.residence, posinf=1e9).sum(axis=1) + state.wait.sum(axis=1) - state.saving
    for rho, resource in enumerate(resources):
        units = net.largest[rho]
        taken = net.acquires[:, rho] / units
        hold = (net.inside[:, rho, :] * stretch).sum(axis=1)
        for sigma in range(len(resources)):
            acquired = net.acquires[:, sigma]
            per_unit = np.divide(state.wait[:, sigma], acquired, out=np.zeros_like(acquired), where=acquired > 0)
            hold += net.nested[:, rho, sigma] * per_unit
        state.held[:, rho] = state.throughput * hold * units
        servers = int(resource.capacity // units)
        users = net.users * (taken > 0)
        if np.all(taken == 0):
            continue
        if users.sum() <= servers and resource.instances == 1 and not np.any((net.rates > 0) & (taken > 0)):
            new = np.zeros(len(hold))
        else:
            new = _resource_wait(net, resource.instances, servers, hold, taken, total, state, rho)
        state.wait[:, rho] += damping * (new - state.wait[:, rho])


def _resource_wait(
    net: Reduced, instances: int, servers: int, hold: Floats, taken: Floats, total: Floats, state: _State, rho: int
) -> Floats:
    """(classes,) wait per transaction for one resource."""
    copies = min(instances, 8)
    if instances > copies:
        rate = float(state.throughput @ taken)
        mean = float(state.throughput @ hold) / rate if rate > 0 else 0.0
        return taken * max(mmc_response(rate / instances, mean, servers) - mean, 0.0)
    outside = np.maximum(net.think + total - hold - state.wait[:, rho], 0.0)
    code = HEAD_OF_LINE if net.network.resources[rho].scheduling == "hol" else FCFS
    with np.errstate(invalid="ignore", divide="ignore"):
        service = np.where(taken > 0, hold / taken, 0.0)
    variation = holding_variation(net, rho, state.residence)
    result = amva(
        net.users * (taken > 0),
        np.tile(hold / copies, (copies, 1)),
        np.full(copies, servers),
        outside,
        rates=np.where(net.rates >= 0, net.rates * (taken > 0), net.rates),
        discipline=np.full(copies, code),
        service=np.tile(service, (copies, 1)),
        scv=np.tile(variation, (copies, 1)),
        priority=net.priority,
    )
    wait = result.residence.sum(axis=0) - hold
    load = float(net.rates.clip(0) @ hold) / instances
    if load >= servers:
        wait = np.where(taken > 0, 1e9, 0.0)
    return np.maximum(wait, 0.0)


def holding_variation(net: Reduced, rho: int, residence: Floats) -> Floats:
    """(classes,) squared variation of the time a resource is held: a sum of exponential visits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where(net.demand > 0, residence * net.inside[:, rho, :] / net.demand, 0.0)
        visits = np.where(net.service > 0, net.inside[:, rho, :] / net.service, 0.0)
        taken = net.acquires[:, rho] / net.largest[rho]
        each = np.where(visits > 0, times**2 / np.maximum(visits, 1e-300), 0.0)
        total = times.sum(axis=1)
        out = np.where(total > 0, each.sum(axis=1) * taken / total**2, 1.0)
    return np.clip(np.nan_to_num(out, nan=1.0), 0.05, 2.0)


def _forks(net: Reduced, state: _State, damping: float) -> None:
    """Residence saved because branches run at the same time."""
    if not net.forks:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.where(net.demand > 0, state.residence / net.demand, 0.0)
    stretch = np.nan_to_num(stretch, posinf=1e9)
    saving = np.zeros(len(state.saving))
    queueing = [k for k, s in enumerate(net.network.stations) if s.scheduling != "delay"]
    for fork in net.forks:
        times = (fork.work * stretch[fork.row]).sum(axis=1)
        times = times[times > 0]
        if len(times) < 2:
            continue
        used = [k for k in queueing if fork.work[:, k].any()]
        load = max((float(state.busy[:, k].sum()) / net.network.stations[k].servers for k in used), default=0.0)
        longest = float(times.max())
        harmonic = sum(1 / i for i in range(1, len(times) + 1))
        share = (nelson_tantawi(len(times), min(load, 1.0)) - 1) / (harmonic - 1)
        together = longest + share * (_largest(times) - longest)
        saving[fork.row] += fork.flow * (float(times.sum()) - together)
    state.saving += damping * (saving - state.saving)


def _largest(times: Floats) -> float:
    """Mean of the largest of independent exponential times; the harmonic form beyond a dozen."""
    if len(times) <= 12:
        return largest_of_independent(1 / times)
    return float(times.mean()) * sum(1 / i for i in range(1, len(times) + 1))
