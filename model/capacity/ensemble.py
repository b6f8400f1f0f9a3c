"""A calibrated system as arrays: one network for each draw of its parameters, evaluated for all draws at once.

Arrays have the draws first and the loads second, ``(draws, loads)``; transaction classes, called streams here, come
last. Draw 0 is the centre of the posterior: values are its, limits are quantiles over the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity import queues
from model.capacity.bursts import Bursts, Moment
from model.capacity.derived import derived
from model.capacity.let_through import let_through
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
    Responses,
    Scenario,
    State,
    beyond,
    deviates,
)
from model.capacity.sharing import Sharer, Sharing
from model.capacity.users import settled
from model.capacity.ziips import ZiipPool

Array = NDArray[np.float64]

# Turns at most of the loop between cost and busy, and between zIIP load and what overflows; change of busy, as a part
# of it, that is the last to be followed. Each turn leaves a hundredth of it, so that the next would change nothing.
TURNS, SETTLED = 6, 1e-6
# How far, relatively, what other LPARs take from moment to moment may be from that of pieces as long as the own: for
# what an LPAR can get, and for how long its work waits, which goes with the length of their pieces.
TAKEN, MET = 0.1, 0.3
# Others that are kept; a question is about one or two.
KEPT_BESIDE = 8
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


class Beside(NamedTuple):
    """The other LPARs as asked for, the sharing, and engines: what they use, what they leave the LPAR, as much for its
    work that waits, and what they would leave if they used as much at every moment; each (draws, loads or 1)."""

    asked: Array | float
    sharing: Sharing | None
    used: Array
    available: Array
    met: Array
    steadily: Array


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
        nothing = {"centre": 0.0, "draws": []}
        self.others_noise = self._drawn(entry.get("others_noise", nothing))
        self.others_pieces = self._drawn(entry.get("others_pieces", nothing))[:, None]
        self.others_growth = self._drawn(entry.get("others_growth_per_week", {"centre": 0.0, "draws": []}))
        sure = [{"centre": 0.0, "draws": []}] * len(self.streams)
        self.thinking_noise = np.stack([self._drawn(one) for one in entry.get("thinking_noise", sure)], axis=1)
        self.work_scatter = np.array(entry.get("work_scatter", [0.0] * len(self.streams)), float)
        machine = entry.get("on_machine")
        self.machine = None
        if machine:
            sharers = tuple(Sharer(**one) for one in machine.get("others", ()))
            self.machine = Machine(**{**machine, "others": sharers})
        self.responses = tuple(self._response(law) for law in entry["response"].values())
        self.of_responses = Responses(self.responses, self.draws)
        self.limits = tuple(self._limit(limit) for limit in entry.get("limits", ()))
        self._besides: dict[tuple[Any, ...], Beside] = {}
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
            value for name, value in scenario.extra.items() if self._engine(name) == "ziip"
        )
        dear, busy, spilled = cost, np.zeros(shape), np.zeros(shape)
        found = dict(zip(self.on_cps.names, on_cps, strict=True))
        turns = TURNS if self.dearer or self.ziip_pool.overflow else 1
        for _ in range(turns):
            if self.ziips:
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

    def _engine(self, name: str) -> str:
        law = self.laws.get(name)
        return "" if law is None else law.engine

    def waited_for_cps(self, usage: Mapping[str, Array], scenario: Scenario) -> Array:
        """Part of the classes' work with zIIP time that waits for CPs: behind what is no less important than it."""
        least = max((law.level for law in self.laws.values() if law.engine == "ziip" and law.part), default=0)
        before = (usage[n] for n in self.capacity if n in usage and self.laws[n].level <= least)
        return queues.erlang_c(sum(before, np.zeros((self.draws, 1))), scenario.engines)

    def beside(self, scenario: Scenario) -> Beside:
        """What the other LPARs use and leave: about as recorded, under another weight if asked. Rates do not change it,
        so that the same others are looked at once."""
        held = scenario.share, scenario.capped, scenario.cap_engines
        key = id(scenario.others), scenario.machine_engines, scenario.engines, *held
        known = self._besides.get(key)
        if known is not None and known.asked is scenario.others:
            return known
        sharing = self.sharing(scenario)
        used = np.asarray(scenario.others, float) * (1.0 + self.others_noise[:, None])
        left = met = steadily = np.array([[scenario.engines]])
        if sharing is not None:
            used = used if scenario.share is None else sharing.used(used)
            left, met = (sharing.limit(used, sd * self.others_pieces) for sd in (TAKEN, MET))
            steadily = sharing.steadily_left(used)
        found = self._besides[key] = Beside(scenario.others, sharing, used, left, met, steadily)
        if len(self._besides) > KEPT_BESIDE:
            del self._besides[next(iter(self._besides))]
        return found

    def sharing(self, scenario: Scenario) -> Sharing | None:
        """The LPAR among the others of its machine; None where it shares none."""
        m = self.machine
        if m is None:
            return None
        asked = scenario.machine_engines, scenario.share, scenario.capped, scenario.cap_engines, scenario.engines
        return derived(self.entry, ("sharing", *asked), lambda: self._sharing(m, scenario))

    def _sharing(self, m: Machine, scenario: Scenario) -> Sharing:
        """As :meth:`sharing`, where the machine is this one."""
        physical = scenario.machine_engines or m.engines
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
        shape, got = (self.draws, scenario.rates.shape[1]), self.beside(scenario).available
        return got if got.shape == shape else np.full(shape, got)

    def machine_busy(self, scenario: Scenario, busy: Array) -> Array | None:
        """Part of the machine in use beside so many engines of the LPAR, (draws, loads); None where it shares none."""
        if self.machine is None:
            return None
        physical = self.machine.engines if scenario.machine_engines is None else scenario.machine_engines
        return np.asarray((busy + self.beside(scenario).used + self.machine.management) / physical)

    def _pool(self, scenario: Scenario, used: Array) -> Array:
        """Engines of a pool of its own in which the LPAR's work waits as long as on its machine, (draws, loads)."""
        beside = self.beside(scenario)
        if beside.sharing is None:
            return self.available(scenario)
        return beside.sharing.pool(used, beside.used, beside.met)

    def evaluate(self, scenario: Scenario, *, responses: bool = True) -> State:
        """Usage and busy at a scenario, users sending as often as they get answers, with responses and limits or
        without."""
        known = scenario if scenario.users is None else settled(self.at_rates, self, scenario)
        at_rates = partial(self.at_rates, responses=responses)
        return let_through(at_rates, self, at_rates(known))

    # Where a stretch is infinite, a draw in which nothing answers to it gives no number, and is set to infinite below.
    @np.errstate(invalid="ignore", divide="ignore")
    def at_rates(self, scenario: Scenario, *, responses: bool = True) -> State:
        """As :meth:`evaluate`, every class at the rate of the scenario."""
        used = self.usage(scenario)
        usage, busy = used.by_series, used.busy
        ziip_busy, ziip_stretch = self._on_ziips(scenario, used)
        available = self.available(scenario)
        machine_busy = self.machine_busy(scenario, busy)
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
            return _stacked(busy.shape, *values)

        def used_by(series: Sequence[str]) -> Array:
            return sum((usage[name] for name in series), np.zeros(busy.shape))

        rate = of_each(self.stream(scenario, one.stream) for one in self.responses)
        rate = np.maximum(rate, 1e-12)
        used = of_each(used_by(one.series) for one in self.responses)
        service = 1e3 * used / rate
        always = Moment(scenario, usage, busy, None)
        level, *_, offered, pool = stretched = self._stretched(always)
        queued = self._queued(always, stretched, service)
        if self.bursts is not None:
            parts = np.array([self.bursts.parts(self.numbers.get(one.stream)) for one in self.responses])
            each = (self._queued(one, self._stretched(one), service) for one in self.moments(always))
            in_bursts = sum(parts[:, i] * one for i, one in enumerate(each))
            queued = np.where(np.isfinite(queued), in_bursts, queued)
        if scenario.longer is not None:
            one = np.ones(busy.shape)
            numbers = (self.numbers.get(response.stream) for response in self.responses)
            queued = queued * of_each(one if n is None else scenario.longer[:, :, n] for n in numbers)
        answered = laws.rest_ms * (1.0 + laws.load * (level / laws.measured_stretch - 1.0))
        ziip, ziip_wait = np.zeros((2, *rate.shape))
        if laws.on_ziips.any():
            ziip = 1e3 * of_each(used_by(one.ziip_series) for one in self.responses) / rate
        if ziip_stretch is not None:
            factor = laws.ziip_factor
            if self.ziip_pool.changed(scenario):
                factor = 1.0 + (factor - 1.0) * self.carried[:, None]
            ziip_wait = np.where(laws.on_ziips, factor * ziip * (ziip_stretch - 1.0), 0.0)
        total = service + queued + answered + ziip + ziip_wait
        response = np.where(np.isfinite(total), total, np.inf)
        waiting = {"cp": queued, "ziip": ziip_wait, "other": np.maximum(answered, 0.0)}
        # A response that is shorter than its CPU time by a part of it is of work that runs in parallel.
        using = np.maximum(service + ziip + np.minimum(laws.rest_ms, 0.0), 0.0)
        return Times(laws.keys, rate, used, offered, pool, response, using, waiting)

    def _stretched(self, moment: Moment) -> Array:
        """What waits of each response, (5, responses, draws, loads), as :meth:`stretches` has it by level."""
        places, found = self.stretches(moment)
        return found[:, [places[self.level(one.series)] for one in self.responses]]

    def _queued(self, moment: Moment, stretched: Array, service: Array) -> Array:
        """Waits for engines in ms at one load, (responses, draws, loads), from what waits of each."""
        laws, (level, longer, ahead, offered, pool) = self.of_responses, stretched
        if self.to_its_end:
            idle, full = queues.leaning(offered, pool)
            more = laws.factor * idle + laws.behind * full
            return np.asarray(1e3 * self._mean_size(moment.scenario, moment.usage) * (level - 1.0) * more)
        crowded = laws.behind + laws.crowded * np.minimum(offered / pool, 1.0)
        behind = np.where(np.isnan(ahead), service, ahead) * crowded * longer
        return np.asarray(service * laws.factor * (level - 1.0) + behind)

    def moments(self, always: Moment) -> list[Moment]:
        """The loads that engines see one after the other: while bursts last, and between them."""
        if self.bursts is None:
            return [always]
        loads = [(one, self.usage(one)) for one in self.bursts.scenarios(always.scenario)]
        lasting_s = self.bursts.lasting_s[:, None]
        return [Moment(one, used.by_series, used.busy, lasting_s) for one, used in loads]

    def _deviating(self, scenario: Scenario, times: Times) -> dict[tuple[str, str], Array]:
        """Let responses deviate as they were seen to; their 90th percentiles, by metric and class."""
        laws = self.of_responses
        waited = sum((wait for name, wait in times.waiting.items() if name != "other"), np.zeros(times.response.shape))
        # Waiting beyond the longest that was measured, the more the further out it is; on another number of engines,
        # where none was measured, at least all of it that is for engines.
        past, further = np.maximum(waited - laws.longest_wait_ms, 0.0), beyond(waited, laws.longest_wait_ms)
        changed = {"cp": scenario.engines != self.engines, "ziip": self.ziip_pool.changed(scenario)}
        unmeasured = sum((times.waiting[name] for name, other in changed.items() if other), np.zeros(past.shape))
        past, further = (np.maximum(one, unmeasured) for one in (past, further))
        longer = laws.drift * further
        # What waits are shorter by is a part of them, however far out.
        longer = np.where(longer < 0.0, longer / (1.0 - longer / np.maximum(past, 1e-300)), longer)
        longer = np.where(np.isfinite(longer), longer, 0.0)
        times.response = np.maximum(times.response * (1.0 + laws.noise) + longer, times.using)
        known = list(laws.with_p90)
        if not known:
            return {}
        share = np.clip(waited[known] / times.response[known], 0.0, 1.0)
        share = np.where(np.isnan(share), 0.0, share)
        ratio = laws.p90[known] * (1.0 - share) + laws.p90_waiting[known] * share
        bent = times.response[known] * (ratio - laws.p90_bend[known] * share * (1.0 - share))
        return {times.keys[i]: values for i, values in zip(known, bent, strict=True)}

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

    @cached_property
    def levels_of_streams(self) -> tuple[int, ...]:
        """Priority level of the work of each stream on CPs, 0 the highest, and of those without."""
        own = {law.driver: name for name, law in self.laws.items() if law.part and law.engine == "cp"}
        return tuple(self.level([own[name]] if name in own else ()) for name in self.streams)

    def level(self, series: Sequence[str]) -> int:
        """Priority level of the work of some series, 0 the highest."""
        return min((self.laws[name].level for name in series), default=0)

    def stretches(self, moment: Moment) -> tuple[dict[int, int], Array]:
        """What waits at each priority level, (5, levels, draws, loads), with the place of each level in it.

        Stretch of work behind short pieces, and what long ones add; in draws without priorities one for all, and
        nothing. With it the mean CPU time of what is more important, in ms (not a number without priorities), the work
        that shares the engines, and the engines.
        """
        scenario, usage, busy, lasting_s = moment
        whole = self._pool(scenario, busy)
        if lasting_s is not None:
            services = lasting_s / np.maximum(self._mean_size(scenario, usage), 1e-12)
            busy = queues.building_up(busy, whole, services)
        users = self._elsewhere(scenario)
        left = together = np.ones(busy.shape)
        if self.in_line or not self.all_ranked:
            left = queues.held_off(busy, whole, self._fading(users, usage, list(users), busy))
            together = queues.shortened(queues.stretch(busy, whole), left)
        if not self.in_line and not self.some_ranked:
            return {law.level: 0 for law in self.laws.values()}, _stacked(
                (1, *busy.shape), together, 0.0, np.nan, busy, whole
            )
        usage = usage if lasting_s is not None else self.done(scenario, usage, busy, whole)
        levels = sorted({law.level for law in self.laws.values() if law.engine == "cp"})
        here = [[n for n in self.capacity if n in usage and self.laws[n].level == level] for level in levels]
        own = _stacked(busy.shape, *(sum((usage[n] for n in names), np.zeros(busy.shape)) for names in here))
        until = np.cumsum(own, axis=0)
        pool = np.minimum(whole, self._pool(scenario, until))
        if lasting_s is not None:
            until = queues.building_up(until, pool, services)
            own = np.diff(until, axis=0, prepend=0.0)
        above = until - own
        places = {level: i for i, level in enumerate(levels)}
        if self.in_line:
            in_line = queues.shortened(queues.stretch_in_line(own, whole, above, busy), left)
            return places, _stacked(own.shape, in_line, 0.0, np.nan, busy, whole)
        fading = _stacked(busy.shape, *(self._fading(users, usage, names, own[i]) for i, names in enumerate(here)))
        short, longer = queues.by_importance(own, pool, above, fading)
        sizes = (self._mean_size(scenario, usage, level, above[i]) for i, level in enumerate(levels))
        ahead = 1e3 * _stacked(busy.shape, *sizes)
        ranked = self.priorities[:, None]
        in_draws_without = (together, 0.0, np.nan, busy, whole)
        return places, np.where(
            ranked, _stacked(own.shape, short, longer, ahead, until, pool), _stacked(own.shape, *in_draws_without)
        )

    def done(self, scenario: Scenario, usage: Mapping[str, Array], busy: Array, pool: Array) -> Mapping[str, Array]:
        """The usage, with no more uncaptured time than comes with the work that so many engines do: the least important
        work, which is not done, drives none."""
        over = busy > pool
        if not over.any():
            return usage
        cost = np.asarray(scenario.cost, float).reshape(-1, 1)
        driven = [n for n in self.capacity if self.laws[n].driver in (CAPTURED, CAPTURED_BUT_ZIIP) and n in usage]
        fixed = {name: self.laws[name].usage(np.zeros(busy.shape)) * cost for name in driven}
        always = sum(fixed.values(), np.zeros(busy.shape))
        part = np.clip((pool - always) / np.maximum(busy - always, 1e-12), 0.0, 1.0)
        least = {name: np.where(over, fixed[name] + part * (usage[name] - fixed[name]), usage[name]) for name in driven}
        return {**usage, **least}

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
            numbers = [self.numbers.get(stream) for _, stream in times.keys]
            members = {i: n for i, n in enumerate(numbers) if n is not None and n in limit.members}
            coming = sum((self.stream(scenario, self.streams[i]) for i in limit.members), np.zeros((self.draws, 1)))
            times.hold_back(limit, members, coming, scenario)


def _stacked(shape: tuple[int, ...], *values: Array | float) -> Array:
    """Values that broadcast to this shape, one behind the other."""
    found = np.empty((len(values), *shape))
    for place, value in zip(found, values, strict=True):
        place[...] = value
    return found
