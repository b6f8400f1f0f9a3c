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
Numbers = NDArray[np.intp]
AtRates = Callable[[Scenario], State]

# Rounds over the classes, turns in which the wait of some is found, and how near that is, as a logarithm.
ROUNDS, TURNS, NEAR = 3, 60, 1e-4
# How far beyond a line the steps go in which it is looked for, how much longer than the last, and the longest; then one
# turn in so many halves where it may be.
HALVED = 8
BEYOND, GROWING, LONGEST = 1.3, (1.0, 10.0), 2.0
# Waits that are none beside the service.
NO_WAIT = 1e-9
# Parts of the rates asked at which a class may find room where it finds none at all of them; who gets no answer to so
# much as the last waits without end.
FEWER = 0.25, 1e-3
# Turns in which what full engines add to a wait is found.
STRETCHES = 2
# How long nobody is taken to wait, which changes nothing.
NOBODY_MS = 1.0
# Room that is none, and transactions/s.
NO_ROOM, NOTHING = 1e-9, 1e-8


def needed(state: State, system: System) -> dict[int, Array]:
    """Users who make the rates of a state, (draws, loads), by the number of their stream; infinite where they would
    wait without end."""
    responses, found = _responses(system), {}
    for stream, think_s in state.scenario.thinking(system.streams).items():
        number = system.numbers[stream]
        response_ms = state.response_ms.get(responses.get(number, ("", stream)))
        if response_ms is not None:
            rate = system.stream(state.scenario, stream)
            # Who sends nothing does not wait, however long it would be; or gets no answer ever.
            found[number] = rate * (think_s + np.where(rate > 0.0, response_ms, 0.0) / 1e3)
            if state.scenario.users is not None:
                found[number] = np.where(rate > 0.0, found[number], state.scenario.users[:, :, number])
    return found


def _responses(system: System) -> dict[int, tuple[str, str]]:
    """The response of each stream that has one, by number."""
    known = (one for one in system.responses if one.stream in system.numbers)
    return {system.numbers[one.stream]: (one.metric, one.stream) for one in known}


def settled(at_rates: AtRates, system: System, state: State, users: Array) -> tuple[Scenario, Numbers]:
    """The scenario at the rates that its users make, (draws, loads, streams), and at which loads these are others than
    those of the ``state`` that was looked at first.

    Classes that wait for the same things wait in proportion to each other, nearly: by how much longer than so far is
    looked for, for all of them together, until they wait as long as queues at the rates that follow have it; then anew
    with the proportions found there, and where others have changed since. More important classes come first, as they
    wait for no others. Where a class finds no room however little it sends, it gets no answers, and sends nothing more:
    ``users`` of the scenario are then those of such classes.
    """
    scenario, shape = state.scenario, (*state.busy.shape, len(system.streams))
    users, asked = np.broadcast_to(users, shape), np.broadcast_to(scenario.rates, shape)
    rates, longer = asked.copy(), np.ones(shape)

    def otherwise(loads: Numbers) -> NDArray[np.bool_]:
        """Which of some loads are no more those of the state."""
        changed = (rates[:, loads] != asked[:, loads]) | (longer[:, loads] != 1.0)
        return np.asarray(changed.any(axis=(0, 2)))

    groups = _groups(system, [s for s in _responses(system) if np.any(users[:, :, s] > 0)])
    known = [np.full(shape, np.nan) for _ in groups]
    for turn in range(ROUNDS):
        for group, settled_at in zip(groups, known, strict=True):
            loads = np.flatnonzero(_changed(settled_at, rates))
            if not len(loads):
                continue
            before = rates[:, loads]
            again = np.where(before > 0.0, before, asked[:, loads])[:, :, group.streams]
            start = replace(
                scenario.at_loads(loads), rates=_with(before, group.streams, again), longer=longer[:, loads]
            )
            seen = state, loads, otherwise(loads)
            sent = _sent(at_rates, start, seen, users[:, loads], group)
            # On full engines waits answer to changes of the others that do not count.
            moved = np.ones(len(loads), bool) if turn == 0 else _changed(before, sent.rates)
            rates[:, loads[moved]] = sent.rates[:, moved]
            longer[:, loads[moved]] = sent.longer[:, moved]  # type: ignore[index]
            # Of a single class no proportions are to be found anew.
            settled_at[:, loads] = rates[:, loads] if len(group.streams) == 1 else before
    unanswered = np.where((rates > 0.0) | (asked <= 0.0), 0.0, users)
    found = replace(scenario, rates=rates, users=unanswered if unanswered.any() else None, longer=longer)
    return found, np.flatnonzero(otherwise(np.arange(shape[1])))


def _changed(before: Array, now: Array) -> NDArray[np.bool_]:
    """(loads,) where rates are not as near as they are told apart."""
    return np.asarray(~(np.abs(before - now) <= NOTHING + NEAR * now).all(axis=(0, 2)))


@dataclass(frozen=True)
class _Group:
    """Streams with users that wait for the same limits: numbers, responses, and the numbers of all streams of their
    importance."""

    streams: list[int]
    keys: list[tuple[str, str]]
    limits: tuple[str, ...]
    beside: list[int]

    def times(self, state: State, users: Array, loads: Numbers | slice = slice(None)) -> tuple[Array, Array, Array]:
        """(draws, loads, classes) waits of so many users at some loads of a state, and what responses have beside them,
        in s; (draws, loads, 1) the room that is left in what they wait for, as a part of it, below zero where more is
        asked for."""
        response = np.stack([state.response_ms[key][:, loads] for key in self.keys], axis=2)
        using = np.stack([state.using_ms[key][:, loads] for key in self.keys], axis=2)
        other = np.stack([state.waiting_ms[key]["other"][:, loads] for key in self.keys], axis=2)
        with np.errstate(invalid="ignore"):
            waiting = np.where(np.isfinite(response), np.maximum(response - using - other, NO_WAIT * using), np.inf)
            beside = np.where(np.isfinite(response), response - waiting, 0.0)
        # Who is not there waits as long as ever, whatever the others do.
        waiting = np.where(users > 0.0, waiting, NOBODY_MS)
        taken = [state.taken[key][:, loads] for key in self.keys]
        taken += [state.limits[name][:, loads] for name in self.limits if name in state.limits]
        return waiting / 1e3, beside / 1e3, 1.0 - np.max(taken, axis=0)[:, :, None]


def _groups(system: System, streams: list[int]) -> list[_Group]:
    """The groups of some streams, the more important first."""
    ranked = system.in_line or bool(np.any(system.priorities))
    series = {(one.metric, one.stream): one.series for one in system.responses}
    keys = _responses(system)
    level = {s: system.level(series[key]) if ranked else 0 for s, key in keys.items()}
    found: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for stream in streams:
        limits = tuple(limit.name for limit in system.limits if stream in limit.members)
        found.setdefault((level[stream], limits), []).append(stream)
    return [
        _Group(streams, [keys[s] for s in streams], limits, [s for s in level if level[s] == importance])
        for (importance, limits), streams in sorted(found.items())
    ]


def _sent(
    at_rates: AtRates,
    scenario: Scenario,
    seen: tuple[State, Numbers, NDArray[np.bool_]],
    users: Array,
    group: _Group,
) -> Scenario:
    """The scenario with one group sending as its users do; ``seen`` is a state, which of its loads are those of the
    scenario, and where its rates are others."""
    assert scenario.think_s is not None and scenario.longer is not None
    streams = group.streams
    think_s, number, asked = scenario.think_s[:, :, streams], users[:, :, streams], scenario.rates[:, :, streams]

    before, everywhere = scenario.longer, np.arange(number.shape[1])
    state, of_state, stale = seen

    def times_at(sent: Array, loads: Numbers, longer: Array | float = 1.0) -> tuple[Array, Array, Array]:
        """The group's waits at such rates."""
        here = replace(scenario, longer=_with(before, group.beside, longer)).at_loads(loads)
        return group.times(at_rates(replace(here, rates=_with(here.rates, streams, sent))), number[:, loads])

    sent = asked
    waiting, beside, _ = group.times(state, number, of_state)
    for part in (1.0, *FEWER):
        stuck = ~np.isfinite(waiting)
        loads = np.flatnonzero(stale if part == 1.0 else stuck.any(axis=(0, 2)))
        if len(loads):
            sent = np.where(stuck, part * asked, sent)
            waiting[:, loads], beside[:, loads], _ = times_at(sent[:, loads], loads)
    lost = np.asarray(~np.isfinite(waiting).all(axis=2, keepdims=True))
    waited = np.where(lost, 1.0, waiting)
    share = sent * waited / np.maximum((sent * waited).sum(axis=2, keepdims=True), 1e-300)
    alone, least = np.broadcast_to(think_s, number.shape) + beside, FEWER[-1] / 2.0 * asked

    def rates_at(longer: Array, loads: Numbers) -> Array:
        found = number[:, loads] / (alone[:, loads] + waited[:, loads] * np.exp(longer))
        return np.where(lost[:, loads], asked[:, loads], np.maximum(found, least[:, loads]))

    # Where users make the rates that were looked at first, nothing is to be found.
    full_before = (before[:, :, group.beside] > 1.0).any(axis=(0, 2))
    unsettled = full_before | _changed(sent, rates_at(np.zeros(lost.shape), everywhere))
    looked_at: list[tuple[Array, Numbers, Array]] = []
    first = np.ones(lost.shape)

    def missing(longer: Array, loads: Numbers) -> Array:
        """The room that is missing for waits to be as long as those they follow from, as a part of that at first: waits
        are as one over the room, nearly, and the room as the rates. 0 where they are right, or no room is left for
        longer ones."""
        more, room, some = np.zeros(longer.shape), np.ones(longer.shape), np.flatnonzero(unsettled[loads])
        if len(some):
            those = loads[some]
            now, _, room[:, some] = times_at(rates_at(longer[:, some], those), those)
            found = np.sum(share[:, those] * np.log(now / waited[:, those]), axis=2, keepdims=True) - longer[:, some]
            more[:, some] = np.where(lost[:, those], 0.0, found)
        if not looked_at:
            first[:] = np.maximum(np.abs(room), NEAR)
        looked_at.append((longer, loads, np.exp(-np.minimum(more, 0.0))))
        endless = np.isinf(more)
        less = np.maximum(room, NO_ROOM) * np.expm1(np.where(endless, 0.0, more))
        less = np.where(endless, np.where(room < 0.0, NO_ROOM - room, 1.0), less)
        right = (np.abs(more) <= NEAR) | (more < 0.0) & (room <= NEAR)
        return np.where(right, 0.0, less / first[:, loads])

    # Where the group filled the engines before, it waited so much longer than the rates tell.
    known = np.log(before[:, :, group.beside[:1]])
    longer = crossed(missing, np.broadcast_to(known, lost.shape))
    # On full engines a wait has no end at a rate that is more by less than numbers tell apart: there users say it.
    left = np.ones(longer.shape)
    for point, loads, further in looked_at:
        left[:, loads] = np.where(point == longer[:, loads], further, left[:, loads])
    sent = np.where(unsettled[:, None], rates_at(longer, everywhere), sent)
    sent = np.where(~lost & (sent > FEWER[-1] * asked), sent, 0.0)
    full = np.flatnonzero((left > 1.0 + NEAR).any(axis=(0, 2)))
    for _ in range(STRETCHES if len(full) else 0):
        # Long waits deviate by more than their part.
        now, _, _ = times_at(sent[:, full], full, left)
        found = np.log(np.where(sent[:, full] > 0.0, now / waited[:, full], 1.0))
        part = np.exp(longer[:, full] - np.sum(share[:, full] * found, axis=2, keepdims=True))
        left[:, full] = np.where(left[:, full] > 1.0, np.maximum(left[:, full] * part, 1.0), 1.0)
    return replace(
        scenario,
        rates=_with(scenario.rates, streams, sent),
        longer=_with(before, group.beside, left),
    )


def _with(values: Array, streams: list[int], chosen: Array | float) -> Array:
    """A copy with other values for some streams."""
    changed = values.copy()
    changed[:, :, streams] = chosen
    return changed


def crossed(falling: Callable[[Array, Numbers], Array], start: Array) -> Array:
    """Where a falling function is zero, (draws, loads, 1); where it jumps over that, just beyond.

    Looked for from ``start`` in growing steps, the first as far as the value is, the others beyond where a line is
    zero; then where a line is zero (N. Anderson and A. Björck, *BIT* 13, 1973), and now and then halfway.

    Args:
        falling: its values, (draws, some loads, 1), at points of that shape, and the numbers of these loads.
    """

    def at(x: Array, wanted: NDArray[np.bool_], otherwise: Array) -> Array:
        """Its values where wanted; others elsewhere."""
        loads, found = np.flatnonzero(wanted.any(axis=(0, 2))), otherwise.copy()
        found[:, loads] = np.where(wanted[:, loads], falling(x[:, loads], loads), found[:, loads])
        return found

    here = falling(start, np.arange(start.shape[1]))
    up, size = here > 0.0, np.clip(np.abs(here), NEAR, 1.0)
    low, high, at_low, at_high = start, start, here, here
    for _ in range(TURNS):
        moving = np.where(up, at_high > 0.0, at_low < 0.0)
        if not np.any(moving):
            break
        x = np.where(up, high + size, low - size)
        before, value = np.where(up, at_high, at_low), at(x, moving, here)
        upwards, downwards = up & moving, ~up & moving
        low, at_low = np.where(upwards, high, low), np.where(upwards, at_high, at_low)
        high, at_high = np.where(downwards, low, high), np.where(downwards, at_low, at_high)
        low, at_low = np.where(downwards, x, low), np.where(downwards, value, at_low)
        high, at_high = np.where(upwards, x, high), np.where(upwards, value, at_high)
        with np.errstate(invalid="ignore", divide="ignore"):
            further = np.where(value / before < 1.0, BEYOND * value / (before - value), GROWING[1])
        size = np.minimum(size * np.clip(further, *GROWING), LONGEST)
    side = np.zeros(start.shape)
    for turn in range(TURNS):
        wide = high - low
        open_ = (wide > NEAR) & (at_low > 0.0) & (at_high < 0.0)
        if not np.any(open_):
            break
        part = np.where(open_ & (turn % HALVED < HALVED - 1), at_low / np.where(open_, at_low - at_high, 1.0), 0.5)
        least = NEAR / 2.0 / np.maximum(wide, NEAR)
        x = low + wide * np.clip(part, least, 1.0 - least)
        value = at(x, open_, here)
        above = value > 0.0
        # The end that stays a second time counts less, by as much as the other end came nearer to zero.
        nearer = 1.0 - value / np.where(open_, np.where(above, at_low, at_high), 1.0)
        before, side = side, np.where(above, 1.0, -1.0)
        less = np.where(side == before, np.where(nearer > 0.0, nearer, 0.5), 1.0)
        above, below = open_ & above, open_ & ~above
        low, at_low = np.where(above, x, low), np.where(above, value, np.where(below, at_low * less, at_low))
        high, at_high = np.where(below, x, high), np.where(below, value, np.where(above, at_high * less, at_high))
    return np.where(at_low == 0.0, low, high)
