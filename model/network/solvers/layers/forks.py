"""Time saved because branches of a transaction run side by side."""

from __future__ import annotations

import numpy as np

from model.network.solvers.arrays import Floats
from model.network.solvers.fork_join import largest_of_independent, nelson_tantawi
from model.network.solvers.layers.state import LayerState
from model.network.solvers.reduction import Reduced


def save_by_forks(net: Reduced, state: LayerState, damping: float) -> None:
    """Residence saved because branches run at the same time."""
    if not net.forks:
        return
    stretch = state.stretch(net)
    saving = np.zeros(len(state.saving))
    queueing = [k for k, s in enumerate(net.network.stations) if s.scheduling != "delay"]
    for fork in net.forks:
        waits = _each(state.wait[fork.row], net.acquires[fork.row])
        times = (fork.work * stretch[fork.row]).sum(axis=1) + fork.acquires @ waits
        waiting = float(np.max(fork.acquires @ waits / np.where(times > 0, times, np.inf)))
        times = times[times > 0]
        if len(times) < 2:
            continue
        used = [k for k in queueing if fork.work[:, k].any()]
        # Branches wait at the same times for what has come before: as much as at a queue of one server as long as this.
        load = max((1 - 1 / max(float(stretch[fork.row, k]), 1.0) for k in used), default=0.0)
        load = max(load, waiting)
        longest = float(times.max())
        harmonic = sum(1 / i for i in range(1, len(times) + 1))
        share = (nelson_tantawi(len(times), min(load, 1.0)) - 1) / (harmonic - 1)
        together = longest + share * (_largest(times) - longest)
        saving[fork.row] += fork.flow * (float(times.sum()) - together)
    state.saving += damping * (saving - state.saving)


def _each(waits: Floats, acquires: Floats) -> Floats:
    """(resources,) Wait for one unit, of those that a transaction takes."""
    return np.divide(waits, acquires, out=np.zeros_like(waits), where=acquires > 0)


def _largest(times: Floats) -> float:
    """Mean of the largest of independent exponential times; the harmonic form beyond a dozen."""
    if len(times) <= 12:
        return largest_of_independent(1 / times)
    return float(times.mean()) * sum(1 / i for i in range(1, len(times) + 1))
