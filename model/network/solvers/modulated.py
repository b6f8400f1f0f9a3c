"""A queue fed by Poisson arrivals and by streams that come and go, with exponential work.

A stream of rate ``x`` with index of dispersion ``1 + d`` and memory ``1 / g`` is taken as one that is interrupted:
Poisson while it is on, for a share ``1 / (1 + d g / (2 x))`` of the time. Hyperexponential renewal streams are such
streams too (Kuczura, *Bell System Technical Journal* 52, 1973). How many transactions there are is a quasi-birth-and-
death process; source: Latouche and Ramaswami, *Introduction to Matrix Analytic Methods in Stochastic Modeling*, 1999,
chapters 8, 10 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.network.kernel_cache import kernel
from model.network.solvers.arrays import Floats

STEPS = 60
NO_MORE = 1e-14
LARGE = 1e200
MOST_NUMBERS, NOTHING = 2000, 1e-9


class Stream(NamedTuple):
    """Arrivals a second, what their index of dispersion has beyond one, and 1 / the memory of it a second."""

    rate: float
    beyond: float
    per_s: float


class Modulated(NamedTuple):
    """A queue in its steady state.

    ``level`` (levels + 1, phases) is the probability of each number inside and phase of the streams; beyond it goes on
    with ``more`` (phases, phases) from one number to the next. ``arriving`` (streams, phases) are rates of the streams.
    """

    level: Floats
    more: Floats
    arriving: Floats

    def mean(self, value: Floats, seen_by: int | None = None) -> float:
        """Mean of ``value`` (levels + 2,) of the number inside, linear beyond: over time, or found by a stream."""
        weights = self.arriving[seen_by] if seen_by is not None else np.ones(len(self.more))
        rest = np.linalg.inv(np.eye(len(self.more)) - self.more)
        last = self.level[-1] @ self.more @ rest
        inside = self.level @ weights
        total = inside.sum() + last @ weights
        further = (last @ weights) * value[-2] + (last @ rest @ weights) * (value[-1] - value[-2])
        return float((inside @ value[:-1] + further) / total)

    def numbers(self) -> Floats:
        """(levels + ...,) probabilities of 0, 1, 2, ... inside, as far as they count."""
        found = np.concatenate((self.level[:-1].sum(axis=1), _tail(self.level[-1], self.more)))
        return np.asarray(found / found.sum())


def modulated(streams: Sequence[Stream], poisson: float, completing: Floats) -> Modulated:
    """The queue of the streams and of ``poisson`` arrivals a second, with ``completing`` (levels,) completions a second
    of 1, 2, ... inside, the last beyond; more must be able to complete than come."""
    switching, arriving = np.zeros((1, 1)), np.zeros((0, 1))
    for rate, beyond, per_s in streams:
        on = 1 / (1 + beyond * per_s / (2 * rate))
        own = per_s * np.array([[-on, on], [1 - on, on - 1]])
        switching = np.kron(switching, np.eye(2)) + np.kron(np.eye(len(switching)), own)
        alone = np.kron(np.ones(arriving.shape[1]), [0.0, rate / on])
        arriving = np.vstack((np.kron(arriving, [1.0, 1.0]), alone))
    level, more = _steady(switching, poisson + arriving.sum(axis=0), completing)
    return Modulated(level, more, arriving)


@kernel()
def _tail(last: Floats, more: Floats) -> Floats:
    """(numbers,) probabilities from the ``last`` number on, until they no longer count."""
    out = np.zeros(MOST_NUMBERS)
    for n in range(MOST_NUMBERS):
        out[n] = last.sum()
        if out[n] <= NOTHING:
            return out[: n + 1]
        last = last @ more
    return out


@kernel()
def _steady(switching: Floats, arriving: Floats, completing: Floats) -> tuple[Floats, Floats]:
    """Probabilities of each number inside and phase, and how they go on: logarithmic reduction."""
    phases, levels = len(switching), len(completing)
    unit = np.eye(phases)
    up = np.diag(arriving)
    here = switching - up
    fastest = completing[-1]
    inverse = np.linalg.inv(fastest * unit - here)
    higher, lower = inverse @ up, np.ascontiguousarray(inverse * fastest)
    first, climbed = lower.copy(), higher.copy()
    for _ in range(STEPS):
        inverse = np.linalg.inv(unit - higher @ lower - lower @ higher)
        higher, lower = inverse @ (higher @ higher), inverse @ (lower @ lower)
        first += climbed @ lower
        climbed = climbed @ higher
        if np.abs(climbed).max() < NO_MORE:
            break
    more = up @ np.linalg.inv(fastest * unit - here - up @ first)
    # Below, each number's probabilities follow from those of the next.
    down = np.empty((levels, phases, phases))
    left = here.copy()
    for n in range(levels):
        down[n] = completing[n] * np.linalg.inv(-left)
        left = here - completing[n] * unit + down[n] @ up
    balance = np.ascontiguousarray((left + fastest * more).T)
    balance[-1] = 1.0
    level = np.empty((levels + 1, phases))
    level[levels] = np.linalg.solve(balance, unit[-1])
    for n in range(levels - 1, -1, -1):
        level[n] = level[n + 1] @ down[n]
        if level[n].sum() > LARGE:
            level[n:] /= LARGE
    return level / level.sum(), more
