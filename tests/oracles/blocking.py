"""Closed networks whose stations hold only so many customers; whoever finds the next one full stays and blocks its
server.

Blocking after service, single class, exponential service. Exact as a Markov chain; Akyildiz's mean value analysis
where the chain is too large (*IEEE TSE* 14, 1988).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracles.markov_chain import explore, stationary
from tests.oracles.product_form import visit_ratios

Floats = NDArray[np.float64]
State = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class BlockingResult(NamedTuple):
    """Per station: ``throughput``, ``queue_length`` with blocked ones, ``response`` of a visit, ``utilisation``."""

    throughput: Floats
    queue_length: Floats
    response: Floats
    utilisation: Floats
    exact: bool


def cyclic(stations: int) -> Floats:
    """Routing of a ring."""
    return np.roll(np.eye(stations), 1, axis=1)


def closed_blocking(
    population: int,
    service: ArrayLike,
    capacities: ArrayLike,
    routing: ArrayLike,
    servers: ArrayLike | None = None,
    limit: int = 100_000,
) -> BlockingResult:
    """Exact solution.

    Args:
        population: customers, fewer than all places together.
        service: (stations,) mean of one visit.
        capacities: (stations,) places, those in service included; -1 without limit.
        routing: (stations, stations) chances of the next station.
        servers: (stations,), default one each, -1 for a delay.
        limit: largest number of states.

    Raises:
        ValueError: the population does not fit, the network can lock up, or there are too many states.
    """
    s = np.asarray(service, dtype=float)
    n = len(s)
    places = [population if c < 0 else int(c) for c in np.asarray(capacities)]
    if population >= sum(places) and population > 0 and not all(c >= population for c in places):
        raise ValueError(f"{population} customers need fewer than the {sum(places)} places there are")
    m = [population if servers is not None and np.asarray(servers)[k] < 0 else 1 for k in range(n)]
    if servers is not None:
        m = [m[k] if c < 0 else int(c) for k, c in enumerate(np.asarray(servers))]
    p = np.asarray(routing, dtype=float)
    moves = [[(j, float(p[i, j])) for j in range(n) if p[i, j] > 0] for i in range(n)]

    def working(state: State, k: int) -> int:
        held, blocked = state
        stuck = sum(queue.count(k) for queue in blocked)
        return min(held[k], m[k]) - stuck if held[k] else 0

    def transitions(state: State) -> Iterator[tuple[State, float]]:
        for i in range(n):
            servers_at_work = working(state, i)
            if servers_at_work <= 0:
                continue
            for j, chance in moves[i]:
                held, blocked = list(state[0]), [list(q) for q in state[1]]
                if i != j:
                    if held[j] >= places[j]:
                        blocked[j].append(i)
                    else:
                        held[j] += 1
                        _free(i, held, blocked)
                yield (tuple(held), tuple(tuple(q) for q in blocked)), servers_at_work / s[i] * chance

    start, left = [], population
    for c in places:
        start.append(min(c, left))
        left -= start[-1]
    empty: tuple[tuple[int, ...], ...] = ((),) * n
    chain = explore((tuple(start), empty), transitions, limit)
    if np.any(np.asarray(chain.rates.sum(axis=1)).ravel() == 0):
        raise ValueError("the network can lock up: every server of some ring of full stations is blocked")
    probabilities = stationary(chain.rates)
    queue = np.array([chain.mean(lambda st, k=k: st[0][k], probabilities) for k in range(n)])  # type: ignore[misc]
    work = np.array([chain.mean(lambda st, k=k: working(st, k), probabilities) for k in range(n)])  # type: ignore[misc]
    throughput = work / s
    return BlockingResult(throughput, queue, queue / throughput, work / np.array(m), True)


def _free(station: int, held: list[int], blocked: list[list[int]]) -> None:
    """A customer leaves ``station``: the first one blocked by it moves in, which frees a place where that one was."""
    while blocked[station]:
        station = blocked[station].pop(0)
    held[station] -= 1


def closed_blocking_approximate(
    population: int, service: ArrayLike, capacities: ArrayLike, routing: ArrayLike
) -> BlockingResult:
    """Akyildiz's mean value analysis: a station that would overfill refuses the queue and delays those feeding it.

    Single servers. Throughput within about 10 % in published comparisons, responses at full stations much worse.
    """
    s, places = np.asarray(service, dtype=float), np.asarray(capacities, dtype=float)
    places = np.where(places < 0, np.inf, places)
    p = np.asarray(routing, dtype=float)
    v = visit_ratios(p)
    queue, added, own = np.zeros(len(s)), np.zeros(len(s)), np.ones(len(s))
    throughput, response = 0.0, s.copy()
    for customers in range(1, population + 1):
        while True:
            response = s * (own + queue) + added
            throughput = customers / float(v @ response)
            new = throughput * v * response
            over = np.flatnonzero(new > places)
            if len(over) == 0:
                break
            full = int(over[0])
            own[full] = 0.0
            added += s[full] * v * p[:, full] / v[full]
        queue = new
    x = throughput * v
    return BlockingResult(x, queue, response, x * s, False)
