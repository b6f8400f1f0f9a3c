"""Work that runs on CPs because the zIIPs are busy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LARGEST_EXPONENT = 500.0
CRITICAL = 1e-6
"""Servers less load within which the queue counts as critically loaded."""


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
