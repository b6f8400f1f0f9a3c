"""Capacity questions, each an evaluation of the ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity import beside, by_law, targets
from model.capacity.adjustments import PREFIX
from model.capacity.answer import INTERVAL_PCT, Answer, Estimate, as_plain
from model.capacity.asked import compiled, understood
from model.capacity.basis import DEFINED_OTHERWISE, defined_otherwise, distance, evidence, extrapolated, notes_on
from model.capacity.by_condition import at_point, by_condition, lawful, parted
from model.capacity.by_law import users_of
from model.capacity.by_rate import at_rate, beside_network
from model.capacity.counts import counted
from model.capacity.ensemble import System
from model.capacity.explain import explain
from model.capacity.figures import OF_RESPONSES, bottleneck, figure_draws, outputs_of, outputs_of_each, times
from model.capacity.headroom import headroom
from model.capacity.loads import Load
from model.capacity.moving import as_measured, completed, moved, needs_network
from model.capacity.offered import configured
from model.capacity.offload import ZIIPS
from model.capacity.otherwise import MeasuredSo, measured_so, with_options
from model.capacity.parts import Scenario, State
from model.capacity.questions import OBSERVED, QuestionError, said, system_entry
from model.capacity.siblings import answer_by_sibling, sibling_of
from model.capacity.thinking import at_think_time

__all__ = ["QuestionError", "compare", "explain", "headroom", "max_rate", "predict", "size", "spaced", "sweep"]

Array = NDArray[np.float64]
Evaluated = tuple[Sequence[float], Sequence[Load], State, Callable[[], State]]
RATES = ("etr_tps", "cpu_busy_pct", "growth_pct")
# The rates of which are not linear in it.
BENT = ("cpu_busy_pct",)
RATE_OF_CLASS = ("growth_pct.", "rate.")
PLACES = "limit."
WHOLE = ("engines", "ziip_engines")
MOST_STEPS = 400
SOLVER: Mapping[str, Any] = {
    "method": "M/M/m by priority level for all draws, limits as queues of their own",
    "relative_error": 0.05,
}


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """What a system uses and how long its transactions take at a load, with 90 % limits.

    What the network of a system refuses, such as a point measured elsewhere, its condition laws may know.

    Args:
        bundle: a calibrated model, see ``model.capacity.bundle``.
        system: id of a calibrated system, or the SMF identifier of an LPAR.
        at: the question: keys as ``model.capacity.questions`` lists them. Without a load, the operating point.

    Raises:
        QuestionError: unknown system or key, or a value out of its domain.
    """
    if not lawful(bundle, system):
        return _by_network(bundle, system, at)
    at = at_point(bundle, system, at)
    if (answer := with_options(predict, bundle, system, at)) is not None:
        return answer
    if (found := counted(bundle, system, at)) is not None:
        return found.said(_at_measured_counts(bundle, system, found.at))
    if (otherwise := at_think_time(bundle, system, at)) is not None:
        return otherwise
    try:
        return _at_measured_counts(bundle, system, at)
    except QuestionError as refused:
        if refused.field != f"at.{refused.value}":
            raise
        raise refused.also(configured(bundle, system)) from None


def _at_measured_counts(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    loads, conditions = parted(bundle, system, at)
    if system in bundle["systems"]:
        return _at_conditions(bundle, system, loads, conditions) if conditions else _as_asked(bundle, system, loads)
    if (by := sibling_of(bundle, system)) is not None:
        return answer_by_sibling(_as_asked, bundle, system, loads, conditions, by)
    return at_rate(bundle, system, loads, conditions)


def _at_conditions(
    bundle: Mapping[str, Any], system: str, loads: Mapping[str, Any], conditions: Mapping[str, Any]
) -> Answer:
    """What is known at conditions; what the laws refuse, the network may have figures of that are published so."""
    try:
        if needs_network(loads):
            return moved(_by_network, bundle, system, loads, conditions)
        return completed(_by_network, bundle, system, by_condition(bundle, system, {**conditions, **loads}), loads)
    except QuestionError:
        found = _by_network(bundle, system, loads)
        wanted = {f"{key}={value}" for key, value in conditions.items()}
        outputs = tuple(output for output in found.outputs if wanted <= set(output.condition.split("; ")))
        if not outputs:
            raise
        return replace(found, at={**conditions, **loads}, outputs=outputs)


def _as_asked(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer:
    """The network's answer with what the condition laws add; what it refuses, they may know."""
    try:
        found = _by_network(bundle, system, at)
        if not lawful(bundle, system):
            return found
        more, notes, figures = beside_network(bundle, system, at, found.outputs)
        behind = {**found.evidence, "figures": figures}
        parts = {output.metric for output in more}
        whole = tuple(output for output in found.outputs if output.metric not in parts)
        return replace(found, outputs=whole + more, notes=(*found.notes, *notes), evidence=behind)
    except QuestionError as refused:
        if "point" not in at:
            raise
        try:
            return as_measured(_by_network, bundle, system, at)
        except QuestionError as also:
            if not (refused.field == also.field == "at.point" and refused.allowed and also.value != "point"):
                raise refused from None
            raise refused.also(also.allowed) from None


def _by_network(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    entry = system_entry(bundle, system)
    ready = compiled(entry, at)
    load = understood(ready, at)
    state = ready.evaluate(load.scenario)
    notes = notes_on(ready, load, state)
    if defined_otherwise(bundle, entry):
        notes.append(DEFINED_OTHERWISE)
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
        evidence=evidence(bundle, entry),
        distance=distance(ready, state),
        times=tuple(times(state)),
        solver=solver(entry),
    )


def solver(entry: Mapping[str, Any]) -> dict[str, Any]:
    """How answers are found, and how far they are from the simulator's: as stated, or as seen of the system if more."""
    seen = ((entry.get("gate") or {}).get("simulated") or {}).get("worst_pct", 0.0)
    return {**SOLVER, "relative_error": max(float(SOLVER["relative_error"]), seen / 100.0)}


def size(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any) -> dict[str, Any]:
    """The smallest number of engines for a load, see :func:`model.capacity.targets.size`; or that of a sibling."""
    if not lawful(bundle, system):
        return targets.size(bundle, system, at, **wanted)
    if (alike := measured_so(predict, bundle, system, at or {})) is not None:
        return _as_measured_so(size(bundle, alike.system, alike.at, **wanted), alike, system, at)
    found = counted(bundle, system, at or {})
    rest, notes = (at, ()) if found is None else (found.at, found.notes)
    by = sibling_of(bundle, system)
    if by is None:
        sized = targets.size(bundle, system, rest, **wanted)
    else:
        loads, _ = parted(bundle, system, rest)
        asked = {key: value for key, value in by.asked(loads).items() if key != "engines" or key in loads}
        sized = by.named(targets.size(bundle, by.system, asked, **wanted), system)
    return {**sized, "at": dict(at or {}), "notes": [*notes, *sized["notes"]]} if notes else sized


def max_rate(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any
) -> dict[str, Any]:
    """The highest rate of the mix, see :func:`model.capacity.targets.max_rate`; that of a sibling, or of users."""
    known = lawful(bundle, system)
    if known and (alike := measured_so(predict, bundle, system, at or {})) is not None:
        return _as_measured_so(max_rate(bundle, alike.system, alike.at, **wanted), alike, system, at)
    by = sibling_of(bundle, system) if known else None
    entry = bundle["systems"].get(system)
    if by is None and known and (entry is None or (_without_response(entry, wanted) and users_of(bundle, system))):
        return by_law.max_rate(bundle, system, at, **wanted)
    if by is None:
        return targets.max_rate(bundle, system, at, **wanted)
    loads, _ = parted(bundle, system, at)
    return by.named(targets.max_rate(bundle, by.system, by.asked(loads), **wanted), system)


def _as_measured_so(
    found: Mapping[str, Any], alike: MeasuredSo, system: str, at: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What was found of a system with the options asked for, in the name of the one that was asked."""
    return {**found, "system": system, "at": dict(at or {}), "notes": [*alike.notes, *found["notes"]]}


def _without_response(entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a response is asked for that the network of a system has not."""
    return wanted.get("max_response_ms") is not None and not entry.get("response")


def spaced(key: str, first: float, last: float, steps: int | None = None) -> list[float]:
    """Evenly spaced values for a sweep; without ``steps`` every whole number of engines, or eleven of anything else.

    Raises:
        QuestionError: the range does not ascend, or there are fewer than 2 or more than 400 steps.
    """
    if not 0 < last - first < np.inf:
        raise QuestionError(
            "to", last, f"to: {said(last)} should be greater than from, {said(first)}, by a finite number"
        )
    count = steps if steps is not None else int(last - first) + 1 if key in WHOLE else 11
    if not 2 <= count <= MOST_STEPS:
        message = f"steps: {said(count)} from {said(first)} to {said(last)} should be 2 to {MOST_STEPS}"
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
        return beside.swept(predict, bundle, system, key, values, at or {}, metrics)
    entry = system_entry(bundle, system)
    ready = compiled(entry, at)
    entry = ready.entry
    known = sorted({spec["metric"] for spec in entry["outputs"]})
    for metric in metrics:
        if metric not in known:
            raise QuestionError("metrics", metric, f"metrics: {metric!r} is not predicted for {system}", known)
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    wanted = [spec for spec in entry["outputs"] if not metrics or spec["metric"] in metrics]
    responses = any(spec["form"] in OF_RESPONSES for spec in wanted)
    for numbers, loads, state, ends in _evaluated(ready, at or {}, key, values, responses=responses):
        for end in (0, -1):
            if numbers[end] in (values[0], values[-1]):
                notes |= dict.fromkeys(notes_on(ready, loads[end], ends().at_load(end)))
        found = outputs_of_each(ready, loads, state, metrics)
        for i, number in enumerate(numbers):
            rows.append({"value": float(number), "outputs": found[i], "extrapolated": extrapolated(ready, state, i)})
    return {
        "system": system,
        "key": key,
        "at": dict(at or {}),
        "model_version": bundle["model_version"],
        "interval_pct": INTERVAL_PCT,
        "steps": rows,
        "measured": [],
        "notes": list(notes),
        "evidence": as_plain(evidence(bundle, entry)),
    }


def _evaluated(
    ready: System, at: Mapping[str, Any], key: str, values: Sequence[float], *, responses: bool
) -> Iterator[Evaluated]:
    """Values of the key, their loads, the state at them, and how to get that of the first and last of all with all
    there is to note; where only rates or places change, many are evaluated at once."""
    observed = any(str(name).startswith(OBSERVED) for name in at)
    if observed or (key not in RATES and not key.startswith((*RATE_OF_CLASS, PLACES))):
        for number in values:
            load = understood(ready, {**at, key: number})
            yield from _states(ready, [number], [load], load.scenario, responses)
        return
    if key not in BENT and not key.startswith(PLACES):
        yield from _states(ready, values, *_linear(ready, at, key, values), responses)
        return
    loads = [understood(ready, {**at, key: number}) for number in values]
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
    ready: System, values: Sequence[float], loads: Sequence[Load], scenario: Scenario, responses: bool
) -> Iterator[Evaluated]:
    """As :func:`_evaluated`, of one scenario: with responses where these are asked for, or where a limit may be full,
    as what it lets through hangs on them: it is full at the first or the last load if at any. What there is to note of
    these two, limits have looked at already."""
    asked = ready.at_rates(scenario.as_asked().at_loads([0, -1])) if ready.limits else None
    full = asked is not None and any(np.any(used >= 1.0) for used in asked.limits.values())

    def ends() -> State:
        return asked if asked is not None else ready.at_rates(scenario.at_loads([0, -1]))

    for some in ready.blocks(len(loads)):
        state = ready.evaluate(scenario.at_loads(some), responses=responses or full)
        noted = partial(lambda state: state, state) if state.response_ms or state.limits else ends
        yield [values[i] for i in some], [loads[i] for i in some], state, noted


def _linear(ready: System, at: Mapping[str, Any], key: str, values: Sequence[float]) -> tuple[list[Load], Scenario]:
    """Loads where rates are linear in the key: understood at the least and most, in proportion between them."""
    least, most = min(values), max(values)
    first, last = (understood(ready, {**at, key: number}) for number in (least, most))
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
    answers = [_side(bundle, *asked) for asked in sides]
    alone = all(_by_network_alone(bundle, name, at) for _, name, at in sides)
    rows = _changes(bundle, sides) if alone else beside.changes(*answers)
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
    """Whether a question is one that a network answers or refuses, with nothing from condition laws."""
    if not lawful(bundle, system):
        return True
    loads, conditions = parted(bundle, system, at)
    points = [point["point"] for point in bundle["systems"].get(system, {}).get("points", ())]
    return system in bundle["systems"] and not conditions and ("point" not in loads or str(loads["point"]) in points)


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
    ready = compiled(system_entry(bundle, system), at)
    state = ready.evaluate(understood(ready, at, side).scenario)
    found = {}
    for spec in ready.entry["outputs"]:
        draws = figure_draws(ready, state, spec)
        if draws is not None:
            found[spec["metric"], str(spec.get("class", spec.get("station", "")))] = draws
    return found
