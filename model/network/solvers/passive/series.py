"""Generating functions of closed networks of one class, in logarithms."""

from __future__ import annotations

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.reduction import Floats


@kernel()
def log_convolved(a: Floats, b: Floats) -> Floats:
    """Logarithms of the convolution of two series of which the logarithms are given, as far as they go."""
    out = np.full(len(a), -np.inf)
    for n in range(len(a)):
        top = -np.inf
        for j in range(n + 1):
            top = max(top, a[j] + b[n - j])
        if top > -np.inf:
            total = 0.0
            for j in range(n + 1):
                total += np.exp(a[j] + b[n - j] - top)
            out[n] = top + np.log(total)
    return out


@kernel()
def closed_chain(means: Floats, curves: Floats, listed: int) -> tuple[Floats, Floats, Floats]:
    """A closed network of one class of 1, 2, ... customers.

    Args:
        means: (stations,) service of a passage on one server.
        curves: (stations, customers) capacity with so many customers.
        listed: so many stations come first of which the queue is wanted; of the rest the chances.

    Returns:
        Throughput (customers,), queue (customers, listed), and (rest, customers, customers) the chances that of 1, 2,
        ... in the network 1, 2, ... are at a station.
    """
    stations, most = curves.shape
    series = np.zeros((stations, most + 1))
    for k in range(stations):
        for n in range(most):
            series[k, n + 1] = series[k, n] + np.log(means[k] / curves[k, n]) if means[k] > 0 else -np.inf
    none = np.full(most + 1, -np.inf)
    none[0] = 0.0
    after = np.empty((stations + 1, most + 1))
    after[stations] = none
    for k in range(stations - 1, -1, -1):
        after[k] = log_convolved(series[k], after[k + 1])
    whole, before = after[0], none
    rate = np.exp(whole[:-1] - whole[1:])
    queue = np.zeros((most, listed))
    chances = np.zeros((stations - listed, most, most))
    for k in range(stations):
        others = log_convolved(before, after[k + 1])
        for n in range(1, most + 1):
            for j in range(1, n + 1):
                p = np.exp(series[k, j] + others[n - j] - whole[n])
                if k < listed:
                    queue[n - 1, k] += j * p
                else:
                    chances[k - listed, n - 1, j - 1] = p
        before = log_convolved(before, series[k])
    return rate, queue, chances
