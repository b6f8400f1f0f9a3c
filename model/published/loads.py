"""Condition laws and a network in one answer: what was measured at a condition, at another load or on other engines.

The laws say what the figures are at the condition; the network says how they change with the load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import PREFIX, RATES, Factor, log_sd, scaled
from model.capacity.answer import Answer, Output
from model.capacity.parameters import Point
from model.capacity.values import GROWTH, QuestionError, growth_factor, must_be_positive
from model.published.answers import by_condition, of_point
from model.published.rates import goes_with_rate, with_rate

Network = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer]
RATE, BUSY, ITR, CPU = "etr_tps", "cpu_busy_pct", "itr_tps", "cpu_us_per_tran"
FULL_PCT = 100.0


def needs_network(loads: Mapping[str, Any]) -> bool:
    """Whether any key says a load or engines, rather than naming a point or a what-if adjustment."""
    return any(key != "point" and not key.startswith(PREFIX) for key in loads)


def as_measured(network: Network, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer:
    """The answer at a measured point: of the network at the rate of the point where it is known, else of the laws.

    Raises:
        QuestionError: neither knows the point.
    """
    loads = {key: value for key, value in at.items() if key != "point" and needs_network({key: value})}
    measured = of_point(bundle, system, {key: value for key, value in at.items() if key not in loads})
    rate = measured.output(RATE)
    others = {key: value for key, value in at.items() if key != "point"}
    if rate is None or rate.value is None:
        return measured
    computed = network(bundle, system, {**others, RATE: rate.value})
    by_metric = {output.metric: output for output in computed.outputs}
    conditions = {output.metric: output.condition for output in measured.outputs}
    outputs = [
        replace(output, condition=conditions.get(output.metric, f"point={at['point']}"))
        for output in by_metric.values()
    ]
    still = [output for output in measured.outputs if output.metric not in by_metric and (not loads or output is rate)]
    note = f"point {at['point']} has a rate and no CPU figure of its own: the network answers at this rate"
    return replace(computed, at=dict(at), outputs=(*still, *outputs), notes=(note, *computed.notes))


def completed(
    network: Network, bundle: Mapping[str, Any], system: str, measured: Answer, adjustments: Mapping[str, Any]
) -> Answer:
    """What was measured at a condition, and for the rest the network at its point that is published under it.

    The engine time of the network is that which a measured ITR leaves.
    """
    point = _published(bundle, system, measured)
    if point is None:
        return measured
    computed = network(bundle, system, {**adjustments, "point": point.point})
    wanted = point.conditions.keys() - {output.metric for output in measured.outputs}
    by = _change(measured.output(ITR), computed.output(ITR)) or Factor(0.0, 0.0)
    more = [
        replace(scaled(o, by) if o.metric in (BUSY, CPU) else o, condition=point.conditions[o.metric])
        for o in computed.outputs
        if o.metric in wanted
    ]
    return replace(
        computed, at=measured.at, outputs=(*measured.outputs, *more), notes=(*measured.notes, *computed.notes),
        extrapolated=measured.extrapolated, evidence={**computed.evidence, **measured.evidence},
    )  # fmt: skip


def _published(bundle: Mapping[str, Any], system: str, measured: Answer) -> Point | None:
    """The point of a network that is published under the condition of all that was answered; None without one."""
    conditions = {output.condition for output in measured.outputs}
    points: Sequence[Point] = bundle["systems"][system].points
    matching = [point for point in points if conditions == set(point.conditions.values())]
    return matching[0] if len(matching) == 1 else None


def moved(
    network: Network, bundle: Mapping[str, Any], system: str, loads: Mapping[str, Any], conditions: Mapping[str, Any]
) -> Answer:
    """The figures of a condition at a load: as the laws say, times the change that the network says.

    Raises:
        QuestionError: a key or level is unknown, or neither a rate nor an ITR was measured at the condition.
    """
    adjustments = {key: value for key, value in loads.items() if key.startswith(PREFIX)}
    by_studies = by_condition(bundle, system, {**conditions, **adjustments})
    measured = completed(network, bundle, system, by_studies, adjustments)
    rates = [output for output in measured.outputs if output.metric in RATES and output.value]
    from_tps = rates[0].value if rates else None
    if from_tps is None:
        question = {key: value for key, value in loads.items() if key not in adjustments}
        return _by_internal_rate(measured, network(bundle, system, adjustments), question, conditions)
    levels = sorted({output.condition for output in rates})
    if len(levels) > 1:
        raise QuestionError("at", dict(conditions), f"at: {_words(conditions)} stands for several; name one", levels)
    before = network(bundle, system, {RATE: from_tps})
    question = {key: value for key, value in loads.items() if key not in adjustments}
    if GROWTH in question:
        question[RATE] = from_tps * growth_factor(GROWTH, question.pop(GROWTH))
    busy = measured.output(BUSY), before.output(BUSY)
    if BUSY in question and busy[0] and busy[1] and busy[0].value and busy[1].value:
        question[BUSY] = min(FULL_PCT, float(question[BUSY]) * busy[1].value / busy[0].value)
    elif RATE not in question:
        question[RATE] = from_tps
    after = network(bundle, system, question)
    rate = float(question[RATE]) if RATE in question else getattr(after.output(RATE), "value", None)
    if rate is None:
        raise QuestionError(BUSY, loads[BUSY], f"{BUSY}: the rate at which {system} is this busy is not known")
    outputs = tuple(_at_load(output, before, after, rate / from_tps, loads) for output in measured.outputs)
    still = sorted({a.metric for a, b in zip(measured.outputs, outputs, strict=True) if a is b})
    notes = [f"not changed by the load, as far as is known: {', '.join(still)}"] if still else []
    return replace(
        after, at={**conditions, **loads}, outputs=outputs, notes=(*by_studies.notes, *after.notes, *notes),
        extrapolated=measured.extrapolated or after.extrapolated, evidence={**after.evidence, **measured.evidence},
    )  # fmt: skip


def _by_internal_rate(
    measured: Answer, computed: Answer, loads: Mapping[str, Any], conditions: Mapping[str, Any]
) -> Answer:
    """Busy at a rate, or the rate at a busy, where an ITR was measured and not at which rate: ITR = rate / busy.

    The engine time of a transaction may be another at the load asked for, by as much as the network is unsure of it.
    Raises QuestionError: no ITR was measured either, or something else than a rate or busy is asked for.
    """
    key = next(iter(loads))
    internal = [output for output in measured.outputs if output.metric == ITR and output.value]
    if not internal or loads.keys() - {RATE, BUSY}:
        raise QuestionError(key, loads[key], f"{key}: no transaction rate was measured at {_words(conditions)}")
    target = must_be_positive(key, loads[key], FULL_PCT if key == BUSY else math.inf)
    itr = computed.output(ITR)
    by = Factor(0.0, log_sd(itr) if itr else 0.0)
    outputs, full = [], []
    for output in (scaled(output, by) for output in internal):
        ends = (output.lo or 0.0, output.value or 0.0, output.hi or 0.0)
        rates = [target] * 3 if key == RATE else [target * end / FULL_PCT for end in ends]
        busy = [target] * 3 if key == BUSY else [FULL_PCT * target / end for end in reversed(ends)]
        if busy[1] > FULL_PCT:
            full.append(output.condition)
        for metric, (low, value, high), unit in ((RATE, rates, output.unit), (BUSY, busy, "pct")):
            most = FULL_PCT if metric == BUSY else math.inf
            outputs.append(Output(metric, output.condition, min(value, most), min(low, most), min(high, most), unit))
        outputs.append(output)
    rest = [output for output in measured.outputs if output.metric not in (RATE, BUSY, ITR)]
    notes = [
        "no transaction rate was measured here: busy and rate follow from the ITR, each rate being of its condition"
    ]
    if full:
        notes.append(f"more than the engines can do at {', '.join(full)}")
    if rest:
        still = sorted({output.metric for output in rest})
        notes.append(f"as measured, at loads that are not known: {', '.join(still)}")
    return replace(
        measured, at={**conditions, **loads}, outputs=(*outputs, *rest), notes=(*measured.notes, *notes),
        extrapolated=True,
    )  # fmt: skip


def _at_load(output: Output, before: Answer, after: Answer, growing: float, loads: Mapping[str, Any]) -> Output:
    if output.value is None:
        return output
    if output.metric in RATES:
        by = Factor(math.log(growing), 0.0)
    elif output.metric == BUSY and BUSY in loads:
        busy = float(loads[BUSY])
        return replace(output, value=busy, lo=busy, hi=busy)
    elif (change := _change(before.output(output.metric), after.output(output.metric))) is not None:
        by = change
    elif goes_with_rate(output.metric, output.unit):
        by = with_rate(growing)
    else:
        return output
    return scaled(output, by)


def _change(before: Output | None, after: Output | None) -> Factor | None:
    """The factor between two answers of a network; None where either has no value."""
    if not before or not after or not before.value or not after.value:
        return None
    spread = log_sd(after) ** 2 - log_sd(before) ** 2
    return Factor(math.log(after.value / before.value), math.sqrt(max(spread, 0.0)))


def _words(conditions: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in conditions.items())
