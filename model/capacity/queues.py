"""Queues evaluated for whole arrays: many draws, classes and loads in one call.

``offered`` is the work that arrives in a second, in engines; ``servers`` the number of engines, which need not be
whole: between two whole numbers, values are interpolated. Everything broadcasts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Longest queue that is told apart from no steady state.
FULL = 1.0 - 1e-9


def erlang_c(offered: ArrayLike, servers: ArrayLike) -> Array:
    """Probability that an arrival waits in M/M/m (Erlang's C formula); 1 where there is no steady state."""
    load, pool = np.broadcast_arrays(np.asarray(offered, float), np.asarray(servers, float))
    low = np.maximum(np.floor(pool), 1.0)
    blocking = np.ones(load.shape)
    for n in range(1, int(low.max(initial=1.0)) + 1):
        both = load * blocking
        blocking = np.where(n <= low, both / (n + both), blocking)
    above = load * blocking / (low + 1.0 + load * blocking)
    at_low, at_high = _waiting(load, low, blocking), _waiting(load, low + 1.0, above)
    mixed = at_low + np.clip(pool - low, 0.0, 1.0) * (at_high - at_low)
    return np.where(load < pool, np.clip(mixed, 0.0, 1.0), 1.0)


def _waiting(load: Array, servers: Array, blocking: Array) -> Array:
    """Erlang's C from his B on whole numbers of servers."""
    return np.where(load < servers, servers * blocking / np.maximum(servers - load * (1.0 - blocking), 1e-300), 1.0)


def erlang_b(offered: ArrayLike, servers: int, waiting: int = 0) -> Array:
    """Probability that an arrival finds every server busy and every one of the ``waiting`` places taken (M/M/m/K)."""
    load = np.asarray(offered, float)
    blocking = np.ones(load.shape)
    for n in range(1, servers + 1):
        blocking = load * blocking / (n + load * blocking)
    for _ in range(waiting):
        blocking = load * blocking / (servers + load * blocking)
    return blocking


def inside(offered: ArrayLike, servers: ArrayLike) -> Array:
    """Mean number in M/M/m, those in service included; infinite where there is no steady state."""
    load, pool = np.broadcast_arrays(np.asarray(offered, float), np.asarray(servers, float))
    room = pool - load
    steady = load < pool * FULL
    with np.errstate(divide="ignore", invalid="ignore"):
        queue = erlang_c(load, pool) * load / np.where(steady, room, 1.0)
    return np.where(steady, load + queue, np.inf)


def stretch(offered: ArrayLike, servers: ArrayLike, above: ArrayLike = 0.0) -> Array:
    """How much longer service takes than alone, at one priority.

    ``offered`` is the work of the priority in engines, ``above`` the more important work. The number inside at a
    preemptive priority is the number at all levels down to it, less the number above it. Exact for equal exponential
    services; 1 where there is next to no work.
    """
    own, higher, pool = np.broadcast_arrays(
        np.asarray(offered, float), np.asarray(above, float), np.asarray(servers, float)
    )
    own = np.maximum(own, 1e-6)
    down_to = inside(own + higher, pool)
    with np.errstate(invalid="ignore"):
        found = (down_to - inside(higher, pool)) / own
    return np.where(np.isfinite(down_to), np.maximum(found, 1.0), np.inf)


def wait(rate: ArrayLike, hold_s: ArrayLike, servers: ArrayLike) -> Array:
    """Mean wait in M/M/m in seconds; infinite where there is no steady state."""
    load = np.asarray(rate, float) * np.asarray(hold_s, float)
    pool = np.asarray(servers, float)
    steady = load < pool * FULL
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(hold_s, float) * erlang_c(load, pool) / np.where(steady, pool - load, 1.0)
    return np.where(steady, found, np.inf)
