"""Small closed queueing networks solved exactly as Markov chains, whatever their discipline.

Service is of phase type: exponential, Erlang, hyper-exponential or any acyclic mix of exponential phases. An open
class is a closed one with a source station (``with_sources``), which truncates its population.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.arrays import Floats
from tests.oracles.markov_chain import explore, stationary

Discipline = Literal["delay", "ps", "dps", "fcfs", "hol", "preemptive"]


@dataclass(frozen=True)
class Phases:
    """A phase-type time: ``start`` chances of the first phase, ``rates`` of each, ``next`` chances of another after
    it.
    """

    start: tuple[float, ...]
    rates: tuple[float, ...]
    next: tuple[tuple[float, ...], ...] = field(default=())

    @classmethod
    def exponential(cls, mean: float) -> Phases:
        """One phase."""
        return cls((1.0,), (1.0 / mean,), ((0.0,),))

    @classmethod
    def erlang(cls, mean: float, stages: int) -> Phases:
        """``stages`` equal phases in a row."""
        follow = tuple(tuple(float(j == i + 1) for j in range(stages)) for i in range(stages))
        return cls((1.0,) + (0.0,) * (stages - 1), (stages / mean,) * stages, follow)

    @classmethod
    def hyperexponential(cls, means: Sequence[float], chances: Sequence[float]) -> Phases:
        """One of several phases."""
        n = len(means)
        return cls(tuple(chances), tuple(1.0 / m for m in means), ((0.0,) * n,) * n)

    @classmethod
    def with_scv(cls, mean: float, scv: float) -> Phases:
        """Two moments: Erlang (nearest below 1), exponential, or hyper-exponential with balanced means."""
        if abs(scv - 1) < 1e-9:
            return cls.exponential(mean)
        if scv < 1:
            return cls.erlang(mean, max(round(1 / scv), 1))
        p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
        return cls.hyperexponential((mean / (2 * p), mean / (2 * (1 - p))), (p, 1 - p))

    def starts(self) -> list[tuple[int, float]]:
        """(phase, chance) of the first phase."""
        return [(i, p) for i, p in enumerate(self.start) if p > 0]

    def ends(self, phase: int) -> tuple[list[tuple[int, float]], float]:
        """Phases that may follow, with their chances, and the chance that service ends."""
        follow = [(j, p) for j, p in enumerate(self.next[phase]) if p > 0] if self.next else []
        return follow, 1.0 - sum(p for _, p in follow)


@dataclass(frozen=True)
class MarkovStation:
    """``service`` by class (None where a class never comes); ``servers`` -1 for a delay; ``weights`` under ``dps``."""

    service: tuple[Phases | None, ...]
    discipline: Discipline = "ps"
    servers: int = 1
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class MarkovNetwork:
    """Closed network; ``routing[r]`` (stations, stations) moves class r; ``priority`` by class, larger goes first."""

    stations: tuple[MarkovStation, ...]
    populations: tuple[int, ...]
    routing: tuple[tuple[tuple[float, ...], ...], ...]
    priority: tuple[float, ...] = ()


class MarkovResult(NamedTuple):
    """``throughput``, ``queue_length`` and ``busy`` servers (stations, classes); ``states`` counts them."""

    throughput: Floats
    queue_length: Floats
    busy: Floats
    states: int


# Under sharing a station's state is the sorted tuple of (class, phase); in order of arrival it is a pair: the sorted
# tuple in service and the sequence of classes waiting.
def _in_order(station: MarkovStation) -> bool:
    return station.discipline in ("fcfs", "hol")


class _Walk:
    def __init__(self, network: MarkovNetwork) -> None:
        self.network = network
        self.priority = network.priority or (0.0,) * len(network.populations)
        self.moves = [[[(j, p) for j, p in enumerate(row) if p > 0] for row in matrix] for matrix in network.routing]
        for station in network.stations:
            if station.discipline == "preemptive" and any(s is not None and len(s.rates) > 1 for s in station.service):
                raise ValueError("preemptive stations are solved for exponential service only")

    def first(self, station: int, r: int) -> list[tuple[int, float]]:
        service = self.network.stations[station].service[r]
        if service is None:
            raise ValueError(f"class {r} is routed to station {station}, where it has no service")
        return service.starts()

    def arrive(self, k: int, state: tuple, r: int) -> list[tuple[tuple, float]]:
        station = self.network.stations[k]
        if not _in_order(station):
            return [(tuple(sorted((*state, (r, i)))), p) for i, p in self.first(k, r)]
        serving, waiting = state
        if len(serving) < station.servers:
            return [((tuple(sorted((*serving, (r, i)))), waiting), p) for i, p in self.first(k, r)]
        return [((serving, (*waiting, r)), 1.0)]

    def leave(self, k: int, state: tuple, job: tuple[int, int]) -> list[tuple[tuple, float]]:
        station = self.network.stations[k]
        if not _in_order(station):
            rest = list(state)
            rest.remove(job)
            return [(tuple(rest), 1.0)]
        serving, waiting = list(state[0]), state[1]
        serving.remove(job)
        if not waiting:
            return [((tuple(serving), ()), 1.0)]
        at = 0
        if station.discipline == "hol":
            at = max(range(len(waiting)), key=lambda i: (self.priority[waiting[i]], -i))
        r, left = waiting[at], waiting[:at] + waiting[at + 1 :]
        return [((tuple(sorted((*serving, (r, i)))), left), p) for i, p in self.first(k, r)]

    def working(self, k: int, state: tuple) -> dict[tuple[int, int], float]:
        """Servers at work on each (class, phase)."""
        station = self.network.stations[k]
        jobs = state[0] if _in_order(station) else state
        counts: dict[tuple[int, int], float] = {}
        for job in jobs:
            counts[job] = counts.get(job, 0.0) + 1.0
        c = station.servers
        if c < 0 or station.discipline in ("delay", "fcfs", "hol") or len(jobs) <= c:
            return counts
        if station.discipline == "ps":
            return {job: n * c / len(jobs) for job, n in counts.items()}
        if station.discipline == "dps":
            return _weighted(counts, c, station.weights)
        left = float(c)
        shares: dict[tuple[int, int], float] = {}
        for level in sorted({self.priority[job[0]] for job in counts}, reverse=True):
            here = {job: n for job, n in counts.items() if self.priority[job[0]] == level}
            size = sum(here.values())
            used = min(left, size)
            # Within a level the first to come are served; for exponential service equal means make that a fair share.
            shares.update({job: n * used / size for job, n in here.items()})
            left -= used
        return shares

    def transitions(self, state: tuple) -> Iterator[tuple[tuple, float]]:
        for k, here in enumerate(state):
            for job, servers in self.working(k, here).items():
                if servers == 0:
                    continue
                r, phase = job
                service = self.network.stations[k].service[r]
                assert service is not None
                rate = servers * service.rates[phase]
                follow, done = service.ends(phase)
                for j, p in follow:
                    yield (
                        self._replaced(state, k, _moved(here, job, (r, j), _in_order(self.network.stations[k]))),
                        rate * p,
                    )
                if done <= 0:
                    continue
                for left, p_left in self.leave(k, here, job):
                    without = self._replaced(state, k, left)
                    for to, p_move in self.moves[r][k]:
                        for joined, p_in in self.arrive(to, without[to], r):
                            yield self._replaced(without, to, joined), rate * done * p_left * p_move * p_in

    @staticmethod
    def _replaced(state: tuple, k: int, new: tuple) -> tuple:
        return (*state[:k], new, *state[k + 1 :])

    def initial(self) -> tuple:
        state = tuple(((), ()) if _in_order(s) else () for s in self.network.stations)
        for r, n in enumerate(self.network.populations):
            home = next(k for k, s in enumerate(self.network.stations) if s.service[r] is not None)
            for _ in range(n):
                state = self._replaced(state, home, self.arrive(home, state[home], r)[0][0])
        return state


def _moved(state: tuple, job: tuple[int, int], new: tuple[int, int], ordered: bool) -> tuple:
    jobs = list(state[0] if ordered else state)
    jobs.remove(job)
    moved = tuple(sorted((*jobs, new)))
    return (moved, state[1]) if ordered else moved


def _weighted(
    counts: dict[tuple[int, int], float], servers: int, weights: tuple[float, ...]
) -> dict[tuple[int, int], float]:
    """Capacity in proportion to weight, nobody more than one server; what they leave goes to the others."""
    shares: dict[tuple[int, int], float] = {}
    open_jobs, left = dict(counts), float(servers)
    while open_jobs:
        total = sum(n * weights[job[0]] for job, n in open_jobs.items())
        full = [job for job in open_jobs if weights[job[0]] * left / total >= 1.0]
        if not full:
            shares.update({job: n * weights[job[0]] * left / total for job, n in open_jobs.items()})
            break
        for job in full:
            shares[job] = open_jobs.pop(job)
            left -= shares[job]
    return shares


def solve_markov(network: MarkovNetwork, limit: int = 300_000) -> MarkovResult:
    """Exact means; raises ``ValueError`` above ``limit`` states."""
    walk = _Walk(network)
    chain = explore(walk.initial(), walk.transitions, limit)
    p = stationary(chain.rates)
    shape = (len(network.stations), len(network.populations))
    queue, busy, flow = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for state, chance in zip(chain.states, p, strict=True):
        for k, here in enumerate(state):
            ordered = _in_order(network.stations[k])
            for r, _ in here[0] if ordered else here:
                queue[k, r] += chance
            for r in here[1] if ordered else ():
                queue[k, r] += chance
            for (r, phase), servers in walk.working(k, here).items():
                service = network.stations[k].service[r]
                assert service is not None
                busy[k, r] += chance * servers
                flow[k, r] += chance * servers * service.rates[phase] * service.ends(phase)[1]
    return MarkovResult(flow, queue, busy, len(chain.states))


def cyclic_routing(visits: ArrayLike) -> tuple[tuple[float, ...], ...]:
    """A routing matrix with the given visits: each completion goes to a station with chance visits / total."""
    v = np.asarray(visits, dtype=float)
    row = tuple(float(x) for x in v / v.sum())
    return tuple(row for _ in v)


def with_sources(network: MarkovNetwork, rates: Sequence[float | None], limits: Sequence[int]) -> MarkovNetwork:
    """Make classes open: ``rates[r]`` per unit time, at most ``limits[r]`` customers; None leaves class r closed.

    The routing of an open class must leave what ends as missing probability, and start with ``routing[r][0]`` being the
    station it enters first: it enters at station 0.
    """
    stations = list(network.stations)
    routing = [[list(row) for row in matrix] for matrix in network.routing]
    populations = list(network.populations)
    for r, rate in enumerate(rates):
        if rate is None:
            continue
        populations[r] = limits[r]
    services = tuple(None if rate is None else Phases.exponential(1.0 / rate) for rate in rates)
    source_rows = []
    for r, matrix in enumerate(routing):
        for row in matrix:
            row.append(max(0.0, 1.0 - sum(row)) if rates[r] is not None else 0.0)
        source_rows.append([1.0] + [0.0] * len(stations) if rates[r] is not None else [0.0] * (len(stations) + 1))
    stations = [replace(s, service=s.service) for s in stations]
    # One source a class: they must not share a server, hence a station of their own each.
    for r, service in enumerate(services):
        if service is None:
            continue
        only = tuple(service if s == r else None for s in range(len(rates)))
        stations.append(MarkovStation(only, "ps", 1))
    sources = [r for r, rate in enumerate(rates) if rate is not None]
    built = []
    inside = len(network.stations)
    for r, matrix in enumerate(routing):
        size = inside + len(sources)
        full = np.zeros((size, size))
        for k in range(inside):
            full[k, :inside] = matrix[k][:inside]
            if r in sources:
                full[k, inside + sources.index(r)] = matrix[k][inside]
        for i, s in enumerate(sources):
            if s == r:
                full[inside + i, :inside] = source_rows[r][:inside]
        built.append(tuple(tuple(float(x) for x in row) for row in full))
    return MarkovNetwork(tuple(stations), tuple(populations), tuple(built), network.priority)
