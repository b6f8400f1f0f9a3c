"""Open networks with product form: single class with routing (Jackson), many classes (BCMP).

Exact where the network has product form: Poisson arrivals; first come, first served stations with one exponential
service time for all classes; processor sharing, last come preemptive or delay stations with any service time.
Sources: Jackson 1963; Baskett, Chandy, Muntz, Palacios, *J. ACM* 22, 1975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from model.network.solvers.stations import mmc_response

Floats = NDArray[np.float64]


class OpenResult(NamedTuple):
    """Stations x classes: ``utilisation`` per server (busy servers at a delay), ``residence`` per passage of the
    network.
    """

    utilisation: Floats
    residence: Floats
    queue_length: Floats
    response: Floats


def traffic(external: ArrayLike, routing: ArrayLike) -> Floats:
    """Arrival rate at every station: solves x = external + routing' x.

    Raises:
        ValueError: some station is never left (the routing matrix keeps all work inside).
    """
    gamma = np.asarray(external, dtype=float)
    matrix = np.eye(len(gamma)) - np.asarray(routing, dtype=float).T
    if np.linalg.matrix_rank(matrix) < len(gamma):
        raise ValueError("routing keeps work inside the network: every station must lead out")
    return np.linalg.solve(matrix, gamma)


def visit_ratios(routing: ArrayLike, reference: int = 0) -> Floats:
    """Visits per visit to ``reference`` in a closed network with a stochastic routing matrix."""
    p = np.asarray(routing, dtype=float)
    n = len(p)
    matrix = np.eye(n) - p.T
    matrix[reference] = 0.0
    matrix[reference, reference] = 1.0
    right = np.zeros(n)
    right[reference] = 1.0
    return np.linalg.solve(matrix, right)


@njit(cache=True)
def open_kernel(rates: Floats, demands: Floats, servers: NDArray[np.int64], queue: Floats, residence: Floats) -> None:
    """Fills ``queue`` and ``residence`` (stations x classes); infinity at and above saturation."""
    for k in range(demands.shape[0]):
        busy = 0.0
        for r in range(demands.shape[1]):
            busy += rates[r] * demands[k, r]
        stretch = mmc_response(busy, 1.0, servers[k])
        for r in range(demands.shape[1]):
            residence[k, r] = demands[k, r] * stretch if demands[k, r] > 0.0 else 0.0
            queue[k, r] = rates[r] * residence[k, r] if rates[r] > 0.0 else 0.0


def open_product_form(rates: ArrayLike, demands: ArrayLike, servers: ArrayLike) -> OpenResult:
    """Open multi-class network from demands.

    Args:
        rates: (classes,) arrivals per unit time.
        demands: (stations, classes) service per passage of the network (visits x service).
        servers: (stations,) identical servers, -1 for a delay.

    Returns:
        Infinity in the residence of a saturated station.
    """
    x = np.asarray(rates, dtype=float)
    d = np.ascontiguousarray(demands, dtype=float)
    m = np.asarray(servers, dtype=np.int64)
    queue, residence = np.empty_like(d), np.empty_like(d)
    open_kernel(x, d, m, queue, residence)
    utilisation = d * x / np.where(m < 0, 1, m)[:, None]
    return OpenResult(utilisation, residence, queue, residence.sum(axis=0))


class BirthDeath(NamedTuple):
    """One open station: ``queue_length``, mean ``busy`` servers or cores, ``wait_probability``, distribution."""

    queue_length: float
    busy: float
    wait_probability: float
    probabilities: Floats


def open_load_dependent(load: float, capacity: ArrayLike, busy: ArrayLike | None = None) -> BirthDeath:
    """Open product-form station that works at ``capacity[n-1]`` times one server with n customers, the last beyond.

    Args:
        load: arrival rate x service on one server alone.
        capacity: (levels,).
        busy: (levels,) servers at work with n customers, default the capacity itself.

    Raises:
        ValueError: the load reaches the capacity.
    """
    alpha = np.asarray(capacity, dtype=float)
    used = alpha if busy is None else np.asarray(busy, dtype=float)
    if load >= alpha[-1]:
        raise ValueError(f"unstable station: load {load:g} on a capacity of {alpha[-1]:g}")
    if load <= 0:
        return BirthDeath(0.0, 0.0, 0.0, np.ones(1))
    levels = len(alpha)
    log_p = np.concatenate(([0.0], np.cumsum(np.log(load) - np.log(alpha))))
    ratio = load / alpha[-1]
    p = np.exp(log_p - log_p.max())
    top = p[-1] / (1 - ratio)
    total = p[:-1].sum() + top
    n = np.arange(levels + 1)
    length = (p[:-1] @ n[:-1] + top * (levels + ratio / (1 - ratio))) / total
    at_work = (p[1:-1] @ used[: levels - 1] + top * used[-1]) / total
    return BirthDeath(float(length), float(at_work), float(top / total), p / total)


def busy_at_queue_length(queue_length: float, capacity: ArrayLike, busy: ArrayLike) -> float:
    """Mean busy servers of a load-dependent station whose mean queue length is known, as if its arrivals were
    Poisson."""
    alpha = np.asarray(capacity, dtype=float)
    low, high = 0.0, float(alpha[-1]) * (1 - 1e-9)
    for _ in range(60):
        middle = (low + high) / 2
        if open_load_dependent(middle, alpha, busy).queue_length < queue_length:
            low = middle
        else:
            high = middle
    return open_load_dependent(low, alpha, busy).busy
