"""The wait for a limited number of places, such as those of MXT, for whole arrays; as :mod:`model.capacity.queues` has
them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.capacity.queues import STEADY, erlang_c

Array = NDArray[np.float64]

# Places beyond those taken on average that are told apart from any number, and those inside beyond whom a limit makes
# nobody wait before they are as many as there are places.
SPARE, MOST_INSIDE = 5_000.0, 10_000.0
# Places, beyond those taken on average and nine roots of these, that Poisson arrivals never take.
NEVER_TAKEN = 40.0
# Numbers inside that are kept in memory at once.
INSIDE_AT_ONCE = 1_000_000
# So many e-folds less likely is what does not count.
NOT_COUNTED = 40.0


def queue_for_places(
    rate: ArrayLike, hold_s: ArrayLike, places: ArrayLike, first_s: ArrayLike = 0.0, filled: ArrayLike = 0.0
) -> tuple[Array, Array, Array]:
    """A limit: mean wait for it in seconds, part of its places taken, and part of the queues inside that it saves.

    Whoever is let in stays ``hold_s`` wherever nobody queues, and besides where those inside queue: ``first_s`` with
    nobody else there, and as many as come leave a second where they fill it so far that each who comes finds the part
    ``filled`` of one more. With all places taken as many leave as where so many happen to be inside (Norton's theorem:
    K. M. Chandy, U. Herzog and L. Woo, *IBM J. Res. Dev.* 19, 1975). Without a queue inside it is M/M/m.

    What it saves is of the queues that those inside make each other beyond ``first_s``. The wait is infinite where
    there is no steady state, and the part taken then what is asked, 1 or more. Places that are not a whole number are
    interpolated.
    """
    coming = np.asarray(rate, float)
    free, queue, part, pool = np.broadcast_arrays(
        coming * hold_s, coming * first_s, np.asarray(filled, float), np.asarray(places, float)
    )
    whole = np.maximum(np.floor(pool), 1.0)
    share = np.clip(pool - whole, 0.0, 1.0)
    found = _in_parts(free, queue, part, whole)
    if np.any(share > 0):
        more = _in_parts(free, queue, part, whole + 1.0)
        with np.errstate(invalid="ignore"):
            found = [np.where(share > 0, (1.0 - share) * a + share * b, a) for a, b in zip(found, more, strict=True)]
    waiting, taken, saved = found
    return waiting / np.maximum(coming, 1e-12), taken, saved


def _in_parts(free: Array, queue: Array, part: Array, places: Array) -> list[Array]:
    """:func:`_whole`, of so few at once that their chances have room in memory."""
    inside = np.nansum(_told_apart(free, queue, part, places)) if queue.any() else 0.0
    if inside < INSIDE_AT_ONCE:
        return _whole(free, queue, part, places)
    rows = np.array_split(np.arange(free.size), 1 + int(inside / INSIDE_AT_ONCE))
    flat = [one.reshape(-1) for one in (free, queue, part, places)]
    found = [_whole(*(one[some] for one in flat)) for some in rows if len(some)]
    return [np.concatenate(parts).reshape(free.shape) for parts in zip(*found, strict=True)]


def _told_apart(free: Array, queue: Array, part: Array, places: Array) -> Array:
    """Places that are told apart from more: beyond those that can be taken nobody waits."""
    crowd = np.minimum(free + queue, MOST_INSIDE)
    with np.errstate(divide="ignore"):
        kink = np.where(part > 0, queue / np.maximum(part, 1e-12), 0.0)
        tail = NOT_COUNTED / np.maximum(-np.log(np.clip(part, 1e-300, 1.0 - 1e-9)), 1e-12)
    taken = np.minimum(free, crowd) + np.maximum(queue, kink) + 9.0 * np.sqrt(crowd) + tail + NEVER_TAKEN
    return np.minimum(places, np.ceil(np.minimum(taken, crowd + SPARE)))


def _whole(free: Array, queue: Array, part: Array, places: Array) -> list[Array]:
    """:func:`queue_for_places` for a whole number of places, in transactions instead of seconds.

    Those who do not queue are Poisson with mean ``free``; of the others one more is there with a chance of ``queue``
    over their number, or ``part`` where that is more, as in M/M/m.
    """
    if not queue.any():
        steady = free < places * STEADY
        load = np.where(steady & (free < MOST_INSIDE), free, 0.0)
        top = float(load.max(initial=0.0))
        near = np.minimum(places, math.ceil(top + 9.0 * math.sqrt(top)) + NEVER_TAKEN)
        waiting = np.where(steady, erlang_c(load, near) * load / (near - load), np.inf)
        taken = free / places
        return [waiting, np.where(steady, taken, np.maximum(taken, 1.0)), np.zeros(free.shape)]
    part = np.clip(part, 0.0, 1.0 - 1e-9)
    crowd = free + queue
    asked, worked = crowd / places, (crowd < places) & (crowd < MOST_INSIDE)
    free, queue = (np.where(worked, one, 0.0) for one in (free, queue))
    near = np.maximum(np.floor(_told_apart(free, queue, part, places)), 1.0)
    most = int(near.max(initial=1.0))
    kink = np.where(part > 0, np.maximum(np.floor(queue / np.maximum(part, 1e-12) + 1e-9), 1.0), np.inf)
    top = float(queue.max(initial=0.0))
    # Where nobody queues inside, there are no others.
    last = int(min(kink.max(initial=0.0), top + 9.0 * math.sqrt(top) + 12.0)) if top > 0 else -1
    # By logarithms: powers and factorials of hundreds of places are beyond all numbers.
    inside = np.arange(most + 1).reshape(-1, *[1] * free.ndim)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1.0, max(most, last + 1) + 1)))))

    def poisson(n: NDArray[np.int64] | int, mean: Array) -> Array:
        return np.exp(n * np.log(np.maximum(mean, 1e-300)) - factorials[n] - mean)

    # Chances of 0, 1, ... who do not queue; of the others, times a number, one after the other.
    chances = poisson(inside, free)
    term = poisson(0, queue)
    found, tail = chances * term, np.zeros_like(chances)
    whole, number = term, np.zeros(free.shape)
    for j in range(1, last + 2):
        beyond = np.where(j - 1 == kink, term * part, 0.0)
        if j <= most:
            tail[j:] += beyond * chances[: most + 1 - j]
        whole = whole + beyond / (1.0 - part)
        number = number + beyond * (j / (1.0 - part) + part / (1.0 - part) ** 2)
        term = np.where(j <= kink, poisson(j, queue), 0.0)
        if j <= most:
            found[j:] += term * chances[: most + 1 - j]
        whole, number = whole + term, number + j * term
    if last >= 0:
        for n in range(1, most + 1):
            tail[n] += part * tail[n - 1]
        found += tail
    full = near.astype(int)[None]
    found = np.where(inside <= full, found, 0.0)
    at, before = np.take_along_axis(found, full, 0)[0], np.take_along_axis(found, full - 1, 0)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where so many are never inside, nobody waits.
        asked = np.where(worked, np.where(before > 1e-290, at / before, 0.0), asked)
        steady = asked < STEADY
        bound = np.where(steady, asked, 0.0)
        rest = at * bound / (1.0 - bound)
        total = found.sum(axis=0) + rest
        waiting = np.where(steady, rest / (1.0 - bound) / total, np.inf)
        taken = (np.sum(inside * found, axis=0) + near * rest) / total / places
        queueing = number / whole - queue
        fewer = np.where(steady, free + queue + queueing - taken * places, 0.0)
        saved = np.where(queueing > 1e-9, np.clip(fewer / queueing, 0.0, 1.0), 0.0)
    return [waiting, np.where(steady, np.where(worked, taken, asked), np.maximum(asked, 1.0)), saved]
