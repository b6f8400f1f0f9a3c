"""The zIIP pool of an LPAR: engines, threads, SMT gain, what overflows onto CPs, busy cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.demands import driven_law
from model.calibration.draws import DRAWS, around
from model.calibration.history import History
from model.calibration.regression import Fit, fit
from model.capacity.parts import ZIIP_WORK
from model.capacity.queues import bounded_pool, bunched, erlang_c
from model.capacity.ziips import GAIN, GAIN_SD, MOST_WAITING, OVERFLOW_DRIFT

Array = NDArray[np.float64]

# Busy zIIPs beyond the measured, beside what the pool's queue has: relative deviation for each e-fold.
BENT_DRIFT = 0.02
# What overflows whatever the queue, the chance that work comes in batches, and that of work that waited for CPs.
PRIOR, PRIOR_SD = np.array([0.0, 0.0, 0.05]), np.array([0.02, 0.05, 0.15])
QUEUE = ("waiting", "bunched", "bunched_behind_cps")
TURNS, STEP = 3, 0.02
# A smaller part of the work is no overflow.
LEAST = 1e-4


@dataclass(frozen=True)
class _Pool:
    """Intervals of a pool: (n,) work in threads alone and part of the work on CPs that waited there; its engines."""

    work: Array
    cores: int
    gain: float
    threads: int
    dense: bool
    waited: Array

    def queue(self, waiting: float | None, always: float = 0.0, behind: float = 0.0) -> tuple[Array, Array, Array]:
        """Part that overflows, stretch, busy cores."""
        bound = None if waiting is None else (int(waiting), bunched(always, behind, self.waited))
        return bounded_pool(self.work, self.cores, self.gain, self.threads, bound, self.dense)


def ziip_pool(h: History, streams: list[int], usage: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The zIIP pool: engines, threads, SMT gain, what overflows, and busy against work."""
    if not h.ziips.max() > 0 or not any(law["engine"] == "ziip" for law in usage.values()):
        return {}
    cores, name = float(h.ziips[-1]), f"{h.system_id} zIIP"
    on_zip, on_cp = h.ziip_s[:, streams].sum(axis=1), h.ziip_on_cp_s[:, streams].sum(axis=1)
    eligible = on_zip + on_cp
    smt = bool(np.median(h.density) > 1.0005)
    busy = h.ziip_busy_s / h.seconds
    used = eligible > 0
    # Without a second thread its gain is what is held beforehand, for those who ask what it would bring.
    gain = around(1.0 + GAIN, GAIN_SD, f"{name} gain")
    if smt:
        x = busy * (h.density - 1.0)
        found = fit(x[:, None], on_zip / h.seconds - busy, 1.0 / np.maximum(busy, 0.01), h.day, [GAIN], [GAIN_SD])
        gain = around(1.0 + float(np.clip(found.mean[0], 0.0, 0.9)), float(np.sqrt(found.cov[0, 0])), f"{name} gain")
    threads = 2.0 if smt else 1.0
    work, on_zips = eligible[used] / h.seconds[used], on_zip[used] / h.seconds[used]
    share = on_cp[used] / eligible[used]
    dense = _dense(on_zips, busy[used], max(round(cores), 1), gain["centre"]) if smt else True
    pool = _Pool(work, max(round(cores), 1), gain["centre"], round(threads), dense, waited_for_cps(h)[used])
    overflow = _overflow(pool, share, h.day[used], name) if share.max() > LEAST else {}
    full, _, as_queued = pool.queue(*(overflow[key]["centre"] for key in QUEUE)) if overflow else pool.queue(None)
    x = on_zips * as_queued / (work * (1.0 - full))
    bent = fit(np.column_stack([x, x**2]), busy[used], 1.0 / np.maximum(x, 0.02 * x.max()), h.day[used])
    usage[ZIIP_WORK] = {
        **driven_law(x, bent, [False, True, True], ZIIP_WORK, f"{name} busy", 0, False, BENT_DRIFT),
        "engine": "ziip_busy",
    }
    return {
        "engines": cores,
        "threads": threads,
        "packing": "dense" if dense else "spread",
        "gain": gain,
        "most_work": float(on_zips.max()),
        "overflow": overflow,
    }


def _dense(work: Array, busy: Array, cores: int, gain: float) -> bool:
    """Whether cores are so busy as if both threads of one are filled before the next, rather than idle cores first; as
    z/OS does where both would keep as many busy, such as of one core."""
    off = [np.abs(bounded_pool(work, cores, gain, 2, dense=dense)[2] - busy).sum() for dense in (True, False)]
    return bool(off[0] <= off[1])


def waited_for_cps(h: History) -> Array:
    """(I,) part of the classes' work with zIIP time that waits for CPs: behind what is no less important than it."""
    least = h.importance[(h.ziip_s + h.ziip_on_cp_s).sum(axis=0) > 0].max(initial=0)
    after = np.nan_to_num(h.cp_s[:, h.importance > least]).sum(axis=1)
    return erlang_c(np.maximum(h.busy_s - after, 0.0) / h.seconds, h.engines)


def _overflow(pool: _Pool, share: Array, day: NDArray[np.int64], name: str) -> dict[str, Any]:
    """Share of zIIP work that runs on CPs: that which finds the pool full, and what never came to it."""
    fits = [_full_with(pool, waiting, share, day) for waiting in range(MOST_WAITING + 1)]
    unlikely = np.array([found.bic + np.sum(((found.mean - PRIOR) / PRIOR_SD) ** 2) for found in fits])
    chance = np.exp(-0.5 * (unlikely - unlikely.min()))
    chance /= chance.sum()
    picked = np.minimum(np.searchsorted(np.cumsum(chance), (np.arange(DRAWS) + 0.5) / DRAWS), MOST_WAITING)
    centre = int(np.argmax(chance))
    drawn = [found.drawn(f"{name} overflow") for found in fits]
    rows = np.array([drawn[waiting][k] for k, waiting in enumerate(picked)])
    rows[:, 2] = np.maximum(rows[:, 2], 0.0)
    parts = {
        key: {"centre": float(fits[centre].mean[i]), "draws": rows[:, i].tolist()}
        for i, key in enumerate(("floor", *QUEUE[1:]))
    }
    waiting = {"centre": float(centre), "draws": picked.astype(float).tolist()}
    return {"waiting": waiting, **parts, "drift": around(0.0, OVERFLOW_DRIFT, f"{name} overflow drift")}


def _full_with(pool: _Pool, waiting: int, share: Array, day: NDArray[np.int64]) -> Fit:
    """What overflows whatever the queue, and how far work comes in batches, if so much work waits for a full pool."""
    always, behind = PRIOR[1:]
    for _ in range(TURNS):
        full, steeper = (pool.queue(waiting, always + more, behind)[0] for more in (0.0, STEP))
        slope = (steeper - full) / STEP
        design = np.column_stack([np.ones_like(full), slope, slope * pool.waited])
        target = share - full + slope * (always + behind * pool.waited)
        found = fit(design, target, pool.work, day, PRIOR, PRIOR_SD)
        if found.mean[2] < 0.0:
            found = _unknown_behind(fit(design[:, :2], target, pool.work, day, PRIOR[:2], PRIOR_SD[:2]))
        always, behind = (float(one) for one in found.mean[1:])
    return found


def _unknown_behind(found: Fit) -> Fit:
    """With work behind CPs coming no more in batches than other work, as far as known: records that ask for less than
    that are off in another way, and do not tell it."""
    cov = np.diag([0.0, 0.0, PRIOR_SD[2] ** 2])
    cov[:2, :2] = found.cov
    return replace(found, mean=np.append(found.mean, 0.0), cov=cov)
