"""One open product-form station whose capacity depends on the customers present, the M/M/c queue included.

Source: Kleinrock, *Queueing Systems I*, 1975, chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
