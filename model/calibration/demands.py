"""CPU as laws of a bundle: demands of transactions since the last step of their cost, and work that others drive."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History
from model.calibration.regression import Fit, fit
from model.calibration.samples import normal_scores, with_centre
from model.calibration.steps import Step, last_step
from model.capacity.parameters import DemandModel

Array = NDArray[np.float64]

# What the structure of a demand cannot follow: relative scatter, and drift for each e-fold outside the data.
SCATTER, DRIFT = 0.001, 0.003


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
    h: History, c: int, found: Demand, driver: str, name: str, engine: str, drawn: Array | None = None
) -> DemandModel:
    """A usage law of a stream: engines in use against its rate; ``drawn`` (draws, p) if not of its own posterior."""
    rate = h.ended[:, c] / h.seconds
    reference = float(np.quantile(rate[rate > 0], 0.95))
    drawn = found.fit.drawn(name) if drawn is None else drawn
    mean = found.fit.mean
    fixed, each = (mean[0], mean[1]) if found.fixed else (0.0, mean[0])
    fixed_draws, each_draws = (drawn[:, 0], drawn[:, 1]) if found.fixed else (np.zeros(len(drawn)), drawn[:, 0])
    scale = max(fixed + each * reference, 1e-12)
    z = normal_scores(2, f"{name} scatter")
    scatter = math.hypot(SCATTER, found.spread)
    nothing = np.zeros(len(drawn))
    return DemandModel(
        regressor=driver,
        engine=engine,
        priority=int(h.importance[c]),
        reference_rate=reference,
        scale=scale,
        support=(float(np.quantile(rate[rate > 0], 0.01)), float(rate.max())),
        points=len(np.unique(h.day[found.first :])),
        coef=with_centre(
            [fixed / scale, each * reference / scale, 0.0],
            np.column_stack([fixed_draws / scale, each_draws * reference / scale, nothing]),
        ),
        noise=np.append(0.0, scatter * z[:, 0]),
        drift=np.append(0.0, DRIFT * z[:, 1]),
    )


def driven_law(
    x: Array, found: Fit, used: list[bool], driver: str, name: str, level: int, part: bool, drift: float = DRIFT
) -> DemandModel:
    """A law of work that is driven by other work: fixed engines, and a share of the driver with its bend; ``drift`` is
    the relative deviation for each e-fold outside the data."""
    reference = max(float(np.quantile(x, 0.95)), 1e-9)
    drawn = found.drawn(name)
    coef, draws = np.zeros(3), np.zeros((len(drawn), 3))
    positions = [i for i, use in enumerate(used) if use]
    factors = np.array([1.0, reference, reference**2])
    for column, i in enumerate(positions):
        coef[i], draws[:, i] = found.mean[column] * factors[i], drawn[:, column] * factors[i]
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
