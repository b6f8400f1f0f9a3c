"""Preemptive priorities on several servers whose classes have services of different length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.queueing.multiserver import STABLE, erlang_c, slowdown

Array = NDArray[np.float64]

NEARLY_FULL = 1.0 - 1e-6
"""Utilization from which work counts as filling a pool whose limit is finite."""


class Delays(NamedTuple):
    """Delays of the priority levels of a pool, (levels, ...), highest priority first.

    ``short`` is the queueing part of the slowdown where higher priorities come in pieces much shorter than the
    service of the level; ``longer`` what the slowdown has beyond it where services are alike; ``size`` the mean
    service of the work above, as a transaction that finds it in service sees it.
    """

    short: Array
    longer: Array
    size: Array


def delays(load: Array, servers: ArrayLike, second_moment: Array) -> Delays:
    """Queueing delays of all priority levels of a pool.

    Parameters
    ----------
    load : (levels, ...) work of each level in servers, highest priority first.
    servers : number of servers, broadcastable to ``load``.
    second_moment : (levels, ...) sum over classes of load times mean service, in ms.

    Returns
    -------
    Delays
        infinite for levels that are unstable.
    """
    until = np.cumsum(load, axis=0)
    above = until - load
    short = slowdown_below_short(load, servers, above) - 1.0
    with np.errstate(invalid="ignore"):
        longer = slowdown(load, servers, above) - 1.0 - short
    before = np.cumsum(second_moment, axis=0) - second_moment
    size = before / np.maximum(above, 1e-12)
    return Delays(short, np.where(np.isfinite(short), np.maximum(np.nan_to_num(longer, posinf=0.0), 0.0), 0.0), size)


def delays_on_logical_cps(load: Array, engines: ArrayLike, second_moment: Array, waiting: Array) -> Delays:
    """Queueing delays of all priority levels on logical CPs that the machine does not always dispatch.

    z/OS dispatches by importance on logical CPs, of which each piece of work takes ``1 + waiting`` times as long.

    Parameters
    ----------
    load, second_moment : as of :func:`delays`.
    engines : number of logical CPs.
    waiting : queueing part of the slowdown of all work by the machine, as of :func:`undispatched`.
    """
    slow = 1.0 + waiting
    found = delays(load * slow, engines, second_moment * slow**2)
    return Delays(found.short * slow, found.longer * slow, found.size / slow)


def undispatched(load: Array, pool: ArrayLike, engines: ArrayLike) -> Array:
    r"""Queueing part of the slowdown of an LPAR's work by logical CPs that the machine does not dispatch.

    z/OS dispatches by importance on logical CPs; whether these run is the hypervisor's choice, and all work of the
    LPAR waits alike. Of N pieces in M/M/P on the ``pool`` of P engines that the machine leaves, at most one is on each
    of the m logical ``engines``, which get the load a between them:

    .. math:: \frac{E[\min(N, m)]}{a} - 1

    If lower importance fills the LPAR, all logical CPs are ready, and the slowdown is m / P.
    """
    work, got, logical = np.broadcast_arrays(
        np.asarray(load, float), np.asarray(pool, float), np.asarray(engines, float)
    )
    work = np.clip(work, 1e-6, got * NEARLY_FULL)
    ratio = work / got
    # The queue is geometric; N beyond m is in z/OS, and waits there by importance.
    within = ratio * (1.0 - ratio ** np.maximum(logical - got, 0.0)) / (1.0 - ratio)
    return np.asarray(erlang_c(work, got) * within / work)


def slowdown_below_short(load: ArrayLike, servers: ArrayLike, above: ArrayLike) -> Array:
    r"""Slowdown of a priority class whose higher priorities come in pieces much shorter than its own service.

    The class then sees the mean of what higher priorities leave: with n of its customers inside they are served at
    rate :math:`E[\min(n, m - N)]`, N being the number of servers busy above, of M/M/m. The birth-death queue with
    these rates gives the slowdown. On one server it is :math:`1 / (1 - \rho)`.
    """
    work, higher, pool = np.broadcast_arrays(
        np.asarray(load, float), np.asarray(above, float), np.asarray(servers, float)
    )
    work = np.maximum(work, 1e-6)
    low = np.maximum(np.floor(pool), 1.0)
    share = np.clip(pool - low, 0.0, 1.0)
    result = np.full(work.shape, np.inf)
    for whole in np.unique(low).astype(int):
        rows = low == whole
        at_low = _below(work[rows], whole, higher[rows])
        if np.any(share[rows] > 0):
            at_high = _below(work[rows], whole + 1, higher[rows])
            with np.errstate(divide="ignore", invalid="ignore"):
                mixed = 1.0 / ((1.0 - share[rows]) / at_low + share[rows] / at_high)
            at_low = np.where(share[rows] > 0, mixed, at_low)
        result[rows] = at_low
    return np.where(work + higher < pool * STABLE, np.maximum(result, 1.0), np.inf)


def _below(load: Array, servers: int, higher: Array) -> Array:
    """:func:`slowdown_below_short` for a whole number of servers."""
    stable = load + higher < servers * STABLE
    above = np.where(stable, higher, 0.0)
    numbers = np.arange(1.0, servers + 1.0).reshape(-1, *[1] * above.ndim)
    terms = np.cumprod(np.concatenate([np.ones((1, *above.shape)), above / numbers[:-1]]), axis=0)
    tail = terms[-1] * above / servers / (1.0 - above / servers)
    at_most = np.cumsum(terms, axis=0)
    at_most /= at_most[-1] + tail
    # With n inside they are served by the sum over j up to n of the probability that at least j servers are left.
    rates = np.maximum(np.cumsum(at_most[::-1], axis=0), 1e-12)
    ratio = np.where(stable, np.minimum(load / rates[-1], STABLE), 0.0)
    terms = np.cumprod(np.where(stable, load, 0.0) / rates, axis=0)
    # From the last rate on the queue is geometric.
    rest = terms[-1] * ratio / (1.0 - ratio)
    total, mean = 1.0 + terms.sum(axis=0), (numbers * terms).sum(axis=0) + rest * servers + rest / (1.0 - ratio)
    return np.where(stable, mean / (total + rest) / load, np.inf)
