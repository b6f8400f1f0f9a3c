"""Residence at stations whose order of service matters, given the customers that an arrival finds there.

To add a discipline: a code in :mod:`model.network.solvers.arrays`, a function here, and its line in :func:`residence`.

Sources: priorities follow Bryant et al., *ACM TOCS* 2, 1984; class-dependent first come, first served and its
variability follow Lazowska et al., *Quantitative System Performance*, 1984, sections 11.4-11.5.
"""

from __future__ import annotations

from numba import njit

from model.network.kernel_cache import with_room
from model.network.solvers.arrays import (
    FCFS,
    HEAD_OF_LINE,
    PRIORITY_SHARING,
    WEIGHTED,
    Classes,
    Floats,
    Stations,
    Visits,
)

_kernel = with_room(njit(cache=True, error_model="numpy", forceinline=True), __file__)


@_kernel
def residence(
    r: int,
    k: int,
    found: Floats,
    throughput: Floats,
    phi: float,
    busy: float,
    classes: Classes,
    visits: Visits,
    stations: Stations,
) -> float:
    """Residence of class r per passage through station k.

    ``found`` (classes,) are the customers that an arrival finds; ``phi`` and ``busy`` come from
    :func:`model.network.solvers.servers.idle_credit`.
    """
    code = stations.discipline[k]
    c = stations.capacity[k, stations.levels[k] - 1]
    if code == WEIGHTED:
        return visits.demands[r, k] * (phi + _weighted(r, found, classes.weights) / c)
    times = visits.demands[r, k] / visits.service[r, k]
    if code == PRIORITY_SHARING:
        return times * _by_level(r, k, c, found, throughput, phi, classes.priority, visits)
    return times * _in_order(r, k, code, c, found, throughput, phi, busy, classes.priority, visits)


@_kernel
def _weighted(r: int, found: Floats, weights: Floats) -> float:
    """Customers found, each counted by its share against that of class r."""
    total = 0.0
    for s in range(len(found)):
        total += weights[s] / weights[r] * found[s]
    return total


@_kernel
def _in_order(
    r: int,
    k: int,
    code: int,
    c: float,
    found: Floats,
    throughput: Floats,
    phi: float,
    busy: float,
    priority: Floats,
    visits: Visits,
) -> float:
    """One visit where work waits in order: as it came, or by priority with or without preemption."""
    service = visits.service
    backlog, present, above, residual = 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        load = throughput[s] * visits.demands[s, k] / c
        ahead = 0.0
        if code == FCFS or priority[s] >= priority[r]:
            ahead = found[s]
        elif code == HEAD_OF_LINE:
            # Of those behind, the one already in service is not overtaken.
            ahead = min(load, found[s])
        else:
            load = 0.0
        backlog += service[s, k] * ahead
        present += ahead
        residual += load * service[s, k] * (visits.scv[s, k] - 1.0) / 2.0
        if code != FCFS and priority[s] > priority[r]:
            above += load
    own = service[r, k]
    mean = backlog / present if present > 0.0 else own
    crowded = 1.0 if c == 1.0 else busy
    wait = max(backlog / c + (phi - 1.0) * mean + residual * crowded / c, 0.0)
    free = max(1.0 - above, 1e-3)
    if code == HEAD_OF_LINE:
        return own + wait / free
    return (own + wait) / free


@_kernel
def _by_level(
    r: int,
    k: int,
    c: float,
    found: Floats,
    throughput: Floats,
    phi: float,
    priority: Floats,
    visits: Visits,
) -> float:
    """One visit where priorities are served strictly in order, and equals share, each in proportion to its own work."""
    equals, over, above = 0.0, 0.0, 0.0
    for s in range(len(found)):
        if priority[s] == priority[r]:
            equals += found[s]
        elif priority[s] > priority[r]:
            over += visits.service[s, k] * found[s]
            above += throughput[s] * visits.demands[s, k] / c
    # The credit for idle engines is that of the whole queue, which work that goes first does not see.
    stretched = visits.service[r, k] * max(phi + equals / c, 1.0) + over / c
    return stretched / max(1.0 - above, 1e-3)
