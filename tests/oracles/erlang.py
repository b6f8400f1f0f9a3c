"""Erlang's formulas and birth-death chains.

Sources: Erlang 1917; Kleinrock, *Queueing Systems I*, 1975, chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def erlang_b(offered: float, servers: int) -> float:
    """Blocking probability of M/M/c/c with ``offered`` = rate x service time; stable for thousands of servers."""
    blocking = 1.0
    for n in range(1, servers + 1):
        blocking = offered * blocking / (n + offered * blocking)
    return blocking


def erlang_c(offered: float, servers: int) -> float:
    """Probability that an M/M/c arrival waits; 1 where the station is saturated."""
    if offered >= servers:
        return 1.0
    blocking = erlang_b(offered, servers)
    return servers * blocking / (servers - offered * (1.0 - blocking))


def mmc_response(rate: float, service: float, servers: int) -> float:
    """Mean response of M/M/c, infinity at or above saturation; ``servers`` < 0 is a delay."""
    if servers < 0 or service == 0.0:
        return service
    offered = rate * service
    if offered >= servers:
        return np.inf
    return service + erlang_c(offered, servers) * service / (servers - offered)


def birth_death(births: NDArray[np.float64], deaths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stationary probabilities of 0..n from birth rates (n,) of 0..n-1 and death rates (n,) of 1..n."""
    with np.errstate(divide="ignore"):
        log_p = np.concatenate(([0.0], np.cumsum(np.log(births) - np.log(deaths))))
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


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
