"""Responses of an LPAR's classes: service, delays for CPs and zIIPs, limits, and a rest that no record explains.

The delays are those of the closed forms of :mod:`model.queueing`, times factors that each class's own records give: the
delays that samples found (SMF 72.3), where these are recorded, and the responses themselves, in one regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from model.calibration.history import History
from model.calibration.limits import Observation, device_limit, fit_limit, limit_of
from model.calibration.regression import DRAWS, Fit, fit, non_negative_fit, normal_scores, with_centre
from model.capacity.parameters import Limit, ResponseModel, ZiipPool
from model.queueing.priority import Delays, delays, delays_on_logical_cps, undispatched

Array = NDArray[np.float64]

FEWEST_ENDED, FEWEST_INTERVALS = 8.0, 24
"""Transactions in an interval that make its mean response usable, and intervals that make a class so."""
SCATTER, VARIATION = 0.01, 1.5
"""Relative scatter of a mean response, and the coefficient of variation of a single one."""
SATURATED = 0.995
"""Utilization from which an interval has no steady state; neither has the one after it."""
PRIOR_MEAN = np.array([0.0, 1.0, 0.5, 1.0, 1.0, 0.0])
PRIOR_SD = np.array([1e6, 0.5, 1.0, 0.5, 0.5, 1e6])
"""Of the rest, and of the factors of delays by short pieces, by long pieces, by the machine, and for zIIPs."""
REST, SHORT, LONG, MACHINE, ZIIP, GROWING = range(6)
GROWING_SD = 0.3
"""Prior deviation of what the rest grows by from an idle LPAR to a full one, as of devices, over the usual response."""
DEFICITS = np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8])
"""How many times as much as the closed form says other LPARs take of the engines of an LPAR: what is tried."""
NEGLIGIBLE = 0.02
"""Part of the usual response below which a wait is next to nothing."""
UNSTABLE = 0.005
"""Part of the recorded intervals that may be unstable in the closed form."""
CORRELATED = 2.0
"""How many times larger than independent samples would make it the variance of sampled delays is."""
MODEL_ERROR = 0.05
"""Relative error of a delay's closed form, beside its factor."""
CHANGE_ERROR, CHANGE_WEIGHT = 0.2, 30.0
"""Prior of the relative error of a predicted change of log response, and the intervals it is worth."""
HIGH_LOAD = 0.7
"""Loads above this quantile are predicted from those below in the backtest of changes."""
MOST_WAIT_SD = 1.0
"""Relative scatter of waits in single intervals that is taken to be large."""


@dataclass(frozen=True)
class PoolLoad:
    """Work of a pool of engines by priority level, (levels, I), and delays there."""

    levels: NDArray[np.int64]
    load: Array
    moment: Array
    servers: Array

    def delays(self, servers: Array | None = None) -> Delays:
        """Delays of every level, on other servers than the LPAR's if given."""
        return delays(self.load, self.servers if servers is None else servers, self.moment)


@dataclass(frozen=True)
class ClassFit:
    """What calibration found of one class: intervals used, delays (I,) in ms of the best estimate and the regression.

    ``columns`` (I, 6) are the regressors of the response beside the service, ``limited_ms`` (I,) waits for limits.
    """

    c: int
    kept: NDArray[np.bool_]
    service_ms: Array
    columns: Array
    limited_ms: Array
    regression: Fit
    evidence: str

    def expected_ms(self) -> Array:
        """(I,) mean response of the model."""
        return np.asarray(self.service_ms + self.columns @ self.regression.mean + self.limited_ms)


def levels_of(h: History) -> NDArray[np.int64]:
    """Importance levels that work of the LPAR has, highest first; 0 is system work and uncaptured time."""
    return np.union1d([0], np.unique(h.importance))


def cp_load(h: History) -> PoolLoad:
    """Work on CPs by importance; uncaptured time goes before everything else."""
    used = np.nan_to_num(h.cp_s) / h.seconds[:, None]
    service_ms = np.where(h.ended > 0, 1e3 * np.nan_to_num(h.cp_s) / np.maximum(h.ended, 1.0), 0.0)
    levels = levels_of(h)
    load = np.stack([used[:, h.importance == level].sum(axis=1) for level in levels])
    load[0] += np.maximum(h.busy_s / h.seconds - used.sum(axis=1), 0.0)
    moment = np.stack([(used * service_ms)[:, h.importance == level].sum(axis=1) for level in levels])
    return PoolLoad(levels, load, moment, h.engines)


def ziip_load(h: History, gain: float) -> PoolLoad:
    """Work on zIIPs by importance; a second thread of a core counts as ``gain`` less 1 of an engine."""
    used = h.ziip_s / h.seconds[:, None]
    service_ms = np.where(h.ended > 0, 1e3 * h.ziip_s / np.maximum(h.ended, 1.0), 0.0)
    levels = levels_of(h)
    load = np.stack([used[:, h.importance == level].sum(axis=1) for level in levels])
    moment = np.stack([(used * service_ms)[:, h.importance == level].sum(axis=1) for level in levels])
    return PoolLoad(levels, load, moment, np.maximum(h.ziips, 1.0) * gain)


def pool_engines(h: History, load: Array) -> Array:
    """(levels, I) engines of a dedicated pool in which work of so many engines waits as long as in the LPAR."""
    pool = np.broadcast_to(h.engines, load.shape).copy()
    if h.machine is None:
        return pool
    others = h.machine.others_s / h.seconds
    for engines in np.unique(h.engines):
        rows, sharing = h.engines == engines, h.sharing(float(engines))
        if sharing is not None:
            pool[:, rows] = sharing.pool(load[:, rows], np.broadcast_to(others[rows], load[:, rows].shape))
    return pool


class Delay:
    """Delays of every class for CPs and zIIPs with one share of what other LPARs take of the engines."""

    def __init__(self, h: History, gain: float, pool: Array, deficit: float) -> None:
        self.h, self.cp, self.ziip = h, cp_load(h), ziip_load(h, gain)
        servers = h.engines - deficit * (h.engines - pool)
        self.undispatched = undispatched(self.cp.load.sum(axis=0), np.maximum(servers[-1], 1e-3), h.engines)
        self.by_cp = delays_on_logical_cps(self.cp.load, h.engines, self.cp.moment, self.undispatched)
        self.by_ziip = self.ziip.delays()
        self.steady = np.cumsum(self.cp.load, axis=0) < SATURATED * servers

    def columns(self, c: int, service_ms: Array, ziip_ms: Array) -> Array:
        """(I, 6) regressors of the response beside the service, as :data:`PRIOR_MEAN` has their factors."""
        at = int(np.searchsorted(self.cp.levels, self.h.importance[c]))
        short, longer, size = (one[at] for one in self.by_cp)
        on_ziip, beyond, _ = (one[at] for one in self.by_ziip)
        return np.column_stack(
            [
                np.ones_like(service_ms),
                service_ms * short,
                longer * size,
                service_ms * self.undispatched,
                ziip_ms * (on_ziip + beyond),
                self.h.busy_s / self.h.seconds / self.h.engines,
            ]
        )

    def usable(self, c: int) -> NDArray[np.bool_]:
        """(I,) intervals with a steady state for the class, and before."""
        at = int(np.searchsorted(self.cp.levels, self.h.importance[c]))
        steady = self.steady[at].copy()
        steady[1:] &= steady[:-1]
        return np.asarray(steady)


def sampled_delay(h: History, c: int, engine: str, service_ms: Array) -> tuple[Array, Array] | None:
    """(I,) mean delay of a transaction in ms that samples found, and its sampling variance; None where none are taken.

    The ratio of delay to using samples, times the service: it needs no sampling interval. NaN where nothing was used.
    Weights by recorded counts prefer those that are small by chance. One delay sample more, where there is any, makes
    up for it (Mighell, Astrophysical Journal 518, 1999, p. 380).
    """
    using, delay = h.samples.get(f"{engine} using"), h.samples.get(f"{engine} delay")
    if using is None or delay is None or not np.nansum(using[:, c]) > 0:
        return None
    interval_s = h.sampling_s or 0.25
    used, late = np.nan_to_num(using[:, c]) / interval_s, np.nan_to_num(delay[:, c]) / interval_s
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(used >= 1.0, (late + np.minimum(late, 1.0)) / used, np.nan)
        variance = CORRELATED * (late + 1.0 + ratio**2 * used) / used**2
    return service_ms * ratio, service_ms**2 * variance


def responses(
    h: History,
    classes: Sequence[int],
    ziip: ZiipPool | None,
    served_by: Mapping[int, int],
    name: str,
) -> dict[str, Any]:
    """``responses``, ``limits`` and ``pool_deficit`` of a system's parameters.

    Parameters
    ----------
    classes : classes with transactions, by number.
    ziip : the zIIP pool, None without.
    served_by : class of the regions in which a class's transactions run, whose samples are theirs.
    """
    gain = float(ziip.gain[0]) if ziip is not None and ziip.threads > 1 else 1.0
    usual = pool_engines(h, np.cumsum(cp_load(h).load, axis=0))
    deficits, chance = _deficits(h, classes, served_by, gain, usual)
    best = Delay(h, gain, usual, float(deficits[np.argmax(chance)]))
    limits = _limits(h, classes, best, served_by, name)
    waits = _limit_waits(h, limits)
    fits = {}
    for c in classes:
        fitted = _fitted(h, c, best, served_by.get(c, c), waits.get(c))
        if fitted is not None:
            fits[c] = fitted
    change = _change_error(h, fits, best, served_by, waits)
    picked = np.minimum(np.searchsorted(np.cumsum(chance), (np.arange(DRAWS) + 0.5) / DRAWS), len(deficits) - 1)
    return {
        "responses": {h.classes[c]: _response(h, one, change, name) for c, one in fits.items()},
        "limits": tuple(one.parameters for one in limits),
        "pool_deficit": np.append(
            deficits[np.argmax(chance)], deficits[picked][np.argsort(normal_scores(1, f"{name} deficit")[:, 0])]
        ),
    }


def _deficits(
    h: History, classes: Sequence[int], served_by: Mapping[int, int], gain: float, usual: Array
) -> tuple[Array, Array]:
    """Shares of what other LPARs take that are tried, and the posterior probability of each by sampled delays."""
    if h.machine is None or np.allclose(usual, h.engines):
        return np.ones(1), np.ones(1)
    scores = np.zeros(len(DEFICITS))
    for i, deficit in enumerate(DEFICITS):
        theory = Delay(h, gain, usual, float(deficit))
        for c in classes:
            service_ms = _service(h, c)
            seen = sampled_delay(h, served_by.get(c, c), "cp", service_ms)
            if seen is None:
                continue
            columns = theory.columns(c, service_ms, np.zeros_like(service_ms))
            kept = np.isfinite(seen[0]) & (h.ended[:, c] >= FEWEST_ENDED)
            steady = np.isfinite(columns).all(axis=1)
            if (kept & ~steady).sum() > UNSTABLE * kept.sum():
                scores[i] = np.inf
                break
            kept &= steady
            design = columns[kept][:, [SHORT, LONG, MACHINE]]
            variance = seen[1][kept] + (MODEL_ERROR * seen[0][kept]) ** 2
            fitted = non_negative_fit(
                design, seen[0][kept], 1.0 / np.maximum(variance, 1e-12), h.day[kept],
                PRIOR_MEAN[1:4], PRIOR_SD[1:4], np.ones(3),
            )  # fmt: skip
            scores[i] += fitted.bic
    if not scores.any() or not np.isfinite(scores).any():
        return np.ones(1), np.ones(1)
    chance = np.exp(-0.5 * (scores - scores.min()))
    return DEFICITS, chance / chance.sum()


def _service(h: History, c: int) -> Array:
    """(I,) CPU of a transaction on CPs in ms, averaged over its day where the interval has few."""
    return np.asarray(1e3 * _by_day(h, np.nan_to_num(h.cp_s[:, c]) / h.dearer, h.ended[:, c]) * h.dearer)


def _by_day(h: History, cpu_s: Array, ended: Array) -> Array:
    """(I,) mean CPU of a transaction on the day of each interval, in s."""
    _, index = np.unique(h.day, return_inverse=True)
    tops, bottoms = (np.bincount(index, weights=one) for one in (cpu_s, ended))
    return np.asarray((tops / np.maximum(bottoms, 1e-12))[index])


def _fitted(
    h: History,
    c: int,
    theory: Delay,
    samples_of: int,
    limited_ms: Array | None,
    chosen: NDArray[np.bool_] | None = None,
) -> ClassFit | None:
    """The regression of one class, over the intervals ``chosen`` if given; None where too few of them are usable."""
    service_ms = _service(h, c)
    ziip_ms = 1e3 * _by_day(h, h.ziip_s[:, c], h.ended[:, c])
    columns = theory.columns(c, service_ms, ziip_ms)
    kept = theory.usable(c) & (h.ended[:, c] >= FEWEST_ENDED) & np.isfinite(h.response_ms[:, c])
    kept &= np.isfinite(columns).all(axis=1) & np.isfinite(h.cp_s[:, c])
    limited = np.zeros(len(h.seconds)) if limited_ms is None else limited_ms
    kept &= np.isfinite(limited)
    if chosen is not None:
        kept &= chosen
    if kept.sum() < FEWEST_INTERVALS:
        return None
    response, ended = h.response_ms[kept, c], h.ended[kept, c]
    usual = float(np.median(response))
    weight = 1.0 / (usual**2 * (SCATTER**2 + VARIATION**2 / ended))
    rows = [(columns[kept], response - (service_ms + ziip_ms)[kept] - limited[kept], weight, h.day[kept])]
    evidence = "responses"
    for engine, kinds, service in (("cp", (SHORT, LONG, MACHINE), service_ms), ("ziip", (ZIIP,), ziip_ms)):
        seen = sampled_delay(h, samples_of, engine, service)
        if seen is None:
            continue
        delay, variance = seen
        sampled = kept & np.isfinite(delay)
        design = np.zeros((int(sampled.sum()), len(PRIOR_MEAN)))
        design[:, list(kinds)] = columns[sampled][:, list(kinds)]
        error = variance[sampled] + (MODEL_ERROR * delay[sampled]) ** 2 + (1e-4 * usual) ** 2
        rows.append((design, delay[sampled], 1.0 / error, h.day[sampled]))
        evidence = "samples of delays, and responses"
    design, target, weights, day = (np.concatenate([row[i] for row in rows]) for i in range(4))
    used = np.flatnonzero(np.abs(design).sum(axis=0) > 1e-9)
    spread, unit = PRIOR_SD.copy(), np.ones(len(PRIOR_SD))
    spread[REST], unit[REST] = 10.0 * usual, np.inf
    spread[GROWING], unit[GROWING] = GROWING_SD * usual, usual
    posterior = non_negative_fit(design[:, used], target, weights, day, PRIOR_MEAN[used], spread[used], unit[used])
    mean, cov = np.zeros(len(PRIOR_MEAN)), np.zeros((len(PRIOR_MEAN), len(PRIOR_MEAN)))
    mean[used], cov[np.ix_(used, used)] = posterior.mean, posterior.cov
    columns = np.where(np.isfinite(columns), columns, 1e3 * h.seconds[:, None])
    return ClassFit(c, kept, service_ms + ziip_ms, columns, limited, replace(posterior, mean=mean, cov=cov), evidence)


@dataclass(frozen=True)
class FittedLimit:
    """A limit with its members, the part of its mean wait that each has, and what it makes of their waits."""

    members: tuple[int, ...]
    weights: Array
    wait_s: Array
    parameters: Limit


def _limits(
    h: History, classes: Sequence[int], theory: Delay, served_by: Mapping[int, int], name: str
) -> list[FittedLimit]:
    """Limits whose waits samples found: those that records name, and dispatching inside regions (the ready state)."""
    waited: dict[str, tuple[Array, bool]] = {limit: (seconds, False) for limit, seconds in h.waited_s.items()}
    for state, on_engines in (("ready", True), ("lock wait", True)):
        seconds = h.samples.get(state)
        if seconds is None:
            continue
        regions = {served_by.get(c, c) for c in classes if seconds[:, c].any()}
        for region in regions:
            members = [c for c in classes if served_by.get(c, c) == region]
            of_members = np.full(seconds.shape, np.nan)
            of_members[:, members] = seconds[:, members]
            if state == "ready":
                of_members[:, members] -= _undispatched_ready(h, members, region)
            label = "dispatching in" if state == "ready" else "locks of"
            waited[f"{label} {h.classes[region]}"] = of_members, on_engines
    fitted = (_measured(h, classes, theory, served_by, limit, *what, name) for limit, what in waited.items())
    return [one for one in fitted if one is not None]


def _undispatched_ready(h: History, members: Sequence[int], region: int) -> Array:
    """(I, members) time that transactions count as ready while their region's TCB waits for a CP, in s.

    The states active and ready together contain the CPU of the transactions, the waits of the region for CPs, and the
    waits for dispatching inside the region. Records differ in which state contains the waits for CPs: as much of them
    as active has no room for is in ready.
    """
    active, using, delay = (h.samples.get(state) for state in ("active", "cp using", "cp delay"))
    if active is None or using is None or delay is None or not active[:, members].any():
        return np.zeros((len(h.seconds), len(members)))
    late = np.nan_to_num(delay[:, region]).sum() / max(float(np.nan_to_num(using[:, region]).sum()), 1e-9)
    cpu_s = np.nan_to_num(h.cp_s[:, members])
    room = (active[:, members] - cpu_s).sum() / max(float(cpu_s.sum() * late), 1e-9)
    ratio = np.nan_to_num(delay[:, region]) / np.maximum(np.nan_to_num(using[:, region]), h.sampling_s or 0.25)
    return np.asarray(np.clip(1.0 - room, 0.0, 1.0) * cpu_s * ratio[:, None])


def _measured(
    h: History,
    classes: Sequence[int],
    theory: Delay,
    served_by: Mapping[int, int],
    limit: str,
    seconds: Array,
    on_engines: bool,
    name: str,
) -> FittedLimit | None:
    """A limit whose waits are recorded, (I, C) in s; without parameters where next to nobody waited."""
    members = tuple(c for c in classes if np.isfinite(seconds[:, c]).any())
    if not members:
        return None
    some, waited = h.ended[:, list(members)], np.nan_to_num(seconds[:, list(members)])
    total = some.sum(axis=1)
    kept = total >= FEWEST_ENDED
    labels = [h.classes[c] for c in members]
    each = waited.sum(axis=0) / np.maximum(some.sum(axis=0), 1.0)
    mean = waited.sum() / max(total.sum(), 1.0)
    weights = each / mean if mean > 0 else np.ones(len(members))
    if kept.sum() < FEWEST_INTERVALS or mean <= 0:
        unused = Limit(limit, tuple(labels))
        return FittedLimit(members, np.ones(len(members)), np.zeros(len(h.seconds)), unused)
    stretch = _stretch(h, members, theory, served_by) if on_engines else np.ones(len(h.seconds))
    interval_s = h.sampling_s or 0.25
    wait_s = waited.sum(axis=1)[kept] / total[kept]
    variance = CORRELATED * interval_s * np.maximum(waited.sum(axis=1)[kept], interval_s) / total[kept] ** 2
    # What is next to nothing beside the response does not decide what a limit is like.
    usual_ms = float(np.nanmedian(h.response_ms[:, list(members)]))
    variance = variance + (NEGLIGIBLE * 1e-3 * usual_ms) ** 2
    seen = Observation((total / h.seconds)[kept], stretch[kept], wait_s, variance)
    busy_s = sum(h.ended[:, c] * _service(h, c) for c in members) / np.maximum(total, 1.0) / 1e3
    if limit in h.devices:
        group = h.devices[limit]
        own_s = group.busy_s[kept]
        device = device_limit(seen, group.servers, own_s, h.seconds[kept], group.waited_s is None)
        parameters = limit_of(device, limit, labels, weights.tolist(), False, "devices")
        return FittedLimit(members, weights, device.wait_s(total / h.seconds, stretch), parameters)
    fitted = fit_limit(seen, f"{name} {limit}", float(np.median(busy_s[kept])) if on_engines else None)
    if fitted is None:
        return None
    wait = fitted.wait_s(total / h.seconds, stretch)
    return FittedLimit(members, weights, wait, limit_of(fitted, limit, labels, weights.tolist(), on_engines))


def _stretch(h: History, members: Sequence[int], theory: Delay, served_by: Mapping[int, int]) -> Array:
    """(I,) time on engines and waiting for them over the time on engines, of the members' transactions."""
    busy, waits = np.zeros(len(h.seconds)), np.zeros(len(h.seconds))
    for c in members:
        service_ms = _service(h, c)
        columns = theory.columns(c, service_ms, np.zeros_like(service_ms))[:, [SHORT, LONG, MACHINE]]
        busy += h.ended[:, c] * service_ms
        waits += h.ended[:, c] * (columns @ _sampled_factors(h, c, served_by.get(c, c), service_ms, columns))
    return np.where(busy > 0, 1.0 + np.where(np.isfinite(waits), waits, 0.0) / np.maximum(busy, 1e-12), 1.0)


def _sampled_factors(h: History, c: int, samples_of: int, service_ms: Array, columns: Array) -> Array:
    """(3,) factors of the delays for CPs that samples tell; those held beforehand where none are taken."""
    prior, spread = PRIOR_MEAN[[SHORT, LONG, MACHINE]], PRIOR_SD[[SHORT, LONG, MACHINE]]
    seen = sampled_delay(h, samples_of, "cp", service_ms)
    if seen is None:
        return np.asarray(prior)
    kept = np.isfinite(seen[0]) & np.isfinite(columns).all(axis=1) & (h.ended[:, c] >= FEWEST_ENDED)
    weight = 1.0 / np.maximum(seen[1] + (MODEL_ERROR * seen[0]) ** 2, 1e-12)[kept]
    return non_negative_fit(columns[kept], seen[0][kept], weight, h.day[kept], prior, spread, np.ones(3)).mean


def _limit_waits(h: History, limits: Sequence[FittedLimit]) -> dict[int, Array]:
    """(I,) wait for all limits in ms, by class."""
    waits: dict[int, Array] = {}
    for limit in limits:
        for c, weight in zip(limit.members, limit.weights, strict=True):
            waits[c] = waits.get(c, np.zeros(len(h.seconds))) + 1e3 * weight * limit.wait_s
    return waits


def _change_error(
    h: History,
    fits: Mapping[int, ClassFit],
    theory: Delay,
    served_by: Mapping[int, int],
    limited_ms: Mapping[int, Array],
) -> dict[int, float]:
    """Relative error of a predicted change of log response, by class: higher loads predicted from lower ones.

    The class is fitted anew to intervals of lower load. For each interval of high load the prediction is the mean
    record at lower load, changed by that fit's ratio; its log error over the predicted log change, with the scatter of
    single intervals taken out, is pooled with a prior.
    """
    errors = {}
    for c, one in fits.items():
        low = one.expected_ms() < np.quantile(one.expected_ms()[one.kept], HIGH_LOAD)
        lower = _fitted(h, c, theory, served_by.get(c, c), limited_ms.get(c), low)
        high = ~low[one.kept]
        if lower is None or high.sum() < FEWEST_INTERVALS:
            errors[c] = CHANGE_ERROR
            continue
        expected = np.log(np.maximum(lower.expected_ms()[one.kept], 1e-9))
        recorded = np.log(h.response_ms[one.kept, c])
        off = recorded - expected
        low_mean, low_off = float(np.median(expected[~high])), float(np.median(off[~high]))
        change = expected[high] - low_mean
        error = off[high] - low_off
        noise = float(np.var(off[~high]))
        excess = max(float(np.sum(error**2)) - noise * int(high.sum()), 0.0)
        strength = float(np.sum(change**2))
        unit = float(np.median(np.abs(change))) ** 2 or 1e-6
        prior = CHANGE_WEIGHT * unit
        errors[c] = float(np.sqrt((excess + CHANGE_ERROR**2 * prior) / (strength + prior)))
    return errors


def _response(h: History, one: ClassFit, change: Mapping[int, float], name: str) -> ResponseModel:
    """The response of a class."""
    label = h.classes[one.c]
    drawn = one.regression.drawn(f"{name} {label} response")
    mean = one.regression.mean

    def sampled(i: int, least: float = 0.0) -> Array:
        return np.maximum(with_centre(mean[i], drawn[:, i]), least)

    expected, recorded = one.expected_ms()[one.kept], h.response_ms[one.kept, one.c]
    off = np.log(recorded / np.maximum(expected, 1e-9))
    rest = one.columns[one.kept][:, [REST, GROWING]] @ mean[[REST, GROWING]]
    share = np.clip((expected - one.service_ms[one.kept] - rest) / expected, 0.0, 1.0)
    always, of_waits, of_one = _scatter(off - np.median(off), share, h.ended[one.kept, one.c])
    return ResponseModel(
        metric="response_ms",
        class_name=label,
        series=(label,),
        ziip_series=(f"{label}:ziip",) if h.ziip_s[:, one.c].sum() > 0 else (),
        evidence=one.evidence,
        points=int(one.kept.sum()),
        rest_ms=sampled(REST, -np.inf),
        growing_ms=sampled(GROWING),
        short=sampled(SHORT),
        long=sampled(LONG),
        machine=sampled(MACHINE),
        ziip_queue=sampled(ZIIP),
        change_sd=change[one.c],
        interval_sd=always,
        interval_wait_sd=of_waits,
        transaction_sd=of_one,
        usual_ms=float(np.median(expected)),
        **_percentile(h, one, share, expected, f"{name} {label}"),
    )


def _scatter(off: Array, share: Array, ended: Array) -> tuple[float, float, float]:
    """Scatter of log responses of single intervals: always, in proportion to the share of waiting, and of one
    transaction.

    Squares of the residuals, without the largest, against the square of the share and one over the transactions; waits
    are at most uncertain by :data:`MOST_WAIT_SD`, whatever small shares seem to show.
    """
    squares = np.minimum(off**2, np.quantile(off**2, 0.99))
    design = np.column_stack([np.ones_like(share), share**2, 1.0 / ended])
    prior = np.diag([0.0, np.mean(squares) / MOST_WAIT_SD**2, 0.0])
    always, of_waits, of_one = nnls(np.vstack([design, prior * np.sqrt(len(off))]), np.append(squares, np.zeros(3)))[0]
    return float(np.sqrt(always)), float(np.sqrt(of_waits)), float(np.sqrt(of_one))


def _percentile(h: History, one: ClassFit, share: Array, expected: Array, name: str) -> dict[str, Any]:
    """How the 90th percentile over the mean goes with the share of waiting, by linear regression."""
    ratio = h.p90_ms[one.kept, one.c] / expected
    usable = np.isfinite(ratio)
    if usable.sum() < FEWEST_INTERVALS:
        return {}
    weight = h.ended[one.kept, one.c][usable]
    fitted = fit(
        np.column_stack([1.0 - share[usable], share[usable]]), ratio[usable], weight / weight.mean(),
        h.day[one.kept][usable], [2.0, 2.4], [1.0, 0.5],
    )  # fmt: skip
    drawn = np.maximum(np.vstack([fitted.mean, fitted.drawn(f"{name} p90")]), 1.0)
    return {"p90": drawn[:, 0], "p90_waiting": drawn[:, 1]}
