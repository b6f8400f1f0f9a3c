"""Exact mean value analysis of closed multi-class networks of single-server and delay stations.

Source: Reiser and Lavenberg, *J. ACM* 27, 1980. Multi-server and load-dependent stations go to ``convolution``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from model.network.kernel_cache import kernel
from model.network.solvers.convolution import ClosedResult, Floats, Ints, lattice


@kernel()
def _recursion(demands: Floats, queueing: Ints, think: Floats, strides: Ints, counts: Ints) -> tuple[Floats, Floats]:
    """Throughputs (classes,) and residences (stations, classes) at the last lattice point."""
    stations, classes = demands.shape
    totals = np.zeros((len(counts), stations))
    residence = np.zeros((stations, classes))
    throughput = np.zeros(classes)
    for i in range(1, len(counts)):
        for r in range(classes):
            throughput[r] = 0.0
            if counts[i, r] == 0:
                continue
            before = i - strides[r]
            cycle = think[r]
            for k in range(stations):
                residence[k, r] = demands[k, r] * (1.0 + totals[before, k] * queueing[k])
                cycle += residence[k, r]
            throughput[r] = counts[i, r] / cycle
            for k in range(stations):
                totals[i, k] += throughput[r] * residence[k, r]
    return throughput, residence


def exact_mva(
    populations: ArrayLike, demands: ArrayLike, servers: ArrayLike, think_times: ArrayLike | None = None
) -> ClosedResult:
    """Exact means of a closed network whose stations have one server (or -1, a delay).

    Args:
        populations: (classes,).
        demands: (stations, classes).
        servers: (stations,) of 1 or -1.
        think_times: (classes,).

    Raises:
        ValueError: a station has several servers.
    """
    n = np.atleast_1d(np.asarray(populations, dtype=np.int64))
    d = np.ascontiguousarray(np.atleast_2d(np.asarray(demands, dtype=float)))
    m = np.asarray(servers, dtype=np.int64)
    if np.any(m > 1):
        raise ValueError("exact_mva takes single-server and delay stations; use convolution for several servers")
    z = np.zeros(len(n)) if think_times is None else np.asarray(think_times, dtype=float)
    if not np.all((z + d.sum(axis=0) > 0) | (n == 0)):
        raise ValueError("a closed class needs some demand or think time")
    throughput, residence = _recursion(d, (m == 1).astype(np.int64), z, *lattice(n))
    residence[:, n == 0] = 0.0
    return ClosedResult(throughput, residence * throughput, residence, d * throughput)
