"""A calibrated system as arrays: one network for each draw of its parameters, evaluated for all draws at once.

Arrays have the draws first and the loads second, ``(draws, loads)``; transaction classes, called streams here, come
last. Draw 0 is the centre of the posterior: values are its, limits are quantiles over the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity import engine_waits, queues
from model.capacity.bursts import Bursts, Moment
from model.capacity.let_through import let_through
from model.capacity.limiting import Times
from model.capacity.partition import Partition
from model.capacity.parts import (
    CAPTURED,
    CAPTURED_BUT_ZIIP,
    WORK,
    ZIIP_WORK,
    Law,
    Laws,
    Limit,
    Response,
    Responses,
    Scenario,
    State,
    beyond,
    deviates,
    stacked,
)
from model.capacity.users import settled
from model.capacity.ziips import ZiipPool

Array = NDArray[np.float64]

# Turns at most of the loop between cost and busy, and between zIIP load and what overflows; change of busy, as a part
# of it, that is the last to be followed. Each turn leaves a hundredth of it, so that the next would change nothing.
TURNS, SETTLED = 6, 1e-6
# Values of all draws, loads and classes that are worked out at once: these and what comes of them stay in the cache.
AT_ONCE = 100_000
# How much of what a fitted factor of waits for zIIPs differs from the theory's is so on other cores or threads, too:
# all parts are equally likely. Seed of its draws.
CARRIED, CARRIED_SD, CARRIED_SEED = 0.5, 12**-0.5, 8


class Used(NamedTuple):
    """Engines in use, each (draws, loads): by series, and by the LPAR; what classes have for zIIPs by series, all of
    that, and the part of it that runs on CPs."""

    by_series: dict[str, Array]
    busy: Array
    on_ziips: dict[str, Array]
    ziip_work: Array
    spilled: Array


class Series(NamedTuple):
    """The classes' own series on one kind of engine: names, places among those of both, and places among these of
    what is part of the total."""

    names: tuple[str, ...]
    rows: slice
    parts: slice


class System:
    """One system of a bundle, ready to be evaluated.

    Args:
        entry: the bundle's part.
        copies: of so many variants that differ in their draws it has the draws, one after the other.
    """

    def __init__(self, entry: Mapping[str, Any], copies: int = 1) -> None:
        self.entry, self.copies = entry, copies
        self.streams: tuple[str, ...] = tuple(stream["name"] for stream in entry["streams"])
        self.numbers = {name: i for i, name in enumerate(self.streams)}
        self.mixes: dict[str, dict[int, float]] = {
            name: {self.numbers[stream]: share for stream, share in shares.items()}
            for name, shares in entry.get("mixes", {}).items()
        }
        self.laws = {name: Law.of(name, law) for name, law in entry["usage"].items()}
        # Of the classes' own work, on CPs and then on zIIPs, on each what is part of the total first; what it drives
        # comes after.
        own = [n for n, law in self.laws.items() if law.driver in self.streams or law.driver in self.mixes]
        self.direct = tuple(sorted(own, key=lambda n: (self.laws[n].engine == "ziip", not self.laws[n].part)))
        self.of_rates = Laws.of([self.laws[name] for name in self.direct]) if self.direct else None
        self.on_cps = self._of_direct("cp")
        self.on_ziips = self._of_direct("ziip")
        self.capacity: tuple[str, ...] = tuple(entry["capacity"])
        self.draws = len(next(iter(self.laws.values())).noise)
        self.engines = float(entry["engines"])
        self.msu_per_engine: float | None = entry.get("msu_per_engine")
        self.service_units_per_s: float | None = entry.get("service_units_per_s")
        self.ziip_pool = ZiipPool.of(entry.get("ziip") or {}, self._drawn)
        self.ziips = self.ziip_pool.engines
        self.carried = np.clip(CARRIED + CARRIED_SD * self.deviates(CARRIED_SEED), 0.0, 1.0)
        self.growth = self._drawn(entry.get("cost_by_busy", {"centre": 0.0, "draws": []}))
        self.dearer = bool(self.growth.any())
        self.growth_from = float(entry.get("cost_by_busy", {}).get("from", 0.0))
        self.in_line, self.to_its_end = bool(entry.get("in_line")), bool(entry.get("to_its_end"))
        self.priorities = self._drawn(entry.get("priorities", {"centre": 0.0, "draws": []})) > 0.5
        self.some_ranked, self.all_ranked = bool(self.priorities.any()), bool(self.priorities.all())
        sure = [{"centre": 0.0, "draws": []}] * len(self.streams)
        self.thinking_noise = np.stack([self._drawn(one) for one in entry.get("thinking_noise", sure)], axis=1)
        self.work_scatter = np.array(entry.get("work_scatter", [0.0] * len(self.streams)), float)
        self.partition = Partition(entry, self._drawn)
        self.machine = self.partition.machine
        self.responses = tuple(self._response(law) for law in entry["response"].values())
        self.of_responses = Responses(self.responses, self.draws)
        self.limits = tuple(self._limit(limit) for limit in entry.get("limits", ()))
        self._known_of_users: dict[tuple[frozenset[str], bool], System] = {}
        self.bursts = None
        if entry.get("bursts"):
            on, lasting_s = (self._drawn(entry["bursts"][key]) for key in ("on", "lasting_s"))
            self.bursts = Bursts(self.numbers[entry["bursts"]["stream"]], on, lasting_s)

    def _of_direct(self, engine: str) -> Series:
        names = tuple(name for name in self.direct if self.laws[name].engine == engine)
        first = self.direct.index(names[0]) if names else 0
        parts = sum(self.laws[name].part for name in names)
        return Series(names, slice(first, first + len(names)), slice(parts))

    def _drawn(self, value: Mapping[str, Any]) -> Array:
        drawn = value["draws"] or [value["centre"]] * (self.draws - 1)
        return np.append(float(value["centre"]), np.asarray(drawn, float))

    def deviates(self, seed: int) -> Array:
        """(draws,) standard normal deviates, 0 for the centre; every copy has the same."""
        return np.append(0.0, np.tile(deviates(1 + (self.draws - 1) // self.copies, seed)[1:], self.copies))

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
            crowded=self._drawn(law.get("crowded", {"centre": 0.0, "draws": []})),
            ziip_factor=self._drawn(law.get("ziip_factor", {"centre": 1.0, "draws": []})),
            load=self._drawn(law["load"]),
            noise=self._drawn(law["noise"]),
            measured_stretch=law["measured_stretch"],
            longest_wait_ms=law.get("longest_wait_ms", np.inf),
            drift=self._drawn(law.get("drift", {"centre": 0.0, "draws": []})),
            p90=self._drawn(p90) if p90 else None,
            p90_waiting=self._drawn(law["p90_waiting"]) if p90 else None,
            scatter=tuple(law["of_interval"]) if "of_interval" in law else None,
            p90_bend=self._drawn(law.get("p90_bend", {"centre": 0.0, "draws": []})),
        )

    def _limit(self, limit: Mapping[str, Any]) -> Limit:
        members = tuple(self.numbers[name] for name in limit["members"])
        weights = tuple(limit.get("weights") or (1.0,) * len(members))
        held = [self._drawn(one) for one in limit.get("holds", ())]
        holds = np.stack(held) if held else np.array(weights)[:, None]
        never = {"servers": 1.0, "hold_s": 0.0, "of_inside": 1.0, "of_engines": 0.0, "factor": 1.0}
        known = {key: self._drawn(limit.get(key, {"centre": value, "draws": []})) for key, value in never.items()}
        kind = limit.get("kind", "limit")
        return Limit(limit["name"], kind, members, weights, holds, "servers" in limit, **known)

    def stream(self, scenario: Scenario, name: str) -> Array:
        """Transactions/s of a stream, or of a workload or class made of streams, (draws or 1, loads) as the rates."""
        mix = self.mixes.get(name)
        if mix:
            return np.asarray(scenario.rates[:, :, list(mix)] @ np.array(list(mix.values())))
        return scenario.rates[:, :, self.numbers[name]]

    def usage(self, scenario: Scenario) -> Used:
        """Engines in use at a scenario, all classes at its rates."""
        shape = (self.draws, scenario.rates.shape[1])
        alone = self._alone(scenario)
        cost = np.asarray(scenario.cost, float).reshape(-1, 1)
        on_cps, on_ziips = alone[self.on_cps.rows] * scenario.work, alone[self.on_ziips.rows]
        for i, name in enumerate(self.on_cps.names):
            if name in scenario.extra:
                on_cps[i] += scenario.extra[name]
        ziip_work = on_ziips[self.on_ziips.parts].sum(axis=0) + sum(
            value for name, value in scenario.extra.items() if self.engine(name) == "ziip"
        )
        dear, busy, spilled = cost, np.zeros(shape), np.zeros(shape)
        found = dict(zip(self.on_cps.names, on_cps, strict=True))
        turns = TURNS if self.dearer or self.ziip_pool.overflow else 1
        for _ in range(turns):
            if self.on_ziips.names:
                waited = self.waited_for_cps(found, scenario)
                spilled = self.ziip_pool.overflowing(ziip_work, waited, scenario)
            if self.dearer:
                beside = queues.together(busy, max(round(scenario.engines), 1))
                dear = cost * (1.0 + self.growth[:, None] * (beside - self.growth_from))
            used = on_cps * dear
            found = dict(zip(self.on_cps.names, used, strict=True))
            for name, value in zip(self.on_ziips.names, on_ziips, strict=True):
                found[name] = value * (1.0 - spilled)
                twin = found.get(name.removesuffix(":ziip"))
                if twin is not None:
                    twin += value * spilled
            work = used[self.on_cps.parts].sum(axis=0)
            captured = work
            for name, law in self.laws.items():
                if law.driver == WORK:
                    extra = scenario.extra.get(name, 0.0) * dear
                    found[name] = np.maximum(law.usage(work / cost) * cost + extra, 0.0)
                    if law.part and law.engine == "cp":
                        captured = captured + found[name]
            for name, law in self.laws.items():
                if law.driver in (CAPTURED, CAPTURED_BUT_ZIIP):
                    driving = captured if law.driver == CAPTURED else captured - ziip_work * spilled
                    found[name] = law.usage(driving / cost) * cost
            before, busy = busy, sum((found[name] for name in self.capacity), np.zeros(shape))
            with np.errstate(invalid="ignore"):
                if turns == 1 or (np.abs(busy - before) <= SETTLED * busy).all():
                    break
        return Used(found, busy, dict(zip(self.on_ziips.names, on_ziips, strict=True)), ziip_work, spilled)

    def _on_ziips(self, scenario: Scenario, used: Used) -> tuple[Array | None, Array | None]:
        """Busy zIIP cores, as far off their queue's as they were where they were measured, and the stretch of the
        classes' own work on them; each (draws, loads), None where there are none."""
        if ZIIP_WORK not in self.laws and not self.ziips:
            return None, None
        own = (used.on_ziips[n] for n in used.on_ziips if self.laws[n].part and self.laws[n].driver in self.streams)
        work = np.array([used.ziip_work, sum(own, np.zeros(used.busy.shape))])
        waited = self.waited_for_cps(used.by_series, scenario)
        full, stretched, cores = self.ziip_pool.queue(work, waited, scenario)
        busy = None
        if ZIIP_WORK in self.laws:
            done = work[0] * (1.0 - used.spilled)
            busy = self.laws[ZIIP_WORK].usage(done * cores[0] / np.maximum(work[0] * (1.0 - full[0]), 1e-12))
        return busy, stretched[1] if self.ziips and scenario.ziips > 0 else None

    def _alone(self, scenario: Scenario) -> Array:
        """Engines taken by the classes' own rates, (series, draws, loads), zIIP work at its cost; that of CPs comes
        after."""
        if self.of_rates is None:
            return np.zeros((0, self.draws, scenario.rates.shape[1]))
        used = self.of_rates.usage(np.array([self.stream(scenario, self.laws[name].driver) for name in self.direct]))
        used[self.on_ziips.rows] *= np.asarray(scenario.ziip_cost, float).reshape(-1, 1)
        return used

    def engine(self, name: str) -> str:
        law = self.laws.get(name)
        return "" if law is None else law.engine

    def waited_for_cps(self, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Part of the classes' work with zIIP time that waits for CPs: behind what is no less important than it."""
        least = max((law.level for law in self.laws.values() if law.engine == "ziip" and law.part), default=0)
        before = (usage[n] for n in self.capacity if n in usage and self.laws[n].level <= least)
        return queues.erlang_c(sum(before, np.zeros((self.draws, 1))), scenario.engines)

    def evaluate(self, scenario: Scenario, *, responses: bool = True) -> State:
        """Usage and busy at a scenario, users sending as often as they get answers, with responses and limits, which
        users need, or without."""
        at_rates = partial(self.at_rates, responses=responses or scenario.users is not None)
        state = at_rates(scenario.as_asked())
        if scenario.users is not None:
            found, loads = settled(self._of_users(scenario).at_rates, self, state, scenario.users)
            if len(loads):
                state = replace(state.with_loads(loads, at_rates(found.at_loads(loads))), scenario=found)
        return let_through(at_rates, self, state)

    def blocks(self, loads: int) -> list[NDArray[np.intp]]:
        """The numbers of so many loads, of as many at once as the processor's cache has room for."""
        values = loads * self.draws * max(len(self.responses), len(self.laws))
        return np.array_split(np.arange(loads), max(min(round(values / AT_ONCE), loads), 1))

    def _of_users(self, scenario: Scenario) -> System:
        """The system with the responses and limits alone that what users send depends on, without percentiles."""
        thinking = frozenset(scenario.thinking(self.streams))
        # What is held on engines, or while others queue, changes the waits of all who share these.
        limits = (limit for limit in self.limits if limit.holds_back(scenario))
        held = any(limit.of_inside.any() or limit.of_engines.any() for limit in limits)
        if (thinking, held) not in self._known_of_users:
            found = self._known_of_users[thinking, held] = copy(self)
            some = (one for one in self.responses if held or one.stream in thinking)
            found.responses = tuple(replace(one, p90=None) for one in some)
            found.of_responses = Responses(found.responses, self.draws)
            some_of = {self.numbers[one.stream] for one in found.responses if one.stream in self.numbers}
            found.limits = tuple(limit for limit in self.limits if some_of.intersection(limit.members))
        return self._known_of_users[thinking, held]

    # Where a stretch is infinite, a draw in which nothing answers to it gives no number, and is set to infinite below.
    @np.errstate(invalid="ignore", divide="ignore")
    def at_rates(self, scenario: Scenario, *, responses: bool = True) -> State:
        """As :meth:`let_through`, whatever is full."""
        used = self.usage(scenario)
        usage, busy = used.by_series, used.busy
        ziip_busy, ziip_stretch = self._on_ziips(scenario, used)
        available = self.partition.available(scenario)
        machine_busy = self.partition.busy(scenario, busy)
        if not responses or not (self.responses or self.limits):
            return State(scenario, usage, busy, available, ziip_busy, machine_busy)
        times = self._times(scenario, usage, busy, ziip_stretch)
        self._limits(scenario, times)
        p90 = self._deviating(scenario, times)
        response, using, waiting = times.by_key(times.response), times.by_key(times.using), times.waits_by_key()
        found = (
            response,
            using,
            waiting,
            p90,
            times.full,
            times.eased_by_key(),
            times.by_key(times.offered / times.pool),
        )
        return State(scenario, usage, busy, available, ziip_busy, machine_busy, *found)

    def _times(self, scenario: Scenario, usage: Mapping[str, Array], busy: Array, ziip_stretch: Array | None) -> Times:
        """Responses without limits, and what they are made of."""
        laws = self.of_responses

        def of_each(values: Iterable[Array]) -> Array:
            return stacked(busy.shape, *values)

        def used_by(series: Sequence[str]) -> Array:
            return usage[series[0]] if len(series) == 1 else sum((usage[name] for name in series), np.zeros(busy.shape))

        rates = [self.stream(scenario, one.stream) for one in self.responses]
        rate = np.maximum(np.array(rates).reshape(len(rates), *scenario.rates.shape[:2]), 1e-12)
        used = of_each(used_by(one.series) for one in self.responses)
        service = 1e3 * used / rate
        queued, level, offered, pool = engine_waits.waits(self, Moment(scenario, usage, busy, None), service)
        if scenario.longer is not None:
            one = np.ones(busy.shape)
            numbers = (self.numbers.get(response.stream) for response in self.responses)
            queued = queued * of_each(one if n is None else scenario.longer[:, :, n] for n in numbers)
        answered = laws.rest_ms * (1.0 + laws.load * (level / laws.measured_stretch - 1.0))
        ziip, ziip_wait = np.zeros((2, *used.shape))
        if some := list(laws.on_ziips):
            on_ziips = np.array([used_by(self.responses[i].ziip_series) for i in some])
            ziip[some] = on_ziips = 1e3 * on_ziips / rate[some]
            if ziip_stretch is not None:
                factor = laws.ziip_factor[some]
                if self.ziip_pool.changed(scenario):
                    factor = 1.0 + (factor - 1.0) * self.carried[:, None]
                ziip_wait[some] = factor * on_ziips * (ziip_stretch - 1.0)
        total = service + queued + answered + ziip + ziip_wait
        response = np.where(np.isfinite(total), total, np.inf)
        waiting = {"cp": queued, "ziip": ziip_wait, "other": np.maximum(answered, 0.0)}
        # A response that is shorter than its CPU time by a part of it is of work that runs in parallel.
        using = np.maximum(service + ziip + np.minimum(laws.rest_ms, 0.0), 0.0)
        return Times(laws.keys, rate, used, offered, pool, response, using, waiting)

    def _deviating(self, scenario: Scenario, times: Times) -> dict[tuple[str, str], Array]:
        """Let responses deviate as they were seen to; their 90th percentiles, by metric and class."""
        laws = self.of_responses
        waited = sum((wait for name, wait in times.waiting.items() if name != "other"), np.zeros(times.response.shape))
        times.response *= laws.deviating
        times.response += self._longer(scenario, times, waited)
        np.maximum(times.response, times.using, out=times.response)
        known = laws.with_p90
        if not known:
            return {}
        some = slice(None) if len(known) == len(times.keys) else list(known)
        response, p90, waiting, bend = (
            one[some] for one in (times.response, laws.p90, laws.p90_waiting, laws.p90_bend)
        )
        share = waited[some] / response
        share[np.isnan(share)] = 0.0
        share = np.minimum(np.maximum(share, 0.0), 1.0)
        ratio = p90 * (1.0 - share) + waiting * share
        bent = response * (ratio - bend * share * (1.0 - share))
        return {times.keys[i]: values for i, values in zip(known, bent, strict=True)}

    def _longer(self, scenario: Scenario, times: Times, waited: Array) -> Array:
        """By how many ms responses deviate for waiting beyond the longest that was measured, the more the further out
        it is; on another number of engines, where none was measured, for at least all of it that is for engines."""
        laws = self.of_responses
        changed = {"cp": scenario.engines != self.engines, "ziip": self.ziip_pool.changed(scenario)}
        past = np.maximum(waited - laws.longest_wait_ms, 0.0)
        some = np.flatnonzero(any(changed.values()) | (past > 0.0).any(axis=(1, 2)))
        found = np.zeros(past.shape)
        further = beyond(waited[some], laws.longest_wait_ms[some])
        unmeasured = sum((times.waiting[name][some] for name, other in changed.items() if other), np.zeros(()))
        past, further = (np.maximum(one, unmeasured) for one in (past[some], further))
        longer = laws.drift[some] * further
        # What waits are shorter by is a part of them, however far out.
        longer = np.where(longer < 0.0, longer / (1.0 - longer / np.maximum(past, 1e-300)), longer)
        found[some] = np.where(np.isfinite(longer), longer, 0.0)
        return found

    @cached_property
    def levels_of_streams(self) -> tuple[int, ...]:
        """Priority level of the work of each stream on CPs, 0 the highest, and of those without."""
        own = {law.driver: name for name, law in self.laws.items() if law.part and law.engine == "cp"}
        return tuple(self.level([own[name]] if name in own else ()) for name in self.streams)

    def level(self, series: Sequence[str]) -> int:
        """Priority level of the work of some series, 0 the highest."""
        return min((self.laws[name].level for name in series), default=0)

    def _limits(self, scenario: Scenario, times: Times) -> None:
        """Add the waits for limits to the responses of their members."""
        for limit in (one for one in self.limits if one.holds_back(scenario)):
            numbers = [self.numbers.get(stream) for _, stream in times.keys]
            members = {i: n for i, n in enumerate(numbers) if n is not None and n in limit.members}
            rates = np.moveaxis(scenario.rates[:, :, list(limit.members)], 2, 0)
            times.hold_back(limit, members, rates, scenario)
