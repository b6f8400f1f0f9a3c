"""Queues with several servers: M/M/m, and M/M/m seen from one of its busy servers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

STABLE = 1.0 - 1e-9
"""Highest utilization that counts as stable."""


def erlang_c(load: ArrayLike, servers: ArrayLike) -> Array:
    r"""Probability that an arrival waits in M/M/m; 1 where the queue is unstable.

    .. math:: C = \frac{m B}{m - a (1 - B)}, \qquad B_n = \frac{a B_{n-1}}{n + a B_{n-1}}

    Reference: Bolch et al., *Queueing Networks and Markov Chains*, 2nd ed., section 6.5.
    """
    work, pool = np.asarray(load, float), np.asarray(servers, float)
    low = np.maximum(np.floor(pool), 1.0)
    fewest, most = low.min(initial=np.inf), int(low.max(initial=1.0))
    # One over Erlang's B, which may grow beyond all numbers where there is next to no work.
    inverse = np.ones(np.broadcast(work, low).shape)
    with np.errstate(divide="ignore", over="ignore"):
        service = 1.0 / work
        for n in range(1, most + 1):
            more = n <= low if n > fewest else True
            np.multiply(inverse, n * service, out=inverse, where=more)
            np.add(inverse, 1.0, out=inverse, where=more)
    blocking = 1.0 / inverse
    mixed = _delay_probability(work, low, blocking)
    if (pool > low).any():
        above = work * blocking / (low + 1.0 + work * blocking)
        share = np.minimum(np.maximum(pool - low, 0.0), 1.0)
        mixed = mixed + share * (_delay_probability(work, low + 1.0, above) - mixed)
    return np.where(work < pool, np.minimum(np.maximum(mixed, 0.0), 1.0), 1.0)


def _delay_probability(load: Array, servers: Array, blocking: Array) -> Array:
    """Erlang's C from Erlang's B on a whole number of servers."""
    return np.where(load < servers, servers * blocking / np.maximum(servers - load * (1.0 - blocking), 1e-300), 1.0)


def number_in_system(load: ArrayLike, servers: ArrayLike) -> Array:
    r"""Mean number of customers in M/M/m, :math:`L = a + C a / (m - a)`; infinite where the queue is unstable."""
    work, pool = np.asarray(load, float), np.asarray(servers, float)
    stable = work < pool * STABLE
    with np.errstate(divide="ignore", invalid="ignore"):
        queue = erlang_c(work, pool) * work / np.where(stable, pool - work, 1.0)
    return np.where(stable, work + queue, np.inf)


def slowdown(load: ArrayLike, servers: ArrayLike, above: ArrayLike = 0.0) -> Array:
    r"""Residence time over service time of one priority class under preemptive resume.

    The number of customers at a priority is the number at all priorities down to it, less the number above it:

    .. math:: S = \frac{L(a_p + a_{<p}) - L(a_{<p})}{a_p}

    Exact for equal exponential services. Infinite where the class is unstable; 1 where there is next to no work.

    Parameters
    ----------
    load : work of the class.
    servers : number of servers.
    above : work of higher priority.
    """
    work, higher, pool = (np.asarray(one, float) for one in (load, above, servers))
    work = np.maximum(work, 1e-6)
    down_to = number_in_system(work + higher, pool)
    with np.errstate(invalid="ignore"):
        ratio = (down_to - (number_in_system(higher, pool) if higher.any() else 0.0)) / work
    return np.where(np.isfinite(down_to), np.maximum(ratio, 1.0), np.inf)
