"""A network as the tables from which its states are walked: kinds of customers, and what each may do next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.network.arrays import Arrays, Floats, Ints
from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import Arrivals, Station
from model.network.exact.support import UnsupportedError
from model.network.flows import flows
from model.network.lowering import Op

States = NDArray[np.int16]
Phases = list[tuple[float, list[float]]]
VISIT, ACQUIRE, RELEASE, GO, END = range(5)
SHARING, FCFS, HEAD_OF_LINE, PREEMPTIVE, WEIGHTED, PRIORITY_SHARING, DELAY = range(7)
CODES = {
    "delay": DELAY,
    "ps": SHARING,
    "fcfs": FCFS,
    "hol": HEAD_OF_LINE,
    "preemptive": PREEMPTIVE,
    "dps": WEIGHTED,
    "priority_ps": PRIORITY_SHARING,
}
"""The code of each scheduling of a station."""
KINDS_OF_STEPS = {"acquire": ACQUIRE, "release": RELEASE, "go": GO}
NOBODY = -1
MOST_VISITS = 20
MOST_KINDS = 10_000
"""Kinds of customers, fewer than their numbers in a state can tell; a chain of more has more states than are solved."""
TOO_MANY = "it has too many states"


class Kinds(NamedTuple):
    """Kinds of customers: (kinds,) unless said.

    ``place`` is a station, then a resource waited for, and last where users think and arrivals are made. ``step`` is
    the one that is waited for, -1 in service. ``server`` is that of unequal ones, ``speed`` its speed, ``held`` (kinds,
    resources) units.
    What may happen to kind t are the entries from ``first[t]`` to ``first[t + 1]``: ``rate`` times a second it becomes
    ``becomes`` (-1: it leaves) and ``copies`` customers begin step ``starts``.
    """

    place: Ints
    row: Ints
    step: Ints
    server: Ints
    speed: Floats
    held: Ints
    first: Ints
    rate: Floats
    becomes: Ints
    starts: Ints
    copies: Ints


class Steps(NamedTuple):
    """Steps of all routes: (steps,) unless said.

    ``code`` is one of this module, ``units`` those of a resource, ``waits`` the kind of those who wait for the step,
    ``elsewhere`` the step of those who find too many there (-1: everybody waits), ``held`` (steps, resources) units on
    coming to it.
    The entries from ``first[i]`` to ``first[i + 1]`` are what follows with the chance ``part``: ``then`` is a step, of
    a visit the kind in service at its first server.
    """

    code: Ints
    place: Ints
    row: Ints
    units: Ints
    waits: Ints
    elsewhere: Ints
    held: Ints
    first: Ints
    then: Ints
    part: Floats


class Places(NamedTuple):
    """``discipline``, ``servers`` (threads, where cores have two) and ``alike`` (places,) whether these are;
    ``enough`` (places,) customers beyond whom more go elsewhere; ``work`` and ``used`` (places, servers) what 1, 2, ...
    busy servers do, of what one alone does, and engines that they take; ``machine`` (places,) that the place has a part
    of by ``share``, up to ``cap`` (-1: engines of its own), ``engines`` (machines,); ``units`` (resources,),
    ``by_rank`` (resources,) whether they go by importance; ``priority``, ``weight`` and ``most`` (classes,) inside at a
    time."""

    discipline: Ints
    servers: Ints
    alike: NDArray[np.bool_]
    enough: Ints
    work: Floats
    used: Floats
    machine: Ints
    share: Floats
    cap: Floats
    engines: Floats
    units: Ints
    by_rank: NDArray[np.bool_]
    priority: Floats
    weight: Floats
    most: Ints


class Tables(NamedTuple):
    """``begin`` are kinds that are there from the start, ``enter`` steps that the users of closed classes begin."""

    kinds: Kinds
    steps: Steps
    places: Places
    begin: Ints
    enter: Ints


@dataclass
class _Kind:
    place: int
    row: int
    step: int = NOBODY
    server: int = 0
    speed: float = 1.0
    held: tuple[int, ...] = ()
    events: list[tuple[float, int, int, int]] = field(default_factory=list)


@dataclass
class _Step:
    code: int
    row: int
    place: int = 0
    units: int = 0
    waits: int = NOBODY
    elsewhere: int = NOBODY
    held: tuple[int, ...] = ()
    then: list[tuple[int, float]] = field(default_factory=list)


def tables(net: Arrays, most: Ints) -> Tables:
    """Tables of a network with at most so many (classes,) of each open class inside.

    Raises:
        UnsupportedError: it cannot be said with exponential phases, or has parts that are not followed.
    """
    return _Builder(net).tables(most)


class _Builder:
    def __init__(self, net: Arrays) -> None:
        network = net.network
        for station in network.stations:
            _check(station, network)
        self.net = net
        self.flow = flows(network)
        self.column = {name: k for k, name in enumerate(network.station_names)}
        self.resource = {name: rho for rho, name in enumerate(network.resource_names)}
        self.last = len(self.column) + len(self.resource)
        self.none = (0,) * len(self.resource)
        self.kinds: list[_Kind] = []
        self.steps: list[_Step] = []
        self.end, self.has_spent_time = NOBODY, False

    def tables(self, most: Ints) -> Tables:
        network = self.net.network
        begin, enter = [], []
        for row, cls in enumerate(network.classes):
            start = self.route(row)
            if cls.arrivals is not None:
                begin.append(self.source(row, cls.arrivals, start))
            enter += [start] * cls.users
        return Tables(
            self.packed_kinds(), self.packed_steps(), _places(self.net, most), np.array(begin, np.int64),
            np.array(enter, np.int64),
        )  # fmt: skip

    def route(self, row: int) -> int:
        """Add the steps of a class; gives where it begins."""
        cls = self.net.network.classes[row]
        visited = self.flow.visited(row)
        self.end = end = self.step(END, row, self.none)
        ops = self.flow.ops
        at_step = {at: end if ops[at].kind == "end" else self.step(GO, row, self.held(ops[at])) for at in visited}
        first_op = self.flow.starts[row]
        comes_back = any(to == first_op for at in visited for to, _ in self.flow.edges[at])
        for at in visited:
            if ops[at].kind != "end":
                self.has_spent_time = at != first_op or comes_back or ops[at].count != 1
                after = [(at_step[to], part) for to, part in self.flow.edges[at] if part > 0]
                self.follow(row, at_step[at], ops[at], after)
        start = at_step[first_op]
        if cls.users > 0:
            if cls.think is not None:
                first = start
                start = self.step(GO, row, self.none)
                self.visit(row, start, self.last, _phases(cls.think), [(first, 1.0)])
            self.steps[end].then = [(start, 1.0)]
        return start

    def follow(self, row: int, at: int, op: Op, after: list[tuple[int, float]]) -> None:
        """Make step ``at`` do what an operation does."""
        step = self.steps[at]
        if op.kind == "visit" and op.service is not None:
            if op.count > MOST_VISITS:
                raise UnsupportedError(f"{op.count:g} visits in a row have too many states")
            k, whole = self.column[op.name], math.floor(op.count)
            service = _phases(op.service)
            if op.extra is not None:
                service = [(p * q, [*one, *other]) for p, one in service for q, other in _phases(op.extra)]
            if chance := op.count - whole:
                again = self.step(GO, row, step.held)
                self.visit(row, again, k, service, after)
                after = [(again, chance), *((to, part * (1 - chance)) for to, part in after)]
            for _ in range(whole):
                earlier = self.step(GO, row, step.held)
                self.visit(row, earlier, k, service, after)
                after = [(earlier, 1.0)]
            step.then = after
        elif op.kind in KINDS_OF_STEPS:
            step.code, step.then, step.units = KINDS_OF_STEPS[op.kind], after, op.units
            if step.code != GO:
                rho = self.resource[op.name]
                step.place = rho
                resource = self.net.network.resources[rho]
                if step.code == ACQUIRE and resource.queue_limit is not None:
                    step.elsewhere = self.turned_away()
                step.waits = self.kind(_Kind(len(self.column) + rho, row, at, held=step.held))
        else:
            raise UnsupportedError(f"{op.kind} steps are not followed")

    def turned_away(self) -> int:
        """The step of those who are turned away: the end, where they have spent no time before."""
        if self.has_spent_time:
            raise UnsupportedError("transactions are turned away after they have done work")
        return self.end

    def visit(self, row: int, at: int, k: int, service: Phases, after: list[tuple[int, float]]) -> None:
        """Make step ``at`` a visit to place ``k``, or where its station sends those who find it full."""
        self.visit_one(row, at, k, service, after)
        if k == self.last:
            return
        station = self.net.network.stations[k]
        if station.overflow is not None:
            self.steps[at].elsewhere = self.step(GO, row, self.steps[at].held)
            self.visit_one(row, self.steps[at].elsewhere, self.column[station.overflow.to], service, after)
        elif station.capacity is not None:
            self.steps[at].elsewhere = self.turned_away()

    def visit_one(self, row: int, at: int, k: int, service: Phases, after: list[tuple[int, float]]) -> None:
        """Make step ``at`` a visit to place ``k``."""
        step = self.steps[at]
        if not any(rates for _, rates in service):
            if k < self.last and not self.net.delay[k]:
                raise UnsupportedError(f"visits to {self.net.network.station_names[k]!r} take no time")
            step.then = after
            return
        speeds: tuple[float, ...] = (1.0,)
        pace = 1.0
        if k < self.last:
            speeds = self.net.network.stations[k].speeds
            speeds = tuple(sorted((v / max(speeds) for v in speeds), reverse=True)) if len(set(speeds)) > 1 else (1.0,)
            pace = float(self.net.pace[k])
        step.code, step.place = VISIT, k
        done = self.step(GO, row, step.held, after)
        for chance, rates in service:
            follow = [NOBODY] * len(speeds)
            for i, rate in reversed(list(enumerate(rates))):
                starts = done if i == len(rates) - 1 else NOBODY
                follow = [
                    self.kind(_Kind(k, row, NOBODY, j, v, step.held, [(rate * v / pace, to, starts, int(starts >= 0))]))
                    for j, (v, to) in enumerate(zip(speeds, follow, strict=True))
                ]
            step.then.append((follow[0], chance))
        # Who waits for a server need not have drawn its time.
        apart = len(service) > 1 or len(speeds) > 1
        step.waits = self.kind(_Kind(k, row, at, held=step.held)) if apart else step.then[0][0]

    def source(self, row: int, arrivals: Arrivals, start: int) -> int:
        """Add the kinds that make arrivals; gives the one to begin with."""
        sizes = _sizes(arrivals.batch)
        if arrivals.on is not None and arrivals.off is not None:
            periods = (arrivals.on, arrivals.off, arrivals.interarrival)
            if any(len(_phases(d)) > 1 or len(_phases(d)[0][1]) > 1 for d in periods):
                raise UnsupportedError("arrivals with on and off periods are followed where all are exponential")
        branches = _phases(arrivals.interarrival)
        chains = [[self.kind(_Kind(self.last, row, held=self.none)) for _ in rates] for _, rates in branches]
        for (_, rates), chain in zip(branches, chains, strict=True):
            for i, (rate, kind) in enumerate(zip(rates, chain, strict=True)):
                if i + 1 < len(chain):
                    self.kinds[kind].events.append((rate, chain[i + 1], NOBODY, 0))
                    continue
                for (chance, _), again in zip(branches, chains, strict=True):
                    for size, part in sizes:
                        self.kinds[kind].events.append((rate * chance * part, again[0], start, size))
        first = chains[0][0]
        if arrivals.on is not None and arrivals.off is not None:
            off = self.kind(_Kind(self.last, row, held=self.none, events=[(1 / arrivals.off.mean, first, NOBODY, 0)]))
            self.kinds[first].events.append((1 / arrivals.on.mean, off, NOBODY, 0))
        return first

    def held(self, op: Op) -> tuple[int, ...]:
        return tuple(dict(op.held).get(name, 0) for name in self.resource)

    def step(self, code: int, row: int, held: tuple[int, ...], then: list[tuple[int, float]] | None = None) -> int:
        self.steps.append(_Step(code, row, held=held, then=then or []))
        return len(self.steps) - 1

    def kind(self, kind: _Kind) -> int:
        if len(self.kinds) == MOST_KINDS:
            raise UnsupportedError(TOO_MANY)
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def packed_kinds(self) -> Kinds:
        kinds = self.kinds
        events = [event for kind in kinds for event in kind.events]
        return Kinds(
            np.array([kind.place for kind in kinds]),
            np.array([kind.row for kind in kinds]),
            np.array([kind.step for kind in kinds]),
            np.array([kind.server for kind in kinds]),
            np.array([kind.speed for kind in kinds]),
            np.array([kind.held for kind in kinds], dtype=np.int64).reshape(len(kinds), len(self.resource)),
            np.cumsum([0, *(len(kind.events) for kind in kinds)]),
            np.array([event[0] for event in events]),
            *(np.array([event[i] for event in events], dtype=np.int64) for i in (1, 2, 3)),
        )

    def packed_steps(self) -> Steps:
        steps = self.steps
        return Steps(
            np.array([step.code for step in steps]),
            np.array([step.place for step in steps]),
            np.array([step.row for step in steps]),
            np.array([step.units for step in steps]),
            np.array([step.waits for step in steps]),
            np.array([step.elsewhere for step in steps]),
            np.array([step.held for step in steps], dtype=np.int64).reshape(len(steps), len(self.resource)),
            np.cumsum([0, *(len(step.then) for step in steps)]),
            np.array([to for step in steps for to, _ in step.then], dtype=np.int64),
            np.array([part for step in steps for _, part in step.then]),
        )


def _check(station: Station, network: Network) -> None:
    """Refuse stations of which a state says more than who is where, in which order."""
    unequal = len(set(station.speeds)) > 1
    if station.cost_by_busy and (unequal or station.lpar is not None):
        raise UnsupportedError(f"station {station.name!r} has cost_by_busy on unequal or shared engines")
    if station.overflow is not None and network.station(station.overflow.to).overflow is not None:
        raise UnsupportedError(f"station {station.name!r} overflows to one that overflows itself")


def _places(net: Arrays, most: Ints) -> Places:
    network, resources = net.network, net.network.resources
    waiting = len(resources) + 1
    # Those beyond two threads a core wait in order.
    codes = [FCFS if s.smt else CODES[s.scheduling] for s in network.stations]
    servers = [2 * s.servers if s.smt else s.servers for s in network.stations]
    alike = [len(set(s.speeds)) == 1 for s in network.stations]
    enough = [
        s.capacity if s.capacity is not None else threads + s.overflow.waiting if s.overflow else MOST_KINDS
        for s, threads in zip(network.stations, servers, strict=True)
    ]
    enough += [MOST_KINDS if r.queue_limit is None else r.queue_limit for r in resources] + [MOST_KINDS]
    work, used = np.ones((2, len(codes) + waiting, max([1, *servers])))
    for k, (can, takes) in enumerate(net.curves):
        each = np.arange(1.0, servers[k] + 1)
        work[k, : servers[k]] = can / each if alike[k] else 1.0
        used[k, : servers[k]] = takes / each
    names = [cec.name for cec in network.cecs]
    parts = [s.lpar for s in network.stations]
    total = {name: sum(p.weight for p in parts if p is not None and p.cec == name) for name in names}
    engines = np.array([float(cec.engines) for cec in network.cecs])
    caps = np.full(len(codes), np.inf)
    for k, part in enumerate(parts):
        if part is not None and part.cap != "none":
            share = part.weight / total[part.cec] * engines[names.index(part.cec)]
            caps[k] = share if part.cap == "share" else float(part.cap)
    return Places(
        np.array(codes + [DELAY] * waiting),
        np.array(servers + [1] * waiting),
        np.array(alike + [True] * waiting),
        np.array(enough, dtype=np.int64),
        work,
        used,
        np.array([-1 if part is None else names.index(part.cec) for part in parts], dtype=np.int64),
        np.array([0.0 if part is None else float(part.weight) for part in parts]),
        caps,
        engines,
        np.array([r.capacity for r in resources], dtype=np.int64),
        np.array([r.scheduling == "hol" for r in resources], dtype=np.bool_),
        net.priority,
        # Whole numbers would have the walk compiled again.
        np.asarray(net.weight, dtype=float),
        most,
    )


def _phases(time: Distribution) -> Phases:
    """Exponential phases of a time, as rates a second of those passed one after the other, with the chance of each."""
    if time.mean == 0:
        return [(1.0, [])]
    if time.offset == 0 and time.kind == "exponential":
        return [(1.0, [1 / time.mean])]
    if time.offset == 0 and time.kind == "erlang" and time.shape <= MOST_KINDS:
        return [(1.0, [time.shape / time.mean] * int(time.shape))]
    if time.offset == 0 and time.kind == "hyperexponential" and min(time.values) > 0:
        return [(part, [1 / mean]) for mean, part in zip(time.values, time.weights, strict=True) if part > 0]
    shape = f"{time.kind} times" if time.offset == 0 else "times with a fixed part"
    raise UnsupportedError(f"{shape} have no exponential phases, or too many")


def _sizes(batch: Distribution) -> list[tuple[int, float]]:
    """How many transactions an arrival brings, with the chance of each."""
    if batch.kind != "deterministic" or batch.mean < 1:
        raise UnsupportedError("batches of arrivals vary")
    whole = math.floor(batch.mean)
    more = batch.mean - whole
    return [(whole, 1 - more), (whole + 1, more)] if more else [(whole, 1.0)]
