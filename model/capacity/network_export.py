"""A calibrated system at one load as a network description, for the simulator and the exact methods.

It is the network of the best estimate. Its queues are those of the closed forms: engines shared within a priority,
zIIPs, limits that the records determine, the machine. What the predicted response has beyond them is each class's time
elsewhere, at this load.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.capacity.bundle import system_entry
from model.capacity.engines import ziip_threads
from model.capacity.evaluation import evaluate
from model.capacity.outputs import is_determined
from model.capacity.parameters import Limit
from model.capacity.question import Question, parse_question, prepare_system
from model.capacity.state import CAPTURED, CAPTURED_BUT_ZIIP, WORK, State
from model.capacity.system import System
from model.capacity.values import QuestionError
from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Arrivals,
    Cec,
    LparShare,
    Release,
    Resource,
    Smt,
    Station,
    Step,
    TransactionClass,
    Visit,
)
from model.queueing.lpar_share import Sharer

CP, ZIIP, ELSEWHERE, PHYSICAL = "cp", "ziip", "elsewhere", "PHYSICAL"
HIGHEST = 6
WEIGHTS, FIRST = 1e3, 1e9
"""Sum of the weights of the LPARs, and the weight of PHYSICAL, which goes before all of them."""
NO_WORK_S = 1e-9
"""Seconds of a transaction on an engine that are none."""
LEAST_SCV = 0.03
"""Time elsewhere that varies less is taken not to vary: an Erlang of many phases costs without showing."""
Z90 = 1.2815515655446004


@dataclass(frozen=True)
class NetworkExport:
    """The network of a question, with the system, the load and the state that it was made from.

    ``response`` names for each class of the network the metric whose time it has; ``piece_s`` is the CPU time of one
    arrival of work without transactions.
    """

    network: Network
    ready: System
    load: Question
    state: State
    response: Mapping[str, str]
    piece_s: float


def export_network(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> NetworkExport:
    """The network of a system at a load.

    Raises
    ------
    QuestionError
        unknown system or key, a value out of its domain, or a load that has no steady state.
    """
    parameters = system_entry(bundle, system)
    ready = prepare_system(parameters, at)
    load = parse_question(ready, at)
    return export(ready, load, f"{system}", f"{bundle['model_version']}, {system} at {_question(load)}")


def export(ready: System, load: Question, name: str, source: str) -> NetworkExport:
    """As :func:`described`, of a question that is parsed already."""
    state = evaluate(ready, load.scenario)
    # A load given as 100 % busy may miss it by the rounding of its rate.
    if state.busy[0, 0] >= state.available[0, 0] * (1.0 - 1e-9):
        raise QuestionError("at", load.at, "at: the engines are saturated at this load: it has no steady state")
    full = [name for name, used in state.limits.items() if used[0, 0] >= 1.0]
    if full:
        raise QuestionError("at", load.at, f"at: limit {full[0]} is exceeded at this load: it has no steady state")
    return _Exporter(ready, load, state, name, source).made()


class _Exporter:
    """The parts of the network, at the best estimate."""

    def __init__(self, ready: System, load: Question, state: State, name: str, source: str) -> None:
        self.ready, self.load, self.state, self.name, self.source = ready, load, state, name, source
        self.scenario = state.scenario
        rates = self.scenario.rates[0, 0]
        self.rates = {class_name: float(rates[i]) for i, class_name in enumerate(ready.class_names) if rates[i] > 0}
        self.usage = {name: float(used[0, 0]) for name, used in state.usage.items()}
        levels = {ready.level(self._series(class_name, CP)) for class_name in self.rates}
        self.ranked = len(levels) > 1
        captured = sum(self._seconds(class_name, CP) * rate for class_name, rate in self.rates.items())
        self.piece_s = captured / max(sum(self.rates.values()), 1e-12) or 1e-3
        self.zipped = bool(ready.ziips) and self.scenario.ziips > 0
        self.limits = [limit for limit in ready.limits if limit.name in state.limits and is_determined(limit, state)]
        self.delays = ready.delays(self.scenario, ready.usage(self.scenario))

    def made(self) -> NetworkExport:
        classes, resources, named = [], [], {}
        for class_name in self.rates:
            response = self._longest(class_name)
            if response is not None:
                named[class_name] = response
            classes.append(self._transactions(class_name, response))
        for limit in self.limits:
            places = float(np.asarray(limit.places(self.scenario.limits))[0].reshape(-1)[0])
            resources.append(
                Resource(
                    name=limit.name,
                    kind="limit",
                    capacity=max(round(places), 1),
                    instances=max(round(float(limit.queues[0])), 1),
                )
            )
        for name in self.ready.busy_components:
            demand = self.ready.demands[name]
            if demand.regressor in (WORK, CAPTURED, CAPTURED_BUT_ZIIP) and self.usage[name] > 0:
                classes.append(self._pieces(name, self.usage[name], CP, self._priority(demand.priority)))
        share, others = self._machine()
        classes += [self._pieces(pool.name, used, pool.name, 0) for pool, used in others]
        network = Network(
            name=self.name,
            source=self.source,
            stations=self._stations(share, [pool for pool, _ in others]),
            cecs=(Cec(name=share.cec, engines=self._physical()),) if share else (),
            resources=tuple(resources),
            classes=tuple(classes),
        )
        return NetworkExport(network, self.ready, self.load, self.state, named, self.piece_s)

    def _series(self, class_name: str, engine: str) -> list[str]:
        """Series of the work of a class on an engine, counted once."""
        demands = self.ready.demands
        if engine == ZIIP:
            return [n for n, demand in demands.items() if demand.engine == ZIIP and demand.regressor == class_name]
        return [n for n in self.ready.busy_components if demands[n].regressor == class_name]

    def _seconds(self, class_name: str, engine: str) -> float:
        """Seconds of one transaction on an engine; those of zIIP work that overflows are on CPs."""
        return sum(self.usage[name] for name in self._series(class_name, engine)) / self.rates[class_name]

    def _longest(self, class_name: str) -> str | None:
        """The response metric that has the most time in it."""
        metrics = {metric: float(ms[0, 0]) for (metric, of), ms in self.state.response_ms.items() if of == class_name}
        return max(metrics, key=lambda metric: metrics[metric]) if metrics else None

    def _transactions(self, class_name: str, metric: str | None) -> TransactionClass:
        seconds = {CP: self._seconds(class_name, CP), ZIIP: self._seconds(class_name, ZIIP) if self.zipped else 0.0}
        engines: list[Step] = [
            Visit(station=station, service=Distribution.exponential(mean))
            for station, mean in seconds.items()
            if mean > NO_WORK_S
        ]
        demand = self.ready.demands[self._series(class_name, CP)[0]]
        route = engines if metric is None else self._route(class_name, metric, engines, seconds)
        plain = TransactionClass(name=class_name, route=tuple(route), priority=self._priority(demand.priority))
        rate, think_s = self.rates[class_name], self._think_s(class_name)
        if not think_s or metric is None:
            return replace(plain, arrivals=Arrivals.poisson(rate))
        response_s = 1e-3 * float(self.state.response_ms[metric, class_name][0, 0])
        users = max(round(rate * (think_s + response_s)), math.floor(rate * response_s) + 1)
        return replace(plain, users=users, think=Distribution.exponential(users / rate - response_s))

    def _think_s(self, class_name: str) -> float:
        """How long users think between transactions; 0 where they come by themselves."""
        think_s = self.scenario.think_s
        return 0.0 if think_s is None else float(think_s[0, 0, self.ready.class_index[class_name]])

    def _route(self, class_name: str, metric: str, engines: list[Step], seconds: Mapping[str, float]) -> list[Step]:
        """The visits of a class, with its limits and the part of its response that no queue of the network explains."""
        key = (metric, class_name)
        response_s = 1e-3 * float(self.state.response_ms[key][0, 0])
        queued_s = self._on_engines_s(class_name, seconds)
        of_class = [limit for limit in self.limits if class_name in limit.members]
        limited_s = sum(1e-3 * float(self.state.waiting_ms[key][limit.resource][0, 0]) for limit in of_class)
        elsewhere_s = max(response_s - queued_s - limited_s, 0.0)
        work_s = max(sum(seconds.values()), 1e-12)
        off_engines_s = sum(_hold_s(limit) for limit in of_class if not limit.on_engines)
        rest_s = max(elsewhere_s - off_engines_s, 0.0)
        off_engines = [limit for limit in of_class if not limit.on_engines]
        apart = [step for limit in off_engines for step in _held(limit, _delay(_hold_s(limit), 1.0))]
        scv = 1.0 if off_engines_s else self._elsewhere_scv(key, response_s, elsewhere_s)
        # Limits that are taken on engines are nested, the longest outside.
        shares = [(min(_hold_s(limit) / work_s, 1.0), limit) for limit in of_class if limit.on_engines]
        nested: list[Step] = []
        done = 0.0
        for share, limit in sorted(shares, key=lambda one: one[0]):
            nested = _held(limit, [*nested, *_scaled(engines, share - done)])
            done = share
        return [*apart, *nested, *_scaled(engines, 1.0 - done), *_delay(rest_s, scv)]

    def _on_engines_s(self, class_name: str, seconds: Mapping[str, float]) -> float:
        """Seconds on engines and waiting for them, as the queues of the network have it."""
        by_cp, by_ziip, machine = self.delays
        at = self.ready.levels.index(self.ready.level(self._series(class_name, CP)))
        short, longer, size = (float(one[at, 0, 0]) for one in by_cp)
        queued_s = seconds[CP] * (1.0 + short + float(machine[0, 0])) + longer * size / 1e3
        if by_ziip is not None and seconds[ZIIP] > 0:
            queued_s += seconds[ZIIP] * (1.0 + float(by_ziip.short[at, 0, 0] + by_ziip.longer[at, 0, 0]))
        return queued_s

    def _priority(self, level: int) -> int:
        return HIGHEST - min(level, HIGHEST) if self.ranked else 0

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
        machine = self.ready.partition.cpc(self.scenario)
        assert machine is not None
        return machine.engines

    def _machine(self) -> tuple[LparShare | None, list[tuple[Station, float]]]:
        """The LPAR's share of its machine, and pool and engines in use of each other LPAR; None and none if alone."""
        machine, sharing = self.ready.partition.cpc(self.scenario), self.ready.partition.sharing(self.scenario)
        if machine is None or sharing is None:
            return None, []
        used = float(np.asarray(self.scenario.others, float).reshape(-1)[0])
        lpar, name = sharing.own, machine.name or "machine"
        capped = lpar.engines < min(self.scenario.engines, self._physical())
        if used + machine.management <= 0 and not capped and self._physical() >= self.scenario.engines:
            return None, []
        total = lpar.weight + sum(one.weight for one in sharing.others)

        def share(one: Sharer, capped: bool) -> LparShare:
            return LparShare(
                cec=name, weight=max(WEIGHTS * one.weight / total, 1.0), cap=one.engines if capped else "none"
            )

        def pool(name: str, engines: float, lpar: LparShare) -> Station:
            return Station(name=name, component=CP, servers=math.ceil(engines), scheduling="ps", lpar=lpar)

        others = [
            (pool(one.name, one.engines, share(one, one.engines % 1.0 > 0)), used * one.part)
            for one in sharing.others
            if used > 0
        ]
        if machine.management > 0:
            first = LparShare(cec=name, weight=FIRST)
            others.append((pool(PHYSICAL, self._physical(), first), machine.management))
        return share(lpar, capped), others

    def _stations(self, share: LparShare | None, stations: list[Station]) -> tuple[Station, ...]:
        engines = max(round(self.scenario.engines), 1)
        scheduling: Any = "priority_ps" if self.ranked else "ps"
        stations.insert(0, Station(name=CP, component=CP, servers=engines, scheduling=scheduling, lpar=share))
        if self.zipped:
            stations.append(self._ziip_station())
        stations.append(Station(name=ELSEWHERE, component="delay", scheduling="delay"))
        return tuple(stations)

    def _ziip_station(self) -> Station:
        pool = self.ready.ziip_pool
        gain = float(pool.gain[0])
        smt = Smt(gain=min(max(gain, 1.0), 2.0)) if ziip_threads(pool, self.scenario) > 1 else None
        scheduling: Any = "priority_ps" if self.ranked and smt is None else "ps"
        return Station(
            name=ZIIP,
            component=ZIIP,
            servers=max(round(self.scenario.ziips), 1),
            scheduling=scheduling,
            smt=smt,
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


def _hold_s(limit: Limit) -> float:
    """Holding time of the best estimate."""
    return float(limit.hold_s[0])


def _held(limit: Limit, steps: list[Step]) -> list[Step]:
    """Steps during which a place of the limit is taken."""
    return [Acquire(resource=limit.name), *steps, Release(resource=limit.name)]


def _delay(mean_s: float, scv: float) -> list[Step]:
    if mean_s <= 0:
        return []
    return [Visit(station=ELSEWHERE, service=Distribution.with_scv(mean_s, scv if scv > LEAST_SCV else 0.0))]


def _scaled(visits: list[Step], share: float) -> list[Step]:
    """The visits with a share of their service."""
    return [
        Visit(station=v.station, service=v.service.scaled(share)) for v in visits if isinstance(v, Visit) and share > 0
    ]


def _question(load: Question) -> str:
    return ", ".join(f"{key}={value}" for key, value in load.at.items()) or "its operating point"
