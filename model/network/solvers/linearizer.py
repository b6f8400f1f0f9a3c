"""The compiled Linearizer: approximate mean value analysis of closed, open and mixed classes at any stations.

Source of the iteration: Chandy and Neuse, *Comm. ACM* 25, 1982. The residence at several servers conditions on the
distribution of a two-station network matched to the mean queue (see docs/solvers.md); priorities follow Bryant et al.,
*ACM TOCS* 2, 1984; class-dependent first come, first served and its variability follow Lazowska et al., *Quantitative
System Performance*, 1984, sections 11.4-11.5.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from model.network.kernel_cache import with_room

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARING, FCFS, HEAD_OF_LINE, PREEMPTIVE, WEIGHTED, PRIORITY_SHARING, DELAY = range(7)

ITERATIONS = 2000


@with_room(njit(cache=True), __file__)
def idle_credit(
    mean: float,
    capacity: Floats,
    inverse: Floats,
    credits: Floats,
    levels: int,
    population: float,
    slope: float,
    log_x: float,
) -> tuple[float, float, float]:
    """(phi, busy, log_x) of a station that works at ``capacity[n - 1]`` with n customers.

    The last of ``levels`` capacities, and of their ``inverse``, holds beyond. phi is the mean of (n+1)/capacity(n+1) -
    n/capacity(infinity), given in ``credits[n]``, over what an arrival finds; busy is the chance that the last level is
    reached. n has the distribution of that station fed by the rest of the network: ``population`` customers at most
    (infinite below zero), the rest giving x j / (1 + slope (j - 1)) with j customers there; x = exp(log_x) moves one
    Newton step towards ``mean``.
    """
    last = capacity[levels - 1]
    if population >= 0.0 and mean >= population - 1e-9:
        n = int(population)
        full = 1.0 if n >= levels else 0.0
        return (population + 1.0) / capacity[min(n, levels - 1)] - mean / last, full, log_x
    if mean < 1e-9:
        return credits[0], 0.0, log_x
    rate = np.exp(log_x)
    # Multiplied through by 1 + slope (population - 1), so that x stays of the order of an arrival rate.
    share = rate * (1.0 + slope * (population - 1.0)) / population if population >= 0.0 else rate
    weight, total, first, second, credit, idle = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n, count = 0, 0.0
    while True:
        level = min(n, levels - 1)
        total += weight
        first += count * weight
        second += count * count * weight
        credit += weight * credits[level]
        if n < levels:
            idle += weight
        ratio = share * inverse[level]
        if population >= 0.0:
            rest = population - count
            if rest < 0.5:
                break
            ratio *= rest / (1.0 + slope * (rest - 1.0))
        weight *= ratio
        n += 1
        count += 1.0
        # Beyond the peak the weights fall ever faster.
        if weight < 1e-9 * total and (n > levels or ratio < 0.5):
            break
        if weight > 1e200:
            weight, total, first, second = weight * 1e-200, total * 1e-200, first * 1e-200, second * 1e-200
            credit, idle = credit * 1e-200, idle * 1e-200
        if n > 200000:
            break
    at = first / total
    variance = max(second / total - at * at, 1e-9)
    step = min(max((mean - at) / variance, -1.0), 1.0)
    log_x = log_x + step
    if population < 0.0:
        log_x = min(log_x, np.log(last * (1.0 - 1e-6)))
    return credit / total, 1.0 - idle / total, min(max(log_x, -60.0), 60.0)


@with_room(njit(cache=True), __file__)
def _core(
    n: Floats,
    rates: Floats,
    demands: Floats,
    service: Floats,
    scv: Floats,
    capacity: Floats,
    levels: Ints,
    inverse: Floats,
    credits: Floats,
    discipline: Ints,
    priority: Floats,
    weights: Floats,
    think: Floats,
    delta: Floats,
    sources: Floats,
    slopes: Floats,
    log_x: Floats,
    phi: Floats,
    busy: Floats,
    tolerance: float,
    queue: Floats,
    residence: Floats,
    throughput: Floats,
) -> tuple[int, bool]:
    """Solves one population given how queues change with one customer less (``delta``). Fills the last three."""
    stations, classes = demands.shape
    ahead = np.empty(classes)
    shift = np.zeros((stations, classes))
    totals = np.empty(stations)
    for k in range(stations):
        for r in range(classes):
            for s in range(classes):
                scale = 1.0 if rates[s] >= 0.0 else n[s]
                shift[k, r] += scale * delta[k, s, r]
    damping = 1.0
    largest = 0.0
    for iteration in range(ITERATIONS):
        if iteration == 200:
            damping = 0.5
        largest = 0.0
        for k in range(stations):
            totals[k] = 0.0
            for s in range(classes):
                totals[k] += queue[k, s]
            if levels[k] > 1 and discipline[k] != DELAY:
                seen = totals[k]
                if sources[k] > 0.0:
                    seen = totals[k] * (sources[k] - 1.0) / sources[k]
                limit = sources[k] - 1.0 if sources[k] > 0.0 else -1.0
                before = log_x[k]
                phi[k], busy[k], log_x[k] = idle_credit(
                    seen, capacity[k], inverse[k], credits[k], levels[k], limit, slopes[k], log_x[k]
                )
                largest = max(largest, min(abs(log_x[k] - before), 1.0) * 1e-2)
            else:
                phi[k] = 1.0 / capacity[k, 0]
        # Each class sees at once what the classes before it have become: half as many iterations as all from the old.
        for r in range(classes):
            is_open = rates[r] >= 0.0
            if not is_open and n[r] <= 0.0:
                throughput[r] = 0.0
                for k in range(stations):
                    residence[k, r] = 0.0
                    totals[k] -= queue[k, r]
                    queue[k, r] = 0.0
                continue
            cycle = think[r]
            for k in range(stations):
                if demands[k, r] == 0.0:
                    residence[k, r] = 0.0
                    continue
                code = discipline[k]
                if code == DELAY:
                    residence[k, r] = demands[k, r]
                elif code == SHARING:
                    own = 0.0 if is_open else queue[k, r] / n[r] + delta[k, r, r]
                    seen = max(totals[k] + shift[k, r] - own, 0.0)
                    stretch = phi[k] + seen / capacity[k, levels[k] - 1]
                    residence[k, r] = demands[k, r] * max(stretch, 1.0 / capacity[k, 0])
                else:
                    for s in range(classes):
                        scale = 1.0 if rates[s] >= 0.0 else n[s]
                        ahead[s] = queue[k, s] + scale * delta[k, s, r]
                    if not is_open:
                        ahead[r] -= queue[k, r] / n[r] + delta[k, r, r]
                    for s in range(classes):
                        ahead[s] = max(ahead[s], 0.0)
                    residence[k, r] = _residence(
                        code, k, r, capacity[k, levels[k] - 1], phi[k], busy[k], ahead, throughput, demands, service,
                        scv, priority, weights,
                    )  # fmt: skip
                cycle += residence[k, r]
            throughput[r] = rates[r] if is_open else n[r] / cycle
            scale = 1.0 if is_open else n[r]
            for k in range(stations):
                new = throughput[r] * residence[k, r]
                change = abs(new - queue[k, r]) / max(scale, queue[k, r])
                if change > largest:
                    largest = change
                step = damping * (new - queue[k, r])
                queue[k, r] += step
                totals[k] += step
        if largest < tolerance:
            return iteration + 1, True
        if not largest < 1e12:
            return iteration + 1, False
    return ITERATIONS, False


@with_room(njit(cache=True), __file__)
def _residence(
    code: int,
    k: int,
    r: int,
    c: float,
    phi: float,
    busy: float,
    ahead: Floats,
    throughput: Floats,
    demands: Floats,
    service: Floats,
    scv: Floats,
    priority: Floats,
    weights: Floats,
) -> float:
    """Residence per passage of class r at station k, given the customers it finds there."""
    classes = len(ahead)
    visits = demands[k, r] / service[k, r]
    if code == WEIGHTED:
        shared = 0.0
        for s in range(classes):
            shared += weights[s] / weights[r] * ahead[s]
        return demands[k, r] * (phi + shared / c)
    backlog, present, above, residual, in_service = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(classes):
        load = throughput[s] * demands[k, s] / c
        if code == FCFS or priority[s] >= priority[r]:
            backlog += service[k, s] * ahead[s]
            present += ahead[s]
            residual += load * service[k, s] * (scv[k, s] - 1.0) / 2.0
            in_service += load * service[k, s]
        elif code == HEAD_OF_LINE:
            # Of those behind, the one already in service is not overtaken.
            started = min(load, ahead[s])
            backlog += service[k, s] * started
            present += started
            residual += load * service[k, s] * (scv[k, s] - 1.0) / 2.0
        if code != FCFS and priority[s] > priority[r]:
            above += load
    mean = backlog / present if present > 0.0 else service[k, r]
    lead = (phi - 1.0) * mean
    crowded = 1.0 if c == 1.0 else busy
    wait = max(backlog / c + lead + residual * crowded / c, 0.0)
    free = max(1.0 - above, 1e-3)
    if code == FCFS:
        return visits * (service[k, r] + wait)
    if code == HEAD_OF_LINE:
        return visits * (service[k, r] + wait / free)
    if code == PREEMPTIVE:
        return visits * (service[k, r] + wait) / free
    # Levels served strictly in order, shared within a level: equals delay each other in proportion to their own work.
    level, over = 0.0, 0.0
    for s in range(classes):
        if priority[s] == priority[r]:
            level += ahead[s]
        elif priority[s] > priority[r]:
            over += service[k, s] * ahead[s]
    # The credit for idle engines is that of the whole queue, which work that goes first does not see.
    stretched = service[k, r] * max(phi + level / c, 1.0) + over / c
    return visits * stretched / free


@with_room(njit(cache=True, nogil=True), __file__)
def linearizer(
    populations: Floats,
    rates: Floats,
    demands: Floats,
    service: Floats,
    scv: Floats,
    capacity: Floats,
    levels: Ints,
    discipline: Ints,
    priority: Floats,
    weights: Floats,
    think: Floats,
    passes: int,
    tolerance: float,
    queue: Floats,
    residence: Floats,
    throughput: Floats,
) -> tuple[int, bool]:
    """Fills queue, residence (stations, classes) and throughput (classes,); ``rates`` is -1 for closed classes."""
    stations, classes = demands.shape
    delta = np.zeros((stations, classes, classes))
    update = np.zeros_like(delta)
    sources, slopes = np.zeros(stations), np.zeros(stations)
    log_x, phi, busy = np.zeros(stations), np.ones(stations), np.zeros(stations)
    share = np.empty(classes)
    inverse, credits = 1.0 / capacity, np.empty_like(capacity)
    for k in range(stations):
        for n in range(capacity.shape[1]):
            credits[k, n] = (n + 1.0) / capacity[k, n] - n / capacity[k, levels[k] - 1]
    for r in range(classes):
        base = think[r]
        for k in range(stations):
            base += demands[k, r]
        share[r] = rates[r] if rates[r] >= 0.0 else (populations[r] / base if base > 0.0 else 0.0)
        throughput[r] = share[r]
        for k in range(stations):
            queue[k, r] = share[r] * demands[k, r]
    feeds(populations, rates, demands, capacity, levels, discipline, think, share, sources, slopes)
    for k in range(stations):
        load = 0.0
        for r in range(classes):
            load += share[r] * demands[k, r]
        log_x[k] = np.log(max(min(load, capacity[k, levels[k] - 1] * 0.95), 1e-9))
    iterations, converged = 0, True
    less = populations.copy()
    less_queue, less_residence = queue.copy(), residence.copy()
    less_throughput = throughput.copy()
    for outer in range(passes):
        # Only the last pass is an answer.
        wanted = tolerance if outer == passes - 1 else max(tolerance, 1e-4)
        steps, converged = _core(
            populations, rates, demands, service, scv, capacity, levels, inverse, credits, discipline, priority,
            weights, think, delta, sources, slopes, log_x, phi, busy, wanted, queue, residence, throughput,
        )  # fmt: skip
        iterations += steps
        if outer == passes - 1 or not converged:
            break
        for r in range(classes):
            if rates[r] >= 0.0 or populations[r] <= 0.0:
                continue
            taken = min(1.0, populations[r])
            less[:] = populations
            less[r] -= taken
            for k in range(stations):
                for s in range(classes):
                    less_queue[k, s] = queue[k, s]
                less_queue[k, r] = queue[k, r] * less[r] / populations[r]
            less_throughput[:] = throughput
            less_sources = np.maximum(sources - 1.0, np.minimum(sources, 1.0))
            less_x, less_phi, less_busy = log_x.copy(), phi.copy(), busy.copy()
            steps, _ = _core(
                less, rates, demands, service, scv, capacity, levels, inverse, credits, discipline, priority, weights,
                think, delta, less_sources, slopes, less_x, less_phi, less_busy, max(tolerance, 1e-4), less_queue,
                less_residence, less_throughput,
            )  # fmt: skip
            iterations += steps
            for k in range(stations):
                for s in range(classes):
                    change = 0.0
                    if rates[s] >= 0.0:
                        change = less_queue[k, s] - queue[k, s]
                    elif populations[s] > 0.0 and less[s] > 0.0:
                        change = less_queue[k, s] / less[s] - queue[k, s] / populations[s]
                    # Successive corrections overshoot alternately; the mean of two is closer than either.
                    update[k, s, r] = change if outer == 0 else (delta[k, s, r] + change) / 2.0
        delta[:] = update
        feeds(populations, rates, demands, capacity, levels, discipline, think, throughput, sources, slopes)
    return iterations, converged


@with_room(njit(cache=True), __file__)
def feeds(
    populations: Floats,
    rates: Floats,
    demands: Floats,
    capacity: Floats,
    levels: Ints,
    discipline: Ints,
    think: Floats,
    share: Floats,
    sources: Floats,
    slopes: Floats,
) -> None:
    """How the rest of the network feeds each station: its customers, and how it slows down as they gather there."""
    stations, classes = demands.shape
    for k in range(stations):
        sources[k], slopes[k] = 0.0, 0.0
        if levels[k] <= 1 or discipline[k] == DELAY:
            continue
        unlimited = False
        delay, flow = 0.0, 0.0
        for r in range(classes):
            if demands[k, r] > 0.0:
                if rates[r] >= 0.0:
                    unlimited = unlimited or rates[r] > 0.0
                else:
                    sources[k] += populations[r]
                    delay += share[r] * think[r]
                    flow += share[r]
        if unlimited or flow == 0.0:
            sources[k] = 0.0
            continue
        queued, squared = 0.0, 0.0
        for j in range(stations):
            if j == k:
                continue
            mean = 0.0
            for r in range(classes):
                if demands[k, r] > 0.0:
                    mean += share[r] * demands[j, r]
            if discipline[j] == DELAY:
                delay += mean
            else:
                part = min(mean / capacity[j, levels[j] - 1], mean)
                delay += mean - part
                queued += part
                squared += part * part
        if delay + queued > 0.0 and queued > 0.0:
            slopes[k] = squared / queued / (delay + queued)
