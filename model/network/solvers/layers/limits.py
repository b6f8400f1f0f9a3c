"""Limits (MXT, class limits, TCBs, locks), one within another or apart, solved by how many are inside.

What goes on inside with 1, 2, ... there comes from :mod:`model.network.solvers.passive`, made to agree with what the
stations say of each class. A limit keeps those who wait for it away from the stations, so that a visit inside meets
fewer than there are on average.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from model.network.solvers.arrays import MOST_BUSY, RANKED
from model.network.solvers.interference import MOST_COUNTED
from model.network.solvers.layers.facilities import goes_async
from model.network.solvers.layers.state import LayerState
from model.network.solvers.load_dependent import open_load_dependent
from model.network.solvers.passive.arriving import met
from model.network.solvers.passive.inside import (
    Beside,
    ByPopulation,
    all_within,
    at_presence,
    by_population,
    through,
    times_inside,
)
from model.network.solvers.passive.parts import LARGEST, Limited, ever_inside, limited_parts
from model.network.solvers.reduction import Floats, Reduced

ENDLESS_S = 1e9
"""Wait for a limit that lets in less than comes."""
LEAST = 1e-9
"""Delay over work below which a visit is alone."""
CROWDED = 3
"""Of how many times as many as a limit lets in what gets done is worked out, where those inside wait less than a
mix."""
AMPLE = 0.1
"""Part of those who would be inside that a limit keeps out, below which it is nearly as if it were not there."""
AWAY = 1e-6
"""Least time that a user is taken to be elsewhere, in parts of its work at a station."""


def wait_at_limits(net: Reduced, state: LayerState, damping: float) -> set[int]:
    """Wait for the limits, how long they are held, and how much those at the stations delay each other inside.

    Gives the resources so solved: those that overlap, or let more than ``LARGEST`` in, are not.
    """
    solved: set[int] = set()
    asked = _as_asked(net, state)
    hindered = np.ones_like(state.hindered)
    for part in limited_parts(asked) or []:
        passed = _pass(asked, state, part)
        if passed is None:
            continue
        wait, held, stay = passed
        cut_off = max(_cut_off(asked, state, limit) for limit in (part, *all_within(part)))
        hindered += _less_hindered(asked, state, asked.inside[:, part.rho], stay, cut_off)
        for rho in (part.rho, *(limit.rho for limit in all_within(part))):
            state.wait[:, rho] += damping * (wait[:, rho] - state.wait[:, rho])
            state.held[:, rho] = state.throughput * held[:, rho] * net.largest[rho]
            solved.add(rho)
    state.hindered += damping * (hindered.clip(LEAST, 1) - state.hindered)
    return solved


def _as_asked(net: Reduced, state: LayerState) -> Reduced:
    """The network whose stations are those of this round: what they are asked for, and what they can do."""
    asked = state.asked.copy()
    for request in net.sync:
        if not goes_async(state, request):
            # The engine's time contains it.
            asked[request.row, request.facility] -= request.flow * state.facility[request.row, request.facility]
    asked = asked.clip(0)
    ratio = np.divide(asked, net.demand, out=np.zeros_like(asked), where=net.demand > 0)[:, None]
    stations = range(len(net.curves))
    return replace(
        net,
        demand=asked,
        inside=net.inside * ratio,
        inside_variance=net.inside_variance * ratio**2,
        pace=np.ones_like(net.pace),
        delay=np.array([k not in state.curves for k in stations]),
        curves=[(state.curves[k], state.curves[k]) if k in state.curves else net.curves[k] for k in stations],
    )


def _pass(net: Reduced, state: LayerState, part: Limited) -> tuple[Floats, Floats, Floats] | None:
    """Waits and holding (classes, resources) and residence inside (classes, stations), seconds a transaction; None
    where nobody comes, or more may be inside than can be followed."""
    flow = state.throughput
    most = min(part.most * part.copies, ever_inside(net, part))
    if most > LARGEST or not np.any(flow[part.entries > 0] > 0):
        return None
    beside = _beside(net, state, part)
    longer = _longer(net, state, part, most, beside.load)
    found = _inside(net, part, most, flow, beside, longer)
    if found is None:
        return None
    arriving = met(net, part, found, flow, _elsewhere(net, state, part), longer)
    full = np.zeros((len(flow), most))
    full[:, -1] = 1.0
    wait, held = np.zeros_like(net.acquires), np.zeros_like(net.acquires)
    stay = through(part, found, arriving.populations if arriving else full, wait, held, longer)
    wait[:, part.rho] = part.entries * (arriving.wait if arriving else ENDLESS_S)
    return wait, held, stay


def _beside(net: Reduced, state: LayerState, part: Limited) -> Beside:
    """What those inside share the stations with, their own work included: where stations serve by importance, of others
    only what goes before or beside them."""
    flow, inside = state.throughput, net.inside[:, part.rho]
    outside = (net.demand - inside).clip(0)
    counts = np.ones_like(outside)
    for k, station in enumerate(net.network.stations):
        own = flow * inside[:, k]
        if station.scheduling in RANKED and own.sum() > 0:
            counts[:, k] = np.array([own[net.priority <= level].sum() for level in net.priority]) / own.sum()
    is_user = ((net.users > 0) & (net.users <= MOST_COUNTED))[:, None] & (outside > LEAST * net.demand)
    # Those inside do not come from outside.
    many = (net.users - state.held[:, part.rho] / net.largest[part.rho]).clip(0)[:, None] * is_user * counts
    part_outside = np.divide(outside, net.demand, out=np.zeros_like(outside), where=is_user)
    there = part_outside * np.minimum(state.residence, ENDLESS_S)
    elsewhere = np.minimum(net.think + state.response(), ENDLESS_S)[:, None] - there
    often = np.divide(outside, np.maximum(elsewhere, AWAY * outside), out=np.zeros_like(outside), where=is_user)
    load_of_users = flow @ (outside * counts * is_user)
    return Beside(flow @ (inside + outside * counts), load_of_users, many, often)


def _inside(
    net: Reduced, part: Limited, most: int, flow: Floats, beside: Beside, longer: Floats
) -> ByPopulation | None:
    """What goes on with 1, 2, ... ``most`` in a limit, where classes spend ``longer`` (classes, stations) besides their
    work as their mix; None where nothing is done there."""
    entering = flow * part.entries

    def inside(found: ByPopulation) -> Floats:
        return np.asarray(found.rate * (entering / entering.sum() @ times_inside(part, found, longer)))

    first = by_population(net, part, most, flow, beside)
    if first is None:
        return None
    found, there = first, inside(first)
    if there[-1] < most:
        size = int(min(most**2 / there[-1] + 1, CROWDED * most, LARGEST))
        found = by_population(net, part, size, flow, beside) or first
        there = inside(found)
    return at_presence(found, there, most) if np.isfinite(there).all() else first


def _longer(net: Reduced, state: LayerState, part: Limited, most: int, loads: Floats) -> Floats:
    """(classes, stations) how much longer than its work a visit inside a limit is, over that of the mix.

    As without limits where few come to the limit; the more often it is full, the more a class's longer visits are
    others' shorter ones.
    """
    out = np.ones_like(net.demand)
    for k in np.flatnonzero((loads > 0) & ~state.alike):
        curve = net.curves[k][0]
        load = min(loads[k], MOST_BUSY * curve[-1])
        mix = open_load_dependent(load, curve).queue_length / load - 1
        if mix > LEAST:
            out[:, k] = _delay(state.unlimited[:, k], net.demand[:, k]) / mix
    work, out = state.throughput[:, None] * net.inside[:, part.rho], out.clip(0)
    mean = np.divide((work * out).sum(axis=0), work.sum(axis=0), out=np.ones(work.shape[1]), where=work.any(axis=0))
    there = float((work * (1 + _delay(state.unlimited, net.demand))).sum())
    # As if their number had the distribution of that at a queue with this mean.
    often_full = (there / (1 + there)) ** most
    return np.asarray(out / np.where(mean > 0, mean, 1.0) ** often_full)


def _elsewhere(net: Reduced, state: LayerState, part: Limited) -> Floats:
    """(classes,) seconds of a user's cycle neither in a limit nor waiting for it."""
    limits = [limit.rho for limit in (part, *all_within(part))]
    stretch = np.minimum(1 + _delay(state.residence + state.hold, net.demand), ENDLESS_S)
    spent = (net.inside[:, part.rho] * stretch).sum(axis=1) + state.wait[:, limits].sum(axis=1)
    return np.asarray(np.minimum(net.think + state.response(), ENDLESS_S) - spent).clip(0)


def _cut_off(net: Reduced, state: LayerState, part: Limited) -> float:
    """Part of those who would be inside that the limit keeps out, if their number had the distribution of that at a
    queue with this mean: nearly nothing where a limit is ample."""
    work = state.throughput[:, None] * net.inside[:, part.rho]
    there = float((work * (1 + _delay(state.unlimited, net.demand))).sum())
    if not there < ENDLESS_S:
        return 1.0
    most, busy = part.most * part.copies, there / (1 + there)
    return (most + 1) * busy**most * (1 - busy) / (1 - busy ** (most + 1))


def _less_hindered(net: Reduced, state: LayerState, inside: Floats, stay: Floats, cut_off: float) -> Floats:
    """(classes, stations) by how much of what those at the stations would delay a visit the limit makes it shorter,
    below zero; what is done outside the limit is delayed as ever. The less there is of ``cut_off`` below ``AMPLE``, the
    less of this counts."""
    delay = _delay(state.residence + state.hold, net.demand) / state.hindered
    # Stations that have no steady state stay so.
    waits = (net.demand > 0) & (delay > LEAST) & (delay < ENDLESS_S)
    share = np.divide(inside, net.demand, out=np.zeros_like(inside), where=waits)
    wanted = np.divide(_delay(stay, inside), delay, out=np.zeros_like(inside), where=delay > LEAST)
    return share * (wanted - 1) * min(cut_off / AMPLE, 1.0)


def _delay(time: Floats, work: Floats) -> Floats:
    """How much longer than its work a visit takes, in units of its work."""
    return np.divide(time, work, out=np.ones_like(work), where=work > 0) - 1
