"""Continuous-time Markov chains: states found by walking the transitions, then the stationary distribution.

The oracle for everything small: whatever can be said as states and rates is solved exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import splu

Floats = NDArray[np.float64]
State = TypeVar("State", bound=Hashable)

DIRECT_LIMIT = 20_000


class Chain(Generic[State]):
    """States in the order they were found, and ``rates`` (sparse, from row to column, no diagonal)."""

    def __init__(self, states: list[State], rates: csr_array) -> None:
        self.states = states
        self.rates = rates

    def mean(self, reward: Callable[[State], float], probabilities: Floats) -> float:
        """Expected reward under ``probabilities`` (states,)."""
        return float(np.fromiter((reward(s) for s in self.states), float, len(self.states)) @ probabilities)


def explore(
    start: State, transitions: Callable[[State], Iterable[tuple[State, float]]], limit: int = 300_000
) -> Chain[State]:
    """The chain reachable from ``start``.

    Args:
        start: any hashable.
        transitions: (next state, rate) pairs out of a state; equal pairs add up.
        limit: largest number of states.

    Raises:
        ValueError: more states than ``limit``.
    """
    index: dict[State, int] = {start: 0}
    states = [start]
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    at = 0
    while at < len(states):
        for target, rate in transitions(states[at]):
            if rate <= 0 or target == states[at]:
                continue
            to = index.get(target)
            if to is None:
                to = index[target] = len(states)
                states.append(target)
                if len(states) > limit:
                    raise ValueError(f"more than {limit} states: too large for an exact Markov solution")
            rows.append(at)
            columns.append(to)
            values.append(rate)
        at += 1
    n = len(states)
    return Chain(states, coo_array((values, (rows, columns)), shape=(n, n)).tocsr())


def stationary(rates: csr_array, tolerance: float = 1e-13) -> Floats:
    """Stationary probabilities (states,) of an irreducible chain with off-diagonal ``rates``.

    Direct factorisation up to 20,000 states, Gauss-Seidel sweeps beyond.

    Raises:
        ValueError: the sweeps do not settle.
    """
    n = rates.shape[0]
    if n == 1:
        return np.ones(1)
    out = np.asarray(rates.sum(axis=1)).ravel()
    inward = rates.T.tocsr()
    if n <= DIRECT_LIMIT:
        # One state's probability is set to 1, the others follow from their balance, and the sum is normalised.
        balance = inward - coo_array((out, (np.arange(n), np.arange(n))), shape=(n, n)).tocsr()
        factor = splu(balance[1:, 1:].tocsc())
        p = np.concatenate(([1.0], factor.solve(-balance[1:, [0]].toarray().ravel())))
        p = np.maximum(p, 0.0)
        return p / p.sum()
    p = np.full(n, 1.0 / n)
    if not _sweep(inward.indptr, inward.indices, inward.data, out, p, tolerance, 100_000):
        raise ValueError(f"the Markov chain of {n} states did not settle")
    return p


@njit(cache=True)
def _sweep(
    start: NDArray[np.int32],
    source: NDArray[np.int32],
    rate: Floats,
    out: Floats,
    p: Floats,
    tolerance: float,
    limit: int,
) -> bool:
    for _ in range(limit):
        change = 0.0
        total = 0.0
        for backwards in range(2):
            for j in range(len(p)):
                i = len(p) - 1 - j if backwards else j
                inflow = 0.0
                for e in range(start[i], start[i + 1]):
                    inflow += p[source[e]] * rate[e]
                new = inflow / out[i]
                if backwards:
                    change = max(change, abs(new - p[i]))
                    total += new
                p[i] = new
        p /= total
        if change < tolerance * total:
            return True
    return False
