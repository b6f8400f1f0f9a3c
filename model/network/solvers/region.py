"""One limit on how many transactions are inside part of a network (MXT, a class limit, a pool of regions).

The part inside is solved closed with 1, 2, ... limit transactions; its throughput makes one load-dependent station that
stands for it in the rest. Exact decomposition for one class whose inside has product form and whose arrivals see it
as that station; close elsewhere. Source: Courtois, *Decomposability*, 1977; Lazowska et al., *Quantitative System
Performance*, 1984, chapter 9.
"""

from __future__ import annotations

import numpy as np

from model.network.solvers.amva import DELAY, FCFS, SHARING, amva
from model.network.solvers.arrays import CODES, Ints
from model.network.solvers.convolution import Convolution, Floats
from model.network.solvers.exact_network import Figures
from model.network.solvers.layers.resources import holding_variation
from model.network.solvers.reduction import Reduced, in_service
from model.network.solvers.stations import birth_death

ROUNDS = 30
LARGEST = 5_000


def one_region(net: Reduced) -> Figures | None:
    """Figures of a network with a single passive resource taken once, None where that is not what it has."""
    resources, stations = net.network.resources, net.network.stations
    used = [rho for rho in range(len(resources)) if np.any(net.acquires[:, rho] > 0)]
    if len(used) != 1 or net.sync or net.forks:
        return None
    rho = used[0]
    resource = resources[rho]
    limit = int(resource.capacity // net.largest[rho])
    if resource.instances != 1 or resource.scheduling != "fcfs" or resource.queue_limit is not None or limit > LARGEST:
        return None
    if any(s.overflow or s.lpar or s.capacity is not None for s in stations):
        return None
    taken = net.acquires[:, rho] / net.largest[rho]
    pace = net.pace
    inside = net.inside[:, rho, :] * pace
    outside = np.maximum(net.demand * pace - inside, 0.0)
    delay, servers = net.delay, net.servers
    curves = {k: work for k, (work, _) in enumerate(net.curves) if not delay[k]}
    special = {k: work for k, work in curves.items() if not net.plain[k]}
    ceiling = np.array([np.inf if delay[k] else curves[k][-1] for k in range(len(stations))])
    codes = np.array([CODES[s.scheduling] for s in stations] + [SHARING])
    codes = np.where(np.append(net.equal_fcfs, False) & (codes == FCFS), SHARING, codes)
    codes[:-1][delay] = DELAY
    alive = (net.rates > 0) | (net.users > 0)
    flow = np.where(net.rates > 0, net.rates, np.where(net.users > 0, 1.0, 0.0)) * alive
    for _ in range(ROUNDS):
        before = flow.copy()
        entering = float(flow @ taken)
        if entering <= 0:
            return None
        # What the rest does at a station slows the inside down, and the other way round.
        load_out = np.where(delay, 0.0, (flow @ outside) / ceiling)
        mean = (flow @ inside) / entering / np.maximum(1 - load_out, 0.01)
        network = Convolution([limit], mean[:, None], servers, None, special)
        rate_inside = network.throughput_by_population()
        alpha = rate_inside / rate_inside[0]
        own = inside.sum(axis=1)
        average = float(flow @ own) / entering
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = (
                np.where(taken > 0, own / np.maximum(taken, 1e-300) / average, 0.0) if average > 0 else taken * 0 + 1
            )
        hold_alone = taken * weight / rate_inside[0]
        load_in = np.where(delay, 0.0, (flow @ inside) / ceiling)
        rest = outside / np.maximum(1 - load_in, 0.01)
        demand = np.vstack((rest.T, hold_alone))
        visits = np.vstack((np.maximum(net.visits.T, 1e-300), np.maximum(taken, 1e-300)))
        if float(net.rates.clip(0) @ hold_alone) >= alpha[-1]:
            return None
        result = amva(
            net.users,
            demand,
            np.append(servers, 1),
            net.think,
            rates=net.rates,
            discipline=codes,
            service=demand / visits,
            scv=np.vstack((np.nan_to_num(net.scv.T, nan=1.0), np.ones(len(flow)))),
            priority=net.priority,
            weights=net.weight,
            load_dependent={**special, len(stations): alpha},
        )
        if not result.converged:
            return None
        flow = result.throughput
        if np.allclose(flow, before, rtol=1e-8):
            break
    entering = float(flow @ taken)
    present = float(result.queue_length[-1].sum())
    p = _distribution(net, taken, entering, present, alpha, rate_inside)
    counts = np.arange(len(p))
    held = float(p @ np.minimum(counts, limit))
    length = float(p @ counts)
    share = held / length if length > 0 else 1.0
    shares = _inside_shares(network, limit, held, mean, servers, special)
    residence = result.residence[:-1].T.copy()
    # All wait alike for the resource; what is left of a class's time is inside, spread over the stations by its work.
    wait = taken * present * (1 - share) / entering if entering > 0 else taken * 0.0
    within = np.maximum(result.residence[-1] - wait, own)
    if np.any((net.rates > 0) & (taken > 0)):
        # A holder makes several visits, so the time it holds varies less than the station that stands for the region.
        variation = holding_variation(net, rho, np.where(net.demand > 0, net.demand, 0.0))
        mixed = float((flow * taken) @ variation) / entering
        wait = wait * np.where(net.rates > 0, (1 + mixed) / 2, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.where(mean > 0, shares / np.where(mean > 0, mean, 1.0), 0.0)
    raw = inside * stretch
    total = raw.sum(axis=1)
    residence += raw * np.divide(within, total, out=np.zeros_like(total), where=total > 0)[:, None]
    busy = flow[:, None] * net.demand * pace
    for k in special:
        used_curve = net.curves[k][1]
        at = float(busy[:, k].sum())
        if at > 0:
            busy[:, k] *= np.interp(at, np.append(0.0, special[k]), np.append(0.0, used_curve)) / at
    waits, units = np.zeros_like(net.acquires), np.zeros_like(net.acquires)
    waits[:, rho] = wait
    units[:, rho] = flow * within * net.largest[rho]
    using = in_service(net, flow, net.demand * pace, busy)
    return Figures(flow, residence, busy, using, waits, units, "flow-equivalent region", np.zeros(len(flow)))


def _distribution(
    net: Reduced, taken: Floats, entering: float, present: float, alpha: Floats, rate_inside: Floats
) -> Floats:
    """Chances of 0, 1, ... transactions waiting for the resource or holding it."""
    users = round(float(net.users[taken > 0].sum()))
    if users and not np.any((net.rates > 0) & (taken > 0)):
        outside = max((users - present) / entering, 1e-12)
        n = np.arange(users)
        rates = np.concatenate((rate_inside, np.full(max(users - len(rate_inside), 0), rate_inside[-1])))[:users]
        return birth_death((users - n) / outside, rates)
    last = min(entering / rate_inside[-1], 1 - 1e-6)
    size = len(rate_inside) + int(np.ceil(np.log(1e-12) / np.log(last))) + 1
    rates = np.concatenate((rate_inside, np.full(max(size - len(rate_inside), 0), rate_inside[-1])))[:size]
    return birth_death(np.full(size, entering), rates)


def _inside_shares(
    network: Convolution, limit: int, held: float, mean: Floats, servers: Ints, special: dict[int, Floats]
) -> Floats:
    """Queue length of each station with ``held`` transactions inside, on average."""
    low = max(int(np.floor(held)), 1)
    high = min(low + 1, limit)
    rows = []
    for n in (low, high):
        solved = network if n == limit else Convolution([n], mean[:, None], servers, None, special)
        rows.append(np.array([solved.queue_length(k)[0] for k in range(len(mean))]))
    part = min(max(held - low, 0.0), 1.0)
    return np.asarray(rows[0] * (1 - part) + rows[1] * part)
