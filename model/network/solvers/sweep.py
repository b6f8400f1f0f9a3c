"""Many points of one network at once, compiled: populations, rates or demands that vary from point to point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.kernel_cache import kernel
from model.network.solvers.amva import OUTER_PASSES, known_of
from model.network.solvers.arrays import DELAY, Floats, Known, State
from model.network.solvers.linearizer import linearizer


class SweepResult(NamedTuple):
    """``throughput`` and ``response`` (points, classes), ``utilisation`` (points, stations), ``converged``
    (points,)."""

    throughput: Floats
    response: Floats
    utilisation: Floats
    converged: np.ndarray


@kernel(nogil=True)
def _points(
    populations: Floats,
    rates: Floats,
    demands: Floats,
    known: Known,
    passes: int,
    tolerance: float,
    result: SweepResult,
) -> None:
    """Fills ``result``, point after point, and ``known`` with those of the point; ``demands`` (points or 1, classes,
    stations)."""
    n_classes, n_stations = demands.shape[1:]
    queue, residence = np.empty((n_classes, n_stations)), np.empty((n_classes, n_stations))
    for p in range(len(populations)):
        d = demands[p if len(demands) > 1 else 0]
        known.rates[:], known.demands[:], known.service[:] = rates[p], d, d
        queue[:], residence[:] = 0.0, 0.0
        throughput = result.throughput[p]
        state = State(populations[p], queue, residence, throughput)
        _, result.converged[p] = linearizer(state, known, passes, tolerance)
        for r in range(n_classes):
            result.response[p, r] = residence[r].sum()
        for k in range(n_stations):
            busy = 0.0
            for r in range(n_classes):
                busy += throughput[r] * d[r, k]
            if known.discipline[k] != DELAY:
                busy /= known.capacity[k, known.levels[k] - 1]
            result.utilisation[p, k] = busy


def sweep(
    populations: ArrayLike,
    demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
    *,
    rates: ArrayLike | None = None,
    load_dependent: Mapping[int, ArrayLike] | None = None,
    passes: int = OUTER_PASSES,
    tolerance: float = 1e-6,
) -> SweepResult:
    """Approximate mean value analysis at every point of a product-form network.

    Args:
        populations: (points, classes), ignored for open classes.
        demands: (stations, classes), or (points, stations, classes) where they vary.
        servers: (stations,), -1 for a delay.
        think_times: (classes,).
        rates: (points, classes) arrival rates, -1 for closed classes; default all closed.
        load_dependent: station index -> capacity with 1, 2, ... customers.
        passes: 1 is Bard-Schweitzer, 3 the Linearizer.
        tolerance: largest relative change of a queue length at the end.

    Returns:
        ``converged`` is False at points where an open class saturates a station.
    """
    n = np.ascontiguousarray(np.atleast_2d(np.asarray(populations, dtype=float)))
    d = np.asarray(demands, dtype=float)
    d = np.ascontiguousarray((d[None] if d.ndim == 2 else d).swapaxes(1, 2))
    # A copy: the loops would be compiled once more for an array that cannot be written to.
    x = np.full(n.shape, -1.0) if rates is None else np.array(np.broadcast_to(rates, n.shape), float, order="C")
    known = known_of(d[0].T, servers, load_dependent, think=think_times)
    result = SweepResult(
        np.zeros(n.shape), np.zeros(n.shape), np.zeros((len(n), d.shape[2])), np.zeros(len(n), dtype=np.bool_)
    )
    _points(n, x, d, known, passes, tolerance, result)
    return result
