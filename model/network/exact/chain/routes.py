"""The routes of a network as a Markov chain needs them: kinds of customers, and what each may do next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from model.network.arrays import Arrays
from model.network.description import Network
from model.network.distributions import Distribution
from model.network.elements import Arrivals, Station
from model.network.errors import UnsupportedError
from model.network.flows import flows
from model.network.lowering import Op

Phases = list[tuple[float, list[float]]]
NOBODY = -1
MOST_VISITS = 20
MOST_KINDS = 10_000
"""Kinds of customers; a chain of more has more states than are solved."""
TOO_MANY = "it has too many states"


@dataclass(slots=True)
class Kind:
    """A kind of customers.

    Attributes
    ----------
    place : int
        A station, then a resource that is waited for, and last where users think and arrivals are made.
    row : int
        The class.
    step : int
        The step that is waited for, ``NOBODY`` in service.
    server, speed
        Of unequal servers the one that serves, and its speed.
    holdings : tuple of int
        Units of each resource.
    events : list of (rate, becomes, begins, copies)
        ``rate`` times a second it becomes another kind (``NOBODY``: it leaves) and ``copies`` customers begin a step.
    """

    place: int
    row: int
    step: int = NOBODY
    server: int = 0
    speed: float = 1.0
    holdings: tuple[int, ...] = ()
    events: list[tuple[float, int, int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Step:
    """A step of a route.

    Attributes
    ----------
    code : str
        ``visit``, ``acquire``, ``release``, ``go`` or ``end``.
    place, units
        The station or resource, and units of the latter.
    waits : int
        The kind of those who wait for the step.
    elsewhere : int
        The step of those who find too many there, ``NOBODY`` where everybody waits.
    holdings : tuple of int
        Units held on coming to it.
    then : list of (step, chance)
        What follows; of a visit the kind in service at its first server.
    """

    code: str
    place: int = 0
    units: int = 0
    waits: int = NOBODY
    elsewhere: int = NOBODY
    holdings: tuple[int, ...] = ()
    then: list[tuple[int, float]] = field(default_factory=list)


class Routes:
    """All ``kinds`` and ``steps``; ``sources`` are there from the start, ``entering`` are the steps that users begin.

    Raises
    ------
    UnsupportedError
        Times are not of exponential phases, or a route has parts that a chain does not follow.
    """

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
        self.kinds: list[Kind] = []
        self.steps: list[Step] = []
        self.sources: list[int] = []
        self.entering: list[int] = []
        self.end, self.has_spent_time = NOBODY, False
        for row, cls in enumerate(network.classes):
            start = self.route(row)
            if cls.arrivals is not None:
                self.sources.append(self.source(row, cls.arrivals, start))
            self.entering += [start] * cls.users

    def route(self, row: int) -> int:
        """Add the steps of a class; gives where it begins."""
        cls = self.net.network.classes[row]
        visited = self.flow.visited(row)
        self.end = end = self.step("end", self.none)
        ops = self.flow.ops
        at_step = {at: end if ops[at].kind == "end" else self.step("go", self.holdings(ops[at])) for at in visited}
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
                start = self.step("go", self.none)
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
                again = self.step("go", step.holdings)
                self.visit(row, again, k, service, after)
                after = [(again, chance), *((to, part * (1 - chance)) for to, part in after)]
            for _ in range(whole):
                earlier = self.step("go", step.holdings)
                self.visit(row, earlier, k, service, after)
                after = [(earlier, 1.0)]
            step.then = after
        elif op.kind in ("acquire", "release", "go"):
            step.code, step.then, step.units = op.kind, after, op.units
            if op.kind != "go":
                rho = self.resource[op.name]
                step.place = rho
                resource = self.net.network.resources[rho]
                if op.kind == "acquire" and resource.queue_limit is not None:
                    step.elsewhere = self.turned_away()
                step.waits = self.kind(Kind(len(self.column) + rho, row, at, holdings=step.holdings))
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
            self.steps[at].elsewhere = self.step("go", self.steps[at].holdings)
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
        step.code, step.place = "visit", k
        done = self.step("go", step.holdings, after)
        for chance, rates in service:
            follow = [NOBODY] * len(speeds)
            for i, rate in reversed(list(enumerate(rates))):
                starts = done if i == len(rates) - 1 else NOBODY
                follow = [
                    self.kind(
                        Kind(k, row, NOBODY, j, v, step.holdings, [(rate * v / pace, to, starts, int(starts >= 0))])
                    )
                    for j, (v, to) in enumerate(zip(speeds, follow, strict=True))
                ]
            step.then.append((follow[0], chance))
        # Who waits for a server need not have drawn its time.
        apart = len(service) > 1 or len(speeds) > 1
        step.waits = self.kind(Kind(k, row, at, holdings=step.holdings)) if apart else step.then[0][0]

    def source(self, row: int, arrivals: Arrivals, start: int) -> int:
        """Add the kinds that make arrivals; gives the one to begin with."""
        sizes = _sizes(arrivals.batch)
        if arrivals.on is not None and arrivals.off is not None:
            periods = (arrivals.on, arrivals.off, arrivals.interarrival)
            if any(len(_phases(d)) > 1 or len(_phases(d)[0][1]) > 1 for d in periods):
                raise UnsupportedError("arrivals with on and off periods are followed where all are exponential")
        branches = _phases(arrivals.interarrival)
        chains = [[self.kind(Kind(self.last, row, holdings=self.none)) for _ in rates] for _, rates in branches]
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
            resumes = (1 / arrivals.off.mean, first, NOBODY, 0)
            off = self.kind(Kind(self.last, row, holdings=self.none, events=[resumes]))
            self.kinds[first].events.append((1 / arrivals.on.mean, off, NOBODY, 0))
        return first

    def holdings(self, op: Op) -> tuple[int, ...]:
        return tuple(dict(op.holdings).get(name, 0) for name in self.resource)

    def step(self, code: str, holdings: tuple[int, ...], then: list[tuple[int, float]] | None = None) -> int:
        self.steps.append(Step(code, holdings=holdings, then=then or []))
        return len(self.steps) - 1

    def kind(self, kind: Kind) -> int:
        if len(self.kinds) == MOST_KINDS:
            raise UnsupportedError(TOO_MANY)
        self.kinds.append(kind)
        return len(self.kinds) - 1


def _check(station: Station, network: Network) -> None:
    """Refuse stations of which a state says more than who is where, in which order."""
    unequal = len(set(station.speeds)) > 1
    if station.cost_by_busy and (unequal or station.lpar is not None):
        raise UnsupportedError(f"station {station.name!r} has cost_by_busy on unequal or shared engines")
    if station.overflow is not None and network.station(station.overflow.to).overflow is not None:
        raise UnsupportedError(f"station {station.name!r} overflows to one that overflows itself")


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
