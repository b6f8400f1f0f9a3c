"""Waits of each class in its intervals, as the engines' queue makes them, and how much of them its responses show.

The stretch is that of M/M/m, by importance, for all classes together, in the order in which work comes, or in line by
importance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History
from model.calibration.regression import OUTLYING, Fit, positive
from model.calibration.ziips import waited_for_cps
from model.capacity import queues
from model.capacity.fading import held_off

Array = NDArray[np.float64]

# Transactions in an interval that make its mean response usable, and intervals that make a class so.
FEWEST_ENDED, FEWEST_INTERVALS = 8.0, 24
# Engines this busy, of those there are to get, serve no steady load: their queue grows as long as the interval lasts.
UNSTEADY = 0.995
# Relative scatter of a mean response besides that of its transactions, whose own coefficient of variation is assumed.
SCATTER, VARIATION = 0.01, 1.5
# How far waiting may differ from M/M/m: prior of its factor for engines and for a limit.
FACTOR_SD, BEHIND_SD, ZIIP_SD, LIMIT_SD = 0.3, 1.0, 0.3, 0.3
# The same for engines where bursts, the usual reason for waits that are longer, are told by themselves.
BURSTING_SD = 0.1
# Work that runs to its end waits as often as it asks for an engine, each time for a part of what others run: prior of
# the factor, and how far, relatively, those with idle and with full engines are from one for all loads.
ARRIVAL_SD, LEANING = 3.0, 0.18
# The same as a logarithm, by which the order is judged.
ASKING_SD = 1.0
LEAST_ALONE = 1e-3
# Part of the intervals whose responses are as if nobody waited.
UNWAITING = 0.1
QUEUED, BEHIND, NARROWEST = 1.0, 0.5, 0.1
# By how much more waits behind pieces of unequal size count on full engines than on idle ones, never less: 1.9 where
# their squared coefficient of variation is 5, as of 1 in 20 it is held to be.
CROWDED_SD = 1.0
# Turns between factors of the waits and how far these scatter; ratios that are tried of how far the longest waits
# scatter to how far responses without waits do.
TURNS, RATIOS = 2, np.geomspace(0.2, 500.0, 24)
# How long bursts last, in s, where how long they wait in them is told.
LASTING_S = 3.0
# Columns of the rest and of the waits for engines, that for a limit coming after them.
ENGINES = 5


class Order(Enum):
    """In which order work gets the engines: the important at once, all in equal parts, as it comes, or the important as
    soon as an engine is free."""

    IMPORTANCE = "by importance"
    SHARED = "shared"
    ARRIVAL = "as it comes"
    IN_LINE = "in line by importance"

    @property
    def to_its_end(self) -> bool:
        """Whether work that runs is not interrupted."""
        return self in (Order.ARRIVAL, Order.IN_LINE)


@dataclass(frozen=True)
class Seen:
    """One class's usable intervals: (n,) response and weight, service, and waiting for engines, all in ms.

    ``queued`` is the wait where more important work comes in short pieces, ``behind`` what comes on top where one of
    its transactions is one piece, and ``crowded`` that as engines fill; of work that runs to its end they are the parts
    of the wait that shrink and that grow as engines fill, and it waits ``alone`` times both if one factor is for all
    loads. ``ziip`` is the wait for a zIIP and what a second thread on its core costs. ``limited`` is the wait for
    limits that the records name, which is not in the response; ``offered`` is the work that shares ``pool`` engines
    with the class; ``eased`` is the part of the waits for engines that limits leave. ``stay`` is how much longer the
    class is on the engines than it is charged for; waits may be those of arrivals ``in_bursts``.
    """

    c: int
    kept: NDArray[np.bool_]
    response: Array
    weight: Array
    service: Array
    queued: Array
    behind: Array
    crowded: Array
    ziip: Array
    limited: Array
    offered: Array
    pool: Array
    eased: Array
    day: NDArray[np.int64]
    order: Order
    stay: float = 1.0
    alone: float = 1.0
    in_bursts: bool = False

    def within(self, chosen: NDArray[np.bool_]) -> Seen:
        """Those of the intervals that are chosen, (I,) of all."""
        rows = chosen[self.kept]
        parts: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        of_rows: dict[str, Any] = {
            name: value[rows] for name, value in parts.items() if name != "kept" and isinstance(value, np.ndarray)
        }
        return replace(self, kept=self.kept & chosen, **of_rows)

    def easing(self, left: Array) -> Seen:
        """The same with a part, (I,) of all intervals, of the waits for engines."""
        return replace(self, eased=self.eased * left[self.kept])

    @property
    def waits(self) -> list[Array]:
        """Columns of the regression besides the rest: those of the waits, as far as limits leave them."""
        return [self.eased * wait for wait in (self.queued, self.behind, self.crowded, self.ziip)]

    def prior(self, limited: bool) -> tuple[list[float], list[float]]:
        """Mean and standard deviation of the rest and of the factors of the waits, that for a limit last."""
        if self.order.to_its_end:
            engines, deviation = [self.alone, self.alone, 0.0], [*[LEANING * self.alone] * 2, CROWDED_SD]
        else:
            engines = [self.stay * QUEUED, self.stay * BEHIND, 0.0]
            deviation = [BURSTING_SD if self.in_bursts else FACTOR_SD, BEHIND_SD, CROWDED_SD]
        centre, spread = [0.0, *engines, 1.0], [1e6, *deviation, ZIIP_SD]
        return ([*centre, 1.0], [*spread, LIMIT_SD]) if limited else (centre, spread)

    def strain(self, found: Fit) -> float:
        """Minus twice the logarithm of what a prior costs: how far the factors are from it, and how wide it was."""
        prior, spread = (np.array(one)[1:] for one in self.prior(len(found.mean) > ENGINES))
        mean, variance = found.mean[1:].copy(), np.diag(found.cov)[1:].copy()
        if self.order.to_its_end:
            # One factor for all loads, by its logarithm: next to no waits are as unlikely as many times as long.
            variance[0] /= self.alone**2
            mean[0], prior[0], spread[0] = math.log(self.alone / (self.stay * QUEUED)), 0.0, ASKING_SD
        posterior = np.maximum(variance, (NARROWEST * spread) ** 2)
        narrowed = np.log(spread**2 / np.minimum(posterior, spread**2))
        return float(np.sum(((mean - prior) / spread) ** 2 + narrowed))

    def design(self, wait: Array | None = None) -> Array:
        """(n, p) columns of the regression: the rest, the waits, and the ``wait`` for a limit, if any."""
        columns = [np.ones_like(self.queued), *self.waits]
        return np.column_stack(columns if wait is None else [*columns, wait])


def pools(h: History, used: Array) -> Array:
    """(I,) engines of a pool of its own in which work of so many engines, (I,), waits as long as in the LPAR."""
    found = np.array(h.engines)
    if h.machine is None:
        return found
    others = h.machine.others_s / h.seconds
    for engines in np.unique(h.engines):
        rows, sharing = h.engines == engines, h.sharing(float(engines))
        if sharing is not None:
            found[rows] = sharing.pool(used[rows], others[rows])
    return found


@dataclass(frozen=True)
class Loads:
    """Engines in use, (I, C) by class and (I,) in all, for good or, if given, for so many seconds."""

    used: Array
    busy: Array
    lasting_s: float | None = None


@dataclass(frozen=True)
class InBursts:
    """A class, by number, whose transactions come for the part ``on`` of the time, in bursts."""

    c: int
    on: float

    def moments(self, loads: Loads, stay: float) -> list[tuple[Loads, Array]]:
        """The loads while a burst lasts and between two of them, each with the parts of the transactions of all
        classes, (C,), that come then."""
        found = []
        for part, times in ((self.on, 1.0 / self.on), (1.0 - self.on, 0.0)):
            used = loads.used.copy()
            used[:, self.c] *= times
            busy = loads.busy + stay * (used[:, self.c] - loads.used[:, self.c])
            parts = np.full(used.shape[1], part)
            parts[self.c] = part * times
            found.append((Loads(used, busy, LASTING_S), parts))
        return found


def seen_by(
    h: History,
    streams: Sequence[int],
    ziip: Mapping[str, Any],
    order: Order,
    stay: float = 1.0,
    bursts: InBursts | None = None,
) -> dict[int, Seen]:
    """The classes with usable responses, by number, and their waits if work gets the engines in this order.

    Transactions are on the engines ``stay`` times as long as they are charged for; those of a class may come in bursts.
    """
    loads = Loads(np.nan_to_num(h.cp_s) / h.seconds[:, None], h.busy_s / h.seconds)
    always = _Waits(h, streams, order, loads)
    steady = loads.busy < UNSTEADY * always.whole
    # What waited for full engines is still waiting when the next interval begins.
    steady[1:] &= steady[:-1]
    moments = [] if bursts is None else [(_Waits(h, streams, order, at), by) for at, by in bursts.moments(loads, stay)]
    ziip_stretch = _ziip_stretch(h, ziip)
    limited = h.limited_ms()
    found = {}
    for c in streams:
        kept = steady & (h.ended[:, c] >= FEWEST_ENDED) & np.isfinite(h.response_ms[:, c]) & np.isfinite(h.cp_s[:, c])
        if kept.sum() < FEWEST_INTERVALS:
            continue
        service = 1e3 * _by_day(h, h.cp_s[:, c] / h.dearer, h.ended[:, c]) * h.dearer
        on_ziip = 1e3 * _by_day(h, h.ziip_s[:, c], h.ended[:, c])
        waits, offered, pool = always.of(c, service)
        if moments:
            waits = sum((parts[c] * one.of(c, service)[0] for one, parts in moments), np.zeros(waits.shape))
        queued, behind, crowded = waits
        kept &= np.isfinite(queued)
        response, ended, waited = h.response_ms[kept, c] - limited[kept, c], h.ended[kept, c], limited[kept, c]
        usual = np.median(response)
        # Waits for limits were found by samples: their number scatters, and with it what they leave of the response.
        sampled = 1e3 * h.sampling_s * waited / ended
        weight = 1.0 / (usual**2 * (SCATTER**2 + VARIATION**2 / ended) + sampled)
        found[c] = Seen(
            c,
            kept,
            response,
            weight,
            (service + on_ziip)[kept],
            queued[kept],
            behind[kept],
            crowded[kept],
            (on_ziip * (ziip_stretch - 1.0))[kept],
            waited,
            offered[kept],
            pool[kept],
            np.ones(int(kept.sum())),
            h.day[kept],
            order,
            stay,
            in_bursts=bursts is not None,
        )
        if order.to_its_end:
            found[c] = replace(found[c], alone=_alone(found[c]))
    return found


class _Waits:
    """Waits for engines at some loads if work gets them in an order."""

    def __init__(self, h: History, streams: Sequence[int], order: Order, loads: Loads) -> None:
        self.h, self.streams, self.order, self.used = h, streams, order, loads.used
        self.uncaptured = np.maximum(loads.busy - loads.used.sum(axis=1), 0.0)
        self.users = _elsewhere(h, streams)
        self.whole = pools(h, loads.busy)
        self.pieces = self._mean_size(list(streams), loads.used[:, list(streams)].sum(axis=1))
        self.lasting_s = loads.lasting_s
        self.busy = self._built_up(loads.busy, self.whole)
        self.together = held_off(self.busy, self.whole, self._fading(self.busy, self.users))
        self.levels: dict[int, tuple[Array, Array, Array, Array, Array]] = {}

    def of(self, c: int, service: Array) -> tuple[Array, Array, Array]:
        """Of a class with a ``service`` of so many ms, (I,), the three columns of :class:`Seen`, (3, I) in ms, and the
        work that shares engines with it and these, (I,)."""
        stretched, behind, crowded, offered, pool = self._of_level(int(self.h.importance[c]))
        if not self.order.to_its_end:
            return np.array([service * (stretched - 1.0), behind, crowded]), offered, pool
        wait = self.pieces * (stretched - 1.0)
        wait = np.where(np.isfinite(wait), wait, np.nan)
        idle, full = queues.leaning(offered, pool)
        return np.array([idle * wait, full * wait, crowded]), offered, pool

    def _of_level(self, level: int) -> tuple[Array, Array, Array, Array, Array]:
        """What all classes of one importance have alike, (I,) each: the stretch of their service, the last two columns
        of :class:`Seen`, the work that shares engines with them, and these."""
        if level not in self.levels:
            self.levels[level] = self._stretched(level)
        return self.levels[level]

    def _stretched(self, level: int) -> tuple[Array, Array, Array, Array, Array]:
        """As :meth:`_of_level`, worked out."""
        h = self.h
        own = self.used[:, h.importance == level].sum(axis=1) + (self.uncaptured if level == 0 else 0.0)
        above = self.used[:, h.importance < level].sum(axis=1) + (self.uncaptured if level > 0 else 0.0)
        if self.order is Order.IMPORTANCE:
            pool = np.minimum(self.whole, pools(h, own + above))
            offered, before = self._built_up(own + above, pool), self._built_up(above, pool)
            alike = [i for i in self.users if h.importance[i] == level]
            fading = self._fading(own, alike)
            stretched, longer = queues.by_importance(offered - before, pool, before, fading)
            behind = longer * self._mean_size([i for i in self.streams if h.importance[i] < level], before)
            return stretched, behind, behind * np.minimum(offered / pool, 1.0), offered, pool
        if self.order is Order.IN_LINE:
            before = self._built_up(above, self.whole)
            until = self._built_up(own + above, self.whole)
            stretched = queues.stretch_in_line(until - before, self.whole, before, self.busy)
        else:
            stretched = queues.stretch(self.busy, self.whole)
        none = np.zeros(len(self.busy))
        return queues.shortened(stretched, self.together), none, none, self.busy, self.whole

    def _built_up(self, offered: Array, pool: Array) -> Array:
        """The load as whose a queue is that began empty, where the load does not last."""
        if self.lasting_s is None:
            return offered
        return queues.building_up(offered, pool, 1e3 * self.lasting_s / np.maximum(self.pieces, 1e-9))

    def _mean_size(self, classes: Sequence[int], work: Array) -> Array:
        """(I,) mean ms of CPU of the transactions of some classes that are on the engines, where what else there is of
        the ``work`` (I,) on these counts as nothing."""
        h, some = self.h, list(classes)
        size_ms = 1e3 * np.nansum(h.cp_s[:, some], axis=0) / np.maximum(h.ended[:, some].sum(axis=0), 1.0)
        return np.asarray(self.used[:, some] @ size_ms / np.maximum(work, 1e-12))

    def _fading(self, work: Array, classes: Iterable[int]) -> Array:
        """(I,) part of the ``work`` of some classes that stays away for each that is inside beyond their mean
        number."""
        work = np.maximum(work, 1e-12)
        parts = ((self.used[:, c] / work) ** 2 / np.maximum(self.users[c], 1e-9) for c in classes)
        return np.asarray(sum(parts, np.zeros(len(work))))


def _alone(seen: Seen) -> float:
    """The factor of waits for engines if it is one for all loads."""
    design = np.column_stack([np.ones_like(seen.queued), seen.queued + seen.behind])
    prior, spread = [0.0, seen.stay * QUEUED], [1e6, ARRIVAL_SD]
    found = positive(design, seen.response - seen.service, seen.weight, seen.day, prior, spread, [math.inf, 1.0])
    return max(float(found.mean[1]), LEAST_ALONE)


def _elsewhere(h: History, streams: Sequence[int]) -> dict[int, Array]:
    """(I,) users of each class that has any who are neither on the engines nor waiting for them: who think, or are for
    as long elsewhere as where next to nobody waits."""
    found = {}
    thinking_s = h.thinking_s()
    for c in (c for c in streams if thinking_s[:, c].any()):
        with np.errstate(divide="ignore", invalid="ignore"):
            service_s = (np.nan_to_num(h.cp_s[:, c]) + h.ziip_s[:, c]) / h.ended[:, c]
        seen = (h.response_ms[:, c] / 1e3 - service_s)[h.ended[:, c] >= FEWEST_ENDED]
        rest_s = max(float(np.nanquantile(seen, UNWAITING)), 0.0) if np.isfinite(seen).any() else 0.0
        found[c] = (thinking_s[:, c] + rest_s * h.ended[:, c]) / h.seconds
    return found


def _ziip_stretch(h: History, ziip: Mapping[str, Any]) -> Array:
    """(I,) stretch of work on the zIIPs."""
    if not ziip:
        return np.ones(len(h.seconds))
    work = (h.ziip_s + h.ziip_on_cp_s).sum(axis=1) / h.seconds
    cores, threads, gain = max(round(ziip["engines"]), 1), round(ziip["threads"]), ziip["gain"]["centre"]
    dense = ziip["packing"] == "dense"
    if not ziip["overflow"]:
        return queues.bounded_pool(work, cores, gain, threads, dense=dense)[1]
    waiting, always, behind = (ziip["overflow"][key]["centre"] for key in ("waiting", "bunched", "bunched_behind_cps"))
    more = queues.bunched(always, behind, waited_for_cps(h))
    return queues.bounded_pool(work, cores, gain, threads, (int(waiting), more), dense)[1]


def _by_day(h: History, top: Array, bottom: Array) -> Array:
    """(I,) ratio of sums over the interval's day."""
    _, index = np.unique(h.day, return_inverse=True)
    tops, bottoms = np.bincount(index, weights=np.nan_to_num(top)), np.bincount(index, weights=bottom)
    return (tops / np.maximum(bottoms, 1e-9))[index]


@dataclass(frozen=True)
class Followed(Fit):
    """How the responses of a class follow their waits: rest and factors of these, that of the wait for a limit last.

    ``weight`` (n,) is that of the intervals in the fit. ``scatter`` is how far their means are from those of their
    loads: a part of the usual response always, another over the root of the transactions, and a part of the wait.
    """

    weight: Array
    scatter: tuple[float, float, float]


def followed(seen: Seen, wait: Array | None = None) -> Followed:
    """How the responses follow the waits, and that for a limit, if any.

    An interval's mean wait is the further from that of its load the longer it is, as long queues come and go slowly
    (W. Whitt, *Planning queueing simulations*, 1989). How far, the residuals tell.
    """
    design, target = seen.design(wait), seen.response - seen.service
    prior, spread = seen.prior(wait is not None)
    weight, of_waits, level = seen.weight, 0.0, 1.0
    for turn in range(TURNS):
        # No wait shortens a response.
        found = positive(design, target, weight, seen.day, prior, spread, [math.inf, *[1.0] * (len(prior) - 1)])
        if turn < TURNS - 1:
            waited = design[:, 1:] @ np.maximum(found.mean[1:], 0.0)
            of_waits = _of_waits(target - design @ found.mean, seen.weight, waited)
            weight = 1.0 / (1.0 / seen.weight + (of_waits * waited) ** 2)
            # Criteria of fits can be compared where the weights of the intervals have the same product.
            level = math.exp(float(np.mean(np.log(seen.weight / weight))))
            weight = weight * level
    usual = found.scale / math.sqrt(level)
    return Followed(**vars(found), weight=weight, scatter=(usual * SCATTER, usual * VARIATION, usual * of_waits))


def _of_waits(residual: Array, weight: Array, waited: Array) -> float:
    """The likeliest ratio r where residuals (n,) have variances in proportion to ``1 / weight + (r * waited)^2``."""
    longest = float(waited.max())
    if longest <= 0.0:
        return 0.0
    ratios = np.append(0.0, RATIOS) * math.sqrt(float(np.median(1.0 / weight))) / longest
    variance = 1.0 / weight + (ratios[:, None] * waited) ** 2
    squares = residual**2 / variance
    scale = squares.mean(axis=1)
    scale = np.minimum(squares, OUTLYING**2 * scale[:, None]).mean(axis=1)
    unlikely = len(residual) * np.log(np.maximum(scale, 1e-300)) + np.log(variance).sum(axis=1)
    return float(ratios[np.argmin(unlikely)])
