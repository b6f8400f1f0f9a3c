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
    Floats,
    Ints,
    Known,
    State,
)
from model.network.solvers.interference import too_much
from model.network.solvers.preemption import preempted
from model.network.solvers.residence import in_order, left_by_more_important
from model.network.solvers.servers import Found, Servers, feed, mean_found, one_less, servers_of
from model.network.solvers.weighted import shared_by_weight

ITERATIONS, CALM_FROM = 2000, 200
"""Most steps, and the one from which they are half as long."""
FEWER_TOLERANCE = 1e-4
"""How far populations of one customer less, and all passes but the last, are taken."""

# Sums may be taken in any order, which lets them be vectorised; nothing is assumed about infinities.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_part = kernel(fastmath=_FAST, error_model="numpy", forceinline=True, _nrt=False)


class _Work(NamedTuple):
    """What is worked out of stations in each step: (stations,) unless said.

    ``totals`` are customers there and ``change`` the largest relative change of a queue; ``value``, ``busy`` and
    ``served`` what an arrival finds at several servers. Of stations that share, and delays, residence over demand is
    ``least`` + ``stretch`` x customers found, ``first`` where nobody is; all three are zero at those of ``ordered``
    (their numbers), where the order of service matters. ``crowded`` (classes, stations) is how much longer users are
    there, in parts of their work, than the formulas of ordered stations say: these may promise more work than there is.
    """

    totals: Floats
    change: Floats
    value: Floats
    busy: Floats
    served: Floats
    first: Floats
    least: Floats
    stretch: Floats
    ordered: Ints
    crowded: Floats


@kernel(error_model="numpy")
def _work(state: State, known: Known) -> _Work:
    queue, discipline, levels = state.queue, known.discipline, known.levels
    value = 1.0 / known.capacity[:, 0]
    first, least, stretch = np.zeros_like(value), np.zeros_like(value), np.zeros_like(value)
    is_ordered = np.zeros(len(value), np.bool_)
    for k in range(len(value)):
        if discipline[k] == DELAY:
            first[k], least[k] = 1.0, 1.0
        elif discipline[k] == SHARING:
            first[k], least[k], stretch[k] = value[k], value[k], 1.0 / known.capacity[k, levels[k] - 1]
        else:
            is_ordered[k] = True
    return _Work(
        np.empty_like(value),
        np.empty_like(value),
        value,
        np.zeros_like(value),
        np.zeros_like(value),
        first,
        least,
        stretch,
        np.flatnonzero(is_ordered),
        np.zeros_like(queue),
    )


@kernel(fastmath=_FAST, error_model="numpy")
def _settle(state: State, known: Known, delta: Floats, servers: Servers, tolerance: float) -> tuple[int, bool]:
    """Solves one population; gives the iterations and whether they settled.

    ``delta[r, s]`` (stations,) is how the queues of class s, per customer of it, change with one customer of r less.
    """
    n, stay = state.users, state.residence
    # Where a class sees only work of its level and above, or counts by weight, the queue it sees has its own rate.
    found, log_level, slopes = np.empty(len(n)), np.log(np.maximum(np.minimum(state.queue, 0.95), 1e-9)), servers.slopes
    work, shift, damping = _work(state, known), _shifts(n, known.rates, delta), 1.0
    for iteration in range(ITERATIONS):
        if iteration == CALM_FROM:
            damping = 0.5
        largest = _at_several_servers(state, known, servers, work)
        # Each class sees at once what the classes before it have become: half as many iterations as all from the old.
        for r in range(len(n)):
            is_open = known.rates[r] >= 0.0
            if not is_open and n[r] <= 0.0:
                _leave_out(r, state, work)
                continue
            cycle = _shared(r, state, known, shift, delta, work)
            for i in range(len(work.ordered)):
                k = work.ordered[i]
                if known.demands[r, k] <= 0.0:
                    continue
                _find(r, k, state, known, delta, found)
                # A new discipline goes here.
                code, before = known.discipline[k], log_level[r, k]
                if code == WEIGHTED:
                    time, log_level[r, k] = shared_by_weight(r, k, found, state, known, slopes[k], before)
                elif code == PREEMPTIVE or code == PRIORITY_SHARING:  # noqa: SIM109 (looked up slowly)
                    time, log_level[r, k] = preempted(r, k, found, state, known, slopes[k], before)
                else:
                    left, faster = 1.0, 1.0
                    if code == HEAD_OF_LINE:
                        left, faster = left_by_more_important(r, k, state, known)
                    mean = Found(work.value[k], work.busy[k], work.served[k])
                    time = in_order(r, k, found, mean, left, faster, state, known)
                largest = max(largest, min(abs(log_level[r, k] - before), 1.0) * 1e-2)
                alone = known.demands[r, k] / known.capacity[k, 0]
                stay[r, k] = alone * (1.0 + work.crowded[r, k]) + (time - alone) * known.hindered[r, k]
                cycle += stay[r, k]
            rate = known.rates[r] if is_open else n[r] / (known.think[r] + known.in_turn[r] * cycle)
            _move(r, rate, damping, state, work, is_open)
        for i in range(len(work.ordered)):
            largest = max(largest, _crowd(work.ordered[i], damping, state, known, work.crowded))
        for k in range(len(work.change)):
            largest = max(largest, work.change[k])
        if largest < tolerance:
            return iteration + 1, True
        if not largest < 1e12:
            return iteration + 1, False
    return ITERATIONS, False


@_part
def _at_several_servers(state: State, known: Known, servers: Servers, work: _Work) -> float:
    """Begins a step with what all stations have; gives the largest change of the rate at which customers come."""
    queue, levels, largest = state.queue, known.levels, 0.0
    for k in range(len(levels)):
        work.totals[k], work.change[k] = 0.0, 0.0
    for s in range(len(queue)):
        for k in range(len(levels)):
            work.totals[k] += queue[s, k]
    for k in range(len(levels)):
        if levels[k] > 1 and known.discipline[k] != DELAY:
            seen, limit = work.totals[k], -1.0
            if servers.sources[k] > 0.0:
                limit = servers.sources[k] - 1.0
                seen *= limit / servers.sources[k]
            before = servers.log_x[k]
            found, servers.log_x[k] = mean_found(
                seen, False, known.capacity[k], servers.inverse[k], servers.credits[k], levels[k], limit,
                servers.slopes[k], before,
            )  # fmt: skip
            work.value[k], work.busy[k], work.served[k] = found
            largest = max(largest, min(abs(servers.log_x[k] - before), 1.0) * 1e-2)
            if known.discipline[k] == SHARING:
                work.first[k] = work.value[k]
    return largest


@_part
def _leave_out(r: int, state: State, work: _Work) -> None:
    """Takes a class without users out."""
    state.throughput[r] = 0.0
    for k in range(len(work.totals)):
        state.residence[r, k] = 0.0
        work.totals[k] -= state.queue[r, k]
        state.queue[r, k] = 0.0


@_part
def _shared(r: int, state: State, known: Known, shift: Floats, delta: Floats, work: _Work) -> float:
    """Sets the residence of class r at stations that share and delays, all side by side; gives its sum."""
    is_open, demands, hindered = known.rates[r] >= 0.0, known.demands, known.hindered
    per_customer, closed = (0.0, 0.0) if is_open else (1.0 / state.users[r], 1.0)
    queue, stay, cycle = state.queue, state.residence, 0.0
    totals, first, least, stretch = work.totals, work.first, work.least, work.stretch
    for k in range(len(totals)):
        seen = totals[k] + shift[r, k] - per_customer * queue[r, k] - closed * delta[r, r, k]
        seen = seen if seen > 0.0 else 0.0
        factor = first[k] + seen * stretch[k]
        factor = factor if factor > least[k] else least[k]
        stay[r, k] = demands[r, k] * (least[k] + (factor - least[k]) * hindered[r, k])
        cycle += stay[r, k]
    return cycle


@_part
def _find(r: int, k: int, state: State, known: Known, delta: Floats, found: Floats) -> None:
    """Sets ``found`` (classes,) to the customers that class r finds at station k."""
    queue = state.queue
    for s in range(len(found)):
        scale = 1.0 if known.rates[s] >= 0.0 else state.users[s]
        there = queue[s, k] + scale * delta[r, s, k]
        if s == r:
            per_customer, closed = (0.0, 0.0) if known.rates[r] >= 0.0 else (1.0 / state.users[r], 1.0)
            there -= per_customer * queue[r, k] + closed * delta[r, r, k]
        found[s] = max(there, 0.0)


@_part
def _move(r: int, rate: float, damping: float, state: State, work: _Work, is_open: bool) -> None:
    """Brings the queues of class r nearer to those with this throughput."""
    queue, stay, totals, change = state.queue, state.residence, work.totals, work.change
    scale = 1.0 if is_open else state.users[r]
    state.throughput[r] = rate
    for k in range(len(totals)):
        old = queue[r, k]
        step = rate * stay[r, k] - old
        moved = abs(step) / (scale if scale > old else old)
        change[k] = moved if moved > change[k] else change[k]
        queue[r, k] = old + damping * step
        totals[k] += damping * step


@kernel(error_model="numpy")
def _crowd(k: int, damping: float, state: State, known: Known, crowded: Floats) -> float:
    """Brings ``crowded`` (classes, stations) of a station nearer to what its users can get done; gives the largest part
    of a residence by which it changes."""
    demands, capacity, largest = known.demands, known.capacity, 0.0
    for r in range(len(known.rates)):
        if known.rates[r] >= 0.0 or state.throughput[r] <= 0.0 or demands[r, k] <= 0.0:
            continue
        excess, there, done = too_much(r, k, state, known)
        before, alone = crowded[r, k], demands[r, k] / capacity[k, 0]
        crowded[r, k] = max(before + damping * excess * there / done * capacity[k, 0], 0.0)
        largest = max(largest, min(abs(crowded[r, k] - before) * alone / state.residence[r, k], 1.0) * 1e-2)
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
def linearizer(state: State, known: Known, passes: int, tolerance: float) -> tuple[int, bool]:
    """Fills ``state``; gives the iterations and whether the last of ``passes`` settled."""
    rates, populations = known.rates, state.users
    n_classes, n_stations = state.queue.shape
    _first_guess(state, known)
    servers = servers_of(known, state.queue)
    feed(state, known, servers)
    delta = np.zeros((n_classes, n_classes, n_stations))
    update = np.zeros_like(delta)
    less = State(populations.copy(), state.queue.copy(), state.residence.copy(), state.throughput.copy())
    iterations, settled = 0, True
    for outer in range(passes):
        # Only the last pass is an answer.
        last = outer == passes - 1
        wanted = tolerance if last else max(tolerance, FEWER_TOLERANCE)
        steps, settled = _settle(state, known, delta, servers, wanted)
        iterations += steps
        if last or not settled:
            break
        for r in range(n_classes):
            if rates[r] >= 0.0 or populations[r] <= 0.0:
                continue
            less.users[:] = populations
            less.users[r] -= min(1.0, populations[r])
            less.queue[:] = state.queue
            less.queue[r] *= less.users[r] / populations[r]
            less.throughput[:] = state.throughput
            steps, _ = _settle(less, known, delta, one_less(servers), max(tolerance, FEWER_TOLERANCE))
            iterations += steps
            for s in range(n_classes):
                before, after = 0.0, 0.0
                if rates[s] >= 0.0:
                    before, after = 1.0, 1.0
                elif less.users[s] > 0.0:
                    before, after = 1.0 / populations[s], 1.0 / less.users[s]
                for k in range(n_stations):
                    change = after * less.queue[s, k] - before * state.queue[s, k]
                    # Successive corrections overshoot alternately; the mean of two is closer than either.
                    update[r, s, k] = change if outer == 0 else (delta[r, s, k] + change) / 2.0
        delta[:] = update
        feed(state, known, servers)
    return iterations, settled


@kernel()
def _first_guess(state: State, known: Known) -> None:
    """Throughput and queues as if nobody waited."""
    work = known.demands
    for r in range(len(work)):
        cycle = known.think[r] + known.in_turn[r] * work[r].sum()
        rate = known.rates[r]
        if rate < 0.0:
            rate = state.users[r] / cycle if cycle > 0.0 else 0.0
        state.throughput[r] = rate
        state.queue[r] = rate * work[r]
