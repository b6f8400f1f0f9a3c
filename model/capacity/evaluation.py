"""The state of a system at a scenario, and scenarios that reach a given state.

:func:`evaluate` adds to :class:`model.capacity.system.System` what depends on the answer itself: users who think, full
engines and full limits. :func:`at_busy` and :func:`as_observed` solve for the rates at a busy, and for the work that
explains measured responses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from model.capacity.state import RESPONSE, Scenario, State
from model.capacity.system import System
from model.capacity.values import QuestionError

Array = NDArray[np.float64]

def evaluate(system: System, scenario: Scenario, *, responses: bool = True) -> State:
    """The state of a system: closed classes at the rates that their responses allow, and the carried load.

    Parameters
    ----------
    system
        the parameters as arrays.
    scenario
        loads of shape (draws or 1, loads, classes).
    responses
        whether responses are needed.

    Returns
    -------
    State
        arrays of shape (draws, loads).
    """
    at_rates = partial(system.at_rates, responses=responses or scenario.users is not None)
    return carried_load(at_rates, system, with_users(at_rates, system, scenario))



AtRates = Callable[[Scenario], State]

NEARLY = 0.9995
"""Utilization of a full limit by its carried load."""
FEW_SAMPLES = 0.05
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
        loads = np.flatnonzero(over[0] | (over.mean(axis=0) > FEW_SAMPLES))
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


ROUNDS, HALVINGS = 3, 14
"""Rounds of bisection over all closed classes together, and halvings in each."""
WIDER = 4.0
"""Factor by which a round widens the bracket that the one before left: other classes have moved since."""


def population(state: State, system: System) -> dict[int, Array]:
    r"""Users who make the rates of a state, (draws, loads), by class number: :math:`N = X (Z + R)` (Little's law);
    infinite where a response has no end."""
    responses, found = _responses(system), {}
    for stream, think_s in state.scenario.thinking(system.streams).items():
        number = system.numbers[stream]
        response_ms = state.response_ms.get(responses.get(number, ("", stream)))
        if response_ms is not None:
            rate = system.stream(state.scenario, stream)
            found[number] = rate * (think_s + np.where(rate > 0.0, response_ms, 0.0) / 1e3)
            if state.scenario.users is not None:
                found[number] = np.broadcast_to(state.scenario.users[:, :, number], found[number].shape)
    return found


def _responses(system: System) -> dict[int, tuple[str, str]]:
    """The response of each class that has one, by number."""
    known = (one for one in system.responses if one.class_name in system.numbers)
    return {system.numbers[one.class_name]: one.key for one in known}


def with_users(at_rates: Callable[[Scenario], State], system: System, scenario: Scenario) -> State:
    """The state at the throughput of the scenario's users, (draws, loads, classes).

    :math:`X (Z + R(X)) = N` for every closed class, by bisection of the throughputs of all of them between nothing and
    :math:`N / Z`, in rounds, as the responses of one hang on the throughputs of the others.
    """
    first = at_rates(scenario.as_asked())
    if scenario.users is None or scenario.think_s is None:
        return first
    keys = {n: key for n, key in _responses(system).items() if np.any(scenario.users[:, :, n] > 0)}
    closed = list(keys)
    if not closed:
        return first
    shape = first.busy.shape
    think_s = np.stack([np.broadcast_to(scenario.think_s[:, :, n], shape) for n in closed], axis=2)
    users = np.stack([np.broadcast_to(scenario.users[:, :, n], shape) for n in closed], axis=2)
    rates = np.broadcast_to(scenario.rates, (*shape, scenario.rates.shape[2])).copy()
    most = users / np.maximum(think_s, 1e-9)
    low, high = np.zeros_like(most), most.copy()
    for turn in range(ROUNDS):
        if turn:
            width = np.maximum(high - low, 1e-6 * most) * 2.0**HALVINGS / WIDER**2
            low, high = np.maximum(low - width / 2.0, 0.0), np.minimum(high + width / 2.0, most)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            rates[:, :, closed] = middle
            tried = at_rates(replace(scenario.as_asked(), rates=rates.copy()))
            response_s = np.stack([tried.response_ms[keys[n]] for n in closed], axis=2) / 1e3
            with np.errstate(invalid="ignore"):
                too_many = ~(middle * (think_s + response_s) < users)
            low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    rates[:, :, closed] = low
    state = at_rates(replace(scenario.as_asked(), rates=rates))
    return replace(state, scenario=replace(state.scenario, users=scenario.users))


def at_busy(system: System, scenario: Scenario, busy_pct: float) -> Scenario:
    """The scenario with every draw's rates scaled until the LPAR is that busy; infinite rates where it never is.

    Raises:
        QuestionError: the fixed part alone is busier.
    """
    wanted = busy_pct / 100.0 * scenario.engines
    rates = np.broadcast_to(scenario.rates, (system.draws, *scenario.rates.shape[1:]))

    def beyond(factor: Array) -> Array:
        return system.usage(replace(scenario, rates=rates * factor[:, :, None])).busy / wanted - 1.0

    factors = find_root(beyond, rates.shape[:2])
    if not factors[0].all():
        raise QuestionError(
            "cpu_busy_pct", busy_pct, f"cpu_busy_pct: {busy_pct:g} is below the busy without transactions"
        )
    return replace(scenario, rates=rates * factors[:, :, None])


TURNS, STEP = 4, 0.01
# Work is taken to be at least this part of the usual.
LEAST_WORK = 0.2
SEED = 8100


def varying(system: System, scenario: Scenario, seconds: Array | float) -> tuple[Array, Array]:
    """How far the work of all transactions varies between intervals of so many ``seconds`` at these rates, relative,
    (draws, loads), and of each class how much of it goes with its own, (draws, loads, streams): 1 where it does alike.
    """
    usage = system.usage(scenario).by_series
    used = np.stack([usage.get(name, np.zeros((system.draws, 1))) for name in system.streams], axis=2)
    variance = scenario.rates * system.work_scatter**2 / np.reshape(seconds, (-1, 1))
    total, work = variance.sum(axis=2), np.maximum(used.sum(axis=2), 1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = variance * work[:, :, None] / (used * total[:, :, None])
    return np.sqrt(total) / work, np.where(np.isfinite(along), along, 0.0)


def as_observed(
    system: System, scenario: Scenario, responses: Mapping[str, Array], seconds: Array | float
) -> tuple[Scenario, Array, Array]:
    """The scenario with the work that the responses tell of, that work over the usual, and how far it varies between
    intervals, relative, each (draws, loads).

    Args:
        system: the calibrated system.
        scenario: the loads, on what they were measured on.
        responses: by class whose scatter between intervals is known, (loads,) mean in ms; NaN where not measured.
        seconds: lengths of the intervals, (loads,) or one for all.
    """
    sd, along = varying(system, scenario, seconds)
    work = np.ones(sd.shape)

    def log_responses(factor: Array) -> tuple[State, dict[str, Array]]:
        state = evaluate(system, replace(scenario, work=factor))
        found = {name: _response(system, state, name, factor, along) for name in responses}
        return state, {name: np.log(np.maximum(one, 1e-9)) for name, one in found.items()}

    precision = 1.0 / np.maximum(sd, 1e-9) ** 2
    for _ in range(TURNS):
        (state, lower), (_, upper) = log_responses(work * (1.0 - STEP)), log_responses(work * (1.0 + STEP))
        sure, pull = precision, precision
        endless = np.zeros(work.shape, bool)
        for name, measured in responses.items():
            noise = _noise(system, state, name, seconds)
            with np.errstate(invalid="ignore", divide="ignore"):
                slope = (upper[name] - lower[name]) / (2.0 * STEP * work)
                off = np.log(measured) - (upper[name] + lower[name]) / 2.0
            endless |= np.isinf(upper[name]) & np.isfinite(measured)
            known = np.isfinite(slope) & np.isfinite(off)
            slope, off = np.where(known, slope, 0.0), np.where(known, off, 0.0)
            sure = sure + slope**2 / noise
            pull = pull + slope * (off + slope * work) / noise
        # What was answered was not without end.
        next_work = np.where(endless, work * (1.0 - np.maximum(sd, STEP)), pull / sure)
        work = np.clip(next_work, LEAST_WORK, 1.0 / LEAST_WORK)
    work = np.maximum(work + system.deviates(SEED)[:, None] / np.sqrt(sure), LEAST_WORK)
    return replace(scenario, work=work), work, sd


def unexplained(
    system: System, found: Scenario, responses: Mapping[str, Array], seconds: Array | float, deviations: float
) -> dict[str, float]:
    """The response in ms that the model has, by class, where the one measured is further from it than so many
    deviations of single intervals, with the work the responses tell of. One load."""
    state = evaluate(system, found)
    said = {}
    for name, measured in responses.items():
        own = state.response_ms[RESPONSE, name]
        with np.errstate(invalid="ignore"):
            off = np.abs(np.log(measured / np.maximum(own, 1e-9)))
        if np.isfinite(own[0, 0]) and np.all(off > deviations * np.sqrt(_noise(system, state, name, seconds))):
            said[name] = float(own[0, 0])
    return said


def _response(system: System, state: State, name: str, work: Array, along: Array) -> Array:
    """Response of a class whose transactions take more as all ``work`` does, less as theirs varies by itself."""
    own = along[:, :, system.numbers[name]]
    alone = state.using_ms[RESPONSE, name] * ((1.0 + own * (work - 1.0)) / work - 1.0)
    return np.asarray(state.response_ms[RESPONSE, name] + alone)


def _noise(system: System, state: State, name: str, seconds: Array | float) -> Array:
    """Variance of the log of a class's response in one interval about the model's, (draws, loads)."""
    law = next(one for one in system.responses if one.class_name == name)
    ended = system.stream(state.scenario, name) * seconds
    return law.scatter(system.waiting_share(state, law), ended) ** 2


LEAST, DOUBLINGS, STEPS = 1e-9, 40, 80
# How near to zero is zero, and how narrow a bracket is a point, as parts of what it holds.
NEAR, NARROW = 1e-10, 1e-12


def find_root(rising: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The factors above 0 at which ``rising``, evaluated for an array of them, crosses zero.

    A bracket is found by doubling, then narrowed by the Illinois method (M. Dowell and P. Jarratt, *BIT* 11, 1971), by
    halving where a value is infinite. Where the function is above zero from the start the factor is 0; where it never
    gets there, 2 to the power of 40.
    """
    low, high = np.full(shape, LEAST), np.ones(shape)
    at_low, at_high = rising(low), rising(high)
    for _ in range(DOUBLINGS):
        short = at_high < 0.0
        if not short.any():
            break
        low, at_low = np.where(short, high, low), np.where(short, at_high, at_low)
        high = np.where(short, high * 2.0, high)
        at_high = np.where(short, rising(high), at_high)
    found, side = np.where(at_low >= 0.0, 0.0, high), np.zeros(shape)
    open_ = (at_low < 0.0) & (at_high > 0.0)
    for _ in range(STEPS):
        if not open_.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            x = low - at_low * (high - low) / (at_high - at_low)
        x = np.where((low < x) & (x < high), x, (low + high) / 2.0)
        value = rising(x)
        found = np.where(open_, x, found)
        below = value < 0.0
        # The end that stays a second time counts half, so that it moves, too.
        at_high = np.where(below, np.where(side < 0, at_high / 2.0, at_high), value)
        at_low = np.where(below, value, np.where(side > 0, at_low / 2.0, at_low))
        low, high = np.where(below, x, low), np.where(below, high, x)
        side = np.where(below, -1.0, 1.0)
        open_ &= (np.abs(value) > NEAR) & (high - low > NARROW * high)
    return found
