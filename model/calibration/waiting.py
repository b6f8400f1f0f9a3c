"""Response of each class: service stretched by the engines' queue, the wait for a limit, and a rest.

The stretch is that of M/M/m, by importance or for all classes together, whichever follows the measured responses
better. A limit is a resource of a few places that the records do not name: responses grow with the rate of the classes
that share it more than the engines explain. Which classes share it, how many places it has and how long it is held are
searched for; it is kept where the data plainly prefer it to no limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.draws import DRAWS, known, normals
from model.calibration.intervals import History
from model.calibration.regression import Fit, fit
from model.capacity import queues

Array = NDArray[np.float64]

# Transactions in an interval that make its mean response usable, and intervals that make a class so.
FEWEST_ENDED, FEWEST_INTERVALS = 30.0, 24
# Relative scatter of a mean response besides that of its transactions, whose own coefficient of variation is assumed.
SCATTER, VARIATION = 0.01, 1.5
# How far waiting may differ from M/M/m: prior of its factor for engines and for a limit.
FACTOR_SD, BEHIND_SD, ZIIP_SD, LIMIT_SD = 0.3, 1.0, 0.3, 0.3
PRIOR, SPREAD = [0.0, 1.0, 0.5, 1.0], [1e6, FACTOR_SD, BEHIND_SD, ZIIP_SD]
# Noise of a predicted mean, and its growth for each e-fold of busy beyond the measured.
NOISE, DRIFT, P90_NOISE = 0.015, 0.12, 0.04
PLACES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
LOADS = np.concatenate([np.arange(0.1, 0.7, 0.06), np.arange(0.7, 0.99, 0.02)])
# By how much a limit must better the fit of each of its classes: less may be work of uneven size before the engines.
LIMIT_GAIN = 100.0
# A limit whose wait is at no load this share of the usual response does not show.
SHOWS = 0.03
BINS = 160


@dataclass(frozen=True)
class Seen:
    """One class's usable intervals: (n,) response and weight, service, and waiting for engines, all in ms.

    ``queued`` is the wait where more important work comes in short pieces, ``behind`` what comes on top where its
    pieces are as long as the class's own; ``ziip`` the wait for a zIIP and what a second thread on its core costs.
    """

    c: int
    kept: NDArray[np.bool_]
    response: Array
    weight: Array
    service: Array
    queued: Array
    behind: Array
    ziip: Array
    day: NDArray[np.int64]

    @property
    def waits(self) -> list[Array]:
        """Columns of the regression besides the rest: those of the waits."""
        return [self.queued, self.behind, self.ziip]


def responses(h: History, streams: Sequence[int], ziip: Mapping[str, Any], name: str) -> dict[str, Any]:
    """``response``, ``limits`` and ``priorities`` of a bundle's entry."""
    ranked, together = (_explained(h, streams, ziip, by_importance) for by_importance in (True, False))
    if not together.seen:
        return {"response": {}, "limits": [], "priorities": known(0.0)}
    chance = 1.0 / (1.0 + math.exp(float(np.clip(0.5 * (ranked.score - together.score), -50.0, 50.0))))
    chosen = ranked if chance > 0.5 else together
    drawn = (np.arange(DRAWS) + 0.5) / DRAWS < chance
    return {
        "response": {
            h.classes[c]: _entry(h, seen, chosen.fits[c], chosen.limited.get(c, 0.0), name)
            for c, seen in chosen.seen.items()
        },
        "limits": [
            _limit_entry(h, members, candidates, shares, {c: chosen.fits[c] for c in members}, name)
            for members, candidates, shares in chosen.limits
        ],
        "priorities": {"centre": float(chance > 0.5), "draws": drawn.astype(float).tolist()},
    }


@dataclass(frozen=True)
class Explained:
    """Responses under one view of the engines: fits by class, limits found, their waits in ms, and the criterion."""

    seen: dict[int, Seen]
    fits: dict[int, Fit]
    limits: list[tuple[tuple[int, ...], list[Candidate], Array]]
    limited: dict[int, Array]
    score: float


def _explained(h: History, streams: Sequence[int], ziip: Mapping[str, Any], by_importance: bool) -> Explained:
    seen = _seen(h, streams, ziip, by_importance)
    fits = {c: _plain(one) for c, one in seen.items()}
    limits, limited = [], {}
    free = set(seen)
    for members in _groups(h, seen, fits):
        found = _limit(h, members, seen, fits) if set(members) <= free else None
        if found is None:
            continue
        limits.append((members, found.candidates, found.chance))
        for c in members:
            fits[c] = found.fits[c]
            limited[c] = fits[c].mean[-1] * found.wait[seen[c].kept]
        free -= set(members)
    return Explained(seen, fits, limits, limited, float(sum(one.bic for one in fits.values())))


def available(h: History) -> Array:
    """(I,) engines the LPAR could get in each interval."""
    if h.machine is None:
        return h.engines
    m = h.machine
    share = m.weight / max(m.total_weight, 1e-9) * m.engines
    left = m.engines - (m.others_s + m.management_s) / h.seconds
    most = np.full(len(left), share) if m.capped else np.maximum(left, share)
    return np.minimum(h.engines, np.minimum(most, m.engines))


def _seen(h: History, streams: Sequence[int], ziip: Mapping[str, Any], by_importance: bool) -> dict[int, Seen]:
    busy, pool = h.busy_s / h.seconds, available(h)
    steady = busy < 0.995 * pool
    used = np.nan_to_num(h.cp_s) / h.seconds[:, None]
    uncaptured = np.maximum(busy - used.sum(axis=1), 0.0)
    ziip_stretch = _ziip_stretch(h, ziip)
    found = {}
    for c in streams:
        kept = steady & (h.ended[:, c] >= FEWEST_ENDED) & np.isfinite(h.response_ms[:, c]) & np.isfinite(h.cp_s[:, c])
        if kept.sum() < FEWEST_INTERVALS:
            continue
        if by_importance:
            level = h.importance[c]
            own = used[:, h.importance == level].sum(axis=1) + (uncaptured if level == 0 else 0.0)
            above = used[:, h.importance < level].sum(axis=1) + (uncaptured if level > 0 else 0.0)
            stretched = queues.stretch_below(own, pool, above)
            longer = np.maximum(queues.stretch(own, pool, above) - stretched, 0.0)
        else:
            stretched, longer = queues.stretch(busy, pool), np.zeros(len(busy))
        service = 1e3 * _by_day(h, h.cp_s[:, c], h.ended[:, c])
        on_ziip = 1e3 * _by_day(h, h.ziip_s[:, c], h.ended[:, c])
        queued = service * (stretched - 1.0)
        kept &= np.isfinite(queued)
        response, ended = h.response_ms[kept, c], h.ended[kept, c]
        usual = np.median(response)
        weight = 1.0 / (usual**2 * (SCATTER**2 + VARIATION**2 / ended))
        behind = (service * longer)[kept]
        found[c] = Seen(
            c,
            kept,
            response,
            weight,
            (service + on_ziip)[kept],
            queued[kept],
            behind,
            (on_ziip * (ziip_stretch - 1.0))[kept],
            h.day[kept],
        )
    return found


def _ziip_stretch(h: History, ziip: Mapping[str, Any]) -> Array:
    """(I,) stretch of work on the zIIPs."""
    if not ziip:
        return np.ones(len(h.seconds))
    work = (h.ziip_s + h.ziip_on_cp_s).sum(axis=1) / h.seconds
    waiting = int(ziip["overflow"]["waiting"]["centre"]) if ziip["overflow"] else None
    cores, threads = max(round(ziip["engines"]), 1), round(ziip["threads"])
    return queues.bounded_pool(work, cores, ziip["gain"]["centre"], threads, waiting)[1]


def _by_day(h: History, top: Array, bottom: Array) -> Array:
    """(I,) ratio of sums over the interval's day."""
    _, index = np.unique(h.day, return_inverse=True)
    tops, bottoms = np.bincount(index, weights=np.nan_to_num(top)), np.bincount(index, weights=bottom)
    return (tops / np.maximum(bottoms, 1e-9))[index]


def _plain(seen: Seen, wait: Array | None = None) -> Fit:
    """Rest, and factors of the waits; with ``wait`` of a limit, its factor last."""
    columns = [np.ones_like(seen.queued), *seen.waits]
    prior, spread = PRIOR, SPREAD
    if wait is not None:
        columns, prior, spread = [*columns, wait], [*PRIOR, 1.0], [*SPREAD, LIMIT_SD]
    found = fit(np.column_stack(columns), seen.response - seen.service, seen.weight, seen.day, prior, spread)
    for _ in range(2):
        # No wait shortens a response: what would is held near nothing.
        wrong = [i for i in range(1, len(prior)) if found.mean[i] < 0.0]
        if not wrong:
            break
        for i in wrong:
            prior = [*prior[:i], 0.0, *prior[i + 1 :]]
            spread = [*spread[:i], 0.01, *spread[i + 1 :]]
        found = fit(np.column_stack(columns), seen.response - seen.service, seen.weight, seen.day, prior, spread)
    return found


def _groups(h: History, seen: dict[int, Seen], fits: dict[int, Fit]) -> list[tuple[int, ...]]:
    """Sets of classes that may share a limit, a workload's or one alone; where it shows most comes first."""
    groups: set[tuple[int, ...]] = {(c,) for c in seen}
    for workload in {h.workloads[c] for c in seen}:
        groups.add(tuple(c for c in seen if h.workloads[c] == workload))
    found = {members: _limit(h, members, seen, fits) for members in groups}
    gains = {members: limit.gain for members, limit in found.items() if limit is not None}
    return sorted(gains, key=lambda members: (-gains[members], members))


@dataclass(frozen=True)
class Candidate:
    """A limit: places, whether held for the whole time inside, and holding time in ms (its share if whole)."""

    places: int
    whole: bool
    hold: float


@dataclass(frozen=True)
class Found:
    """Limits that responses prefer to none: candidates with chances; fits, wait (I,) in ms and gain of the best."""

    candidates: list[Candidate]
    chance: Array
    fits: dict[int, Fit]
    wait: Array
    gain: float


def _limit(h: History, members: Sequence[int], seen: dict[int, Seen], fits: dict[int, Fit]) -> Found | None:
    """The limit that the responses of these classes plainly prefer to none."""
    rate = {c: h.ended[:, c] / h.seconds for c in members}
    total = np.sum(list(rate.values()), axis=0)
    highest = float(np.quantile(total, 0.999))
    if highest <= 0:
        return None
    inside = np.zeros(len(h.seconds))
    for c in members:
        expected = np.full(len(h.seconds), np.median(seen[c].response))
        waits = sum(factor * wait for factor, wait in zip(fits[c].mean[1:4], seen[c].waits, strict=True))
        expected[seen[c].kept] = seen[c].service + fits[c].mean[0] + waits
        inside += rate[c] * expected / 1e3
    mean_inside = np.where(total > 0, inside / np.maximum(total, 1e-12), 0.0)
    binned = {c: Binned.of(seen[c], total, fits[c]) for c in members}
    none = _score(None, members, binned, total, mean_inside) or 0.0
    longest = 1e3 * float(np.quantile(mean_inside, 0.9))
    tried = []
    for places in PLACES:
        holds = LOADS * places / highest * 1e3
        tried += [Candidate(places, False, float(hold)) for hold in holds if hold < longest]
        if 0.3 < float(np.quantile(inside, 0.999)) / places < 1.2:
            tried.append(Candidate(places, True, 1.0))
    scores = [(_score(candidate, members, binned, total, mean_inside), candidate) for candidate in tried]
    scored = [(score, candidate) for score, candidate in scores if score is not None]
    if not scored:
        return None
    best = min(score for score, _ in scored)
    if none - best < LIMIT_GAIN * len(members):
        return None
    scored = [pair for pair in scored if pair[0] < best + 12.0]
    chance = np.exp(-0.5 * np.array([score - best for score, _ in scored]))
    chance /= chance.sum()
    candidates = [candidate for _, candidate in scored]
    centre = candidates[int(np.argmax(chance))]
    wait = _wait(centre, total, mean_inside)
    found = {c: _plain(seen[c], wait[seen[c].kept]) for c in members}
    return Found(candidates, chance, found, wait, none - best)


def _score(
    candidate: Candidate | None, members: Sequence[int], binned: dict[int, Binned], total: Array, mean_inside: Array
) -> float | None:
    """How badly the classes' responses are followed with a limit (None: without), as a sum of information criteria."""
    wait = None if candidate is None else _wait(candidate, total, mean_inside)
    sums = 0.0
    for c in members:
        own = binned[c]
        columns, prior, spread = own.columns, PRIOR, SPREAD
        if wait is not None:
            here = own.mean(wait[own.kept])
            if not np.isfinite(here).all() or here.max() < SHOWS * own.usual:
                return None
            columns = np.column_stack([columns, here])
            prior, spread = [*PRIOR, 1.0], [*SPREAD, LIMIT_SD]
        precision = 1.0 / np.square(spread)
        weighted = columns * own.precision[:, None]
        inverse = weighted.T @ columns + np.diag(precision)
        mean = np.maximum(
            np.linalg.solve(inverse, weighted.T @ own.target + precision * prior), [-np.inf] + [0.0] * (len(prior) - 1)
        )
        residual = own.target - columns @ mean
        sums += float(own.precision @ residual**2 + precision @ (mean - prior) ** 2)
    return sums + (0.0 if candidate is None else 2.0 * math.log(max(len(total), 2)))


@dataclass(frozen=True)
class Binned:
    """A class's intervals gathered by the rate of those that may share a limit with it: means and their precision."""

    kept: NDArray[np.bool_]
    index: NDArray[np.int64]
    weight: Array
    columns: Array
    target: Array
    precision: Array
    usual: float

    @classmethod
    def of(cls, seen: Seen, total: Array, found: Fit) -> Binned:
        """Up to ``BINS`` bins of equal numbers of intervals."""
        order = np.argsort(np.argsort(total[seen.kept], kind="stable"), kind="stable")
        index = order * min(BINS, len(order)) // len(order)
        blank = cls(
            seen.kept, index, seen.weight, np.empty((0, 0)), np.empty(0), np.empty(0), float(np.median(seen.response))
        )
        columns = np.column_stack([blank.mean(x) for x in (np.ones_like(seen.queued), *seen.waits)])
        precision = np.bincount(index, weights=seen.weight) / (found.scale**2 * found.dependence)
        return cls(
            seen.kept, index, seen.weight, columns, blank.mean(seen.response - seen.service), precision, blank.usual
        )

    def mean(self, values: Array) -> Array:
        """Weighted means by bin."""
        return np.bincount(self.index, weights=values * self.weight) / np.bincount(self.index, weights=self.weight)


def _wait(candidate: Candidate, total: Array, mean_inside: Array) -> Array:
    hold = mean_inside if candidate.whole else np.full(len(total), candidate.hold / 1e3)
    return 1e3 * queues.wait(total, hold, candidate.places)


def _limit_entry(
    h: History,
    members: Sequence[int],
    candidates: list[Candidate],
    chance: Array,
    fits: dict[int, Fit],
    name: str,
) -> dict[str, Any]:
    label = h.classes[members[0]] if len(members) == 1 else h.workloads[members[0]] or "all classes"
    centre = int(np.argmax(chance))
    picked = np.minimum(np.searchsorted(np.cumsum(chance), (np.arange(DRAWS) + 0.5) / DRAWS), len(candidates) - 1)

    def drawn(value: Any) -> dict[str, Any]:
        return {"centre": float(value(candidates[centre])), "draws": [float(value(candidates[p])) for p in picked]}

    factor = np.mean([fits[c].mean[-1] for c in members])
    spread = math.sqrt(float(np.mean([fits[c].cov[-1, -1] for c in members])))
    deviates = normals(1, f"{name} limit {label}")[:, 0]
    return {
        "name": label,
        "members": [h.classes[c] for c in members],
        "servers": drawn(lambda one: one.places),
        "hold_s": drawn(lambda one: 1.0 if one.whole else one.hold / 1e3),
        "whole": drawn(lambda one: one.whole),
        "factor": {"centre": float(max(factor, 0.0)), "draws": np.maximum(factor + spread * deviates, 0.0).tolist()},
    }


def _entry(h: History, seen: Seen, found: Fit, limited: Array | float, name: str) -> dict[str, Any]:
    label = h.classes[seen.c]
    drawn = found.drawn(f"{name} {label} response")
    z = normals(2, f"{name} {label} response scatter")
    busy = h.busy_s / h.seconds / available(h)
    entry = {
        "metric": "response_ms",
        "stream": label,
        "series": [label],
        "ziip_series": [f"{label}:ziip"] if h.ziip_s[:, seen.c].sum() > 0 else [],
        "origin": "measured",
        "points": int(seen.kept.sum()),
        "rest_ms": {"centre": float(found.mean[0]), "draws": drawn[:, 0].tolist()},
        "factor": {"centre": float(max(found.mean[1], 0.0)), "draws": np.maximum(drawn[:, 1], 0.0).tolist()},
        "behind": {"centre": float(max(found.mean[2], 0.0)), "draws": np.maximum(drawn[:, 2], 0.0).tolist()},
        "ziip_factor": {"centre": float(max(found.mean[3], 0.0)), "draws": np.maximum(drawn[:, 3], 0.0).tolist()},
        "load": known(0.0),
        "noise": {"centre": 0.0, "draws": (NOISE * z[:, 0]).tolist()},
        "drift": {"centre": 0.0, "draws": (DRIFT * z[:, 1]).tolist()},
        "measured_stretch": 1.0,
        "busy_support": float(np.quantile(busy[seen.kept], 0.995)),
    }
    p90 = h.p90_ms[seen.kept, seen.c]
    usable = np.isfinite(p90)
    if usable.sum() >= FEWEST_INTERVALS:
        waited = limited + sum(factor * wait for factor, wait in zip(found.mean[1:4], seen.waits, strict=True))
        share = np.clip(waited / seen.response, 0.0, 1.0)[usable]
        design = np.column_stack([1.0 - share, share])
        # Where all of it is waiting, responses are about exponential: their 90th percentile is ln 10 means.
        ratio = fit(
            design,
            p90[usable] / seen.response[usable],
            seen.weight[usable],
            seen.day[usable],
            [1.5, math.log(10.0)],
            [2.0, 0.4],
        )
        pair = ratio.drawn(f"{name} {label} p90")
        scatter = 1.0 + P90_NOISE * normals(1, f"{name} {label} p90 scatter")[:, 0]
        entry["p90"], entry["p90_waiting"] = (
            {"centre": float(ratio.mean[i]), "draws": np.maximum(pair[:, i] * scatter, 1.0).tolist()} for i in (0, 1)
        )
    return entry
