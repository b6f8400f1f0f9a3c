"""Residence at stations whose order of service matters, given the customers that an arrival finds there.

Where more important work takes servers away it is in :mod:`model.network.solvers.preemption`, where servers are shared
by weight in :mod:`model.network.solvers.weighted`.

Sources: priorities follow Bryant et al., *ACM TOCS* 2, 1984; class-dependent first come, first served and its
variability follow Lazowska et al., *Quantitative System Performance*, 1984, sections 11.4-11.5, at several servers with
the correction of Cosmetatos, *Operational Research Quarterly* 27, 1976.
"""

from __future__ import annotations

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import FCFS, HEAD_OF_LINE, Classes, Floats, Importance, Stations, Visits
from model.network.solvers.interference import away, drained_for, soon_back, still_there
from model.network.solvers.preemption import LEAST_LEFT
from model.network.solvers.servers import found_part

MOST_PASSES = 50.0
"""Visits in a row that are followed one by one; those after them are taken to be as long as the last."""

_kernel = kernel(error_model="numpy", forceinline=True)


@_kernel
def residence(
    r: int,
    k: int,
    found: Floats,
    queue: Floats,
    throughput: Floats,
    phi: float,
    busy: float,
    served: float,
    left: float,
    faster: float,
    users: Floats,
    classes: Classes,
    visits: Visits,
    importance: Importance,
    stations: Stations,
) -> float:
    """Residence of class r per passage through station k, where what is at a server stays there: the rest of it is
    waited for, and those who go first.

    ``found`` (classes,) are the customers that an arrival finds, ``queue`` (classes, stations) those there on average;
    ``phi``, ``busy`` and ``served`` come from :func:`model.network.solvers.servers.mean_found`, ``left`` and ``faster``
    from :func:`left_by_more_important`, or are 1 where nobody is.
    """
    code = stations.discipline[k]
    c = stations.capacity[k, stations.levels[k] - 1]
    times = visits.demands[r, k] / visits.service[r, k]
    service, priority = visits.service, classes.priority
    load, present, work, rate, others = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if visits.demands[s, k] <= 0.0:
            continue
        done = throughput[s] * visits.demands[s, k]
        load += found_part(done / c, found[s], queue[s, k])
        if classes.rates[s] < 0.0:
            others += done / c * ((users[s] - 1.0) / users[s] if s == r else 1.0)
        present += found[s]
        work += done
        rate += done / service[s, k]
    if load <= 0.0:
        return visits.demands[r, k]
    if c == 1.0:
        busy = served = min(load, present)
    # Servers that slow each other down, such as the threads of a core, make visits longer than their work.
    slowed = 1.0 + visits.slowed[r, k] * (phi + (served - busy) / c - 1.0)
    light = (1.0 - load) * (c - 1.0) * (np.sqrt(4.0 + 5.0 * c) - 2.0) / (16.0 * load * c)
    varied = 1.0 - min(max(light, 0.0), (c - 1.0) / (c + 1.0))
    is_user = classes.rates[r] < 0.0 and throughput[r] > 0.0
    absent = away(users[r], queue[r, k], throughput[r] * times) if is_user else 0.0
    cycle = users[r] / throughput[r] / times if is_user else 0.0
    begun, begun_even, seen, waiting, ahead, open_work, lower, lower_work = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    rests = 0.0
    for s in range(len(found)):
        if visits.demands[s, k] <= 0.0:
            continue
        one, scv = service[s, k], visits.scv[s, k]
        part = found_part(throughput[s] * visits.demands[s, k] / c, found[s], queue[s, k]) / load
        first = faster if priority[s] > priority[r] and code == HEAD_OF_LINE else 1.0
        rest = first * busy * part * one * (1.0 + varied * (scv - 1.0) / 2.0)
        rests += rest
        if is_user and code == FCFS and classes.rates[s] >= 0.0:
            open_work += rest + max(found[s] - served * part, 0.0) * one
            ahead += found[s]
            continue
        begun += rest
        if is_user:
            # A user comes at most once during one piece of work: the longer that is, the less often for its time.
            longest = absent + one * (1.0 + scv) / 2.0 / c
            often = (absent + work / rate / c) / longest
            if code == HEAD_OF_LINE and priority[s] < priority[r]:
                # At one server it begins when all users who go before it are away.
                often += (cycle / longest - often) / c
            seen += rest * often
            begun_even += rest * min((absent + one / c) / longest, 1.0)
        if code == FCFS or priority[s] >= priority[r]:
            waiting += first * max(found[s] - served * part, 0.0) * one
            ahead += found[s]
        else:
            lower += max(found[s] - served * part, 0.0)
            lower_work += max(found[s] - served * part, 0.0) * one
    if is_user and begun > 0.0:
        # Those who wait behind long work are met as seldom as it is, unless the server is always busy.
        waiting *= load + (1.0 - load) * begun_even / begun
        begun = seen
    own = slowed * service[r, k]
    if open_work > 0.0:
        stay, left_open = queue[r, k] / (throughput[r] * times), c * max(1.0 - others, LEAST_LEFT)
        waiting += _open_work(k, own, busy, c, absent, stay, left_open, open_work, throughput, classes, visits)
    first_pass = own + (begun + waiting) / c / left
    share = importance.returns.share[r, k] if code == FCFS else 0.0
    if visits.in_a_row[r, k] <= 1.0 and share <= 0.0:
        return times * first_pass
    # While it is on its way back, less important work that waits begins, where nothing as important is there.
    begins = lower_work / (1.0 + lower) / (1.0 + ahead)
    # Of those who come while it is served, the part that finds all servers busy waits for it.
    full = min(busy / load / c, 1.0)
    mean_pass, again = _mean_pass(
        r, k, own, first_pass, busy, full, begins, c * left, found, throughput, classes, visits, code
    )
    if share > 0.0:
        # What it finds when it is back tends from what it left behind to what one finds who comes at any time.
        soon = soon_back(r, k, queue, throughput, visits, importance)
        forgotten = rests / max(busy, LEAST_LEFT) / c / max(1.0 - load, LEAST_LEFT) ** 2
        mean_pass += (
            share
            / visits.in_a_row[r, k]
            * forgotten
            / max(forgotten + soon, LEAST_LEFT * own)
            * min(again - first_pass, 0.0)
        )
    return times * mean_pass


@kernel(error_model="numpy")
def left_by_more_important(
    r: int,
    k: int,
    queue: Floats,
    throughput: Floats,
    users: Floats,
    classes: Classes,
    visits: Visits,
    importance: Importance,
    stations: Stations,
) -> tuple[float, float]:
    """(left, faster): the part of station k that work more important than class r leaves; and the time until such work
    that it finds has left, over that of a stream of as much work."""
    c = stations.capacity[k, stations.levels[k] - 1]
    above, begun = 0.0, 0.0
    for s in range(len(throughput)):
        if classes.priority[s] > classes.priority[r]:
            part = throughput[s] * visits.demands[s, k] / c
            above += part
            begun += part * visits.service[s, k]
    if above <= 0.0:
        return 1.0, 1.0
    left, one, own = max(1.0 - above, LEAST_LEFT), begun / above / c, visits.service[r, k]
    return left, drained_for(r, k, one, left, own, queue, throughput, users, classes, visits, importance)


@_kernel
def _open_work(
    k: int,
    own: float,
    busy: float,
    c: float,
    absent: float,
    stay: float,
    left: float,
    usual: float,
    throughput: Floats,
    classes: Classes,
    visits: Visits,
) -> float:
    """Work of open classes that a user finds in order: of what came during its own ``stay``, which was behind it, as
    much as is there after it was ``absent``, and for the rest what is ``usual``."""
    comes, work = 0.0, 0.0
    for s in range(len(throughput)):
        if classes.rates[s] >= 0.0 and visits.demands[s, k] > 0.0:
            comes += throughput[s] * visits.demands[s, k] / visits.service[s, k]
            work += throughput[s] * visits.demands[s, k]
    # What came while it was served itself is there if the other servers were busy too, less what they could do.
    done = own / (own + work / comes) * min((c - 1.0) / work, 1.0)
    kept = (1.0 - (c - 1.0) / c * (1.0 - busy)) * (1.0 - done)
    behind = work * max(stay - (1.0 - kept) * own, 0.0)
    remains = still_there(k, absent, behind, left, throughput, classes, visits)
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
    throughput: Floats,
    classes: Classes,
    visits: Visits,
    code: int,
) -> tuple[float, float]:
    """(mean, second): the mean of the passes of class r through station k in a row, of which the first takes
    ``first_pass``, and the time of one that follows that at once.

    Who comes back at once finds nothing of what was begun on the server that it leaves, one of ``c``, but for the work
    that ``begins`` there meanwhile; and of those who wait, the ones who came while it waited itself, and the part
    ``full`` of those who came while it was served; of users at most the part of those there that it is of the first
    pass. Exact in M/M/c where all visits are alike.
    """
    total, passed, time, left, second = 0.0, 0.0, first_pass, visits.in_a_row[r, k], first_pass
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
            if visits.demands[s, k] <= 0.0:
                continue
            waited = max(time - own, 0.0)
            if code == HEAD_OF_LINE and classes.priority[s] < classes.priority[r]:
                continue
            if code == HEAD_OF_LINE and classes.priority[s] > classes.priority[r]:
                waited = 0.0
            since = waited + full * own
            come = throughput[s] * visits.demands[s, k] * since
            if classes.rates[s] < 0.0:
                # Where all servers are busy, users come as it does: of those there the part of the first pass.
                there = found[s] * visits.service[s, k]
                come = busy * there * min(since / first_pass, 1.0) + (1.0 - busy) * min(come, there)
            work += come
        time = own + work / c
        second = time if passed == 1.0 else second
        if left <= 0.0:
            break
    return total / visits.in_a_row[r, k], second
