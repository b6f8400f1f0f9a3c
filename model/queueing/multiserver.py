"""Queues with several servers: M/M/m, M/M/m seen from one of its busy servers, limits, and impatient customers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

STABLE = 1.0 - 1e-9
"""Highest utilization that counts as stable."""
LARGEST_EXPONENT = 500.0
CRITICAL = 1e-6
"""Servers less load within which the queue counts as critically loaded."""


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


def limit_wait(rate: ArrayLike, holding_s: ArrayLike, servers: ArrayLike, queues: ArrayLike) -> Array:
    r"""Mean wait in s for one of ``queues`` alike resources, each with ``servers`` places and its part of the arrivals.

    .. math:: W = h \, \frac{C(m, a)}{m - a}, \qquad a = \lambda h / q

    times the variability factor :math:`(1 + c^2) / 2` of the holding time, which callers apply (Allen-Cunneen; Bolch
    et al., section 6.6). Infinite where the resource is saturated.
    """
    hold, places = np.asarray(holding_s, float), np.asarray(servers, float)
    load = np.asarray(rate, float) * hold / np.asarray(queues, float)
    stable = np.asarray(load < places * STABLE)
    wait = hold * erlang_c(load, places) / np.where(stable, places - load, 1.0)
    return np.asarray(np.where(stable, wait, np.inf), float)


def reneging(load: ArrayLike, servers: ArrayLike, patience: ArrayLike) -> Array:
    r"""Part of the arrivals that leave a queue with several servers because they would wait longer than their patience.

    The virtual wait of M/M/m+D has the density :math:`\lambda p_{m-1} e^{-(m-a) w / s}` up to the patience :math:`T`;
    beyond, nobody joins. With :math:`E = e^{-(m-a) T / s}` and Erlang's :math:`B`

    .. math:: P = \frac{a E / m}{1 / B_{m-1}(a) + a (1 - E) / (m - a) + a E / m}

    z/OS lets CPs help after work has waited ZIIPAWMT (IEAOPTxx) for a zIIP: this is the part that they take where they
    are free. Between whole numbers of servers it is interpolated. Reference: Barrer, *Queuing with impatient customers
    and ordered service*, Operations Research 5 (1957).

    Parameters
    ----------
    load : offered work in servers, that which leaves included; it may be more than the servers.
    servers : number of servers.
    patience : longest wait, in mean services.
    """
    work, pool, wait = np.broadcast_arrays(*(np.asarray(one, float) for one in (load, servers, patience)))
    low = np.maximum(np.floor(pool), 1.0)
    share = np.clip(pool - low, 0.0, 1.0)
    at_low = _reneging(work, low, wait)
    if not share.any():
        return at_low
    return np.asarray(at_low + share * (_reneging(work, low + 1.0, wait) - at_low))


def _reneging(load: Array, servers: Array, patience: Array) -> Array:
    """:func:`reneging` on whole numbers of servers."""
    work = np.maximum(load, 1e-9)
    inverse = np.ones(work.shape)
    with np.errstate(over="ignore"):
        for n in range(1, int(servers.max(initial=1.0))):
            inverse = np.where(n < servers, 1.0 + n / work * inverse, inverse)
        room = servers - work
        critical = np.abs(room) < CRITICAL
        beyond = np.exp(np.clip(-room * patience, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        queued = np.where(critical, patience, (1.0 - beyond) / np.where(critical, 1.0, room))
        leaving = work * beyond / servers
        return np.asarray(leaving / (inverse + work * queued + leaving))
