"""One station alone: birth and death, and M/G/1 with priorities.

Exact. ``birth_death`` has exponential service, the M/M/c and M/M/c/K queues included (Kleinrock, *Queueing Systems I*,
1975, chapter 3). M/G/1 has Poisson arrivals per class and general service times: Cobham, *Operations Research* 2, 1954
(non-preemptive); Kleinrock, *Queueing Systems II*, 1976, section 3.6, and Jaiswal, *Priority Queues*, 1968 (preemptive
resume).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class BirthDeath(NamedTuple):
    """One open station: ``queue_length``, mean ``busy`` servers or cores, ``loss_probability`` of arrivals."""

    queue_length: float
    busy: float
    loss_probability: float


def birth_death(
    load: float, capacity: ArrayLike, busy: ArrayLike | None = None, places: int | None = None
) -> BirthDeath:
    r"""Open station that works at ``capacity[n-1]`` times one server with n customers, the last beyond.

    .. math:: p_n = p_0 \prod_{i=1}^n \frac{a}{\alpha_i}

    Parameters
    ----------
    load : arrival rate times service on one server alone.
    capacity : (levels,) :math:`\alpha`.
    busy : (levels,) servers at work with n customers, default the capacity itself.
    places : customers at most; arrivals that find as many are refused. Default: no limit.

    Raises
    ------
    ValueError
        The load reaches the capacity of a station without limit.
    """
    alpha = np.asarray(capacity, dtype=float)
    used = alpha if busy is None else np.asarray(busy, dtype=float)
    if places is not None:
        beyond = max(places - len(alpha), 0)
        alpha, used = (np.concatenate((a, np.full(beyond, a[-1])))[:places] for a in (alpha, used))
    elif load >= alpha[-1]:
        raise ValueError(f"unstable station: load {load:g} on a capacity of {alpha[-1]:g}")
    if load <= 0:
        return BirthDeath(0.0, 0.0, 0.0)
    levels = len(alpha)
    log_p = np.concatenate(([0.0], np.cumsum(np.log(load) - np.log(alpha))))
    # The last term stands for all states from there on.
    ratio = load / alpha[-1] if places is None else 0.0
    p = np.exp(log_p - log_p.max())
    top = p[-1] / (1 - ratio)
    total = p[:-1].sum() + top
    n = np.arange(levels + 1)
    length = (p[:-1] @ n[:-1] + top * (levels + ratio / (1 - ratio))) / total
    at_work = (p[1:-1] @ used[: levels - 1] + top * used[-1]) / total
    loss = 0.0 if places is None else float(top / total)
    return BirthDeath(float(length), float(at_work), loss)


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
