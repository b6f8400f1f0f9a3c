"""Residence at stations where more important work takes the servers of less important work.

A customer waits for what is begun where all servers are busy and for those of its level and above that wait before it;
more important ones that come meanwhile stretch both, and its own time at a server. Exact where all work is exponential
and equally long (M/M/c with preemptive priorities), and at one server; approximate elsewhere.
"""

from __future__ import annotations

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import PRIORITY_SHARING, Classes, Floats, Stations, Visits
from model.network.solvers.interference import away, drained, users_above
from model.network.solvers.servers import mean_found

LEAST_LEFT = 1e-5
"""Least part of a station that more important work is taken to leave."""


@kernel(error_model="numpy")
def preempted(
    r: int,
    k: int,
    found: Floats,
    queue: Floats,
    throughput: Floats,
    users: Floats,
    slope: float,
    log_x: float,
    classes: Classes,
    visits: Visits,
    stations: Stations,
) -> tuple[float, float]:
    """(residence, log_x) of one passage of class r through station k.

    ``found`` (classes,) are the customers that it finds, ``queue`` (classes, stations) those there on average;
    ``users`` (classes,) the populations of closed classes.
    ``slope`` and ``log_x`` are those of :func:`model.network.solvers.servers.mean_found` for the queue of its level
    and above.
    """
    service, priority = visits.service, classes.priority
    capacity, levels = stations.capacity[k], stations.levels[k]
    last, own = capacity[levels - 1], service[r, k]
    equals_as_own = stations.discipline[k] == PRIORITY_SHARING
    above = _load_above(r, k, throughput, last, classes, visits)
    left = max(1.0 - above, LEAST_LEFT)
    ahead, load, begun, varied, begun_above = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if priority[s] < priority[r] or visits.demands[s, k] <= 0.0:
            continue
        part = throughput[s] * visits.demands[s, k] / last
        load += part
        ahead += found[s]
        # Equals that share a server stretch a visit in proportion to its own work, not to theirs.
        begun_above += part * service[s, k] if priority[s] > priority[r] else 0.0
        begun += part * (own if equals_as_own and priority[s] == priority[r] else service[s, k])
        if not equals_as_own and visits.scv[s, k] != 1.0:
            # Work that was taken from a server waits with a residual, too: as much begun as more important work leaves.
            taken = part / max(1.0 - _load_above(s, k, throughput, last, classes, visits), LEAST_LEFT)
            varied += min(taken, found[s] / last) * service[s, k] * (visits.scv[s, k] - 1.0) / 2.0
    if load <= 0.0:
        return visits.demands[r, k], log_x
    alone = _alone(own, begun / load, above, left, capacity, levels)
    if levels == 1:
        at_server, busy, served = alone[0], min(load, ahead), min(load, ahead)
    else:
        most = _most_found(r, k, users, classes, visits)
        at_server, busy, served, log_x = mean_found(
            load * last, True, capacity, 1.0 / capacity, alone, levels, most, slope, log_x
        )
    faster = 1.0
    if above > 0.0:
        is_user = classes.rates[r] < 0.0
        since = away(r, k, queue, throughput, users, visits) * last * above / begun_above if is_user else np.inf
        faster = drained(int(users_above(r, k, users, classes, visits)), left, since)
    waited = busy * varied / load
    for s in range(len(found)):
        if priority[s] < priority[r] or visits.demands[s, k] <= 0.0:
            continue
        each = own if equals_as_own and priority[s] == priority[r] else service[s, k]
        part = throughput[s] * visits.demands[s, k] / last / load
        first = faster if priority[s] > priority[r] else 1.0
        # What is begun where all servers are busy, and what waits for a server before it.
        waited += first * (busy * part + max(found[s] - served * part, 0.0)) * each
    return visits.demands[r, k] / own * max(at_server + waited / last / left, own), log_x


@kernel()
def _load_above(r: int, k: int, throughput: Floats, last: float, classes: Classes, visits: Visits) -> float:
    """Part of station k that work more important than class r takes."""
    total = 0.0
    for s in range(len(throughput)):
        if classes.priority[s] > classes.priority[r]:
            total += throughput[s] * visits.demands[s, k] / last
    return total


@kernel()
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


@kernel(error_model="numpy")
def _alone(own: float, each: float, above: float, left: float, capacity: Floats, levels: int) -> Floats:
    """(levels,) time from coming to a server to the end where 0, 1, ... customers ahead are at others.

    Each of those ahead leaves after ``each`` at a server. More important ones ask for the part ``above`` of the
    station; where they take the last server, it is back after what one of them adds to a queue served with ``left``.
    """
    time, part = np.empty(levels), np.empty(levels)
    last = capacity[levels - 1]
    comes, back = above * last / each, each / last / left
    # The time with n ahead is time[n] + part[n] x the time with n + 1 ahead, solved from the last level down.
    for n in range(levels):
        before = capacity[n - 1] if n > 0 else 0.0
        leaves, served = before / each, (capacity[n] - before) / own
        rate = leaves + served + comes - (leaves * part[n - 1] if n > 0 else 0.0)
        time[n] = (1.0 + (leaves * time[n - 1] if n > 0 else 0.0)) / rate
        part[n] = comes / rate
    time[levels - 1] = (time[levels - 1] + part[levels - 1] * back) / (1.0 - part[levels - 1])
    for n in range(levels - 2, -1, -1):
        time[n] += part[n] * time[n + 1]
    return time
