"""What a network is asked for beyond what it can do, and what saturates first.

Stations, machines and resources are the limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.network.arrays import Arrays, Floats


class Limit(NamedTuple):
    """A station, machine or passive resource that would saturate.

    ``utilisation`` is that of the present rate. ``rate_per_s`` is the total rate, in the present mix, that it cannot
    exceed; for a resource, if whoever holds it waited for nothing else.
    """

    name: str
    kind: str
    utilisation: float
    rate_per_s: float


def limits(
    names: list[tuple[str, str]], utilisation: Sequence[float], needed: Sequence[float], total_rate: float
) -> tuple[Limit, ...]:
    """Limits in the order in which they bind; unused ones are left out.

    ``needed`` is the utilisation without what the holders of a resource wait for elsewhere: a resource whose holders
    queue for a full engine is all in use, but more units of it would help nobody.
    """
    used = [
        Limit(name, kind, float(u), float(total_rate / n) if n > 0 else math.inf)
        for (name, kind), u, n in zip(names, utilisation, needed, strict=True)
        if u > 0
    ]
    return tuple(sorted(used, key=lambda limit: (limit.rate_per_s, -limit.utilisation)))


def unwaited_holding(net: Arrays, throughput: Floats, using: Floats) -> Floats:
    """(resources,) units in use if whoever holds one waited for nothing else.

    Parameters
    ----------
    net
        The network.
    throughput : (classes,)
        Transactions per second.
    using : (stations,)
        Seconds of service per second, as each transaction would take alone.
    """
    work = throughput @ net.demand
    inside = np.tensordot(throughput, net.inside * net.largest[:, None], axes=1)
    return np.asarray(inside @ np.divide(using, work, out=np.zeros_like(using), where=work > 0))


def share_with_overflow(net: Arrays, share: Sequence[float] | Floats, k: int) -> float:
    """Part used of what station ``k`` can do together with fuller stations that overflow onto it.

    It is 0 for a station that overflows, whose work goes on elsewhere when it is full. ``share`` (stations,) is the
    part used of what each can do.
    """
    if net.network.stations[k].overflow is not None:
        return 0.0
    most = [float(done[-1]) for done, _ in net.curves]
    used, can = share[k] * most[k], most[k]
    name = net.network.station_names[k]
    feeding = [i for i, s in enumerate(net.network.stations) if s.overflow is not None and s.overflow.to == name]
    for i in sorted(feeding, key=lambda i: -share[i]):
        if share[i] > used / can:
            used, can = used + share[i] * most[i], can + most[i]
    return used / can


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
