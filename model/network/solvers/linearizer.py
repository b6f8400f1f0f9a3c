"""The compiled Linearizer: approximate mean value analysis of closed, open and mixed classes at any stations.

Source of the iteration: Chandy and Neuse, *Comm. ACM* 25, 1982. Stations that share, and delays, are computed side by
side in the vector units of the processor; those where the order of service matters follow, one after another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import (
    DELAY,
    HEAD_OF_LINE,
    PREEMPTIVE,
    PRIORITY_SHARING,
    SHARING,
    WEIGHTED,
    Classes,
    Floats,
    Importance,
    Stations,
    Visits,
)
from model.network.solvers.interference import too_much
from model.network.solvers.preemption import preempted
from model.network.solvers.residence import left_by_more_important, residence
from model.network.solvers.servers import Servers, feed, mean_found, one_less, servers_of
from model.network.solvers.weighted import shared_by_weight

ITERATIONS = 2000
FEWER_TOLERANCE = 1e-4
"""How far populations of one customer less, and all passes but the last, are taken."""

# Sums may be taken in any order, which lets them be vectorised; nothing is assumed about infinities.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


class Solution(NamedTuple):
    """``queue`` and ``residence`` (classes, stations), ``throughput`` (classes,), filled by the solver."""

    queue: Floats
    residence: Floats
    throughput: Floats


@kernel(fastmath=_FAST, error_model="numpy")
def _settle(
    n: Floats,
    classes: Classes,
    visits: Visits,
    importance: Importance,
    stations: Stations,
    delta: Floats,
    servers: Servers,
    tolerance: float,
    solution: Solution,
) -> tuple[int, bool]:
    """Solves one population; gives the iterations and whether they settled.

    ``delta[r, s]`` (stations,) is how the queues of class s, per customer of it, change with one customer of r less.
    """
    rates, levels, capacity, discipline = classes.rates, stations.levels, stations.capacity, stations.discipline
    queue, stay, throughput = solution.queue, solution.residence, solution.throughput
    work, hindered = visits.demands, visits.hindered
    inverse, credits, sources, slopes, log_x = servers
    n_classes, n_stations = work.shape
    shift = _shifts(n, rates, delta)
    totals, change, found = np.empty(n_stations), np.empty(n_stations), np.empty(n_classes)
    phi, busy, served = np.empty(n_stations), np.zeros(n_stations), np.zeros(n_stations)
    # Residence over demand is least + stretch x customers found; a delay is a station whose queue stretches nothing.
    # All three are zero where the order of service matters.
    first, least, stretch = np.zeros(n_stations), np.zeros(n_stations), np.zeros(n_stations)
    ordered = np.empty(n_stations, np.int64)
    n_ordered = 0
    for k in range(n_stations):
        phi[k] = 1.0 / capacity[k, 0]
        if discipline[k] == DELAY:
            first[k], least[k] = 1.0, 1.0
        elif discipline[k] == SHARING:
            first[k], least[k], stretch[k] = phi[k], phi[k], 1.0 / capacity[k, levels[k] - 1]
        else:
            ordered[n_ordered] = k
            n_ordered += 1
    # Where a class sees only work of its level and above, or counts by weight, the queue it sees has its own rate.
    log_level = np.log(np.maximum(np.minimum(queue, 0.95), 1e-9))
    # How much longer users are there, in parts of their work, than the formulas of ordered stations say: these may
    # promise more work than there is.
    crowded = np.zeros((n_classes, n_stations))
    damping = 1.0
    for iteration in range(ITERATIONS):
        if iteration == 200:
            damping = 0.5
        largest = 0.0
        for k in range(n_stations):
            totals[k], change[k] = 0.0, 0.0
        for s in range(n_classes):
            for k in range(n_stations):
                totals[k] += queue[s, k]
        for k in range(n_stations):
            if levels[k] > 1 and discipline[k] != DELAY:
                seen, limit = totals[k], -1.0
                if sources[k] > 0.0:
                    limit = sources[k] - 1.0
                    seen *= limit / sources[k]
                before = log_x[k]
                phi[k], busy[k], served[k], log_x[k] = mean_found(
                    seen, False, capacity[k], inverse[k], credits[k], levels[k], limit, slopes[k], before
                )
                largest = max(largest, min(abs(log_x[k] - before), 1.0) * 1e-2)
                if discipline[k] == SHARING:
                    first[k] = phi[k]
        # Each class sees at once what the classes before it have become: half as many iterations as all from the old.
        for r in range(n_classes):
            is_open = rates[r] >= 0.0
            if not is_open and n[r] <= 0.0:
                throughput[r] = 0.0
                for k in range(n_stations):
                    stay[r, k] = 0.0
                    totals[k] -= queue[r, k]
                    queue[r, k] = 0.0
                continue
            per_customer, closed = (0.0, 0.0) if is_open else (1.0 / n[r], 1.0)
            cycle = 0.0
            for k in range(n_stations):
                seen = totals[k] + shift[r, k] - per_customer * queue[r, k] - closed * delta[r, r, k]
                seen = seen if seen > 0.0 else 0.0
                factor = first[k] + seen * stretch[k]
                factor = factor if factor > least[k] else least[k]
                stay[r, k] = work[r, k] * (least[k] + (factor - least[k]) * hindered[r, k])
                cycle += stay[r, k]
            for i in range(n_ordered):
                k = ordered[i]
                if work[r, k] > 0.0:
                    for s in range(n_classes):
                        scale = 1.0 if rates[s] >= 0.0 else n[s]
                        there = queue[s, k] + scale * delta[r, s, k]
                        if s == r:
                            there -= per_customer * queue[r, k] + closed * delta[r, r, k]
                        found[s] = max(there, 0.0)
                    before = log_level[r, k]
                    if discipline[k] == WEIGHTED:
                        stay[r, k], log_level[r, k] = shared_by_weight(
                            r, k, found, queue, throughput, n, slopes[k], before, classes, visits, stations
                        )
                    elif discipline[k] == PREEMPTIVE or discipline[k] == PRIORITY_SHARING:
                        stay[r, k], log_level[r, k] = preempted(
                            r, k, found, queue, throughput, n, slopes[k], before, classes, visits, importance, stations
                        )
                    else:
                        left, faster = 1.0, 1.0
                        if discipline[k] == HEAD_OF_LINE:
                            left, faster = left_by_more_important(
                                r, k, queue, throughput, n, classes, visits, importance, stations
                            )
                        stay[r, k] = residence(
                            r, k, found, queue, throughput, phi[k], busy[k], served[k], left, faster,
                            n, classes, visits, importance, stations,
                        )  # fmt: skip
                    largest = max(largest, min(abs(log_level[r, k] - before), 1.0) * 1e-2)
                    alone = work[r, k] / capacity[k, 0]
                    stay[r, k] = alone * (1.0 + crowded[r, k]) + (stay[r, k] - alone) * hindered[r, k]
                    cycle += stay[r, k]
            rate = rates[r] if is_open else n[r] / (classes.think[r] + classes.in_turn[r] * cycle)
            throughput[r] = rate
            scale = 1.0 if is_open else n[r]
            for k in range(n_stations):
                old = queue[r, k]
                step = rate * stay[r, k] - old
                moved = abs(step) / (scale if scale > old else old)
                change[k] = moved if moved > change[k] else change[k]
                queue[r, k] = old + damping * step
                totals[k] += damping * step
        for i in range(n_ordered):
            largest = max(largest, _crowd(ordered[i], damping, n, stay, throughput, classes, visits, stations, crowded))
        for k in range(n_stations):
            largest = max(largest, change[k])
        if largest < tolerance:
            return iteration + 1, True
        if not largest < 1e12:
            return iteration + 1, False
    return ITERATIONS, False


@kernel(error_model="numpy")
def _crowd(
    k: int,
    damping: float,
    n: Floats,
    stay: Floats,
    throughput: Floats,
    classes: Classes,
    visits: Visits,
    stations: Stations,
    crowded: Floats,
) -> float:
    """Brings ``crowded`` (classes, stations) of a station nearer to what its users can get done; gives the largest part
    of a residence by which it changes."""
    largest = 0.0
    for r in range(len(n)):
        if classes.rates[r] >= 0.0 or throughput[r] <= 0.0 or visits.demands[r, k] <= 0.0:
            continue
        excess, there, done = too_much(r, k, stay, throughput, n, classes, visits, stations)
        before, alone = crowded[r, k], visits.demands[r, k] / stations.capacity[k, 0]
        crowded[r, k] = max(before + damping * excess * there / done * stations.capacity[k, 0], 0.0)
        largest = max(largest, min(abs(crowded[r, k] - before) * alone / stay[r, k], 1.0) * 1e-2)
    return largest


@kernel(fastmath=_FAST)
def _shifts(n: Floats, rates: Floats, delta: Floats) -> Floats:
    """How the queues of all classes together change with one customer of a class less: (classes, stations)."""
    shift = np.zeros(delta.shape[1:])
    for r in range(len(n)):
        for s in range(len(n)):
            scale = 1.0 if rates[s] >= 0.0 else n[s]
            for k in range(delta.shape[2]):
                shift[r, k] += scale * delta[r, s, k]
    return shift


@kernel(nogil=True)
def linearizer(
    populations: Floats,
    classes: Classes,
    visits: Visits,
    importance: Importance,
    stations: Stations,
    passes: int,
    tolerance: float,
    solution: Solution,
) -> tuple[int, bool]:
    """Fills ``solution``; gives the iterations and whether the last of ``passes`` settled."""
    rates, work = classes.rates, visits.demands
    n_classes, n_stations = work.shape
    _first_guess(populations, classes, work, solution)
    servers = servers_of(stations, solution.queue)
    feed(populations, classes, visits, stations, solution.throughput, servers)
    delta = np.zeros((n_classes, n_classes, n_stations))
    update = np.zeros_like(delta)
    less = populations.copy()
    fewer = Solution(solution.queue.copy(), solution.residence.copy(), solution.throughput.copy())
    iterations, settled = 0, True
    for outer in range(passes):
        # Only the last pass is an answer.
        last = outer == passes - 1
        wanted = tolerance if last else max(tolerance, FEWER_TOLERANCE)
        steps, settled = _settle(populations, classes, visits, importance, stations, delta, servers, wanted, solution)
        iterations += steps
        if last or not settled:
            break
        for r in range(n_classes):
            if rates[r] >= 0.0 or populations[r] <= 0.0:
                continue
            less[:] = populations
            less[r] -= min(1.0, populations[r])
            fewer.queue[:] = solution.queue
            fewer.queue[r] *= less[r] / populations[r]
            fewer.throughput[:] = solution.throughput
            wanted = max(tolerance, FEWER_TOLERANCE)
            steps, _ = _settle(less, classes, visits, importance, stations, delta, one_less(servers), wanted, fewer)
            iterations += steps
            for s in range(n_classes):
                before, after = 0.0, 0.0
                if rates[s] >= 0.0:
                    before, after = 1.0, 1.0
                elif less[s] > 0.0:
                    before, after = 1.0 / populations[s], 1.0 / less[s]
                for k in range(n_stations):
                    change = after * fewer.queue[s, k] - before * solution.queue[s, k]
                    # Successive corrections overshoot alternately; the mean of two is closer than either.
                    update[r, s, k] = change if outer == 0 else (delta[r, s, k] + change) / 2.0
        delta[:] = update
        feed(populations, classes, visits, stations, solution.throughput, servers)
    return iterations, settled


@kernel()
def _first_guess(populations: Floats, classes: Classes, work: Floats, solution: Solution) -> None:
    """Throughput and queues as if nobody waited."""
    for r in range(len(work)):
        cycle = classes.think[r] + classes.in_turn[r] * work[r].sum()
        rate = classes.rates[r]
        if rate < 0.0:
            rate = populations[r] / cycle if cycle > 0.0 else 0.0
        solution.throughput[r] = rate
        solution.queue[r] = rate * work[r]
