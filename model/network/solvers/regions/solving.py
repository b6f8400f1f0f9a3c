"""The whole network around its limits: stations outside, and what arrivals find at each limit, until both agree."""

from __future__ import annotations

import numpy as np

from model.network.solvers.amva import AmvaResult, amva
from model.network.solvers.arrays import CODES, DELAY, FCFS, SHARING
from model.network.solvers.exact_network import Figures, engines_at_work
from model.network.solvers.reduction import Floats, Reduced, in_service, unhindered
from model.network.solvers.regions.arriving import met
from model.network.solvers.regions.inside import by_population, left_over, through
from model.network.solvers.regions.parts import Limited, limited_parts

ROUNDS = 100
LARGEST = 1_000
"""Of the transactions inside a limit."""
BEYOND = 64
"""Customers more than engines after which a station shared with the inside of a limit gets no faster."""


def regions(net: Reduced) -> Figures | None:
    """Figures of a network whose limits are inside one another or apart, None where that is not what it has."""
    outermost = limited_parts(net)
    if outermost is None:
        return None
    classes, stations = net.demand.shape
    work = net.demand * net.pace
    inside_all = sum(net.inside[:, part.rho] for part in outermost) * net.pace
    outside = np.maximum(work - inside_all, 0.0)
    ceiling = np.array([np.inf if d else curve[-1] for d, (curve, _) in zip(net.delay, net.curves, strict=True)])
    most = [_most_inside(net, part, ceiling) for part in outermost]
    if max(most) > LARGEST:
        return None
    flow = unhindered(net)
    wait, inside = np.zeros_like(net.acquires), np.zeros((classes, stations))
    spent = {part.rho: net.inside[:, part.rho] @ net.pace for part in outermost}
    for turn in range(ROUNDS):
        before = flow
        result = _around(net, outside, flow @ (work - outside), wait.sum(axis=1) + inside.sum(axis=1))
        if not result.converged:
            return None
        damping = 1.0 if turn < 3 else 0.5 if turn < 40 else 0.2
        flow = flow + damping * (result.throughput - flow)
        new_wait, new_held, new_inside = np.zeros_like(wait), np.zeros_like(wait), np.zeros_like(inside)
        for part, largest in zip(outermost, most, strict=True):
            found = by_population(net, part, largest, flow, flow @ work)
            elsewhere = net.think + result.residence.sum(axis=0) + sum(spent.values()) - spent[part.rho]
            arriving = found and met(net, part, found, flow, elsewhere)
            if not found or not arriving:
                return None
            new_wait[:, part.rho] += part.entries * arriving.wait
            new_inside += through(part, found, arriving.populations, new_wait, new_held)
            spent[part.rho] = new_held[:, part.rho] + new_wait[:, part.rho]
        wait = wait + damping * (new_wait - wait)
        inside = inside + damping * (new_inside - inside)
        if turn and np.allclose(flow, before, rtol=1e-7) and np.allclose(wait, new_wait, rtol=1e-5, atol=1e-9):
            stretch = np.divide(inside, inside_all, out=np.ones_like(inside), where=inside_all > 0)
            held = flow[:, None] * net.largest * np.where(new_held > 0, new_held, _holding(net, wait, stretch))
            units = np.array([resource.capacity * resource.instances for resource in net.network.resources])
            if np.any((held.sum(axis=0) > units) & ~np.any(new_held > 0, axis=0)):
                # A limit that was left out fills after all.
                return None
            return _figures(net, flow, result.residence.T + inside, wait, held)
    return None


def _most_inside(net: Reduced, part: Limited, ceiling: Floats) -> int:
    """As many as are ever inside: what the limit lets in, or fewer where that many never come."""
    takers = part.entries > 0
    rates, work = np.where(takers, net.rates.clip(0), 0.0), net.inside[:, part.rho] * net.pace
    most, coming = part.most * part.copies, int(net.users[takers].sum())
    if rates.any():
        offered = float((rates @ work).sum())
        busiest = float((net.rates.clip(0) @ net.demand * net.pace / ceiling).max())
        coming += int(offered + 10 * np.sqrt(offered) + np.log(1e-12) / np.log(min(max(busiest, 0.1), 0.9999)))
    return max(min(most, coming), 1)


def _around(net: Reduced, outside: Floats, load_inside: Floats, limited: Floats) -> AmvaResult:
    """The stations outside the limits, which do the work of ``load_inside`` (stations,) a second besides; a transaction
    is ``limited`` (classes,) seconds in limits and waiting for them."""
    codes = np.array([CODES[s.scheduling] for s in net.network.stations])
    codes = np.where(net.equal_fcfs & (codes == FCFS), SHARING, codes)
    codes[net.delay] = DELAY
    shared = [k for k in range(len(codes)) if not net.delay[k] and load_inside[k] > 0 and np.any(outside[:, k] > 0)]
    curves = {k: net.curves[k][0] for k in _special(net)}
    curves |= {k: left_over(net.curves[k][0], float(load_inside[k]), net.servers[k] + BEYOND) for k in shared}
    return amva(
        net.users,
        outside.T,
        net.servers,
        net.think + limited,
        rates=net.rates,
        discipline=codes,
        service=outside.T / np.maximum(net.visits.T, 1e-300),
        scv=np.nan_to_num(net.scv.T, nan=1.0),
        priority=net.priority,
        weights=net.weight,
        load_dependent=curves,
    )


def _special(net: Reduced) -> list[int]:
    return [k for k in range(len(net.curves)) if not net.delay[k] and not net.plain[k]]


def _holding(net: Reduced, wait: Floats, stretch: Floats) -> Floats:
    """(classes, resources) seconds that a limit which was left out is held, given waits and how much longer than its
    work a visit inside takes."""
    per_unit = np.divide(wait, net.acquires, out=np.zeros_like(wait), where=net.acquires > 0)
    time = np.einsum("crk,ck->cr", net.inside * net.pace, stretch) + np.einsum("crs,cs->cr", net.nested, per_unit)
    return np.asarray(time)


def _figures(net: Reduced, flow: Floats, residence: Floats, wait: Floats, held: Floats) -> Figures:
    work = net.demand * net.pace
    busy = engines_at_work(net, flow[:, None] * work, _special(net))
    using = in_service(net, flow, work, busy)
    return Figures(flow, residence, busy, using, wait, held, "flow-equivalent regions", np.zeros(len(flow)))
