"""What a question changes: the network of a recorded interval of one LPAR, with the changes that `at` names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from model.capacity.values import cap_to_share, threads_asked
from model.lab.errors import LabError
from model.lab.twin.activity import Lived
from model.lab.twin.description import Question
from model.lab.twin.measured import Measured
from model.lab.twin.start import start
from model.lab.twin.true_network import rerouted, station_changed
from model.network import Network, Smt, Station, TransactionClass

PER_CLASS = ("growth_pct", "rate")


@dataclass(frozen=True, slots=True)
class Asked:
    """The network that answers a question, and the `when` it starts from as a model is asked for it.

    `wanted` are transactions/s of classes with users of which the question says the rate, not how many users there are.
    """

    network: Network
    when: str
    wanted: Mapping[str, float]


def asked(
    lived: Lived,
    seen: Sequence[Measured],
    question: Question,
    more: float = 1.0,
    crowd: Mapping[str, float] | None = None,
) -> Asked:
    """The network of a question, ``more`` times as much of the LPAR's own classes coming; of users of a class so many
    times as many as in ``crowd``.

    LabError for an unknown system, class or limit, or a time not recorded.
    """
    m = system_of(lived, seen, question)
    network, begun = lived.networks[-1], start(lived, m, question.when)
    rates = begun.rates * begun.growth
    factors, given = _factors(lived, m, question.at, dict(zip(network.class_names, rates, strict=True)))
    factors = {name: more * factor for name, factor in factors.items()}
    wanted = {
        c.name: rate * factors[c.name]
        for c, rate in zip(network.classes, rates, strict=True)
        if c.users and c.name in given
    }
    classes = tuple(
        _at_rate(c, rate, growth * factors.get(c.name, 1.0) * (crowd or {}).get(c.name, 1.0), inside_s)
        for c, rate, growth, inside_s in zip(network.classes, begun.rates, begun.growth, begun.response_s, strict=True)
        if c.name not in lived.twin.classes or rate > 0 or c.users
    )
    network = replace(network, classes=classes)
    for key, value in question.at.items():
        network = _changed(lived, m, network, key, value)
    return Asked(network, begun.when, wanted)


def system_of(lived: Lived, seen: Sequence[Measured], question: Question) -> Measured:
    """The LPAR a question is about, the first where it names none or the twin as a whole."""
    if question.system in ("", lived.twin.system_id):
        return seen[0]
    matches = [m for m in seen if m.lpar.smf_sid == question.system]
    if not matches:
        raise LabError(
            f"ask.{question.name}: no system {question.system!r}; known: {', '.join(m.lpar.smf_sid for m in seen)}"
        )
    return matches[0]


def _factors(
    lived: Lived, m: Measured, at: Mapping[str, Any], rates: Mapping[str, float]
) -> tuple[dict[str, float], set[str]]:
    """How much more of each of the LPAR's classes comes than in the recorded interval, and those whose rate is said."""
    given: set[str] = set()
    factors = dict.fromkeys(m.lpar.home_classes, 1.0)
    if "growth_pct" in at:
        factors = dict.fromkeys(factors, 1 + float(at["growth_pct"]) / 100)
    if "etr_tps" in at:
        total = sum(rates[name] for name in factors)
        factors = dict.fromkeys(factors, float(at["etr_tps"]) / total)
    if "etr_tps" in at or "cpu_busy_pct" in at:
        given = set(factors)
    parts = ((key, *key.partition(".")[::2]) for key in at)
    named = [(key, kind, name, _classes(lived, m, name)) for key, kind, name in parts if kind in PER_CLASS and name]
    # What is said of a class counts before the growth of a workload that it is part of.
    for key, kind, name, chosen in sorted(named, key=lambda one: -len(one[3])):
        value, here = float(at[key]), sum(rates[c] for c in chosen)
        if here <= 0:
            raise LabError(f"{key}: no transaction of {name} ended in that interval")
        factors |= dict.fromkeys(chosen, 1 + value / 100 if kind == "growth_pct" else value / here)
        given = given | set(chosen) if kind == "rate" else given - set(chosen)
    return factors, given


def _classes(lived: Lived, m: Measured, name: str) -> list[str]:
    """Classes of the network that a class, service class or workload of the LPAR stands for."""
    loads = {c: lived.twin.classes[c] for c in m.lpar.home_classes if c in lived.twin.classes}
    if name in loads:
        return [name]
    matches = [c for c, load in loads.items() if load.service_class.lower() == name.lower()]
    matches = matches or [c for c, load in loads.items() if load.workload.lower() == name.lower()]
    if not matches:
        names = [*loads, *m.service_classes, *dict.fromkeys(m.workloads)]
        near = get_close_matches(name, names, 1)
        raise LabError(
            f"no class {name!r}" + (f"; did you mean {near[0]}?" if near else f"; known: {', '.join(names)}")
        )
    return matches


def _at_rate(c: TransactionClass, rate: float, factor: float, response_s: float) -> TransactionClass:
    """A class at its recorded rate times a factor; of a closed class the users grow, and think as they then did, but
    for what makes whole users send as often as so many times the recorded ones."""
    if c.users:
        think, users = c.think, max(1, round(c.users * factor))
        if think is not None and think.mean > 0 and rate > 0 and factor > 0:
            think = think.scaled(max(users / (rate * factor) - response_s, 0.0) / think.mean)
        return replace(c, users=users, think=think)
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
    if kind in ("cap", "cap_engines"):
        cap = float(value) if kind == "cap_engines" else "share" if cap_to_share(value) else "none"
        return station_changed(network, m.lpar.cp, lambda s: _with_share(s, cap=cap))
    if kind == "ziip_engines":
        if int(value) == 0:
            return rerouted(network, _ziip(m), m.lpar.cp)
        return station_changed(network, _ziip(m), lambda s: _with_servers(s, int(value)))
    if kind == "smt":
        return station_changed(network, _ziip(m), _threads(lived, threads_asked(value)))
    if kind == "limit":
        if name not in network.resource_names:
            raise LabError(f"{key}: no limit {name!r}; known: {', '.join(network.resource_names) or 'none'}")
        resources = tuple(replace(r, capacity=int(value)) if r.name == name else r for r in network.resources)
        return replace(network, resources=resources)
    return network


def _threads(lived: Lived, threads: float) -> Callable[[Station], Station]:
    def changed(station: Station) -> Station:
        smt = (station.smt or Smt(gain=lived.twin.smt_gain, packing="dense")) if threads > 1 else None
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
