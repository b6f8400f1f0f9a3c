"""Engines that synchronous requests to coupling facilities hold while they are served."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.solvers.arrays import Floats
from model.network.solvers.convolution import Convolution
from model.network.solvers.layers.state import LayerState
from model.network.solvers.load_dependent import busy_at_queue_length
from model.network.solvers.reduction import Reduced, SyncRequest
from model.network.solvers.stations import mmc_response


class Held(NamedTuple):
    """Engines that requests hold: facility work (classes,) without queueing, and by customers what the engines do and
    how many of the engines wait for facilities."""

    alone: Floats
    curve: Floats
    waiting: Floats


def goes_async(state: LayerState, request: SyncRequest) -> bool:
    return bool(state.facility[request.row, request.facility] > request.threshold_s)


def asynchronous_issue(net: Reduced, state: LayerState) -> Floats:
    """(classes, stations) work that requests which go asynchronously add to their engines."""
    out = np.zeros_like(net.demand)
    for request in net.sync:
        if goes_async(state, request):
            out[request.row, request.engine] += request.flow * request.async_issue_s * net.pace[request.engine]
    return out


def engines_held(net: Reduced, state: LayerState, own: Floats, alone_done: dict[int, Floats]) -> dict[int, Held]:
    """What engines do, and how many are held, where synchronous requests hold them.

    ``alone_done[k]`` is what engine pool k would do by customers without requests. With n engines busy, each
    alternates between its own work and the facilities: a closed network of n customers, whose throughput over that of
    one is the capacity. Where engines are shared with other LPARs both take longer, else only the work.
    """
    out: dict[int, Held] = {}
    for k in sorted({request.engine for request in net.sync}):
        here = [r for r in net.sync if r.engine == k and not goes_async(state, r)]
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
        done = alone_done[k]
        n = np.arange(1.0, len(done) + 1)
        if not (mean.sum() > 0 and here):
            out[k] = Held(alone, done, np.zeros_like(done))
            continue
        slower = n / done
        stretched = np.ones_like(n) if net.network.stations[k].lpar else slower
        inner = np.empty_like(n)
        for pace in np.unique(stretched):
            each = np.append(mean[0] * pace, mean[1:])
            found = Convolution([len(n)], each[:, None], servers).throughput_by_population()
            inner[stretched == pace] = found[stretched == pace]
        rate = inner * stretched / slower
        out[k] = Held(
            alone,
            rate * (float(mean[0]) + float(work.sum()) / max(total, 1e-300)),
            rate * (n / inner - mean[0] * stretched),
        )
    return out


def visit_variation(net: Reduced, state: LayerState, service: Floats) -> Floats:
    """(classes, stations) squared variation of a visit, the time an engine is held for a facility included."""
    out = np.nan_to_num(net.scv, nan=1.0)
    if not net.sync:
        return out
    square = np.nan_to_num(net.service) ** 2 * (1 + out) * net.visits
    for request in net.sync:
        if not goes_async(state, request):
            held = request.service_s
            square[request.row, request.engine] += request.flow * 2 * (request.beside_s * held + held**2)
    for k in {request.engine for request in net.sync}:
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, k] = np.where(net.visits[:, k] > 0, square[:, k] / (net.visits[:, k] * service[:, k] ** 2) - 1, 1.0)
    return np.clip(np.nan_to_num(out, nan=1.0), 0.0, None)


def slowed_by_facilities(net: Reduced, state: LayerState, demand: Floats) -> Floats:
    """(classes, stations) how much of the waiting for facilities falls on a visit, relative to all work there."""
    waited = np.zeros_like(demand)
    for request in net.sync:
        if not goes_async(state, request):
            f = request.facility
            each = request.service_s
            if net.network.stations[f].scheduling == "fcfs":
                each = float(state.throughput @ net.demand[:, f]) / max(
                    float(state.throughput @ net.visits[:, f]), 1e-300
                )
            waited[request.row, request.engine] += request.flow * each
    out = np.ones_like(demand)
    for k in np.flatnonzero(state.throughput @ waited > 0):
        part = np.divide(waited[:, k], demand[:, k], out=np.zeros(len(demand)), where=demand[:, k] > 0)
        out[:, k] = part * float(state.throughput @ demand[:, k]) / float(state.throughput @ waited[:, k])
    return out


def hold_engines(net: Reduced, state: LayerState, own: Floats, engines: dict[int, Held], queue: Floats) -> None:
    """Residence at facilities and the time their synchronous requests hold engines, at the present throughput."""
    if not net.sync:
        return
    stations = net.network.stations
    hold = np.zeros_like(state.hold)
    held_by: dict[int, float] = {}
    for k, held in engines.items():
        load = float(state.throughput @ (own[:, k] + held.alone))
        facility_work = float(state.throughput @ held.alone)
        matching, waiting = busy_at_queue_length(float(queue[k]), held.curve, held.waiting)
        worked = matching * facility_work
        held_by[k] = max(waiting * load / worked, 1.0) if worked > 0 else 1.0
    facility = state.facility.copy()
    for k in sorted({request.facility for request in net.sync}):
        station = stations[k]
        rate = float(state.throughput @ net.visits[:, k])
        if rate <= 0:
            continue
        service = float(state.throughput @ net.demand[:, k]) / rate
        queued = mmc_response(rate, service, -1 if station.scheduling == "delay" else station.servers) - service
        here = [r for r in net.sync if r.facility == k]
        sync_rate = sum(state.throughput[r.row] * r.flow for r in here if not goes_async(state, r))
        stretched = max((held_by[r.engine] for r in here), default=1.0)
        share = min(sync_rate / rate, 1.0)
        wait = share * (stretched - 1) * service + (1 - share) * min(queued, 1e9)
        facility[:, k] = np.nan_to_num(net.service[:, k]) + wait
    for request in net.sync:
        if not goes_async(state, request):
            hold[request.row, request.engine] += request.flow * facility[request.row, request.facility]
    state.facility += 0.5 * (facility - state.facility)
    state.hold += 0.5 * (hold - state.hold)
