"""Stations in one round, given waits for resources and what requests to facilities do to their engines."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from model.network.solvers.amva import AmvaResult, amva
from model.network.solvers.arrays import CODES, DELAY, FCFS, RANKED, SHARING, Floats, Ints
from model.network.solvers.layers.facilities import (
    asynchronous_issue,
    engines_held,
    hold_engines,
    slowed_by_facilities,
    visit_variation,
)
from model.network.solvers.layers.state import LayerState
from model.network.solvers.load_dependent import open_load_dependent
from model.network.solvers.reduction import Reduced, in_service
from model.network.solvers.stations import StationResult, mmck

DIVERGED = 1e5
LEAST_MADE, MOST_LOST = 1e-9, 1 - 1e-12
"""Part of the visits to a station that is taken to be made at least, and to be turned away at most."""


@dataclass
class _Asked:
    """What the stations are asked for in this round; (classes, stations) arrays.

    ``demand`` contains the time in facilities and residences that are known (``fixed``); ``own`` does not. ``curves``
    are capacities by customers, ``kept`` (classes, stations) the chance of not being turned away there, ``done`` the
    part of the visits to it that are made, ``cost`` (stations,) what a second of work takes of engines where ``own``
    contains that.
    """

    visits: Floats
    demand: Floats
    own: Floats
    codes: Ints
    servers: Ints
    kept: Floats
    done: Floats
    cost: Floats
    curves: dict[int, Floats] = field(default_factory=dict)
    fixed: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, net: Reduced, state: LayerState) -> _Asked:
        demand = net.demand * net.pace + asynchronous_issue(net, state)
        work = demand + state.blocked
        codes = np.array([CODES[s.scheduling] for s in net.network.stations])
        kept, done = np.ones_like(work), np.ones_like(work)
        return cls(net.visits.copy(), work, demand, codes, net.servers.copy(), kept, done, np.ones(len(codes)))

    def pay_for_busy(self, net: Reduced, state: LayerState) -> None:
        """Adds what busy engines cost, where what a class or facility sees of them does not tell how busy they are."""
        calling = {request.engine for request in net.sync}
        for k, station in enumerate(net.network.stations):
            ranked = station.scheduling in RANKED
            if station.cost_by_busy and station.smt is None and (ranked or k in calling):
                load = float(state.throughput @ (self.own[:, k] + state.hold[:, k]))
                self.cost[k] = _mean_cost(load, *net.curves[k])
                self.own[:, k] *= self.cost[k]
                self.demand[:, k] *= self.cost[k]

    def leave_out_lost(self, net: Reduced, state: LayerState) -> Floats:
        """(classes, stations) part of the visits that is made, as some are turned away; what is asked for becomes
        that much less."""
        state.reached = np.ones_like(self.kept)
        for r, order in enumerate(net.order):
            state.reached[r, order] = np.concatenate(([1.0], np.cumprod(self.kept[r, order])))[:-1]
        made = np.maximum(state.reached * self.done, LEAST_MADE)
        for asked in (self.visits, self.demand, self.own):
            asked *= made
        return made

    def ceiling(self, k: int) -> float:
        """Most work that a station does at a time."""
        return float(self.curves[k][-1]) if k in self.curves else float(self.servers[k])


def solve_stations(net: Reduced, state: LayerState) -> None:
    """Residence, throughput and use of the stations, and the time for which requests hold engines."""
    asked = _Asked.of(net, state)
    facilities = {request.facility for request in net.sync}
    for k in facilities:
        asked.fixed[k] = asked.visits[:, k] * state.facility[:, k]
    asked.pay_for_busy(net, state)
    calling = {request.engine for request in net.sync}
    engines = engines_held(net, state, asked.own, {k: _capacity(net, state, asked, k) for k in calling})
    for k, held in engines.items():
        asked.demand[:, k] += held.alone
        asked.curves[k] = held.curve
    for k, station in enumerate(net.network.stations):
        if k in facilities or station.scheduling == "delay":
            continue
        if net.equal_fcfs[k] and station.scheduling == "fcfs" and not np.any(state.hold[:, k]):
            asked.codes[k] = SHARING
        elif station.smt and not net.equal_fcfs[k]:
            asked.codes[k] = FCFS
        if k not in engines:
            if station.lpar is not None or not net.plain[k]:
                asked.curves[k] = _capacity(net, state, asked, k)
            _turn_away(net, state, asked, k)
    for k, residence in asked.fixed.items():
        asked.demand[:, k] = residence
        asked.codes[k], asked.servers[k] = DELAY, -1
        asked.curves.pop(k, None)
    made = asked.leave_out_lost(net, state)
    result = _mean_values(net, state, asked, state.hindered)
    queued = np.maximum(result.residence.T + state.uneven, asked.demand)
    # A request is waited for on its engine, however short the queue there is said to be.
    denied = np.maximum(asked.own + state.hold - queued, 0.0)
    state.denied = denied.sum(axis=1)
    residence = (queued + denied) / made
    state.residence, state.unlimited = residence - state.hold - state.waited_before, residence
    state.alike = (asked.codes == SHARING) | (asked.codes == DELAY)
    if np.any(state.hindered[:, ~state.alike] < 1):
        state.unlimited = _mean_values(net, state, asked, np.ones_like(state.hindered)).residence.T / made
    state.unlimited = np.minimum(state.unlimited, DIVERGED * asked.demand / made)
    state.tried, state.throughput = result.throughput, result.throughput * asked.kept.prod(axis=1)
    if not result.converged:
        _mark_saturated(net, state, asked)
    state.asked, state.visits = asked.demand, asked.visits
    state.curves = {
        k: asked.curves.get(k, np.arange(1.0, asked.servers[k] + 1))
        for k, code in enumerate(asked.codes)
        if code != DELAY
    }
    hold_engines(net, state, asked.own, engines, result.queue_length.sum(axis=1))
    _set_use(net, state, asked, facilities, made)


def _capacity(net: Reduced, state: LayerState, asked: _Asked, k: int) -> Floats:
    """Work that a station does by customers."""
    work, used = net.curves[k]
    if asked.cost[k] != 1:
        work = used
    return _lpar_capacity(net, state, k, work) if net.network.stations[k].lpar is not None else work


def _mean_cost(load: float, work: Floats, used: Floats) -> float:
    """Engine seconds of a second of work, where ``load`` seconds of it come a second."""
    load = min(load, float(work[-1]) * (1 - 1e-9))
    return open_load_dependent(load, work, used).busy / load if load > 0 else 1.0


def _turn_away(net: Reduced, state: LayerState, asked: _Asked, k: int) -> None:
    """Where a station is full, send its work to another station, or lose it."""
    station = net.network.stations[k]
    work, _ = net.curves[k]
    # Threads of a core in SMT take work before any of it waits.
    limit = len(work) + station.overflow.waiting if station.overflow else station.capacity
    if limit is None or not (station.overflow or station.when_full == "reject"):
        return
    # Who comes back at once finds the place that it has just left.
    visits = asked.visits[:, k] if station.overflow else asked.visits[:, k] - net.at_once[:, k]
    tried = (state.throughput if station.overflow else state.tried * state.reached[:, k]) * (visits > 0)
    each = np.divide(asked.demand[:, k], visits, out=np.zeros_like(visits), where=visits > 0)
    if not float(tried * visits @ each) > 0:
        return
    full = _full(tried, visits, each, limit, work, goes_on=station.overflow is not None)
    lost = min(full.loss_probability, MOST_LOST)
    attempts = _attempts(visits, 0.0 if station.overflow else lost)
    if station.overflow:
        to, moved = net.network.station_names.index(station.overflow.to), lost
        shift = moved * net.demand[:, k] * net.pace[to] * asked.cost[to]
        for work_of in (asked.demand, asked.own):
            work_of[:, to] += shift
            work_of[:, k] *= 1 - moved
        asked.visits[:, to] += moved * asked.visits[:, k]
        asked.visits[:, k] *= 1 - moved
    else:
        asked.kept[:, k] = np.where(visits > 1, (1 - lost) ** visits, 1 - visits * lost)
        asked.done[:, k] = np.divide(attempts * (1 - lost), visits, out=np.ones_like(visits), where=visits > 0)
    # Those who share stretch each other's visits in proportion; those who wait in order wait alike.
    wait = full.wait if station.smt or station.scheduling != "ps" else 0.0
    stretch = (full.response - wait) * float(tried @ attempts) / float(tried * attempts @ each)
    entries = asked.visits[:, k] if station.overflow else visits
    asked.fixed[k] = np.where(asked.demand[:, k] > 0, entries * wait + asked.demand[:, k] * stretch, 0.0)


def _attempts(visits: Floats, lost: float) -> Floats:
    """(classes,) visits that are tried where each may be the last, as it is turned away with the chance ``lost``."""
    return np.where(visits > 1, -np.expm1(visits * np.log1p(-lost)) / lost, visits) if lost > 0 else visits


def _full(tried: Floats, visits: Floats, each: Floats, limit: int, work: Floats, goes_on: bool) -> StationResult:
    """A station with at most ``limit`` inside, to which ``tried`` (classes,) transactions a second come ``visits``
    times for ``each`` seconds, as long as they are not turned away, or all the same (``goes_on``)."""
    low, high = 0.0, 1.0
    while True:
        lost = (low + high) / 2
        attempts = tried * _attempts(visits, 0.0 if goes_on else lost)
        full = mmck(float(attempts.sum()), float(attempts @ each / attempts.sum()), len(work), limit, work.tolist())
        if goes_on or np.all(visits <= 1) or high - low < LEAST_MADE:
            return full
        low, high = (lost, high) if full.loss_probability > lost else (low, lost)


def _mean_values(net: Reduced, state: LayerState, asked: _Asked, hindered: Floats) -> AmvaResult:
    with np.errstate(invalid="ignore", divide="ignore"):
        service = np.where(asked.visits > 0, asked.demand / asked.visits, 0.0)
    slowed = slowed_by_facilities(net, state, asked.demand)
    first = net.visits - net.at_once
    for request in net.sync:
        # What goes on on an engine that is held is one visit.
        first[request.row, request.engine] = net.visits[request.row, request.engine]
    in_a_row = np.divide(net.visits, first, out=np.ones_like(first), where=first > 0)
    there = (state.residence + state.hold + state.waited_before).sum(axis=1)
    # Time in a facility while the engine is held is part of the engine's own residence too.
    twice = state.saving + state.hold.sum(axis=1) + state.blocked.sum(axis=1)
    side_by_side = np.divide(twice, there, out=np.zeros_like(there), where=twice > 0)
    return amva(
        net.users,
        asked.demand.T,
        asked.servers,
        net.think + state.wait.sum(axis=1) + state.uneven.sum(axis=1),
        in_turn=1 - side_by_side,
        rates=net.rates,
        discipline=asked.codes,
        service=service.T,
        scv=visit_variation(net, state, service).T,
        priority=net.priority,
        weights=net.weight,
        slowed=slowed.T,
        hindered=hindered.T,
        in_a_row=in_a_row.T,
        share=net.returns.share,
        between=net.returns.between,
        most_above=net.most_above,
        load_dependent=asked.curves,
    )


def _mark_saturated(net: Reduced, state: LayerState, asked: _Asked) -> None:
    """Residence at stations that cannot do the work of the open classes is infinite."""
    for k, code in enumerate(asked.codes):
        if code != DELAY and float(net.rates.clip(0) @ asked.demand[:, k]) >= asked.ceiling(k):
            state.residence[asked.demand[:, k] > 0, k] = np.inf
    state.residence[state.residence > DIVERGED * asked.demand.sum(axis=1, keepdims=True)] = np.inf


def _set_use(net: Reduced, state: LayerState, asked: _Asked, facilities: set[int], made: Floats) -> None:
    """Time for which stations are busy and in use, from the work that stayed with them."""
    state.busy = state.tried[:, None] * (asked.own + state.hold)
    for k in facilities:
        state.busy[:, k] = state.throughput * net.demand[:, k] * net.pace[k]
    for k, code in enumerate(asked.codes):
        total = state.busy[:, k].sum()
        if code != DELAY and not net.plain[k] and asked.cost[k] == 1 and total > 0:
            state.busy[:, k] *= _mean_cost(total, *net.curves[k])
    state.using = in_service(net, state.throughput, asked.own / made / asked.cost, state.busy)


def _lpar_capacity(net: Reduced, state: LayerState, k: int, work: Floats) -> Floats:
    """Engines an LPAR pool can get: its share, or what the others leave, within its cap and its own engines."""
    station = net.network.stations[k]
    lpar = station.lpar
    assert lpar is not None
    engines = next(c.engines for c in net.network.cecs if c.name == lpar.cec)
    peers = [j for j, s in enumerate(net.network.stations) if s.lpar is not None and s.lpar.cec == lpar.cec]
    weights = {j: float(net.network.stations[j].lpar.weight) for j in peers}  # type: ignore[union-attr]
    share = engines * lpar.weight / sum(weights.values())
    others = sum(float(state.busy[:, j].sum() + net.occupied[j]) for j in peers if j != k)
    got = max(share, engines - others)
    if lpar.cap == "share":
        got = min(got, share)
    elif lpar.cap != "none":
        got = min(got, float(lpar.cap))
    got = min(got, float(station.servers), float(engines))
    n = np.minimum(np.arange(1, int(np.ceil(got)) + 1, dtype=float), got)
    dearer = n / np.interp(n, np.arange(len(work) + 1), np.concatenate(([0.0], work)))
    if lpar.low_cost > 1:
        n = np.minimum(n, share) + np.maximum(n - share, 0.0) / lpar.low_cost
    return np.asarray(n / dearer)
