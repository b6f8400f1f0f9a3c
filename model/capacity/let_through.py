"""What full limits let through to the engines: classes beside them meet that, not all that comes.

Transactions that wait to be let in by a limit do not queue for engines. Where more comes to a limit than it can serve,
those who share the engines with its members meet as much of their work as the limit lets through, not all that comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity.parts import Limit, Scenario, State

if TYPE_CHECKING:
    from model.capacity.ensemble import System

Array = NDArray[np.float64]
AtRates = Callable[[Scenario], State]
ByClass = Mapping[tuple[str, str], Array]

# Turns in which the part that a limit lets through is halved.
TURNS = 12


def beside_full_limits(at_rates: AtRates, system: System, state: State) -> State:
    """The state with responses, at the rates that full limits let through, of classes that are in none of these.

    What is asked of engines and limits stays what all that comes asks, and members of a full limit have no response.
    """
    limits = [limit for limit in system.limits if np.any(state.limits.get(limit.name, np.zeros(1)) >= 1.0)]
    inside = {system.streams[number] for limit in limits for number in limit.members}
    beside_them = [key for key in state.response_ms if key[1] not in inside]
    if not limits or not beside_them:
        return state
    full = np.any([state.limits[limit.name] >= 1.0 for limit in limits], axis=0)
    loads = np.flatnonzero(full.any(axis=0))
    through = _let_through(at_rates, state, limits, loads)

    def beside(found: Array, answered: Array) -> Array:
        every = found.copy()
        every[:, loads] = np.where(full[:, loads], answered, found[:, loads])
        return every

    def of_each(found: ByClass, answered: ByClass) -> dict[tuple[str, str], Array]:
        return {key: beside(one, answered[key]) if key in beside_them else one for key, one in found.items()}

    waiting = {
        key: {name: beside(one, through.waiting_ms[key][name]) for name, one in waits.items()}
        for key, waits in state.waiting_ms.items()
        if key in beside_them
    }
    return replace(
        state,
        response_ms=of_each(state.response_ms, through.response_ms),
        p90_ms=of_each(state.p90_ms, through.p90_ms),
        taken=of_each(state.taken, through.taken),
        waiting_ms={**state.waiting_ms, **waiting},
    )


def _let_through(at_rates: AtRates, state: State, limits: Sequence[Limit], loads: NDArray[np.intp]) -> State:
    """The state at some of its loads where members of limits come as often as these let them through."""
    asked = replace(state.scenario.at_loads(loads), users=None)
    full = [state.limits[limit.name][:, loads] >= 1.0 for limit in limits]
    shape = (*full[0].shape, asked.rates.shape[2])
    low, high = ([np.where(one, bound, 1.0) for one in full] for bound in (0.0, 1.0))

    def at(parts: Sequence[Array]) -> State:
        rates = np.broadcast_to(asked.rates, shape).copy()
        for limit, part in zip(limits, parts, strict=True):
            rates[:, :, list(limit.members)] *= part[:, :, None]
        return at_rates(replace(asked, rates=rates))

    for _ in range(TURNS):
        middle = [(few + many) / 2.0 for few, many in zip(low, high, strict=True)]
        found = at(middle)
        fits = [found.limits[limit.name] < 1.0 for limit in limits]
        low = [np.where(one, mid, few) for one, mid, few in zip(fits, middle, low, strict=True)]
        high = [np.where(one, many, mid) for one, mid, many in zip(fits, middle, high, strict=True)]
    return at(low)
