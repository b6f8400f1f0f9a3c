"""Queues of users who wait instead of sending more, for whole arrays; as :mod:`model.capacity.queues` has them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Longest queue that is told apart from no steady state.
STEADY = 1.0 - 1e-9
# States of these queues that are kept in memory at once.
AT_ONCE = 50_000
# Coefficients of the error function's complement, and where it is in its tail.
ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip
FAR = 10.0
# Users so many that it does not show when they wait; turns in which the number inside is found, and how near
# the idle engines are then, as a logarithm.
LEAST_FADING, TURNS, NEAR_ROOM = 1e-8, 8, 1e-7
# Numbers inside whose chances are added one by one, at least.
FEWEST_SUMMED = 6


def running(combine: np.ufunc, values: Array) -> Array:
    """Running sums or products along the first axis, which take the place of the values.

    ``accumulate`` goes through such an array number by number, which takes several times as long.
    """
    for before, here in pairwise(values):
        combine(before, here, out=here)
    return values


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
    for _ in range(TURNS):
        # Beyond as many as without fading all of the queue is left.
        rows = np.flatnonzero((at_high > 0.0) & (high < free))
        if not len(rows):
            break
        low[rows], at_low[rows] = high[rows], at_high[rows]
        high[rows] = np.minimum(2.0 * high[rows] - load[rows], free[rows])
        at_high[rows] = beyond(high[rows], rows)
    mean, side, rows = high.copy(), np.zeros(load.shape), np.flatnonzero(at_high < 0.0)
    for _ in range(TURNS):
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
        np.divide(coming, self.done, out=coming)
        chances = running(np.multiply, np.where(self.before, coming, 1.0))
        here = np.ones(chances.shape)
        here[1:] = np.where(self.before[1:], chances[:-1], 0.0)
        chance, total, ones = chances[-1], here.sum(axis=0), (self.numbers * here).sum(axis=0)
        idle = (self.idle * here).sum(axis=0)
        coming = load * np.maximum(1.0 + fade * (mean - top), 1e-12)
        curve = load * fade / coming
        slope = np.log(self.pool / coming) - curve / 2.0
        whole, first = _normal(curve, slope) if curve.any() else (1.0 / slope, 1.0 / slope**2)
        whole, first = whole + 0.5 + slope / 12.0, first - 1.0 / 12.0
        total = total + chance * whole
        return idle / total, (ones + chance * (top * whole + first)) / total


def _normal(curve: Array, slope: Array) -> tuple[Array, Array]:
    """Integrals over x from 0 on of exp(-slope x - curve x^2 / 2), and of that times x."""
    curved = curve > 0
    every = curved.all()
    bend = curve if every else np.where(curved, curve, 1.0)
    whole = np.sqrt(np.pi / (2.0 * bend)) * _erfcx(np.maximum(slope / np.sqrt(2.0 * bend), -20.0))
    first = (1.0 - slope * whole) / bend
    if every:
        return whole, first
    flat = np.where(curved, 1.0, slope)
    return np.where(curved, whole, 1.0 / flat), np.where(curved, first, 1.0 / flat**2)


def _erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x), within 2e-7 of it: W. H. Press and others, *Numerical Recipes in C*, 1992, 6.2; where it is
    small, its asymptotic series."""
    at = np.abs(x)
    part = 1.0 / (1.0 + at / 2.0)
    series = np.full(x.shape, ERFC[-1])
    for factor in ERFC[-2::-1]:
        series *= part
        series += factor
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
