"""The network of a question: that of a recorded interval of one LPAR, with the changes that `at` names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from model.capacity.values import cap_to_share, smt_threads
from model.lab.errors import LabError
from model.lab.twin.activity import Lived
from model.lab.twin.description import Question, interval_of
from model.lab.twin.measured import Measured
from model.lab.twin.network import rerouted, station_changed
from model.network import Network, Smt, Station, TransactionClass


def network_of(lived: Lived, seen: Sequence[Measured], question: Question) -> tuple[Network, str]:
    """The network that answers a question, and the local start of the interval from which it starts.

    LabError for an unknown system, class or limit, or a time that was not recorded.
    """
    m, twin = system_of(lived, seen, question), lived.twin
    network, activity = lived.network, lived.activity
    row = interval_of(question.when, [twin.local(start) for start in m.starts])
    row = int(m.busy_s.argmax()) if row is None else row
    at = twin.starts.index(m.starts[row])
    ended, elapsed_s = activity.ended[at], activity.elapsed_s[at]
    factors = _factors(lived, m, question.at, dict(zip(network.class_names, ended, strict=True)))
    classes = tuple(
        _at_rate(c, count / twin.interval_s, factors.get(c.name, 1.0), seconds / max(count, 1.0))
        for c, count, seconds in zip(network.classes, ended.tolist(), elapsed_s.tolist(), strict=True)
        if c.name not in twin.classes or count > 0 or c.users
    )
    network = replace(network, classes=classes)
    for key, value in question.at.items():
        network = _changed(lived, m, network, key, value)
    return network, twin.local(m.starts[row]).isoformat(timespec="minutes")


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


def _factors(lived: Lived, m: Measured, at: Mapping[str, Any], ended: Mapping[str, float]) -> dict[str, float]:
    """How much more of each of the LPAR's classes comes than in the recorded interval."""
    factors = dict.fromkeys(m.lpar.home_classes, 1 + float(at.get("growth_pct", 0)) / 100)
    parts = ((key, *key.partition(".")[::2]) for key in at)
    named = [(key, name, _classes(lived, m, name)) for key, kind, name in parts if kind == "growth_pct" and name]
    # Growth of a class counts before that of a workload that it is part of.
    for key, name, chosen in sorted(named, key=lambda one: -len(one[2])):
        if sum(ended[c] for c in chosen) <= 0:
            raise LabError(f"{key}: no transaction of {name} ended in that interval")
        factors |= dict.fromkeys(chosen, 1 + float(at[key]) / 100)
    return factors


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
        return station_changed(network, _ziip(m), _threads(lived, smt_threads(value)))
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
