"""Answers by the network of a system: predictions, sweeps over a key, and the samples that a comparison subtracts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.adjustments import POPULATIONS, PREFIX
from model.capacity.answer import INTERVAL_PCT, Answer, Estimate, Output, as_plain
from model.capacity.base_load import recorded_and_modelled
from model.capacity.bundle import system_entry
from model.capacity.evaluation import evaluate
from model.capacity.evidence import DEFINITIONS_CHANGED, definitions_changed, distance, evidence, extrapolated, notes_on
from model.capacity.figures import figure_draws, figures_of
from model.capacity.outputs import bottleneck, outputs_of, outputs_of_each, times
from model.capacity.parameters import cached
from model.capacity.question import Question, evaluate_question, parse_question, prepare_system
from model.capacity.state import Scenario, State
from model.capacity.system import System
from model.capacity.values import OBSERVED, ZIIPS, QuestionError, is_planned

Array = NDArray[np.float64]

Predict = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer]
Evaluated = tuple[Sequence[float], Sequence[Question], State, Callable[[], State]]

SOLVER: Mapping[str, Any] = {
    "method": "M/M/m by priority level for all draws, limits as queues of their own",
    "relative_error": 0.05,
}
"""What answers say of the method."""
RATES = ("etr_tps", "cpu_busy_pct", "growth_pct", "growth_pct.", "rate.")
"""How keys begin that change rates alone."""
PLACES = "limit."
BUSY = "cpu_busy_pct"
"""The one of these in which rates are not linear."""


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """Utilization and response times of a system at a load, with 90 % limits.

    Raises
    ------
    QuestionError
        unknown system or key, or a value out of its domain.
    """
    parameters = system_entry(bundle, system)
    ready, load, state = evaluate_question(parameters, at)
    _refuse_plans(load)
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
    if grown or load.keys.keys() - {"when"}:
        return []
    return cached(ready.parameters, ("modelled", base.recorded), lambda: recorded_and_modelled(ready, base))


def _refuse_plans(load: Question) -> None:
    """Refuse planned growth at a recorded load, before which it has not begun."""
    if load.span is None or not load.span.ahead[0]:
        for key in (str(key) for key in load.keys if is_planned([str(key)])):
            text = f"{key}: says how loads grow after the records; ask with when=DATE, or headroom or forecast-msu"
            raise QuestionError(f"at.{key}", load.keys[key], text)


def size(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any) -> dict[str, Any]:
    """See :func:`model.capacity.sizing.size`, which a prediction does not load."""
    from model.capacity import sizing

    return sizing.size(bundle, system, at, **targets)


def max_rate(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
) -> dict[str, Any]:
    """See :func:`model.capacity.sizing.max_rate`, which a prediction does not load."""
    from model.capacity import sizing

    return sizing.max_rate(bundle, system, at, **targets)


def figure_samples(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any], side: str = "at"
) -> dict[tuple[str, str], Array]:
    """Posterior samples of every figure, (draws,), by metric and class or station; ``side`` names the question."""
    ready, _, state = evaluate_question(system_entry(bundle, system), at, side)
    samples = {}
    for one in figures_of(ready.parameters):
        draws = figure_draws(ready, state, one)
        if draws is not None:
            samples[one.metric, one.class_name or one.station or ""] = draws
    return samples


class Sweep(NamedTuple):
    """Values of a key, the question that they change, and the metrics of the result; all metrics if there are none."""

    key: str
    values: Sequence[float]
    at: Mapping[str, Any] = {}
    metrics: Sequence[str] = ()

    @property
    def changes_system(self) -> bool:
        """Whether each value makes another system: work that moves to zIIPs, or to a pool that was not recorded."""
        return self.key == ZIIPS or self.key.startswith(PREFIX)


def sweep(bundle: Mapping[str, Any], system: str, over: Sweep) -> dict[str, Any]:
    """Chosen metrics over a range of one key, as :func:`model.capacity.ask.sweep`; many loads are evaluated at once."""
    if over.changes_system:
        return sweep_answers(predict, bundle, system, over)
    key, values, at, metrics = over
    parameters = system_entry(bundle, system)
    ready = prepare_system(parameters, at)
    parameters = ready.parameters
    figures = figures_of(parameters)
    _check_metrics(system, metrics, {one.metric for one in figures})
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    chosen = [one for one in figures if not metrics or one.metric in metrics]
    responses = any(one.quantity.needs_responses for one in chosen)
    for numbers, loads, state, ends in _evaluated(ready, at, key, values, responses=responses):
        for end in (0, -1):
            if numbers[end] in (values[0], values[-1]):
                notes |= dict.fromkeys(notes_on(ready, loads[end], ends().at_load(end)))
        outputs = outputs_of_each(ready, loads, state, metrics)
        for i, number in enumerate(numbers):
            rows.append({"value": float(number), "outputs": outputs[i], "extrapolated": extrapolated(ready, state, i)})
    return _sweep_result(bundle, system, over, rows, list(notes), evidence(bundle, parameters))


def _sweep_result(
    bundle: Mapping[str, Any],
    system: str,
    over: Sweep,
    steps: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    behind: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "system": system,
        "key": over.key,
        "at": dict(over.at),
        "model_version": bundle["model_version"],
        "interval_pct": INTERVAL_PCT,
        "steps": as_plain(steps),
        "measured": [],
        "notes": list(notes),
        "evidence": as_plain(behind),
    }


def _check_metrics(system: str, metrics: Sequence[str], answered: set[str]) -> None:
    for metric in metrics:
        if metric not in answered:
            raise QuestionError("metrics", metric, f"metrics: {metric!r} is not predicted for {system}", answered)


def _evaluated(
    ready: System, at: Mapping[str, Any], key: str, values: Sequence[float], *, responses: bool
) -> Iterator[Evaluated]:
    """Values of the key, their loads, the state at them, and the state at the first and last of all with everything
    that notes need. Where only rates or places change, many are evaluated at once."""
    observed = any(str(name).startswith(OBSERVED) for name in at)
    if observed or not key.startswith((*RATES, PLACES)):
        for number in values:
            load = parse_question(ready, {**at, key: number})
            yield from _states(ready, [number], [load], load.scenario, responses)
        return
    if key != BUSY and not key.startswith(PLACES):
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
    """As :func:`_evaluated`, of one scenario.

    Responses are evaluated where a figure needs them, or where a limit may be full, because the carried load depends
    on them. If a limit is full at any load, it is full at the first or the last, which are evaluated first.
    """
    offered = ready.at_rates(scenario.offered().at_loads([0, -1])) if ready.limits else None
    full = offered is not None and any(np.any(used >= 1.0) for used in offered.limits.values())

    def ends() -> State:
        return offered if offered is not None else ready.at_rates(scenario.at_loads([0, -1]))

    for some in ready.blocks(len(loads)):
        state = evaluate(ready, scenario.at_loads(some), responses=responses or full)
        noted = partial(lambda state: state, state) if state.response_ms or state.limits else ends
        yield [values[i] for i in some], [loads[i] for i in some], state, noted


def _linear(ready: System, at: Mapping[str, Any], key: str, values: Sequence[float]) -> tuple[list[Question], Scenario]:
    """Loads where rates are linear in the key: parsed at the least and most, in proportion between them."""
    least, most = min(values), max(values)
    first, last = (parse_question(ready, {**at, key: number}) for number in (least, most))
    part = ((np.asarray(values, float) - least) / (most - least or 1.0))[None, :, None]
    loads = [first.with_key(key, number) for number in values]
    low, high = first.scenario, last.scenario
    between = replace(low, rates=low.rates + part * (high.rates - low.rates))
    if low.users is not None and high.users is not None:
        between = replace(between, users=low.users + part * (high.users - low.users))
    return loads, between


def sweep_answers(predict: Predict, bundle: Mapping[str, Any], system: str, over: Sweep) -> dict[str, Any]:
    """The same by one prediction for each value, in place of a value of the key in the question."""
    over = over._replace(at={name: value for name, value in over.at.items() if name not in _synonyms((over.key,))})
    answers = [predict(bundle, system, {**over.at, over.key: value}) for value in over.values]
    _check_metrics(system, over.metrics, {output.metric for answer in answers for output in answer.outputs})
    steps = [
        {
            "value": float(value),
            "outputs": [
                asdict(replace(output, condition=without(output.condition, (over.key,))))
                for output in answer.outputs
                if not over.metrics or output.metric in over.metrics
            ],
            "extrapolated": answer.extrapolated,
        }
        for value, answer in zip(over.values, answers, strict=True)
    ]
    notes = list(dict.fromkeys([*answers[0].notes, *answers[-1].notes]))
    return _sweep_result(bundle, system, over, steps, notes, answers[0].evidence)


def without(condition: str, keys: Sequence[str]) -> str:
    """A condition of a figure without the parts that name these keys."""
    names = _synonyms(keys)
    return "; ".join(part for part in condition.split("; ") if part.partition("=")[0] not in names)


def _synonyms(keys: Sequence[str]) -> set[str]:
    """Keys with their other names: one population may be called users in one table and sessions in another."""
    return {*keys, *(POPULATIONS if set(keys) & set(POPULATIONS) else ())}


Samples = Mapping[tuple[str, str], NDArray[np.float64]]


def changes(answers: Sequence[Answer], samples: Sequence[Samples | None]) -> list[dict[str, Any]]:
    """The second answer against the first: ``metric``, ``class``, ``a``, ``b`` and ``change_pct`` with its limits.

    Parameters
    ----------
    answers
        the two answers.
    samples
        posterior samples of their figures by metric and class; None of an answer that has limits only.
    """
    one, other = samples
    return _by_limits(*answers) if one is None or other is None else _by_samples(one, other)


def _by_samples(one: Samples, other: Samples) -> list[dict[str, Any]]:
    rows = []
    for key, left in one.items():
        right = other.get(key)
        if right is None or not np.isfinite(left[0]) or not np.isfinite(right[0]) or left[0] == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            change = Estimate.of(np.nan_to_num(100.0 * (right / left - 1.0), nan=np.inf, posinf=np.inf))
        rows.append(_row(key, float(left[0]), float(right[0]), change.to_dict()))
    return rows


def _by_limits(one: Answer, other: Answer) -> list[dict[str, Any]]:
    """Changes that are as uncertain as both answers are."""
    keys = tuple({*one.at, *other.at})
    right = {(output.metric, without(output.condition, keys)): output for output in other.outputs}
    rows = []
    for left in one.outputs:
        place = left.metric, without(left.condition, keys)
        then = right.get(place)
        if then is None or not left.value or then.value is None:
            continue
        change = {"value": 100.0 * (then.value / left.value - 1.0), **_limits(left, then)}
        rows.append(_row(place, left.value, then.value, change))
    return rows


def _row(key: tuple[str, str], a: float, b: float, change: Mapping[str, float | None]) -> dict[str, Any]:
    return {"metric": key[0], "class": key[1], "a": a, "b": b, "change_pct": change}


def _limits(left: Output, then: Output) -> dict[str, float | None]:
    ends = (left.lo, left.value, left.hi, then.lo, then.value, then.hi)
    if any(end is None or end <= 0 for end in ends):
        return {"lo": None, "hi": None}
    a_low, a, a_high, b_low, b, b_high = (math.log(float(end or 1.0)) for end in ends)
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return {"lo": 100.0 * (math.exp(b - a - down) - 1.0), "hi": 100.0 * (math.exp(b - a + up) - 1.0)}
