"""Queues evaluated for whole arrays: many draws, classes and loads in one call.

``offered`` is the work that arrives in a second, in engines; ``servers`` the number of engines, which need not be
whole: between two whole numbers, values are interpolated. Everything broadcasts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.capacity.fading import STEADY, held_off, running

Array = NDArray[np.float64]

MOST_BUNCHED = 0.9


def erlang_c(offered: ArrayLike, servers: ArrayLike) -> Array:
    """Probability that an arrival waits in M/M/m (Erlang's C formula); 1 where there is no steady state."""
    load, pool = np.asarray(offered, float), np.asarray(servers, float)
    low = np.maximum(np.floor(pool), 1.0)
    fewest, most = low.min(initial=np.inf), int(low.max(initial=1.0))
    # One over Erlang's B, which may grow beyond all numbers where there is next to no work.
    inverse = np.ones(np.broadcast(load, low).shape)
    with np.errstate(divide="ignore", over="ignore"):
        service = 1.0 / load
        for n in range(1, most + 1):
            more = n <= low if n > fewest else True
            np.multiply(inverse, n * service, out=inverse, where=more)
            np.add(inverse, 1.0, out=inverse, where=more)
    blocking = 1.0 / inverse
    mixed = _waiting(load, low, blocking)
    if (pool > low).any():
        above = load * blocking / (low + 1.0 + load * blocking)
        mixed = mixed + np.minimum(np.maximum(pool - low, 0.0), 1.0) * (_waiting(load, low + 1.0, above) - mixed)
    return np.where(load < pool, np.minimum(np.maximum(mixed, 0.0), 1.0), 1.0)


def _waiting(load: Array, servers: Array, blocking: Array) -> Array:
    """Erlang's C from his B on whole numbers of servers."""
    return np.where(load < servers, servers * blocking / np.maximum(servers - load * (1.0 - blocking), 1e-300), 1.0)


def queueing(offered: ArrayLike, filled: ArrayLike) -> Array:
    """Mean number who wait in M/M/m that takes ``offered`` work and is ``filled`` with it."""
    load, part = np.asarray(offered, float), np.clip(filled, 0.0, STEADY)
    # With so many servers more nobody waits.
    pool = np.minimum(load / np.maximum(part, 1e-12), load + 10.0 * np.sqrt(load) + 10.0)
    return np.asarray(erlang_c(load, pool) * part / (1.0 - part))


def bounded_pool(
    offered: ArrayLike,
    cores: int,
    gain: ArrayLike = 1.0,
    threads: int = 1,
    bound: tuple[ArrayLike, ArrayLike] | None = None,
    dense: bool = False,
) -> tuple[Array, Array, Array]:
    """Part of the work that finds a pool full, the stretch of the rest, and busy cores: SMT and a bounded queue.

    A core with two threads active does ``gain`` times the work of one.

    Args:
        offered: work that arrives in a second, in seconds of one thread alone.
        bound: how many may wait with every thread busy, what comes besides going elsewhere, and the chance, below 1,
            that with an arrival comes another (batches of geometric size); None: everything waits.
        dense: whether the threads of a core are filled before the next core, or idle cores come first.
    """
    waiting, more = bound or (0, 0.0)
    load, faster, more, places = (np.asarray(one, float) for one in (offered, gain, more, waiting))
    most = cores * threads
    batches = load * (1.0 - more)
    # What comes to n inside: batches that found fewer, and are as large as that or larger.
    shape = np.broadcast(load, faster, more, places).shape
    term, coming, total = np.ones(shape), np.ones(shape), np.ones(shape)
    mean, busy, rate, active = np.zeros(shape), np.zeros(shape), np.ones(()), cores
    fewest = places.min(initial=np.inf)
    for n in range(1, most + 1 + int(places.max(initial=0.0))):
        if n <= most:
            active = math.ceil(n / threads) if dense else min(n, cores)
            rate = active + (n - active) * (faster - 1.0) / max(threads - 1, 1)
        term = batches * coming / rate
        after = more * coming + term
        if n > most + fewest:
            room = n <= most + places
            term, after = np.where(room, term, 0.0), np.where(room, after, coming)
        coming = after
        total, mean, busy = total + term, mean + n * term, busy + active * term
    if bound is None:
        ratio = np.asarray(load / rate)
        steady = ratio < STEADY
        below = np.where(steady, ratio, 0.0)
        rest = term * below / (1.0 - below)
        mean = np.where(steady, mean + rest * most + rest / (1.0 - below), np.inf)
        full = np.zeros(shape)
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
    load, pool = np.asarray(offered, float), np.asarray(servers, float)
    room = pool - load
    steady = load < pool * STEADY
    with np.errstate(divide="ignore", invalid="ignore"):
        queue = erlang_c(load, pool) * load / np.where(steady, room, 1.0)
    return np.where(steady, load + queue, np.inf)


def together(offered: ArrayLike, servers: int) -> Array:
    """Part of the engines of M/M/m that are busy while one works, itself among them: from 1 / m up to 1."""
    load = np.minimum(np.asarray(offered, float), servers * STEADY)
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
    own, higher, pool = (np.asarray(one, float) for one in (offered, above, servers))
    own = np.maximum(own, 1e-6)
    down_to = inside(own + higher, pool)
    with np.errstate(invalid="ignore"):
        found = (down_to - (inside(higher, pool) if higher.any() else 0.0)) / own
    return np.where(np.isfinite(down_to), np.maximum(found, 1.0), np.inf)


def stretch_in_line(offered: ArrayLike, servers: ArrayLike, above: ArrayLike, total: ArrayLike) -> Array:
    """As :func:`stretch`, where what runs goes on to its end before more important work; ``total`` is all work.

    Exact for equal exponential services (on one engine: A. Cobham, *Operations Research* 2, 1954).
    """
    own, higher, pool = (np.asarray(one, float) for one in (offered, above, servers))
    left, before = 1.0 - (own + higher) / pool, 1.0 - higher / pool
    steady = left > 1.0 - STEADY
    with np.errstate(divide="ignore", invalid="ignore"):
        waited = erlang_c(total, pool) / pool / np.where(steady, left * before, 1.0)
    return np.where(steady, 1.0 + waited, np.inf)


def building_up(offered: ArrayLike, servers: ArrayLike, services: ArrayLike) -> Array:
    """The load, below ``servers``, at which a queue is as long as one at the load ``offered`` that began empty and has
    gone on for an exponential time of so many mean ``services``.

    With one server the number inside is geometric (J. Abate and W. Whitt, *Transient behavior of the M/M/1 queue*,
    1987).
    """
    load, pool = np.asarray(offered, float), np.asarray(servers, float)
    filled, ended = load / pool, 1.0 / (pool * np.asarray(services, float))
    both = filled + 1.0 + ended
    return np.asarray(pool * 2.0 * filled / (both + np.sqrt(np.maximum(both**2 - 4.0 * filled, 0.0))))


def leaning(offered: ArrayLike, servers: ArrayLike) -> tuple[Array, Array]:
    """Two parts, which are 1 together, of waits of work that runs to its end: the first shrinks as the engines fill,
    the second grows.

    Waits of M/G/m are those of M/M/m times a factor that moves with the load where services vary more or less than
    exponential ones (T. Kimura, *A two-moment approximation for the mean waiting time in the GI/G/s queue*, 1986).
    """
    full = np.minimum(np.asarray(offered, float) / np.asarray(servers, float), 1.0)
    return 1.0 - full, full


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
    return np.where(own + higher < pool * STEADY, np.maximum(found, 1.0), np.inf)


def _below(own: Array, servers: int, higher: Array) -> Array:
    """:func:`stretch_below` for a whole number of servers."""
    steady = own + higher < servers * STEADY
    load = np.where(steady, higher, 0.0)
    # Numbers inside come first.
    numbers = np.arange(1.0, servers + 1.0).reshape(-1, *[1] * load.ndim)
    terms = running(np.multiply, np.concatenate([np.ones((1, *load.shape)), load / numbers[:-1]]))
    tail = terms[-1] * load / servers / (1.0 - load / servers)
    at_most = running(np.add, terms)
    at_most /= at_most[-1] + tail
    # With n inside they do the sum over j up to n of the chance that j engines at least are left.
    rates = np.maximum(running(np.add, at_most[::-1]), 1e-12)
    ratio = np.minimum(own / rates[-1], STEADY)
    terms = running(np.multiply, np.divide(own, rates, out=rates))
    # From the last rate on the queue is geometric.
    rest = terms[-1] * ratio / (1.0 - ratio)
    total, mean = 1.0 + terms.sum(axis=0), (numbers * terms).sum(axis=0) + rest * servers + rest / (1.0 - ratio)
    return np.where(steady, mean / (total + rest) / own, np.inf)


def by_importance(own: ArrayLike, servers: ArrayLike, above: ArrayLike, fading: ArrayLike = 0.0) -> tuple[Array, Array]:
    """:func:`stretch_below` and what :func:`stretch` has beyond it, of work of which the part ``fading`` stays away for
    each that is inside beyond their mean number (:func:`held_off`)."""
    work, higher, pool = (np.asarray(one, float) for one in (own, above, servers))
    alike = np.asarray(fading) * work / np.maximum(work + higher, 1e-12)
    both = np.broadcast_arrays(work, np.maximum(pool - higher, 1e-9), fading, work + higher, pool, alike)
    left, left_alike = held_off(*(np.stack([both[i], both[i + 3]]) for i in range(3)))
    short = shortened(stretch_below(work, pool, higher), left)
    with np.errstate(invalid="ignore"):
        found = shortened(stretch(work, pool, higher), left_alike) - short
    return short, np.nan_to_num(np.maximum(found, 0.0), posinf=0.0)


def shortened(stretch: ArrayLike, left: ArrayLike) -> Array:
    """A stretch of which a part of the wait is left; infinite where it was."""
    long = np.asarray(stretch, float)
    found = 1.0 + (np.where(np.isfinite(long), long, 1.0) - 1.0) * np.asarray(left, float)
    return np.where(np.isfinite(long), found, np.inf)


def of_others(own: ArrayLike, offered: ArrayLike, servers: ArrayLike) -> tuple[Array, Array]:
    """Part of the wait in M/M/m that ``own`` work, of all that is ``offered``, would have with one of its kind alone,
    and the part that it takes of what the rest leaves."""
    used, load, pool = (np.asarray(one, float) for one in (own, offered, servers))
    filled = used / np.maximum(used + np.maximum(pool - load, 0.0), 1e-12)
    fewer = erlang_c(np.maximum(load - used, 0.0), pool) / np.maximum(erlang_c(load, pool), 1e-300)
    return np.minimum(fewer, 1.0) * (1.0 - filled), filled


def eased_beside(gone: ArrayLike, load: ArrayLike, queued: ArrayLike, room: ArrayLike) -> Array:
    """Part of the wait for engines that is left to others where ``gone`` fewer of those who share these queue there.

    The others use ``load`` engines and leave, with what is more important, ``room`` of them; ``queued`` of them wait.
    Where engines are full, each who is gone saves the others its turn, and the turns of those who come meanwhile:
    ``load / room`` of them in all, whether engines are shared or work is done as it comes.
    """
    fewer = np.asarray(gone, float) * np.asarray(load, float) / np.maximum(np.asarray(room, float), 1e-9)
    return np.asarray(np.clip(1.0 - fewer / np.maximum(queued, 1e-12), 0.0, 1.0))


def beyond(longest: ArrayLike, stretch: ArrayLike, offered: ArrayLike, servers: ArrayLike) -> Array:
    """Part of the queue of M/M/m in equal parts that is there beyond the length at which the stretch is ``longest``.

    The queue is as long as it is in a geometric distribution, with a mean ``stretch`` less 1 for all who come.
    """
    room, waiting = np.maximum(np.asarray(longest, float) - 1.0, 0.0), np.asarray(stretch, float) - 1.0
    return np.asarray(
        np.where(waiting > 0, np.exp(-room * erlang_c(offered, servers) / np.maximum(waiting, 1e-12)), 0.0)
    )
