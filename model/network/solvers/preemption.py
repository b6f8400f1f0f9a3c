"""Residence at stations where more important work takes the servers of less important work.

A customer is at a server while those of its level and above that are ahead of it leave one. So its time follows from
how many it finds, how fast they leave and how fast more important ones come. Exact where all work is exponential and
equally long (M/M/c with preemptive priorities), and at one server; approximate elsewhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from model.network.kernel_cache import with_room
from model.network.solvers.arrays import PRIORITY_SHARING, Classes, Floats, Stations, Visits
from model.network.solvers.interference import drained, users_above
from model.network.solvers.servers import idle_credit

LEAST_LEFT = 1e-3
"""Least part of a station that more important work is taken to leave."""


@with_room(njit(cache=True, error_model="numpy"), __file__)
def preempted(
    r: int,
    k: int,
    found: Floats,
    throughput: Floats,
    users: Floats,
    slope: float,
    log_x: float,
    classes: Classes,
    visits: Visits,
    stations: Stations,
) -> tuple[float, float]:
    """(residence, log_x) of one passage of class r through station k.

    ``found`` (classes,) are the customers that it finds; ``users`` (classes,) the populations of closed classes.
    ``slope`` and ``log_x`` are those of :func:`model.network.solvers.servers.idle_credit` for the queue of its level
    and above.
    """
    service, priority = visits.service, classes.priority
    capacity, levels = stations.capacity[k], stations.levels[k]
    last, own = capacity[levels - 1], service[r, k]
    equals_as_own = stations.discipline[k] == PRIORITY_SHARING
    above = _load_above(r, k, throughput, last, classes, visits)
    left = max(1.0 - above, LEAST_LEFT)
    ahead, load, begun, varied = 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if priority[s] < priority[r] or visits.demands[s, k] <= 0.0:
            continue
        part = throughput[s] * visits.demands[s, k] / last
        load += part
        ahead += found[s]
        # Equals that share a server stretch a visit in proportion to its own work, not to theirs.
        each = own if equals_as_own and priority[s] == priority[r] else service[s, k]
        begun += part * each
        if not equals_as_own and visits.scv[s, k] != 1.0:
            # Work that was taken from a server waits with a residual, too: as much begun as more important work leaves.
            taken = part / max(1.0 - _load_above(s, k, throughput, last, classes, visits), LEAST_LEFT)
            varied += min(taken, found[s] / last) * service[s, k] * (visits.scv[s, k] - 1.0) / 2.0
    each = begun / load if load > 0.0 else own
    alone = _alone(own, each, above, each / last / left, capacity, levels)
    most = _most_found(r, k, users, classes, visits)
    time, busy, served, log_x = idle_credit(
        load * last, capacity, 1.0 / capacity, alone, levels, most, slope, log_x, True
    )
    crowded = min(load, ahead) if levels == 1 else busy
    if levels == 1:
        served = crowded
    faster = drained(int(users_above(r, k, users, classes, visits)), left)
    waited = 0.0
    for s in range(len(found)):
        if priority[s] < priority[r] or visits.demands[s, k] <= 0.0:
            continue
        each = own if equals_as_own and priority[s] == priority[r] else service[s, k]
        part = throughput[s] * visits.demands[s, k] / last / load if load > 0.0 else 0.0
        first = faster if priority[s] > priority[r] else 1.0
        waited += first * (crowded * part + max(found[s] - served * part, 0.0)) * each
    waited += crowded * varied / load if load > 0.0 else 0.0
    return visits.demands[r, k] / own * max(time + waited / last / left, own), log_x


@with_room(njit(cache=True), __file__)
def _load_above(r: int, k: int, throughput: Floats, last: float, classes: Classes, visits: Visits) -> float:
    """Part of station k that work more important than class r takes."""
    total = 0.0
    for s in range(len(throughput)):
        if classes.priority[s] > classes.priority[r]:
            total += throughput[s] * visits.demands[s, k] / last
    return total


@with_room(njit(cache=True), __file__)
def _most_found(r: int, k: int, users: Floats, classes: Classes, visits: Visits) -> float:
    """Most customers of its level and above that class r can find at station k; -1 where any number may come."""
    total = 0.0
    for s in range(len(users)):
        if visits.demands[s, k] > 0.0 and classes.priority[s] >= classes.priority[r]:
            if classes.rates[s] > 0.0:
                return -1.0
            if classes.rates[s] < 0.0:
                total += users[s]
    return total - 1.0 if classes.rates[r] < 0.0 else total


@with_room(njit(cache=True, error_model="numpy"), __file__)
def _alone(own: float, each: float, above: float, tail: float, capacity: Floats, levels: int) -> Floats:
    """(levels,) time of a customer that finds 0, 1, ... customers ahead, less ``tail`` for each of them.

    Each of those ahead leaves after ``each`` at a server, more important ones ask for the part ``above`` of the
    station, and ``tail`` is what each customer ahead adds where all servers are taken.
    """
    time, part = np.empty(levels), np.empty(levels)
    comes = above * capacity[levels - 1] / each
    # The time with n ahead is time[n] + part[n] x the time with n + 1 ahead, solved from the last level down.
    for n in range(levels):
        before = capacity[n - 1] if n > 0 else 0.0
        leaves, served = before / each, (capacity[n] - before) / own
        rate = leaves + served + comes - (leaves * part[n - 1] if n > 0 else 0.0)
        time[n] = (1.0 + (leaves * time[n - 1] if n > 0 else 0.0)) / rate
        part[n] = comes / rate
    last = levels - 1
    time[last] = (time[last] + part[last] * tail) / (1.0 - part[last])
    for n in range(last - 1, -1, -1):
        time[n] += part[n] * time[n + 1]
    return time
