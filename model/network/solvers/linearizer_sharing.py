"""The Linearizer where every station shares or delays, laid out for the vector units of the processor.

The same iteration as :mod:`model.network.solvers.linearizer`, with arrays (classes, stations) so that the inner loop
runs over neighbouring stations without a branch: a delay is a station whose queue stretches nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from model.network.kernel_cache import with_room
from model.network.solvers.linearizer import DELAY, ITERATIONS, Floats, Ints, feeds, idle_credit

# Sums may be taken in any order, which lets them be vectorised; nothing is assumed about infinities.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@with_room(njit(cache=True, fastmath=_FAST, error_model="numpy"), __file__)
def _core(
    n: Floats,
    rates: Floats,
    work: Floats,
    capacity: Floats,
    levels: Ints,
    inverse: Floats,
    credits: Floats,
    still: Floats,
    think: Floats,
    delta: Floats,
    sources: Floats,
    slopes: Floats,
    log_x: Floats,
    tolerance: float,
    queue: Floats,
    residence: Floats,
    throughput: Floats,
) -> tuple[int, bool]:
    """Solves one population; ``still`` (stations,) is 1 for a delay. Fills the last three, (classes, stations)."""
    classes, stations = work.shape
    shift = np.zeros((classes, stations))
    for r in range(classes):
        for s in range(classes):
            scale = 1.0 if rates[s] >= 0.0 else n[s]
            for k in range(stations):
                shift[r, k] += scale * delta[r, s, k]
    totals, change = np.empty(stations), np.empty(stations)
    phi, least, stretch = np.empty(stations), np.empty(stations), np.empty(stations)
    for k in range(stations):
        least[k] = 1.0 if still[k] > 0.0 else 1.0 / capacity[k, 0]
        stretch[k] = 0.0 if still[k] > 0.0 else 1.0 / capacity[k, levels[k] - 1]
        phi[k] = least[k]
    damping = 1.0
    for iteration in range(ITERATIONS):
        if iteration == 200:
            damping = 0.5
        largest = 0.0
        for k in range(stations):
            totals[k], change[k] = 0.0, 0.0
        for s in range(classes):
            for k in range(stations):
                totals[k] += queue[s, k]
        for k in range(stations):
            if levels[k] > 1 and still[k] == 0.0:
                seen = totals[k]
                if sources[k] > 0.0:
                    seen = totals[k] * (sources[k] - 1.0) / sources[k]
                limit = sources[k] - 1.0 if sources[k] > 0.0 else -1.0
                before = log_x[k]
                phi[k], _, log_x[k] = idle_credit(
                    seen, capacity[k], inverse[k], credits[k], levels[k], limit, slopes[k], log_x[k]
                )
                largest = max(largest, min(abs(log_x[k] - before), 1.0) * 1e-2)
        # Each class sees at once what the classes before it have become: half as many iterations as all from the old.
        for r in range(classes):
            if rates[r] < 0.0 and n[r] <= 0.0:
                throughput[r] = 0.0
                for k in range(stations):
                    residence[r, k] = 0.0
                    totals[k] -= queue[r, k]
                    queue[r, k] = 0.0
                continue
            own, self_share = 0.0, 0.0
            if rates[r] < 0.0:
                own, self_share = 1.0 / n[r], 1.0
            cycle = 0.0
            for k in range(stations):
                seen = totals[k] + shift[r, k] - own * queue[r, k] - self_share * delta[r, r, k]
                seen = seen if seen > 0.0 else 0.0
                factor = phi[k] + seen * stretch[k]
                factor = factor if factor > least[k] else least[k]
                residence[r, k] = work[r, k] * factor
                cycle += residence[r, k]
            rate = rates[r] if rates[r] >= 0.0 else n[r] / (think[r] + cycle)
            throughput[r] = rate
            scale = 1.0 if rates[r] >= 0.0 else n[r]
            for k in range(stations):
                old = queue[r, k]
                step = rate * residence[r, k] - old
                moved = abs(step) / (scale if scale > old else old)
                change[k] = moved if moved > change[k] else change[k]
                queue[r, k] = old + damping * step
                totals[k] += damping * step
        for k in range(stations):
            largest = max(largest, change[k])
        if largest < tolerance:
            return iteration + 1, True
        if not largest < 1e12:
            return iteration + 1, False
    return ITERATIONS, False


@with_room(njit(cache=True, nogil=True), __file__)
def linearizer_sharing(
    populations: Floats,
    rates: Floats,
    demands: Floats,
    capacity: Floats,
    levels: Ints,
    discipline: Ints,
    think: Floats,
    passes: int,
    tolerance: float,
    queue: Floats,
    residence: Floats,
    throughput: Floats,
) -> tuple[int, bool]:
    """Fills queue, residence (stations, classes) and throughput (classes,); ``rates`` is -1 for closed classes."""
    stations, classes = demands.shape
    work = demands.T.copy()
    still = np.zeros(stations)
    delta, update = np.zeros((classes, classes, stations)), np.zeros((classes, classes, stations))
    sources, slopes, log_x = np.zeros(stations), np.zeros(stations), np.zeros(stations)
    inverse, credits = 1.0 / capacity, np.empty_like(capacity)
    q, w, share = np.zeros((classes, stations)), np.zeros((classes, stations)), np.empty(classes)
    for k in range(stations):
        still[k] = 1.0 if discipline[k] == DELAY else 0.0
        for n in range(capacity.shape[1]):
            credits[k, n] = (n + 1.0) / capacity[k, n] - n / capacity[k, levels[k] - 1]
    for r in range(classes):
        base = think[r]
        for k in range(stations):
            base += work[r, k]
        share[r] = rates[r] if rates[r] >= 0.0 else (populations[r] / base if base > 0.0 else 0.0)
        throughput[r] = share[r]
        for k in range(stations):
            q[r, k] = share[r] * work[r, k]
    feeds(populations, rates, demands, capacity, levels, discipline, think, share, sources, slopes)
    for k in range(stations):
        load = 0.0
        for r in range(classes):
            load += share[r] * work[r, k]
        log_x[k] = np.log(max(min(load, capacity[k, levels[k] - 1] * 0.95), 1e-9))
    iterations, converged = 0, True
    less, less_q, less_w, less_rate = populations.copy(), q.copy(), w.copy(), throughput.copy()
    for outer in range(passes):
        # Only the last pass is an answer.
        wanted = tolerance if outer == passes - 1 else max(tolerance, 1e-4)
        steps, converged = _core(
            populations, rates, work, capacity, levels, inverse, credits, still, think, delta, sources, slopes, log_x,
            wanted, q, w, throughput,
        )  # fmt: skip
        iterations += steps
        if outer == passes - 1 or not converged:
            break
        for r in range(classes):
            if rates[r] >= 0.0 or populations[r] <= 0.0:
                continue
            less[:] = populations
            less[r] -= min(1.0, populations[r])
            less_q[:] = q
            less_q[r] *= less[r] / populations[r]
            less_rate[:] = throughput
            less_sources = np.maximum(sources - 1.0, np.minimum(sources, 1.0))
            steps, _ = _core(
                less, rates, work, capacity, levels, inverse, credits, still, think, delta, less_sources, slopes,
                log_x.copy(), max(tolerance, 1e-4), less_q, less_w, less_rate,
            )  # fmt: skip
            iterations += steps
            for s in range(classes):
                if rates[s] >= 0.0:
                    before, after = 1.0, 1.0
                elif populations[s] > 0.0 and less[s] > 0.0:
                    before, after = 1.0 / populations[s], 1.0 / less[s]
                else:
                    before, after = 0.0, 0.0
                for k in range(stations):
                    change = after * less_q[s, k] - before * q[s, k]
                    # Successive corrections overshoot alternately; the mean of two is closer than either.
                    update[r, s, k] = change if outer == 0 else (delta[r, s, k] + change) / 2.0
        delta[:] = update
        feeds(populations, rates, demands, capacity, levels, discipline, think, throughput, sources, slopes)
    queue[:] = q.T
    residence[:] = w.T
    return iterations, converged
