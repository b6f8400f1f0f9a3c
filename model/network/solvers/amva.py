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
    Classes,
    Floats,
    Importance,
    Ints,
    Stations,
    Visits,
)
from model.network.solvers.linearizer import Solution, linearizer

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


def amva(
    populations: ArrayLike,
    demands: ArrayLike,
    servers: ArrayLike,
    think_times: ArrayLike | None = None,
    *,
    in_turn: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    discipline: ArrayLike | None = None,
    service: ArrayLike | None = None,
    scv: ArrayLike | None = None,
    priority: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    slowed: ArrayLike | None = None,
    hindered: ArrayLike | None = None,
    in_a_row: ArrayLike | None = None,
    importance: Importance | None = None,
    load_dependent: Mapping[int, ArrayLike] | None = None,
    passes: int = OUTER_PASSES,
    tolerance: float = 1e-6,
) -> AmvaResult:
    """Approximate solution of a closed, open or mixed multi-class network.

    Args:
        populations: (classes,) customers; ignored for open classes.
        demands: (stations, classes) visits x service.
        servers: (stations,), -1 for a delay.
        think_times: (classes,).
        in_turn: (classes,) part of the residence by which a transaction takes longer; less than 1, the default, where
            branches of it run side by side.
        rates: (classes,) arrival rates of open classes, -1 for closed ones; default all closed.
        discipline: (stations,) one of the codes of this module; default sharing (product form).
        service: (stations, classes) time of one visit, needed where classes with different service queue together.
        scv: (stations, classes) squared coefficient of variation of one visit; default 1.
        priority: (classes,) larger goes first.
        weights: (classes,) shares under ``WEIGHTED``.
        slowed: (stations, classes) how much of what busy servers slow each other down falls on a visit; default 1.
        hindered: (stations, classes) how much of what a mean queue delays a visit does; less inside limits, default 1.
        in_a_row: (stations, classes) visits in order that follow one another with nothing in between; default 1.
        importance: how transactions meet more important work; default never straight after a visit, and any number.
        load_dependent: station index -> capacity with 1, 2, ... customers, in multiples of one server, the last beyond.
        passes: 1 is Bard-Schweitzer, 3 the Linearizer.
    """
    d = np.atleast_2d(np.asarray(demands, dtype=float)).T.copy()
    m = np.asarray(servers, dtype=np.int64)
    codes = np.full(len(m), SHARING) if discipline is None else np.asarray(discipline, dtype=np.int64)
    capacity, levels = capacities(m, {} if load_dependent is None else load_dependent)
    n = np.asarray(populations, dtype=float)
    known = Classes(
        rates=np.full(len(n), -1.0) if rates is None else np.asarray(rates, dtype=float),
        think=np.zeros(len(n)) if think_times is None else np.asarray(think_times, dtype=float),
        in_turn=np.ones(len(n)) if in_turn is None else np.asarray(in_turn, dtype=float),
        priority=np.zeros(len(n)) if priority is None else np.asarray(priority, dtype=float),
        weights=np.ones(len(n)) if weights is None else np.asarray(weights, dtype=float),
    )
    one = d.copy() if service is None else np.asarray(service, dtype=float).T
    variation = np.ones_like(d) if scv is None else np.nan_to_num(np.asarray(scv, dtype=float), nan=1.0).T.copy()
    burden = np.ones_like(d) if slowed is None else np.asarray(slowed, dtype=float).T.copy()
    left = np.ones_like(d) if hindered is None else np.asarray(hindered, dtype=float).T.copy()
    rows = np.ones_like(d) if in_a_row is None else np.asarray(in_a_row, dtype=float).T.copy()
    visits = Visits(d, np.where((d > 0) & ~(one > 0), d, np.nan_to_num(one)), variation, burden, left, rows)
    solution = Solution(np.zeros_like(d), np.zeros_like(d), np.zeros(len(n)))
    iterations, converged = linearizer(
        n,
        known,
        visits,
        Importance.none(*d.shape) if importance is None else importance,
        Stations(np.where(m < 0, DELAY, codes), capacity, levels),
        passes,
        tolerance,
        solution,
    )
    queue, residence, throughput = solution
    utilisation = d.T * throughput / np.where(m < 0, 1.0, capacity[np.arange(len(m)), levels - 1])[:, None]
    return AmvaResult(throughput, queue.T, residence.T, utilisation, iterations, converged)
