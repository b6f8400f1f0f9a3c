"""Passive resources: a few servers, or several single servers side by side, held for part of a transaction's time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.queueing.multiserver import STABLE, erlang_c

Array = NDArray[np.float64]


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
