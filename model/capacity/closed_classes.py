"""Closed classes: users who think between their transactions, and send no more than they get answers to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.capacity.state import Scenario, State

if TYPE_CHECKING:
    from model.capacity.evaluation import System

Array = NDArray[np.float64]

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
