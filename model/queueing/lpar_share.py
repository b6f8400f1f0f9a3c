"""LPARs that share a machine's engines by weight: what one of them can get, and the pool that makes it wait as long.

The LPAR and the others are one Markov chain: how many of its own pieces of work are inside, by how many of theirs.
Whoever asks for less than its share gets it; the rest divide what is left by weight, as the hypervisor does. The chain
is a quasi-birth-death process (Latouche and Ramaswami, Introduction to Matrix Analytic Methods, 1999). How the others'
work lies with each of them is taken from their own such chains, as if they were independent: exact for two LPARs, waits
within a tenth for three and four. Work of all LPARs comes in pieces of equal mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.queueing.multiserver import number_in_system

Array = NDArray[np.float64]

# The smaller of more others are taken together; where all may use more engines, others leave what they do on average.
MOST_OTHERS, MOST_ENGINES = 3, 48
# Nodes that are computed in one go, which takes up to some 40 MB.
AT_ONCE = 16
# States of an LPAR beyond as many pieces as it can use engines; the last stands for all that follow.
FURTHER = 14
TURNS = 2
HALVINGS = 44
# Nodes of the pool's table: use as a part of what the LPAR can get, and the others' use as a part of the machine.
OWN = np.array([0.05, 0.25, 0.4, 0.52, 0.62, 0.7, 0.77, 0.83, 0.88, 0.92, 0.95, 0.98])
OTHERS = np.concatenate([[0.0, 0.12, 0.22], np.arange(0.3, 0.99, 0.04)])
STEPS_OWN, STEPS_OTHERS = np.diff(OWN), np.diff(OTHERS)
# Most of what is served at full queue that may come in a chain: beyond it there is no steady state.
STEADY = 0.985


@dataclass(frozen=True)
class Sharer:
    """One of the LPARs: logical engines, weight, whether it is held to its share, and its part of the others' use."""

    engines: float
    weight: float
    capped: bool = False
    part: float = 1.0
    name: str = "other LPARs"


@dataclass(frozen=True)
class Sharing:
    """An LPAR and the others on the engines they share; of each, the engines it can use at once."""

    physical: float
    own: Sharer
    others: tuple[Sharer, ...]

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, engines: float, management: float, own: Sharer, others: tuple[Sharer, ...]) -> Sharing:
        """As the LPARs of a machine of so many engines are defined, of which partition management uses some.

        Where the others are many, the smaller ones are taken together.
        """
        total = own.weight + sum(one.weight for one in others)

        def capped(one: Sharer) -> Sharer:
            most = engines * one.weight / total if one.capped else engines
            return replace(one, engines=min(one.engines, most))

        ranked = sorted((capped(one) for one in others if one.part > 0), key=lambda one: -one.part)
        few, rest = ranked[: MOST_OTHERS - 1], ranked[MOST_OTHERS - 1 :]
        if len(rest) > 1:
            weight, part = sum(one.weight for one in rest), sum(one.part for one in rest)
            rest = [Sharer(min(sum(one.engines for one in rest), engines), weight, part=part)]
        return cls(engines - management, capped(own), (*few, *rest))

    def used(self, others: Array) -> Array:
        """Engines the others use where they ask for so many: who is held to its share gets no more."""
        most = np.array([one.engines if one.capped else np.inf for one in self.others])
        return np.asarray(np.minimum(others[..., None] * self._parts, most).sum(axis=-1))

    def limit(self, others: ArrayLike, more: ArrayLike = 0.0) -> Array:
        """Engines the LPAR can get where the others use so many: on average what they leave at each moment.

        ``more`` is by which part the others take more, from moment to moment, than work of equal pieces would.
        """
        used = np.asarray(others, float)
        most = self.steadily_left(used)
        if not self._meet:
            return most
        got = np.minimum(most, np.interp(used / self.physical, OTHERS, self._got))
        return np.minimum(got - np.asarray(more) * (most - got), most)

    def pool(self, own: ArrayLike, others: ArrayLike, limit: Array | None = None) -> Array:
        """Engines of a pool of its own in which work of ``own`` engines waits as long, where it has to the ``limit``
        beside these others."""
        used, theirs, limit = np.broadcast_arrays(own, others, self.limit(others) if limit is None else limit)
        if not theirs.any() or not self._meet:
            return limit
        return self._table.pool(used, theirs, limit)

    def steadily_left(self, others: Array) -> Array:
        """Engines the LPAR gets of a machine of which the others use so many at every moment."""
        used = others[..., None] * self._parts
        return np.minimum(self.own.engines, _left(used, self._weights, self.own.weight, self.physical))

    @property
    def _meet(self) -> bool:
        """Whether the LPARs can want more than there is, and are few enough to tell how often they do."""
        return self.physical < self.own.engines + sum(one.engines for one in self.others) <= MOST_ENGINES

    @cached_property
    def _got(self) -> Array:
        """Engines the LPAR gets where the others' use is at the nodes; beside others who ask for more than they get,
        too, what is steadily left."""
        others = OTHERS * self.physical
        engines = self.steadily_left(others)
        waver = np.flatnonzero((others > 0) & (engines <= self.physical - others + 1e-9))
        for some in (waver[at : at + AT_ONCE] for at in range(0, len(waver), AT_ONCE)):
            engines[some] = np.minimum(engines[some], self._table.chains.most(others[some]))
        return engines

    @cached_property
    def _parts(self) -> Array:
        return np.array([one.part for one in self.others])

    @cached_property
    def _weights(self) -> Array:
        return np.array([one.weight for one in self.others])

    @cached_property
    def _table(self) -> _Table:
        return _Table(self)


class _Table:
    """The pool at the nodes, computed when first asked for: the logarithm of its room, as a part of the limit's."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self.found = np.full((len(OWN), len(OTHERS)), np.nan)

    def pool(self, own: Array, others: Array, limit: Array) -> Array:
        x = np.minimum(np.maximum(own / np.maximum(limit, 1e-9), OWN[0]), OWN[-1])
        y = np.minimum(np.maximum(others / self.sharing.physical, OTHERS[0]), OTHERS[-1])
        i = np.searchsorted(OWN[1:-1], x)
        j = np.searchsorted(OTHERS[1:-1], y)
        a, b = (x - OWN[i]) / STEPS_OWN[i], (y - OTHERS[j]) / STEPS_OTHERS[j]
        servers = self._between(i, j, a, b)
        if np.isnan(servers).any():
            wanted = np.zeros(self.found.shape, bool)
            for di, dj in ((0, 0), (0, 1), (1, 0), (1, 1)):
                wanted[i + di, j + dj] = True
            self._fill(np.argwhere(wanted & np.isnan(self.found)))
            servers = self._between(i, j, a, b)
        part = np.exp(servers)
        return np.where(own < limit, np.minimum(own + part * (limit - own), self.sharing.own.engines), limit)

    def _between(self, i: NDArray[np.intp], j: NDArray[np.intp], a: Array, b: Array) -> Array:
        """The table between its nodes, ``a`` and ``b`` of a step beyond ``i`` and ``j``; no number where not filled."""
        low = (1.0 - a) * self.found[i, j] + a * self.found[i + 1, j]
        high = (1.0 - a) * self.found[i, j + 1] + a * self.found[i + 1, j + 1]
        return np.asarray((1.0 - b) * low + b * high)

    def _fill(self, nodes: NDArray[np.int64]) -> None:
        for i, j in (nodes[at : at + AT_ONCE].T for at in range(0, len(nodes), AT_ONCE)):
            others = np.maximum(OTHERS[j] * self.sharing.physical, 1e-3)
            limit = self.sharing.limit(others)
            own = OWN[i] * limit
            pool = _alike(own, self.chains.inside(own, others), self.sharing.own.engines)
            self.found[i, j] = np.log(np.maximum((pool - own) / (limit - own), 1e-6))

    @cached_property
    def chains(self) -> _Chains:
        return _Chains(self.sharing)


def _alike(own: Array, inside: Array, most: float) -> Array:
    """Engines of the pool in which so many are inside on average."""
    low, high = own + 1e-9, np.full(own.shape, most)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        longer = number_in_system(own, middle) > inside
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    return (low + high) / 2.0


def _left(demand: Array, weights: Array, own: float, physical: float) -> Array:
    """What is left to one by weight, (...), where the others ask for so many engines, (..., others)."""
    left, total = np.full(demand.shape[:-1], physical), np.where(demand > 0, weights, 0.0).sum(-1) + own
    settled = demand <= 0
    for _ in range(demand.shape[-1]):
        below = ~settled & (demand <= (left / total)[..., None] * weights * (1.0 + 1e-12))
        left = left - np.where(below, demand, 0.0).sum(-1)
        total = total - np.where(below, weights, 0.0).sum(-1)
        settled |= below
    return left * own / total


class _Compositions:
    """All ways in which the pieces of the others lie with them, sorted by how many there are in all."""

    def __init__(self, physical: float, own: Sharer, others: Sequence[Sharer], sizes: Sequence[int]) -> None:
        grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(others))
        self.states = int(sum(np.ceil(one.engines) for one in others)) + FURTHER + 1
        total = grid.sum(axis=1)
        order = np.argsort(total, kind="stable")
        order = order[total[order] < self.states]
        self.counts, total = grid[order], total[order]
        self.starts = np.searchsorted(total, np.arange(self.states))
        demand = np.minimum(self.counts, [one.engines for one in others])
        left = np.minimum(own.engines, _left(demand, np.array([one.weight for one in others]), own.weight, physical))
        numbers = np.arange(int(np.ceil(own.engines)) + 1)
        self.gets = np.minimum(numbers[:, None], left)
        self.leaves = np.minimum(demand.sum(axis=1), physical - self.gets)

    def rates(self, chances: Sequence[Array]) -> tuple[Array, Array]:
        """(B, n, m) engines of the LPAR with n pieces and of the others with m, at these chances (B, n) of each."""
        weight = np.ones((len(chances[0]), len(self.counts)))
        for k, chance in enumerate(chances):
            weight = weight * chance[:, self.counts[:, k]]
        whole = np.maximum(np.add.reduceat(weight, self.starts, axis=1), 1e-300)[:, None]
        own, others = (
            np.add.reduceat(weight[:, None] * each, self.starts, axis=2) / whole for each in (self.gets, self.leaves)
        )
        return own, others


class _Chains:
    """The chain of each LPAR against all others, their compositions following from each other's chains."""

    def __init__(self, sharing: Sharing) -> None:
        self.lpars = (sharing.own, *sharing.others)
        self.parts = [one.part for one in sharing.others]
        self.sizes = [int(np.ceil(one.engines)) + FURTHER + 1 for one in self.lpars]
        everyone = range(len(self.lpars))
        self.rest = [[j for j in everyone if j != i] for i in everyone]
        self.ways = [
            _Compositions(sharing.physical, self.lpars[i], [self.lpars[j] for j in rest], [self.sizes[j] for j in rest])
            for i, rest in enumerate(self.rest)
        ]

    def inside(self, own: Array, others: Array) -> Array:
        """(B,) mean number of the LPAR's pieces inside, where it and the others use so many engines, (B,) each."""
        used = [own, *(others * part for part in self.parts)]
        return self._solved(0, used, self._chances(used))[1]

    def most(self, others: Array) -> Array:
        """(B,) engines the LPAR gets where the others use so many, (B,), and it always wants all it can use."""
        used = [np.full(others.shape, self.lpars[0].engines), *(others * part for part in self.parts)]
        own, theirs = self._rates(0, self._chances(used))
        return _got(others, own, theirs)

    def _chances(self, used: Sequence[Array]) -> Sequence[Array]:
        """(B, states) chances of how many pieces are inside each LPAR."""
        chances = [_alone(u, one.engines, n) for u, one, n in zip(used, self.lpars, self.sizes, strict=True)]
        if len(self.lpars) > 2:
            for _ in range(TURNS - 1):
                chances = [self._solved(i, used, chances)[0] for i in range(len(self.lpars))]
        return chances

    def _rates(self, i: int, chances: Sequence[Array]) -> tuple[Array, Array]:
        return self.ways[i].rates([chances[j] for j in self.rest[i]])

    def _solved(self, i: int, used: Sequence[Array], chances: Sequence[Array]) -> tuple[Array, Array]:
        own, others = self._rates(i, chances)
        return _stationary(used[i], np.sum([used[j] for j in self.rest[i]], axis=0), own, others, self.sizes[i])


def _alone(used: Array, engines: float, states: int) -> Array:
    """(B, states) chances of how many are inside where nobody else asks."""
    served = np.minimum(np.arange(1, states), engines)
    weight = np.cumprod(np.column_stack([np.ones_like(used), used[:, None] / served]), axis=1)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _as_left(served: Array, arriving: Array) -> Array:
    """At which rate a state that stands for itself and all that follow is left, on average."""
    return np.maximum(served - arriving, 0.02 * served)


def _got(theirs: Array, own: Array, others: Array) -> Array:
    """(B,) engines that the LPAR gets on average at its full queue."""
    top = own.shape[1] - 1
    done = others[:, top, 1:].copy()
    done[:, -1] = _as_left(done[:, -1], theirs)
    busy = np.cumprod(np.column_stack([np.ones(len(theirs)), theirs[:, None] / done]), axis=1)
    return np.asarray((busy * own[:, top]).sum(axis=1) / busy.sum(axis=1))


def _stationary(arriving: Array, theirs: Array, own: Array, others: Array, states: int) -> tuple[Array, Array]:
    """Chances (B, states) of how many of the LPAR are inside, and their mean (B,).

    Args:
        arriving: (B,) pieces of the LPAR that come while an engine does one.
        theirs: (B,) those of the others.
        own: (B, n, m) engines of the LPAR with n pieces inside, the last n being any more; of the others m.
        others: (B, n, m) engines of the others.
    """
    count, levels, m = own.shape
    top, index, below = levels - 1, np.arange(m), np.arange(m - 1)
    arriving = np.minimum(arriving, STEADY * _got(theirs, own, others))
    one, rate = np.eye(m), arriving[:, None, None]

    def within(n: int) -> Array:
        moves = np.zeros((count, m, m))
        moves[:, below, below + 1] = theirs[:, None]
        done = others[:, n].copy()
        done[:, -1] = _as_left(done[:, -1], theirs)
        moves[:, below + 1, below] = done[:, 1:]
        moves[:, index, index] = -(moves.sum(axis=2) + own[:, n] + arriving[:, None])
        return moves

    # Logarithmic reduction: G leads from one level of the upper part to the next below, R from one to the next above.
    start = np.linalg.inv(-within(top))
    up, down = start * rate, start * own[:, top, None, :]
    g, path = down.copy(), up.copy()
    while np.abs(path).max() > 1e-9:
        start = np.linalg.inv(one - (up @ down + down @ up))
        up, down = start @ (up @ up), start @ (down @ down)
        g, path = g + path @ down, path @ up
    r = rate * np.linalg.inv(-(within(top) + rate * g))
    steps = [r]
    for n in range(top - 1, 0, -1):
        steps.append(rate * np.linalg.inv(-(within(n) + steps[-1] * own[:, n + 1, None, :])))
    bottom = np.swapaxes(within(0) + steps[-1] * own[:, 1, None, :], 1, 2)
    bottom[:, -1] = 1.0
    chance = np.linalg.solve(bottom, np.broadcast_to(one[:, -1:], (count, m, 1)))[..., 0]
    totals, mean = [chance.sum(axis=1)], np.zeros(count)
    for n, step in enumerate(reversed(steps), 1):
        chance = (chance[:, None] @ step)[:, 0]
        totals.append(chance.sum(axis=1))
        mean += n * totals[-1] if n < top else 0.0
    onwards = np.linalg.inv(one - r)
    rest = chance[:, None] @ onwards
    mean += top * rest.sum(axis=(1, 2)) + (rest @ r @ onwards).sum(axis=(1, 2))
    whole = sum(totals[:top]) + rest.sum(axis=(1, 2))
    while len(totals) < states:
        chance = (chance[:, None] @ r)[:, 0]
        totals.append(chance.sum(axis=1))
    return np.maximum(np.stack(totals[:states], axis=1), 0.0), mean / whole
