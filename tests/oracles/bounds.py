"""Bounds on closed single-class networks of single-server stations: asymptotic, balanced job, proportional.

Sources: Denning and Buzen 1978 (asymptotic); Zahorjan, Sevcik, Eager, Galler, *Comm. ACM* 25, 1982 (balanced job);
Hsieh and Lam, *Performance Evaluation* 7, 1987, in the non-iterative form of Casale, Muntz, Serazzi, *IEEE TC* 57,
2008 (proportional). All hold for product-form networks; the asymptotic ones need only the operational laws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Bounds(NamedTuple):
    """Throughput and response (without think time) from below and above."""

    throughput_lower: float
    throughput_upper: float
    response_lower: float
    response_upper: float


def _bounds(lower: float, upper: float, customers: float, think: float) -> Bounds:
    return Bounds(lower, upper, customers / upper - think, customers / lower - think)


def asymptotic(
    customers: float, demands: ArrayLike, think_time: float = 0.0, servers: ArrayLike | None = None
) -> Bounds:
    """Asymptotic bounds; ``servers`` per station, -1 for a delay, default one each."""
    d = np.asarray(demands, dtype=float)
    m = np.ones(len(d)) if servers is None else np.asarray(servers, dtype=float)
    queueing = m > 0
    total = float(d.sum()) + think_time
    # At worst everybody else is ahead at every queueing station.
    lower = customers / (total + (customers - 1) * float((d / np.maximum(m, 1))[queueing].sum()))
    ceiling = 1 / float((d / np.maximum(m, 1))[queueing].max()) if np.any(d[queueing] > 0) else np.inf
    return _bounds(lower, min(customers / total, ceiling), customers, think_time)


def balanced_job(customers: float, demands: ArrayLike, think_time: float = 0.0) -> Bounds:
    """Balanced-job bounds; exact where all demands are equal and nobody thinks."""
    d = np.asarray(demands, dtype=float)
    total, largest, mean = float(d.sum()), float(d.max()), float(d.mean())
    n, z = customers, think_time
    lower = n / (total + z + (n - 1) * largest / (1 + z / (n * total)))
    upper = min(1 / largest, n / (total + z + (n - 1) * mean / (1 + z / total)))
    return _bounds(lower, upper, n, z)


def proportional(customers: float, demands: ArrayLike, think_time: float = 0.0) -> Bounds:
    """Proportional bounds."""
    d = np.asarray(demands, dtype=float)
    n, z = customers, think_time
    total, largest = float(d.sum()), float(d.max())
    scaled = d / largest
    heavy = largest * float((scaled**n).sum() / (scaled ** (n - 1)).sum())
    even = float((d**2).sum()) / total
    lower = n / (total + z + heavy * (n - 1))
    upper = min(1 / largest, n / (total + z + even * (n - 1 - z / largest)))
    return _bounds(lower, upper, n, z)


def knee(demands: ArrayLike, think_time: float = 0.0) -> float:
    """Population N* at which the asymptotes of throughput cross."""
    d = np.asarray(demands, dtype=float)
    return (float(d.sum()) + think_time) / float(d.max())
