"""Processor sharing of a given trace of arrivals and demands: deterministic, event by event."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class TraceResult(NamedTuple):
    """``departure`` of each customer; ``time_left`` (instants, customers), NaN before arrival."""

    departure: Floats
    time_left: Floats


@njit(cache=True)
def _share(arrival: Floats, service: Floats, servers: int, instants: Floats, departure: Floats, left: Floats) -> None:
    n = len(arrival)
    remaining = service.copy()
    active = np.zeros(n, dtype=np.bool_)
    now, next_arrival, present, asked = 0.0, 0, 0, 0
    while next_arrival < n or present > 0 or asked < len(instants):
        rate = 1.0 if servers < 0 or present <= servers else servers / present
        soonest, when = -1, np.inf
        for i in range(next_arrival):
            if active[i] and now + remaining[i] / rate < when:
                soonest, when = i, now + remaining[i] / rate
        arrives = arrival[next_arrival] if next_arrival < n else np.inf
        asks = instants[asked] if asked < len(instants) else np.inf
        target = min(when, arrives, asks)
        for i in range(next_arrival):
            if active[i]:
                remaining[i] -= (target - now) * rate
        now = target
        if soonest >= 0 and when <= target:
            active[soonest] = False
            remaining[soonest] = 0.0
            departure[soonest] = now
            present -= 1
        elif arrives <= target:
            active[next_arrival] = True
            next_arrival += 1
            present += 1
        else:
            for i in range(next_arrival):
                left[asked, i] = remaining[i]
            asked += 1


def share_processor(
    arrivals: ArrayLike, service: ArrayLike, servers: int = 1, instants: ArrayLike | None = None
) -> TraceResult:
    """Departures of a processor-sharing station fed with a trace.

    Args:
        arrivals: (customers,) in any order.
        service: (customers,) work, in time of one server alone.
        servers: engines shared evenly (one customer uses at most one); -1 for a delay.
        instants: times at which to report the work left; arrivals at an instant are included.
    """
    a, s = np.asarray(arrivals, dtype=float), np.asarray(service, dtype=float)
    order = np.argsort(a, kind="stable")
    t = np.sort(np.asarray([] if instants is None else instants, dtype=float))
    departure, left = np.empty(len(a)), np.full((len(t), len(a)), np.nan)
    _share(a[order], s[order], servers, t, departure, left)
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(a))
    return TraceResult(departure[inverse], left[:, inverse])
