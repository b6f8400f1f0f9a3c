"""Engines that an LPAR gets: CPs of the machine that it shares, and the zIIP pool with its overflow.

Arrays have the draws first and the loads second, ``(draws, loads)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.parameters import Machine, Overflow, SystemParameters, ZiipPool, cached
from model.capacity.state import Scenario, normal_scores
from model.queueing.lpar_share import Sharer, Sharing
from model.queueing.multiserver import reneging

Array = NDArray[np.float64]

MET = 0.3
"""Relative error of the engines that other LPARs take from moment to moment, by pieces of equal length."""
KEPT_OTHERS = 8
"""Most scenarios of other LPARs that are kept; a question is about one or two."""
GAIN, GAIN_SD = 0.25, 0.15
"""Prior of what the second thread of a core adds to the work of one."""
SEEDS = 9100
"""Seeds of the prior of a pool that was not measured."""
TAKEN_SD, PATIENCE_SD = 0.35, 0.5
"""Relative error of the overflow's closed form, as logarithms: of the part taken, and of how long work waits."""


class OtherLpars(NamedTuple):
    """The other LPARs of a scenario, the sharing, and engines: what they use, what they leave the LPAR on average, and
    what its waiting work gets from moment to moment; each (draws, loads or 1)."""

    offered: Array | float
    sharing: Sharing | None
    used: Array
    available: Array
    met: Array


class Partition:
    """A system as a logical partition: its machine, if it has one, and the LPARs that it shares that with."""

    def __init__(self, parameters: SystemParameters) -> None:
        self.parameters, self.machine = parameters, parameters.machine
        self.noise = parameters.others_noise
        self.pieces = parameters.others_pieces[:, None]
        self._others: dict[tuple[Any, ...], OtherLpars] = {}

    def others(self, scenario: Scenario) -> OtherLpars:
        """Engines that the other LPARs use and leave. Rates do not change them, so they are kept for a scenario."""
        key = id(scenario.others), scenario.cpc, scenario.engines
        kept = self._others.get(key)
        if kept is not None and kept.offered is scenario.others:
            return kept
        sharing = self.sharing(scenario)
        used = np.asarray(scenario.others, float) * (1.0 + self.noise[:, None])
        left = met = np.array([[scenario.engines]])
        if sharing is not None:
            used = used if scenario.cpc is None else sharing.used(used)
            # A full LPAR always has work for what the others leave it.
            left, met = sharing.steadily_left(used), sharing.limit(used, MET * self.pieces)
        others = self._others[key] = OtherLpars(scenario.others, sharing, used, left, met)
        if len(self._others) > KEPT_OTHERS:
            del self._others[next(iter(self._others))]
        return others

    def sharing(self, scenario: Scenario) -> Sharing | None:
        """The LPAR among the others of its machine; None where it shares none."""
        m = self.cpc(scenario)
        if m is None:
            return None
        return cached(self.parameters, ("sharing", m, scenario.engines), lambda: self._sharing(m, scenario))

    def cpc(self, scenario: Scenario) -> Machine | None:
        """The machine in a scenario; None where the LPAR shares none."""
        return scenario.cpc or self.machine

    def _sharing(self, m: Machine, scenario: Scenario) -> Sharing:
        """As :meth:`sharing`, where the machine is this one."""
        others = m.others or ((Sharer(m.engines, 1.0 - m.share),) if m.share < 1.0 else ())
        theirs = sum(one.weight for one in others)
        weight = max(m.share / (1.0 - m.share) * theirs, 1e-9) if m.share < 1.0 else 1.0
        most = scenario.engines if m.cap_engines is None else min(scenario.engines, m.cap_engines)
        return Sharing.of(m.engines, m.management, Sharer(most, weight, m.capped), others)

    def is_capped(self, scenario: Scenario) -> bool:
        """Whether a cap by weight or a number of engines applies to the LPAR."""
        m = self.cpc(scenario)
        assert m is not None
        return m.capped or (m.cap_engines is not None and m.cap_engines < scenario.engines)

    def available(self, scenario: Scenario) -> Array:
        """Engines the LPAR can get, (draws, loads): all of them, or what the machine leaves it by weight and cap."""
        shape, got = (len(self.noise), scenario.rates.shape[1]), self.others(scenario).available
        return got if got.shape == shape else np.full(shape, got)

    def busy(self, scenario: Scenario, busy: Array) -> Array | None:
        """Utilization of the machine if the LPAR uses ``busy`` engines, (draws, loads); None where it shares none."""
        m = self.cpc(scenario)
        if m is None:
            return None
        return np.asarray((busy + self.others(scenario).used + m.management) / m.engines)

    def pool(self, scenario: Scenario, used: Array) -> Array:
        """Engines of a dedicated pool in which the LPAR's work waits as long as on its machine, (draws, loads)."""
        others = self.others(scenario)
        if others.sharing is None:
            return self.available(scenario)
        return others.sharing.pool(used, others.used, others.met)


def ziip_threads(pool: ZiipPool, scenario: Scenario) -> int:
    """Threads of a core in a scenario."""
    return round(scenario.threads or pool.threads)


def ziip_servers(pool: ZiipPool, scenario: Scenario) -> Array:
    """(draws, 1) engines that the pool's cores and threads are worth."""
    gain = pool.gain if ziip_threads(pool, scenario) > 1 else np.ones(pool.gain.shape)
    left = scenario.ziips if scenario.ziips_left is None else min(scenario.ziips, scenario.ziips_left)
    return np.asarray(max(left, 0.0) * gain[:, None])


def ziips_changed(pool: ZiipPool, scenario: Scenario) -> bool:
    """Whether a scenario has other cores or threads than those measured."""
    same = round(scenario.ziips) == round(pool.engines) and ziip_threads(pool, scenario) == round(pool.threads)
    return pool.engines > 0 and not (same and scenario.ziips_left is None)


def overflow_share(pool: ZiipPool, work: Array, cp_free: Array, scenario: Scenario) -> Array:
    """Part of the eligible ``work`` that runs on CPs, where so much of them is free, (draws, loads).

    Work beyond the pool's capacity runs on CPs in any case.
    """
    if scenario.ziips <= 0:
        return np.ones(work.shape)
    if pool.overflow is None:
        return np.zeros(work.shape)
    engines = ziip_servers(pool, scenario)
    beyond = np.clip(1.0 - 0.999 * engines / np.maximum(work, 1e-12), 0.0, 1.0)
    size, floor = len(pool.gain), pool.overflow.floor[:, None]
    taken = pool.overflow.taken[:, None] * np.exp(TAKEN_SD * normal_scores(size, SEEDS + 11)[:, None])
    patience = pool.overflow.patience[:, None] * np.exp(PATIENCE_SD * normal_scores(size, SEEDS + 12)[:, None])
    share = np.clip(floor + taken * cp_free * reneging(work, engines, patience), 0.0, 1.0)
    return np.maximum(share, beyond)


def active_threads(pool: ZiipPool, work: Array, cores: Array, scenario: Scenario) -> Array:
    """Threads that are active on so many busy ``cores``: what these do beyond one thread each, second ones add."""
    threads = ziip_threads(pool, scenario)
    gain = pool.gain[:, None] if threads > 1 else np.ones((len(pool.gain), 1))
    return np.clip(cores + (work - cores) / np.maximum(gain - 1.0, 1e-9), cores, threads * cores)


def prior_pool(engines: float, draws: int) -> ZiipPool:
    """The prior of a pool of zIIPs that was not recorded: the best estimate and ``draws`` samples."""
    gain, taken, patience = (normal_scores(1 + draws, SEEDS + i) for i in range(3))
    gained = np.append(1.0 + GAIN, 1.0 + np.maximum(GAIN + GAIN_SD * gain[1:], 0.0))
    overflow = Overflow(
        floor=np.zeros(1 + draws), taken=np.clip(0.5 + 0.3 * taken, 0.0, 1.0), patience=np.exp(0.7 * patience)
    )
    return ZiipPool(engines, 1.0, gained, overflow)
