"""Condition laws and a network in one answer: what was measured at a condition, at another load or on other engines.

The laws say what the figures are at the condition; the network says how they change with the load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model.capacity.adjustments import PREFIX, Z_90, Factor, adjusted
from model.capacity.answer import Answer, Output
from model.capacity.by_condition import by_condition
from model.capacity.conditions.tables import RATES, is_work
from model.capacity.questions import GROWTH, QuestionError, growth

Network = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer]
RATE, BUSY = "etr_tps", "cpu_busy_pct"


def needs_network(loads: Mapping[str, Any]) -> bool:
    """Whether any key says a load or engines, rather than naming a point or a what-if adjustment."""
    return any(key != "point" and not key.startswith(PREFIX) for key in loads)


def as_measured(network: Network, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer:
    """The answer at a measured point: of the network at the rate of the point where it is known, else of the laws.

    Raises:
        QuestionError: neither knows the point.
    """
    measured = by_condition(bundle, system, at)
    rate = measured.output(RATE)
    others = {key: value for key, value in at.items() if key != "point"}
    if rate is None or rate.value is None:
        return measured
    computed = network(bundle, system, {**others, RATE: rate.value})
    known = {output.metric: output for output in computed.outputs}
    conditions = {output.metric: output.condition for output in measured.outputs}
    outputs = [
        replace(output, condition=conditions.get(output.metric, f"point={at['point']}")) for output in known.values()
    ]
    outputs = [output for output in measured.outputs if output.metric not in known] + outputs
    note = f"point {at['point']} has a rate and no CPU figure of its own: the network answers at this rate"
    return replace(computed, at=dict(at), outputs=tuple(outputs), notes=(note, *computed.notes))


def moved(
    network: Network, bundle: Mapping[str, Any], system: str, loads: Mapping[str, Any], conditions: Mapping[str, Any]
) -> Answer:
    """The figures of a condition at a load: as the laws say, times the change that the network says.

    Raises:
        QuestionError: a key or level is unknown, or no transaction rate was measured at the condition.
    """
    adjustments = {key: value for key, value in loads.items() if key.startswith(PREFIX)}
    measured = by_condition(bundle, system, {**conditions, **adjustments})
    rates = [output for output in measured.outputs if output.metric in RATES and output.value]
    if not rates or rates[0].value is None:
        key = next(iter(loads))
        raise QuestionError(key, loads[key], f"{key}: no transaction rate was measured at {_words(conditions)}")
    levels = sorted({output.condition for output in rates})
    if len(levels) > 1:
        raise QuestionError("at", dict(conditions), f"at: {_words(conditions)} stands for several; name one", levels)
    before = network(bundle, system, {RATE: rates[0].value})
    asked = {key: value for key, value in loads.items() if key not in adjustments}
    if GROWTH in asked:
        asked[RATE] = rates[0].value * growth(GROWTH, asked.pop(GROWTH))
    busy = measured.output(BUSY), before.output(BUSY)
    if BUSY in asked and busy[0] and busy[1] and busy[0].value and busy[1].value:
        asked[BUSY] = min(100.0, float(asked[BUSY]) * busy[1].value / busy[0].value)
    elif RATE not in asked:
        asked[RATE] = rates[0].value
    after = network(bundle, system, asked)
    rate = float(asked[RATE]) if RATE in asked else getattr(after.output(RATE), "value", None)
    if rate is None:
        raise QuestionError(BUSY, loads[BUSY], f"{BUSY}: the rate at which {system} is this busy is not known")
    outputs = tuple(_at_load(output, before, after, rate / rates[0].value, loads) for output in measured.outputs)
    still = sorted({a.metric for a, b in zip(measured.outputs, outputs, strict=True) if a is b})
    notes = [f"not changed by the load, as far as is known: {', '.join(still)}"] if still else []
    return replace(
        after, at={**conditions, **loads}, outputs=outputs, notes=(*measured.notes, *after.notes, *notes),
        extrapolated=measured.extrapolated or after.extrapolated, evidence={**after.evidence, **measured.evidence},
    )  # fmt: skip


def _at_load(output: Output, before: Answer, after: Answer, growing: float, loads: Mapping[str, Any]) -> Output:
    if output.value is None or output.lo is None or output.hi is None:
        return output
    if output.metric in RATES:
        by = Factor(math.log(growing), 0.0)
    elif output.metric == BUSY and BUSY in loads:
        asked = float(loads[BUSY])
        return replace(output, value=asked, lo=asked, hi=asked)
    elif (change := _change(before.output(output.metric), after.output(output.metric))) is not None:
        by = change
    elif is_work(output.metric, output.unit):
        by = Factor(math.log(growing), 0.0)
    else:
        return output
    value, low, high = adjusted(output.value, output.lo, output.hi, by)
    return replace(output, value=value, lo=low, hi=high)


def _change(before: Output | None, after: Output | None) -> Factor | None:
    """The factor between two answers of a network; None where either has no value."""
    if not before or not after or not before.value or not after.value:
        return None
    spread = _log_sd(after) ** 2 - _log_sd(before) ** 2
    return Factor(math.log(after.value / before.value), math.sqrt(max(spread, 0.0)))


def _log_sd(output: Output) -> float:
    if not output.lo or not output.hi or output.lo <= 0:
        return 0.0
    return math.log(output.hi / output.lo) / (2.0 * Z_90)


def _words(conditions: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in conditions.items())
