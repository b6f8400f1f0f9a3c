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
NEARLY = 0.9995
"""Utilization of a full limit by its carried load."""
FEW_SAMPLES = 0.05
"""Part of the samples with full engines up to which only their busy is limited to the engines."""
MAX_ITER = 8
"""Iterations at most between the carried load and the holding times of full limits."""
WEGSTEIN_ITER, SAME = 10, 1e-8
"""Iterations of Wegstein's method at most, and change of a throughput that ends them, relative to its highest."""
ROUNDS, HALVINGS = 3, 14
"""Rounds of bisection over all closed classes together, and halvings in each."""
WIDER = 4.0
"""Factor by which a round widens the bracket that the one before left: other classes have moved since."""
UPDATES, STEP = 4, 0.01
"""Updates of the posterior of the work, and relative step of its slopes."""
LEAST_WORK = 0.2
"""Least work of an interval, as a part of the average."""
SEED = 8100
LEAST, DOUBLINGS, STEPS = 1e-9, 40, 80
"""Least factor, and most doublings of a bracket and steps of its narrowing."""
NEAR, NARROW = 1e-10, 1e-12
"""Value below which a function is zero, and relative width below which a bracket is a point."""


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
                rates[:, :, [system.class_index[name] for name in limit.members]] *= part[:, :, None]
            carried = at_rates(replace(scenario, rates=rates))
            if all((carried.limits[limit.name] < 1.0).all() for limit in full):
                break
        members = {name for limit in full for name in limit.members}
        free = {key: value for key, value in carried.response_ms.items() if key[1] not in members}
        percentiles = {key: carried.p90_ms[key] for key in free if key in carried.p90_ms}
        state = replace(
            state,
            response_ms={**state.response_ms, **free},
            p90_ms={**state.p90_ms, **percentiles},
            waiting_ms={**state.waiting_ms, **{key: carried.waiting_ms[key] for key in free}},
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
    return state if carried is state else replace(state, carried_state=carried)


def _within_engines(system: System, state: State) -> Scenario:
    """The scenario with as much work as full engines do, the most important first."""
    offered, over = replace(state.scenario, users=None), state.busy > state.available
    levels = system.levels
    on_cps = [one for one in system.demands.values() if one.additive and one.engine == "cp"]
    priority_of = {one.regressor: one.priority for one in on_cps}
    of_classes = [levels.index(priority_of.get(name, levels[0])) for name in system.class_names]

    def done(depth: Array) -> Scenario:
        """The scenario with so much of its work, where 1 is all of it, (draws, loads)."""
        parts = [np.clip(depth * len(levels) - i, 0.0, 1.0) for i in range(len(levels))]
        by_series = {name: parts[levels.index(demand.priority)] for name, demand in system.demands.items()}
        extra = {name: value * by_series.get(name, 1.0) for name, value in offered.extra.items()}
        rates = offered.rates * np.stack([parts[i] for i in of_classes], axis=2)
        return replace(offered, rates=rates, extra=extra)

    def beyond(depth: Array) -> Array:
        """Engines beyond those there are; where these are not full, all of the work is done."""
        return np.where(over, system.usage(done(depth)).busy - state.available, depth - 1.0)

    return done(find_root(beyond, over.shape))


def population(state: State, system: System) -> dict[int, Array]:
    r"""Users who make the rates of a state, (draws, loads), by class number: :math:`N = X (Z + R)` (Little's demand);
    infinite where a response has no end."""
    responses, users_of = _responses(system), {}
    for name, think_s in state.scenario.thinking(system.class_names).items():
        number = system.class_index[name]
        response_ms = state.response_ms.get(responses.get(number, ("", name)))
        if response_ms is not None:
            rate = system.class_rate(state.scenario, name)
            users_of[number] = rate * (think_s + np.where(rate > 0.0, response_ms, 0.0) / 1e3)
            if state.scenario.users is not None:
                users_of[number] = np.broadcast_to(state.scenario.users[:, :, number], users_of[number].shape)
    return users_of


def _responses(system: System) -> dict[int, tuple[str, str]]:
    """The response of each class that has one, by number."""
    answered = (one for one in system.responses if one.class_name in system.class_index)
    return {system.class_index[one.class_name]: one.key for one in answered}


def with_users(at_rates: AtRates, system: System, scenario: Scenario) -> State:
    r"""The state at the throughput of the scenario's users, (draws, loads, classes).

    :math:`X = N / (Z + R(X))` for every closed class, by Wegstein's method from the offered rates (J. H. Wegstein,
    *CACM* 1, 1958). Loads that it leaves open, near full engines, are solved by bisection.
    """
    first = at_rates(scenario.offered())
    if scenario.users is None or scenario.think_s is None:
        return first
    keys = {n: key for n, key in _responses(system).items() if np.any(scenario.users[:, :, n] > 0)}
    if not keys:
        return first
    closed = list(keys)
    think_s, users = (
        np.stack([np.broadcast_to(values[:, :, n], first.busy.shape) for n in closed], axis=2)
        for values in (scenario.think_s, scenario.users)
    )
    most = users / np.maximum(think_s, 1e-9)
    rates = np.broadcast_to(scenario.rates, (*first.busy.shape, scenario.rates.shape[2])).copy()

    def throughput(state: State) -> Array:
        response_s = np.stack([state.response_ms[key] for key in keys.values()], axis=2) / 1e3
        return np.where(users > 0.0, users / np.maximum(think_s + np.nan_to_num(response_s, nan=np.inf), 1e-9), 0.0)

    def state_at(values: Array) -> State:
        rates[:, :, closed] = values
        return at_rates(replace(scenario.offered(), rates=rates.copy()))

    last, last_made = rates[:, :, closed], throughput(first)
    tried, state = last_made, first
    for _ in range(WEGSTEIN_ITER):
        state = state_at(tried)
        made = throughput(state)
        done = (np.abs(made - tried) <= SAME * most).all(axis=(0, 2))
        if done.all():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.minimum(np.nan_to_num((made - last_made) / (tried - last), nan=0.0, posinf=0.0), 0.0)
        last, last_made = tried, made
        tried = np.clip(tried + (made - tried) / (1.0 - slope), 0.0, most)
    else:
        left = np.flatnonzero(~done)
        state = state.with_loads(left, _by_bisection(at_rates, scenario.at_loads(left), keys))
    return replace(state, scenario=replace(state.scenario, users=scenario.users))


def _by_bisection(at_rates: AtRates, scenario: Scenario, keys: Mapping[int, tuple[str, str]]) -> State:
    """The state at the throughput of users: :math:`X (Z + R(X)) = N` by bisection of the throughputs of all classes
    between nothing and :math:`N / Z`, in rounds, as the responses of one depend on the throughputs of the others."""
    assert scenario.users is not None and scenario.think_s is not None
    closed = list(keys)
    think_s, users = scenario.think_s[:, :, closed], scenario.users[:, :, closed]
    shape = (at_rates(scenario.offered()).busy.shape[0], *scenario.rates.shape[1:])
    rates = np.broadcast_to(scenario.rates, shape).copy()
    most = np.broadcast_to(users / np.maximum(think_s, 1e-9), (*shape[:2], len(closed)))
    low, high = np.zeros_like(most), most.copy()
    for turn in range(ROUNDS):
        if turn:
            width = np.maximum(high - low, 1e-6 * most) * 2.0**HALVINGS / WIDER**2
            low, high = np.maximum(low - width / 2.0, 0.0), np.minimum(high + width / 2.0, most)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            rates[:, :, closed] = middle
            state = at_rates(replace(scenario.offered(), rates=rates.copy()))
            response_s = np.stack([state.response_ms[key] for key in keys.values()], axis=2) / 1e3
            with np.errstate(invalid="ignore"):
                too_many = ~(middle * (think_s + response_s) < users)
            low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    rates[:, :, closed] = low
    return at_rates(replace(scenario.offered(), rates=rates))


def at_busy(system: System, scenario: Scenario, busy_pct: float) -> Scenario:
    """The scenario with every draw's rates scaled until the LPAR is that busy; infinite rates where it never is.

    Raises
    ------
    QuestionError
        the fixed part alone is busier.
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


def varying(system: System, scenario: Scenario, seconds: Array | float) -> tuple[Array, Array]:
    """Variation of the work of all transactions between intervals.

    Parameters
    ----------
    system, scenario
        the loads.
    seconds
        lengths of the intervals, (loads,) or one for all.

    Returns
    -------
    sd : ndarray of shape (draws, loads)
        relative standard deviation of the work.
    along : ndarray of shape (draws, loads, classes)
        regression of the work of a class on that of all; 1 where it varies alike.
    """
    usage = system.usage(scenario).by_series
    used = np.stack([usage.get(name, np.zeros((system.draws, 1))) for name in system.class_names], axis=2)
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

    Parameters
    ----------
    system
        the calibrated system.
    scenario
        the loads, on what they were measured on.
    responses
        by class with a scatter between intervals, (loads,) mean in ms; NaN where not measured.
    seconds
        lengths of the intervals, (loads,) or one for all.
    """
    sd, along = varying(system, scenario, seconds)
    work = np.ones(sd.shape)

    def log_responses(factor: Array) -> tuple[State, dict[str, Array]]:
        state = evaluate(system, replace(scenario, work=factor))
        responses_ms = {name: _response(system, state, name, factor, along) for name in responses}
        return state, {name: np.log(np.maximum(one, 1e-9)) for name, one in responses_ms.items()}

    precision = 1.0 / np.maximum(sd, 1e-9) ** 2
    for _ in range(UPDATES):
        (state, lower), (_, upper) = log_responses(work * (1.0 - STEP)), log_responses(work * (1.0 + STEP))
        sure, pull = precision, precision
        endless = np.zeros(work.shape, bool)
        for name, measured in responses.items():
            noise = _noise(system, state, name, seconds)
            with np.errstate(invalid="ignore", divide="ignore"):
                slope = (upper[name] - lower[name]) / (2.0 * STEP * work)
                off = np.log(measured) - (upper[name] + lower[name]) / 2.0
            endless |= np.isinf(upper[name]) & np.isfinite(measured)
            usable = np.isfinite(slope) & np.isfinite(off)
            slope, off = np.where(usable, slope, 0.0), np.where(usable, off, 0.0)
            sure = sure + slope**2 / noise
            pull = pull + slope * (off + slope * work) / noise
        # What was answered was not without end.
        next_work = np.where(endless, work * (1.0 - np.maximum(sd, STEP)), pull / sure)
        work = np.clip(next_work, LEAST_WORK, 1.0 / LEAST_WORK)
    work = np.maximum(work + system.scores(SEED)[:, None] / np.sqrt(sure), LEAST_WORK)
    return replace(scenario, work=work), work, sd


def unexplained(
    system: System, scenario: Scenario, responses: Mapping[str, Array], seconds: Array | float, deviations: float
) -> dict[str, float]:
    """The response in ms that the model has, by class, where the one measured is further from it than so many
    deviations of single intervals, with the work the responses tell of. One load."""
    state = evaluate(system, scenario)
    modelled_ms = {}
    for name, measured in responses.items():
        response_ms = state.response_ms[RESPONSE, name]
        with np.errstate(invalid="ignore"):
            off = np.abs(np.log(measured / np.maximum(response_ms, 1e-9)))
        if np.isfinite(response_ms[0, 0]) and np.all(off > deviations * np.sqrt(_noise(system, state, name, seconds))):
            modelled_ms[name] = float(response_ms[0, 0])
    return modelled_ms


def _response(system: System, state: State, name: str, work: Array, along: Array) -> Array:
    """Response of a class whose transactions take more as all ``work`` does, less as theirs varies by itself."""
    share = along[:, :, system.class_index[name]]
    alone = state.using_ms[RESPONSE, name] * ((1.0 + share * (work - 1.0)) / work - 1.0)
    return np.asarray(state.response_ms[RESPONSE, name] + alone)


def _noise(system: System, state: State, name: str, seconds: Array | float) -> Array:
    """Variance of the log of a class's response in one interval about the model's, (draws, loads)."""
    response = next(one for one in system.responses if one.class_name == name)
    ended = system.class_rate(state.scenario, name) * seconds
    return response.scatter(system.waiting_share(state, response), ended) ** 2


def find_root(rising: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The factors above 0 at which ``rising``, evaluated for an array of them, crosses zero.

    A bracket is determined by doubling, then narrowed by the Illinois method (M. Dowell and P. Jarratt, *BIT* 11,
    1971), by halving where a value is infinite. Where the function is above zero from the start the factor is 0; where
    it never gets there, 2 to the power of 40.
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
    roots, side = np.where(at_low >= 0.0, 0.0, high), np.zeros(shape)
    open_ = (at_low < 0.0) & (at_high > 0.0)
    for _ in range(STEPS):
        if not open_.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            x = low - at_low * (high - low) / (at_high - at_low)
        x = np.where((low < x) & (x < high), x, (low + high) / 2.0)
        value = rising(x)
        roots = np.where(open_, x, roots)
        below = value < 0.0
        # The end that stays a second time counts half, so that it moves, too.
        at_high = np.where(below, np.where(side < 0, at_high / 2.0, at_high), value)
        at_low = np.where(below, value, np.where(side > 0, at_low / 2.0, at_low))
        low, high = np.where(below, x, low), np.where(below, high, x)
        side = np.where(below, -1.0, 1.0)
        open_ &= (np.abs(value) > NEAR) & (high - low > NARROW * high)
    return roots
