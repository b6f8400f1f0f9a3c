"""The carried load: what full engines and full limits let through, and what that uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity.root_finding import find_root
from model.capacity.state import Scenario, State

if TYPE_CHECKING:
    from model.capacity.evaluation import System

Array = NDArray[np.float64]
AtRates = Callable[[Scenario], State]

NEARLY = 0.9995
"""Utilization of a full limit by its carried load."""
FEW = 0.05
"""Part of the samples with full engines up to which only their busy is held to what there is."""
MAX_ITER = 8


def carried_load(at_rates: AtRates, system: System, state: State) -> State:
    """The state with that of its carried load, where something is full.

    Classes in no full limit have the responses of the carried load; members of a full limit have none.
    """
    full = [limit for limit in system.limits if np.any(state.limits.get(limit.name, np.zeros(1)) >= 1.0)]
    carried = state
    if full:
        scenario = replace(state.scenario, users=None)
        rates = np.broadcast_to(scenario.rates, (*state.busy.shape, scenario.rates.shape[2])).copy()
        for _ in range(MAX_ITER):
            for limit in full:
                part = np.minimum(NEARLY / np.maximum(carried.limits[limit.name], 1e-12), 1.0)
                rates[:, :, [system.numbers[name] for name in limit.members]] *= part[:, :, None]
            carried = at_rates(replace(scenario, rates=rates))
            if all((carried.limits[limit.name] < 1.0).all() for limit in full):
                break
        members = {name for limit in full for name in limit.members}
        beside = {key: value for key, value in carried.response_ms.items() if key[1] not in members}
        percentiles = {key: carried.p90_ms[key] for key in beside if key in carried.p90_ms}
        state = replace(
            state,
            response_ms={**state.response_ms, **beside},
            p90_ms={**state.p90_ms, **percentiles},
            waiting_ms={**state.waiting_ms, **{key: carried.waiting_ms[key] for key in beside}},
        )
    over = carried.busy > carried.available
    if over.any():
        busy = np.minimum(carried.busy, carried.available)
        done = carried
        loads = np.flatnonzero(over[0] | (over.mean(axis=0) > FEW))
        if len(loads):
            some = carried.at_loads(loads)
            scenario = _within_engines(system, some)
            there = replace(system.at_rates(scenario, responses=False), limits=some.limits)
            done = carried.with_loads(loads, replace(some, usage=there.usage, ziip_busy=there.ziip_busy))
            if len(loads) == carried.busy.shape[1]:
                done = replace(done, scenario=scenario)
        carried = replace(done, busy=busy, machine_busy=system.partition.busy(carried.scenario, busy))
    return state if carried is state else replace(state, through=carried)


def _within_engines(system: System, state: State) -> Scenario:
    """The scenario with as much work as full engines do, the most important first."""
    offered, over = replace(state.scenario, users=None), state.busy > state.available
    levels = system.levels
    own = {law.regressor: law.priority for law in system.laws.values() if law.additive and law.engine == "cp"}
    of_classes = [levels.index(own.get(name, levels[0])) for name in system.streams]

    def done(depth: Array) -> Scenario:
        """The scenario with so much of its work, where 1 is all of it, (draws, loads)."""
        parts = [np.clip(depth * len(levels) - i, 0.0, 1.0) for i in range(len(levels))]
        by_series = {name: parts[levels.index(law.priority)] for name, law in system.laws.items()}
        extra = {name: value * by_series.get(name, 1.0) for name, value in offered.extra.items()}
        rates = offered.rates * np.stack([parts[i] for i in of_classes], axis=2)
        return replace(offered, rates=rates, extra=extra)

    def beyond(depth: Array) -> Array:
        """Engines beyond those there are; where these are not full, all of the work is done."""
        return np.where(over, system.usage(done(depth)).busy - state.available, depth - 1.0)

    return done(find_root(beyond, over.shape))
