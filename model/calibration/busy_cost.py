"""How the CPU time of the same work grows with the engines busy beside it, whose caches and memory it shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import demand
from model.calibration.history import History
from model.calibration.regression import fit
from model.calibration.samples import DRAWS, normal_samples
from model.capacity.parameters import BusyCost

Array = NDArray[np.float64]

# Growth of the cost with the part of the engines that are busy together: standard deviation of what is held beforehand.
USUAL = 0.3
# Prior standard deviation of the pooled growth: full engines cost some per cent more than idle ones, hardly 20 %.
POOLED = 0.1
# Standard errors by which the growth may be larger than what the classes show.
PLAIN = 4.0
# Of finding the law and what is busy by it in turn.
PASSES = 3


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
        found = demand(h, c, cpu)
        kept = np.isfinite(cpu) & (h.ended[:, c] > 0)
        kept[: found.first] = False
        ended, seconds, each = h.ended[kept, c], h.seconds[kept], float(found.fit.mean[-1])
        if kept.sum() < 10 or each <= 0:
            continue
        engines = cpu[kept].sum() / seconds.sum()
        prior, spread = [0.0, each, 0.0], [0.1 * engines, 10.0 * each, USUAL * each]
        expected = each * ended
        for _ in range(PASSES):
            # What the class happened to use beyond its own law made the engines busy, and is no effect of it.
            beside = np.zeros(len(h.seconds))
            beside[kept] = np.maximum(h.busy_s[kept] - cpu[kept] + expected, 0.0)
            design = np.column_stack([seconds, ended, ended * (_utilization(h, beside)[kept] - usual)])
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
