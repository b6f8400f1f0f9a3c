"""One server with priorities: Poisson arrivals per class, general service times.

Exact. Sources: Cobham, *Operations Research* 2, 1954 (non-preemptive); Kleinrock, *Queueing Systems II*, 1976, section
3.6, and Jaiswal, *Priority Queues*, 1968 (preemptive resume).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def mg1_fcfs(arrival_rates: ArrayLike, mean_service: ArrayLike, second_moments: ArrayLike) -> Floats:
    """Mean response per class of M/G/1 first come, first served (Pollaczek-Khinchine)."""
    rates, service, second = (np.asarray(a, dtype=float) for a in (arrival_rates, mean_service, second_moments))
    load = float(rates @ service)
    if load >= 1:
        return np.full(len(rates), np.inf)
    return service + float(rates @ second) / (2 * (1 - load))


def mg1_head_of_line(
    arrival_rates: ArrayLike, mean_service: ArrayLike, second_moments: ArrayLike, priority: ArrayLike
) -> Floats:
    """Mean response per class of non-preemptive M/G/1.

    Args:
        arrival_rates: per class.
        mean_service: per class.
        second_moments: E[S^2] per class (2 mean^2 where exponential).
        priority: per class; a larger number is served first, equal numbers first come, first served.

    Returns:
        Mean response (wait + service) per class; infinity for classes at and below the level that saturates the server.
    """
    rates, service, second, level = (
        np.asarray(a, dtype=float) for a in (arrival_rates, mean_service, second_moments, priority)
    )
    residual = float(rates @ second) / 2
    response = np.empty(len(rates))
    for r in range(len(rates)):
        above = float((rates * service)[level > level[r]].sum())
        at_least = float((rates * service)[level >= level[r]].sum())
        response[r] = service[r] + residual / ((1 - above) * (1 - at_least)) if at_least < 1 else np.inf
    return response


def mg1_preemptive_resume(
    arrival_rates: ArrayLike, mean_service: ArrayLike, second_moments: ArrayLike, priority: ArrayLike
) -> Floats:
    """Mean response per class of preemptive-resume M/G/1; arguments as for ``mg1_head_of_line``."""
    rates, service, second, level = (
        np.asarray(a, dtype=float) for a in (arrival_rates, mean_service, second_moments, priority)
    )
    response = np.empty(len(rates))
    for r in range(len(rates)):
        above = float((rates * service)[level > level[r]].sum())
        at_least = float((rates * service)[level >= level[r]].sum())
        if at_least >= 1:
            response[r] = np.inf
            continue
        residual = float((rates * second)[level >= level[r]].sum()) / 2
        response[r] = service[r] / (1 - above) + residual / ((1 - above) * (1 - at_least))
    return response
