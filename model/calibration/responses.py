"""Response of each class as a bundle holds it: service, waits for the engines and for limits, a rest, and how sure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration import discrepancy
from model.calibration.draws import DRAWS, known, normals
from model.calibration.history import History
from model.calibration.limits import Candidates, limit_entry, shown
from model.calibration.named_limits import named_limits
from model.calibration.regression import Fit, fit
from model.calibration.waiting import (
    ENGINES,
    FEWEST_INTERVALS,
    LASTING_S,
    Followed,
    InBursts,
    Order,
    Seen,
    followed,
    seen_by,
)

Array = NDArray[np.float64]

# 90th percentile over mean: of a response without waiting, of one that is nothing else, and what is added in between,
# where what waits and what is served may be long together, with their deviations. The last two are the likeliest of
# 290 responses of random networks beside their records; where work runs to its end, waits behind pieces of unequal size
# have longer tails.
P90 = {
    Order.IMPORTANCE: ([1.5, 2.6, 0.4], [2.0, 0.2, 0.2]),
    Order.SHARED: ([1.5, 2.5, 0.4], [2.0, 0.15, 0.15]),
    Order.ARRIVAL: ([1.5, 2.6, 0.4], [2.0, 0.2, 0.6]),
    Order.IN_LINE: ([1.5, 2.6, 0.4], [2.0, 0.2, 0.6]),
}
# Deviation of waiting beyond the measured, held beforehand: six tenths of the likeliest where the longest waits of
# histories were predicted from their shorter ones, as predictions rest on both. Where all work shares the engines its
# sizes do not matter; elsewhere they do.
BEYOND = {Order.IMPORTANCE: 0.018, Order.SHARED: 0.009, Order.ARRIVAL: 0.07, Order.IN_LINE: 0.07}
# The same of waits for volumes.
FOR_DEVICES = 0.07
# The same where a limit holds work back that a network of queues would let pass, and so shortens its other waits.
HELD_BACK = 0.09
# The same for each part of the longest waits by which calibration had to bend those of the queue.
BENT = 0.07
# z/OS dispatches by importance: by how much the criterion of another order of several importances must be better.
UNUSUAL = 6.0
# The same where answers are to hold for both: beforehand one in four systems shares its engines.
DOUBTED = 2.2
# z/OS does not say which of several classes of one importance it dispatches first: by how much the criterion must be
# better with an order among them.
RANKED = 20.0
# By how much the criterion must be better with a limit that no record names than in another order without it: many
# places and times are tried, and waits behind pieces of unequal size look like one.
HIDDEN = 40.0
# Bursts: by how much the criterion must be better with them; how many classes are tried, for which parts of the time
# they may come, and steps by which the part is refined; how far, as a logarithm, their length may be from the usual.
BURSTS, MOST_TRIED, ON, ON_STEPS, LASTING_SD = 40.0, 5, (0.85, 0.65, 0.45), (0.08, 0.04, 0.02), 1.4
# Where next to nothing waited, waits tell no more of it than where they were this part of the queue's.
LEAST_WAITED = 0.2


def responses(h: History, streams: Sequence[int], ziip: Mapping[str, Any], stay: float, name: str) -> dict[str, Any]:
    """``response``, ``limits``, ``priorities``, ``in_line`` and ``to_its_end`` of a bundle's entry, and the ``levels``
    in which its classes get the engines, the first ones lowest.

    Transactions are on the engines ``stay`` times as long as they are charged for.
    """
    # On a shared machine the hypervisor takes engines away before work is at its end.
    alone = h.machine is None or h.machine.weight >= h.machine.total_weight
    orders = [order for order in Order if alone or order is not Order.IN_LINE]
    several = len(np.unique(h.importance[list(streams)])) > 1

    def seen(order: Order, bursts: InBursts | None = None) -> dict[int, Seen]:
        return seen_by(h, streams, ziip, order, stay, bursts)

    def unlikely(order: Order) -> float:
        return UNUSUAL if several and order is not Order.IMPORTANCE else 0.0

    views = [_explained(h, seen(order), name, order) for order in orders]
    chosen = min(views, key=lambda one: one.score + unlikely(one.order))
    ranked = _ranked(h, views[orders.index(Order.IMPORTANCE)].fits)
    if ranked is not None:
        found = _explained(ranked, seen_by(ranked, streams, ziip, Order.IMPORTANCE, stay), name, Order.IMPORTANCE)
        if found.score + RANKED < chosen.score + unlikely(chosen.order):
            h, chosen = ranked, found
    lack_of_fit = chosen.lack_of_fit()
    # What looks like a limit that no record names, or like work that runs to its end, may be bursts, too; on a shared
    # machine, other LPARs' work.
    if alone and (lack_of_fit > 0.0 or chosen.limits or chosen.order.to_its_end):
        order, bursts = _in_bursts(h, chosen.seen, lambda *asked: _quick_score(seen(*asked)) + unlikely(asked[0]))
        found = _explained(h, seen(order, bursts), name, order, bursts)
        better = chosen.score + unlikely(chosen.order) - found.score - unlikely(order)
        if better > BURSTS and found.lack_of_fit() <= lack_of_fit:
            chosen, lack_of_fit = found, found.lack_of_fit()
    order = chosen.order
    response = chosen.entries(h, lack_of_fit, name)
    other, elsewise = _other_order(chosen, views if several else (), name)
    if other is not None:
        response = _mixed(response, other.entries(h, other.lack_of_fit(), name), elsewise)
    return {
        "response": response,
        "limits": [
            *chosen.named,
            *(
                limit_entry(h, members, candidates, shares, {c: chosen.fits[c] for c in members}, name)
                for members, candidates, shares in chosen.limits
            ),
        ],
        "priorities": {
            "centre": float(order is Order.IMPORTANCE),
            "draws": (elsewise != (order is Order.IMPORTANCE)).astype(float).tolist(),
        },
        "in_line": order is Order.IN_LINE,
        "to_its_end": order.to_its_end,
        "levels": dict(zip(h.classes, h.importance.tolist(), strict=True)),
        **_bursts(h, chosen.bursts, name),
    }


def _other_order(
    chosen: Explained, views: Sequence[Explained], name: str
) -> tuple[Explained | None, NDArray[np.bool_]]:
    """What explains the responses as well, if work is shared where it is held to go by importance or the other way
    round, and in which draws, (draws,), it does: records of engines with room tell the two apart by next to nothing."""
    none = np.zeros(DRAWS, bool)
    either = {one.order: one for one in views if one.order in (Order.IMPORTANCE, Order.SHARED)}
    if either.get(chosen.order) is not chosen or any(one.limits for one in either.values()):
        return None, none
    other = next(one for one in either.values() if one is not chosen)
    doubt = other.score - chosen.score + (DOUBTED if chosen.order is Order.IMPORTANCE else -DOUBTED)
    chance = 1.0 / (1.0 + math.exp(min(0.5 * doubt, 100.0)))
    draws = np.argsort(np.argsort(normals(1, f"{name} order")[:, 0])) < round(chance * DRAWS)
    return (other, draws) if draws.any() else (None, none)


def _mixed(entries: Mapping[str, Any], others: Mapping[str, Any], elsewise: NDArray[np.bool_]) -> dict[str, Any]:
    """Laws of responses by class with the draws of other ones in some, (draws,)."""

    def drawn(one: Any, other: Any) -> Any:
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            return one
        both = (np.broadcast_to(law["draws"] or [law["centre"]], DRAWS) for law in (other, one))
        return {**one, "draws": np.where(elsewise, *both).tolist()}

    return {
        name: {key: drawn(value, others.get(name, {}).get(key)) for key, value in law.items()}
        for name, law in entries.items()
    }


def _ranked(h: History, fits: Mapping[int, Fit]) -> History | None:
    """The history in which classes of one importance go before each other, first whoever waits least beside the queue
    that all of them make; None where no importance has several."""
    waits = {c: float(found.mean[1]) for c, found in fits.items() if h.importance[c] > 0}
    ranks = np.zeros(len(h.classes), np.int64)
    for level in {int(h.importance[c]) for c in waits}:
        alike = sorted((c for c in waits if h.importance[c] == level), key=lambda c: waits[c])
        ranks[alike] = np.arange(len(alike))
    return replace(h, importance=len(ranks) * h.importance + ranks) if ranks.any() else None


def _in_bursts(h: History, classes: Iterable[int], score: Callable[[Order, InBursts], float]) -> tuple[Order, InBursts]:
    """The best of the explanations in which transactions of a class that uses much come in bursts.

    Work that runs to its end waits by factors of which nothing is known beforehand: they would pass for bursts.
    """
    used, thinking_s = np.nansum(h.cp_s, axis=0), h.thinking_s()
    most = sorted((c for c in classes if not thinking_s[:, c].any()), key=lambda c: -float(used[c]))[:MOST_TRIED]
    orders = [order for order in Order if not order.to_its_end]
    scores = {(order, InBursts(c, on)): score(order, InBursts(c, on)) for order in orders for c in most for on in ON}
    for step in ON_STEPS:
        order, best = min(scores, key=lambda one: scores[one])
        near = {(order, InBursts(best.c, best.on + by)) for by in (-step, step)}
        scores |= {one: score(*one) for one in near - scores.keys()}
    return min(scores, key=lambda one: scores[one])


def _bursts(h: History, bursts: InBursts | None, name: str) -> dict[str, Any]:
    """``bursts`` of a bundle's entry; empty where nothing comes in any."""
    if bursts is None:
        return {}
    label = h.classes[bursts.c]
    longer = np.exp(LASTING_SD * normals(1, f"{name} {label} bursts")[:, 0])
    lasting_s = {"centre": LASTING_S, "draws": (LASTING_S * longer).tolist()}
    return {"bursts": {"stream": label, "on": known(bursts.on), "lasting_s": lasting_s}}


@dataclass(frozen=True)
class Explained:
    """Responses under one order of work: fits by class, limits that records name, others found with their waits in ms,
    who comes in bursts, and the criterion."""

    seen: dict[int, Seen]
    fits: dict[int, Followed]
    named: list[dict[str, Any]]
    limits: list[tuple[tuple[int, ...], Candidates, Array]]
    limited: dict[int, Array]
    order: Order
    bursts: InBursts | None
    score: float

    def entries(self, h: History, lack_of_fit: float, name: str) -> dict[str, Any]:
        """The laws of a bundle, by class."""
        return {
            h.classes[c]: _entry(h, seen, self.fits[c], self.limited.get(c), lack_of_fit, name)
            for c, seen in self.seen.items()
        }

    def lack_of_fit(self) -> float:
        """Relative deviation of waits beyond the recorded, where they plainly grow otherwise than the law."""
        return discrepancy.lack_of_fit(self.residuals(c) for c in self.seen)

    def residuals(self, c: int) -> tuple[Array, Array, Array, Fit]:
        """Of a class: (n,) waits as fitted, what was measured beside them and its weights, and the fit."""
        seen, found = self.seen[c], self.fits[c]
        waits = seen.design(self.limited.get(c))[:, 1:] @ np.maximum(found.mean[1:], 0.0)
        return waits, seen.response - seen.service - found.mean[0] - waits, found.weight, found


def _explained(h: History, seen: dict[int, Seen], name: str, order: Order, bursts: InBursts | None = None) -> Explained:
    """What explains the responses of classes whose waits are those of one order of work."""
    fits = {c: followed(one) for c, one in seen.items()}
    named, eased = named_limits(h, seen, fits, name)
    for c, left in eased.items():
        seen[c] = seen[c].easing(left)
        fits[c] = followed(seen[c])
    limits, limited = [], {}
    free = set(seen)
    for members, found in shown(h, seen, fits):
        waits = {c: seen[c].easing(found.eased) for c in members}
        if not set(members) <= free or _score(waits, found.fits) >= _score({c: seen[c] for c in members}, fits):
            continue
        limits.append((members, found.candidates, found.chance))
        for c in members:
            seen[c], fits[c] = waits[c], found.fits[c]
            limited[c] = found.wait[seen[c].kept]
        free -= set(members)
    score = _score(seen, fits) + HIDDEN * len(limits)
    return Explained(seen, fits, named, limits, limited, order, bursts, score)


def _score(seen: Mapping[int, Seen], fits: Mapping[int, Followed]) -> float:
    """The criterion by which explanations of the responses of classes are compared: the less, the better."""
    return float(sum(fits[c].bic + one.strain(fits[c]) for c, one in seen.items()))


def _quick_score(seen: Mapping[int, Seen]) -> float:
    """The criterion where no limit holds anything back."""
    return _score(seen, {c: followed(one) for c, one in seen.items()})


def bent(seen: Seen, found: Followed, design: Array, long: NDArray[np.bool_]) -> float:
    """How far the factors of the queue's waits are from what theory has, as a part of the ``long`` waits.

    ``design`` (n, p) has the rest and the waits, that for a limit last.
    """
    waits, engines = design[long, 1:].sum(axis=0), slice(0, ENGINES - 1)
    theory = np.array(seen.prior(False)[0][1:])
    waited = float(waits @ np.maximum(found.mean[1:], 0.0)) + float(seen.limited[long].sum())
    moved = float(waits[engines] @ np.abs(found.mean[1:ENGINES] - theory))
    return moved / max(waited, LEAST_WAITED * float(waits[engines] @ theory), 1e-12)


def _entry(
    h: History, seen: Seen, found: Followed, wait: Array | None, lack_of_fit: float, name: str
) -> dict[str, Any]:
    label = h.classes[seen.c]
    drawn = found.drawn(f"{name} {label} response")
    z = normals(2, f"{name} {label} response scatter")
    design, target = seen.design(wait), seen.response - seen.service
    waited = design[:, 1:] @ np.maximum(found.mean[1:], 0.0)
    noise = discrepancy.inside(seen.response, seen.service + found.mean[0] + waited, waited, found.weight, found)
    long = waited + seen.limited >= np.quantile(waited + seen.limited, 0.95)
    usual = BEYOND[seen.order]
    if not seen.order.to_its_end:
        usual = math.hypot(usual, BENT * bent(seen, found, design, long))
    held = h.limited_ms(h.devices)[seen.kept, seen.c]
    by_limit, by_device = (
        float(np.sum(one[long]) / max(float(np.sum((waited + seen.limited)[long])), 1e-12))
        for one in (held, seen.limited - held)
    )
    usual = math.hypot(usual, HELD_BACK * by_limit, FOR_DEVICES * by_device)
    prior = seen.prior(wait is not None)
    drift = math.hypot(discrepancy.beyond(design, target, found.weight, seen.day, found, prior, usual), lack_of_fit)
    entry = {
        "metric": "response_ms",
        "stream": label,
        "series": [label],
        "ziip_series": [f"{label}:ziip"] if h.ziip_s[:, seen.c].sum() > 0 else [],
        "origin": "measured",
        "points": int(seen.kept.sum()),
        "rest_ms": {"centre": float(found.mean[0]), "draws": drawn[:, 0].tolist()},
        "factor": {"centre": float(max(found.mean[1], 0.0)), "draws": np.maximum(drawn[:, 1], 0.0).tolist()},
        "behind": known(0.0)
        if seen.order is Order.SHARED
        else {"centre": float(max(found.mean[2], 0.0)), "draws": np.maximum(drawn[:, 2], 0.0).tolist()},
        "crowded": {"centre": float(max(found.mean[3], 0.0)), "draws": np.maximum(drawn[:, 3], 0.0).tolist()},
        "ziip_factor": {"centre": float(max(found.mean[4], 0.0)), "draws": np.maximum(drawn[:, 4], 0.0).tolist()},
        "load": known(0.0),
        "noise": {"centre": 0.0, "draws": (noise * z[:, 0]).tolist()},
        "drift": {"centre": 0.0, "draws": (drift * z[:, 1]).tolist()},
        "measured_stretch": 1.0,
        "of_interval": list(found.scatter),
        "longest_wait_ms": float(np.quantile(waited + seen.limited, 0.995)),
    }
    expected = seen.service + found.mean[0] + waited + seen.limited
    share = np.clip((waited + seen.limited) / expected, 0.0, 1.0)
    return entry | _percentile(h.p90_ms[seen.kept, seen.c] / expected, share, seen, f"{name} {label}")


def _percentile(ratio: Array, share: Array, seen: Seen, name: str) -> dict[str, Any]:
    """How the 90th percentile over the mean response, (n,), goes with the share of waiting in this, (n,)."""
    usable = np.isfinite(ratio)
    if usable.sum() < FEWEST_INTERVALS:
        return {}
    ratio, share, weight = ratio[usable], share[usable], seen.weight[usable]
    design = np.column_stack([1.0 - share**2, share**2, share * (1.0 - share)])
    prior = P90[seen.order]
    found = fit(design, ratio, weight, seen.day[usable], *prior)
    off = discrepancy.inside(ratio, design @ found.mean, share, weight, found, least=0.0)
    found = fit(design, ratio, weight, seen.day[usable], *prior, off * float(np.median(ratio)))
    alone, waiting, more = np.vstack([found.mean, found.drawn(f"{name} p90")]).T
    law = {"p90": np.maximum(alone, 1.0), "p90_waiting": np.maximum(waiting, 1.0), "p90_bend": waiting - alone - more}
    return {part: {"centre": float(values[0]), "draws": values[1:].tolist()} for part, values in law.items()}
