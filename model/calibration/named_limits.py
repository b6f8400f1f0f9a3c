"""Limits that the records name: transaction managers say for what transactions wait, and how often they were found so.

The wait is measured, so places and holding time follow from how it grows with the rate and with the time inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.draws import DRAWS, normals
from model.calibration.history import History
from model.calibration.limits import PLACES, Candidates, Sharers
from model.calibration.regression import Fit, day_dependence, positive
from model.calibration.waiting import ENGINES, FEWEST_INTERVALS, Seen
from model.capacity import queues

Array = NDArray[np.float64]

# Samples of waiting from which a limit's places follow; with fewer it counts as never reached.
FEWEST_SAMPLES = 50
# Who is expected in so many samples is found in one, with a chance of 95 %.
UNSEEN = 3.0
# A class belongs to a limit where it waits for it at least this part as long as all classes together.
SHARED = 0.05
# How far full a limit may be at the highest recorded rate.
LOADS = np.concatenate([np.arange(0.02, 0.7, 0.04), np.arange(0.7, 0.995, 0.015)])
# Logarithmic deviation of a wait from that of M/M/m: services vary otherwise, and one transaction waits more than once.
FACTOR_SD = 0.7
# Longest wait that a limit worth trying makes, as part of the longest that was measured.
LEAST_WAIT = 0.02
# Least relative deviation of a holding time that was measured.
HOLD_SD = 0.005
BINS = 160
# How far, relatively, the wait for a limit may be from any law of this kind, at this many loads independently.
UNLIKE, LIKE_LOADS = 0.1, 16
MOST_PLACES, MOST_REGIONS = 512.0, 64
# Parts of the shortest time inside that may pass without the limit, and numbers of places tried with each.
OUTSIDE, FEWER = np.arange(0.1, 0.9, 0.1), 24
# How far, relatively, a class's requests may take longer than those of others.
UNLIKE_HOLDS = 0.5
# Turns in which waits are divided into those of classes and of intervals.
WEIGHT_TURNS = 20
# Candidates this much less likely than the best one, as twice a logarithm, are left out.
UNLIKELY = 12.0


def named_limits(
    h: History, seen: dict[int, Seen], fits: Mapping[int, Fit], name: str
) -> tuple[list[dict[str, Any]], dict[int, Array]]:
    """The limits as a bundle holds them, those held inside others first, those never reached last; and of classes that
    wait for them, or share engines with those, the part (I,) of their queueing for engines that is left.

    ``fits`` say of each class how long it is on the engines.
    """
    engines = {c: _on_engines(h, seen[c], fits[c]) for c in seen}
    eased: dict[int, Array] = {}
    found = [_named(h, engines, limit, ()) for limit in sorted(h.waited_s)]
    # The time inside an outer limit includes the waits for those held within it, by some of its members.
    reached = sorted(
        (one for one in found if one is not None), key=lambda one: (one.of_inside, len(one.members), one.name)
    )
    inner: list[str] = []
    entries = []
    for one in reached:
        again = (_named(h, engines, one.name, tuple(inner)) if inner and one.of_inside > 0 else one) or one
        entries.append(again.entry(h, name))
        inner.append(one.name)
        for c, left in (dict.fromkeys(again.members, again.eased) | left_to_others(h, engines, again)).items():
            eased[c] = eased.get(c, np.ones(len(h.seconds))) * left
    never = sorted(set(h.waited_s) - {one.name for one in reached})
    return entries + [_never_reached(h, seen, limit) for limit in never], eased


def _on_engines(h: History, seen: Seen, found: Fit) -> Array:
    """(I, 4) seconds of a transaction on engines and waiting for them, and of waiting alone; the work that shares the
    engines, and the engines. NaN in intervals that were not usable."""
    queued = sum(factor * wait for factor, wait in zip(found.mean[1:ENGINES], seen.waits, strict=True)) / 1e3
    on_engines = np.full((len(h.seconds), 4), np.nan)
    on_engines[seen.kept] = np.column_stack([seen.service / 1e3 + queued, queued, seen.offered, seen.pool])
    return on_engines


def left_to_others(h: History, engines: dict[int, Array], limit: Named) -> dict[int, Array]:
    """The part (I,) that is left of the queueing of classes that share engines with members of a limit held inside."""
    if limit.of_inside <= 0:
        return {}
    others = [c for c in engines if c not in limit.members]
    rate, used = (np.nan_to_num(one) / h.seconds[:, None] for one in (h.ended, h.cp_s))
    queued = {c: np.nan_to_num(rate[:, c] * engines[c][:, 1]) for c in engines}
    left = {c: np.ones(len(h.seconds)) for c in others}
    for member in limit.members:
        _, _, offered, pool = engines[member].T
        alike = {c: np.nan_to_num(engines[c][:, 2]) == offered for c in engines}
        own = sum((used[:, c] * alike[c] for c in limit.members), np.zeros(len(offered)))
        load = sum((used[:, c] * alike[c] for c in others), np.zeros(len(offered)))
        waiting = sum((queued[c] * left[c] * alike[c] for c in others), np.zeros(len(offered)))
        gone = queued[member] * (1.0 - limit.eased)
        part = queues.eased_beside(gone, load, waiting, np.nan_to_num(pool - offered + own))
        left = {c: np.where(alike[c], left[c] * part, left[c]) for c in others}
    return left


def _never_reached(h: History, seen: dict[int, Seen], limit: str) -> dict[str, Any]:
    """A limit for which next to nobody waited: its places are not known, only who would wait.

    Where somebody was found waiting, a class that was not, though it would have been if it waited as the others did,
    does not hold it; where nobody was, all whose records name it may.
    """
    named = [c for c in seen if np.isfinite(h.waited_s[limit][:, c]).any()]
    waited, ended = np.nansum(h.waited_s[limit], axis=0), h.ended.sum(axis=0)
    mean = waited[named].sum() / max(float(ended[named].sum()), 1.0)
    members = [c for c in named if waited[c] > 0 or mean * ended[c] < UNSEEN * h.sampling_s]
    return {"name": limit, "members": [h.classes[c] for c in members]}


@dataclass(frozen=True)
class Named:
    """A limit's members (C',) and how long each waits beside the mean of all; candidates with chances and factors.

    ``holds`` (draws, C') say how long each holds it beside that mean, its centre first, where that was measured;
    ``eased`` (I,) what it leaves of queueing for engines.
    """

    name: str
    members: Sequence[int]
    weights: Array
    candidates: Candidates
    chance: Array
    log_factor: Array
    log_sd: Array
    holds: Array | None = None
    eased: Array | float = 1.0

    def easing(self, shared: Sharers, kept: NDArray[np.bool_]) -> Named:
        """The same with the part of queueing for engines that it leaves in the intervals ``kept``."""
        number = int(np.argmax(self.chance))
        best, part = self.candidates.rows(np.array([number])), min(float(np.exp(self.log_factor[number])), 1.0)
        eased = np.ones(len(kept))
        eased[kept] = 1.0 - part * (1.0 - best.eased(shared)[0])
        return replace(self, eased=eased)

    @property
    def of_inside(self) -> float:
        """For which part of the time inside a place is held."""
        return float(self.candidates.of_inside[np.argmax(self.chance)])

    def entry(self, h: History, system: str) -> dict[str, Any]:
        """The limit as a bundle holds it."""
        best = int(np.argmax(self.chance))
        ranks = (np.arange(DRAWS) + 0.5) / DRAWS
        picked = np.minimum(np.searchsorted(np.cumsum(self.chance), ranks), len(self.chance) - 1)
        deviates, held = normals(2, f"{system} limit {self.name}").T
        hold_s = self.candidates.hold_s
        held_s = hold_s[picked] * (1.0 + HOLD_SD * held)

        def drawn(values: Array) -> dict[str, Any]:
            return {"centre": float(values[best]), "draws": values[picked].astype(float).tolist()}

        queues = self.candidates.queues
        factor = queues[picked] * np.exp(self.log_factor[picked] + self.log_sd[picked] * deviates)
        each = [] if self.holds is None else [{"centre": float(of[0]), "draws": of[1:].tolist()} for of in self.holds.T]
        return {
            "name": self.name,
            **({"holds": each} if each else {}),
            "members": [h.classes[c] for c in self.members],
            "weights": [float(weight) for weight in self.weights],
            "servers": drawn(self.candidates.places),
            "hold_s": {"centre": float(hold_s[best]), "draws": held_s.tolist()},
            "of_inside": drawn(self.candidates.of_inside),
            "of_engines": drawn(self.candidates.of_engines),
            "factor": {"centre": float(queues[best] * np.exp(self.log_factor[best])), "draws": factor.tolist()},
            "kind": "devices" if self.name in h.devices else "limit",
        }


def _named(h: History, engines: dict[int, Array], limit: str, inner: Sequence[str]) -> Named | None:
    """What a limit's waits say; None where too few waited. ``inner`` are the limits held within it."""
    waited = np.nan_to_num(h.waited_s[limit])
    ended = np.maximum(h.ended.sum(axis=0), 1.0)
    members = [c for c in engines if waited[:, c].sum() > 0]
    group = h.devices.get(limit)
    if not members or (group is None and waited[:, members].sum() < FEWEST_SAMPLES * h.sampling_s):
        return None
    mean = waited[:, members].sum() / ended[members].sum()
    members = [c for c in members if waited[:, c].sum() >= SHARED * mean * ended[c]]
    weights = _weights(waited[:, members], h.ended[:, members])
    usable = [np.isfinite(engines[c][:, 0]) | (h.ended[:, c] == 0) for c in members]
    kept = (h.ended[:, members].sum(axis=1) > 0) & np.all(usable, axis=0)
    if kept.sum() < FEWEST_INTERVALS:
        return None
    count = h.ended[kept][:, members].sum(axis=1)
    total = count / h.seconds[kept]
    outer = [np.nan_to_num(waits) for name, waits in h.waited_s.items() if name not in inner]
    outside = sum((waits[kept][:, members].sum(axis=1) for waits in outer), np.zeros(len(total)))
    spent = np.nansum(h.response_ms[kept][:, members] * h.ended[kept][:, members], axis=1) / 1e3 - outside
    on_engines = sum(np.nan_to_num(engines[c][kept]) * h.ended[kept, c][:, None] for c in members) / count[:, None]
    used = np.nansum(h.cp_s[kept][:, members], axis=1)[:, None] / h.seconds[kept, None]
    if group is None:
        mixed = h.ended[kept][:, members] @ weights / count
    else:
        mixed = group.busy_s[kept] / count * count.sum() / group.busy_s[kept].sum()
    others = np.zeros(len(total)) if group is None else group.others(h.seconds)[kept]
    each_s = np.maximum(spent, 0.0) / count
    times = np.column_stack([total, each_s, on_engines[:, :2], used, on_engines[:, 2:], mixed, others])
    gathered = _Gathered.of(times, waited[kept][:, members].sum(axis=1), count, h.day[kept], h.sampling_s)
    if group is None:
        found = _fitted(limit, members, weights, gathered, None)
        return found and found.easing(Sharers(*times.T), kept)
    each = group.busy_s[kept].sum() / count.sum()
    found = _fitted(limit, members, weights, gathered, _of_servers(group.servers, each))
    done = h.ended[kept][:, members]
    return found and replace(found, holds=_holds(done, group.busy_s[kept], h.day[kept], weights, limit))


def _weights(waited: Array, ended: Array) -> Array:
    """(C',) how long each class waits beside the mean of all, of (I, C') seconds and transactions.

    In each interval all wait as that interval has it: a class of busy hours has waited longer than one of the night and
    waits no longer beside it.
    """
    found = np.ones(waited.shape[1])
    for _ in range(WEIGHT_TURNS):
        level = waited.sum(axis=1) / np.maximum(ended @ found, 1e-12)
        found = waited.sum(axis=0) / np.maximum(level @ ended, 1e-12)
    return np.asarray(found * ended.sum() / (ended @ found).sum())


def _holds(ended: Array, busy_s: Array, day: NDArray[np.int64], weights: Array, name: str) -> Array:
    """(1 + draws, C') how long a transaction of each class is served beside the mean of all, of (I, C') transactions
    and (I,) seconds of all servers: requests of one class may take longer than those of another."""
    each = busy_s.sum() / ended.sum()
    prior = each * weights
    weight = 1.0 / np.maximum(busy_s, 1e-3 * busy_s.max())
    found = positive(ended, busy_s, weight, day, prior, UNLIKE_HOLDS * prior, prior)
    values, vectors = np.linalg.eigh((found.cov + found.cov.T) / 2.0)
    spread = normals(len(weights), f"{name} holds") @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.maximum(found.mean + np.vstack([np.zeros_like(weights), spread]), 0.0) / each


@dataclass(frozen=True)
class _Gathered:
    """Waits (B,) in s by what those who share a limit do, and how sure they are."""

    shared: Sharers
    wait: Array
    precision: Array
    dependence: float

    @classmethod
    def of(cls, times: Array, waited: Array, count: Array, day: NDArray[np.int64], sampling_s: float) -> _Gathered:
        """From intervals: ``times`` (n, 9) are what :class:`Sharers` has."""
        order = np.argsort(np.argsort(times[:, 0] * times[:, 1], kind="stable"), kind="stable")
        bins = min(BINS, len(order))
        index = order * bins // len(order)
        many = np.bincount(index, weights=count)
        wait = np.bincount(index, weights=waited) / many
        # What is found by samples varies as their number does, and a mean of waits as far as the wait is long.
        near = np.convolve(np.pad(wait, 4, mode="edge"), np.ones(9) / 9.0, mode="valid")[index]
        near = np.maximum(near, sampling_s / count)
        standard = (waited / count - wait[index]) * np.sqrt(count / (near * (near + sampling_s)))
        dependence, _ = day_dependence(standard / max(float(standard.std()), 1e-12), day)
        weight = count / (near * (near + sampling_s))
        return cls(
            Sharers(*(np.bincount(index, weights=column * count) / many for column in times.T)),
            wait,
            np.bincount(index, weights=weight) / max(float(standard.var()), 1e-12),
            dependence,
        )

    def rows(self, kept: NDArray[np.bool_]) -> _Gathered:
        """Those chosen."""
        return _Gathered(self.shared.rows(kept), self.wait[kept], self.precision[kept], self.dependence)


def _fitted(
    limit: str, members: Sequence[int], weights: Array, seen: _Gathered, known: Candidates | None
) -> Named | None:
    tried = _candidates(seen.shared) if known is None else known
    if known is not None:
        # Volumes are no other ones because they were full for some time.
        seen = seen.rows(np.asarray(np.isfinite(known.wait(seen.shared)).all(axis=0)))
    wait = tried.wait(seen.shared) / 1e3
    shows = (wait.max(axis=1) > LEAST_WAIT * seen.wait.max()) | (known is not None)
    usable = np.isfinite(wait).all(axis=1) & shows
    tried, wait = tried.rows(np.flatnonzero(usable)), wait[usable]
    if not len(wait):
        return None
    unlike = (UNLIKE * seen.wait) ** 2 * len(seen.wait) / LIKE_LOADS
    precision = 1.0 / (seen.dependence / seen.precision + unlike)
    cross, square = wait @ (precision * seen.wait), wait**2 @ precision
    log_factor = np.log(np.clip(cross / np.maximum(square, 1e-300), 0.01, 100.0))
    for _ in range(20):
        factor = np.exp(log_factor)
        slope = factor * (cross - factor * square) - log_factor / FACTOR_SD**2
        curve = factor**2 * square + 1.0 / FACTOR_SD**2
        log_factor = log_factor + np.clip(slope / curve, -0.5, 0.5)
    factor = np.exp(log_factor)
    misfit = (seen.wait - factor[:, None] * wait) ** 2 @ precision
    # What no candidate follows widens all of them.
    misfit = misfit / max(float(misfit.min()) / max(len(seen.wait) - 3, 1), 1.0)
    curve = factor**2 * square + 1.0 / FACTOR_SD**2
    score = misfit + (log_factor / FACTOR_SD) ** 2 + np.log(curve)
    # Each kind of limit is as likely beforehand, however many of it are tried.
    kinds = np.column_stack([np.sign(tried.hold_s), tried.of_inside > 0, tried.of_engines > 0, tried.queues > 1])
    _, kind, many = np.unique(kinds, axis=0, return_inverse=True, return_counts=True)
    score = score + 2.0 * np.log(many[kind.ravel()])
    likely = np.flatnonzero(score < score.min() + UNLIKELY)
    chance = np.exp(-0.5 * (score[likely] - score.min()))
    return Named(
        limit, members, weights, tried.rows(likely), chance / chance.sum(), log_factor[likely], curve[likely] ** -0.5
    )


def _of_servers(servers: float, busy_s: float) -> Candidates:
    """Servers that share one queue, or each of which has its own; a transaction is ``busy_s`` on them in all."""
    places, hold_s = np.array([servers, 1.0]), np.array([busy_s, busy_s / servers])
    return Candidates(places, hold_s, np.zeros(2), np.zeros(2), np.array([1.0, servers]))


def _candidates(seen: Sharers) -> Candidates:
    """Limits worth trying: held for a time of its own, a part of the time on engines, both, or all the time inside, or
    all but a fixed part; or one place in each of several regions, held all the time on engines, as the QR TCB of CICS.
    """
    places = np.repeat(PLACES, len(LOADS)).astype(float)
    load = np.tile(LOADS, len(PLACES)) * places
    hold = load / float(seen.total.max())
    part = load / max(float((seen.total * seen.on_engines).max()), 1e-12)
    number = float((seen.total * seen.inside).max())
    whole = np.unique(np.round(np.geomspace(1.0, MOST_PLACES, 120)))
    whole = whole[(number / whole > LOADS[0]) & (number / whole < 1.0)]
    # Held for a time of its own and while on engines, in parts of 1 and 0, 0 and 1, or half and half.
    rows = []
    for own in (1.0, 0.0, 0.5):
        usable = (own * hold < float(np.quantile(seen.inside, 0.9))) & ((1.0 - own) * part <= 1.0)
        rows.append(np.column_stack([places, own * hold, 0.0 * hold, (1.0 - own) * part, 0.0 * hold + 1.0])[usable])
    rows.append(np.column_stack([whole, 0.0 * whole, 0.0 * whole + 1.0, 0.0 * whole, 0.0 * whole + 1.0]))
    # Held all the time inside but for one that is always the same: on the way in and out.
    shortest = float(np.quantile(seen.inside, 0.05))
    for outside in OUTSIDE * shortest:
        number = float((seen.total * (seen.inside - outside)).max())
        fewer = np.arange(1.0, MOST_PLACES + 1.0)
        fewer = fewer[(number / fewer > LOADS[0]) & (number / fewer < 1.0)][:FEWER]
        rows.append(np.column_stack([fewer, 0.0 * fewer - outside, 0.0 * fewer + 1.0, 0.0 * fewer, 0.0 * fewer + 1.0]))
    running = float((seen.total * seen.on_engines).max())
    regions = np.arange(2.0, MOST_REGIONS + 1.0)
    regions = regions[(running / regions > LOADS[0]) & (running / regions < 1.0)]
    rows.append(np.column_stack([0.0 * regions + 1.0, 0.0 * regions, 0.0 * regions, 1.0 / regions, regions]))
    return Candidates(*np.concatenate(rows).T)
