"""Residence at stations whose order of service matters, given the customers that an arrival finds there.

Where more important work takes servers away it is in :mod:`model.network.solvers.preemption`, where servers are shared
by weight in :mod:`model.network.solvers.weighted`.

Sources: priorities follow Bryant et al., *ACM TOCS* 2, 1984; class-dependent first come, first served and its
variability follow Lazowska et al., *Quantitative System Performance*, 1984, sections 11.4-11.5, at several servers with
the correction of Cosmetatos, *Operational Research Quarterly* 27, 1976.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import FCFS, HEAD_OF_LINE, Floats, Known, State
from model.network.solvers.interference import away, drained_for, soon_back, still_there
from model.network.solvers.preemption import LEAST_LEFT
from model.network.solvers.servers import Found, found_part

MOST_PASSES = 50.0
"""Visits in a row that are followed one by one; those after them are taken to be as long as the last."""

# Without arrays of their own these need not count who uses those they read, which takes longer than the formulas.
_kernel = kernel(error_model="numpy", forceinline=True, _nrt=False)


class _Asked(NamedTuple):
    """What classes ask of a station: the part ``load`` of its servers, as an arrival finds it, among ``present``
    customers; ``work`` and visits (``rate``) a second, and the part ``others`` that users besides the arrival take."""

    load: float
    present: float
    work: float
    rate: float
    others: float


class _Met(NamedTuple):
    """What an arrival meets, in seconds of work: what is ``begun`` and what is ``waiting`` before it; in order, users
    meet that of open classes (``open_work``) apart. ``rests`` is all that is begun, ``begins`` the less important work
    that may begin while it comes back at once; a user was ``absent`` for so long."""

    begun: float
    waiting: float
    open_work: float
    rests: float
    begins: float
    absent: float


@_kernel
def in_order(
    r: int, k: int, found: Floats, mean: Found, left: float, faster: float, state: State, known: Known
) -> float:
    """Residence of class r per passage through station k, where what is at a server stays there: the rest of it is
    waited for, and those who go first.

    ``found`` (classes,) are the customers that an arrival finds; ``mean`` is what it finds at several servers; ``left``
    and ``faster`` come from :func:`left_by_more_important`, or are 1 where nobody is.
    """
    code, c = known.discipline[k], known.capacity[k, known.levels[k] - 1]
    asked = _asked(r, k, found, c, state, known)
    if asked.load <= 0.0:
        return known.demands[r, k]
    if c == 1.0:
        mean = Found(mean.value, min(asked.load, asked.present), min(asked.load, asked.present))
    met = _met(r, k, found, mean, asked, faster, state, known)
    # Servers that slow each other down, such as the threads of a core, make visits longer than their work.
    slowed = 1.0 + known.slowed[r, k] * (mean.value + (mean.served - mean.busy) / c - 1.0)
    own, waiting = slowed * known.service[r, k], met.waiting
    if met.open_work > 0.0:
        left_open = c * max(1.0 - asked.others, LEAST_LEFT)
        waiting += _open_work(r, k, own, mean.busy, met.absent, left_open, met.open_work, state, known)
    first_pass = own + (met.begun + waiting) / c / left
    times, share = known.demands[r, k] / known.service[r, k], 0.0
    if code == FCFS:
        share = known.share[r, k]
    if known.in_a_row[r, k] <= 1.0 and share <= 0.0:
        return times * first_pass
    # Of those who come while it is served, the part that finds all servers busy waits for it.
    full = min(mean.busy / asked.load / c, 1.0)
    mean_pass, again = _mean_pass(r, k, own, first_pass, mean.busy, full, met.begins, c * left, found, state, known)
    if share > 0.0:
        # What it finds when it is back tends from what it left behind to what one finds who comes at any time.
        soon = soon_back(r, k, state, known)
        forgotten = met.rests / max(mean.busy, LEAST_LEFT) / c / max(1.0 - asked.load, LEAST_LEFT) ** 2
        part = share / known.in_a_row[r, k] * forgotten / max(forgotten + soon, LEAST_LEFT * own)
        mean_pass += part * min(again - first_pass, 0.0)
    return times * mean_pass


@_kernel
def _asked(r: int, k: int, found: Floats, c: float, state: State, known: Known) -> _Asked:
    """What is asked of station k, of ``c`` servers, as class r finds it."""
    users = state.users
    load, present, work, rate, others = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if known.demands[s, k] <= 0.0:
            continue
        done = state.throughput[s] * known.demands[s, k]
        load += found_part(done / c, found[s], state.queue[s, k])
        if known.rates[s] < 0.0:
            others += done / c * ((users[s] - 1.0) / users[s] if s == r else 1.0)
        present += found[s]
        work += done
        rate += done / known.service[s, k]
    return _Asked(load, present, work, rate, others)


@_kernel
def _met(r: int, k: int, found: Floats, mean: Found, asked: _Asked, faster: float, state: State, known: Known) -> _Met:
    """What class r meets at station k; of more important work begun the part ``faster`` of what a stream of it would
    leave."""
    users, throughput, priority, load = state.users, state.throughput, known.priority, asked.load
    code, c = known.discipline[k], known.capacity[k, known.levels[k] - 1]
    light = (1.0 - load) * (c - 1.0) * (np.sqrt(4.0 + 5.0 * c) - 2.0) / (16.0 * load * c)
    varied = 1.0 - min(max(light, 0.0), (c - 1.0) / (c + 1.0))
    is_user, times = known.rates[r] < 0.0 and throughput[r] > 0.0, known.demands[r, k] / known.service[r, k]
    absent, cycle = 0.0, 0.0
    if is_user:
        absent = away(users[r], state.queue[r, k], throughput[r] * times)
        cycle = users[r] / throughput[r] / times
    begun, begun_even, seen, rests, waiting, ahead = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    open_work, lower, lower_work = 0.0, 0.0, 0.0
    for s in range(len(found)):
        if known.demands[s, k] <= 0.0:
            continue
        one, scv = known.service[s, k], known.scv[s, k]
        part = found_part(throughput[s] * known.demands[s, k] / c, found[s], state.queue[s, k]) / load
        first = faster if priority[s] > priority[r] and code == HEAD_OF_LINE else 1.0
        rest = first * mean.busy * part * one * (1.0 + varied * (scv - 1.0) / 2.0)
        behind = max(found[s] - mean.served * part, 0.0)
        rests += rest
        if is_user and code == FCFS and known.rates[s] >= 0.0:
            open_work += rest + behind * one
            ahead += found[s]
            continue
        begun += rest
        if is_user:
            # A user comes at most once during one piece of work: the longer that is, the less often for its time.
            longest = absent + one * (1.0 + scv) / 2.0 / c
            often = (absent + asked.work / asked.rate / c) / longest
            if code == HEAD_OF_LINE and priority[s] < priority[r]:
                # At one server it begins when all users who go before it are away.
                often += (cycle / longest - often) / c
            seen += rest * often
            begun_even += rest * min((absent + one / c) / longest, 1.0)
        if code == FCFS or priority[s] >= priority[r]:
            waiting += first * behind * one
            ahead += found[s]
        else:
            lower += behind
            lower_work += behind * one
    if is_user and begun > 0.0:
        # Those who wait behind long work are met as seldom as it is, unless the server is always busy.
        waiting *= load + (1.0 - load) * begun_even / begun
        begun = seen
    # While it is on its way back, less important work that waits begins, where nothing as important is there.
    begins = lower_work / (1.0 + lower) / (1.0 + ahead)
    return _Met(begun, waiting, open_work, rests, begins, absent)


@kernel(error_model="numpy")
def left_by_more_important(r: int, k: int, state: State, known: Known) -> tuple[float, float]:
    """(left, faster): the part of station k that work more important than class r leaves; and the time until such work
    that it finds has left, over that of a stream of as much work."""
    throughput = state.throughput
    c = known.capacity[k, known.levels[k] - 1]
    above, begun = 0.0, 0.0
    for s in range(len(throughput)):
        if known.priority[s] > known.priority[r]:
            part = throughput[s] * known.demands[s, k] / c
            above += part
            begun += part * known.service[s, k]
    if above <= 0.0:
        return 1.0, 1.0
    left, one, own = max(1.0 - above, LEAST_LEFT), begun / above / c, known.service[r, k]
    return left, drained_for(r, k, one, left, own, state, known)


@_kernel
def _open_work(
    r: int, k: int, own: float, busy: float, absent: float, left: float, usual: float, state: State, known: Known
) -> float:
    """Work of open classes that a user finds in order: of what came during its own stay, which was behind it, as much
    as is there after it was ``absent``, and for the rest what is ``usual``."""
    throughput = state.throughput
    c = known.capacity[k, known.levels[k] - 1]
    stay = state.queue[r, k] / (throughput[r] * (known.demands[r, k] / known.service[r, k]))
    comes, work = 0.0, 0.0
    for s in range(len(throughput)):
        if known.rates[s] >= 0.0 and known.demands[s, k] > 0.0:
            comes += throughput[s] * known.demands[s, k] / known.service[s, k]
            work += throughput[s] * known.demands[s, k]
    # What came while it was served itself is there if the other servers were busy too, less what they could do.
    done = own / (own + work / comes) * min((c - 1.0) / work, 1.0)
    kept = (1.0 - (c - 1.0) / c * (1.0 - busy)) * (1.0 - done)
    behind = work * max(stay - (1.0 - kept) * own, 0.0)
    remains = still_there(k, absent, behind, left, state, known)
    return (1.0 - remains) * usual + remains * behind


@_kernel
def _mean_pass(
    r: int,
    k: int,
    own: float,
    first_pass: float,
    busy: float,
    full: float,
    begins: float,
    c: float,
    found: Floats,
    state: State,
    known: Known,
) -> tuple[float, float]:
    """(mean, second): the mean of the passes of class r through station k in a row, of which the first takes
    ``first_pass``, and the time of one that follows that at once.

    Who comes back at once finds nothing of what was begun on the server that it leaves, one of ``c``, but for the work
    that ``begins`` there meanwhile; and of those who wait, the ones who came while it waited itself, and the part
    ``full`` of those who came while it was served; of users at most the part of those there that it is of the first
    pass. Exact in M/M/c where all visits are alike.
    """
    code = known.discipline[k]
    total, passed, time, left, second = 0.0, 0.0, first_pass, known.in_a_row[r, k], first_pass
    while True:
        part = min(left, 1.0)
        total += part * time
        left -= part
        passed += 1.0
        if passed >= MOST_PASSES:
            total += left * time
            break
        work = begins
        for s in range(len(found)):
            if known.demands[s, k] <= 0.0:
                continue
            waited = max(time - own, 0.0)
            if code == HEAD_OF_LINE and known.priority[s] < known.priority[r]:
                continue
            if code == HEAD_OF_LINE and known.priority[s] > known.priority[r]:
                waited = 0.0
            since = waited + full * own
            come = state.throughput[s] * known.demands[s, k] * since
            if known.rates[s] < 0.0:
                # Where all servers are busy, users come as it does: of those there the part of the first pass.
                there = found[s] * known.service[s, k]
                come = busy * there * min(since / first_pass, 1.0) + (1.0 - busy) * min(come, there)
            work += come
        time = own + work / c
        second = time if passed == 1.0 else second
        if left <= 0.0:
            break
    return total / known.in_a_row[r, k], second
