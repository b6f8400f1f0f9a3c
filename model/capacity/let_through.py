"""What gets through full limits and full engines, what that uses, and what classes beside full limits meet.

Transactions that wait to be let in by a limit queue for nothing behind it, and work that full engines never come to
does no I/O and holds nothing: of everything that is not full, as much is used as by what gets through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity.crossing import crossing
from model.capacity.parts import Limit, Scenario, State

if TYPE_CHECKING:
    from model.capacity.ensemble import System

Array = NDArray[np.float64]
AtRates = Callable[[Scenario], State]
ByClass = Mapping[tuple[str, str], Array]

# Work that never gets through full volumes has used engines before it came to them: no record says what part of its
# time, all parts are equally likely. Middle, deviation, and seed of its draws.
BEGUN, BEGUN_SD, BEGUN_SEED = 0.5, 12**-0.5, 11
# Turns in which the part that gets through a limit is looked for, of which one in so many halves it, how full the limit
# is then, and how full it is aimed at.
TURNS, HALVED, FILLED, NEAR = 12, 3, 0.999, 0.9995


def let_through(at_rates: AtRates, system: System, state: State) -> State:
    """The state with that of what gets through, where something is full, and the responses that classes in no full
    limit have beside it. Members of a full limit have no response."""
    limits = [limit for limit in system.limits if np.any(state.limits.get(limit.name, np.zeros(1)) >= 1.0)]
    through = state
    if limits:
        full = np.any([state.limits[limit.name] >= 1.0 for limit in limits], axis=0)
        loads = np.flatnonzero(full.any(axis=0))
        through = state.with_loads(loads, at_rates(_past_limits(at_rates, system, state.at_loads(loads), limits)))
        inside = {system.streams[number] for limit in limits for number in limit.members}
        state = _meeting(state, through, full, [key for key in state.response_ms if key[1] not in inside])
    loads = np.flatnonzero((through.busy > through.available).any(axis=0))
    if len(loads):
        over = through.at_loads(loads)
        done = at_rates(_past_engines(system, over))
        busy = np.minimum(over.busy, over.available)
        done = replace(done, busy=busy, machine_busy=system.partition.busy(done.scenario, busy))
        through = through.with_loads(loads, done)
    return state if through is state else replace(state, through=through)


def _meeting(state: State, through: State, full: NDArray[np.bool_], keys: Sequence[tuple[str, str]]) -> State:
    """The state where some responses are those of another one, where limits are full."""

    def of_each(found: ByClass, there: ByClass) -> dict[tuple[str, str], Array]:
        return {key: np.where(full, there[key], one) if key in keys else one for key, one in found.items()}

    waiting = {
        key: {name: np.where(full, through.waiting_ms[key][name], one) for name, one in waits.items()}
        for key, waits in state.waiting_ms.items()
        if key in keys
    }
    return replace(
        state,
        response_ms=of_each(state.response_ms, through.response_ms),
        p90_ms=of_each(state.p90_ms, through.p90_ms),
        taken=of_each(state.taken, through.taken),
        waiting_ms={**state.waiting_ms, **waiting},
    )


def _past_limits(at_rates: AtRates, system: System, state: State, limits: Sequence[Limit]) -> Scenario:
    """The scenario where members of limits come as often as these let them through, and of what comes to full volumes
    without being held back before as much as is begun."""
    asked = replace(state.scenario, users=None)
    asked = replace(asked, rates=np.broadcast_to(asked.rates, (*state.busy.shape, asked.rates.shape[2])))

    def coming(parts: Array, loads: NDArray[np.intp]) -> Scenario:
        some = asked.at_loads(loads)
        for limit, part in zip(limits, parts, strict=True):
            some.rates[:, :, list(limit.members)] *= part[:, :, None]
        return some

    at_high = np.stack([state.limits[limit.name] for limit in limits])
    high, low = np.ones(at_high.shape), np.where(at_high >= 1.0, 0.0, 1.0)
    at_low = low * at_high
    every = loads = np.arange(state.busy.shape[1])
    for turn in range(TURNS):
        few, many, of_few, of_many = (one[:, :, loads] for one in (low, high, at_low, at_high))
        # What is held for a time of its own is taken in proportion to the rate; without end, it is full and no more.
        with np.errstate(invalid="ignore", divide="ignore"):
            guess = few + (NEAR - of_few) * (many - few) / (of_many - of_few)
        guessed = (few < guess) & (guess < many) & (of_many > 1.0) & (turn % HALVED < HALVED - 1)
        part = np.where(guessed, guess, (few + many) / 2.0)
        found = at_rates(coming(part, loads))
        taken = np.stack([found.limits[limit.name] for limit in limits])
        below = taken < 1.0
        low[:, :, loads], at_low[:, :, loads] = np.where(below, part, few), np.where(below, taken, of_few)
        high[:, :, loads], at_high[:, :, loads] = np.where(below, many, part), np.where(below, of_many, taken)
        loads = loads[~((few == 1.0) | (below & (taken >= FILLED))).all(axis=(0, 1))]
        if not len(loads):
            break
    # The centre may be full where most draws are not: as with responses, the value is what the middle of these has.
    low[:, 0] = np.median(low[:, min(1, low.shape[1] - 1) :], axis=1)
    held = {number for limit in limits if limit.kind != "devices" for number in limit.members}
    begun = np.clip(BEGUN + BEGUN_SD * system.deviates(BEGUN_SEED), 0.0, 1.0)[:, None]
    for part, limit in zip(low, limits, strict=True):
        if not held.intersection(limit.members):
            part += begun * (1.0 - part)
    return coming(low, every)


def _past_engines(system: System, state: State) -> Scenario:
    """The scenario with as much work as full engines do: the most important first, all alike in draws without
    priorities and within a level."""
    asked, over = replace(state.scenario, users=None), state.busy > state.available
    levels = sorted({law.level for law in system.laws.values()})
    ranked = (system.priorities | system.in_line)[:, None]
    of_streams = [levels.index(level) for level in system.levels_of_streams]

    def done(depth: Array) -> Scenario:
        """The scenario with so much of its work, where 1 is all of it, (draws, loads)."""
        parts = [np.where(ranked, np.clip(depth * len(levels) - i, 0.0, 1.0), depth) for i in range(len(levels))]
        known = {name: parts[levels.index(law.level)] for name, law in system.laws.items()}
        extra = {name: value * known.get(name, 1.0) for name, value in asked.extra.items()}
        rates = asked.rates * np.stack([parts[i] for i in of_streams], axis=2)
        return replace(asked, rates=rates, extra=extra)

    def beyond(depth: Array) -> Array:
        """Engines beyond those there are; where these are not full, all of the work is done."""
        return np.where(over, system.usage(done(depth)).busy - state.available, depth - 1.0)

    return done(crossing(beyond, over.shape))
