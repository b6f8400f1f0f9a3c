"""Mean value analysis of closed networks of single-server and delay stations.

Source: Reiser and Lavenberg, *J. ACM* 27, 1980.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from model.network.exact.convolution import ClosedResult


def exact_mva(
    populations: ArrayLike, demands: ArrayLike, servers: ArrayLike, think_times: ArrayLike | None = None
) -> ClosedResult:
    """Exact means of a closed network.

    Parameters
    ----------
    populations : (classes,)
    demands : (stations, classes)
    servers : (stations,)
        1 or -1, a delay.
    think_times : (classes,)
    """
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d = np.atleast_2d(np.asarray(demands, dtype=float))
    queueing = np.asarray(servers) == 1
    z = np.zeros(len(n)) if think_times is None else np.asarray(think_times, dtype=float)
    lengths: dict[tuple[int, ...], np.ndarray] = {}
    throughput, residence = np.zeros(len(n)), np.zeros_like(d)
    for at in product(*(range(most + 1) for most in n)):
        throughput, residence = np.zeros(len(n)), np.zeros_like(d)
        for r in np.flatnonzero(at):
            before = lengths[(*at[:r], at[r] - 1, *at[r + 1 :])]
            residence[:, r] = d[:, r] * (1 + before * queueing)
            throughput[r] = at[r] / (z[r] + residence[:, r].sum())
        lengths[at] = residence @ throughput
    return ClosedResult(throughput, residence * throughput, residence, d * throughput)
