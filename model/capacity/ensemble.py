"""A calibrated system as arrays: one network for each draw of its parameters, evaluated for all draws at once.

Arrays have the draws first and the loads second, ``(draws, loads)``; transaction classes, called streams here, come
last. Draw 0 is the centre of the posterior: values are its, limits are quantiles over the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.limiting import Times
from model.capacity.parts import (
    CAPTURED,
    CAPTURED_BUT_ZIIP,
    WORK,
    ZIIP_WORK,
    Law,
    Laws,
    Limit,
    Machine,
    Response,
    Scenario,
    State,
    beyond,
)
from model.capacity.sharing import Sharer, Sharing
from model.capacity.users import settled
from model.capacity.ziips import ZiipPool

Array = NDArray[np.float64]

# Turns at most of the loop between cost and busy, and between zIIP load and what overflows; change of busy, as a part
# of it, that is the last to be followed. Each turn leaves a hundredth of it, so that the next would change nothing.
TURNS, SETTLED = 6, 1e-6


class System:
    """One system of a bundle, ready to be evaluated."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        self.streams: tuple[str, ...] = tuple(stream["name"] for stream in entry["streams"])
        self.numbers = {name: i for i, name in enumerate(self.streams)}
        self.mixes: dict[str, dict[int, float]] = {
            name: {self.numbers[stream]: share for stream, share in shares.items()}
            for name, shares in entry.get("mixes", {}).items()
        }
        self.laws = {name: Law.of(name, law) for name, law in entry["usage"].items()}
        # Of the classes' own work, on CPs and on zIIPs; what it drives comes after.
        self.direct = tuple(n for n, law in self.laws.items() if law.driver in self.streams or law.driver in self.mixes)
        self.of_rates = Laws.of([self.laws[name] for name in self.direct]) if self.direct else None
        self.capacity: tuple[str, ...] = tuple(entry["capacity"])
        self.draws = len(next(iter(self.laws.values())).noise)
        self.engines = float(entry["engines"])
        self.msu_per_engine: float | None = entry.get("msu_per_engine")
        self.service_units_per_s: float | None = entry.get("service_units_per_s")
        self.ziip_pool = ZiipPool.of(entry.get("ziip") or {}, self._drawn)
        self.ziips = self.ziip_pool.engines
        self.growth = self._drawn(entry.get("cost_by_busy", {"centre": 0.0, "draws": []}))
        self.growth_from = float(entry.get("cost_by_busy", {}).get("from", 0.0))
        self.in_line, self.to_its_end = bool(entry.get("in_line")), bool(entry.get("to_its_end"))
        self.priorities = self._drawn(entry.get("priorities", {"centre": 0.0, "draws": []})) > 0.5
        self.others_noise = self._drawn(entry.get("others_noise", {"centre": 0.0, "draws": []}))
        sure = [{"centre": 0.0, "draws": []}] * len(self.streams)
        self.thinking_noise = np.stack([self._drawn(one) for one in entry.get("thinking_noise", sure)], axis=1)
        machine = entry.get("on_machine")
        self.machine = None
        if machine:
            sharers = tuple(Sharer(**one) for one in machine.get("others", ()))
            self.machine = Machine(**{**machine, "others": sharers})
        self.responses = tuple(self._response(law) for law in entry["response"].values())
        self.limits = tuple(self._limit(limit) for limit in entry.get("limits", ()))

    def _drawn(self, value: Mapping[str, Any]) -> Array:
        drawn = value["draws"] or [value["centre"]] * (self.draws - 1)
        return np.append(float(value["centre"]), np.asarray(drawn, float))

    def _response(self, law: Mapping[str, Any]) -> Response:
        p90 = law.get("p90")
        return Response(
            metric=law["metric"],
            stream=law["stream"],
            series=tuple(law["series"]),
            ziip_series=tuple(law.get("ziip_series", ())),
            rest_ms=self._drawn(law["rest_ms"]),
            factor=self._drawn(law["factor"]),
            behind=self._drawn(law.get("behind", {"centre": 0.0, "draws": []})),
            ziip_factor=self._drawn(law.get("ziip_factor", {"centre": 1.0, "draws": []})),
            load=self._drawn(law["load"]),
            noise=self._drawn(law["noise"]),
            measured_stretch=law["measured_stretch"],
            longest_wait_ms=law.get("longest_wait_ms", np.inf),
            drift=self._drawn(law.get("drift", {"centre": 0.0, "draws": []})),
            p90=self._drawn(p90) if p90 else None,
            p90_waiting=self._drawn(law["p90_waiting"]) if p90 else None,
            p90_bend=self._drawn(law.get("p90_bend", {"centre": 0.0, "draws": []})),
        )

    def _limit(self, limit: Mapping[str, Any]) -> Limit:
        members = tuple(self.numbers[name] for name in limit["members"])
        weights = tuple(limit.get("weights") or (1.0,) * len(members))
        never = {"servers": 1.0, "hold_s": 0.0, "of_inside": 1.0, "of_engines": 0.0, "factor": 1.0}
        known = {key: self._drawn(limit.get(key, {"centre": value, "draws": []})) for key, value in never.items()}
        kind = limit.get("kind", "limit")
        return Limit(limit["name"], kind, members, weights, "servers" in limit, **known)

    def stream(self, scenario: Scenario, name: str) -> Array:
        """Transactions/s of a stream, or of a workload or class made of streams, (draws or 1, loads) as the rates."""
        mix = self.mixes.get(name)
        if mix:
            return np.asarray(scenario.rates[:, :, list(mix)] @ np.array(list(mix.values())))
        return scenario.rates[:, :, self.numbers[name]]

    def usage(self, scenario: Scenario) -> tuple[dict[str, Array], Array, Array | None]:
        """Engines in use by series, by the LPAR, and zIIPs in use; each (draws, loads)."""
        loads = scenario.rates.shape[1]
        shape = (self.draws, loads)
        alone = self._alone(scenario)
        cost = np.asarray(scenario.cost, float).reshape(-1, 1)
        ziip_work = self._sum(alone, "ziip", shape) + sum(
            value for name, value in scenario.extra.items() if self._engine(name) == "ziip"
        )
        busy, spilled = np.zeros(shape), np.zeros(shape)
        found: dict[str, Array] = {}
        for _ in range(TURNS if np.any(self.growth) or self.ziip_pool.overflow else 1):
            if self.ziips:
                waited = self.waited_for_cps(found, scenario)
                spilled = self.ziip_pool.overflowing(ziip_work, waited, scenario)
            dear = cost
            if np.any(self.growth):
                beside = queues.together(busy, max(round(scenario.engines), 1))
                dear = cost * (1.0 + self.growth[:, None] * (beside - self.growth_from))
            found = {}
            for name, value in alone.items():
                if self._engine(name) == "cp":
                    found[name] = (value + scenario.extra.get(name, 0.0)) * dear
            for name, value in alone.items():
                if self._engine(name) == "ziip":
                    found[name] = value * (1.0 - spilled)
                    twin = name.removesuffix(":ziip")
                    if twin in found:
                        found[twin] = found[twin] + value * spilled
            work = sum((v for n, v in found.items() if self._engine(n) == "cp" and self.laws[n].part), np.zeros(shape))
            for name, law in self.laws.items():
                if law.driver == WORK:
                    extra = scenario.extra.get(name, 0.0) * dear
                    found[name] = np.maximum(law.usage(work / cost) * cost + extra, 0.0)
            captured = sum((found[n] for n in found if self.laws[n].part and self._engine(n) == "cp"), np.zeros(shape))
            for name, law in self.laws.items():
                if law.driver in (CAPTURED, CAPTURED_BUT_ZIIP):
                    driving = captured if law.driver == CAPTURED else captured - ziip_work * spilled
                    found[name] = law.usage(driving / cost) * cost
            before, busy = busy, sum((found[name] for name in self.capacity), np.zeros(shape))
            with np.errstate(invalid="ignore"):
                if (np.abs(busy - before) <= SETTLED * busy).all():
                    break
        ziip_busy = None
        if ZIIP_WORK in self.laws:
            ziip_busy = self._cores_busy(ziip_work, ziip_work * (1.0 - spilled), found, scenario)
        return found, busy, ziip_busy

    def _cores_busy(self, work: Array, on_ziips: Array, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Busy zIIP cores, (draws, loads): those of the pool's queue, as far off as they were where it was measured."""
        full, _, cores = self.ziip_pool.queue(work, self.waited_for_cps(usage, scenario), scenario)
        return self.laws[ZIIP_WORK].usage(on_ziips * cores / np.maximum(work * (1.0 - full), 1e-12))

    def _alone(self, scenario: Scenario) -> dict[str, Array]:
        """Engines taken by the classes' own rates, (draws, loads), zIIP work at its cost; that of CPs comes after."""
        if self.of_rates is None:
            return {}
        drivers = np.stack([self.stream(scenario, self.laws[name].driver) for name in self.direct])
        used = dict(zip(self.direct, self.of_rates.usage(drivers), strict=True))
        dear = np.asarray(scenario.ziip_cost, float).reshape(-1, 1)
        return {name: value * dear if self._engine(name) == "ziip" else value for name, value in used.items()}

    def _engine(self, name: str) -> str:
        law = self.laws.get(name)
        return "" if law is None else law.engine

    def _sum(self, found: Mapping[str, Array], engine: str, shape: tuple[int, int]) -> Array:
        """What the parts of a pool's use add up to."""
        parts = (value for name, value in found.items() if self._engine(name) == engine and self.laws[name].part)
        return sum(parts, np.zeros(shape))

    def waited_for_cps(self, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Part of the classes' work with zIIP time that waits for CPs: behind what is no less important than it."""
        least = max((law.level for law in self.laws.values() if law.engine == "ziip" and law.part), default=0)
        before = (usage[n] for n in self.capacity if n in usage and self.laws[n].level <= least)
        return queues.erlang_c(sum(before, np.zeros((self.draws, 1))), scenario.engines)

    def others(self, scenario: Scenario) -> Array:
        """Engines that the other LPARs use, (draws, loads or 1): about as recorded, under another weight if asked."""
        asked = np.asarray(scenario.others, float) * (1.0 + self.others_noise[:, None])
        sharing = None if scenario.share is None else self.sharing(scenario)
        return asked if sharing is None else sharing.used(asked)

    def sharing(self, scenario: Scenario) -> Sharing | None:
        """The LPAR among the others of its machine; None where it shares none."""
        if self.machine is None:
            return None
        m, physical = self.machine, scenario.machine_engines or self.machine.engines
        others = m.others or ((Sharer(physical, 1.0 - m.share),) if m.share < 1.0 else ())
        theirs = sum(one.weight for one in others)
        share = m.share if scenario.share is None else scenario.share
        capped = m.capped if scenario.capped is None else scenario.capped
        weight = max(share / (1.0 - share) * theirs, 1e-9) if share < 1.0 else 1.0
        most = scenario.engines if scenario.cap_engines is None else min(scenario.engines, scenario.cap_engines)
        own = Sharer(most, weight, capped)
        return Sharing.of(physical, m.management, own, others)

    def available(self, scenario: Scenario) -> Array:
        """Engines the LPAR can get, (draws, loads): its own, or what the machine leaves it by weight and cap."""
        shape, sharing = (self.draws, scenario.rates.shape[1]), self.sharing(scenario)
        got = scenario.engines if sharing is None else sharing.limit(self.others(scenario))
        return np.full(shape, got, float)

    def _pool(self, scenario: Scenario, used: Array) -> Array:
        """Engines of a pool of its own in which the LPAR's work waits as long as on its machine, (draws, loads)."""
        sharing = self.sharing(scenario)
        return self.available(scenario) if sharing is None else sharing.pool(used, self.others(scenario))

    def evaluate(self, scenario: Scenario, *, responses: bool = True) -> State:
        """Usage and busy at a scenario, users sending as often as they get answers, with responses and limits or
        without."""
        known = scenario if scenario.users is None else settled(self.at_rates, self, scenario)
        return self.at_rates(known, responses=responses)

    # Where a stretch is infinite, a draw in which nothing answers to it gives no number, and is set to infinite below.
    @np.errstate(invalid="ignore")
    def at_rates(self, scenario: Scenario, *, responses: bool = True) -> State:
        """As :meth:`evaluate`, every class at the rate of the scenario."""
        usage, busy, ziip_busy = self.usage(scenario)
        available = self.available(scenario)
        machine_busy = None
        if self.machine is not None:
            physical = self.machine.engines if scenario.machine_engines is None else scenario.machine_engines
            machine_busy = (busy + self.others(scenario) + self.machine.management) / physical
        if not responses:
            return State(scenario, usage, busy, available, ziip_busy, machine_busy)
        stretched = self.stretches(scenario, usage, busy) if self.responses else {}
        pieces = 1e3 * self._mean_size(scenario, usage) if self.to_its_end else None
        ziip_stretch = None
        if self.ziips and scenario.ziips > 0:
            by_class = {n: used for n, used in self._alone(scenario).items() if self.laws[n].driver in self.streams}
            work = self._sum(by_class, "ziip", busy.shape)
            ziip_stretch = self.ziip_pool.queue(work, self.waited_for_cps(usage, scenario), scenario)[1]
        times, p90 = Times(), {}
        for response in self.responses:
            key = (response.metric, response.stream)
            rate = np.maximum(self.stream(scenario, response.stream), 1e-12)
            level, longer, ahead, *times.shared[key] = stretched[self.level(response.series)]
            times.rate[key] = rate
            times.used[key] = sum((usage[name] for name in response.series), np.zeros(busy.shape))
            service = 1e3 * times.used[key] / rate
            with np.errstate(invalid="ignore"):
                piece = service if pieces is None else pieces
                behind = np.where(np.isnan(ahead), piece, ahead) * response.behind[:, None] * longer
                queued = piece * response.factor[:, None] * (level - 1.0) + behind
                if scenario.longer is not None and response.stream in self.numbers:
                    queued = queued * scenario.longer[:, :, self.numbers[response.stream]]
            rest = response.rest_ms[:, None]
            answered = rest * (1.0 + response.load[:, None] * (level / response.measured_stretch - 1.0))
            ziip = 1e3 * sum((usage[name] for name in response.ziip_series), np.zeros(busy.shape)) / rate
            ziip_wait = np.zeros(busy.shape)
            if response.ziip_series and ziip_stretch is not None:
                ziip_wait = response.ziip_factor[:, None] * ziip * (ziip_stretch - 1.0)
            with np.errstate(invalid="ignore"):
                total = service + queued + answered + ziip + ziip_wait
            times.response[key] = np.where(np.isfinite(total), total, np.inf)
            times.using[key] = service + ziip
            times.waiting[key] = {"cp": queued, "ziip": ziip_wait, "other": np.maximum(answered, 0.0)}
        self._limits(scenario, times)
        for response in self.responses:
            key = (response.metric, response.stream)
            longer = response.drift[:, None] * self._beyond(response, times.waiting[key], scenario)
            deviating = times.response[key] * (1.0 + response.noise[:, None]) + np.nan_to_num(longer, posinf=0.0)
            times.response[key] = np.maximum(deviating, times.using[key])
            if response.p90 is not None and response.p90_waiting is not None:
                waited = sum((v for name, v in times.waiting[key].items() if name != "other"), np.zeros(busy.shape))
                with np.errstate(invalid="ignore"):
                    share = np.nan_to_num(np.clip(waited / times.response[key], 0.0, 1.0))[..., :]
                    ratio = response.p90[:, None] * (1.0 - share) + response.p90_waiting[:, None] * share
                    p90[key] = times.response[key] * (ratio - response.p90_bend[:, None] * share * (1.0 - share))
        taken = times.response, times.using, times.waiting, p90, times.full, times.eased
        return State(scenario, usage, busy, available, ziip_busy, machine_busy, *taken)

    def _mean_size(
        self, scenario: Scenario, usage: Mapping[str, Array], below: float = np.inf, work: Array | None = None
    ) -> Array:
        """Mean seconds of CPU of the transactions above a level that are on the engines, (draws, loads); what else
        there is of the ``work`` on these counts as nothing."""
        shape = (self.draws, scenario.rates.shape[1])
        used, sizes = np.zeros(shape), np.zeros(shape)
        for name, law in self.laws.items():
            if law.driver in self.numbers and law.part and law.engine == "cp" and law.level < below:
                rate = np.maximum(self.stream(scenario, law.driver), 1e-12)
                used, sizes = used + usage[name], sizes + usage[name] ** 2 / rate
        return np.asarray(sizes / np.maximum(used if work is None else work, 1e-12))

    def _beyond(self, response: Response, waiting: Mapping[str, Array], scenario: Scenario) -> Array:
        """Waiting in ms, (draws, loads), beyond the longest that was measured, the more the further out it is; on
        another number of engines, where none was measured, at least all of it that is for engines."""
        waited = sum((value for name, value in waiting.items() if name != "other"), np.zeros(()))
        further = beyond(np.asarray(waited, float), response.longest_wait_ms)
        return further if scenario.engines == self.engines else np.maximum(further, waiting["cp"])

    def level(self, series: Sequence[str]) -> int:
        """Priority level of the work of some series, 0 the highest."""
        return min((self.laws[name].level for name in series), default=0)

    def stretches(self, scenario: Scenario, usage: Mapping[str, Array], busy: Array) -> dict[int, tuple[Array, ...]]:
        """Stretch of work at each priority level behind short pieces, and what long ones add; in draws without
        priorities one for all, and its part that grows with the load. With it the mean CPU time of what is more
        important, in ms (not a number without priorities), the work that shares the engines, and the engines."""
        whole = self._pool(scenario, busy)
        users = self._elsewhere(scenario)
        left = queues.held_off(busy, whole, self._fading(users, usage, list(users), busy))
        together = queues.shortened(queues.stretch(busy, whole), left)
        crowded = queues.crowded(together, busy, whole)
        if not self.in_line and not np.any(self.priorities):
            alike = np.full(busy.shape, np.nan)
            return {law.level: (together, crowded, alike, busy, whole) for law in self.laws.values()}
        out: dict[int, tuple[Array, ...]] = {}
        above = np.zeros(busy.shape)
        ranked = self.priorities[:, None]
        for level in sorted({law.level for law in self.laws.values() if law.engine == "cp"}):
            here = [n for n in self.capacity if n in usage and self.laws[n].level == level]
            own = sum((usage[n] for n in here), np.zeros(busy.shape))
            if self.in_line:
                stretched = queues.shortened(queues.stretch_in_line(own, whole, above, busy), left)
                out[level] = stretched, queues.crowded(stretched, busy, whole), np.full(busy.shape, np.nan), busy, whole
            else:
                pool = np.minimum(whole, self._pool(scenario, own + above))
                short, longer = queues.by_importance(own, pool, above, self._fading(users, usage, here, own))
                ahead = 1e3 * self._mean_size(scenario, usage, level, above)
                out[level] = (
                    np.where(ranked, short, together),
                    np.where(ranked, longer, crowded),
                    np.where(ranked, ahead, np.nan),
                    np.where(ranked, own + above, busy),
                    np.where(ranked, pool, whole),
                )
            above = above + own
        return out

    def _elsewhere(self, scenario: Scenario) -> dict[str, Array]:
        """Users who are neither on the engines nor waiting for them, (draws, loads), by series of CPs."""
        found: dict[str, Array] = {}
        for stream, think_s in scenario.thinking(self.streams).items():
            for response in (one for one in self.responses if one.stream == stream):
                away_s = think_s + np.maximum(response.rest_ms, 0.0)[:, None] / 1e3
                users = np.where(think_s > 0, self.stream(scenario, stream) * away_s, np.inf)
                found |= {name: users for name in response.series if self._engine(name) == "cp"}
        return found

    def _fading(
        self, users: Mapping[str, Array], usage: Mapping[str, Array], names: Sequence[str], work: Array
    ) -> Array | float:
        """Part of the ``work`` of some series that stays away for each that is inside beyond their mean number: a
        class has its part of those inside, and fewer of its users are left to come."""
        parts = (
            (usage[name] / np.maximum(work, 1e-12)) ** 2 / np.maximum(users[name], 1e-9)
            for name in names
            if name in users
        )
        return sum(parts, np.zeros(()))

    def _limits(self, scenario: Scenario, times: Times) -> None:
        """Add the waits for limits to the responses of their members."""
        for limit in self.limits:
            if not limit.reached and limit.name not in scenario.limits:
                continue
            numbers = {key: self.numbers.get(key[1]) for key in times.response}
            members = {key: limit.weight(n) for key, n in numbers.items() if n in limit.members}
            coming = sum((self.stream(scenario, self.streams[i]) for i in limit.members), np.zeros((self.draws, 1)))
            times.hold_back(limit, members, coming, scenario)
