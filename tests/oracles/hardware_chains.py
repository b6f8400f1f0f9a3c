"""Exact Markov chains of hardware effects: SMT-2 cores, weighted LPARs, a limit in front of engines, synchronous
coupling-facility requests.

Arrivals are Poisson and work is exponential, so each is a chain over a few counts; the open ones are cut where the
probability beyond is below ``TAIL``. docs/oracles.md derives them. They check the simulator and are checked by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from model.network.limits import water_filling
from tests.oracles.erlang import birth_death
from tests.oracles.markov_chain import Floats, explore, stationary

TAIL = 1e-13


class SmtFigures(NamedTuple):
    """``length`` transactions inside, ``response_s``, ``utilization`` of the cores, ``thread_density``."""

    length: float
    response_s: float
    utilization: float
    thread_density: float


def smt_rates(cores: int, gain: float, packing: str = "spread") -> Floats:
    """Total rate, in single-thread engines, of ``cores`` two-thread cores with 1 … 2·cores active threads.

    Spread: a second thread starts on a core only when none is idle. Dense: a core is filled before the next one.
    """
    threads = np.arange(1, 2 * cores + 1, dtype=float)
    if packing == "dense":
        return np.floor(threads / 2) * gain + threads % 2
    pairs = np.maximum(threads - cores, 0.0)
    return np.minimum(threads, cores) - pairs + pairs * gain


def smt_birth_death(
    arrival_rate: float, service_rate: float, cores: int, gain: float, packing: str = "spread"
) -> SmtFigures:
    """An open pool of SMT-2 cores as a birth-death chain; ``service_rate`` is that of a thread alone on its core.

    Raises:
        ValueError: the load is not below the rate of all threads together.
    """
    rates = service_rate * smt_rates(cores, gain, packing)
    load = arrival_rate / rates[-1]
    if load >= 1:
        raise ValueError(f"arrivals take {load:.1%} of what all threads can do")
    n = 2 * cores + int(np.ceil(np.log(TAIL) / np.log(load))) + 1
    deaths = rates[np.minimum(np.arange(1, n + 1), 2 * cores) - 1]
    p = birth_death(np.full(n, arrival_rate), deaths)
    inside = np.arange(n + 1)
    threads = np.minimum(inside, 2 * cores)
    busy = (threads + 1) // 2 if packing == "dense" else np.minimum(inside, cores)
    length = float(p @ inside)
    return SmtFigures(length, length / arrival_rate, float(p @ busy) / cores, float(p @ threads) / float(p @ busy))


class LparFigures(NamedTuple):
    """Of each LPAR: transactions inside, response, engines used; and the share of the machine in use."""

    length: Floats
    response_s: Floats
    engines_used: Floats
    machine_utilization: float


def weighted_lpars(
    engines: float,
    logical: Sequence[int],
    weights: Sequence[float],
    arrival_rates: Sequence[float],
    service_rates: Sequence[float],
    capped: Sequence[bool] | None = None,
    longest: int = 150,
) -> LparFigures:
    """LPARs sharing a machine by weight, processor sharing inside each; at most ``longest`` transactions in an LPAR."""
    capped = capped or [False] * len(logical)
    share = [w / sum(weights) * engines for w in weights]
    most = [min(n, s) if c else float(n) for n, s, c in zip(logical, share, capped, strict=True)]

    def allocated(state: tuple[int, ...]) -> list[float]:
        return water_filling([min(n, m) for n, m in zip(state, most, strict=True)], weights, engines)

    def moves(state: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        given = allocated(state)
        for i, n in enumerate(state):
            if n < longest:
                yield (*state[:i], n + 1, *state[i + 1 :]), arrival_rates[i]
            if n > 0:
                yield (*state[:i], n - 1, *state[i + 1 :]), given[i] * service_rates[i]

    chain = explore((0,) * len(logical), moves)
    p = stationary(chain.rates)
    length = p @ np.array(chain.states, float)
    used = p @ np.array([allocated(state) for state in chain.states])
    return LparFigures(length, length / np.asarray(arrival_rates), used, float(used.sum()) / engines)


class LimitFigures(NamedTuple):
    """Response, mean wait for a unit, units in use, engine utilization, chance of having to wait for a unit."""

    response_s: float
    wait_s: float
    in_use: float
    utilization: float
    waited_share: float


def passive_resource(
    arrival_rate: float, units: int, engines: int, service_rate: float, io_rate: float, longest: int = 600
) -> LimitFigures:
    """Transactions that hold one of ``units`` while they use one of ``engines`` (FCFS) and then do an I/O (delay)."""

    def moves(state: tuple[int, int]) -> Iterator[tuple[tuple[int, int], float]]:
        inside, in_io = state
        held = min(inside, units)
        if inside < longest:
            yield (inside + 1, in_io), arrival_rate
        running = min(held - in_io, engines)
        if running > 0:
            yield (inside, in_io + 1), running * service_rate
        if in_io > 0:
            yield (inside - 1, in_io - 1), in_io * io_rate

    chain = explore((0, 0), moves)
    p = stationary(chain.rates)
    length = chain.mean(lambda s: s[0], p)
    waiting = chain.mean(lambda s: max(0, s[0] - units), p)
    busy = chain.mean(lambda s: min(min(s[0], units) - s[1], engines), p)
    return LimitFigures(
        length / arrival_rate,
        waiting / arrival_rate,
        chain.mean(lambda s: min(s[0], units), p),
        busy / engines,
        chain.mean(lambda s: float(s[0] >= units), p),
    )


class CouplingFigures(NamedTuple):
    """Response, engine utilization (spinning included), the part of it spent spinning, facility utilization."""

    response_s: float
    utilization: float
    spin_utilization: float
    facility_utilization: float


def sync_cf(
    arrival_rate: float,
    engines: int,
    issue_rate: float,
    facility_rate: float,
    longest: int = 400,
) -> CouplingFigures:
    """Requests that run on one of ``engines`` and then keep it until a single coupling facility (FCFS) has answered.

    In order of arrival or shared: an engine that is kept is kept whole, and the number that run is the same.
    """

    def moves(state: tuple[int, int]) -> Iterator[tuple[tuple[int, int], float]]:
        inside, at_facility = state
        if inside < longest:
            yield (inside + 1, at_facility), arrival_rate
        running = min(inside, engines) - at_facility
        if running > 0:
            yield (inside, at_facility + 1), running * issue_rate
        if at_facility > 0:
            yield (inside - 1, at_facility - 1), facility_rate

    chain = explore((0, 0), moves)
    p = stationary(chain.rates)

    return CouplingFigures(
        chain.mean(lambda s: s[0], p) / arrival_rate,
        chain.mean(lambda s: min(s[0], engines), p) / engines,
        chain.mean(lambda s: s[1], p) / engines,
        chain.mean(lambda s: float(s[1] > 0), p),
    )
