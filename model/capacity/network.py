"""A calibrated system at one load as a network description, for the solvers and the simulator.

It is the network of the posterior's centre. Its queues are those that the ensemble evaluates: engines shared within a
priority, zIIPs with SMT and overflow, limits, the machine. What calibration found beyond them is each class's time
elsewhere, at this load.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from model.capacity import engine_waits, queues
from model.capacity.asked import compiled, understood
from model.capacity.bursts import Moment
from model.capacity.ensemble import System
from model.capacity.loads import Load
from model.capacity.parts import CAPTURED, CAPTURED_BUT_ZIIP, WORK, Limit, State
from model.capacity.questions import QuestionError, system_entry
from model.capacity.sharing import Sharer
from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Arrivals,
    Cec,
    LparShare,
    Overflow,
    Release,
    Resource,
    Scheduling,
    Smt,
    Station,
    Step,
    TransactionClass,
    Visit,
)

CP, ZIIP, ELSEWHERE, PHYSICAL = "cp", "ziip", "elsewhere", "PHYSICAL"
HIGHEST = 6
# Weights of the LPARs add up to this; PHYSICAL goes before all of them.
WEIGHTS, FIRST = 1e3, 1e9
# Seconds of a transaction on an engine that are none.
NO_WORK_S = 1e-9
# Time elsewhere that varies less than this is taken not to vary: an Erlang of many phases costs without showing.
LEAST_SCV = 0.03
Z90 = 1.2815515655446004


@dataclass(frozen=True)
class Described:
    """The network of a question, with the system, the load and the state of the ensemble it was made from.

    ``response`` names for each class of the network the metric whose time it has; ``piece_s`` is the CPU time of one
    arrival of work without transactions.
    """

    network: Network
    ready: System
    load: Load
    state: State
    response: Mapping[str, str]
    piece_s: float


def described(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Described:
    """The network of a system at a load.

    Raises:
        QuestionError: unknown system or key, a value out of its domain, or a load that has no steady state.
    """
    entry = system_entry(bundle, system)
    ready = compiled(entry, at)
    load = understood(ready, at)
    return describe(ready, load, f"{system}", f"{bundle['model_version']}, {system} at {_asked(load)}")


def describe(ready: System, load: Load, name: str, source: str) -> Described:
    """As :func:`described`, of a system and load that are understood already."""
    state = ready.evaluate(load.scenario)
    # A load asked as 100 % busy may miss it by the rounding of its rate.
    if state.busy[0, 0] >= state.available[0, 0] * (1.0 - 1e-9):
        raise QuestionError("at", load.at, "at: the engines are saturated at this load: it has no steady state")
    full = [name for name, used in state.limits.items() if used[0, 0] >= 1.0]
    if full:
        raise QuestionError("at", load.at, f"at: limit {full[0]} is exceeded at this load: it has no steady state")
    return _Description(ready, load, state, name, source).made()


class _Description:
    """The parts of the network, at the centre of the posterior."""

    def __init__(self, ready: System, load: Load, state: State, name: str, source: str) -> None:
        self.ready, self.load, self.state, self.name, self.source = ready, load, state, name, source
        self.scenario = state.scenario
        rates = self.scenario.rates[0, 0]
        self.rates = {stream: float(rates[i]) for i, stream in enumerate(ready.streams) if rates[i] > 0}
        self.usage = {name: float(used[0, 0]) for name, used in state.usage.items()}
        self.ranked = bool(ready.priorities[0]) or ready.in_line
        captured = sum(self._cp_s(stream) * rate for stream, rate in self.rates.items())
        self.piece_s = captured / max(sum(self.rates.values()), 1e-12) or 1e-3
        self.spilled, self.direct = self._overflow()
        self.zipped = bool(ready.ziips) and self.scenario.ziips > 0

    def made(self) -> Described:
        classes, resources, named = [], [], {}
        for stream in self.rates:
            response = self._longest(stream)
            if response is not None:
                named[stream] = response
            classes.append(self._transactions(stream, response))
        for limit in self._limits():
            places = float(np.asarray(self.scenario.limits.get(limit.name, limit.servers[0])).reshape(-1)[0])
            resources.append(Resource(name=limit.name, kind="limit", capacity=max(round(places), 1)))
            others = float(np.asarray(self.scenario.extra.get(limit.beside, 0.0)).reshape(-1)[0])
            if others > 0:
                classes.append(self._others_at(limit, others * places))
        for name in self.ready.capacity:
            law = self.ready.laws[name]
            if law.driver in (WORK, CAPTURED, CAPTURED_BUT_ZIIP) and self.usage[name] > 0:
                classes.append(self._pieces(name, self.usage[name], CP, self._priority(law.level)))
        share, beside = self._machine()
        classes += [self._pieces(pool.name, used, pool.name, 0) for pool, used in beside]
        network = Network(
            name=self.name,
            source=self.source,
            stations=self._stations(share, [pool for pool, _ in beside]),
            cecs=(Cec(name=share.cec, engines=self._physical()),) if share else (),
            resources=tuple(resources),
            classes=tuple(classes),
        )
        return Described(network, self.ready, self.load, self.state, named, self.piece_s)

    def _series(self, stream: str, engine: str) -> list[str]:
        """Series of the stream's own work on an engine, counted once."""
        laws = self.ready.laws
        if engine == ZIIP:
            return [n for n, law in laws.items() if law.engine == ZIIP and law.driver == stream]
        return [n for n in self.ready.capacity if laws[n].driver == stream]

    def _cp_s(self, stream: str) -> float:
        """CPU seconds of one transaction on CPs, those of overflowing zIIP work among them."""
        return sum(self.usage[name] for name in self._series(stream, CP)) / self.rates[stream]

    def _ziip_s(self, stream: str) -> float:
        """Seconds of one transaction on zIIPs."""
        return sum(self.usage[name] for name in self._series(stream, ZIIP)) / self.rates[stream]

    def _overflow(self) -> tuple[float, float]:
        """Part of the zIIP work that runs on CPs, and part that goes there at once for the rest to overflow so."""
        ready, scenario = self.ready, self.scenario
        eligible = {
            name: float(ready.laws[name].usage(ready.stream(scenario, stream))[0, 0])
            * float(np.asarray(scenario.ziip_cost, float).reshape(-1)[0])
            for stream in self.rates
            for name in self._series(stream, ZIIP)
        }
        work = sum(eligible.values())
        if not work:
            return 0.0, 0.0
        spilled = 1.0 - sum(self.usage[name] for name in eligible) / work
        if not ready.ziip_pool.overflow or scenario.ziips <= 0:
            return spilled, 0.0
        (cores, threads, gains), waiting = ready.ziip_pool.asked(scenario), int(ready.ziip_pool.overflow["waiting"][0])
        gain = float(gains[0, 0])
        more = float(ready.ziip_pool.bunched(ready.waited_for_cps(self.state.usage, scenario))[0, 0])
        low, high = 0.0, spilled
        for _ in range(40):
            direct = (low + high) / 2.0
            there = work * (1.0 - direct)
            full = float(queues.bounded_pool(there, cores, gain, threads, (waiting, more), ready.ziip_pool.dense)[0])
            more = direct + (1.0 - direct) * full < spilled
            low, high = (direct, high) if more else (low, direct)
        return spilled, (low + high) / 2.0 if low > 0 else 0.0

    def _longest(self, stream: str) -> str | None:
        """The response metric that has the most time in it."""
        found = {metric: float(ms[0, 0]) for (metric, of), ms in self.state.response_ms.items() if of == stream}
        return max(found, key=lambda metric: found[metric]) if found else None

    def _transactions(self, stream: str, metric: str | None) -> TransactionClass:
        cp_s, ziip_s = self._cp_s(stream), self._ziip_s(stream)
        if self.zipped and self.spilled < 1.0:
            eligible_s = ziip_s / (1.0 - self.spilled)
            cp_s -= (self.spilled - self.direct) * eligible_s
            ziip_s = eligible_s * (1.0 - self.direct)
        else:
            ziip_s = 0.0
        engines: list[Step] = [
            Visit(station=station, service=Distribution.exponential(seconds))
            for station, seconds in ((CP, cp_s), (ZIIP, ziip_s))
            if seconds > NO_WORK_S
        ]
        law = self.ready.laws[self._series(stream, CP)[0]]
        route = engines if metric is None else self._route(stream, metric, engines)
        plain = TransactionClass(name=stream, route=tuple(route), priority=self._priority(law.level))
        rate, think_s = self.rates[stream], self._think_s(stream)
        if not think_s or metric is None:
            return replace(plain, arrivals=self._arrivals(stream))
        response_s = 1e-3 * float(self.state.response_ms[metric, stream][0, 0])
        users = max(round(rate * (think_s + response_s)), math.floor(rate * response_s) + 1)
        return replace(plain, users=users, think=Distribution.exponential(users / rate - response_s))

    def _think_s(self, stream: str) -> float:
        """How long users think between transactions; 0 where they come by themselves."""
        return 0.0 if self.scenario.think_s is None else float(self.scenario.think_s[0, 0, self.ready.numbers[stream]])

    def _route(self, stream: str, metric: str, engines: list[Step]) -> list[Step]:
        """The visits of a class with what its response has beside the engines, and the limits it is in."""
        key = (metric, stream)
        response_s = 1e-3 * float(self.state.response_ms[key][0, 0])
        on_engines_s, limited_s = self._queued_s(stream, metric)
        elsewhere_s = max(response_s - on_engines_s - limited_s, 0.0)
        inner, outer = self._limits_of(stream)
        if inner is None and not outer:
            spread = self._elsewhere_scv(key, response_s, elsewhere_s)
            return [*engines, *_delay(elsewhere_s, spread)]
        # What is held for all the time inside is in all as variable as the exponential time of the wait's formula.
        inside_s = elsewhere_s + on_engines_s
        spread = (inside_s**2 - on_engines_s**2) / max(elsewhere_s, 1e-12) ** 2
        before_s = min(max((-float(limit.hold_s[0]) for limit in outer), default=0.0), elsewhere_s)
        elsewhere_s -= max(before_s, 0.0)
        route = [*_delay(elsewhere_s, spread), *engines]
        if inner is not None:
            hold_s = float(inner.hold_s[0] * inner.held(self.ready.streams.index(stream))[0])
            route = _held(inner, hold_s, elsewhere_s, engines, on_engines_s)
        for limit in outer:
            route = [Acquire(resource=limit.name), *route, Release(resource=limit.name)]
        return [*_delay(before_s, 0.0), *route]

    def _limits(self) -> list[Limit]:
        """Those that hold back at this load."""
        return [limit for limit in self.ready.limits if limit.name in self.state.limits]

    def _others_at(self, limit: Limit, used: float) -> TransactionClass:
        """What other LPARs do on volumes, ``used`` of them, in pieces as long as a transaction of the own classes."""
        own = float(self.state.limits[limit.name][0, 0]) * float(limit.servers[0]) - used
        rate = sum(self.rates.get(self.ready.streams[member], 0.0) for member in limit.members)
        hold_s = own / rate if rate > 0 and own > 0 else 1e-3
        take, give = Acquire(resource=limit.name), Release(resource=limit.name)
        route = (take, *_delay(hold_s, 1.0), give)
        return TransactionClass(name=limit.beside, route=route, arrivals=Arrivals.poisson(used / hold_s))

    def _limits_of(self, stream: str) -> tuple[Limit | None, list[Limit]]:
        """The first limit a class holds for part of the time inside, and those it holds for all of it."""
        own = [limit for limit in self._limits() if self.ready.streams.index(stream) in limit.members]
        outer = [limit for limit in own if limit.of_inside[0] > 0]
        return next((limit for limit in own if limit not in outer), None), outer

    def _queued_s(self, stream: str, metric: str) -> tuple[float, float]:
        """Seconds on engines as the network's own queues stretch them, and seconds of waiting for its limits."""
        ready, state, key = self.ready, self.state, (metric, stream)
        cp_s, ziip_s = self._cp_s(stream), self._ziip_s(stream)
        level = min(ready.laws[name].level for name in self._series(stream, CP))
        stretch, longer = self._stretched(stream, level)
        if ready.in_line:
            found = cp_s + self._size_above(HIGHEST + 1) * (stretch - 1.0)
        else:
            found = cp_s * stretch + (self._size_above(level) * longer if self.ranked else 0.0)
        found = cp_s + (found - cp_s) * (float(state.eased[key][0, 0]) if key in state.eased else 1.0)
        law = next(one for one in ready.responses if (one.metric, one.stream) == key)
        waits = {name: 1e-3 * float(value[0, 0]) for name, value in state.waiting_ms[key].items()}
        factor = float(law.ziip_factor[0])
        found += ziip_s + (waits["ziip"] / factor if factor > 0 else 0.0)
        inner, outer = self._limits_of(stream)
        played = outer if inner is None else [inner, *outer]
        limited = 0.0
        for limit in played:
            own = float(limit.factor[0]) * limit.weight(ready.streams.index(stream))
            limited += waits[limit.name] / max(own, 1e-9)
        return found, limited

    def _stretched(self, stream: str, level: int) -> tuple[float, float]:
        """Stretch of a stream's work behind short pieces, and what long ones add."""
        ready = self.ready
        moments = engine_waits.moments(ready, Moment(self.scenario, self.state.usage, self.state.busy, None))
        parts = [1.0]
        if ready.bursts is not None:
            parts = [float(part[0, 0]) for part in ready.bursts.parts(ready.numbers.get(stream))]
        found = np.zeros(2)
        for part, moment in zip(parts, moments, strict=True):
            places, stretched = engine_waits.stretches(ready, moment)
            found += part * stretched[:2, places[level], 0, 0]
        return float(found[0]), float(found[1])

    def _arrivals(self, stream: str) -> Arrivals:
        """How an open stream comes: by chance, or in bursts."""
        bursts, rate = self.ready.bursts, self.rates[stream]
        if bursts is None or bursts.stream != self.ready.numbers.get(stream):
            return Arrivals.poisson(rate)
        on, lasting_s = float(bursts.on[0]), float(bursts.lasting_s[0])
        return Arrivals(
            interarrival=Distribution.exponential(on / rate),
            on=Distribution.exponential(lasting_s),
            off=Distribution.exponential(lasting_s * (1.0 - on) / on),
        )

    def _size_above(self, level: int) -> float:
        """Mean seconds of a piece of the work that goes before this level, weighted by its engines in use."""
        pieces = [(self._cp_s(s), self._cp_s(s) * rate, self._level(s)) for s, rate in self.rates.items()]
        for name in self.ready.capacity:
            law = self.ready.laws[name]
            if law.driver in (WORK, CAPTURED, CAPTURED_BUT_ZIIP):
                pieces.append((self.piece_s, self.usage[name], law.level))
        above = [(size, used) for size, used, own in pieces if own < level]
        engines = sum(used for _, used in above)
        return sum(size * used for size, used in above) / engines if engines > 0 else 0.0

    def _level(self, stream: str) -> int:
        return min(self.ready.laws[name].level for name in self._series(stream, CP))

    def _priority(self, level: int) -> int:
        return HIGHEST - level if self.ranked else 0

    def _elsewhere_scv(self, key: tuple[str, str], response_s: float, elsewhere_s: float) -> float:
        """Variation of the time elsewhere that gives the response its 90th percentile, as of a gamma distribution."""
        if key not in self.state.p90_ms or elsewhere_s <= 0:
            return 1.0
        ratio = 1e-3 * float(self.state.p90_ms[key][0, 0]) / response_s
        queued = response_s - elsewhere_s
        variance = gamma_scv(ratio) * response_s**2 - queued**2
        return max(variance, 0.0) / elsewhere_s**2

    def _pieces(self, name: str, engines: float, station: str, priority: int) -> TransactionClass:
        """Work without transactions, as arrivals of pieces as long as a transaction's CPU time."""
        visit = Visit(station=station, service=Distribution.exponential(self.piece_s))
        return TransactionClass(
            name=name, route=(visit,), arrivals=Arrivals.poisson(engines / self.piece_s), priority=priority
        )

    def _physical(self) -> float:
        machine = self.ready.machine
        assert machine is not None
        asked = self.scenario.machine_engines
        return machine.engines if asked is None else asked

    def _machine(self) -> tuple[LparShare | None, list[tuple[Station, float]]]:
        """The LPAR's share of its machine, and pool and engines in use of each beside it; None and none if alone."""
        machine, sharing = self.ready.machine, self.ready.partition.sharing(self.scenario)
        if machine is None or sharing is None:
            return None, []
        others = float(np.asarray(self.scenario.others, float).reshape(-1)[0])
        own, name = sharing.own, machine.name or "machine"
        held = own.engines < min(self.scenario.engines, self._physical())
        if others + machine.management <= 0 and not held and self._physical() >= self.scenario.engines:
            return None, []
        total = own.weight + sum(one.weight for one in sharing.others)

        def share(one: Sharer, held: bool) -> LparShare:
            return LparShare(
                cec=name, weight=max(WEIGHTS * one.weight / total, 1.0), cap=one.engines if held else "none"
            )

        def pool(name: str, engines: float, lpar: LparShare) -> Station:
            return Station(name=name, component=CP, servers=math.ceil(engines), scheduling="ps", lpar=lpar)

        beside = [
            (pool(one.name, one.engines, share(one, one.engines % 1.0 > 0)), others * one.part)
            for one in sharing.others
            if others > 0
        ]
        if machine.management > 0:
            first = LparShare(cec=name, weight=FIRST)
            beside.append((pool(PHYSICAL, self._physical(), first), machine.management))
        return share(own, held), beside

    def _stations(self, share: LparShare | None, found: list[Station]) -> tuple[Station, ...]:
        pool: Scheduling = "hol" if self.ready.in_line else "priority_ps" if self.ranked else "ps"
        engines = max(round(self.scenario.engines), 1)
        found.insert(0, Station(name=CP, component=CP, servers=engines, scheduling=pool, lpar=share))
        if self.zipped:
            found.append(self._ziip_station())
        found.append(Station(name=ELSEWHERE, component="delay", scheduling="delay"))
        return tuple(found)

    def _ziip_station(self) -> Station:
        pool = self.ready.ziip_pool
        cores, threads, gain = pool.asked(self.scenario)
        packing: Literal["dense", "spread"] = "dense" if pool.dense else "spread"
        smt = Smt(gain=min(max(float(gain[0, 0]), 1.0), 2.0), packing=packing) if threads > 1 else None
        overflow = Overflow(to=CP, waiting=int(pool.overflow["waiting"][0])) if pool.overflow else None
        return Station(
            name=ZIIP,
            component=ZIIP,
            servers=cores,
            scheduling="ps",
            smt=smt,
            overflow=overflow,
            source=f"gain of the second thread as calibrated: {self.source}" if smt else "",
        )


def gamma_scv(ratio: float) -> float:
    """Squared coefficient of variation of the gamma distribution whose 90th percentile is ``ratio`` means, at most 1.

    By Wilson and Hilferty's approximation (PNAS 17, 1931) of its quantiles.
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        scv = (low + high) / 2.0
        quantile = (1.0 - scv / 9.0 + Z90 * math.sqrt(scv) / 3.0) ** 3
        low, high = (scv, high) if quantile < ratio else (low, scv)
    return (low + high) / 2.0


def _delay(mean_s: float, scv: float) -> list[Step]:
    if mean_s <= 0:
        return []
    return [Visit(station=ELSEWHERE, service=Distribution.with_scv(mean_s, scv if scv > LEAST_SCV else 0.0))]


def _held(limit: Limit, hold_s: float, elsewhere_s: float, engines: list[Step], on_engines_s: float) -> list[Step]:
    """The visits with a limit that is held for a time of its own, elsewhere as far as that lasts, or on the engines."""
    take, give = Acquire(resource=limit.name), Release(resource=limit.name)
    share = float(limit.of_engines[0])
    if share == 0.0 and hold_s <= elsewhere_s:
        return [take, *_delay(hold_s, 1.0), give, *engines, *_delay(elsewhere_s - hold_s, 1.0)]
    if share > 0.0:
        return [take, *_parted(engines, share), give, *_parted(engines, 1.0 - share), *_delay(elsewhere_s, 1.0)]
    share = min((hold_s - elsewhere_s) / max(on_engines_s, 1e-12), 1.0)
    spread = (hold_s**2 - (share * on_engines_s) ** 2) / max(elsewhere_s, 1e-12) ** 2
    return [take, *_delay(elsewhere_s, spread), *_parted(engines, share), give, *_parted(engines, 1.0 - share)]


def _parted(visits: list[Step], share: float) -> list[Step]:
    """The visits with a share of their service."""
    return [
        Visit(station=v.station, service=v.service.scaled(share)) for v in visits if isinstance(v, Visit) and share > 0
    ]


def _asked(load: Load) -> str:
    return ", ".join(f"{key}={value}" for key, value in load.at.items()) or "its operating point"
