"""Residence at stations where more important work takes the servers of less important work.

A customer waits for what is begun where all servers are busy and for those of its level and above that wait before it;
more important ones that come meanwhile stretch both, and its own time at a server. Exact where all work is exponential
and equally long (M/M/c with preemptive priorities), and at one server; approximate elsewhere.
"""

from __future__ import annotations

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import PRIORITY_SHARING, Floats, Known, State
from model.network.solvers.interference import away, drained_for
from model.network.solvers.servers import Found, mean_found

LEAST_LEFT = 1e-5
"""Least part of a station that more important work is taken to leave."""


@kernel(error_model="numpy")
def preempted(
    r: int, k: int, found: Floats, state: State, known: Known, slope: float, log_x: float
) -> tuple[float, float]:
    """(residence, log_x) of one passage of class r through station k, where it finds ``found`` (classes,) customers.

    ``slope`` and ``log_x`` are those of :func:`model.network.solvers.servers.mean_found` for the queue of its level
    and above.
    """
    throughput, service, priority = state.throughput, known.service, known.priority
    capacity, levels = known.capacity[k], known.levels[k]
    last, own = capacity[levels - 1], service[r, k]
    equals_as_own = known.discipline[k] == PRIORITY_SHARING
    above = _load_above(r, k, state, known)
    if levels > 1 and above > 0.0 and known.most_above[r, k] <= last:
        return _beside_few(r, k, found, state, known, above, slope, log_x)
    left = max(1.0 - above, LEAST_LEFT)
    ahead, load, begun, varied, begun_above = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if priority[s] < priority[r] or known.demands[s, k] <= 0.0:
            continue
        part = throughput[s] * known.demands[s, k] / last
        load += part
        ahead += found[s]
        # Equals that share a server stretch a visit in proportion to its own work, not to theirs.
        begun_above += part * service[s, k] if priority[s] > priority[r] else 0.0
        begun += part * (own if equals_as_own and priority[s] == priority[r] else service[s, k])
        if not equals_as_own and known.scv[s, k] != 1.0:
            # Work that was taken from a server waits with a residual, too: as much begun as more important work leaves.
            taken = part / max(1.0 - _load_above(s, k, state, known), LEAST_LEFT)
            varied += min(taken, found[s] / last) * service[s, k] * (known.scv[s, k] - 1.0) / 2.0
    if load <= 0.0:
        return known.demands[r, k], log_x
    alone = _alone(own, begun / load, above, left, capacity, levels)
    if levels == 1:
        at = Found(alone[0], min(load, ahead), min(load, ahead))
    else:
        most = _most_found(r, k, state, known)
        at, log_x = mean_found(load * last, True, capacity, 1.0 / capacity, alone, levels, most, slope, log_x)
    faster = 1.0
    if above > 0.0:
        # Who comes back at once finds nothing more important.
        one = begun_above / above / last
        faster = drained_for(r, k, one, left, 0.0, state, known)
        faster /= known.in_a_row[r, k]
    passed = throughput[r] * known.demands[r, k] / own
    absent = away(state.users[r], state.queue[r, k], passed) if known.rates[r] < 0.0 else np.inf
    waited = at.busy * varied / load
    for s in range(len(found)):
        if priority[s] < priority[r] or known.demands[s, k] <= 0.0:
            continue
        each = own if equals_as_own and priority[s] == priority[r] else service[s, k]
        part = throughput[s] * known.demands[s, k] / last / load
        first = faster if priority[s] > priority[r] else 1.0
        if equals_as_own and priority[s] > priority[r]:
            # All of those who share are at their work, and a residual of it is left, or of what piles up behind it,
            # for which a user comes the less often the longer that is.
            residual = service[s, k] * (1.0 + known.scv[s, k]) / 2.0 / last / left**2
            often = 1.0 if absent == np.inf else absent / (absent + residual)
            first *= 1.0 + often * (known.scv[s, k] - 1.0) / 2.0
        # What is begun where all servers are busy, and what waits for a server before it.
        waited += first * (at.busy * part + max(found[s] - at.served * part, 0.0)) * each
    return known.demands[r, k] / own * max(at.value + waited / last / left, own), log_x


@kernel(error_model="numpy")
def _beside_few(
    r: int, k: int, found: Floats, state: State, known: Known, above: float, slope: float, log_x: float
) -> tuple[float, float]:
    """(residence, log_x) as of :func:`preempted` beside more important customers of whom there are never more than
    servers, who take the part ``above`` of them.

    They leave the others a station of so many servers less. That they are now more and now less makes these wait for
    what piles up meanwhile: as long as the work that is not done follows a random walk, by the variance of how many
    are there and how long that lasts.
    """
    throughput, service, priority, own = state.throughput, known.service, known.priority, known.service[r, k]
    last = known.capacity[k, known.levels[k] - 1]
    many, taken = known.most_above[r, k], above * last
    free = max(last - taken, LEAST_LEFT * last)
    levels = int(np.ceil(free))
    capacity = np.minimum(np.arange(1.0, levels + 1.0), free)
    equals_as_own = known.discipline[k] == PRIORITY_SHARING
    work, begun, varied, ahead, most, longer = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if known.demands[s, k] <= 0.0 or priority[s] < priority[r]:
            continue
        done = throughput[s] * known.demands[s, k]
        if priority[s] > priority[r]:
            longer += done * service[s, k] * (1.0 + known.scv[s, k]) / 2.0
            continue
        work += done
        ahead += found[s]
        begun += done * (own if equals_as_own else service[s, k])
        varied += 0.0 if equals_as_own else done * service[s, k] * (known.scv[s, k] - 1.0) / 2.0
        if known.rates[s] > 0.0:
            most = -1.0
        elif most >= 0.0:
            most += state.users[s] - (1.0 if s == r else 0.0)
    if work <= 0.0:
        return known.demands[r, k], log_x
    alone = _alone(own, begun / work, 0.0, 1.0, capacity, levels)
    if levels == 1:
        at = Found(own / free, min(work / free, ahead), min(work / free, ahead))
    else:
        at, log_x = mean_found(work, True, capacity, 1.0 / capacity, alone, levels, most, slope, log_x)
    waited = at.busy * varied / work
    for s in range(len(found)):
        if priority[s] == priority[r] and known.demands[s, k] > 0.0:
            each, part = own if equals_as_own else service[s, k], throughput[s] * known.demands[s, k] / work
            waited += (at.busy * part + max(found[s] - at.served * part, 0.0)) * each
    # Each of them is there or away, as in a chain of two states.
    idle = max(1.0 - taken / many, 0.0)
    varies = longer * idle**2
    crowded = min(work / free, 1.0) * varies / free**2
    return known.demands[r, k] / own * max(at.value + waited / free + crowded, own), log_x


@kernel(_nrt=False)
def _load_above(r: int, k: int, state: State, known: Known) -> float:
    """Part of station k that work more important than class r takes."""
    priority, total = known.priority, 0.0
    for s in range(len(priority)):
        if priority[s] > priority[r]:
            last = known.capacity[k, known.levels[k] - 1]
            total += state.throughput[s] * known.demands[s, k] / last
    return total


@kernel(_nrt=False)
def _most_found(r: int, k: int, state: State, known: Known) -> float:
    """Most customers of its level and above that class r can find at station k; -1 where any number may come."""
    users = state.users
    total = 0.0
    for s in range(len(users)):
        if known.demands[s, k] > 0.0 and known.priority[s] >= known.priority[r]:
            if known.rates[s] > 0.0:
                return -1.0
            if known.rates[s] < 0.0:
                total += users[s]
    return total - 1.0 if known.rates[r] < 0.0 else total


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
