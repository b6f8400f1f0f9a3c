"""The zIIP pool of a calibrated LPAR: what overflows onto CPs, how long its work takes, busy cores, active threads.

Arrays have the draws first and the loads second, ``(draws, loads)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.parts import Scenario, deviates

Array = NDArray[np.float64]
# What a second thread of a core adds to the work of one, held beforehand.
GAIN, GAIN_SD = 0.25, 0.15
# Work that waits for a full pool before the next overflows: at most.
MOST_WAITING = 12
# What overflows beyond the measured work, or on other cores or threads: relative deviation for each e-fold.
OVERFLOW_DRIFT = 0.2
# Seeds of what is not known of a pool that was not measured.
SEEDS = 9100


@dataclass(frozen=True)
class ZiipPool:
    """Engines, threads a core, the most work measured on them, and by draw: SMT gain (draws,), what overflows. Where it
    is ``dense``, both threads of a core are filled before the next core.

    ``overflow`` has the places of a ``waiting`` line, the ``floor`` that never comes to the pool, and how far work
    comes in batches: ``bunched`` always, ``bunched_behind_cps`` where it waited for CPs; ``drift`` is relative, for
    each e-fold beyond the measured. It is empty where nothing overflows.
    """

    engines: float
    threads: float
    dense: bool
    most_work: float
    gain: Array
    overflow: Mapping[str, Array]

    @classmethod
    def of(cls, entry: Mapping[str, Any], drawn: Callable[[Mapping[str, Any]], Array]) -> ZiipPool:
        """The pool as it stands in a bundle, its values ``drawn`` as arrays; empty: no zIIPs."""
        return cls(
            float(entry.get("engines", 0.0)),
            float(entry.get("threads", 1.0)),
            entry.get("packing") == "dense",
            float(entry.get("most_work", np.inf)),
            drawn(entry.get("gain", {"centre": 1.0, "draws": []})),
            {key: drawn(value) for key, value in entry.get("overflow", {}).items()},
        )

    def asked(self, scenario: Scenario) -> tuple[int, int, Array]:
        """Cores, threads and what the second one gains, (draws, 1), in a scenario."""
        threads = round(scenario.threads or self.threads)
        gain = self.gain if threads > 1 else np.ones(self.gain.shape)
        return max(round(scenario.ziips), 1), threads, gain[:, None]

    def changed(self, scenario: Scenario) -> bool:
        """Whether other cores or threads are asked than those measured."""
        cores, threads, _ = self.asked(scenario)
        return self.engines > 0 and (cores, threads) != (round(self.engines), round(self.threads))

    def bunched(self, waited: Array) -> Array:
        """How far work comes in batches, where a part of it ``waited`` for CPs."""
        return queues.bunched(self.overflow["bunched"][:, None], self.overflow["bunched_behind_cps"][:, None], waited)

    def queue(self, work: Array, waited: Array, scenario: Scenario) -> tuple[Array, Array, Array]:
        """Part of the work that finds the pool full, stretch of what runs on it, busy cores."""
        cores, threads, gain = self.asked(scenario)
        if not self.overflow:
            return queues.bounded_pool(work, cores, gain, threads, dense=self.dense)
        waiting = self.overflow["waiting"][:, None].astype(int)
        return queues.bounded_pool(work, cores, gain, threads, (waiting, self.bunched(waited)), self.dense)

    def overflowing(self, work: Array, waited: Array, scenario: Scenario) -> Array:
        """Part of the work that runs on CPs."""
        if scenario.ziips <= 0:
            return np.ones(work.shape)
        if not self.overflow:
            return np.zeros(work.shape)
        share = np.clip(self.overflow["floor"][:, None] + self.queue(work, waited, scenario)[0], 0.0, 1.0)
        if "drift" not in self.overflow:
            return share
        further = self.overflow["drift"][:, None] * self._unlike(work * (1.0 - share), scenario)
        return np.clip(share * (1.0 + further), 0.0, 1.0)

    def _unlike(self, on_ziips: Array, scenario: Scenario) -> Array:
        """e-folds by which work on zIIPs is beyond the measured, and cores and threads differ."""
        pool = math.log(scenario.ziips * (scenario.threads or self.threads) / (self.engines * self.threads))
        return np.log(np.maximum(on_ziips / self.most_work, 1.0)) + abs(pool)

    def active_threads(self, work: Array, cores: Array, scenario: Scenario) -> Array:
        """Threads that are active on so many busy ``cores``: what these do beyond one thread each, second ones add."""
        _, threads, gain = self.asked(scenario)
        return np.clip(cores + (work - cores) / np.maximum(gain - 1.0, 1e-9), cores, threads * cores)


def unmeasured(engines: float, draws: int) -> dict[str, Any]:
    """A pool of so many zIIPs as a bundle has it, where none were recorded: what is held beforehand."""
    gain, waiting, drift = (deviates(1 + draws, SEEDS + i)[1:] for i in range(3))
    # As likely to wait for any number of places as for another.
    places = np.floor(np.argsort(np.argsort(waiting)) * (MOST_WAITING + 1.0) / draws)

    def spread(centre: float, values: Array) -> dict[str, Any]:
        return {"centre": centre, "draws": values.tolist()}

    none = {"centre": 0.0, "draws": []}
    overflow = {
        "waiting": spread(MOST_WAITING / 2, places),
        "drift": spread(0.0, OVERFLOW_DRIFT * drift),
        **dict.fromkeys(("floor", "bunched", "bunched_behind_cps"), none),
    }
    gained = spread(1.0 + GAIN, 1.0 + np.maximum(GAIN + GAIN_SD * gain, 0.0))
    return {"engines": engines, "threads": 1.0, "packing": "dense", "gain": gained, "overflow": overflow}
