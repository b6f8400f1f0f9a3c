"""The zIIP pool of a calibrated LPAR: what runs on CPs instead, its engines and threads.

Arrays have the draws first and the loads second, ``(draws, loads)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.capacity.parameters import Overflow, ZiipPool
from model.capacity.state import Scenario, normal_scores
from model.queueing.ziip import reneging

Array = NDArray[np.float64]

GAIN, GAIN_SD = 0.25, 0.15
"""Prior of what the second thread of a core adds to the work of one."""
SEEDS = 9100
"""Seeds of what is not known of a pool that was not measured."""
TAKEN_SD, PATIENCE_SD = 0.35, 0.5
"""Relative error of the overflow's closed form, as logarithms: of the part taken, and of how long work waits."""


def threads_of(pool: ZiipPool, scenario: Scenario) -> int:
    """Threads of a core in a scenario."""
    return round(scenario.threads or pool.threads)


def servers(pool: ZiipPool, scenario: Scenario) -> Array:
    """(draws, 1) engines that the pool's cores and threads are worth."""
    gain = pool.gain if threads_of(pool, scenario) > 1 else np.ones(pool.gain.shape)
    left = scenario.ziips if scenario.ziips_left is None else min(scenario.ziips, scenario.ziips_left)
    return np.asarray(max(left, 0.0) * gain[:, None])


def changed(pool: ZiipPool, scenario: Scenario) -> bool:
    """Whether a scenario has other cores or threads than those measured."""
    same = round(scenario.ziips) == round(pool.engines) and threads_of(pool, scenario) == round(pool.threads)
    return pool.engines > 0 and not (same and scenario.ziips_left is None)


def overflowing(pool: ZiipPool, work: Array, cp_free: Array, scenario: Scenario) -> Array:
    """Part of the eligible ``work`` that runs on CPs, where so much of them is free, (draws, loads).

    Work beyond the pool's capacity runs on CPs in any case.
    """
    if scenario.ziips <= 0:
        return np.ones(work.shape)
    if pool.overflow is None:
        return np.zeros(work.shape)
    engines = servers(pool, scenario)
    beyond = np.clip(1.0 - 0.999 * engines / np.maximum(work, 1e-12), 0.0, 1.0)
    size, floor = len(pool.gain), pool.overflow.floor[:, None]
    taken = pool.overflow.taken[:, None] * np.exp(TAKEN_SD * normal_scores(size, SEEDS + 11)[:, None])
    patience = pool.overflow.patience[:, None] * np.exp(PATIENCE_SD * normal_scores(size, SEEDS + 12)[:, None])
    share = np.clip(floor + taken * cp_free * reneging(work, engines, patience), 0.0, 1.0)
    return np.maximum(share, beyond)


def active_threads(pool: ZiipPool, work: Array, cores: Array, scenario: Scenario) -> Array:
    """Threads that are active on so many busy ``cores``: what these do beyond one thread each, second ones add."""
    threads = threads_of(pool, scenario)
    gain = pool.gain[:, None] if threads > 1 else np.ones((len(pool.gain), 1))
    return np.clip(cores + (work - cores) / np.maximum(gain - 1.0, 1e-9), cores, threads * cores)


def prior_pool(engines: float, draws: int) -> ZiipPool:
    """A pool of so many zIIPs that was not recorded: its prior, with so many ``draws`` beside the centre."""
    gain, taken, patience = (normal_scores(1 + draws, SEEDS + i) for i in range(3))
    gained = np.append(1.0 + GAIN, 1.0 + np.maximum(GAIN + GAIN_SD * gain[1:], 0.0))
    overflow = Overflow(
        floor=np.zeros(1 + draws), taken=np.clip(0.5 + 0.3 * taken, 0.0, 1.0), patience=np.exp(0.7 * patience)
    )
    return ZiipPool(engines, 1.0, gained, overflow)
