"""Queues evaluated for whole arrays: many draws, classes and loads in one call.

``offered`` is the work that arrives in a second, in engines; ``servers`` the number of engines, which need not be
whole: between two whole numbers, values are interpolated. Everything broadcasts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Longest queue that is told apart from no steady state.
FULL = 1.0 - 1e-9
MOST_BUNCHED = 0.9
# Power of the load with which waits of work that runs to its end grow beyond those of M/M/m.
CROWDING = 3


def erlang_c(offered: ArrayLike, servers: ArrayLike) -> Array:
    """Probability that an arrival waits in M/M/m (Erlang's C formula); 1 where there is no steady state."""
    load, pool = np.broadcast_arrays(np.asarray(offered, float), np.asarray(servers, float))
    low = np.maximum(np.floor(pool), 1.0)
    fewest = low.min(initial=np.inf)
    # One over Erlang's B, which may grow beyond all numbers where there is next to no work.
    inverse = np.ones(load.shape)
    with np.errstate(divide="ignore", over="ignore"):
        service = 1.0 / load
        for n in range(1, int(low.max(initial=1.0)) + 1):
            longer = 1.0 + n * service * inverse
            inverse = longer if n <= fewest else np.where(n <= low, longer, inverse)
    blocking = 1.0 / inverse
    above = load * blocking / (low + 1.0 + load * blocking)
    at_low, at_high = _waiting(load, low, blocking), _waiting(load, low + 1.0, above)
    mixed = at_low + np.clip(pool - low, 0.0, 1.0) * (at_high - at_low)
    return np.where(load < pool, np.clip(mixed, 0.0, 1.0), 1.0)


def _waiting(load: Array, servers: Array, blocking: Array) -> Array:
    """Erlang's C from his B on whole numbers of servers."""
    return np.where(load < servers, servers * blocking / np.maximum(servers - load * (1.0 - blocking), 1e-300), 1.0)


def bounded_pool(
    offered: ArrayLike,
    cores: int,
    gain: ArrayLike = 1.0,
    threads: int = 1,
    waiting: int | None = None,
    bunched: ArrayLike = 0.0,
) -> tuple[Array, Array, Array]:
    """Part of the work that finds a pool full, the stretch of the rest, and busy cores: SMT and a bounded queue.

    Work goes to an idle core first; a core with two threads active does ``gain`` times the work of one. With every
    thread busy and ``waiting`` more inside, what arrives goes elsewhere; None: everything waits.

    Args:
        offered: work that arrives in a second, in seconds of one thread alone.
        bunched: chance that with an arrival comes another, below 1: batches of geometric size, where the queue is
            bounded.
    """
    load, faster, more = np.broadcast_arrays(*(np.asarray(one, float) for one in (offered, gain, bunched)))
    most = cores * threads
    batches = load * (1.0 - more)
    # What comes to n inside: batches that found fewer, and are as large as that or larger.
    term, coming, total = np.ones(load.shape), np.ones(load.shape), np.ones(load.shape)
    mean, busy, rate = np.zeros(load.shape), np.zeros(load.shape), np.ones(load.shape)
    for n in range(1, most + 1 + (waiting or 0)):
        if n <= most:
            rate = min(n, cores) + max(n - cores, 0) * (faster - 1.0) / max(threads - 1, 1)
        term = batches * coming / rate
        coming = more * coming + term
        total, mean, busy = total + term, mean + n * term, busy + min(n, cores) * term
    if waiting is None:
        ratio = np.asarray(load / rate)
        steady = ratio < FULL
        bound = np.where(steady, ratio, 0.0)
        rest = term * bound / (1.0 - bound)
        mean = np.where(steady, mean + rest * most + rest / (1.0 - bound), np.inf)
        full = np.zeros(load.shape)
        total, busy = total + rest, np.where(steady, busy + cores * rest, cores * total)
    else:
        # Of a batch that is too large, the rest goes elsewhere.
        full = coming / total
    done = np.maximum(load * (1.0 - full), 1e-9)
    return full, np.where(load > 1e-9, np.maximum(mean / total / done, 1.0), 1.0), busy / total


def bunched(always: ArrayLike, behind: ArrayLike, waited: ArrayLike) -> Array:
    """Chance that with work comes more, the part ``waited`` of it from a queue that lets several go at once.

    ``behind`` is the chance for work that waited, ``always`` that for all.
    """
    return np.clip(np.asarray(always) + np.asarray(behind) * np.asarray(waited), 0.0, MOST_BUNCHED)


def inside(offered: ArrayLike, servers: ArrayLike) -> Array:
    """Mean number in M/M/m, those in service included; infinite where there is no steady state."""
    load, pool = np.broadcast_arrays(np.asarray(offered, float), np.asarray(servers, float))
    room = pool - load
    steady = load < pool * FULL
    with np.errstate(divide="ignore", invalid="ignore"):
        queue = erlang_c(load, pool) * load / np.where(steady, room, 1.0)
    return np.where(steady, load + queue, np.inf)


def together(offered: ArrayLike, servers: int) -> Array:
    """Part of the engines of M/M/m that are busy while one works, itself among them: from 1 / m up to 1."""
    load = np.minimum(np.asarray(offered, float), servers * FULL)
    term, ones, twos = np.ones_like(load), np.zeros_like(load), np.zeros_like(load)
    for n in range(1, servers + 1):
        term = term * load / n
        # All states with every engine busy count as one.
        held = term if n < servers else term / (1.0 - load / servers)
        ones, twos = ones + n * held, twos + n * n * held
    return np.where(ones > 0, twos / np.where(ones > 0, ones, 1.0), 1.0) / servers


def stretch(offered: ArrayLike, servers: ArrayLike, above: ArrayLike = 0.0) -> Array:
    """How much longer service takes than alone, at one priority.

    ``offered`` is the work of the priority in engines, ``above`` the more important work. The number inside at a
    preemptive priority is the number at all levels down to it, less the number above it. Exact for equal exponential
    services; 1 where there is next to no work.
    """
    own, higher, pool = np.broadcast_arrays(
        np.asarray(offered, float), np.asarray(above, float), np.asarray(servers, float)
    )
    own = np.maximum(own, 1e-6)
    down_to = inside(own + higher, pool)
    with np.errstate(invalid="ignore"):
        found = (down_to - (inside(higher, pool) if np.any(higher) else 0.0)) / own
    return np.where(np.isfinite(down_to), np.maximum(found, 1.0), np.inf)


def stretch_in_line(offered: ArrayLike, servers: ArrayLike, above: ArrayLike, total: ArrayLike) -> Array:
    """As :func:`stretch`, where what runs goes on to its end before more important work; ``total`` is all work.

    Exact for equal exponential services (on one engine: A. Cobham, *Operations Research* 2, 1954).
    """
    own, higher, pool = (np.asarray(one, float) for one in (offered, above, servers))
    left, before = 1.0 - (own + higher) / pool, 1.0 - higher / pool
    steady = left > 1.0 - FULL
    with np.errstate(divide="ignore", invalid="ignore"):
        waited = erlang_c(total, pool) / pool / np.where(steady, left * before, 1.0)
    return np.where(steady, 1.0 + waited, np.inf)


def crowded(stretch: ArrayLike, offered: ArrayLike, servers: ArrayLike) -> Array:
    """What a stretch of work that runs to its end has beyond 1, in the part that grows with how full the engines are.

    Where services vary more than exponential ones, waits of M/G/m are at low load nearer to those of M/M/m than at
    high load (T. Kimura, *A two-moment approximation for the mean waiting time in the GI/G/s queue*, 1986); where
    transactions come back to the engines many times, as after requests to a coupling facility, those who wait meet
    again. With how high a power of the load both grow was tried on simulated systems. 0 without steady state.
    """
    with np.errstate(invalid="ignore"):
        part = np.minimum(np.asarray(offered, float) / np.asarray(servers, float), 1.0)
        return np.nan_to_num((np.asarray(stretch, float) - 1.0) * part**CROWDING, nan=0.0, posinf=0.0)


def stretch_below(offered: ArrayLike, servers: ArrayLike, above: ArrayLike) -> Array:
    """As :func:`stretch`, where the more important work comes in pieces much shorter than the work below it.

    Work of this priority then sees the mean of what the engines leave: with n of its kind inside they do
    ``E[min(n, engines not used above)]``, the number above being that of M/M/m. A queue with these rates gives the
    stretch; with one engine it is 1 / (1 - all load), as theory has it.
    """
    own, higher, pool = np.broadcast_arrays(
        np.asarray(offered, float), np.asarray(above, float), np.asarray(servers, float)
    )
    own = np.maximum(own, 1e-6)
    low = np.maximum(np.floor(pool), 1.0)
    share = np.clip(pool - low, 0.0, 1.0)
    found = np.full(own.shape, np.inf)
    for whole in np.unique(low).astype(int):
        rows = low == whole
        at_low = _below(own[rows], whole, higher[rows])
        if np.any(share[rows] > 0):
            at_high = _below(own[rows], whole + 1, higher[rows])
            with np.errstate(divide="ignore", invalid="ignore"):
                mixed = 1.0 / ((1.0 - share[rows]) / at_low + share[rows] / at_high)
            at_low = np.where(share[rows] > 0, mixed, at_low)
        found[rows] = at_low
    return np.where(own + higher < pool * FULL, np.maximum(found, 1.0), np.inf)


def _below(own: Array, servers: int, higher: Array) -> Array:
    """:func:`stretch_below` for a whole number of servers."""
    steady = own + higher < servers * FULL
    load = np.where(steady, higher, 0.0)
    numbers = np.arange(servers)
    logs = numbers * np.log(np.maximum(load, 1e-300))[..., None] - np.cumsum(np.log(np.maximum(numbers, 1.0)))
    terms = np.exp(logs)
    tail = terms[..., -1] * load / servers / (1.0 - load / servers)
    chance = terms / (terms.sum(axis=-1) + tail)[..., None]
    free = servers - numbers
    term, total, mean = np.ones_like(load), np.ones_like(load), np.zeros_like(load)
    rate = np.ones_like(load)
    for n in range(1, servers + 1):
        rate = np.maximum((chance * np.minimum(n, free)).sum(axis=-1), 1e-12)
        term = term * own / rate
        total, mean = total + term, mean + n * term
    ratio = np.minimum(own / rate, FULL)
    # From the last rate on the queue is geometric.
    rest = term * ratio / (1.0 - ratio)
    mean = mean + rest * servers + rest / (1.0 - ratio)
    return np.where(steady, mean / (total + rest) / own, np.inf)


def wait(rate: ArrayLike, hold_s: ArrayLike, servers: ArrayLike) -> Array:
    """Mean wait in M/M/m in seconds; infinite where there is no steady state."""
    load = np.asarray(rate, float) * np.asarray(hold_s, float)
    pool = np.asarray(servers, float)
    steady = load < pool * FULL
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(hold_s, float) * erlang_c(load, pool) / np.where(steady, pool - load, 1.0)
    return np.where(steady, found, np.inf)
