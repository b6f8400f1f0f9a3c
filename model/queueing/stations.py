"""One station alone: identical exponential servers, with and without a waiting limit.

Exact. Sources: Erlang 1917; Kleinrock, *Queueing Systems I*, 1975, chapter 3; for arrivals that are not Poisson Takács,
*Introduction to the Theory of Queues*, 1962, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: Logarithm of a factor so large that nobody waits.
MOST_LOG = 700.0


class StationResult(NamedTuple):
    """Steady state of one station.

    ``utilisation`` is busy servers per server; ``queue_length`` counts waiting and in service; times are in the unit of
    the service time; ``wait_probability`` is the share of arrivals that wait; ``loss_probability`` the share refused.
    """

    utilisation: float
    throughput: float
    wait_probability: float
    wait: float
    response: float
    waiting: float
    queue_length: float
    empty_probability: float
    loss_probability: float


def gmc_response(transform: Callable[[float], float], rate: float, service: float, servers: int) -> float:
    """Mean response of GI/M/c; infinity at or above saturation.

    Args:
        transform: Laplace transform of the time between arrivals.
        rate: arrivals per unit time.
        service: mean of the exponential service.
        servers: one or more.
    """
    if rate * service >= servers:
        return np.inf
    each, low, high = 1 / service, 0.0, 1.0
    # The one root of x = transform(c mu (1 - x)) below 1: left of it the right side is the larger.
    for _ in range(200):
        middle = (low + high) / 2
        if transform(servers * each * (1 - middle)) > middle:
            low = middle
        else:
            high = middle
    root = (low + high) / 2
    total, log_product = 1 / (1 - root), 0.0
    for j in range(1, servers + 1):
        here = transform(j * each)
        log_product += math.log(here) - math.log1p(-here) if here > 0 else -math.inf
        log_ways = math.lgamma(servers + 1) - math.lgamma(j + 1) - math.lgamma(servers - j + 1)
        log_factor = log_ways - log_product - math.log1p(-here)
        if log_factor > MOST_LOG:
            return service
        # Where the fraction is 0 over 0, its value beside that point.
        nearby = j if abs(servers * (1 - root) - j) > 1e-6 else j + 1e-4
        near = transform(nearby * each)
        part = (servers * (1 - near) - nearby) / (servers * (1 - root) - nearby)
        total += math.exp(log_factor) * part
    return float(service + 1 / total / (servers * each * (1 - root) ** 2))


def mmck(arrival_rate: float, service: float, servers: int, capacity: int) -> StationResult:
    """M/M/c/K: arrivals that find ``capacity`` customers (waiting and in service) are refused.

    Times are those of accepted customers. ``servers`` of -1 (or more than ``capacity``) means nobody waits.

    Raises:
        ValueError: ``capacity`` is below one.
    """
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1, not {capacity}")
    c = capacity if servers < 0 else min(servers, capacity)
    offered = arrival_rate * service
    if offered == 0:
        return StationResult(0.0, 0.0, 0.0, 0.0, service, 0.0, 0.0, 1.0, 0.0)
    n = np.arange(capacity + 1)
    steps = np.log(offered) - np.log(np.minimum(n[1:], c))
    log_p = np.concatenate(([0.0], np.cumsum(steps)))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    throughput = arrival_rate * (1 - p[-1])
    length = float(p @ n)
    response = length / throughput
    waiting = float(p @ np.maximum(n - c, 0))
    servers_shown = c if servers < 0 else servers
    waits = float(p[c:capacity].sum() / (1 - p[-1])) if c < capacity else 0.0
    return StationResult(
        throughput * service / servers_shown,
        float(throughput),
        waits,
        waiting / float(throughput),
        response,
        waiting,
        length,
        float(p[0]),
        float(p[-1]),
    )
