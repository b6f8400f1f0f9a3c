"""The zIIP pool of an LPAR: engines, threads, SMT gain, what runs on CPs instead, busy cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import driven_law
from model.calibration.history import History
from model.calibration.regression import fit, non_negative_fit
from model.calibration.samples import DRAWS, normal_samples
from model.capacity.engines import GAIN, GAIN_SD
from model.capacity.parameters import DemandModel, Overflow, ZiipPool
from model.capacity.state import ZIIP_WORK
from model.queueing.multiserver import erlang_c
from model.queueing.ziip import reneging

Array = NDArray[np.float64]

BUSY_DRIFT = 0.02
"""Relative deviation of busy zIIPs for each e-fold beyond the measured."""
PATIENCE = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0])
"""How long work waits before CPs help, in mean services: what is tried."""
PRIOR_MEAN, PRIOR_SD = np.array([0.0, 1.0]), np.array([0.05, 0.3])
"""Of the part that runs on CPs whatever the queue, and of the part of long waits that CPs take."""
LEAST = 1e-4
"""A smaller part of the work is no overflow."""


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
        found = fit(x[:, None], on_zip / h.seconds - busy, 1.0 / np.maximum(busy, 0.01), h.day, [GAIN], [GAIN_SD])
        centre, sd = 1.0 + float(np.clip(found.mean[0], 0.0, 0.9)), float(np.sqrt(found.cov[0, 0]))
        gain = normal_samples(centre, sd, f"{name} gain")
    threads = 2.0 if smt else 1.0
    work = on_zip[used] / h.seconds[used]
    share = on_cp[used] / eligible[used]
    engines = h.ziips[used] * (gain[0] if smt else 1.0)
    overflow: Overflow | None = None
    if share.max() > LEAST:
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
