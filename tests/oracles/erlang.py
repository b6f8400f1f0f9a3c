"""Erlang's formulas and birth-death chains.

Sources: Erlang 1917; Kleinrock, *Queueing Systems I*, 1975, chapter 3.
"""

from __future__ import annotations

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
