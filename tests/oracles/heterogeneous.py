"""One queue before servers of different speed: exact by birth-death over the sets of busy servers.

A customer that finds several idle servers takes one at random, the fastest, or the first in the order given. Needed for
work that overflows from one kind of engine to another.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tests.oracles.product_form import mmc

Choice = Literal["random", "fastest", "ordered"]


class HeterogeneousResult(NamedTuple):
    """``utilisation`` is the busy share of each server, ``capacity_used`` arrival rate over total rate."""

    capacity_used: float
    queue_length: float
    response: float
    wait_probability: float
    utilisation: np.ndarray


def heterogeneous_mm(arrival_rate: float, service_rates: ArrayLike, choice: Choice = "random") -> HeterogeneousResult:
    """M/M/m with unequal exponential servers, first come, first served.

    The 2^m sets of busy servers are solved together with the geometric tail of waiting customers.

    Raises:
        ValueError: the rates do not carry the arrivals, or there are more than 14 servers.
    """
    mu = np.asarray(service_rates, dtype=float)
    m = len(mu)
    if arrival_rate >= mu.sum():
        raise ValueError(f"unstable station: arrival rate {arrival_rate:g}, service rates add to {mu.sum():g}")
    if m > 14:
        raise ValueError("exact solution is limited to 14 servers of different speed")
    order = np.argsort(-mu, kind="stable") if choice == "fastest" else np.arange(m)
    full = (1 << m) - 1
    size = full + 1
    q = np.zeros((size, size))
    for state in range(size):
        idle = [int(i) for i in order if not state >> i & 1]
        takers = idle if choice == "random" else idle[:1]
        for i in takers:
            q[state, state | 1 << i] += arrival_rate / len(takers)
        for i in range(m):
            if state >> i & 1:
                q[state, state & ~(1 << i)] += mu[i]
    # In the full state a waiting customer follows at once, so the tail is geometric and leaves and enters the full
    # state at equal rates: it drops out of the balance of the sets.
    np.fill_diagonal(q, 0.0)
    np.fill_diagonal(q, -q.sum(axis=1))
    a = q.T.copy()
    a[-1] = 1.0
    b = np.zeros(size)
    b[-1] = 1.0
    p = np.linalg.solve(a, b)
    rho = arrival_rate / mu.sum()
    mass = 1 + p[full] * rho / (1 - rho)
    p = p / mass
    waiting_or_full = p[full] / (1 - rho)
    busy = np.array([state.bit_count() for state in range(size)])
    length = float(p[:full] @ busy[:full]) + waiting_or_full * m + p[full] * rho / (1 - rho) ** 2
    utilisation = np.array([sum(p[s] for s in range(full) if s >> i & 1) + waiting_or_full for i in range(m)])
    return HeterogeneousResult(rho, length, length / arrival_rate, float(waiting_or_full), utilisation)


def heterogeneous_as_identical(arrival_rate: float, service_rates: ArrayLike) -> float:
    """Customers present if the servers are replaced by as many of their mean speed: the textbook approximation.

    Exact as the load approaches one; too low below, by up to the ratio of the speeds (Bolch et al., 1998, section 6.3).
    """
    mu = np.asarray(service_rates, dtype=float)
    return mmc(arrival_rate, len(mu) / float(mu.sum()), len(mu)).queue_length
