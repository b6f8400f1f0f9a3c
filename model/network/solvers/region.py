"""One limit on how many transactions are inside part of a network (MXT, a class limit, a pool of regions).

The part inside is solved closed with 1, 2, ... limit transactions; its throughput makes one load-dependent station that
stands for it in the rest. Exact decomposition for one class whose inside has product form and whose arrivals see it
as that station; close elsewhere. Source: Courtois, *Decomposability*, 1977; Lazowska et al., *Quantitative System
Performance*, 1984, chapter 9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.solvers.amva import DELAY, FCFS, SHARING, AmvaResult, amva
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
    rho = _only_resource(net)
    if rho is None:
        return None
    solved = _settled(net, rho)
    return None if solved is None else _figures(net, rho, solved)


def _only_resource(net: Reduced) -> int | None:
    """The resource that the region is inside of; None where the network is not a region and a rest."""
    used = np.flatnonzero(np.any(net.acquires > 0, axis=0))
    if len(used) != 1 or net.sync or net.forks:
        return None
    rho = int(used[0])
    resource = net.network.resources[rho]
    if resource.instances != 1 or resource.scheduling != "fcfs" or resource.queue_limit is not None:
        return None
    if _limit(net, rho) > LARGEST or any(s.overflow or s.lpar or s.capacity is not None for s in net.network.stations):
        return None
    return rho


def _limit(net: Reduced, rho: int) -> int:
    return int(net.network.resources[rho].capacity // net.largest[rho])


class _Solved(NamedTuple):
    """The rest with a station in place of the region (``result``), and the region alone (``network``) as it then is.

    ``mean`` (stations,) is the work of one passage of the region, ``rate_inside`` its throughput by transactions.
    """

    flow: Floats
    result: AmvaResult
    network: Convolution
    mean: Floats
    rate_inside: Floats


def _settled(net: Reduced, rho: int) -> _Solved | None:
    """Region and rest in turn, until the throughput stays; None where there is no steady state."""
    taken = net.acquires[:, rho] / net.largest[rho]
    inside, outside = _parts(net, rho)
    own = inside.sum(axis=1)
    curves, special = _curves(net)
    ceiling = np.array([curves[k][-1] if k in curves else np.inf for k in range(len(net.servers))])
    codes = np.array([CODES[s.scheduling] for s in net.network.stations] + [SHARING])
    codes = np.where(np.append(net.equal_fcfs, False) & (codes == FCFS), SHARING, codes)
    codes[:-1][net.delay] = DELAY
    flow = np.where(net.rates > 0, net.rates, np.where(net.users > 0, 1.0, 0.0))
    solved = None
    for _ in range(ROUNDS):
        before = flow.copy()
        entering = float(flow @ taken)
        if entering <= 0:
            return None
        # What the rest does at a station slows the inside down, and the other way round.
        load_out = np.where(net.delay, 0.0, (flow @ outside) / ceiling)
        mean = (flow @ inside) / entering / np.maximum(1 - load_out, 0.01)
        network = Convolution([_limit(net, rho)], mean[:, None], net.servers, None, special)
        rate_inside = network.throughput_by_population()
        alpha = rate_inside / rate_inside[0]
        average = float(flow @ own) / entering
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = (
                np.where(taken > 0, own / np.maximum(taken, 1e-300) / average, 0.0) if average > 0 else taken * 0 + 1
            )
        hold_alone = taken * weight / rate_inside[0]
        load_in = np.where(net.delay, 0.0, (flow @ inside) / ceiling)
        rest = outside / np.maximum(1 - load_in, 0.01)
        demand = np.vstack((rest.T, hold_alone))
        visits = np.vstack((np.maximum(net.visits.T, 1e-300), np.maximum(taken, 1e-300)))
        if float(net.rates.clip(0) @ hold_alone) >= alpha[-1]:
            return None
        result = amva(
            net.users,
            demand,
            np.append(net.servers, 1),
            net.think,
            rates=net.rates,
            discipline=codes,
            service=demand / visits,
            scv=np.vstack((np.nan_to_num(net.scv.T, nan=1.0), np.ones(len(flow)))),
            priority=net.priority,
            weights=net.weight,
            load_dependent={**special, len(net.servers): alpha},
        )
        if not result.converged:
            return None
        flow = result.throughput
        solved = _Solved(flow, result, network, mean, rate_inside)
        if np.allclose(flow, before, rtol=1e-8):
            break
    return solved


def _parts(net: Reduced, rho: int) -> tuple[Floats, Floats]:
    """(classes, stations) work inside the region and outside."""
    inside = net.inside[:, rho, :] * net.pace
    return inside, np.maximum(net.demand * net.pace - inside, 0.0)


def _curves(net: Reduced) -> tuple[dict[int, Floats], dict[int, Floats]]:
    """Capacities by customers of all stations that queue, and of those that are not so many equal servers."""
    curves = {k: work for k, (work, _) in enumerate(net.curves) if not net.delay[k]}
    return curves, {k: work for k, work in curves.items() if not net.plain[k]}


def _figures(net: Reduced, rho: int, solved: _Solved) -> Figures:
    flow, result, network, mean, rate_inside = solved
    taken = net.acquires[:, rho] / net.largest[rho]
    inside, _ = _parts(net, rho)
    _, special = _curves(net)
    limit = _limit(net, rho)
    entering = float(flow @ taken)
    present = float(result.queue_length[-1].sum())
    p = _distribution(net, taken, entering, present, rate_inside / rate_inside[0], rate_inside)
    counts = np.arange(len(p))
    held = float(p @ np.minimum(counts, limit))
    length = float(p @ counts)
    share = held / length if length > 0 else 1.0
    shares = _inside_shares(network, limit, held, mean, net.servers, special)
    # All wait alike for the resource; what is left of a class's time is inside, spread over the stations by its work.
    wait = taken * present * (1 - share) / entering if entering > 0 else taken * 0.0
    within = np.maximum(result.residence[-1] - wait, inside.sum(axis=1))
    if np.any((net.rates > 0) & (taken > 0)):
        # A holder makes several visits, so the time it holds varies less than the station that stands for the region.
        variation = holding_variation(net, rho, np.where(net.demand > 0, net.demand, 0.0))
        mixed = float((flow * taken) @ variation) / entering
        wait = wait * np.where(net.rates > 0, (1 + mixed) / 2, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = inside * np.where(mean > 0, shares / np.where(mean > 0, mean, 1.0), 0.0)
    total = raw.sum(axis=1)
    spread = np.divide(within, total, out=np.zeros_like(total), where=total > 0)
    residence = result.residence[:-1].T + raw * spread[:, None]
    work = net.demand * net.pace
    busy = flow[:, None] * work
    for k, curve in special.items():
        at = float(busy[:, k].sum())
        if at > 0:
            busy[:, k] *= np.interp(at, np.append(0.0, curve), np.append(0.0, net.curves[k][1])) / at
    waits, units = np.zeros_like(net.acquires), np.zeros_like(net.acquires)
    waits[:, rho] = wait
    units[:, rho] = flow * within * net.largest[rho]
    using = in_service(net, flow, work, busy)
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
