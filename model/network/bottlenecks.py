"""Stations, machines and resources in the order in which they saturate."""

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
