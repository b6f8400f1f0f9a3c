"""A load whose responses were measured: what they say of the work its transactions brought.

Transactions of an interval take more or less CPU than usual as chance has it, and are answered later or sooner for it.
The work of all is known beforehand as it varies from interval to interval; each draw takes from the responses how much
more or less it was, by the posterior in which log responses are linear in the work (an extended Kalman update).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from model.capacity.evaluation import System
from model.capacity.state import RESPONSE, Scenario, State

Array = NDArray[np.float64]

TURNS, STEP = 4, 0.01
# Work is taken to be at least this part of the usual.
LEAST = 0.2
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
        state = system.evaluate(replace(scenario, work=factor))
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
        work = np.clip(np.where(endless, work * (1.0 - np.maximum(sd, STEP)), pull / sure), LEAST, 1.0 / LEAST)
    work = np.maximum(work + system.deviates(SEED)[:, None] / np.sqrt(sure), LEAST)
    return replace(scenario, work=work), work, sd


def unexplained(
    system: System, found: Scenario, responses: Mapping[str, Array], seconds: Array | float, deviations: float
) -> dict[str, float]:
    """The response in ms that the model has, by class, where the one measured is further from it than so many
    deviations of single intervals, with the work the responses tell of. One load."""
    state = system.evaluate(found)
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
