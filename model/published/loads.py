"""Studies and a network in one answer: what was measured at a condition, at another load or on other engines.

The studies give the figures at the condition; the network gives their change with the load.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import ITR, PREFIX, RATES, Factor, log_sd, scaled
from model.capacity.answer import Answer, Output
from model.capacity.network_answers import predict as by_network
from model.capacity.values import GROWTH, QuestionError, growth_factor, must_be_positive
from model.published.question import Question, by_condition, of_point
from model.published.rates import BUSY, FULL_PCT, RATE, with_studies
from model.published.scaling import scale, unchanged, with_load, with_rate
from model.published.system import Studied
from model.published.tables import POINT

CPU = "cpu_us_per_tran"


def at_load(studied: Studied, loads: Question) -> Answer:
    """The network's answer with the figures that the studies add; of a point that it has not, that of the studies."""
    try:
        answer = by_network(studied.bundle, studied.name, loads)
        return with_studies(studied, loads, answer) if studied.rows else answer
    except QuestionError as refusal:
        if POINT not in loads:
            raise
        try:
            return _at_point(studied, loads)
        except QuestionError as other:
            if not (refusal.field == other.field == "at.point" and refusal.allowed and other.value != POINT):
                raise refusal from None
            raise refusal.also(other.allowed) from None


def at_conditions(studied: Studied, loads: Question, conditions: Question) -> Answer:
    """The figures at conditions; those that the studies do not have, by the network."""
    try:
        if _sets_load(loads):
            return _moved(studied, loads, conditions)
        return _completed(studied, by_condition(studied, {**conditions, **loads}), loads)
    except QuestionError:
        answer = by_network(studied.bundle, studied.name, loads)
        wanted = {f"{key}={value}" for key, value in conditions.items()}
        outputs = tuple(output for output in answer.outputs if wanted <= set(output.condition.split("; ")))
        if not outputs:
            raise
        return replace(answer, at={**conditions, **loads}, outputs=outputs)


def _sets_load(loads: Question) -> bool:
    """Whether any key sets a load or engines, rather than naming a point or an adjustment."""
    return any(key != POINT and not key.startswith(PREFIX) for key in loads)


def _at_point(studied: Studied, at: Question) -> Answer:
    """The answer at a measured point: of the network at the rate of the point where it is known, else of the studies.

    Raises
    ------
    QuestionError
        Neither has the point.
    """
    loads = {key: value for key, value in at.items() if _sets_load({key: value})}
    measured = of_point(studied, {key: value for key, value in at.items() if key not in loads})
    rate = measured.output(RATE)
    if rate is None or rate.value is None:
        return measured
    others = {key: value for key, value in at.items() if key != POINT}
    computed = by_network(studied.bundle, studied.name, {**others, RATE: rate.value})
    by_metric = {output.metric: output for output in computed.outputs}
    conditions = {output.metric: output.condition for output in measured.outputs}
    outputs = [
        replace(output, condition=conditions.get(output.metric, f"point={at[POINT]}")) for output in by_metric.values()
    ]
    still = [output for output in measured.outputs if output.metric not in by_metric and (not loads or output is rate)]
    note = f"point {at[POINT]} has a rate and no CPU figure of its own: the network answers at this rate"
    return replace(computed, at=dict(at), outputs=(*still, *outputs), notes=(note, *computed.notes))


def _completed(studied: Studied, measured: Answer, adjustments: Question) -> Answer:
    """The figures of the studies, and for the rest the network at its point that is published under their condition.

    The engine time of the network is that which a measured ITR leaves.
    """
    conditions = {output.condition for output in measured.outputs}
    points = () if studied.network is None else studied.network.points
    matching = [point for point in points if conditions == set(point.conditions.values())]
    if len(matching) != 1:
        return measured
    point = matching[0]
    computed = by_network(studied.bundle, studied.name, {**adjustments, POINT: point.point})
    wanted = point.conditions.keys() - {output.metric for output in measured.outputs}
    same = Factor(0.0, 0.0)
    by = _change(measured.output(ITR), computed.output(ITR)) or same
    more = [
        replace(scaled(output, by if output.metric in (BUSY, CPU) else same), condition=point.conditions[output.metric])
        for output in computed.outputs
        if output.metric in wanted
    ]
    return _combined(computed, measured, measured.at, (*measured.outputs, *more), (*measured.notes, *computed.notes))


def _combined(
    computed: Answer, measured: Answer, at: Question, outputs: tuple[Output, ...], notes: tuple[str, ...]
) -> Answer:
    """The answer of a network with figures of studies; each brings its evidence."""
    evidence = {**computed.evidence, **measured.evidence}
    return replace(
        computed, at=at, outputs=outputs, notes=notes, extrapolated=measured.extrapolated, evidence=evidence
    )


def _moved(studied: Studied, loads: Question, conditions: Question) -> Answer:
    """The figures of a condition at a load: those of the studies, times the change that the network predicts.

    Raises
    ------
    QuestionError
        A key or level is unknown, or neither a rate nor an ITR was measured at the condition.
    """

    def network(question: Mapping[str, Any]) -> Answer:
        return by_network(studied.bundle, studied.name, question)

    adjustments = {key: value for key, value in loads.items() if key.startswith(PREFIX)}
    question = {key: value for key, value in loads.items() if key not in adjustments}
    by_studies = by_condition(studied, {**conditions, **adjustments})
    measured = _completed(studied, by_studies, adjustments)
    rates = [output for output in measured.outputs if output.metric in RATES and output.value]
    from_tps = rates[0].value if rates else None
    if from_tps is None:
        return _by_internal_rate(measured, network(adjustments), question, conditions)
    levels = sorted({output.condition for output in rates})
    if len(levels) > 1:
        raise QuestionError("at", dict(conditions), f"at: {_words(conditions)} stands for several; name one", levels)
    before = network({RATE: from_tps})
    if GROWTH in question:
        question[RATE] = from_tps * growth_factor(GROWTH, question.pop(GROWTH))
    busy = measured.output(BUSY), before.output(BUSY)
    if BUSY in question and busy[0] and busy[1] and busy[0].value and busy[1].value:
        question[BUSY] = min(FULL_PCT, float(question[BUSY]) * busy[1].value / busy[0].value)
    elif RATE not in question:
        question[RATE] = from_tps
    after = network(question)
    rate = float(question[RATE]) if RATE in question else getattr(after.output(RATE), "value", None)
    if rate is None:
        raise QuestionError(BUSY, loads[BUSY], f"{BUSY}: the rate at which {studied.name} is this busy is not known")
    growth = with_rate(rate / from_tps)

    def change(output: Output) -> Factor | None:
        if output.metric in RATES or output.value is None or (output.metric == BUSY and BUSY in loads):
            return with_load(output, growth) if output.metric in RATES else None
        return _change(before.output(output.metric), after.output(output.metric)) or with_load(output, growth)

    at = {**conditions, **loads}
    moved = scale(measured, change, at).outputs
    if BUSY in loads:
        busy_pct = float(loads[BUSY])
        moved = tuple(
            replace(one, value=busy_pct, lo=busy_pct, hi=busy_pct) if one.metric == BUSY and one.value else one
            for one in moved
        )
    notes = (*by_studies.notes, *after.notes, *unchanged(measured, moved))
    extrapolated = measured.extrapolated or after.extrapolated
    return replace(_combined(after, measured, at, moved, notes), extrapolated=extrapolated)


def _by_internal_rate(measured: Answer, computed: Answer, loads: Question, conditions: Question) -> Answer:
    """Busy at a rate, or the rate at a busy, where an ITR was measured and not at which rate: ITR = rate / busy.

    The engine time of a transaction may be another at the load asked for, by as much as the network is unsure of it.

    Raises
    ------
    QuestionError
        No ITR was measured either, or something else than a rate or busy is asked for.
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


def _change(before: Output | None, after: Output | None) -> Factor | None:
    """The factor between two answers of a network; None where either has no value."""
    if not before or not after or not before.value or not after.value:
        return None
    spread = log_sd(after) ** 2 - log_sd(before) ** 2
    return Factor(math.log(after.value / before.value), math.sqrt(max(spread, 0.0)))


def _words(conditions: Question) -> str:
    return ", ".join(f"{key} = {value}" for key, value in conditions.items())
