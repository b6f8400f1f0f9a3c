"""Layers in turn until none changes what the others see."""

from __future__ import annotations

import numpy as np

from model.network.solvers.bunching import bunching, not_poisson
from model.network.solvers.exact_network import Figures
from model.network.solvers.layers.blocking import hold_up
from model.network.solvers.layers.forks import save_by_forks
from model.network.solvers.layers.resources import wait_for_resources
from model.network.solvers.layers.state import LayerState
from model.network.solvers.layers.stations import solve_stations
from model.network.solvers.reduction import Reduced

ROUNDS = 200
TOLERANCE = 1e-6
WINDOW = 50
"""Rounds that tell how fast the changes shrink."""
DENIED = 0.03
"""Part of a response for which a layer may deny what another one says, and they still agree."""
SHRINKS, LEAST_DAMPING = 0.7, 0.1
"""Where a round changes more than this part of what the one before did, the next steps are half as long."""


def layered(net: Reduced) -> tuple[Figures, bool]:
    """Approximate figures, and whether the layers agreed in the end."""
    state = LayerState.of(net)
    if _has_one_layer(net):
        solve_stations(net, state)
        return _figures(net, state), True
    damping, before = 1.0, np.inf
    smallest: list[float] = []
    for turn in range(ROUNDS):
        previous = state.response()
        solve_stations(net, state)
        if np.isnan(state.throughput).any():
            # Users beside arrivals that overload a station: no round after this one finds numbers again.
            break
        state.uneven += damping * (bunching(net, state) - state.uneven)
        hold_up(net, state, damping)
        wait_for_resources(net, state, damping)
        save_by_forks(net, state, damping)
        now = state.response()
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.abs(now - previous) / np.maximum(now, 1e-300)
        largest = float(np.max(change, where=np.isfinite(now), initial=0.0))
        if turn > 2 and largest < TOLERANCE:
            return _figures(net, state), bool(np.all(state.denied <= DENIED * now))
        if turn > 2 and largest > SHRINKS * before:
            damping = max(damping / 2, LEAST_DAMPING)
        before = largest
        smallest.append(min(largest, smallest[-1]) if turn > 3 else largest)
        if not _may_settle(smallest):
            break
    return _figures(net, state), False


def _may_settle(smallest: list[float]) -> bool:
    """Whether the smallest change so far, by rounds, would be small enough in time if it shrank twice as fast from now
    on."""
    if len(smallest) <= 3 + WINDOW:
        return True
    shrinks = 2 * np.log(smallest[-1 - WINDOW] / smallest[-1]) / WINDOW
    return bool(np.log(smallest[-1] / TOLERANCE) <= shrinks * (ROUNDS - len(smallest)))


def _has_one_layer(net: Reduced) -> bool:
    """Whether the stations do not depend on each other and all streams are Poisson."""
    return not (
        np.any(not_poisson(net))
        or net.sync
        or net.forks
        or np.any(net.acquires > 0)
        or any(s.overflow or s.lpar or s.capacity is not None for s in net.network.stations)
    )


def _figures(net: Reduced, state: LayerState) -> Figures:
    return Figures(
        state.throughput,
        state.residence,
        state.busy,
        state.using,
        state.wait,
        state.held,
        "layered mean value analysis" if np.any(net.acquires) or net.sync else "approximate mean value analysis",
        state.saving,
    )
