"""Queues evaluated for whole arrays: many draws, classes and loads in one call.

``offered`` is the work that arrives in a second, in engines; ``servers`` the number of engines, which need not be
whole: between two whole numbers, values are interpolated. Everything broadcasts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Longest queue that is told apart from no steady state.
STEADY = 1.0 - 1e-9
MOST_BUNCHED = 0.9
# Of a limit: places beyond those taken on average that are told apart from any number, and those inside beyond whom
# it makes nobody wait before they are as many as there are places.
SPARE, MOST_INSIDE = 5_000.0, 10_000.0
# Places, beyond those taken on average and nine roots of these, that Poisson arrivals never take.
NEVER_TAKEN = 40.0
# States of queues with fading users, and numbers inside limits, that are kept in memory at once.
AT_ONCE, INSIDE_AT_ONCE = 50_000, 1_000_000
# So many e-folds less likely is what does not count.
NOT_COUNTED = 40.0
# Coefficients of the error function's complement, and where it is in its tail.
ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip
FAR = 10.0
# Users so many that it does not show when they wait; turns in which the number inside is found, and how near
# the idle engines are then, as a logarithm.
LEAST_FADING, FADING_TURNS, NEAR_ROOM = 1e-8, 8, 1e-7
# Numbers inside whose chances are added one by one, at least.
FEWEST_SUMMED = 6


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


def held_off(offered: ArrayLike, servers: ArrayLike, fading: ArrayLike) -> Array:
    """Part of the queue of M/M/m that is left where users wait instead of sending more; 0 where there is no room.

    Of the work that comes, the part ``fading`` stays away for each that is inside beyond their mean number, and comes
    where fewer are: with N users who are elsewhere when not inside it is one over the number elsewhere, and this the
    queue M/M/m//N (responses of N users within 1.5 % from 10 users on). 1 where nobody fades.
    """
    if not np.any(np.asarray(fading) > LEAST_FADING):
        return np.ones(np.broadcast(offered, servers, fading).shape)
    load, pool, fade = np.broadcast_arrays(*(np.asarray(one, float) for one in (offered, servers, fading)))
    shows = (fade > LEAST_FADING) & (load > 0)
    steady = load < pool * STEADY
    found = np.where(steady | ~shows, 1.0, 0.0)
    rows = np.flatnonzero(shows & steady)
    each = int(max(np.ceil(pool.flat[rows].max(initial=0.0)), FEWEST_SUMMED))
    for some in np.array_split(rows, 1 + len(rows) * each // AT_ONCE):
        if len(some):
            found.flat[some] = _held_off(load.flat[some], pool.flat[some], fade.flat[some])
    return found


def _held_off(load: Array, pool: Array, fade: Array) -> Array:
    """:func:`held_off` of arrays of one dimension: the mean number with which as much comes as is done."""
    idle, free = _Fading(load, pool, np.zeros(load.shape)).idle_and_inside(load)
    room = np.log(idle)

    def beyond(mean: Array, rows: NDArray[np.intp]) -> Array:
        fading = _Fading(load[rows], pool[rows], fade[rows])
        return np.asarray(np.log(fading.idle_and_inside(mean)[0]) - room[rows])

    rows = np.arange(len(load))
    low, high = load.copy(), np.minimum(free, pool + 1.0 / np.sqrt(fade))
    at_low, at_high = beyond(low, rows), beyond(high, rows)
    for _ in range(FADING_TURNS):
        # Beyond as many as without fading all of the queue is left.
        rows = np.flatnonzero((at_high > 0.0) & (high < free))
        if not len(rows):
            break
        low[rows], at_low[rows] = high[rows], at_high[rows]
        high[rows] = np.minimum(2.0 * high[rows] - load[rows], free[rows])
        at_high[rows] = beyond(high[rows], rows)
    mean, side, rows = high.copy(), np.zeros(load.shape), np.flatnonzero(at_high < 0.0)
    for _ in range(FADING_TURNS):
        if not len(rows):
            break
        part = at_low[rows] / np.maximum(at_low[rows] - at_high[rows], 1e-300)
        mean[rows] = low[rows] + np.clip(part, 0.0, 1.0) * (high[rows] - low[rows])
        value = beyond(mean[rows], rows)
        rows, value = rows[np.abs(value) >= NEAR_ROOM], value[np.abs(value) >= NEAR_ROOM]
        # The end that stays a second time counts half, so that it moves, too.
        below, again = value > 0.0, np.where(value > 0.0, -1.0, 1.0) == side[rows]
        at_high[rows] = np.where(below, at_high[rows] * np.where(again, 0.5, 1.0), value)
        at_low[rows] = np.where(below, value, at_low[rows] * np.where(again, 0.5, 1.0))
        low[rows], high[rows] = np.where(below, mean[rows], low[rows]), np.where(below, high[rows], mean[rows])
        side[rows] = np.where(below, -1.0, 1.0)
    # So short a queue is none, and what is left of it is not told.
    return np.asarray(np.clip((mean - load) / np.maximum(free - load, 1e-9 * load), 0.0, 1.0))


class _Fading:
    """Queues where ``load * (1 + fade * (mean - n))`` comes to n inside; arrays of one dimension.

    From a number on that fills the engines the chances are a normal distribution's, summed as by Euler and Maclaurin;
    those of the first few inside, which may fall steeply, are added one by one.
    """

    def __init__(self, load: Array, pool: Array, fade: Array) -> None:
        self.load, self.pool, self.fade = load, pool, fade
        self.top = np.maximum(np.ceil(pool), FEWEST_SUMMED)
        self.numbers = np.arange(self.top.max())[:, None]
        self.before = self.numbers < self.top
        self.done = np.minimum(self.numbers + 1.0, pool)
        self.idle = np.where(self.before, pool - np.minimum(self.numbers, pool), 0.0)

    def idle_and_inside(self, mean: Array) -> tuple[Array, Array]:
        """Idle engines and the mean number inside, where work stays away as if ``mean`` were it."""
        load, fade, top = self.load, self.fade, self.top
        coming = load * np.maximum(1.0 + fade * (mean - self.numbers), 1e-12)
        chances = np.cumprod(np.where(self.before, coming / self.done, 1.0), axis=0)
        here = np.where(self.before, np.concatenate([np.ones((1, len(load))), chances[:-1]]), 0.0)
        chance, total, ones = chances[-1], here.sum(axis=0), (self.numbers * here).sum(axis=0)
        idle = (self.idle * here).sum(axis=0)
        coming = load * np.maximum(1.0 + fade * (mean - top), 1e-12)
        curve = load * fade / coming
        slope = np.log(self.pool / coming) - curve / 2.0
        curved = curve > 0
        bend, flat = np.where(curved, curve, 1.0), np.where(curved, 1.0, slope)
        whole = np.sqrt(np.pi / (2.0 * bend)) * _erfcx(np.maximum(slope / np.sqrt(2.0 * bend), -20.0))
        first = np.where(curved, (1.0 - slope * whole) / bend, 1.0 / flat**2) - 1.0 / 12.0
        whole = np.where(curved, whole, 1.0 / flat) + 0.5 + slope / 12.0
        total = total + chance * whole
        return idle / total, (ones + chance * (top * whole + first)) / total


def _erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x), within 2e-7 of it: W. H. Press and others, *Numerical Recipes in C*, 1992, 6.2; where it is
    small, its asymptotic series."""
    at = np.abs(x)
    part = 1.0 / (1.0 + at / 2.0)
    series = np.polynomial.polynomial.polyval(part, ERFC)
    found = part * np.exp(series)
    if (at > FAR).any():
        square = 1.0 / (2.0 * np.maximum(at, 1.0) ** 2)
        far = (1.0 - square * (1.0 - square * (3.0 - square * (15.0 - 105.0 * square)))) / (
            np.maximum(at, 1.0) * np.sqrt(np.pi)
        )
        found = np.where(at > FAR, far, found)
    if not (x < 0).any():
        return np.asarray(found)
    return np.asarray(np.where(x < 0, 2.0 * np.exp(np.minimum(x, 0.0) ** 2) - found, found))


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
    terms = np.cumprod(np.concatenate([np.ones((1, *load.shape)), load / numbers[:-1]]), axis=0)
    tail = terms[-1] * load / servers / (1.0 - load / servers)
    at_most = np.cumsum(terms, axis=0) / (terms.sum(axis=0) + tail)
    # With n inside they do the sum over j up to n of the chance that j engines at least are left.
    rates = np.maximum(np.cumsum(at_most[::-1], axis=0), 1e-12)
    terms = np.cumprod(own / rates, axis=0)
    ratio = np.minimum(own / rates[-1], STEADY)
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


def held(
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
    """:func:`_held`, of so few at once that their chances have room in memory."""
    rows = np.array_split(
        np.arange(free.size), 1 + int(np.nansum(_told_apart(free, queue, part, places)) / INSIDE_AT_ONCE)
    )
    if len(rows) == 1:
        return _held(free, queue, part, places)
    flat = [one.reshape(-1) for one in (free, queue, part, places)]
    found = [_held(*(one[some] for one in flat)) for some in rows if len(some)]
    return [np.concatenate(parts).reshape(free.shape) for parts in zip(*found, strict=True)]


def _told_apart(free: Array, queue: Array, part: Array, places: Array) -> Array:
    """Places that are told apart from more: beyond those that can be taken nobody waits."""
    crowd = np.minimum(free + queue, MOST_INSIDE)
    with np.errstate(divide="ignore"):
        kink = np.where(part > 0, queue / np.maximum(part, 1e-12), 0.0)
        tail = NOT_COUNTED / np.maximum(-np.log(np.clip(part, 1e-300, 1.0 - 1e-9)), 1e-12)
    taken = np.minimum(free, crowd) + np.maximum(queue, kink) + 9.0 * np.sqrt(crowd) + tail + NEVER_TAKEN
    return np.minimum(places, np.ceil(np.minimum(taken, crowd + SPARE)))


def _held(free: Array, queue: Array, part: Array, places: Array) -> list[Array]:
    """:func:`held` for a whole number of places, in transactions instead of seconds.

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
