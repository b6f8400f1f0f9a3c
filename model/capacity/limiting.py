"""Waits for limits, and how much shorter the queues inside are for what waits to be let in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.parts import Limit, Scenario
from model.capacity.places import queue_for_places

Array = NDArray[np.float64]
Key = tuple[str, str]

FOR_ENGINES = ("cp", "ziip")


@dataclass
class Times:
    """Of each response, (responses, draws, loads): ``rate`` transactions/s, of one draw where all have the same,
    ``used`` engines, ``offered`` work that shares the ``pool`` of engines with it; in ms the ``response``, ``using``
    and ``waiting`` by what is waited for.

    ``keys`` are metric and class of each response, ``members`` who waits for each limit, ``full`` how far each is
    taken, (draws, loads), ``eased`` the part that limits leave of the waits for engines.
    """

    keys: tuple[Key, ...]
    rate: Array
    used: Array
    offered: Array
    pool: Array
    response: Array
    using: Array
    waiting: dict[str, Array]
    eased: Array = field(init=False)
    members: dict[str, list[int]] = field(default_factory=dict)
    full: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.eased = np.ones(self.response.shape)

    def hold_back(self, limit: Limit, members: Mapping[int, int], rates: Array, scenario: Scenario) -> None:
        """Add the wait for a limit to the responses of its ``members``: the stream of each, by number of the response.

        ``rates`` are transactions/s of each that shares it, (members of the limit, draws or 1, loads).
        """
        numbers, which = list(members), [limit.members.index(n) for n in members.values()]
        coming = rates.sum(axis=0)
        share = np.maximum(rates, 1e-12) / np.maximum(coming, 1e-12)
        weight = np.array(limit.weights)[:, None, None]
        mixed = np.sum(weight * share, axis=0)
        held_s = limit.hold_s[:, None] * np.sum(limit.holds[:, :, None] * share, axis=0)
        weight, share = weight[which], share[which]
        free, endless = np.maximum(held_s, 0.0), np.zeros(mixed.shape, bool)
        places = np.asarray(scenario.limits.get(limit.name, limit.servers[:, None]), float)
        others = np.asarray(scenario.extra.get(limit.beside, 0.0)) * places
        if limit.of_inside.any() or limit.of_engines.any():
            waited, taken, endless = self._held_inside(limit, numbers, share, held_s, coming, (places, others))
        else:
            waited, taken, _ = queue_for_places(coming + others / np.maximum(free, 1e-12), free, places)
        # What is held until something else is done with, which never is, is full and no more.
        self.full[limit.name] = np.where(endless, 1.0, taken)
        delay = np.where(endless, np.inf, 1e3 * limit.factor[:, None] * waited)
        own = weight * (delay / np.maximum(mixed, 1e-12))
        self.response[numbers] += own
        self.members[limit.name] = numbers
        self.waiting[limit.name] = np.zeros(self.response.shape)
        self.waiting[limit.name][numbers] = own
        if limit.of_engines.any():
            self._move_out(limit, numbers, share, coming, places)

    def _held_inside(
        self,
        limit: Limit,
        members: list[int],
        share: Array,
        held_s: Array,
        coming: Array,
        places_and_others: tuple[Array, Array],
    ) -> tuple[Array, Array, Array]:
        """Wait in s for a limit that is held while its members use and wait for other things, how far it is taken, and
        where it is held without end; each (draws, loads). What they then wait less for these is taken off."""
        inside, engines = limit.of_inside[:, None], np.minimum(limit.of_inside + limit.of_engines, 1.0)[:, None]
        waits = {name: value[members] for name, value in self.waiting.items() if name in (*FOR_ENGINES, *self.full)}
        using, offered, used = self.using[members], self.offered[members], self.used[members]
        # Seconds where nobody queues; on engines; queueing, with no other member there, with all, and times how full.
        elsewhere = self.response[members] - sum(waits.values()) - using
        elsewhere = np.where(np.isfinite(elsewhere), elsewhere, 0.0)
        free = np.maximum(held_s + np.sum(share * inside * elsewhere, axis=0) / 1e3, 0.0)
        working = np.sum(share * engines * using, axis=0) / 1e3
        own = [np.sum(np.where(offered <= one, used, 0.0), axis=0) for one in offered]
        alone, filling = queues.of_others(engines * np.array(own).reshape(used.shape), offered, self.pool[members])
        first, queued, filled, limited = (np.zeros(free.shape) for _ in range(4))
        endless = np.zeros(free.shape, bool)
        for name, wait in waits.items():
            part, full = (engines, filling) if name in FOR_ENGINES else (inside, np.minimum(self.full[name], 1.0))
            here = np.where((part > 0) & (share > 0), wait, 0.0)
            endless |= np.isinf(here).any(axis=0)
            here = share * part * np.where(np.isfinite(here), here, 1e12) / 1e3
            queued, filled = queued + np.sum(here, axis=0), filled + np.sum(here * full, axis=0)
            if name in FOR_ENGINES:
                first = first + np.sum(here * alone, axis=0)
            else:
                limited = limited + np.sum(here, axis=0)
        filled = filled / np.maximum(queued, 1e-12)
        if limited.any():
            # Those who wait for limits held within this one: more than queue before all else that is as full, where
            # there are several queues for one name, or few who work beside those who wait.
            told = queues.queueing((working + first) * coming, filled) / np.maximum(coming, 1e-12)
            free = free + np.clip(queued - first - told, 0.0, limited)
        places, others = places_and_others
        rate = coming + others / np.maximum(free, 1e-12)
        queue = (working + first) * coming / np.maximum(rate, 1e-12)
        waited, taken, saved = queue_for_places(rate, free, places, queue, filled)
        saved = saved * np.minimum(limit.factor, 1.0)[:, None]
        # No limit makes transactions faster on the whole.
        saved = np.minimum(saved, waited / np.maximum(queued - first, 1e-12))
        # Who waits for what is held on engines alone is in turn there next.
        self._ease_others(members, 1.0 - inside * saved * (1.0 - alone))
        self._ease(members, waits, 1.0 - engines * saved * (1.0 - alone), 1.0 - inside * saved)
        return waited, taken, endless

    def _move_out(self, limit: Limit, members: list[int], share: Array, coming: Array, places: Array) -> None:
        """Move the queue for CPs beyond the length at which the limit is full from these to the limit.

        A limit held on engines lets no more through once these are so slow that it is full: their queue grows no
        longer for anybody, and the work that would be in it waits for the limit, in its members, about half done.
        """
        engines, waits = limit.of_engines[:, None], self.waiting["cp"]
        using = np.sum(share * self.using[members], axis=0)
        waiting = np.sum(share * np.where(np.isfinite(waits[members]), waits[members], 0.0), axis=0)
        free = 1e3 * (places / np.maximum(coming, 1e-12) - limit.hold_s[:, None])
        longest = free / np.maximum(engines * using, 1e-12)
        first = members[0]
        beyond = queues.beyond(longest, 1.0 + waiting / np.maximum(using, 1e-12), self.offered[first], self.pool[first])
        beyond = np.where(engines > 0, beyond * np.minimum(limit.factor, 1.0)[:, None], 0.0)
        alike = np.all(self.offered == self.offered[first], axis=(1, 2))[:, None, None]
        gone = np.where(alike & np.isfinite(waits), waits, 0.0) * beyond
        self.response -= gone
        self.waiting["cp"] = waits - gone
        work = np.sum(self.rate * gone * self.using, axis=0)
        later = work / np.maximum(0.5 * (1.0 + engines) * using * coming, 1e-12)
        self.response[members] += later
        self.waiting[limit.name][members] += later

    def _ease_others(self, members: list[int], left: Array) -> None:
        """Shorten the waits for CPs of those who share them, and no limit, with ``members`` of whose waits only the
        parts ``left`` are left."""
        others = [i for i in range(len(self.keys)) if i not in members]
        waits = self.waiting["cp"]
        for place, i in enumerate(members):
            gone = self.rate[i] * np.where(np.isfinite(waits[i]), waits[i], 0.0) * (1.0 - left[place])
            if not others or not np.any(gone > 0.0):
                continue
            beside = (self.offered[others] == self.offered[i]) & np.isfinite(waits[others])
            load = np.sum(self.used[others] * beside, axis=0)
            alike = self.used[members] * (self.offered[members] == self.offered[i])
            room = self.pool[i] - self.offered[i] + np.sum(alike, axis=0)
            queued = np.sum(np.where(beside, self.rate[others] * waits[others], 0.0), axis=0)
            fewer = np.where(beside, waits[others] * (1.0 - queues.eased_beside(gone, load, queued, room)), 0.0)
            self.response[others] -= fewer
            self.waiting["cp"][others] -= fewer

    def _ease(self, members: list[int], waits: dict[str, Array], for_engines: Array, for_limits: Array) -> None:
        """Shorten the ``waits`` of some responses to these parts."""
        for name, wait in waits.items():
            shorter = wait * (for_engines if name in FOR_ENGINES else for_limits)
            gone = np.where(np.isfinite(wait), wait - shorter, 0.0)
            self.response[members] -= gone
            self.waiting[name][members] = wait - gone
        self.eased[members] *= for_engines

    def by_key(self, values: Array) -> dict[Key, Array]:
        """Values of each response by metric and class."""
        return dict(zip(self.keys, values, strict=True))

    def waits_by_key(self) -> dict[Key, dict[str, Array]]:
        """Waits of each response, by metric and class, for what it waits for."""
        return {
            key: {name: wait[i] for name, wait in self.waiting.items() if i in self.members.get(name, (i,))}
            for i, key in enumerate(self.keys)
        }

    def eased_by_key(self) -> dict[Key, Array]:
        """The part that limits leave of the waits for engines, of those who wait for limits."""
        held = {i for members in self.members.values() for i in members}
        return {key: self.eased[i] for i, key in enumerate(self.keys) if i in held}
