"""Checks of a network: every name known, every figure possible, every hardware figure sourced."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING

from model.network.elements import Station
from model.network.errors import NetworkError, RouteError
from model.network.scheduling import DISCIPLINES

if TYPE_CHECKING:
    from model.network.description import Network


def check(network: Network) -> None:
    """Raise ``NetworkError`` with what to change when the network cannot be solved as described."""
    problems: list[str] = []
    if not network.stations:
        problems.append("a network needs at least one station")
    if not network.classes:
        problems.append("a network needs at least one class")
    for what, names in (
        ("station", network.station_names),
        ("class", network.class_names),
        ("resource", network.resource_names),
        ("cec", tuple(c.name for c in network.cecs)),
        ("procedure", tuple(name for name, _ in network.procedures)),
    ):
        problems += [f"{what} {name!r} is described {n} times" for name, n in Counter(names).items() if n > 1]
    for station in network.stations:
        problems += [f"station {station.name!r}: {text}" for text in _station(station, network)]
    for cec in network.cecs:
        if not 0 < cec.engines < math.inf:
            problems.append(f"cec {cec.name!r}: engines must be positive")
    for resource in network.resources:
        if resource.capacity < 1 or resource.instances < 1:
            problems.append(f"resource {resource.name!r}: capacity and instances must be at least 1")
        if resource.queue_limit is not None and resource.queue_limit < 0:
            problems.append(f"resource {resource.name!r}: queue_limit must be zero or more")
        problems += _choice(resource.scheduling, ("fcfs", "hol"), f"resource {resource.name!r}: scheduling")
    if not problems:
        problems += _classes(network)
    if problems:
        raise NetworkError(f"network {network.name!r}: " + "; ".join(problems))


def _choice(value: object, allowed: tuple[str, ...], what: str) -> list[str]:
    return [] if value in allowed else [f"{what} must be one of {', '.join(allowed)}, got {value!r}"]


def _station(station: Station, network: Network) -> list[str]:
    out = _choice(station.scheduling, tuple(DISCIPLINES), "scheduling")
    if out:
        return out
    discipline = station.discipline
    out += _choice(station.when_full, ("reject", "block"), "when_full")
    values = {f: getattr(station, f.name) for f in fields(station)}
    for f, value in values.items():
        if "least" in f.metadata and not f.metadata["least"] <= value < math.inf:
            out.append(f"{f.name} must be at least {f.metadata['least']}")
    if not station.source and any(f.metadata.get("sourced") and value != f.default for f, value in values.items()):
        sourced = [f.name for f in values if f.metadata.get("sourced")]
        out.append(f"{', '.join(sourced[:-1])} and {sourced[-1]} need a source")
    if len(station.speeds) not in (1, station.servers) or not all(0 < s < math.inf for s in station.speeds):
        out.append("speeds must be positive, one for all servers or one for each")
    if len(set(station.speeds)) > 1 and not discipline.unequal:
        allowed = " or ".join(name for name, one in DISCIPLINES.items() if one.unequal)
        out.append(f"servers of different speed need {allowed} scheduling")
    if not all(0 < c < math.inf for c in station.cost_by_busy):
        out.append("cost_by_busy must be positive")
    if station.cost_by_busy and not discipline.by_busy:
        out.append(f"cost_by_busy is not defined for {station.scheduling}")
    if station.smt is not None and not discipline.smt:
        out.append(f"smt needs scheduling = {' or '.join(repr(n) for n, one in DISCIPLINES.items() if one.smt)}")
    if station.smt is not None and not 1 <= station.smt.gain <= 2:
        out.append(f"smt gain is the rate of a core with two threads, from 1 (no gain) to 2, got {station.smt.gain}")
    if station.smt is not None:
        out += _choice(station.smt.packing, ("spread", "dense"), "smt packing")
    if station.lpar is not None:
        if station.lpar.cec not in {c.name for c in network.cecs}:
            out.append(f"belongs to unknown cec {station.lpar.cec!r}")
        if not discipline.shares:
            out.append(f"an LPAR pool needs one of {', '.join(n for n, one in DISCIPLINES.items() if one.shares)}")
        if station.smt is not None:
            out.append("smt and weighted sharing cannot be combined")
        if not (0 < station.lpar.weight < math.inf and 1 <= station.lpar.low_cost < math.inf):
            out.append("weight must be positive and low_cost at least 1")
        out += _choice(station.lpar.polarity, ("horizontal", "vertical"), "polarity")
        cap = station.lpar.cap
        engines = isinstance(cap, int | float) and not isinstance(cap, bool) and 0 < cap < math.inf
        if cap not in ("none", "share") and not engines:
            out.append(f"cap must be 'none', 'share' or a positive number of engines, got {cap!r}")
        elif not isinstance(cap, str):
            most = min([station.servers, *(c.engines for c in network.cecs if c.name == station.lpar.cec)])
            if cap > most:
                out.append(f"cap {cap:g} is above the {most:g} engines it can use; leave it out")
        if station.lpar.low_cost != 1 and not station.source:
            out.append("low_cost needs a source")
    if station.overflow is not None:
        target = station.overflow.to
        if target not in network.station_names or target == station.name:
            out.append(f"overflows to {target!r}, which is not another station")
        if not discipline.queues:
            out.append("a delay cannot overflow")
        if any(s.name in (station.name, target) and s.capacity and s.when_full == "block" for s in network.stations):
            out.append("neither a station that overflows nor the one it overflows to can block when full")
        if station.overflow.waiting < 0:
            out.append("overflow waiting must be zero or more")
    if station.capacity is not None and station.capacity < station.servers:
        out.append("capacity counts those in service, so it must be at least servers")
    if station.capacity is not None and not discipline.queues:
        out.append("a delay has no capacity")
    return out


def _classes(network: Network) -> list[str]:
    out: list[str] = []
    stations, resources = set(network.station_names), set(network.resource_names)
    refusing = {s.name for s in network.stations if s.capacity is not None and s.when_full == "reject"}
    refusing |= {r.name for r in network.resources if r.queue_limit is not None}
    for cls in network.classes:
        where = f"class {cls.name!r}:"
        if cls.arrivals is not None and cls.users:
            out.append(f"{where} is either open (arrivals) or closed (users), not both")
        if cls.users < 0:
            out.append(f"{where} users must be zero or more")
        if not 0 < cls.weight < math.inf:
            out.append(f"{where} weight must be positive")
        if cls.arrivals is not None:
            if cls.arrivals.interarrival.mean <= 0 or cls.arrivals.batch.mean <= 0:
                out.append(f"{where} arrivals need a positive mean")
            if (cls.arrivals.on is None) != (cls.arrivals.off is None):
                out.append(f"{where} on and off periods come together")
            elif cls.arrivals.on is not None and cls.arrivals.on.mean <= 0:
                out.append(f"{where} on periods need a positive mean")
        try:
            ops = network.operations(cls.name)
        except RouteError as error:
            out.append(str(error))
            continue
        for op in ops:
            if op.kind in ("visit", "cf_decide") and op.name not in stations:
                out.append(f"{where} step {op.step + 1} visits unknown station {op.name!r}")
            if op.kind in ("acquire", "release") and op.name not in resources:
                out.append(f"{where} step {op.step + 1} uses unknown resource {op.name!r}")
            if op.kind == "switch" and op.name not in network.class_names:
                out.append(f"{where} step {op.step + 1} switches to unknown class {op.name!r}")
            if op.kind == "acquire":
                taken = next((r for r in network.resources if r.name == op.name), None)
                limit = taken.capacity if taken is not None else op.units
                holds = dict(op.holdings).get(op.name, 0) + dict(op.outer_holdings).get(op.name, 0)
                if taken is not None and taken.instances > 1 and holds:
                    out.append(f"{where} step {op.step + 1} takes {op.name!r} again while holding one of its instances")
                if not 1 <= op.units <= limit:
                    out.append(f"{where} step {op.step + 1} takes {op.units} of {op.name!r}, which has {limit}")
                elif holds + op.units > limit:
                    waits = f"while holding {holds} of its {limit}: it would wait for itself"
                    out.append(f"{where} step {op.step + 1} takes {op.units} of {op.name!r} {waits}")
            if op.in_branch and op.name in refusing:
                out.append(
                    f"{where} step {op.step + 1}: {op.name!r} turns away when full, which a branch of a fork cannot be"
                    "; use when_full = 'block', or leave capacity or queue_limit out"
                )
            if op.keep and op.name in stations and not network.station(op.name).discipline.queues:
                out.append(f"{where} step {op.step + 1}: the engine of a request cannot be a delay")
        if cls.users and not any(op.kind == "visit" for op in ops):
            out.append(f"{where} a closed class must visit a station")
    return out
