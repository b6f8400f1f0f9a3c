"""Work that runs on CPs because the zIIPs are busy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.queueing.multiserver import erlang_c

Array = NDArray[np.float64]


def long_wait(load: ArrayLike, servers: ArrayLike, patience: ArrayLike) -> Array:
    r"""Probability that an arrival at M/M/m waits longer than so many mean services.

    .. math:: P(W > T) = C(m, a) \, e^{-(m - a) T / s}

    z/OS lets CPs help after a zIIP queue has waited for ZIIPAWMT (IEAOPTxx). Reference: Bolch et al., section 6.5.
    """
    work, pool = np.asarray(load, float), np.asarray(servers, float)
    return np.asarray(erlang_c(work, pool) * np.exp(-np.maximum(pool - work, 0.0) * np.asarray(patience, float)))
