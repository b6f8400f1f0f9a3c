"""Limits that responses show: resources of a few places that the records do not name.

Responses grow with the rate of the classes that share a limit more than the engines explain. Which classes share it,
how many places it has and how long it is held are searched for; it is kept where the data plainly prefer it to none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.draws import DRAWS, normals
from model.calibration.history import History
from model.calibration.waiting import ENGINES, FEWEST_INTERVALS, Followed, Seen, followed, pools
from model.capacity import queues
from model.capacity.places import queue_for_places

Array = NDArray[np.float64]

PLACES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
LOADS = np.concatenate([np.arange(0.1, 0.7, 0.06), np.arange(0.7, 0.99, 0.02)])
# By how much a limit must better the fit of each of its classes: less may be work of uneven size before the engines.
LIMIT_GAIN = 100.0
# A limit fills sooner than the engines do with the work of its own classes, or it is these, with work in bursts.
SOONER = 1.1
# A limit whose wait is at no load this share of the usual response does not show.
SHOWS = 0.03
# Each class that shares a limit waits at least this part of what the limit makes it wait.
SHARED = 0.3
BINS = 160
# A limit has to show while the engines are less busy than this part of what there is to get: near it their own queue,
# and what is left of it from the interval before, grow with the rate as a limit's do.
CALM = 0.92


def shown(h: History, seen: dict[int, Seen], fits: dict[int, Followed]) -> list[tuple[tuple[int, ...], Found]]:
    """Sets of classes that share a limit, a workload's or one alone, with what was found; the plainest first."""
    groups: set[tuple[int, ...]] = {(c,) for c in seen}
    for workload in {h.workloads[c] for c in seen}:
        groups.add(tuple(c for c in seen if h.workloads[c] == workload))
    busy = h.busy_s / h.seconds
    calm = busy < CALM * pools(h, busy)
    at_calm = {c: one for c, every in seen.items() if len((one := every.within(calm)).response) >= FEWEST_INTERVALS}
    always = {c for c, one in at_calm.items() if len(one.response) == len(seen[c].response)}
    fits_at_calm = {c: fits[c] if c in always else followed(one) for c, one in at_calm.items()}
    found = []
    for members in groups:
        limit = _limit(h, members, at_calm, fits_at_calm) if at_calm.keys() >= set(members) else None
        if limit is not None and not always.issuperset(members):
            limit = _limit(h, members, seen, fits)
        if limit is not None:
            found.append((members, limit))
    return sorted(found, key=lambda pair: (-pair[1].gain, pair[0]))


@dataclass(frozen=True)
class Sharers:
    """Those who share a limit, (n,): transactions/s, the seconds of each inside, on engines, and queueing for these;
    the engines they use, the work that shares them, and all those there are.

    A class of twice the ``weight`` holds the limit twice as long, where it is held for a time of its own. ``others`` is
    the part of the places that work beside these classes takes.
    """

    total: Array
    inside: Array
    on_engines: Array
    queued: Array
    used: Array
    offered: Array
    pool: Array
    weight: Array | float = 1.0
    others: Array | float = 0.0

    def each(self, made: Callable[[Array], Array]) -> Sharers:
        """The same with something else made of every array."""
        parts = (getattr(self, one.name) for one in fields(self))
        return Sharers(*(made(part) if isinstance(part, np.ndarray) else part for part in parts))

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Sharers:
        """Those chosen."""
        return self.each(lambda values: values[kept])

    @property
    def fullest(self) -> NDArray[np.int64]:
        """Where most come, and where most are inside."""
        return np.array([np.argmax(self.total), np.argmax(self.total * self.inside)])


@dataclass(frozen=True)
class Candidates:
    """Limits (N,): places, and for how long one is held: seconds, or parts of the time inside and on the engines;
    seconds below zero are those inside without it.

    Of ``queues`` alike, each with as many places and its part of the transactions, the others hold for the rest: the
    time held is divided by their number, and the wait that follows multiplied by it.
    """

    places: Array
    hold_s: Array
    of_inside: Array
    of_engines: Array
    queues: Array

    def rows(self, kept: NDArray[np.int64]) -> Candidates:
        """Those chosen."""
        return Candidates(
            self.places[kept], self.hold_s[kept], self.of_inside[kept], self.of_engines[kept], self.queues[kept]
        )

    def wait(self, shared: Sharers) -> Array:
        """(N, n) wait in ms."""
        return self.effect(shared)[0]

    def eased(self, shared: Sharers) -> Array:
        """(N, n) part of the queueing for engines that is left where those who wait are kept out."""
        return self.effect(shared)[1]

    def effect(self, shared: Sharers) -> tuple[Array, Array]:
        """(N, n) wait in ms, and the part of the queueing for engines that is left."""
        waited, left = self._held(shared)
        engines = (self.of_inside + self.of_engines) * self.queues
        return 1e3 * waited * self.queues[:, None], 1.0 - engines[:, None] * (1.0 - left)

    def _held(self, shared: Sharers) -> tuple[Array, Array]:
        """(N, n) wait in s for one of the queues, and the part that is left of the queueing of those inside."""
        inside, engines = self.of_inside[:, None], (self.of_inside + self.of_engines)[:, None]
        free = self.hold_s[:, None] * np.asarray(shared.weight) + inside * (shared.inside - shared.on_engines)
        alone, filled = queues.of_others(engines * shared.used, shared.offered, shared.pool)
        free, filled = np.broadcast_arrays(np.maximum(free, 0.0), filled)
        waited, left = np.empty(free.shape), np.ones(free.shape)
        for places, crowded in sorted({(one, of > 0) for one, of in zip(self.places, engines[:, 0], strict=True)}):
            rows = (self.places == places) & ((engines[:, 0] > 0) == crowded)
            rate = shared.total + shared.others * places / np.maximum(free[rows], 1e-12)
            # The queueing that is seen is what the limit leaves of it.
            for _ in range(2 if crowded and np.any(shared.queued) else 1):
                kept_out = (alone[rows] / np.maximum(left[rows], 1e-12) - 1.0) * shared.queued
                queue = engines[rows] * (shared.on_engines + kept_out) * shared.total / np.maximum(rate, 1e-12)
                waited[rows], _, saved = queue_for_places(rate, free[rows], places, queue, filled[rows])
                left[rows] = 1.0 - saved * (1.0 - alone[rows])
        return waited, left


@dataclass(frozen=True)
class Found:
    """Limits that responses prefer to none: candidates with chances; of the best fits, wait (I,) in ms, the part (I,)
    that it leaves of its classes' queueing for engines, and gain."""

    candidates: Candidates
    chance: Array
    fits: dict[int, Followed]
    wait: Array
    eased: Array
    gain: float


def _limit(h: History, members: Sequence[int], seen: dict[int, Seen], fits: dict[int, Followed]) -> Found | None:
    """The limit that the responses of these classes plainly prefer to none."""
    shared = _sharers(h, members, seen, fits)
    tried = _candidates(shared) if shared.total.any() else None
    if tried is None or not len(tried.places):
        return None
    explained = {c: fits[c] for c in members}
    for again in (False, True):
        bins = {c: Binned.of(seen[c], shared, explained[c].weight) for c in members}
        effects = {c: tried.effect(bins[c].shared) for c in members}
        # What scatter there is without the limit is in part the limit's own work: it is judged by what it leaves.
        none = sum(float(bins[c].score(explained[c], *seen[c].prior(False))[0]) for c in members)
        scores = sum(
            (bins[c].score(explained[c], *seen[c].prior(True), effects[c]) for c in members),
            np.full(len(tried.places), 2.0 * math.log(len(shared.total))),
        )
        best = np.array([np.argmin(scores)])
        gain = none - float(scores[best[0]])
        if not np.isfinite(gain) or (again and gain < LIMIT_GAIN * len(members)):
            return None
        wait, left = (one[0] for one in tried.rows(best).effect(shared))
        explained = {c: followed(seen[c].easing(left), wait[seen[c].kept]) for c in members}
    waits = min(one.mean[-1] for one in explained.values()) >= SHARED
    if not waits or not _fills_sooner(tried.rows(best), shared):
        return None
    likely = np.flatnonzero(scores < scores[best] + 12.0)
    chance = np.exp(-0.5 * (scores[likely] - scores[best]))
    return Found(tried.rows(likely), chance / chance.sum(), explained, wait, left, gain)


def _sharers(h: History, members: Sequence[int], seen: dict[int, Seen], fits: dict[int, Followed]) -> Sharers:
    """The classes that may share a limit, in every interval, as without it."""
    total, inside, using, queued, used, offered = (np.zeros(len(h.seconds)) for _ in range(6))
    pool = np.full(len(h.seconds), np.inf)
    for c in members:
        one, rate = seen[c], h.ended[:, c] / h.seconds
        waits = sum(factor * wait for factor, wait in zip(fits[c].mean[1:ENGINES], one.waits, strict=True))
        expected = np.full(len(h.seconds), np.median(one.response))
        expected[one.kept] = one.service + fits[c].mean[0] + waits
        total += rate
        inside += rate * expected / 1e3
        using[one.kept] += rate[one.kept] * one.service / 1e3
        queued[one.kept] += rate[one.kept] * waits / 1e3
        used += np.nan_to_num(h.cp_s[:, c]) / h.seconds
        offered[one.kept] = np.maximum(offered[one.kept], one.offered)
        pool[one.kept] = np.minimum(pool[one.kept], one.pool)
    pool = np.where(np.isfinite(pool), pool, 1.0)
    inside, using, queued = (one / np.maximum(total, 1e-12) for one in (inside, using, queued))
    return Sharers(total, inside, using + queued, queued, used, offered, pool)


def _fills_sooner(limit: Candidates, shared: Sharers) -> bool:
    """Whether a limit fills sooner than the engines do with the work of those who share it."""
    here = shared.rows(shared.fullest)
    taken = np.max(here.total * (limit.hold_s[0] + limit.of_inside[0] * here.inside)) / limit.places[0]
    return bool(taken >= SOONER * float(np.quantile(shared.used / shared.pool, 0.999)))


def _candidates(shared: Sharers) -> Candidates:
    """Limits worth trying, which have a steady state where most come and where most are inside."""
    highest = max(float(np.quantile(shared.total, 0.999)), 1e-12)
    longest_s, most_inside = np.quantile(shared.inside, 0.9), np.quantile(shared.total * shared.inside, 0.999)
    places = np.repeat(PLACES, len(LOADS)).astype(float)
    hold_s = np.tile(LOADS, len(PLACES)) * places / highest
    short = hold_s < longest_s
    whole = np.array([float(one) for one in PLACES if 0.3 < most_inside / one < 1.2])
    timed, none = np.ones(int(short.sum())), np.zeros(len(whole))
    number = len(timed) + len(none)
    found = Candidates(
        np.concatenate([places[short], whole]),
        np.concatenate([hold_s[short], none]),
        np.concatenate([0.0 * timed, none + 1.0]),
        np.zeros(number),
        np.ones(number),
    )
    return found.rows(np.flatnonzero(np.isfinite(found.wait(shared.rows(shared.fullest))).all(axis=1)))


@dataclass(frozen=True)
class Binned:
    """A class's intervals gathered by the rate of those that may share a limit with it (B,): means, their weight.

    ``columns`` (B, 4) are the rest and the waits.
    """

    shared: Sharers
    columns: Array
    target: Array
    weight: Array
    usual: float

    @classmethod
    def of(cls, seen: Seen, shared: Sharers, each: Array) -> Binned:
        """Up to ``BINS`` bins of equal numbers of intervals, of which ``each`` (n,) has its weight."""
        order = np.argsort(np.argsort(shared.total[seen.kept], kind="stable"), kind="stable")
        index = order * min(BINS, len(order)) // len(order)
        weight = np.bincount(index, weights=each).astype(np.float64)

        def mean(values: Array) -> Array:
            return np.bincount(index, weights=values * each) / weight

        return cls(
            shared.rows(seen.kept).each(mean),
            np.column_stack([mean(x) for x in (np.ones_like(seen.queued), *seen.waits)]),
            mean(seen.response - seen.service),
            weight,
            float(np.median(seen.response)),
        )

    def score(
        self, found: Followed, centre: list[float], spread: list[float], effect: tuple[Array, Array] | None = None
    ) -> Array:
        """(N,) how badly the responses are followed with each limit's effect, (N, B); (1,) without a limit.

        They are taken to scatter as about the fit. Infinite where a wait does not show, or has no steady state.
        """
        weights = self.weight / (found.scale**2 * found.dependence)
        prior, precision = np.array(centre), 1.0 / np.square(spread)
        design = self.columns[None]
        usable = np.ones(1, bool)
        if effect is not None:
            wait, left = effect
            usable = np.isfinite(wait).all(axis=1) & (np.max(wait, axis=1) >= SHOWS * self.usual)
            here = np.where(usable[:, None], wait, 0.0)
            rest = np.broadcast_to(self.columns[:, :1], (*here.shape, 1))
            design = np.concatenate([rest, design[..., 1:] * left[..., None], here[..., None]], axis=2)
        weighted = design * weights[:, None]
        inverse = weighted.swapaxes(1, 2) @ design + np.diag(precision)
        moment = weighted.swapaxes(1, 2) @ self.target + precision * prior
        mean = np.linalg.solve(inverse, moment[..., None])[..., 0]
        mean[:, 1:] = np.maximum(mean[:, 1:], 0.0)
        residual = self.target - (design @ mean[..., None])[..., 0]
        sums = residual**2 @ weights + (mean - prior) ** 2 @ precision
        return np.where(usable, sums, np.inf)


def limit_entry(
    h: History,
    members: Sequence[int],
    candidates: Candidates,
    chance: Array,
    fits: dict[int, Followed],
    name: str,
) -> dict[str, Any]:
    """The limit as a bundle holds it."""
    label = h.classes[members[0]] if len(members) == 1 else h.workloads[members[0]] or "all classes"
    centre = int(np.argmax(chance))
    picked = np.minimum(np.searchsorted(np.cumsum(chance), (np.arange(DRAWS) + 0.5) / DRAWS), len(chance) - 1)

    def drawn(values: Array) -> dict[str, Any]:
        return {"centre": float(values[centre]), "draws": values[picked].astype(float).tolist()}

    factor = np.mean([fits[c].mean[-1] for c in members])
    spread = math.sqrt(float(np.mean([fits[c].cov[-1, -1] for c in members])))
    deviates = normals(1, f"{name} limit {label}")[:, 0]
    return {
        "name": label,
        "members": [h.classes[c] for c in members],
        "servers": drawn(candidates.places),
        "hold_s": drawn(candidates.hold_s),
        "of_inside": drawn(candidates.of_inside),
        "of_engines": drawn(candidates.of_engines),
        "factor": {"centre": float(max(factor, 0.0)), "draws": np.maximum(factor + spread * deviates, 0.0).tolist()},
    }
