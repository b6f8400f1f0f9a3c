"""CPU and zIIP time: demands of transactions, growth of cost with utilization, uncaptured time, the zIIP pool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History
from model.calibration.regression import DRAWS, Fit, fit, non_negative_fit, normal_samples, normal_scores, with_centre
from model.calibration.steps import Step, last_step
from model.capacity.engines import GAIN, GAIN_SD
from model.capacity.parameters import BusyCost, DemandModel, Overflow, ZiipPool
from model.capacity.state import CAPTURED, CAPTURED_BUT_ZIIP, ZIIP_WORK
from model.queueing.multiserver import erlang_c, reneging

Array = NDArray[np.float64]

# What the structure of a demand cannot follow: relative scatter, and drift for each e-fold outside the data.
SCATTER, DRIFT = 0.001, 0.003
# Growth of the cost with the part of the engines that are busy together: standard deviation of what is held beforehand.
USUAL = 0.3
# Prior standard deviation of the pooled growth: full engines cost some per cent more than idle ones, hardly 20 %.
POOLED = 0.1
# Standard errors by which the growth may be larger than what the classes show.
PLAIN = 4.0
# Of finding the law and what is busy by it in turn.
PASSES = 3
# The busier engines are than this, the less room they leave what no class reports; full ones count as this part.
CROWDED, LEAST = 0.98, 1e-3
BUSY_DRIFT = 0.02
"""Relative deviation of busy zIIPs for each e-fold beyond the measured."""
PATIENCE = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0])
"""How long work waits before CPs help, in mean services: what is tried."""
PRIOR_MEAN, PRIOR_SD = np.array([0.0, 1.0]), np.array([0.05, 0.3])
"""Of the part that runs on CPs whatever the queue, and of the part of long waits that CPs take."""
LEAST_OVERFLOW = 1e-4
"""A smaller part of the work is no overflow."""


@dataclass(frozen=True)
class Demand:
    """CPU of one class: fixed engines and seconds per transaction with their posterior, since the last ``step``."""

    fit: Fit
    fixed: bool
    step: Step | None
    spread: float

    @property
    def first(self) -> int:
        """The first interval that was fitted."""
        return 0 if self.step is None else self.step.first


def demand(h: History, c: int, cpu_s: Array) -> Demand:
    """CPU of class ``c`` against its ended transactions, since the last step of its cost."""
    kept = np.isfinite(cpu_s) & ((h.ended[:, c] > 0) | (cpu_s > 0))
    rows = np.flatnonzero(kept)
    step = last_step(cpu_s[kept], np.column_stack([h.seconds, h.ended[:, c]])[kept], h.day[kept])
    if step is not None:
        step = Step(int(rows[step.first]), step.change)
        kept[: step.first] = False
    ended, cpu, seconds, day = h.ended[kept, c], cpu_s[kept], h.seconds[kept], h.day[kept]
    weight = 1.0 / np.maximum(ended, np.quantile(ended[ended > 0], 0.05) if (ended > 0).any() else 1.0)
    level = float(cpu.sum()) / max(float(ended.sum()), 1.0)
    plain = fit(ended[:, None], cpu, weight, day)
    usual = max(cpu.sum() / seconds.sum(), 1e-12)
    both = fit(np.column_stack([seconds, ended]), cpu, weight, day, [0.0, level], [0.1 * usual, 10.0 * level + 1e-12])
    fixed = both.bic < plain.bic - 4.0 and both.mean[0] > 0
    chosen = both if fixed else plain
    per_day, _ = _by_day(day, cpu - (both.mean[0] * seconds if fixed else 0.0), ended)
    spread = float(np.std(per_day)) / max(float(np.mean(per_day)), 1e-12) if len(per_day) > 2 else 0.01
    a_day = float(np.sum(ended)) / max(len(per_day), 1)
    expected = chosen.scale / math.sqrt(max(a_day, 1.0)) / max(level, 1e-12)
    return Demand(chosen, fixed, step, math.sqrt(max(spread**2 - expected**2, 0.0)))


def _by_day(day: NDArray[np.int64], top: Array, bottom: Array) -> tuple[Array, Array]:
    _, index = np.unique(day, return_inverse=True)
    tops, bottoms = (np.bincount(index, weights=one).astype(float) for one in (top, bottom))
    enough = bottoms > 0.05 * np.median(bottoms)
    return tops[enough] / bottoms[enough], bottoms[enough]


def stream_law(
    h: History, c: int, fitted: Demand, driver: str, name: str, engine: str, drawn: Array | None = None
) -> DemandModel:
    """A usage law of a stream: engines in use against its rate; ``drawn`` (draws, p) if not of its own posterior."""
    rate = h.ended[:, c] / h.seconds
    reference = float(np.quantile(rate[rate > 0], 0.95))
    drawn = fitted.fit.drawn(name) if drawn is None else drawn
    mean = fitted.fit.mean
    fixed, each = (mean[0], mean[1]) if fitted.fixed else (0.0, mean[0])
    fixed_draws, each_draws = (drawn[:, 0], drawn[:, 1]) if fitted.fixed else (np.zeros(len(drawn)), drawn[:, 0])
    scale = max(fixed + each * reference, 1e-12)
    z = normal_scores(2, f"{name} scatter")
    scatter = math.hypot(SCATTER, fitted.spread)
    nothing = np.zeros(len(drawn))
    return DemandModel(
        regressor=driver,
        engine=engine,
        priority=int(h.importance[c]),
        reference_rate=reference,
        scale=scale,
        support=(float(np.quantile(rate[rate > 0], 0.01)), float(rate.max())),
        points=len(np.unique(h.day[fitted.first :])),
        coef=with_centre(
            [fixed / scale, each * reference / scale, 0.0],
            np.column_stack([fixed_draws / scale, each_draws * reference / scale, nothing]),
        ),
        noise=np.append(0.0, scatter * z[:, 0]),
        drift=np.append(0.0, DRIFT * z[:, 1]),
    )


def driven_law(
    x: Array, fitted: Fit, used: list[bool], driver: str, name: str, level: int, part: bool, drift: float = DRIFT
) -> DemandModel:
    """A law of work that is driven by other work: fixed engines, and a share of the driver with its bend; ``drift`` is
    the relative deviation for each e-fold outside the data."""
    reference = max(float(np.quantile(x, 0.95)), 1e-9)
    drawn = fitted.drawn(name)
    coef, draws = np.zeros(3), np.zeros((len(drawn), 3))
    positions = [i for i, use in enumerate(used) if use]
    factors = np.array([1.0, reference, reference**2])
    for column, i in enumerate(positions):
        coef[i], draws[:, i] = fitted.mean[column] * factors[i], drawn[:, column] * factors[i]
    # The bend is nil at the reference: x^2 = x (x - 1) + x.
    coef[1], draws[:, 1] = coef[1] + coef[2], draws[:, 1] + draws[:, 2]
    scale = max(float(coef[:2].sum()), 1e-9)
    z = normal_scores(2, f"{name} scatter")
    return DemandModel(
        regressor=driver,
        priority=level,
        additive=part,
        reference_rate=reference,
        scale=scale,
        support=(float(np.quantile(x, 0.01)), float(x.max())),
        coef=with_centre(coef / scale, draws / scale),
        noise=np.append(0.0, SCATTER * z[:, 0]),
        drift=np.append(0.0, drift * z[:, 1]),
    )


def cost_by_busy(h: History, streams: Sequence[int]) -> tuple[BusyCost, float]:
    """Growth of cost with the part of the engines that are busy together, from the usual part on, and the growth that
    the classes do not rule out.

    Each of the classes, which have CPU of their own, says by how much a transaction costs more when more engines are
    busy, beside its fixed part; the answers are pooled, and as far as they differ less sure.
    """
    usual = float(np.average(_utilization(h, h.busy_s), weights=h.busy_s))
    growths, variances = [], []
    for c in streams:
        cpu = h.cp_s[:, c] - h.ziip_on_cp_s[:, c]
        fitted = demand(h, c, cpu)
        kept = np.isfinite(cpu) & (h.ended[:, c] > 0)
        kept[: fitted.first] = False
        ended, seconds, each = h.ended[kept, c], h.seconds[kept], float(fitted.fit.mean[-1])
        if kept.sum() < 10 or each <= 0:
            continue
        engines = cpu[kept].sum() / seconds.sum()
        prior, spread = [0.0, each, 0.0], [0.1 * engines, 10.0 * each, USUAL * each]
        expected = each * ended
        for _ in range(PASSES):
            # What the class happened to use beyond its own law made the engines busy, and is no effect of it.
            others_s = np.zeros(len(h.seconds))
            others_s[kept] = np.maximum(h.busy_s[kept] - cpu[kept] + expected, 0.0)
            design = np.column_stack([seconds, ended, ended * (_utilization(h, others_s)[kept] - usual)])
            one = fit(design, cpu[kept], 1.0 / np.maximum(ended, 1.0), h.day[kept], prior, spread)
            expected = design @ one.mean
        # What the prior says is taken out again, so that classes that cannot tell do not count.
        variance = max(float(one.cov[2, 2]), 1e-12 * each**2)
        precision = each**2 / variance - 1.0 / USUAL**2
        if precision > 0:
            growths.append(float(one.mean[2]) * each / variance / precision)
            variances.append(1.0 / precision)
    if not growths:
        return BusyCost(np.zeros(1 + DRAWS), usual), np.inf
    weight = 1.0 / np.array(variances)
    growth = float(np.average(growths, weights=weight))
    differ = float(np.sum(weight * (np.array(growths) - growth) ** 2)) / max(len(growths) - 1, 1)
    sd = float(np.sqrt(max(differ, 1.0) / weight.sum()))
    precision = 1.0 / sd**2 + 1.0 / POOLED**2
    slope = normal_samples(growth / sd**2 / precision, precision**-0.5, f"{h.system_id} cost by busy")
    return BusyCost(np.maximum(slope, 0.0), usual), growth + PLAIN * sd


def at_usual_busy(h: History, cost: BusyCost) -> Array:
    """(I,) how much more work cost in each interval than at the usual busy, which ``cost`` starts from."""
    return np.asarray(1.0 + cost.slope[0] * (_utilization(h, h.busy_s) - cost.reference))


def _utilization(h: History, busy_s: Array) -> Array:
    """(I,) utilization of the engines whose caches and memory the work shares: the machine's, or the LPAR's own."""
    if h.machine is None:
        return busy_s / h.seconds / h.engines
    all_s = busy_s + h.machine.others_s + h.machine.management_s
    return np.minimum(all_s / h.seconds / h.machine.engines, 1.0)


def uncaptured(h: History, captured: Array) -> DemandModel:
    """Time of the LPAR that no class reports, against the captured: fixed, a share, a bend where it plainly has one.

    zIIP work on CPs is among the captured where no less of it says as much. Intervals in which a class has transactions
    and no CPU figure say nothing, and those in which the engines are full next to nothing beside others.
    """
    complete = ~(np.isnan(h.cp_s) & (h.ended > 0)).any(axis=1)
    complete |= not complete.any()
    name, day = f"{h.system_id} uncaptured", h.day[complete]
    y = ((h.busy_s - captured) / h.seconds)[complete]
    drivers = {CAPTURED: captured, CAPTURED_BUT_ZIIP: captured - h.ziip_on_cp_s.sum(axis=1)}
    columns = {driver: (work / h.seconds)[complete] for driver, work in drivers.items()}
    # The errors are those of one y: they vary as the captured does, whichever drives it.
    idle = 1.0 - (h.busy_s / h.engines / h.seconds)[complete]
    weight = np.clip(idle / (1.0 - CROWDED), LEAST, 1.0) / np.maximum(columns[CAPTURED], 0.02 * columns[CAPTURED].max())

    def against(x: Array, degree: int) -> Fit:
        return fit(np.column_stack([x**power for power in range(degree + 1)]), y, weight, day)

    straight = {driver: against(x, 1) for driver, x in columns.items()}
    plainly = straight[CAPTURED_BUT_ZIIP].bic < straight[CAPTURED].bic - 6.0
    driver = CAPTURED_BUT_ZIIP if plainly else CAPTURED
    x, line = columns[driver], straight[driver]
    bent = against(x, 2)
    if bent.bic < line.bic - 6.0:
        return driven_law(x, bent, [True, True, True], driver, name, 0, False)
    if line.mean[0] < 0:
        share = max(float(y.mean()), 1e-6) / max(float(x.mean()), 1e-9)
        only = fit(x[:, None], y, weight, day, [share], [1.0])
        return driven_law(x, only, [False, True, False], driver, name, 0, False)
    return driven_law(x, line, [True, True, False], driver, name, 0, False)


def ziip_pool(h: History, streams: list[int], usage: dict[str, DemandModel]) -> ZiipPool | None:
    """The zIIP pool: engines, threads, SMT gain, what overflows, and busy against work."""
    if not h.ziips.max() > 0 or not any(law.engine == "ziip" for law in usage.values()):
        return None
    cores, name = float(h.ziips[-1]), f"{h.system_id} zIIP"
    on_zip, on_cp = h.ziip_s[:, streams].sum(axis=1), h.ziip_on_cp_s[:, streams].sum(axis=1)
    eligible = on_zip + on_cp
    smt = bool(np.median(h.density) > 1.0005)
    busy = h.ziip_busy_s / h.seconds
    used = eligible > 0
    # Without a second thread its gain is what is held beforehand, for those who ask what it would bring.
    gain = normal_samples(1.0 + GAIN, GAIN_SD, f"{name} gain")
    if smt:
        x = busy * (h.density - 1.0)
        fitted = fit(x[:, None], on_zip / h.seconds - busy, 1.0 / np.maximum(busy, 0.01), h.day, [GAIN], [GAIN_SD])
        centre, sd = 1.0 + float(np.clip(fitted.mean[0], 0.0, 0.9)), float(np.sqrt(fitted.cov[0, 0]))
        gain = normal_samples(centre, sd, f"{name} gain")
    threads = 2.0 if smt else 1.0
    work = on_zip[used] / h.seconds[used]
    share = on_cp[used] / eligible[used]
    engines = h.ziips[used] * (gain[0] if smt else 1.0)
    overflow: Overflow | None = None
    if share.max() > LEAST_OVERFLOW:
        offered = eligible[used] / h.seconds[used]
        overflow = _overflow(offered, engines, 1.0 - waited_for_cps(h)[used], share, eligible[used], h.day[used], name)
    bent = fit(np.column_stack([work, work**2]), busy[used], 1.0 / np.maximum(work, 0.02 * work.max()), h.day[used])
    law = driven_law(work, bent, [False, True, True], ZIIP_WORK, f"{name} busy", 0, False, BUSY_DRIFT)
    usage[ZIIP_WORK] = replace(law, engine="ziip_busy")
    return ZiipPool(cores, threads, gain, overflow)


def waited_for_cps(h: History) -> Array:
    """(I,) part of the classes' work with zIIP time that would wait for CPs, behind what is no less important."""
    least = h.importance[(h.ziip_s + h.ziip_on_cp_s).sum(axis=0) > 0].max(initial=0)
    after = np.nan_to_num(h.cp_s[:, h.importance > least]).sum(axis=1)
    return erlang_c(np.maximum(h.busy_s - after, 0.0) / h.seconds, h.engines)


def _overflow(
    offered: Array, engines: Array, free: Array, share: Array, eligible: Array, day: NDArray[np.int64], name: str
) -> Overflow:
    """Part of the eligible work that runs on CPs: always, and where it waits long for zIIPs and a CP is free."""
    fits = []
    for patience in PATIENCE:
        design = np.column_stack([np.ones_like(offered), free * reneging(offered, engines, patience)])
        fits.append(non_negative_fit(design, share, eligible, day, PRIOR_MEAN, PRIOR_SD, [1.0, 1.0]))
    score = np.array([one.bic for one in fits])
    chance = np.exp(-0.5 * (score - score.min()))
    strata = (np.arange(DRAWS) + 0.5) / DRAWS
    picked = np.minimum(np.searchsorted(np.cumsum(chance / chance.sum()), strata), len(fits) - 1)
    best = int(np.argmin(score))
    drawn = [np.maximum(one.drawn(f"{name} overflow"), 0.0) for one in fits]
    rows = np.array([drawn[patience][k] for k, patience in enumerate(picked)])
    return Overflow(
        floor=np.append(max(fits[best].mean[0], 0.0), rows[:, 0]),
        taken=np.append(max(fits[best].mean[1], 0.0), rows[:, 1]),
        patience=np.append(PATIENCE[best], PATIENCE[picked]),
    )
