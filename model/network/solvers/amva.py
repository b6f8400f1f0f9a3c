"""Approximate mean value analysis of arrays: the Linearizer, at several servers, with priorities and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.network.solvers.arrays import (
    DELAY,
    FCFS,
    HEAD_OF_LINE,
    PREEMPTIVE,
    PRIORITY_SHARING,
    SHARING,
    WEIGHTED,
    Floats,
    Ints,
    Known,
    Returns,
    State,
)
from model.network.solvers.linearizer import linearizer

__all__ = [
    "DELAY",
    "FCFS",
    "HEAD_OF_LINE",
    "PREEMPTIVE",
    "PRIORITY_SHARING",
    "SHARING",
    "WEIGHTED",
    "AmvaResult",
    "amva",
    "capacities",
]

OUTER_PASSES = 3


class AmvaResult(NamedTuple):
    """``throughput`` (classes,); ``queue_length``, ``residence`` per passage and ``utilisation`` (stations, classes).

    Utilisation is per server. ``iterations`` counts core steps; ``converged`` is False where the last core did not
    settle or an open class saturates.
    """

    throughput: Floats
    queue_length: Floats
    residence: Floats
    utilisation: Floats
    iterations: int
    converged: bool


def capacities(servers: Ints, load_dependent: Mapping[int, ArrayLike]) -> tuple[Floats, Ints]:
    """Capacity (stations, levels) with 1, 2, ... customers and how many levels each station has."""
    rows = [
        np.asarray(load_dependent[k], dtype=float) if k in load_dependent else np.arange(1.0, max(int(c), 1) + 1)
        for k, c in enumerate(servers)
    ]
    levels = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.ones((len(rows), int(levels.max(initial=1))))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
        table[k, len(row) :] = row[-1]
    return table, levels


def known_of(
    demands: ArrayLike,
    servers: ArrayLike,
    load_dependent: Mapping[int, ArrayLike] | None = None,
    **given: ArrayLike | None,
) -> Known:
    """A network as the compiled solvers read it.

    Args:
        demands: (stations, classes) visits x service.
        servers: (stations,), -1 for a delay.
        load_dependent: station index -> capacity with 1, 2, ... customers, in multiples of one server, the last beyond.
        given: fields of :class:`Known` by their names, ``service``, ``scv``, ``slowed``, ``hindered`` and ``in_a_row``
            as (stations, classes). Without them all classes are closed and alike, stations share, and visits come at
            any time; ``service`` is needed where classes with different service queue together.
    """
    d = np.atleast_2d(np.asarray(demands, dtype=float)).T.copy()
    m = np.asarray(servers, dtype=np.int64)
    capacity, levels = capacities(m, {} if load_dependent is None else load_dependent)
    none, zeros, ones = Returns.none(*d.shape), np.zeros(len(d)), np.ones(len(d))
    known = Known(
        rates=np.full(len(d), -1.0), think=zeros, in_turn=ones, priority=zeros, weights=ones,
        demands=d, service=d, scv=np.ones_like(d), slowed=np.ones_like(d), hindered=np.ones_like(d),
        in_a_row=np.ones_like(d), share=none.share, between=none.between, most_above=np.full(d.shape, np.inf),
        discipline=np.full(len(m), SHARING), capacity=capacity, levels=levels,
    )  # fmt: skip
    fields = {name: np.asarray(value, getattr(known, name).dtype) for name, value in given.items() if value is not None}
    for name in fields.keys() & {"service", "scv", "slowed", "hindered", "in_a_row"}:
        fields[name] = fields[name].T.copy()
    known = known._replace(**fields)
    return known._replace(
        service=np.where((d > 0) & ~(known.service > 0), d, np.nan_to_num(known.service)),
        scv=np.nan_to_num(known.scv, nan=1.0),
        discipline=np.where(m < 0, DELAY, known.discipline),
    )


def amva(
    populations: ArrayLike,
    demands: ArrayLike,
    servers: ArrayLike,
    think: ArrayLike | None = None,
    *,
    load_dependent: Mapping[int, ArrayLike] | None = None,
    passes: int = OUTER_PASSES,
    tolerance: float = 1e-6,
    **given: ArrayLike | None,
) -> AmvaResult:
    """Approximate solution of a closed, open or mixed multi-class network.

    Args:
        populations: (classes,) customers; ignored for open classes.
        demands, servers, think, load_dependent, given: what is known of the network, as for :func:`known_of`.
        passes: 1 is Bard-Schweitzer, 3 the Linearizer.
        tolerance: largest relative change of a queue length at the end.
    """
    known = known_of(demands, servers, load_dependent, think=think, **given)
    none, n = np.zeros_like(known.demands), np.asarray(populations, dtype=float)
    state = State(n, none, none.copy(), np.zeros(len(n)))
    iterations, converged = linearizer(state, known, passes, tolerance)
    last = known.capacity[np.arange(len(known.levels)), known.levels - 1]
    busy = known.demands.T * state.throughput / np.where(known.discipline == DELAY, 1.0, last)[:, None]
    return AmvaResult(state.throughput, state.queue.T, state.residence.T, busy, iterations, converged)
