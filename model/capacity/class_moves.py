"""Classes that move between LPARs: ``move_to.CLASS=SYSTEM`` away, ``move_from.CLASS=SYSTEM`` here.

A class that comes keeps the CPU that was recorded of it, and its response beyond the engines; it waits for the engines
of its new LPAR by its importance. Its name there is ``CLASS@SYSTEM``. What the LPARs of one machine use
together stays the same: what one loses, another gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.bundle import classes_named
from model.capacity.cpc import at_the_same_time, installation, named_system, relative_work
from model.capacity.parameters import DemandModel, SystemParameters, cached
from model.capacity.state import ON_ZIIPS, Scenario, engines_in_use
from model.capacity.system import System
from model.capacity.values import MOVE_FROM, MOVE_TO, QuestionError, must_be_finite

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Move:
    """A class or workload that moves: the key that says so, the ``other`` system by name, and the part that moves."""

    key: str
    name: str
    other: str
    share: float

    @classmethod
    def of(cls, key: str, value: Any) -> Move:
        """As ``SYSTEM``, or ``SYSTEM:SHARE`` for a part.

        Raises
        ------
        QuestionError
            the part is not above 0 and at most 1.
        """
        other, _, part = str(value).partition(":")
        share = must_be_finite(key, part) if part else 1.0
        if not 0.0 < share <= 1.0:
            raise QuestionError(key, value, f"{key}: the part that moves, {share:g}, must be above 0 and at most 1")
        return cls(key, key.partition(".")[2], other.strip(), share)


def moves_of(question: Mapping[str, Any], kind: str) -> list[Move]:
    """The moves of a kind that a question asks for."""
    return [Move.of(str(key), value) for key, value in question.items() if str(key).startswith(kind)]


def with_classes(parameters: SystemParameters, question: Mapping[str, Any]) -> SystemParameters:
    """The system with the classes that a question moves to it, without transactions in what was recorded; the very same
    where it moves none.

    Raises
    ------
    QuestionError
        a system or class is unknown.
    """
    moves = moves_of(question, MOVE_FROM)
    if not moves:
        return parameters
    return cached(parameters, ("moved", tuple(moves)), lambda: _with_all(parameters, moves))


def _with_all(parameters: SystemParameters, moves: list[Move]) -> SystemParameters:
    if parameters.recorded is None:
        raise QuestionError(
            moves[0].key, moves[0].other, f"{moves[0].key}: this system has measured points, no history"
        )
    changed = parameters
    for move in moves:
        other = _other(parameters, move)
        for i in classes_named(other, move.key, move.name):
            changed = _with_class(changed, other, i, move.other)
    return changed


def _other(parameters: SystemParameters, move: Move) -> SystemParameters:
    """The other system of a move, which has a history."""
    systems = {
        name: one
        for name, one in parameters.installation.items()
        if one.recorded is not None and one.recorded is not parameters.recorded
    }
    other = named_system(systems, move.other)
    if other is None:
        text = f"{move.key}: no other system {move.other!r} with a history is calibrated"
        raise QuestionError(move.key, move.other, text, systems)
    return other


def _with_class(parameters: SystemParameters, other: SystemParameters, i: int, system: str) -> SystemParameters:
    """The system with a class of another system."""
    moving, recorded = other.classes[i], parameters.recorded
    assert recorded is not None
    old, new = moving.name, f"{moving.name}@{system}"
    named = {old: new, f"{old}{ON_ZIIPS}": f"{new}{ON_ZIIPS}"}
    demands, responses = dict(parameters.demands), dict(parameters.responses)
    for before, after in named.items():
        if before in other.demands:
            demands[after] = _proportional(other.demands[before], new)
    if old in other.responses:
        response = other.responses[old]
        series, ziip_series = (
            tuple(named[one] for one in names if one in named) for names in (response.series, response.ziip_series)
        )
        responses[new] = replace(response, series=series, ziip_series=ziip_series, class_name=new)
    notes = parameters.notes
    limits = [limit.name for limit in other.limits if old in limit.members]
    if limits:
        stay = f"{new}: {', '.join(limits)} of {system} stay there; its response time includes no wait for such limits"
        notes = (*notes, stay)

    def with_none(values: Array) -> Array:
        return np.vstack([values, np.zeros(values.shape[1])])

    return replace(
        parameters,
        classes=(*parameters.classes, replace(moving, name=new, report_class="", workload="")),
        busy_components=(*parameters.busy_components, new),
        demands=demands,
        responses=responses,
        notes=notes,
        recorded=replace(
            recorded,
            rates=with_none(recorded.rates),
            users=None if recorded.users is None else with_none(recorded.users),
            thinking=None if recorded.thinking is None else with_none(recorded.thinking),
        ),
    )


def _proportional(demand: DemandModel, class_name: str) -> DemandModel:
    """A demand at its mean cost, in proportion to the rate of a class."""
    each = demand.coef[:, 0] + demand.coef[:, 1]
    return replace(demand, coef=np.stack([0.0 * each, each, 0.0 * each], axis=1), regressor=class_name)


def with_moves(system: System, scenario: Scenario, question: Mapping[str, Any], notes: list[str]) -> Scenario:
    """The recorded load with the classes that leave the LPAR or come to it.

    Raises
    ------
    QuestionError
        a system or class is unknown.
    """
    leaving, coming = moves_of(question, MOVE_TO), moves_of(question, MOVE_FROM)
    if not leaving and not coming:
        return scenario
    before = system.usage(scenario).busy
    for move in leaving:
        scenario = _without(system, scenario, move)
        after = system.usage(scenario).busy
        scenario = _with_engines_given(system, scenario, move, before - after, notes)
        before = after
    for move in coming:
        scenario = _with(system, scenario, move, notes)
        after = system.usage(scenario).busy
        scenario = _with_engines_given(system, scenario, move, before - after, notes)
        before = after
    return scenario


def _without(system: System, scenario: Scenario, move: Move) -> Scenario:
    """The load without a class, or without a part of it."""
    those = list(classes_named(system.parameters, move.key, move.name))
    kept = np.ones(len(system.class_names))
    kept[those] = 1.0 - move.share
    return replace(scenario, rates=scenario.rates * kept)


def _with(system: System, scenario: Scenario, move: Move, notes: list[str]) -> Scenario:
    """The load with a class of another system, which has the rate and the CPU that were recorded of it."""
    other, anchor, rates = _other(system.parameters, move), scenario.anchor, scenario.rates.copy()
    slower, history = relative_work(system, scenario, other, move.key), other.recorded
    assert history is not None
    for i in classes_named(other, move.key, move.name):
        old = other.classes[i].name
        index = system.class_index[f"{old}@{move.other}"]
        rate, when = at_the_same_time(system, scenario, history, history.rates[i])
        rates[:, :, index] = move.share * rate
        notes.append(f"{move.key}: {move.share * rate:.4g} transactions/s of {old}, as {when}")
        if anchor is None:
            continue
        factors = dict(anchor.usage)
        for series in (old, f"{old}{ON_ZIIPS}"):
            values, name = history.component_engines.get(series), series.replace(old, system.class_names[index], 1)
            demand = system.demands.get(name)
            if demand is None:
                continue
            used = engines_in_use(demand, np.full((system.draws, 1), max(rate, 1e-12)))
            seen = None if values is None else at_the_same_time(system, scenario, history, values)[0]
            is_known = seen is not None and bool(np.all(used > 0))
            factors[name] = slower * (seen / used if is_known and seen else np.ones(used.shape))
        anchor = replace(anchor, usage=factors)
    return replace(scenario, rates=rates, anchor=anchor)


def _with_engines_given(system: System, scenario: Scenario, move: Move, engines: Array, notes: list[str]) -> Scenario:
    """The load where an LPAR of the same machine uses so many engines more."""
    machine = system.partition.cpc(scenario)
    other = named_system(installation(system), move.other)
    name = other.machine.name if other is not None and other.machine is not None else ""
    lpars = {one.name.casefold() for one in machine.others} if machine is not None else set()
    if machine is None or not (name == machine.name or move.other.casefold() in lpars):
        if other is None:
            names = [*installation(system), *(one.name for one in (machine.others if machine else ()))]
            raise QuestionError(move.key, move.other, f"{move.key}: no LPAR {move.other!r} is recorded", names)
        return scenario
    notes.append(
        f"{move.key}: {move.other} is on the same machine, whose utilization this move does not change"
    )
    return replace(scenario, others=np.maximum(np.asarray(scenario.others, float) + engines, 0.0))
