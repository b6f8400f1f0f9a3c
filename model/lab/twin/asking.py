"""What a question changes: the network of a recorded interval of one LPAR, with the changes that `at` names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from model.lab.errors import LabError
from model.lab.twin.activity import Lived
from model.lab.twin.description import Question
from model.lab.twin.measured import Measured
from model.lab.twin.true_network import rerouted, station_changed
from model.network import Network, Smt, Station, TransactionClass


@dataclass(frozen=True, slots=True)
class Asked:
    """The network that answers a question, and the recorded interval (UTC) it starts from."""

    network: Network
    when_utc: datetime


def asked(lived: Lived, seen: Sequence[Measured], question: Question) -> Asked:
    """The network of a question. LabError for an unknown system, class or limit, or a time not recorded."""
    m = system_of(lived, seen, question)
    moment = _when(lived, m, question)
    i = lived.twin.starts.index(moment)
    network = lived.networks[-1]
    ended = lived.activity.ended[i]
    rates, response_s = ended / lived.twin.interval_s, lived.activity.elapsed_s[i] / np.maximum(ended, 1.0)
    factors = _factors(lived, m, question.at, dict(zip(network.class_names, rates, strict=True)))
    classes = tuple(
        _at_rate(c, rate, factors.get(c.name, 1.0), inside_s)
        for c, rate, inside_s in zip(network.classes, rates, response_s, strict=True)
        if c.name not in lived.twin.classes or rate > 0 or c.users
    )
    network = replace(network, classes=classes)
    for key, value in question.at.items():
        network = _changed(lived, m, network, key, value)
    return Asked(network, moment)


def system_of(lived: Lived, seen: Sequence[Measured], question: Question) -> Measured:
    """The LPAR a question is about, the first where it names none or the twin as a whole."""
    if question.system in ("", lived.twin.system_id):
        return seen[0]
    found = [m for m in seen if m.lpar.smf_sid == question.system]
    if not found:
        raise LabError(
            f"ask.{question.name}: no system {question.system!r}; known: {', '.join(m.lpar.smf_sid for m in seen)}"
        )
    return found[0]


def _when(lived: Lived, m: Measured, question: Question) -> datetime:
    wanted = question.start_local()
    if wanted is None:
        return m.starts[int(m.busy_s.argmax())]
    return next(start for start in m.starts if lived.twin.local(start) == wanted)


def _factors(lived: Lived, m: Measured, at: Mapping[str, Any], rates: Mapping[str, float]) -> dict[str, float]:
    """How much more of each of the LPAR's classes comes than in the recorded interval."""
    factors = dict.fromkeys(m.lpar.home_classes, 1.0)
    if "growth_pct" in at:
        factors = dict.fromkeys(factors, 1 + float(at["growth_pct"]) / 100)
    if "etr_tps" in at:
        total = sum(rates[name] for name in factors)
        factors = dict.fromkeys(factors, float(at["etr_tps"]) / total)
    for key, value in at.items():
        kind, _, name = key.partition(".")
        if kind in ("growth_pct", "rate") and name:
            chosen = _classes(lived, m, name)
            here = sum(rates[c] for c in chosen)
            if here <= 0:
                raise LabError(f"{key}: no transaction of {name} ended in that interval")
            factors |= dict.fromkeys(chosen, 1 + float(value) / 100 if kind == "growth_pct" else float(value) / here)
    return factors


def _classes(lived: Lived, m: Measured, name: str) -> list[str]:
    """Classes of the network that a class, service class or workload of the LPAR stands for."""
    loads = {c: lived.twin.classes[c] for c in m.lpar.home_classes if c in lived.twin.classes}
    if name in loads:
        return [name]
    found = [c for c, load in loads.items() if load.service_class == name]
    found = found or [c for c, load in loads.items() if load.workload.lower() == name.lower()]
    if not found:
        known = [*loads, *m.service_classes, *dict.fromkeys(m.workloads)]
        near = get_close_matches(name, known, 1)
        raise LabError(
            f"no class {name!r}" + (f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}")
        )
    return found


def _at_rate(c: TransactionClass, rate: float, factor: float, response_s: float) -> TransactionClass:
    """A class at its recorded rate times a factor; of a closed class the users grow, and think as they then did."""
    if c.users:
        think = c.think
        if think is not None and think.mean > 0 and rate > 0:
            think = think.scaled(max(c.users / rate - response_s, 0.0) / think.mean)
        return replace(c, users=max(1, round(c.users * factor)), think=think)
    if c.arrivals is None or rate <= 0:
        return c
    slower = c.arrivals.rate_per_s / (rate * factor)
    return replace(c, arrivals=replace(c.arrivals, interarrival=c.arrivals.interarrival.scaled(slower)))


def _changed(lived: Lived, m: Measured, network: Network, key: str, value: Any) -> Network:
    kind, _, name = key.partition(".")
    if kind == "engines":
        return station_changed(network, m.lpar.cp, lambda s: _with_servers(s, int(value)))
    if kind == "weight":
        return station_changed(network, m.lpar.cp, lambda s: _with_share(s, weight=float(value)))
    if kind == "cap":
        cap = value if value in ("none", "share") else float(value)
        return station_changed(network, m.lpar.cp, lambda s: _with_share(s, cap=cap))
    if kind == "ziip_engines":
        if int(value) == 0:
            return rerouted(network, _ziip(m), m.lpar.cp)
        return station_changed(network, _ziip(m), lambda s: _with_servers(s, int(value)))
    if kind == "smt":
        return station_changed(network, _ziip(m), _threads(lived, int(value)))
    if kind == "limit":
        if name not in network.resource_names:
            raise LabError(f"{key}: no limit {name!r}; known: {', '.join(network.resource_names) or 'none'}")
        resources = tuple(replace(r, capacity=int(value)) if r.name == name else r for r in network.resources)
        return replace(network, resources=resources)
    return network


def _threads(lived: Lived, threads: int) -> Callable[[Station], Station]:
    def changed(station: Station) -> Station:
        smt = (station.smt or Smt(gain=lived.twin.smt_gain)) if threads > 1 else None
        return replace(station, smt=smt, source=station.source or "the twin")

    return changed


def _ziip(m: Measured) -> str:
    if not m.lpar.ziip:
        raise LabError(f"system {m.lpar.smf_sid} has no zIIPs")
    return m.lpar.ziip


def _with_servers(station: Station, servers: int) -> Station:
    speeds = station.speeds
    if len(speeds) > 1:
        speeds = (speeds + (speeds[-1],) * servers)[:servers]
    return replace(station, servers=servers, speeds=speeds)


def _with_share(station: Station, **changes: Any) -> Station:
    if station.lpar is None:
        raise LabError(f"station {station.name!r} has its engines to itself: it has neither weight nor cap")
    return replace(station, lpar=replace(station.lpar, **changes))
