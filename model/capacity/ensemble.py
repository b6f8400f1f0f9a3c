"""A calibrated system as arrays: posterior samples of its parameters, evaluated all at once.

Arrays have the samples (draws) first and the loads second, ``(draws, loads)``; transaction classes come last. Draw 0 is
the best estimate: values are its, limits are quantiles over the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.baselines import USUAL
from model.capacity.baselines import used as used_baselines
from model.capacity.carried import carried_load
from model.capacity.closed import with_users
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
    Scenario,
    State,
    deviates,
)
from model.capacity.ziips import ZiipPool
from model.queueing.limits import limit_wait
from model.queueing.multiserver import erlang_c, slowdown
from model.queueing.priority import Delays, delays, undispatched

Array = NDArray[np.float64]
Key = tuple[str, str]

MAX_ITER, TOLERANCE = 6, 1e-6
"""Iterations at most between cost and busy, and relative change of busy that ends them."""
BLOCK = 100_000
"""Values of all draws, loads and classes that are evaluated at once: they stay in the processor's cache."""
DEMAND_SD, ZIIP_SD, SERVERS_SD = 0.03, 0.06, 0.25
"""Relative error of a predicted change of log engine use of a class, of busy zIIPs, and of a response on other servers
(pooled over systems)."""
CAPACITY_SD, CAPACITY_SEED = 0.03, 4950
"""Relative error of the engines that a shared machine leaves an LPAR; a third of it where it shares none."""
UNDETERMINED = 0.9
"""Highest utilization of a limit whose utilization the records do not tell."""
DEMAND_SEED, RESPONSE_SEED, RECORD_SEED, ZIIP_SEED = 4000, 5000, 6000, 4900


class Used(NamedTuple):
    """Engines in use, each (draws, loads): by series, and by the LPAR; eligible work of classes by series, all of it,
    and the part of it that runs on CPs."""

    by_series: dict[str, Array]
    busy: Array
    eligible: dict[str, Array]
    ziip_work: Array
    overflow: Array


class Series(NamedTuple):
    """The classes' own series on one kind of engine: names, places among those of both, and places among these of
    what is part of the total."""

    names: tuple[str, ...]
    rows: slice
    parts: slice


class System:
    """One system of a bundle, ready to be evaluated; with the draws of ``copies`` variants, one after the other."""

    def __init__(self, entry: Mapping[str, Any], copies: int = 1) -> None:
        self.entry, self.copies = entry, copies
        self.streams: tuple[str, ...] = tuple(stream["name"] for stream in entry["streams"])
        self.numbers = {name: i for i, name in enumerate(self.streams)}
        self.mixes: dict[str, dict[int, float]] = {
            name: {self.numbers[stream]: share for stream, share in shares.items()}
            for name, shares in entry.get("mixes", {}).items()
        }
        self.laws = {name: Law.of(name, law) for name, law in entry["usage"].items()}
        # Of the classes' own work, on CPs and then on zIIPs, on each what is part of the total first.
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
        self.ziip_pool = ZiipPool.of(entry.get("ziip") or {}, self.sampled)
        self.ziips = self.ziip_pool.engines
        self.growth = self.sampled(entry.get("cost_by_busy", {"centre": 0.0, "draws": []}))
        self.growth_from = float(entry.get("cost_by_busy", {}).get("from", 0.0))
        self.deficit = self.sampled(entry.get("pool_deficit", {"centre": 1.0, "draws": []}))[:, None]
        sure = [{"centre": 0.0, "draws": []}] * len(self.streams)
        self.thinking_noise = np.stack([self.sampled(one) for one in entry.get("thinking_noise", sure)], axis=1)
        self.work_scatter = np.array(entry.get("work_scatter", [0.0] * len(self.streams)), float)
        self.partition = Partition(entry, self.sampled)
        self.machine = self.partition.machine
        self.responses = tuple(self._response(law) for law in entry["response"].values())
        self.limits = tuple(self._limit(limit) for limit in entry.get("limits", ()))
        self.levels = sorted({law.level for law in self.laws.values()})
        self.baselines = used_baselines(entry)

    def _of_direct(self, engine: str) -> Series:
        names = tuple(name for name in self.direct if self.laws[name].engine == engine)
        first = self.direct.index(names[0]) if names else 0
        parts = sum(self.laws[name].part for name in names)
        return Series(names, slice(first, first + len(names)), slice(parts))

    def sampled(self, value: Mapping[str, Any]) -> Array:
        """(draws,) of a value of a bundle, the best estimate first."""
        drawn = value["draws"] or [value["centre"]] * (self.draws - 1)
        return np.append(float(value["centre"]), np.asarray(drawn, float))

    def deviates(self, seed: int) -> Array:
        """(draws,) standard normal deviates, 0 for the best estimate; every copy has the same."""
        own = deviates(1 + (self.draws - 1) // self.copies, seed)[1:]
        return np.append(0.0, np.tile(own, self.copies))

    def _response(self, law: Mapping[str, Any]) -> Response:
        none = {"centre": 0.0, "draws": []}
        one = {"centre": 1.0, "draws": []}

        def read(key: str, missing: Mapping[str, Any] = none) -> Array:
            return self.sampled(law.get(key, missing))

        return Response(
            metric=law["metric"],
            stream=law["stream"],
            series=tuple(law["series"]),
            ziip_series=tuple(law.get("ziip_series", ())),
            rest_ms=read("rest_ms"),
            growing_ms=read("growing_ms"),
            short=read("short", one),
            long=read("long"),
            machine=read("machine"),
            ziip_queue=read("ziip_queue", one),
            ziip_always=read("ziip_always"),
            load=read("load"),
            noise=read("noise"),
            measured_slowdown=law.get("measured_slowdown", 1.0),
            change_sd=float(law.get("change_sd", 0.0)),
            interval_sd=float(law.get("interval_sd", 0.0)),
            interval_wait_sd=float(law.get("interval_wait_sd", 0.0)),
            transaction_sd=float(law.get("transaction_sd", 0.0)),
            usual_ms=float(law.get("usual_ms", 0.0)),
            p90=read("p90") if law.get("p90") else None,
            p90_waiting=read("p90_waiting") if law.get("p90") else None,
        )

    def _limit(self, limit: Mapping[str, Any]) -> Limit:
        members = tuple(self.numbers[name] for name in limit["members"])
        unknown = {"servers": 1.0, "queues": 1.0, "hold_s": 0.0, "variability": 1.0}
        known = {key: self.sampled(limit.get(key, {"centre": value, "draws": []})) for key, value in unknown.items()}
        return Limit(
            limit["name"],
            limit.get("kind", "limit"),
            members,
            tuple(limit.get("weights") or (1.0,) * len(members)),
            "servers" in limit,
            bool(limit.get("determined")),
            bool(limit.get("on_engines")),
            **known,
        )

    def stream(self, scenario: Scenario, name: str) -> Array:
        """Transactions/s of a class, or of a workload made of classes, (draws or 1, loads) as the rates."""
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
        anchored = 0.0 if scenario.anchor is None else scenario.anchor.busy
        dear, busy, overflow = cost, np.zeros(shape), np.zeros(shape)
        known = dict(zip(self.on_cps.names, on_cps, strict=True))
        costly = bool(self.growth.any())
        iterations = MAX_ITER if costly or self.ziip_pool.overflow else 1
        for _ in range(iterations):
            if self.on_ziips.names:
                overflow = self.ziip_pool.overflowing(ziip_work, self.free_cps(known, scenario), scenario)
            if costly:
                seen = self._utilization(scenario, busy)
                dear = cost * (1.0 + self.growth[:, None] * (seen - self.growth_from))
            used = on_cps * dear
            known = dict(zip(self.on_cps.names, used, strict=True))
            for name, value in zip(self.on_ziips.names, on_ziips, strict=True):
                known[name] = value * (1.0 - overflow)
                twin = known.get(name.removesuffix(":ziip"))
                if twin is not None:
                    twin += value * overflow
            work = used[self.on_cps.parts].sum(axis=0)
            captured = work
            for name, law in self.laws.items():
                if law.driver == WORK:
                    extra = scenario.extra.get(name, 0.0) * dear
                    known[name] = np.maximum(law.usage(work / cost) * cost + extra, 0.0)
                    if law.part and law.engine == "cp":
                        captured = captured + known[name]
            for name, law in self.laws.items():
                if law.driver in (CAPTURED, CAPTURED_BUT_ZIIP):
                    driving = captured if law.driver == CAPTURED else captured - ziip_work * overflow
                    known[name] = np.maximum(law.usage(driving / cost) * cost + anchored * cost, 0.0)
            before, busy = busy, sum((known[name] for name in self.capacity), np.zeros(shape))
            with np.errstate(invalid="ignore"):
                if iterations == 1 or (np.abs(busy - before) <= TOLERANCE * busy).all():
                    break
        return Used(known, busy, dict(zip(self.on_ziips.names, on_ziips, strict=True)), ziip_work, overflow)

    def _utilization(self, scenario: Scenario, busy: Array) -> Array:
        """Utilization on which the cost of work hangs: of the machine's engines, or of the LPAR's on its own."""
        share = self.partition.busy(scenario, busy)
        return busy / scenario.engines if share is None else np.minimum(share, 1.0)

    def _alone(self, scenario: Scenario) -> Array:
        """Engines taken by the classes' own rates, (series, draws, loads): as recorded, and as the demands have it for
        what has changed since."""
        if self.of_rates is None:
            return np.zeros((0, self.draws, scenario.rates.shape[1]))
        rates = np.array([self.stream(scenario, self.laws[name].driver) for name in self.direct])
        used = self.of_rates.usage(rates)
        anchor = scenario.anchor
        if anchor is not None:
            for i, name in enumerate(self.direct):
                before = self.stream(replace(scenario, rates=anchor.rates), self.laws[name].driver)
                with np.errstate(divide="ignore", invalid="ignore"):
                    change = np.where((before > 0) & (rates[i] > 0), rates[i] / np.where(before > 0, before, 1.0), 1.0)
                error = DEMAND_SD * self.deviates(DEMAND_SEED + i)[:, None]
                used[i] *= anchor.usage.get(name, 1.0) * change**error
        used[self.on_ziips.rows] *= np.asarray(scenario.ziip_cost, float).reshape(-1, 1)
        return used

    def engine(self, name: str) -> str:
        """Kind of engine of a series; empty where there is no such series."""
        law = self.laws.get(name)
        return "" if law is None else law.engine

    def free_cps(self, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Probability that a CP is free for eligible work, behind what is no less important than it."""
        least = max((law.level for law in self.laws.values() if law.engine == "ziip" and law.part), default=0)
        before = (usage[n] for n in self.capacity if n in usage and self.laws[n].level <= least)
        return 1.0 - erlang_c(sum(before, np.zeros((self.draws, 1))), self.partition.available(scenario))

    def evaluate(self, scenario: Scenario, *, responses: bool = True) -> State:
        """What the system does at a scenario: users at the rates that their responses allow, and what is carried."""
        at_rates = partial(self.at_rates, responses=responses or scenario.users is not None)
        state = with_users(at_rates, self, scenario)
        return carried_load(at_rates, self, state)

    def blocks(self, loads: int) -> list[NDArray[np.intp]]:
        """The numbers of so many loads, in blocks that the processor's cache has room for."""
        values = loads * self.draws * max(len(self.responses), len(self.laws))
        return np.array_split(np.arange(loads), max(min(round(values / BLOCK), loads), 1))

    def at_rates(self, scenario: Scenario, *, responses: bool = True) -> State:
        """What the system would do if every class had its rate, whether it can or not."""
        used = self.usage(scenario)
        available = self.partition.available(scenario)
        state = State(
            scenario, used.by_series, used.busy, available, self._ziip_busy(scenario, used),
            self.partition.busy(scenario, used.busy),
        )  # fmt: skip
        if not responses:
            return state
        return self._with_responses(state, used)

    def _ziip_busy(self, scenario: Scenario, used: Used) -> Array | None:
        """Busy zIIP cores, (draws, loads); None where there are none."""
        law = self.laws.get(ZIIP_WORK)
        if law is None:
            return None
        work = used.ziip_work * (1.0 - used.overflow)
        busy = law.usage(work)
        if scenario.anchor is not None:
            change = np.log(np.maximum(busy, 1e-9) / np.maximum(scenario.anchor.ziip_modelled, 1e-9))
            error = ZIIP_SD * self.deviates(ZIIP_SEED)[:, None]
            busy = scenario.anchor.ziip_busy * np.exp(change * (1.0 + error))
        return np.asarray(busy)

    def _pool(self, scenario: Scenario, load: Array) -> Array:
        """Engines of a dedicated pool in which work waits as long, (levels, draws, loads)."""
        pool = np.stack([self.partition.pool(scenario, one) for one in load])
        machine = self.partition.cpc(scenario)
        sd = CAPACITY_SD if machine is not None and machine.others else CAPACITY_SD / 3.0
        error = 1.0 + sd * self.deviates(CAPACITY_SEED)[:, None]
        return np.maximum((scenario.engines - self.deficit * (scenario.engines - pool)) * error, 1e-3)

    def waiting_share(self, state: State, one: Response) -> Array:
        """(draws, loads) part of a response that is waiting for engines and limits."""
        key = (one.metric, one.stream)
        each = (wait for name, wait in state.waiting_ms[key].items() if name != "other")
        waits = sum(each, np.zeros(state.busy.shape))
        with np.errstate(invalid="ignore"):
            return np.clip(np.nan_to_num(waits / state.response_ms[key], nan=1.0), 0.0, 1.0)

    def delays(self, scenario: Scenario, used: Used) -> tuple[Delays, Delays | None, Array]:
        """Delays of every level for CPs and zIIPs, (levels, draws, loads), and by logical CPs not dispatched."""
        shape = (len(self.levels), *used.busy.shape)
        load, moment, on_ziips, ziip_moment = (np.zeros(shape) for _ in range(4))
        places = {level: i for i, level in enumerate(self.levels)}
        for name in self.capacity:
            law = self.laws[name]
            load[places[law.level]] += used.by_series[name]
            if law.driver in self.numbers:
                rate = np.maximum(self.stream(scenario, law.driver), 1e-12)
                moment[places[law.level]] += 1e3 * used.by_series[name] ** 2 / rate
        for name in used.eligible:
            law = self.laws[name]
            if law.part and law.driver in self.numbers:
                at, rate = places[law.level], np.maximum(self.stream(scenario, law.driver), 1e-12)
                on_ziips[at] += used.by_series[name]
                ziip_moment[at] += 1e3 * used.by_series[name] ** 2 / rate
        pool = self._pool(scenario, np.cumsum(load, axis=0))
        by_cp = delays(load, pool, moment)
        by_ziip = None
        if on_ziips.any() and scenario.ziips > 0:
            by_ziip = delays(on_ziips, self.ziip_pool.servers(scenario), ziip_moment)
        return by_cp, by_ziip, undispatched(load.sum(axis=0), pool[-1], scenario.engines)

    def _with_responses(self, state: State, used: Used) -> State:
        """The state with responses, what they are made of, and limits."""
        scenario, anchor = state.scenario, state.scenario.anchor
        by_cp, by_ziip, machine = self.delays(scenario, used)
        places = {level: i for i, level in enumerate(self.levels)}
        using: dict[Key, Array] = {}
        waiting: dict[Key, dict[str, Array]] = {}
        rests: dict[Key, Array] = {}
        rates: dict[str, Array] = {}
        for one in self.responses:
            key = (one.metric, one.stream)
            rate = np.maximum(self.stream(scenario, one.stream), 1e-12)
            service = 1e3 * sum((used.by_series[n] for n in one.series), np.zeros(used.busy.shape)) / rate
            at = places[min((self.laws[n].level for n in one.series), default=0)]
            short, long, foreign = one.short[:, None], one.long[:, None], one.machine[:, None]
            delay = _times(short * service, by_cp.short[at]) + long * by_cp.longer[at] * by_cp.size[at]
            delay = delay + _times(foreign * service, machine)
            ziip = 1e3 * sum((used.by_series[n] for n in one.ziip_series), np.zeros(used.busy.shape)) / rate
            ziip_delay = np.zeros(used.busy.shape)
            if by_ziip is not None and one.ziip_series:
                queue = by_ziip.short[at] + by_ziip.longer[at]
                ziip_delay = _times(one.ziip_queue[:, None] * ziip, queue) + one.ziip_always[:, None] * ziip
            using[key] = service + ziip + np.minimum(one.rest_ms, 0.0)[:, None]
            growth = (by_cp.short[at] + 1.0) / one.measured_slowdown - 1.0
            rest = one.rest_ms[:, None] * (1.0 + _times(one.load[:, None], growth))
            rests[key] = np.maximum(rest + one.growing_ms[:, None] * used.busy / self.engines, 0.0)
            waiting[key] = {"cp": delay, "ziip": ziip_delay}
            rates[one.stream] = rate
        limits = self._limits(scenario, using, waiting, rates)
        response: dict[Key, Array] = {}
        p90: dict[Key, Array] = {}
        for i, one in enumerate(self.responses):
            key = (one.metric, one.stream)
            waits = sum(waiting[key].values(), np.zeros(used.busy.shape))
            modelled = np.maximum(using[key], 0.0) + waits + rests[key]
            modelled = np.where(np.isfinite(modelled), modelled, np.inf)
            if one.stream in self.baselines:
                modelled = self._by_baseline(one, modelled, using[key], used, scenario)
            response[key] = self._anchored(scenario, one, key, modelled, i)
            if one.p90 is not None and one.p90_waiting is not None:
                with np.errstate(invalid="ignore"):
                    share = np.clip(np.nan_to_num(waits / modelled, nan=1.0), 0.0, 1.0)
                ratio = one.p90[:, None] * (1.0 - share) + one.p90_waiting[:, None] * share
                if anchor is not None and key in anchor.p90:
                    ratio = ratio * anchor.p90[key]
                p90[key] = response[key] * ratio
            with np.errstate(invalid="ignore"):
                other = np.maximum(response[key] - np.maximum(using[key], 0.0) - waits, 0.0)
            waiting[key]["other"] = np.where(np.isfinite(response[key]), other, rests[key])
        return replace(
            state,
            response_ms=response,
            using_ms={key: np.maximum(value, 0.0) for key, value in using.items()},
            waiting_ms=waiting,
            p90_ms=p90,
            limits=limits,
        )

    def _anchored(self, scenario: Scenario, one: Response, key: Key, modelled: Array, i: int) -> Array:
        """The response: what was recorded times what the model makes of the change; the model's without a record."""
        deviating = np.where(one.noise < 0.0, 1.0 / (1.0 - one.noise), 1.0 + one.noise)[:, None]
        anchor = scenario.anchor
        if anchor is None or key not in anchor.response:
            error = np.exp(one.interval_sd * self.deviates(RECORD_SEED + i))[:, None]
            unrecorded = anchor is not None and bool(anchor.response)
            return np.asarray(modelled * deviating * (error if unrecorded else 1.0))
        sd = np.hypot(one.change_sd, SERVERS_SD) if self._servers_changed(scenario) else one.change_sd
        error = sd * self.deviates(RESPONSE_SEED + i)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.log(np.maximum(modelled, 1e-9) / np.maximum(anchor.modelled_ms[key], 1e-9))
            log_change = np.where(np.isfinite(change), change * np.maximum(1.0 + error, 0.0), np.inf)
            found = anchor.response[key] * np.exp(log_change)
        return np.asarray(np.where(np.isfinite(modelled), found, np.inf))

    def _by_baseline(self, one: Response, modelled: Array, using: Array, used: Used, scenario: Scenario) -> Array:
        """The response of a class whose changes a baseline predicts more closely: constant, or as of M/M/c; without end
        where the model has no steady state."""
        slow = np.ones(using.shape) if self.baselines[one.stream] == USUAL else slowdown(used.busy, scenario.engines)
        return np.where(np.isfinite(modelled), one.usual_ms + using * (slow - 1.0), np.inf)

    def _servers_changed(self, scenario: Scenario) -> bool:
        """Whether a scenario has other engines, zIIPs or shares of the machine than were recorded."""
        return scenario.cpc is not None or scenario.engines != self.engines or self.ziip_pool.changed(scenario)

    def level(self, series: Sequence[str]) -> int:
        """Priority level of the work of some series, 0 the highest."""
        return min((self.laws[name].level for name in series), default=0)

    def _limits(
        self,
        scenario: Scenario,
        using: Mapping[Key, Array],
        waiting: Mapping[Key, dict[str, Array]],
        rates: Mapping[str, Array],
    ) -> dict[str, Array]:
        """Adds the waits for limits to the responses of members; the utilization of each limit, (draws, loads)."""
        keys = {self.numbers[stream]: (metric, stream) for metric, stream in using if stream in self.numbers}
        used: dict[str, Array] = {}
        for limit in (one for one in self.limits if one.holds_back(scenario)):
            members = [n for n in limit.members if n in keys]
            if not members:
                continue
            rate = scenario.rates[:, :, list(limit.members)].sum(axis=2)
            hold = limit.hold_s[:, None] * np.ones(rate.shape)
            if not limit.reached:
                # Nobody waited: it is taken to be held all the time inside.
                inside = sum(rates[keys[n][1]] * (using[keys[n]] + waiting[keys[n]]["cp"]) for n in members)
                hold = 1e-3 * inside / np.maximum(rate, 1e-12)
            elif limit.on_engines:
                busy = sum(rates[keys[n][1]] * using[keys[n]] for n in members)
                delay = sum(rates[keys[n][1]] * waiting[keys[n]]["cp"] for n in members)
                with np.errstate(invalid="ignore"):
                    stretch = 1.0 + np.nan_to_num(delay / np.maximum(busy, 1e-12), nan=0.0, posinf=0.0)
                hold = hold * stretch
            places = limit.places(scenario)
            if limit.reached and not limit.determined:
                # What the records do not tell may make work wait, and is never taken to be full.
                most = UNDETERMINED * places * limit.queues[:, None] / np.maximum(rate, 1e-12)
                hold = np.minimum(hold, most)
            wait = limit.variability[:, None] * limit_wait(rate, hold, places, limit.queues[:, None])
            used[limit.name] = rate * hold / (places * limit.queues[:, None])
            for n in members:
                weight = limit.weights[limit.members.index(n)]
                waiting[keys[n]][limit.resource] = _times(np.asarray(1e3 * weight), wait)
        return used


def _times(factor: Array, delay: Array) -> Array:
    """The product; nothing of a delay without end is nothing."""
    return np.where(factor == 0.0, 0.0, np.where(factor == 0.0, 1.0, factor) * delay)
