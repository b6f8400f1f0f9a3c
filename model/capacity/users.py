"""Users who think between transactions: how often they send, as responses let them.

N users who think Z seconds, and wait R for each transaction, send N / (Z + R) of them a second: they send less where
responses grow, and never fill the engines for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity.parts import Scenario, State

if TYPE_CHECKING:
    from model.capacity.ensemble import System

Array = NDArray[np.float64]
AtRates = Callable[[Scenario], State]

# Rounds over the classes, turns in which the wait of some is found, and how near that is, as a logarithm.
ROUNDS, TURNS, NEAR = 3, 60, 1e-4
# Waits that are none beside the service, and the steps in which a wait is looked for at first and in later rounds.
NO_WAIT, FIRST_STEP, STEP = 1e-9, 1.0, 0.01
# Rates at which a class that finds no room however little it sends is given up, as a part of those asked.
LEAST = 1e-6
# A wait without end, as a logarithm.
ENDLESS = 50.0


def needed(state: State, system: System) -> dict[int, Array]:
    """Users who make the rates of a state, (draws, loads), by the number of their stream; infinite where they would
    wait without end."""
    responses, found = _responses(system), {}
    for stream, think_s in state.scenario.thinking(system.streams).items():
        number = system.numbers[stream]
        response_ms = state.response_ms.get(responses.get(number, ("", stream)))
        if response_ms is not None:
            found[number] = np.asarray(system.stream(state.scenario, stream) * (think_s + response_ms / 1e3))
    return found


def _responses(system: System) -> dict[int, tuple[str, str]]:
    """The response of each stream that has one, by number."""
    known = (one for one in system.responses if one.stream in system.numbers)
    return {system.numbers[one.stream]: (one.metric, one.stream) for one in known}


def settled(at_rates: AtRates, system: System, scenario: Scenario) -> Scenario:
    """The scenario at the rates that its users make, (draws, loads, streams).

    Classes that wait for the same things wait in proportion to each other, nearly: by how much longer than so far is
    looked for, for all of them together, until they wait as long as queues at the rates that follow have it; then anew
    with the proportions found there. More important classes come first, as they wait for no others. Where a class
    finds no room however little it sends, its rate is left as asked.
    """
    assert scenario.users is not None
    shape = (system.draws, scenario.users.shape[1], len(system.streams))
    users = np.broadcast_to(scenario.users, shape)
    found = replace(scenario, rates=np.broadcast_to(scenario.rates, shape), users=None, longer=np.ones(shape))
    groups = _groups(system, [s for s in _responses(system) if np.any(users[:, :, s] > 0)])
    for turn in range(ROUNDS):
        before = found.rates
        for group in groups:
            found = _sent(at_rates, found, users, group, FIRST_STEP if turn == 0 else STEP)
        if np.allclose(before, found.rates, rtol=NEAR):
            break
    return found


@dataclass(frozen=True)
class _Group:
    """Streams with users that wait for the same: numbers, responses, and those of all streams of their importance."""

    streams: list[int]
    keys: list[tuple[str, str]]
    beside: list[int]


def _groups(system: System, streams: list[int]) -> list[_Group]:
    """The groups of some streams, the more important first."""
    ranked = system.in_line or bool(np.any(system.priorities))
    series = {(one.metric, one.stream): one.series for one in system.responses}
    keys = _responses(system)
    level = {s: system.level(series[key]) if ranked else 0 for s, key in keys.items()}
    found: dict[tuple[object, ...], list[int]] = {}
    for stream in streams:
        limits = tuple(limit.name for limit in system.limits if stream in limit.members)
        found.setdefault((level[stream], limits), []).append(stream)
    return [
        _Group(found[own], [keys[s] for s in found[own]], [s for s in level if level[s] == own[0]])
        for own in sorted(found)
    ]


def _sent(at_rates: AtRates, scenario: Scenario, users: Array, group: _Group, step: float) -> Scenario:
    """The scenario with one group sending as its users do."""
    assert scenario.think_s is not None and scenario.longer is not None
    streams = group.streams
    think_s, number, asked = scenario.think_s[:, :, streams], users[:, :, streams], scenario.rates[:, :, streams]
    plain = replace(scenario, longer=_with(scenario.longer, group.beside, 1.0))

    def times_at(sent: Array) -> tuple[Array, Array]:
        """(draws, loads, classes) waits, and what responses have beside them, in s."""
        state = at_rates(replace(plain, rates=_with(scenario.rates, streams, sent)))
        response = np.stack([state.response_ms[key] for key in group.keys], axis=2)
        using = np.stack([state.using_ms[key] for key in group.keys], axis=2)
        other = np.stack([state.waiting_ms[key]["other"] for key in group.keys], axis=2)
        with np.errstate(invalid="ignore"):
            waiting = np.where(np.isfinite(response), np.maximum(response - using - other, NO_WAIT * using), np.inf)
            return waiting / 1e3, np.where(np.isfinite(response), response - waiting, 0.0) / 1e3

    sent = asked
    waiting, beside = times_at(sent)
    while np.any(stuck := ~np.isfinite(waiting) & (sent > LEAST * asked)):
        sent = np.where(stuck, sent / 4.0, sent)
        waiting, beside = times_at(sent)
    lost = ~np.isfinite(waiting).all(axis=2, keepdims=True)
    waited = np.where(lost, 1.0, waiting)
    share = sent * waited / np.maximum((sent * waited).sum(axis=2, keepdims=True), 1e-300)

    def rates_at(longer: Array) -> Array:
        return np.where(lost, asked, number / (think_s + beside + waited * np.exp(longer)))

    def missing(longer: Array) -> Array:
        """By how much longer still the group waits at the rates that follow, as a logarithm."""
        now, _ = times_at(rates_at(longer))
        found = np.sum(share * np.log(now / waited), axis=2, keepdims=True) - longer
        return np.where(lost, 0.0, np.minimum(found, ENDLESS))

    longer, there = crossed(missing, np.zeros(lost.shape), step)
    # On full engines a wait has no end at a rate that is more by less than numbers tell apart: there users say it.
    left = np.where(lost, 1.0, np.maximum(np.exp(-there), 1.0))
    return replace(
        scenario,
        rates=_with(scenario.rates, streams, rates_at(longer)),
        longer=_with(scenario.longer, group.beside, left),
    )


def _with(values: Array, streams: list[int], chosen: Array | float) -> Array:
    """A copy with other values for some streams."""
    changed = values.copy()
    changed[:, :, streams] = chosen
    return changed


def crossed(falling: Callable[[Array], Array], start: Array, step: float) -> tuple[Array, Array]:
    """Where a falling function crosses zero, and its value there; where it jumps, just beyond.

    Looked for from ``start`` in growing steps, then by the Illinois method (M. Dowell and P. Jarratt, *BIT* 11, 1971),
    by halving where a value is without end.
    """
    here = falling(start)
    up = here > 0.0
    low, high, at_low, at_high = start, start, here, here
    size = step
    for _ in range(TURNS):
        moving = np.where(up, at_high > 0.0, at_low < 0.0) & (np.abs(here) > NEAR)
        if not np.any(moving):
            break
        x = np.where(up, high, low) + np.where(moving, np.where(up, size, -size), 0.0)
        value = np.where(moving, falling(x), np.where(up, at_high, at_low))
        low, at_low = np.where(up & moving, high, low), np.where(up & moving, at_high, at_low)
        high, at_high = np.where(~up & moving, low, high), np.where(~up & moving, at_low, at_high)
        low, at_low = np.where(~up & moving, x, low), np.where(~up & moving, value, at_low)
        high, at_high = np.where(up & moving, x, high), np.where(up & moving, value, at_high)
        size *= 2.0
    side, there = np.zeros(start.shape), at_high
    for _ in range(TURNS):
        open_ = (high - low > NEAR) & (at_high < -NEAR)
        if not np.any(open_):
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            x = low + at_low * (high - low) / (at_low - at_high)
        x = np.where((at_low < ENDLESS) & (low < x) & (x < high), x, (low + high) / 2.0)
        value = falling(np.where(open_, x, high))
        above = value > NEAR
        at_high = np.where(open_, np.where(above, np.where(side < 0, at_high / 2.0, at_high), value), at_high)
        at_low = np.where(open_, np.where(above, value, np.where(side > 0, at_low / 2.0, at_low)), at_low)
        low, high = np.where(open_ & above, x, low), np.where(open_ & ~above, x, high)
        there = np.where(open_ & ~above, value, there)
        side = np.where(above, -1.0, 1.0)
    return high, there
