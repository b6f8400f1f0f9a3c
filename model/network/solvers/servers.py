"""Stations of several servers in the Linearizer: what an arrival gains from servers that are not yet busy.

A station of several servers differs from one fast server by the distribution of its queue. It is taken for that of the
station fed by the rest of the network seen as one station, matched to the mean queue (see docs/solvers.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import DELAY, Floats, Known, State


class Servers(NamedTuple):
    """What is known of the queue at stations of several servers.

    ``inverse`` (stations, levels) is 1 / capacity, and ``credits[k, n]`` (n+1)/capacity(n+1) - n/capacity(infinity):
    what an arrival that finds n customers gains from servers not yet busy. Of the rest of the network, ``sources``
    (stations,) are the customers that may come, 0 where they are not limited, ``slopes`` says how it slows down as they
    gather at the station, and ``log_x`` is the logarithm of its rate, found step by step.
    """

    inverse: Floats
    credits: Floats
    sources: Floats
    slopes: Floats
    log_x: Floats


@kernel()
def servers_of(known: Known, queue: Floats) -> Servers:
    """The servers of stations at which ``queue`` (classes, stations) customers are while nobody waits."""
    capacity, levels = known.capacity, known.levels
    credits, log_x = np.empty_like(capacity), np.empty(len(levels))
    for k in range(len(levels)):
        last = capacity[k, levels[k] - 1]
        for n in range(capacity.shape[1]):
            credits[k, n] = (n + 1.0) / capacity[k, n] - n / last
        log_x[k] = np.log(max(min(queue[:, k].sum(), last * 0.95), 1e-9))
    return Servers(1.0 / capacity, credits, np.zeros(len(levels)), np.zeros(len(levels)), log_x)


@kernel()
def one_less(servers: Servers) -> Servers:
    """The same where one customer less may come."""
    sources = np.maximum(servers.sources - 1.0, np.minimum(servers.sources, 1.0))
    return Servers(servers.inverse, servers.credits, sources, servers.slopes, servers.log_x.copy())


class Found(NamedTuple):
    """What an arrival finds at a station of several servers: ``value`` is the mean of what counts there, ``busy`` the
    chance that all servers are busy, ``served`` the mean number of customers at servers."""

    value: float
    busy: float
    served: float


@kernel(_nrt=False)
def mean_found(
    mean: float,
    by_work: bool,
    capacity: Floats,
    inverse: Floats,
    values: Floats,
    levels: int,
    population: float,
    slope: float,
    log_x: float,
) -> tuple[Found, float]:
    """(found, log_x): what an arrival finds at a station that works at ``capacity[n - 1]`` with n there.

    The last of ``levels`` capacities, of their ``inverse`` and of ``values`` holds beyond; the value found is the mean
    of ``values[n]``. n has the distribution of that station fed by the rest of the network: ``population`` customers
    at most (infinite below zero), the rest giving x j / (1 + slope (j - 1)) with j customers there. x = exp(log_x)
    moves one Newton step towards the one with which the ``mean`` of n, or ``by_work`` of the capacity at work, is as
    given.
    """
    last = capacity[levels - 1]
    if population >= 0.0 and mean >= population - 1e-9:
        n = int(population)
        full = 1.0 if n >= levels else 0.0
        return Found(values[min(n, levels - 1)], full, float(min(n, levels))), log_x
    if mean < 1e-9:
        return Found(values[0], 0.0, 0.0), log_x
    rate = np.exp(log_x)
    # Multiplied through by 1 + slope (population - 1), so that x stays of the order of an arrival rate.
    share = rate * (1.0 + slope * (population - 1.0)) / population if population >= 0.0 else rate
    weight, total, first, done, product, value, idle, short = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n, count = 0, 0.0
    while True:
        if population < 0.0 and n == levels:
            # From here on the weights of unlimited customers fall in geometric progression.
            ratio = min(share * inverse[levels - 1], 1.0 - 1e-6)
            rest = weight / (1.0 - ratio)
            beyond = ratio / (1.0 - ratio)
            linear, square = count + beyond, count * count + 2.0 * count * beyond + beyond * (1.0 + 2.0 * beyond)
            total += rest
            first += rest * linear
            done += rest * (last if by_work else linear)
            product += rest * (last * linear if by_work else square)
            value += rest * values[levels - 1]
            break
        level = min(n, levels - 1)
        total += weight
        matched = count
        if by_work:
            matched = capacity[min(n, levels) - 1] if n > 0 else 0.0
        first += count * weight
        done += matched * weight
        product += matched * count * weight
        value += weight * values[level]
        if n < levels:
            idle += weight
            short += (levels - n) * weight
        ratio = share * inverse[level]
        if population >= 0.0:
            away = population - count
            if away < 0.5:
                break
            ratio *= away / (1.0 + slope * (away - 1.0))
        weight *= ratio
        n += 1
        count += 1.0
        # Beyond the peak the weights fall ever faster.
        if weight < 1e-9 * total and (n > levels or ratio < 0.5):
            break
        if weight > 1e200:
            weight, total, first, done = weight * 1e-200, total * 1e-200, first * 1e-200, done * 1e-200
            product, value, idle, short = product * 1e-200, value * 1e-200, idle * 1e-200, short * 1e-200
        if n > 200000:
            break
    variance = max(product / total - done / total * first / total, 1e-9)
    # What is at work grows in proportion to x until it is full: steps between logarithms do not jump over that.
    off = np.log(mean * total / done) * done / total if by_work and done > 0.0 else mean - done / total
    step = min(max(off / variance, -1.0), 1.0)
    log_x = log_x + step
    if population < 0.0:
        log_x = min(log_x, np.log(last * (1.0 - 1e-6)))
    found = Found(value / total, 1.0 - idle / total, levels - short / total)
    return found, min(max(log_x, -60.0), 60.0)


@kernel(_nrt=False)
def feed(state: State, known: Known, servers: Servers) -> None:
    """Sets ``sources`` and ``slopes`` of ``servers`` from populations and throughput."""
    throughput, demands, capacity, levels = state.throughput, known.demands, known.capacity, known.levels
    n_classes, n_stations = demands.shape
    for k in range(n_stations):
        servers.sources[k], servers.slopes[k] = 0.0, 0.0
        if levels[k] <= 1 or known.discipline[k] == DELAY:
            continue
        unlimited, customers, delay, flow = False, 0.0, 0.0, 0.0
        for r in range(n_classes):
            if demands[r, k] > 0.0:
                if known.rates[r] >= 0.0:
                    unlimited = unlimited or known.rates[r] > 0.0
                else:
                    customers += state.users[r]
                    delay += throughput[r] * known.think[r]
                    flow += throughput[r]
        if unlimited or flow == 0.0:
            continue
        servers.sources[k] = customers
        queued, squared = 0.0, 0.0
        for j in range(n_stations):
            if j == k:
                continue
            mean = 0.0
            for r in range(n_classes):
                if demands[r, k] > 0.0:
                    mean += throughput[r] * demands[r, j]
            if known.discipline[j] == DELAY:
                delay += mean
            else:
                part = min(mean / capacity[j, levels[j] - 1], mean)
                delay += mean - part
                queued += part
                squared += part * part
        if delay + queued > 0.0 and queued > 0.0:
            servers.slopes[k] = squared / queued / (delay + queued)


@kernel(error_model="numpy", _nrt=False)
def found_part(load: float, found: float, queue: float) -> float:
    """Load or rate that an arrival finds: less than there is on average where it is one of few users itself."""
    return load * min(found / queue, 1.0) if queue > 0.0 else load
