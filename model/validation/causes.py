"""Why the load of an LPAR differs from what it was at the same hours: rate, mix or cost of its classes.

Busy of an LPAR is the sum of transactions times CPU of a transaction. With n transactions of class c at cost d, n' and
d' before, and g = sum n / sum n' the growth of all classes, the change is the sum of three parts (a variance analysis
as of cost accounting):

    rate = (g - 1) sum_c n'_c d'_c        mix_c = (n_c - g n'_c) d'_c        cost_c = n_c (d_c - d'_c)

A part counts where it is plainly outside what days differ by, and large enough to matter. CPU of regions is reported
apart from their transactions, so that classes without CPU of their own are taken with the regions of their workload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.calibration.history import History

Array = NDArray[np.float64]

RATE, MIX, COST = "rate", "mix", "cost"
REFERENCE_DAYS = 28
"""Days before the new ones that they are compared with."""
FEWEST_DAYS = 3
PLAINLY = 4.0
"""Standard deviations, of what days differ by, beyond which a part has changed."""
LEAST_SD = 0.005
"""Least relative standard deviation of a day."""
WEEK_S, DAY_S = 7 * 86400, 86400
MONDAY, SATURDAY = 4, 5
"""Ordinal of a Monday (5 January 1970), and days from Monday to Saturday."""


@dataclass(frozen=True)
class Cause:
    """One part of a change of busy: ``kind``, the class or workload (empty for ``rate``, of all), the part in points of
    LPAR busy, and the relative change in percent of rate, share of the transactions, or cost."""

    kind: str
    of: str
    points: float
    change_pct: float

    def concerns(self, name: str, history: History) -> bool:
        """Whether the cost of a class, alone or with the regions of its workload, has changed."""
        workload = dict(zip(history.classes, history.workloads, strict=True)).get(name)
        return self.kind == COST and self.of in (name, workload)

    @property
    def text(self) -> str:
        """The cause for readers."""
        subject = {
            RATE: "transaction rate of all classes",
            MIX: f"share of {self.of} in the transactions",
            COST: f"CPU of a transaction of {self.of}",
        }[self.kind]
        return f"{subject} {self.change_pct:+.0f} % ({self.points:+.1f} points of busy)"


def causes(history: History, new: NDArray[np.bool_], least_pct: float) -> list[Cause]:
    """What has changed in the ``new`` intervals, the largest part first.

    Parameters
    ----------
    history
        All intervals of the LPAR, those before the new ones too.
    new
        (I,) the intervals to explain.
    least_pct
        The least part to report, in percent of the busy time of the new intervals.

    Returns
    -------
    list of Cause
        Empty where nothing has changed, or fewer than three days are known before.
    """
    first = history.day[new].min()
    before = ~new & (history.day < first) & (history.day >= first - REFERENCE_DAYS)
    days = np.unique(history.day[before])
    if len(days) < FEWEST_DAYS:
        return []
    names, ended, cpu_s = _by_class(history)
    usual = _same_hours(history, ended, before)
    complete = np.isfinite(usual).all(axis=1)
    cost = cpu_s[before].sum(axis=0) / np.maximum(ended[before].sum(axis=0), 1.0)
    engine_s = float((history.seconds * history.engines)[new & complete].sum())
    busy_s = float(history.busy_s[new & complete].sum())
    if not engine_s or not busy_s:
        return []

    def parts(chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """(1 + 2 C,) parts in seconds of CPU, and the relative change behind each."""
        n, n_usual, used = ended[chosen].sum(axis=0), usual[chosen].sum(axis=0), cpu_s[chosen].sum(axis=0)
        growth = n.sum() / max(n_usual.sum(), 1e-9)
        seconds = [[(growth - 1.0) * float(n_usual @ cost)], (n - growth * n_usual) * cost, used - n * cost]
        with np.errstate(divide="ignore", invalid="ignore"):
            changes = [[growth - 1.0], n / (growth * n_usual) - 1.0, used / (n * cost) - 1.0]
        return np.concatenate(seconds), np.nan_to_num(np.concatenate(changes), posinf=0.0)

    seconds, change = parts(new & complete)
    by_day = np.array([parts(before & complete & (history.day == day))[1] for day in days])
    sd = np.maximum(np.sqrt((by_day**2).mean(axis=0)), LEAST_SD)
    labels = [(RATE, ""), *((MIX, name) for name in names), *((COST, name) for name in names)]
    all_causes = [
        Cause(kind, of, 100.0 * float(part) / engine_s, 100.0 * float(relative))
        for (kind, of), part, relative, z in zip(labels, seconds, change, np.abs(change) / sd, strict=True)
        if z > PLAINLY and abs(part) >= least_pct / 100.0 * busy_s
    ]
    return sorted(all_causes, key=lambda cause: -abs(cause.points))


def _by_class(history: History) -> tuple[list[str], Array, Array]:
    """Names, (I, C) transactions and (I, C) seconds of CPU of classes with CPU of their own, and of workloads that have
    classes without: transactions of all their classes, with the CPU of their regions."""
    ended, cpu_s = history.ended, np.nan_to_num(history.cp_s)
    counted, used = ended.sum(axis=0) > 0, cpu_s.sum(axis=0) > 0
    shared = {workload for workload, alone in zip(history.workloads, counted & ~used, strict=True) if alone}
    columns: dict[str, list[int]] = {}
    for c, (name, workload) in enumerate(zip(history.classes, history.workloads, strict=True)):
        if counted[c] or workload in shared:
            columns.setdefault(workload if workload in shared else name, []).append(c)
    groups = [members for members in columns.values() if counted[members].any()]
    names = [name for name, members in columns.items() if counted[members].any()]
    totals = [np.stack([values[:, members].sum(axis=1) for members in groups], axis=1) for values in (ended, cpu_s)]
    return names, totals[0], totals[1]


def _same_hours(history: History, ended: Array, before: NDArray[np.bool_]) -> Array:
    """(I, C) mean transactions of earlier intervals of the same hour: of the week where two weeks are known, else of
    working days or weekends. NaN where there were none."""
    local_s = history.start_local.astype("datetime64[s]").astype(np.int64)
    if np.ptp(local_s[before]) >= 2 * WEEK_S - DAY_S:
        slots = local_s % WEEK_S
    else:
        slots = local_s % DAY_S + DAY_S * ((history.day - MONDAY) % 7 >= SATURDAY)
    _, slot = np.unique(slots, return_inverse=True)
    counts = np.bincount(slot, weights=before, minlength=slot.max() + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [
            np.bincount(slot, weights=before * ended[:, c], minlength=len(counts)) / counts
            for c in range(ended.shape[1])
        ]
    return np.stack([mean[slot] for mean in means], axis=1)
