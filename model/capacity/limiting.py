"""Waits for limits, and how much shorter the queues inside are for what waits to be let in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.parts import Limit, Scenario

Array = NDArray[np.float64]
Key = tuple[str, str]

FOR_ENGINES = ("cp", "ziip")


@dataclass
class Times:
    """Of each response, by metric and class, (draws, loads): ``rate`` transactions/s, ``used`` engines, and ``shared``,
    the work that shares the engines and those it shares; in ms the ``response``, ``using`` and ``waiting``.

    ``full`` is how far each limit is taken, ``eased`` the part that limits leave of the waits for engines.
    """

    rate: dict[Key, Array] = field(default_factory=dict)
    used: dict[Key, Array] = field(default_factory=dict)
    shared: dict[Key, list[Array]] = field(default_factory=dict)
    response: dict[Key, Array] = field(default_factory=dict)
    using: dict[Key, Array] = field(default_factory=dict)
    waiting: dict[Key, dict[str, Array]] = field(default_factory=dict)
    full: dict[str, Array] = field(default_factory=dict)
    eased: dict[Key, Array] = field(default_factory=dict)

    def hold_back(self, limit: Limit, members: Mapping[Key, float], coming: Array, scenario: Scenario) -> None:
        """Add the wait for a limit to the responses of its ``members``, each with how long it waits beside the mean.

        ``coming`` are transactions/s of all that share it, (draws or 1, loads).
        """
        inside, engines = limit.of_inside[:, None], np.minimum(limit.of_inside + limit.of_engines, 1.0)[:, None]
        shares = {key: self.rate[key] / np.maximum(coming, 1e-12) for key in members}
        mixed = sum((weight * shares[key] for key, weight in members.items()), np.zeros(coming.shape))
        # Seconds where nobody queues; on engines; queueing, with no other member there, with all, and times how full.
        free = limit.hold_s[:, None] * mixed
        working, first, queued, filled = (np.zeros(free.shape) for _ in range(4))
        endless, alone = np.zeros(free.shape, bool), {}
        for key, share in shares.items():
            waits = {name: value for name, value in self.waiting[key].items() if name in (*FOR_ENGINES, *self.full)}
            elsewhere = self.response[key] - sum(waits.values()) - self.using[key]
            free = free + share * inside * np.where(np.isfinite(elsewhere), elsewhere, 0.0) / 1e3
            working = working + share * engines * self.using[key] / 1e3
            offered, pool = self.shared[key]
            ahead = (np.where(self.shared[other][0] <= offered, self.used[other], 0.0) for other in members)
            own = engines * sum(ahead, np.zeros(free.shape))
            alone[key], filling = queues.of_others(own, offered, pool)
            for name, wait in waits.items():
                part, full = (engines, filling) if name in FOR_ENGINES else (inside, np.minimum(self.full[name], 1.0))
                here = np.where((part > 0) & (share > 0), wait, 0.0)
                endless |= np.isinf(here)
                here = share * part * np.nan_to_num(here, posinf=1e12) / 1e3
                queued, filled = queued + here, filled + here * full
                first = first + (here * alone[key] if name in FOR_ENGINES else 0.0)
        free = np.maximum(free, 0.0)
        filled = filled / np.maximum(queued, 1e-12)
        places = np.full(limit.servers.shape, scenario.limits.get(limit.name, np.nan))
        places = np.where(np.isnan(places), limit.servers, places)[:, None]
        others = np.asarray(scenario.extra.get(limit.beside, 0.0)) * places
        rate = coming + others / np.maximum(free, 1e-12)
        queue = (working + first) * coming / np.maximum(rate, 1e-12)
        waited, taken, saved = queues.held(rate, free, places, queue, filled)
        # What is held until something else is done with, which never is, is full and no more.
        self.full[limit.name] = np.where(endless, 1.0, taken)
        # No limit makes transactions faster on the whole.
        saved = np.minimum(saved, waited / np.maximum(queued - first, 1e-12))
        delay = np.where(endless, np.inf, 1e3 * limit.factor[:, None] * waited)
        for key in members:
            self._ease(key, 1.0 - engines * saved * (1.0 - alone[key]), 1.0 - inside * saved)
            own = members[key] * delay / np.maximum(mixed, 1e-12)
            self.response[key] = self.response[key] + own
            self.waiting[key][limit.name] = own

    def _ease(self, key: Key, for_engines: Array, for_limits: Array) -> None:
        """Shorten the waits of a class to these parts."""
        waiting = self.waiting[key]
        for name in waiting:
            if name in FOR_ENGINES or name in self.full:
                shorter = waiting[name] * (for_engines if name in FOR_ENGINES else for_limits)
                gone = waiting[name] - shorter
                self.response[key] = self.response[key] - np.where(np.isfinite(gone), gone, 0.0)
                waiting[name] = np.where(np.isfinite(waiting[name]), shorter, waiting[name])
        self.eased[key] = self.eased.get(key, np.ones(())) * for_engines
