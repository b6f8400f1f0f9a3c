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
from model.network.solvers.arrays import FCFS, HEAD_OF_LINE, Classes, Floats, Stations, Visits
from model.network.solvers.interference import away, drained, users_above
from model.network.solvers.preemption import LEAST_LEFT
from model.network.solvers.servers import found_part

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
    users: Floats,
    classes: Classes,
    visits: Visits,
    stations: Stations,
) -> float:
    """Residence of class r per passage through station k, where what is at a server stays there: the rest of it is
    waited for, and those who go first.

    ``found`` (classes,) are the customers that an arrival finds, ``queue`` (classes, stations) those there on average;
    ``phi``, ``busy`` and ``served`` come from :func:`model.network.solvers.servers.mean_found`.
    """
    code = stations.discipline[k]
    c = stations.capacity[k, stations.levels[k] - 1]
    times = visits.demands[r, k] / visits.service[r, k]
    service, priority = visits.service, classes.priority
    load, above, begun_above, present, work, rate = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if visits.demands[s, k] <= 0.0:
            continue
        done = throughput[s] * visits.demands[s, k]
        if code == HEAD_OF_LINE and priority[s] > priority[r]:
            above += done / c
            begun_above += done / c * service[s, k]
        load += found_part(done / c, found[s], queue[s, k])
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
    absent = away(r, k, queue, throughput, users, visits) if is_user else 0.0
    cycle = users[r] / throughput[r] / times if is_user else 0.0
    left = max(1.0 - above, LEAST_LEFT)
    faster = 1.0
    if above > 0.0:
        since = (absent + service[r, k]) * c * above / begun_above if is_user else np.inf
        faster = drained(int(users_above(r, k, users, classes, visits)), left, since)
    begun, begun_even, seen, waiting = 0.0, 0.0, 0.0, 0.0
    for s in range(len(found)):
        if visits.demands[s, k] <= 0.0:
            continue
        one, scv = service[s, k], visits.scv[s, k]
        part = found_part(throughput[s] * visits.demands[s, k] / c, found[s], queue[s, k]) / load
        first = faster if priority[s] > priority[r] and code == HEAD_OF_LINE else 1.0
        rest = first * busy * part * one * (1.0 + varied * (scv - 1.0) / 2.0)
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
    if is_user and begun > 0.0:
        # Those who wait behind long work are met as seldom as it is, unless the server is always busy.
        waiting *= load + (1.0 - load) * begun_even / begun
        begun = seen
    return times * (slowed * service[r, k] + (begun + waiting) / c / left)
