"""Approximate mean value analysis of arrays: the Linearizer, at several servers, with priorities and weights.

Networks whose stations all share or delay, the bulk of a sweep, go to a kernel of their own that does the same much
faster (:mod:`model.network.solvers.linearizer_sharing`); everything else to :mod:`model.network.solvers.linearizer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.solvers.linearizer import (
    DELAY,
    FCFS,
    HEAD_OF_LINE,
    PREEMPTIVE,
    PRIORITY_SHARING,
    SHARING,
    WEIGHTED,
    Floats,
    Ints,
    linearizer,
)
from model.network.solvers.linearizer_sharing import linearizer_sharing

__all__ = [
    "DELAY",
    "FCFS",
    "HEAD_OF_LINE",
    "PREEMPTIVE",
    "PRIORITY_SHARING",
    "SHARING",
    "WEIGHTED",
    "AmvaResult",
    "amva",
    "capacities",
]

OUTER_PASSES = 3


class AmvaResult(NamedTuple):
    """``throughput`` (classes,); ``queue_length``, ``residence`` per passage and ``utilisation`` (stations, classes).

    Utilisation is per server. ``iterations`` counts core steps; ``converged`` is False where the last core did not
    settle or an open class saturates.
    """

    throughput: Floats
    queue_length: Floats
    residence: Floats
    utilisation: Floats
    iterations: int
    converged: bool


def capacities(servers: Ints, load_dependent: Mapping[int, ArrayLike]) -> tuple[Floats, Ints]:
    """Capacity (stations, levels) with 1, 2, ... customers and how many levels each station has."""
    rows = [
        np.asarray(load_dependent[k], dtype=float) if k in load_dependent else np.arange(1.0, max(int(c), 1) + 1)
        for k, c in enumerate(servers)
    ]
    levels = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.ones((len(rows), int(levels.max(initial=1))))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
        table[k, len(row) :] = row[-1]
    return table, levels


def amva(
    populations: ArrayLike,
    demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
    *,
    rates: ArrayLike | None = None,
    discipline: ArrayLike | None = None,
    service: ArrayLike | None = None,
    scv: ArrayLike | None = None,
    priority: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    load_dependent: Mapping[int, ArrayLike] | None = None,
    passes: int = OUTER_PASSES,
    tolerance: float = 1e-6,
) -> AmvaResult:
    """Approximate solution of a closed, open or mixed multi-class network.

    Args:
        populations: (classes,) customers; ignored for open classes.
        demands: (stations, classes) visits x service.
        servers: (stations,), -1 for a delay.
        think_times: (classes,).
        rates: (classes,) arrival rates of open classes, -1 for closed ones; default all closed.
        discipline: (stations,) one of the codes of this module; default sharing (product form).
        service: (stations, classes) time of one visit, needed where classes with different service queue together.
        scv: (stations, classes) squared coefficient of variation of one visit; default 1.
        priority: (classes,) larger goes first.
        weights: (classes,) shares under ``WEIGHTED``.
        load_dependent: station index -> capacity with 1, 2, ... customers, in multiples of one server, the last beyond.
        passes: 1 is Bard-Schweitzer, 3 the Linearizer.
    """
    d = np.ascontiguousarray(np.atleast_2d(np.asarray(demands, dtype=float)))
    stations, classes = d.shape
    m = np.asarray(servers, dtype=np.int64)
    codes = np.zeros(stations, dtype=np.int64) if discipline is None else np.asarray(discipline, dtype=np.int64)
    codes = np.where(m < 0, DELAY, codes)
    n = np.asarray(populations, dtype=float)
    x = np.full(classes, -1.0) if rates is None else np.asarray(rates, dtype=float)
    z = np.zeros(classes) if think_times is None else np.asarray(think_times, dtype=float)
    one = d.copy() if service is None else np.ascontiguousarray(service, dtype=float)
    one = np.where((d > 0) & ~(one > 0), d, np.nan_to_num(one))
    variation = np.ones_like(d) if scv is None else np.nan_to_num(np.asarray(scv, dtype=float), nan=1.0)
    levels_of_priority = np.zeros(classes) if priority is None else np.asarray(priority, dtype=float)
    shares = np.ones(classes) if weights is None else np.asarray(weights, dtype=float)
    queue, residence, throughput = np.zeros_like(d), np.zeros_like(d), np.zeros(classes)
    capacity, levels = capacities(m, {} if load_dependent is None else load_dependent)
    if np.all((codes == SHARING) | (codes == DELAY)):
        iterations, converged = linearizer_sharing(
            n, x, d, capacity, levels, codes, z, passes, tolerance, queue, residence, throughput
        )
    else:
        iterations, converged = linearizer(
            n, x, d, one, variation, capacity, levels, codes, levels_of_priority, shares, z, passes, tolerance, queue,
            residence, throughput,
        )  # fmt: skip
    utilisation = d * throughput / np.where(m < 0, 1.0, capacity[np.arange(stations), levels - 1])[:, None]
    return AmvaResult(throughput, queue, residence, utilisation, iterations, converged)
