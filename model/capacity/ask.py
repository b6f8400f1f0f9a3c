"""Capacity questions, each an evaluation of the ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.adjustments import PREFIX
from model.capacity.anchor import recorded_and_modelled
from model.capacity.answer import INTERVAL_PCT, Answer, Estimate, as_plain
from model.capacity.bottleneck import bottleneck, times
from model.capacity.cache import cached
from model.capacity.evaluation import System
from model.capacity.evidence import DEFINITIONS_CHANGED, definitions_changed, distance, evidence, extrapolated, notes_on
from model.capacity.figures import figure_draws, figures_of
from model.capacity.growth import is_planned
from model.capacity.outputs import outputs_of, outputs_of_each
from model.capacity.question import Question, parse_question, prepare_system
from model.capacity.question_keys import OBSERVED, ZIIPS, has_conditions, system_entry
from model.capacity.state import Scenario, State
from model.capacity.values import QuestionError, number_text

__all__ = ["QuestionError", "compare", "explain", "headroom", "max_rate", "predict", "size", "spaced", "sweep"]

Array = NDArray[np.float64]
Evaluated = tuple[Sequence[float], Sequence[Question], State, Callable[[], State]]
RATES = ("etr_tps", "cpu_busy_pct", "growth_pct")
# The rates of which are not linear in it.
BENT = ("cpu_busy_pct",)
RATE_OF_CLASS = ("growth_pct.", "rate.")
PLACES = "limit."
WHOLE = ("engines", "ziip_engines", "physical_cps", "physical_ziips")
MOST_STEPS = 400
SOLVER: Mapping[str, Any] = {
    "method": "M/M/m by priority level for all draws, limits as queues of their own",
    "relative_error": 0.05,
}


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """What a system uses and how long its transactions take at a load, with 90 % limits.

    What the network of a system refuses, such as a point measured elsewhere, its studies may know.

    Args:
        bundle: a calibrated model, see ``model.capacity.bundle``.
        system: id of a calibrated system, or the SMF identifier of an LPAR.
        at: the question: keys as ``model.capacity.question_keys`` lists them. Without a load, the operating point.

    Raises:
        QuestionError: unknown system or key, or a value out of its domain.
    """
    if has_conditions(bundle, system):
        return _studies().predict(_by_network, bundle, system, at)
    return _by_network(bundle, system, at)


def _studies() -> ModuleType:
    """Questions about systems with studies; loaded for these alone."""
    from model.published import ask

    return ask


def _by_network(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    parameters = system_entry(bundle, system)
    ready = prepare_system(parameters, at)
    load = parse_question(ready, at)
    _refuse_plans(load)
    state = ready.evaluate(load.scenario)
    notes = notes_on(ready, load, state)
    if definitions_changed(bundle, parameters):
        notes.append(DEFINITIONS_CHANGED)
    outputs = tuple(output for output in outputs_of(ready, load, state) if output.value is not None)
    if load.point is not None and any(output.metric == "etr_tps" for output in outputs):
        notes.insert(0, "etr_tps: the limits are the rates at which the model is as busy as it is here")
    return Answer(
        system=system,
        at=load.at,
        model_version=bundle["model_version"],
        outputs=outputs,
        bottleneck=bottleneck(ready, state),
        extrapolated=extrapolated(ready, state),
        notes=tuple(notes),
        evidence=evidence(bundle, parameters),
        distance=distance(ready, state),
        times=tuple(times(state)),
        recorded=tuple(_recorded(ready, load)),
        solver=dict(SOLVER),
    )


def _recorded(ready: System, load: Question) -> list[dict[str, Any]]:
    """Recorded and modelled figures of a recorded load; none where the question changes it."""
    base = load.scenario
    grown = base.anchor is None or not np.array_equal(base.rates, base.anchor.rates)
    if grown or load.asked.keys() - {"when"}:
        return []
    return cached(ready.parameters, ("modelled", base.recorded), lambda: recorded_and_modelled(ready, base))


def size(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any) -> dict[str, Any]:
    """The smallest number of engines for a load, see :func:`model.capacity.sizing.size`; or that of a sibling."""
    if has_conditions(bundle, system):
        return dict(_studies().size(_by_network, bundle, system, at, **wanted))
    from model.capacity import sizing

    return sizing.size(bundle, system, at, **wanted)


def max_rate(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any
) -> dict[str, Any]:
    """The highest rate of the mix, see :func:`model.capacity.sizing.max_rate`; that of a sibling, or of users."""
    if has_conditions(bundle, system):
        return dict(_studies().max_rate(_by_network, bundle, system, at, **wanted))
    from model.capacity import sizing

    return sizing.max_rate(bundle, system, at, **wanted)


def headroom(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
) -> dict[str, Any]:
    """When growth reaches targets, see :func:`model.capacity.headroom.headroom`."""
    from model.capacity import headroom as forecast

    return forecast.headroom(bundle, system, at, **targets)


def explain(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What an answer is made of, see :func:`model.capacity.explain.explain`."""
    from model.capacity import explain as parts

    return parts.explain(bundle, system, at)


def spaced(key: str, first: float, last: float, steps: int | None = None) -> list[float]:
    """Evenly spaced values for a sweep; without ``steps`` every whole number of engines, or eleven of anything else.

    Raises:
        QuestionError: the range does not ascend, or there are fewer than 2 or more than 400 steps.
    """
    if not 0 < last - first < np.inf:
        raise QuestionError(
            "to", last, f"to: {number_text(last)} should be greater than from, {number_text(first)}, by a finite number"
        )
    count = steps if steps is not None else int(last - first) + 1 if key in WHOLE else 11
    if not 2 <= count <= MOST_STEPS:
        between = f"from {number_text(first)} to {number_text(last)}"
        message = f"steps: {number_text(count)} {between} should be 2 to {MOST_STEPS}"
        raise QuestionError("steps", steps, message)
    return [first + (last - first) * i / (count - 1) for i in range(count)]


def sweep(
    bundle: Mapping[str, Any],
    system: str,
    key: str,
    values: Sequence[float],
    *,
    at: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Chosen metrics over a range of one key; no value where there is no steady state.

    Returns:
        ``steps``: for each value its ``outputs`` and whether it is ``extrapolated``; ``measured``: of a condition the
        figures at its measured levels; ``notes`` on the ends of the range.

    Raises:
        QuestionError: as :func:`predict`; or a metric that is not answered for the system.
    """
    if key == ZIIPS or key.startswith(PREFIX) or not _by_network_alone(bundle, system, {**(at or {}), key: values[0]}):
        from model.capacity import comparison

        measured = _studies().measured_levels if has_conditions(bundle, system) else None
        return comparison.sweep_answers(predict, bundle, system, key, values, at or {}, metrics, measured)
    parameters = system_entry(bundle, system)
    ready = prepare_system(parameters, at)
    parameters = ready.parameters
    figures = figures_of(parameters)
    answered = sorted({one.metric for one in figures})
    for metric in metrics:
        if metric not in answered:
            raise QuestionError("metrics", metric, f"metrics: {metric!r} is not predicted for {system}", answered)
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    wanted = [one for one in figures if not metrics or one.metric in metrics]
    responses = any(one.quantity.needs_responses for one in wanted)
    for numbers, loads, state, ends in _evaluated(ready, at or {}, key, values, responses=responses):
        for end in (0, -1):
            if numbers[end] in (values[0], values[-1]):
                notes |= dict.fromkeys(notes_on(ready, loads[end], ends().at_load(end)))
        outputs = outputs_of_each(ready, loads, state, metrics)
        for i, number in enumerate(numbers):
            rows.append({"value": float(number), "outputs": outputs[i], "extrapolated": extrapolated(ready, state, i)})
    return {
        "system": system,
        "key": key,
        "at": dict(at or {}),
        "model_version": bundle["model_version"],
        "interval_pct": INTERVAL_PCT,
        "steps": rows,
        "measured": [],
        "notes": list(notes),
        "evidence": as_plain(evidence(bundle, parameters)),
    }


def _refuse_plans(load: Question) -> None:
    """Refuse planned growth at a recorded load, before which it has not begun."""
    if load.span is None or not load.span.ahead[0]:
        for key in (str(key) for key in load.asked if is_planned([str(key)])):
            text = f"{key}: says how loads grow after the records; ask with when=DATE, or headroom or forecast-msu"
            raise QuestionError(f"at.{key}", load.asked[key], text)


def _evaluated(
    ready: System, at: Mapping[str, Any], key: str, values: Sequence[float], *, responses: bool
) -> Iterator[Evaluated]:
    """Values of the key, their loads, the state at them, and how to get that of the first and last of all with all
    there is to note; where only rates or places change, many are evaluated at once."""
    observed = any(str(name).startswith(OBSERVED) for name in at)
    if observed or (key not in RATES and not key.startswith((*RATE_OF_CLASS, PLACES))):
        for number in values:
            load = parse_question(ready, {**at, key: number})
            yield from _states(ready, [number], [load], load.scenario, responses)
        return
    if key not in BENT and not key.startswith(PLACES):
        yield from _states(ready, values, *_linear(ready, at, key, values), responses)
        return
    loads = [parse_question(ready, {**at, key: number}) for number in values]
    each = [load.scenario for load in loads]
    draws = max(one.rates.shape[0] for one in each)
    rates = [np.broadcast_to(one.rates, (draws, *one.rates.shape[1:])) for one in each]
    users = [one.users for one in each if one.users is not None]
    scenario = replace(
        each[0],
        rates=np.concatenate(rates, axis=1),
        users=np.concatenate(users, axis=1) if users else None,
        limits={name: np.array([[one.limits[name] for one in each]]) for name in each[0].limits},
    )
    yield from _states(ready, values, loads, scenario, responses)


def _states(
    ready: System, values: Sequence[float], loads: Sequence[Question], scenario: Scenario, responses: bool
) -> Iterator[Evaluated]:
    """As :func:`_evaluated`, of one scenario: with responses where these are asked for, or where a limit may be full,
    as what it lets through hangs on them: it is full at the first or the last load if at any. What there is to note of
    these two, limits have looked at already."""
    offered = ready.at_rates(scenario.as_asked().at_loads([0, -1])) if ready.limits else None
    full = offered is not None and any(np.any(used >= 1.0) for used in offered.limits.values())

    def ends() -> State:
        return offered if offered is not None else ready.at_rates(scenario.at_loads([0, -1]))

    for some in ready.blocks(len(loads)):
        state = ready.evaluate(scenario.at_loads(some), responses=responses or full)
        noted = partial(lambda state: state, state) if state.response_ms or state.limits else ends
        yield [values[i] for i in some], [loads[i] for i in some], state, noted


def _linear(ready: System, at: Mapping[str, Any], key: str, values: Sequence[float]) -> tuple[list[Question], Scenario]:
    """Loads where rates are linear in the key: parsed at the least and most, in proportion between them."""
    least, most = min(values), max(values)
    first, last = (parse_question(ready, {**at, key: number}) for number in (least, most))
    part = ((np.asarray(values, float) - least) / (most - least or 1.0))[None, :, None]
    loads = [first.asking(key, number) for number in values]
    low, high = first.scenario, last.scenario
    between = replace(low, rates=low.rates + part * (high.rates - low.rates))
    if low.users is not None and high.users is not None:
        between = replace(between, users=low.users + part * (high.users - low.users))
    return loads, between


def compare(
    bundle: Mapping[str, Any],
    system: str,
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    *,
    other: str | None = None,
) -> dict[str, Any]:
    """Two questions side by side: B against A, metric by metric, with the interval of the difference.

    Both are evaluated with the same draws where they are about one system, so that what they share cancels.

    Raises:
        QuestionError: as :func:`predict`.
    """
    sides = (("a", system, a), ("b", other or system, b))
    answers = [_side(bundle, *side) for side in sides]
    alone = all(_by_network_alone(bundle, name, at) for _, name, at in sides)
    if alone:
        rows = _changes(bundle, sides)
    else:
        from model.capacity import comparison

        rows = comparison.changes(*answers)
    return as_plain(
        {
            "system": system,
            "other": other or system,
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "a": answers[0].to_dict(),
            "b": answers[1].to_dict(),
            "changes": rows,
        }
    )


def _side(bundle: Mapping[str, Any], side: str, system: str, at: Mapping[str, Any]) -> Answer:
    """The answer of one side; a refusal names the side's field."""
    try:
        return predict(bundle, system, at)
    except QuestionError as error:
        if error.field == "at" or error.field.startswith("at."):
            error.field = side + error.field[2:]
        raise


def _by_network_alone(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> bool:
    """Whether a question is one that a network answers or refuses, with nothing from studies."""
    return not has_conditions(bundle, system) or bool(_studies().network_alone(bundle, system, at))


def _changes(bundle: Mapping[str, Any], sides: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    figures = [_draws_by_metric(bundle, name, at, side) for side, name, at in sides]
    rows = []
    for key, left in figures[0].items():
        right = figures[1].get(key)
        if right is None or not np.isfinite(left[0]) or not np.isfinite(right[0]) or left[0] == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            change = Estimate.of(np.nan_to_num(100.0 * (right / left - 1.0), nan=np.inf, posinf=np.inf))
        rows.append(
            {"metric": key[0], "class": key[1], "a": float(left[0]), "b": float(right[0])}
            | {"change_pct": change.to_dict()}
        )
    return rows


def _draws_by_metric(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any], side: str
) -> dict[tuple[str, str], Array]:
    ready = prepare_system(system_entry(bundle, system), at)
    state = ready.evaluate(parse_question(ready, at, side).scenario)
    draws_of = {}
    for one in figures_of(ready.parameters):
        draws = figure_draws(ready, state, one)
        if draws is not None:
            draws_of[one.metric, one.class_name or one.station or ""] = draws
    return draws_of
