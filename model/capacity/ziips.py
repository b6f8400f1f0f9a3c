"""The zIIP pool of a calibrated LPAR: what runs on CPs instead, its engines and threads.

Arrays have the draws first and the loads second, ``(draws, loads)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.parts import Scenario, deviates
from model.queueing.ziip import reneging

Array = NDArray[np.float64]

GAIN, GAIN_SD = 0.25, 0.15
"""Prior of what the second thread of a core adds to the work of one."""
SEEDS = 9100
"""Seeds of what is not known of a pool that was not measured."""
TAKEN_SD, PATIENCE_SD = 0.35, 0.5
"""Relative error of the overflow's closed form, as logarithms: of the part taken, and of how long work waits."""


@dataclass(frozen=True)
class ZiipPool:
    """Engines, threads a core, SMT gain (draws,), what overflows.

    ``overflow`` has the ``floor`` that never comes to the pool, the part ``taken`` of long waits that free CPs take,
    and the ``patience`` in mean services before they do, (draws,) each. It is empty where nothing overflows.
    """

    engines: float
    threads: float
    gain: Array
    overflow: Mapping[str, Array]

    @classmethod
    def of(cls, entry: Mapping[str, Any], drawn: Callable[[Mapping[str, Any]], Array]) -> ZiipPool:
        """The pool as it stands in a bundle, its values ``drawn`` as arrays; empty: no zIIPs."""
        return cls(
            float(entry.get("engines", 0.0)),
            float(entry.get("threads", 1.0)),
            drawn(entry.get("gain", {"centre": 1.0, "draws": []})),
            {key: drawn(value) for key, value in entry.get("overflow", {}).items()},
        )

    def threads_of(self, scenario: Scenario) -> int:
        """Threads of a core in a scenario."""
        return round(scenario.threads or self.threads)

    def servers(self, scenario: Scenario) -> Array:
        """(draws, 1) engines that the pool's cores and threads are worth."""
        gain = self.gain if self.threads_of(scenario) > 1 else np.ones(self.gain.shape)
        left = scenario.ziips if scenario.ziips_left is None else min(scenario.ziips, scenario.ziips_left)
        return np.asarray(max(left, 0.0) * gain[:, None])

    def changed(self, scenario: Scenario) -> bool:
        """Whether a scenario has other cores or threads than those measured."""
        same = round(scenario.ziips) == round(self.engines) and self.threads_of(scenario) == round(self.threads)
        return self.engines > 0 and not (same and scenario.ziips_left is None)

    def overflowing(self, work: Array, cp_free: Array, scenario: Scenario) -> Array:
        """Part of the eligible ``work`` that runs on CPs, where so much of them is free, (draws, loads).

        Work beyond the pool's capacity runs on CPs in any case.
        """
        if scenario.ziips <= 0:
            return np.ones(work.shape)
        servers = self.servers(scenario)
        beyond = np.clip(1.0 - 0.999 * servers / np.maximum(work, 1e-12), 0.0, 1.0)
        if not self.overflow:
            return np.zeros(work.shape)
        floor, taken, patience = (self.overflow[key][:, None] for key in ("floor", "taken", "patience"))
        size = len(self.gain)
        taken = taken * np.exp(TAKEN_SD * deviates(size, SEEDS + 11)[:, None])
        patience = patience * np.exp(PATIENCE_SD * deviates(size, SEEDS + 12)[:, None])
        share = np.clip(floor + taken * cp_free * reneging(work, servers, patience), 0.0, 1.0)
        return np.maximum(share, beyond)

    def active_threads(self, work: Array, cores: Array, scenario: Scenario) -> Array:
        """Threads that are active on so many busy ``cores``: what these do beyond one thread each, second ones add."""
        threads = self.threads_of(scenario)
        gain = self.gain[:, None] if threads > 1 else np.ones((len(self.gain), 1))
        return np.clip(cores + (work - cores) / np.maximum(gain - 1.0, 1e-9), cores, threads * cores)


def unmeasured(engines: float, draws: int) -> dict[str, Any]:
    """A pool of so many zIIPs as a bundle has it, where none were recorded: what is held beforehand."""
    gain, taken, patience = (deviates(1 + draws, SEEDS + i)[1:] for i in range(3))

    def spread(centre: float, values: Array) -> dict[str, Any]:
        return {"centre": centre, "draws": values.tolist()}

    overflow = {
        "floor": {"centre": 0.0, "draws": []},
        "taken": spread(0.5, np.clip(0.5 + 0.3 * taken, 0.0, 1.0)),
        "patience": spread(1.0, np.exp(0.7 * patience)),
    }
    gained = spread(1.0 + GAIN, 1.0 + np.maximum(GAIN + GAIN_SD * gain, 0.0))
    return {"engines": engines, "threads": 1.0, "gain": gained, "overflow": overflow}
