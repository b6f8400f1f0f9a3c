"""A calibrated system as arrays: posterior samples of its parameters, evaluated all at once.

Arrays have the samples (draws) first and the loads second, ``(draws, loads)``; transaction classes come last. Draw 0 is
the best estimate: values are its, limits are quantiles over the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.engines import Partition, overflow_share, ziip_servers, ziips_changed
from model.capacity.parameters import (
    PROPORTIONAL,
    USUAL,
    RecordedIntervals,
    ResponseModel,
    SystemParameters,
    ZiipPool,
    used_baselines,
)
from model.capacity.state import (
    CAPTURED,
    CAPTURED_BUT_ZIIP,
    ON_ZIIPS,
    WORK,
    ZIIP_WORK,
    Demands,
    Scenario,
    State,
    normal_scores,
)
from model.queueing.multiserver import erlang_c, limit_wait, slowdown
from model.queueing.priority import Delays, delays, delays_on_logical_cps, undispatched

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


class Usage(NamedTuple):
    """Engines in use; arrays are (draws, loads).

    Attributes
    ----------
    by_series : dict
        by series.
    busy : ndarray
        by the LPAR.
    eligible : dict
        zIIP-eligible work of classes, by series.
    ziip_work, overflow : ndarray
        all eligible work, and the part of it that runs on CPs.
    work : ndarray
        work of transactions on CPs.
    """

    by_series: dict[str, Array]
    busy: Array
    eligible: dict[str, Array]
    ziip_work: Array
    overflow: Array
    work: Array


class SeriesOnEngine(NamedTuple):
    """The series of classes on one kind of engine: ``names``, ``rows`` among the series of both kinds, and ``parts``,
    the rows among these that are part of the total."""

    names: tuple[str, ...]
    rows: slice
    parts: slice


class System:
    """One system of a bundle, ready to be evaluated; with the draws of ``copies`` variants, one after the other."""

    def __init__(self, parameters: SystemParameters, copies: int = 1) -> None:
        self.parameters, self.copies = parameters, copies
        self.class_names = parameters.class_names
        self.class_index = {name: i for i, name in enumerate(self.class_names)}
        self.mixes: dict[str, dict[int, float]] = {
            name: {self.class_index[member]: share for member, share in shares.items()}
            for name, shares in parameters.mixes.items()
        }
        self.demands = parameters.demands
        # Of the work of classes, on CPs and then on zIIPs, on each what is part of the total first.
        driven = {*self.class_names, *self.mixes}
        of_classes = [name for name, demand in self.demands.items() if demand.regressor in driven]
        of_classes.sort(key=lambda n: (self.demands[n].engine == "ziip", not self.demands[n].additive))
        self.class_series = tuple(of_classes)
        self.work_demands = {n: Demands.of((demand,)) for n, demand in self.demands.items() if n not in of_classes}
        self.class_demands = Demands.of([self.demands[name] for name in of_classes]) if of_classes else None
        self.on_cps = self._series_on("cp")
        self.on_ziips = self._series_on("ziip")
        self.busy_components = parameters.busy_components
        self.draws = 1 + parameters.samples
        self.engines = parameters.engines
        self.msu_per_engine = parameters.msu_per_engine
        self.ziip_pool = parameters.ziip or ZiipPool(gain=np.ones(self.draws))
        self.ziips = self.ziip_pool.engines
        cost = parameters.busy_cost
        self.cost_slope = np.zeros(self.draws) if cost is None else cost.slope
        self.cost_reference = 0.0 if cost is None else cost.reference
        self.pool_deficit = parameters.pool_deficit[:, None]
        self.thinking_noise = np.stack([one.thinking_noise for one in parameters.classes], axis=1)
        self.work_scatter = np.array([one.cpu_scatter_s for one in parameters.classes])
        self.partition = Partition(parameters)
        self.machine = parameters.machine
        self.responses = tuple(parameters.responses.values())
        self.limits = parameters.limits
        self.levels = sorted({demand.priority for demand in self.demands.values()})
        self.baselines = used_baselines(parameters.gate)

    def _series_on(self, engine: str) -> SeriesOnEngine:
        names = tuple(name for name in self.class_series if self.demands[name].engine == engine)
        first = self.class_series.index(names[0]) if names else 0
        parts = sum(self.demands[name].additive for name in names)
        return SeriesOnEngine(names, slice(first, first + len(names)), slice(parts))

    def scores(self, seed: int) -> Array:
        """(draws,) standard normal deviates, 0 for the best estimate; every copy has the same."""
        scores = normal_scores(1 + (self.draws - 1) // self.copies, seed)[1:]
        return np.append(0.0, np.tile(scores, self.copies))

    @property
    def history(self) -> RecordedIntervals:
        """The recorded intervals of a system that has any."""
        recorded = self.parameters.recorded
        assert recorded is not None
        return recorded

    def class_rate(self, scenario: Scenario, name: str) -> Array:
        """Transactions/s of a class, or of a workload made of classes, (draws or 1, loads) as the rates."""
        mix = self.mixes.get(name)
        if mix:
            return np.asarray(scenario.rates[:, :, list(mix)] @ np.array(list(mix.values())))
        return scenario.rates[:, :, self.class_index[name]]

    def usage(self, scenario: Scenario) -> Usage:
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
        unit_cost, busy, overflow = cost, np.zeros(shape), np.zeros(shape)
        used_by = dict(zip(self.on_cps.names, on_cps, strict=True))
        costly = bool(self.cost_slope.any())
        iterations = MAX_ITER if costly or self.ziip_pool.overflow else 1
        for _ in range(iterations):
            if self.on_ziips.names:
                overflow = overflow_share(self.ziip_pool, ziip_work, self.free_cps(used_by, scenario), scenario)
            if costly:
                seen = self._utilization(scenario, busy)
                unit_cost = cost * (1.0 + self.cost_slope[:, None] * (seen - self.cost_reference))
            used = on_cps * unit_cost
            used_by = dict(zip(self.on_cps.names, used, strict=True))
            for name, value in zip(self.on_ziips.names, on_ziips, strict=True):
                used_by[name] = value * (1.0 - overflow)
                twin = used_by.get(name.removesuffix(ON_ZIIPS))
                if twin is not None:
                    twin += value * overflow
            work = used[self.on_cps.parts].sum(axis=0)
            captured = work
            for name, demand in self.demands.items():
                if demand.regressor == WORK:
                    extra = scenario.extra.get(name, 0.0) * unit_cost
                    used_by[name] = np.maximum(self._by_work(name, work / cost) * cost + extra, 0.0)
                    if demand.additive and demand.engine == "cp":
                        captured = captured + used_by[name]
            for name, demand in self.demands.items():
                if demand.regressor in (CAPTURED, CAPTURED_BUT_ZIIP):
                    driving = captured if demand.regressor == CAPTURED else captured - ziip_work * overflow
                    used_by[name] = np.maximum(self._by_work(name, driving / cost) * cost + anchored * cost, 0.0)
            before, busy = busy, sum((used_by[name] for name in self.busy_components), np.zeros(shape))
            with np.errstate(invalid="ignore"):
                if iterations == 1 or (np.abs(busy - before) <= TOLERANCE * busy).all():
                    break
        anchor = scenario.anchor
        if anchor is not None and self.baselines.get("") == PROPORTIONAL and np.any(anchor.work > 0):
            # Work beyond the transactions is in proportion to them.
            wanted = anchor.engines * work / np.maximum(anchor.work, 1e-12)
            used_by["uncaptured"] = np.maximum(used_by["uncaptured"] + wanted - busy, 0.0)
            busy = sum((used_by[name] for name in self.busy_components), np.zeros(shape))
        return Usage(used_by, busy, dict(zip(self.on_ziips.names, on_ziips, strict=True)), ziip_work, overflow, work)

    def _utilization(self, scenario: Scenario, busy: Array) -> Array:
        """Utilization on which the cost of work hangs: of the engines of the machine, or, without one, of the LPAR."""
        share = self.partition.busy(scenario, busy)
        return busy / scenario.engines if share is None else np.minimum(share, 1.0)

    def _alone(self, scenario: Scenario) -> Array:
        """Engines in use by classes at their rates, (series, draws, loads): as recorded, and as the demands have it for
        what has changed since."""
        if self.class_demands is None:
            return np.zeros((0, self.draws, scenario.rates.shape[1]))
        rates = np.array([self.class_rate(scenario, self.demands[name].regressor) for name in self.class_series])
        used = self.class_demands.usage(rates)
        anchor = scenario.anchor
        if anchor is not None:
            for i, name in enumerate(self.class_series):
                before = self.class_rate(replace(scenario, rates=anchor.rates), self.demands[name].regressor)
                with np.errstate(divide="ignore", invalid="ignore"):
                    change = np.where((before > 0) & (rates[i] > 0), rates[i] / np.where(before > 0, before, 1.0), 1.0)
                error = DEMAND_SD * self.scores(DEMAND_SEED + i)[:, None]
                used[i] *= anchor.usage.get(name, 1.0) * change**error
        used[self.on_ziips.rows] *= np.asarray(scenario.ziip_cost, float).reshape(-1, 1)
        return used

    def _by_work(self, name: str, work: Array) -> Array:
        """Engines in use by a series that depends on the work of others, (draws, loads)."""
        return np.asarray(self.work_demands[name].usage(work[None])[0])

    def engine(self, name: str) -> str:
        """Kind of engine of a series; empty where there is no such series."""
        demand = self.demands.get(name)
        return "" if demand is None else demand.engine

    def free_cps(self, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Probability that a CP is free for eligible work, behind what is no less important than it."""
        eligible = (one.priority for one in self.demands.values() if one.engine == "ziip" and one.additive)
        least = max(eligible, default=0)
        before = (usage[n] for n in self.busy_components if n in usage and self.demands[n].priority <= least)
        return 1.0 - erlang_c(sum(before, np.zeros((self.draws, 1))), self.partition.available(scenario))

    def blocks(self, loads: int) -> list[NDArray[np.intp]]:
        """The numbers of so many loads, in blocks that the processor's cache has room for."""
        values = loads * self.draws * max(len(self.responses), len(self.demands))
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

    def _ziip_busy(self, scenario: Scenario, used: Usage) -> Array | None:
        """Busy zIIP cores, (draws, loads); None where there are none."""
        if ZIIP_WORK not in self.demands:
            return None
        work = used.ziip_work * (1.0 - used.overflow)
        busy = self._by_work(ZIIP_WORK, work)
        if scenario.anchor is not None:
            change = np.log(np.maximum(busy, 1e-9) / np.maximum(scenario.anchor.ziip_modelled, 1e-9))
            error = ZIIP_SD * self.scores(ZIIP_SEED)[:, None]
            busy = scenario.anchor.ziip_busy * np.exp(change * (1.0 + error))
        return np.asarray(busy)

    def _pool(self, scenario: Scenario, load: Array) -> Array:
        """Engines of a dedicated pool in which work waits as long, (levels, draws, loads)."""
        pool = np.stack([self.partition.pool(scenario, one) for one in load])
        machine = self.partition.cpc(scenario)
        sd = CAPACITY_SD if machine is not None and machine.others else CAPACITY_SD / 3.0
        error = 1.0 + sd * self.scores(CAPACITY_SEED)[:, None]
        return np.maximum((scenario.engines - self.pool_deficit * (scenario.engines - pool)) * error, 1e-3)

    def waiting_share(self, state: State, one: ResponseModel) -> Array:
        """(draws, loads) part of a response that is waiting for engines and limits."""
        key = one.key
        each = (wait for name, wait in state.waiting_ms[key].items() if name != "other")
        waits = sum(each, np.zeros(state.busy.shape))
        with np.errstate(invalid="ignore"):
            return np.clip(np.nan_to_num(waits / state.response_ms[key], nan=1.0), 0.0, 1.0)

    def delays(self, scenario: Scenario, used: Usage) -> tuple[Delays, Delays | None, Array]:
        """Delays of every level for CPs and zIIPs, (levels, draws, loads), and by logical CPs not dispatched."""
        shape = (len(self.levels), *used.busy.shape)
        load, moment, on_ziips, ziip_moment = (np.zeros(shape) for _ in range(4))
        places = {level: i for i, level in enumerate(self.levels)}
        for name in self.busy_components:
            demand = self.demands[name]
            load[places[demand.priority]] += used.by_series[name]
            if demand.regressor in self.class_index:
                rate = np.maximum(self.class_rate(scenario, demand.regressor), 1e-12)
                moment[places[demand.priority]] += 1e3 * used.by_series[name] ** 2 / rate
        for name in used.eligible:
            demand = self.demands[name]
            if demand.additive and demand.regressor in self.class_index:
                at, rate = places[demand.priority], np.maximum(self.class_rate(scenario, demand.regressor), 1e-12)
                on_ziips[at] += used.by_series[name]
                ziip_moment[at] += 1e3 * used.by_series[name] ** 2 / rate
        pool = self._pool(scenario, np.cumsum(load, axis=0))
        # Of a pool that may have more than the engines, all are logical CPs.
        logical = np.maximum(pool[-1], scenario.engines)
        machine = undispatched(load.sum(axis=0), pool[-1], logical)
        by_cp = delays_on_logical_cps(load, logical, moment, machine)
        by_ziip = None
        if on_ziips.any() and scenario.ziips > 0:
            by_ziip = delays(on_ziips, ziip_servers(self.ziip_pool, scenario), ziip_moment)
        return by_cp, by_ziip, machine

    def _with_responses(self, state: State, used: Usage) -> State:
        """The state with responses, what they are made of, and limits."""
        scenario, anchor = state.scenario, state.scenario.anchor
        by_cp, by_ziip, machine = self.delays(scenario, used)
        places = {level: i for i, level in enumerate(self.levels)}
        using: dict[Key, Array] = {}
        waiting: dict[Key, dict[str, Array]] = {}
        rests: dict[Key, Array] = {}
        rates: dict[str, Array] = {}
        for one in self.responses:
            key = one.key
            rate = np.maximum(self.class_rate(scenario, one.class_name), 1e-12)
            service = 1e3 * sum((used.by_series[n] for n in one.series), np.zeros(used.busy.shape)) / rate
            at = places[min((self.demands[n].priority for n in one.series), default=0)]
            short, long, foreign = one.short[:, None], one.long[:, None], one.machine[:, None]
            delay = _times(short * service, by_cp.short[at]) + long * by_cp.longer[at] * by_cp.size[at]
            delay = delay + _times(foreign * service, machine)
            ziip = 1e3 * sum((used.by_series[n] for n in one.ziip_series), np.zeros(used.busy.shape)) / rate
            ziip_delay = np.zeros(used.busy.shape)
            if by_ziip is not None and one.ziip_series:
                queue = by_ziip.short[at] + by_ziip.longer[at]
                ziip_delay = _times(one.ziip_queue[:, None] * ziip, queue)
            using[key] = service + ziip + np.minimum(one.rest_ms, 0.0)[:, None]
            growth = (by_cp.short[at] + 1.0) / one.measured_slowdown - 1.0
            rest = one.rest_ms[:, None] * (1.0 + _times(one.load[:, None], growth))
            rests[key] = np.maximum(rest + one.growing_ms[:, None] * used.busy / self.engines, 0.0)
            waiting[key] = {"cp": delay, "ziip": ziip_delay}
            rates[one.class_name] = rate
        limits = self._limits(scenario, using, waiting, rates)
        response: dict[Key, Array] = {}
        p90: dict[Key, Array] = {}
        for i, one in enumerate(self.responses):
            key = one.key
            waits = sum(waiting[key].values(), np.zeros(used.busy.shape))
            modelled = np.maximum(using[key], 0.0) + waits + rests[key]
            modelled = np.where(np.isfinite(modelled), modelled, np.inf)
            if one.class_name in self.baselines:
                modelled = self._by_baseline(one, modelled, using[key], used, scenario)
            response[key] = self._anchored(scenario, one, key, modelled, waits, i)
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

    def _anchored(
        self, scenario: Scenario, one: ResponseModel, key: Key, modelled: Array, waits: Array, i: int
    ) -> Array:
        """The response: what was recorded times what the model makes of the change; the model's without a record."""
        deviating = np.where(one.noise < 0.0, 1.0 / (1.0 - one.noise), 1.0 + one.noise)[:, None]
        anchor = scenario.anchor
        if anchor is None or key not in anchor.response:
            error = np.exp(one.interval_sd * self.scores(RECORD_SEED + i))[:, None]
            unrecorded = anchor is not None and bool(anchor.response)
            return np.asarray(modelled * deviating * (error if unrecorded else 1.0))
        sd = np.hypot(one.change_sd, SERVERS_SD) if self._servers_changed(scenario) else one.change_sd
        error = sd * self.scores(RESPONSE_SEED + i)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            before, more = anchor.modelled_ms[key], anchor.waits[key]
            change = np.log(np.maximum(modelled + (more - 1.0) * waits, 1e-9) / np.maximum(before, 1e-9))
            log_change = np.where(np.isfinite(change), change * np.maximum(1.0 + error, 0.0), np.inf)
            response = anchor.response[key] * np.exp(log_change)
        return np.asarray(np.where(np.isfinite(modelled), response, np.inf))

    def _by_baseline(self, one: ResponseModel, modelled: Array, using: Array, used: Usage, scenario: Scenario) -> Array:
        """The response of a class whose changes a baseline predicts more closely: constant, or as of M/M/c; without end
        where the model has no steady state."""
        usual = self.baselines[one.class_name] == USUAL
        slow = np.ones(using.shape) if usual else slowdown(used.busy, scenario.engines)
        return np.where(np.isfinite(modelled), one.usual_ms + using * (slow - 1.0), np.inf)

    def _servers_changed(self, scenario: Scenario) -> bool:
        """Whether a scenario has other engines, zIIPs or shares of the machine than were recorded."""
        engines = scenario.cpc is not None or scenario.engines != self.engines
        return engines or ziips_changed(self.ziip_pool, scenario)

    def level(self, series: Sequence[str]) -> int:
        """Priority level of the work of some series, 0 the highest."""
        return min((self.demands[name].priority for name in series), default=0)

    def _limits(
        self,
        scenario: Scenario,
        using: Mapping[Key, Array],
        waiting: Mapping[Key, dict[str, Array]],
        rates: Mapping[str, Array],
    ) -> dict[str, Array]:
        """Adds the waits for limits to the responses of members; the utilization of each limit, (draws, loads)."""
        keys = {self.class_index[name]: (metric, name) for metric, name in using if name in self.class_index}
        used: dict[str, Array] = {}
        for limit in (one for one in self.limits if one.holds_back(scenario.limits)):
            numbers = [self.class_index[name] for name in limit.members]
            members = [n for n in numbers if n in keys]
            if not members:
                continue
            rate = scenario.rates[:, :, numbers].sum(axis=2)
            hold = limit.hold_s[:, None] * np.ones(rate.shape)
            if not limit.reached:
                # Nobody waited: it is taken for the whole residence time.
                inside = sum(rates[keys[n][1]] * (using[keys[n]] + waiting[keys[n]]["cp"]) for n in members)
                hold = 1e-3 * inside / np.maximum(rate, 1e-12)
            elif limit.on_engines:
                busy = sum(rates[keys[n][1]] * using[keys[n]] for n in members)
                delay = sum(rates[keys[n][1]] * waiting[keys[n]]["cp"] for n in members)
                with np.errstate(invalid="ignore"):
                    stretch = 1.0 + np.nan_to_num(delay / np.maximum(busy, 1e-12), nan=0.0, posinf=0.0)
                hold = hold * stretch
            places = limit.places(scenario.limits)
            if limit.reached and not limit.determined:
                # What the records do not tell may make work wait, and is never taken to be full.
                most = UNDETERMINED * places * limit.queues[:, None] / np.maximum(rate, 1e-12)
                hold = np.minimum(hold, most)
            wait = limit.variability[:, None] * limit_wait(rate, hold, places, limit.queues[:, None])
            used[limit.name] = rate * hold / (places * limit.queues[:, None])
            for n in members:
                weight = limit.weights[numbers.index(n)] if limit.weights else 1.0
                waiting[keys[n]][limit.resource] = _times(np.asarray(1e3 * weight), wait)
        return used


def _times(factor: Array, delay: Array) -> Array:
    """The product; nothing of a delay without end is nothing."""
    return np.where(factor == 0.0, 0.0, np.where(factor == 0.0, 1.0, factor) * delay)
