"""What a network is asked for beyond what it can do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.network.arrays import Arrays, Floats
from model.network.bottlenecks import unwaited_holding

FULL = 1 - 1e-9
"""Part of what a station can do at which it is overloaded: rounding may leave as much."""


def overloaded_by_arrivals(net: Arrays, throughput: Floats | None = None) -> dict[str, float]:
    """Stations and resources that open classes overload.

    Parameters
    ----------
    net
        The network; waits are left aside.
    throughput : (classes,), optional
        Transactions per second of closed classes, which some open classes serve behind.

    Returns
    -------
    dict
        Name → work asked for as a part of what can be done, 1 or more.
    """
    out = {}
    each = net.work
    total_work = net.rates.clip(0) @ each
    can = most_work(net, total_work)
    for k, station in enumerate(net.network.stations):
        if net.delay[k] or station.capacity is not None or station.overflow is not None:
            continue
        demand = total_work[k]
        if throughput is not None and station.discipline.ranked and demand > 0:
            lowest = net.priority[net.rates * each[:, k] > 0].min()
            above = (net.users > 0) & (net.priority > lowest)
            demand += float((throughput * each[:, k])[above].sum())
        if demand >= can[k] * FULL:
            out[station.name] = float(demand / can[k])
    needed = unwaited_holding(net, net.rates.clip(0), total_work)
    for rho, resource in enumerate(net.network.resources):
        places = resource.capacity * resource.instances
        if needed[rho] >= places:
            out[resource.name] = float(needed[rho] / places)
    return out


def most_work(net: Arrays, work: Floats) -> Floats:
    """(stations,) most work a second, in engines.

    It is fewer than its own engines where an LPAR is capped, or where its machine is short and gives it less than the
    ``work`` (stations,) it is asked for.
    """
    stations, network = net.network.stations, net.network
    most = np.array([done[-1] for done, _ in net.curves])
    for cec in network.cecs:
        members = [(k, s.lpar) for k, s in enumerate(stations) if s.lpar is not None and s.lpar.cec == cec.name]
        total = sum(share.weight for _, share in members)
        for k, share in members:
            cap = share.weight / total * cec.engines if share.cap == "share" else share.cap
            if not isinstance(cap, str):
                most[k] = min(most[k], float(cap))
        demand = [min(float(work[k]), float(most[k])) for k, _ in members]
        if sum(demand) >= cec.engines:
            given = water_filling(demand, [share.weight for _, share in members], cec.engines)
            for (k, _), part, wanted in zip(members, given, demand, strict=True):
                if wanted > 0 and part <= wanted * (1 - 1e-12):
                    most[k] = part
    return most


def water_filling(demand: Sequence[float], weights: Sequence[float], engines: float) -> list[float]:
    """Engines each LPAR gets: all it asks for while it stays below its part by weight, the rest divided by weight."""
    given = [0.0] * len(demand)
    open_ = [i for i, a in enumerate(demand) if a > 0]
    left = engines
    while open_:
        total = sum(weights[i] for i in open_)
        below = [i for i in open_ if demand[i] <= left * weights[i] / total * (1 + 1e-12)]
        if not below:
            for i in open_:
                given[i] = left * weights[i] / total
            break
        for i in below:
            given[i] = demand[i]
        left -= sum(demand[i] for i in below)
        open_ = [i for i in open_ if i not in below]
    return given
