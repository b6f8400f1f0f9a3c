"""Users at a station: while they are there, they do not come.

Source: Kleinrock, *Queueing Systems I*, 1975, section 3.8 (finite customer population, machine interference).
"""

from __future__ import annotations

import math

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import FCFS, WEIGHTED, Floats, Known, State

MOST_USERS = 100
"""Of more important classes; more are taken for so many, who are nearly a stream."""
OFTEN_IDLE = 0.7
"""Load of users, as a part of what is left for them, below which they do not crowd each other out."""
MOST_COUNTED = 100
"""Users at a station; more are taken to leave it no rest."""
LEAST_FREE = 1e-6
"""Least part of a station that is taken to be left for users."""
MOST_LEFT = 1.0 - 1e-6
"""Above it nobody more important is met."""
NEWTON_STEPS = 50
LEAST_VARIED = 1e-3
"""Squared coefficient of variation below which work is taken to be that varied."""


@kernel(_nrt=False)
def users_above(r: int, k: int, state: State, known: Known) -> float:
    """Users whose work at station k is more important than class r's; 0 where open classes are."""
    total, users = 0.0, state.users
    for s in range(len(users)):
        if known.priority[s] > known.priority[r] and known.demands[s, k] > 0.0:
            if known.rates[s] > 0.0:
                return 0.0
            total += users[s] if known.rates[s] < 0.0 else 0.0
    return total


@kernel(_nrt=False)
def away(users: float, there: float, passed: float) -> float:
    """Seconds from leaving a station until a user is back, of so many of whom ``there`` are at it and ``passed`` pass
    it in a second."""
    return max(users - there, 0.0) / passed if passed > 0.0 else np.inf


@kernel(error_model="numpy")
def drained(users: int, left: float, since: float = np.inf) -> float:
    """Time until the more important work that is found has left, over that of a stream of as much work.

    Users who are there do not come: the longer the queue, the fewer. One server, whose users come back after
    exponential times such that the part ``left`` of it is idle (machine interference: Erlang's loss formula). Whoever
    leaves the server finds nothing more important there: after the exponential time ``since``, in services of that
    work, there is less than on average (resolvent of a birth-death process; for a stream the workload of M/M/1).
    """
    if left >= MOST_LEFT or since <= 0.0:
        return 1.0 if since > 0.0 else 0.0
    if users == 0:
        if since == np.inf:
            return 1.0
        part = 1.0 / since - left
        root = (part + np.sqrt(part * part + 4.0 / since)) / 2.0
        return max(since * (1.0 / since / root - left), 0.0) * left / (1.0 - left)
    users = min(users, MOST_USERS)
    back = 1.0 / _offered(users, left)
    # How long it takes until one less is there, from all of them down; then until none is there.
    steps, drain, chances = np.zeros(users + 2), np.zeros(users + 1), np.ones(users + 1)
    for i in range(users, 0, -1):
        steps[i] = 1.0 + back * (users - i) * steps[i + 1]
    for i in range(1, users + 1):
        drain[i] = drain[i - 1] + steps[i]
        chances[i] = chances[i - 1] * back * (users - i + 1)
    mean = chances @ np.arange(users + 1.0)
    if since == np.inf:
        return float(chances @ drain * left / mean)
    # The mean of ``drain`` after that time, from nobody there: value[i] = low[i] + gain[i] x value[i - 1].
    low, gain = 0.0, 0.0
    for i in range(users, -1, -1):
        comes, goes = back * (users - i), 1.0 if i > 0 else 0.0
        rate = 1.0 / since + comes * (1.0 - gain) + goes
        low, gain = (drain[i] / since + comes * low) / rate, goes / rate
    return float(low * left * chances.sum() / mean)


@kernel(error_model="numpy", _nrt=False)
def soon_back(r: int, k: int, state: State, known: Known) -> float:
    """Seconds for which transactions of class r are elsewhere before those visits to station k that are not their
    first."""
    away_s = 0.0
    for j in range(state.queue.shape[1]):
        away_s += known.between[r, k, j] * state.queue[r, j]
    back = known.demands[r, k] / known.service[r, k] / known.in_a_row[r, k] * known.share[r, k]
    return away_s / (state.throughput[r] * back) if state.throughput[r] > 0.0 else np.inf


@kernel(error_model="numpy")
def drained_for(r: int, k: int, served_s: float, left: float, own_s: float, state: State, known: Known) -> float:
    """:func:`drained` for class r at station k, the mean of its visits: of those that are soon back, by how long they
    were away, and of a transaction's first, which users make after the rest of their cycle.

    The station would serve one of the more important after the other in ``served_s``; ``own_s`` is what counts of a
    visit as time since nothing more important was there.
    """
    throughput, share = state.throughput, known.share[r, k]
    many, entries = (
        int(users_above(r, k, state, known)),
        known.demands[r, k] / known.service[r, k] / known.in_a_row[r, k],
    )
    since, out = np.inf, 0.0
    if known.rates[r] < 0.0:
        since = away(state.users[r], state.queue[r, k], throughput[r] * entries)
    if share > 0.0 and throughput[r] > 0.0:
        soon = soon_back(r, k, state, known)
        since = max(since - share * soon, 0.0) / (1.0 - share)
        out = share * drained(many, left, (soon + own_s) / served_s)
    return out + (1.0 - share) * drained(many, left, (since + own_s) / served_s)


@kernel(error_model="numpy", _nrt=False)
def _offered(users: int, left: float) -> float:
    """Services that a user's time away is long, such that the part ``left`` of one server is idle.

    Erlang's formula is below offered ** users / users!, and concave in logarithms: Newton's method stays below.
    """
    log_offered = (np.log(left) + math.lgamma(users + 1.0)) / users
    for _ in range(NEWTON_STEPS):
        offered, idle = np.exp(log_offered), 1.0
        for i in range(1, users + 1):
            idle = offered * idle / (i + offered * idle)
        step = np.log(left / idle) / (users - offered * (1.0 - idle))
        log_offered += step
        if step < 1e-10:
            break
    return float(np.exp(log_offered))


@kernel(error_model="numpy")
def too_much(r: int, k: int, state: State, known: Known) -> tuple[float, float, float]:
    """(excess, there, work) of the users who share station k with class r: by how much more they get done than they can
    while they are away between their visits, as a part of it; how many are there, and their work.

    A queue of the users alone beside what open and more important classes leave of the station, away for as long as
    now.
    """
    users, residence, throughput = state.users, state.residence, state.throughput
    capacity, levels = known.capacity[k], known.levels[k]
    last, in_turn = capacity[levels - 1], known.discipline[k] == FCFS or known.discipline[k] == WEIGHTED
    free, work, there, customers = 1.0, 0.0, 0.0, 0.0
    asks, count = np.zeros(len(users)), np.zeros(len(users))
    for s in range(len(users)):
        before = not in_turn and known.priority[s] > known.priority[r]
        if known.demands[s, k] <= 0.0 or not (before or in_turn or known.priority[s] == known.priority[r]):
            continue
        done = throughput[s] * known.demands[s, k]
        if known.rates[s] >= 0.0 or before:
            free -= done / last
        elif done > 0.0:
            work += done
            there += throughput[s] * residence[s, k]
            customers += users[s]
            # Work over the time away, of one user.
            asks[s] = done / max(users[s] - throughput[s] * residence[s, k], 1e-9)
            count[s] = users[s]
    free = max(free, LEAST_FREE)
    if work <= OFTEN_IDLE * free * last or customers < 1.0 or customers > MOST_COUNTED:
        return work / last / free - 1.0, there, work
    size = int(customers) + 1
    half = _gathered(asks, count, customers / 2.0)
    # The chance of so many there if they did not wait, with users coming so much more often that it is half of them.
    chances = np.zeros(size)
    chances[0] = 1.0
    for s in range(len(users)):
        one = asks[s] * half / (1.0 + asks[s] * half)
        for _ in range(int(count[s])):
            for n in range(size - 1, 0, -1):
                chances[n] += one * (chances[n - 1] - chances[n])
            chances[0] *= 1.0 - one
    found, longer = np.log(np.maximum(chances, 1e-300)), 0.0
    for n in range(1, size):
        longer += np.log(n / capacity[min(n, levels) - 1] / free / half)
        found[n] += longer
    found = np.exp(found - found.max())
    most = 0.0
    for n in range(1, size):
        most += found[n] * capacity[min(n, levels) - 1]
    most /= found.sum()
    if in_turn:
        # Work in turn makes users meet less often where they differ.
        most = (most + last) / 2.0
    return work / most / free - 1.0, there, work


@kernel(_nrt=False)
def _gathered(asks: Floats, users: Floats, n: float) -> float:
    """By how much more often than they do users must come, such that ``n`` of them are there."""
    factor = 0.0
    for _ in range(NEWTON_STEPS):
        there, slope = 0.0, 0.0
        for s in range(len(users)):
            part = 1.0 + asks[s] * factor
            there += users[s] * asks[s] * factor / part
            slope += users[s] * asks[s] / part**2
        step = (n - there) / slope
        factor += step
        if step <= 1e-3 * factor:
            break
    return factor


@kernel(error_model="numpy", _nrt=False)
def still_there(k: int, absent: float, behind: float, left: float, state: State, known: Known) -> float:
    """Part of the work of open classes in order ``behind`` a user who leaves station k that the user finds when it is
    back after an exponential time ``absent``; instead of the rest it finds what one does who comes at any time.

    ``left`` is what the station can do of open work. The workload of M/G/1 after an exponential time: Takács,
    *Introduction to the Theory of Queues*, 1962. Work has gamma distributions; the chance that what was left behind
    has been done by then is taken to depend on its mean as if it were exponential.
    """
    throughput = state.throughput
    rate, load, square = 0.0, 0.0, 0.0
    for s in range(len(throughput)):
        if known.rates[s] > 0.0 and known.demands[s, k] > 0.0:
            one = known.service[s, k] / left
            comes = throughput[s] * known.demands[s, k] / known.service[s, k]
            rate += comes
            load += comes * one
            square += comes * one * one * (1.0 + known.scv[s, k])
    if load >= MOST_LEFT or absent <= 0.0:
        return 1.0
    if load <= 0.0 or absent == np.inf:
        return 0.0
    # eta = 1 / absent + rate (1 - transform of the work at eta): of a concave function, from where it is if all work is
    # exponential and alike.
    back, one = 1.0 / absent, load / rate
    part = 1.0 - load - back * one
    eta = (np.sqrt(part * part + 4.0 * back * one) - part) / 2.0 / one
    for _ in range(NEWTON_STEPS):
        value, slope = back - eta, -1.0
        for s in range(len(throughput)):
            if known.rates[s] > 0.0 and known.demands[s, k] > 0.0:
                scv, busy = max(known.scv[s, k], LEAST_VARIED), throughput[s] * known.demands[s, k] / left
                one = known.service[s, k] / left
                longer = 1.0 + eta * scv * one
                transform = 1.0 / longer if scv == 1.0 else longer ** (-1.0 / scv)
                value += busy / one * (1.0 - transform)
                slope += busy * transform / longer
        eta -= value / slope
        # A step leaves an error of the order of the square of that before.
        if abs(value) < 1e-5 * eta:
            break
    usual = square / 2.0 / (1.0 - load)
    done = eta * (1.0 - load) * absent
    grows = (1.0 / done - 1.0) / (eta * usual)
    return float(min(max(1.0 - grows * done / (1.0 + grows * eta * behind / left), 0.0), 1.0))
