"""Figures that no network has, at another rate: work goes with the transactions, the rest stays.

Nothing says how the work of a transaction changes with the load: it is less sure by `scaling.WORK_SD` for each e-fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from model.capacity.adjustments import ITR, RATES, TRANSACTIONS, Factor, scaled
from model.capacity.answer import Answer, Output
from model.capacity.parameters import cached
from model.capacity.values import CHANGES, GROWTH, NUMBERS, QuestionError, growth_factor, must_be_positive
from model.published.question import Question, by_condition, of_network_only, of_point
from model.published.scaling import goes_with_rate, scale, unchanged, with_load, with_rate
from model.published.system import Studied
from model.published.tables import POINT, kind_of
from model.published.users import at_rate_of_users, refused

RATE, BUSY = "etr_tps", "cpu_busy_pct"
OF_CLASS = "class="
FULL_PCT = 100.0
STAYING = ("storage", "buffers", "count")
"""Kinds of quantities that a network has not and that do not depend on the rate, as far as is known."""


def at_rate(studied: Studied, loads: Question, conditions: Question) -> Answer:
    """The figures at conditions, at the rate, the growth of it, or the busy asked for, of a system without a network.

    Raises
    ------
    QuestionError
        A key or level is unknown, needs a network, or no rate or busy was measured there.
    """
    rates = {key: loads[key] for key in (RATE, GROWTH, BUSY) if key in loads}
    at = {**conditions, **loads}
    rest = {key: value for key, value in at.items() if key not in rates}
    for key in rest:
        if (key in CHANGES and key != "machine") or key.startswith(NUMBERS):
            raise refused(studied, key, "no engine time was measured of it")
    users = studied.users if rates else None
    if users is not None and RATE in rates:
        rate = must_be_positive(f"at.{RATE}", rates[RATE])
        return replace(at_rate_of_users(studied, rest, users, RATE, rate), at=at)
    answer = by_condition(studied, rest)
    if not rates:
        return answer
    if users is not None and GROWTH in rates:
        raise refused(studied, GROWTH, "of which number of users is not said")
    if len(rates) > 1:
        raise QuestionError(f"at.{RATE}", rates, f"at: {' and '.join(rates)} say the load twice; give one of them")
    ((key, value),) = rates.items()
    growth = _growth(answer, key, value)
    moved = scale(answer, lambda output: with_load(output, growth(output.condition)), at)
    changed = [new for new, old in zip(moved.outputs, answer.outputs, strict=True) if new is not old]
    if not changed and key != GROWTH:
        raise refused(studied, key, f"no {'busy' if key == BUSY else 'rate'} of transactions was measured of it")
    notes = moved.notes
    if any(output.metric == BUSY and output.value == FULL_PCT for output in changed):
        notes = (*notes, "the engines are saturated: the rate cannot be reached")
    return replace(moved, notes=(*notes, *unchanged(answer, moved.outputs)))


def _growth(answer: Answer, key: str, value: Any) -> Callable[[str], Factor | None]:
    """The growth of work by the condition of a figure; None where the rate or busy was not measured there."""
    if key == GROWTH:
        if (factor := growth_factor(f"at.{key}", value)) == 0.0:
            raise QuestionError(f"at.{key}", value, f"{key}: nothing is left at {value} %")
        return lambda condition: with_rate(factor)
    target = must_be_positive(f"at.{key}", value, FULL_PCT if key == BUSY else math.inf)
    measured = _measured(answer, key)
    return lambda condition: None if (here := measured(condition)) is None else with_rate(target / here)


def _measured(answer: Answer, key: str) -> Callable[[str], float | None]:
    """The rate, or the busy, that was measured at the condition of a figure; None where that is not one."""
    loads = [
        (set(other.condition.split("; ")), other.value)
        for other in answer.outputs
        if other.value
        and (other.metric == BUSY if key == BUSY else other.metric in RATES and other.unit == TRANSACTIONS)
    ]

    @cache
    def at_condition(condition: str) -> float | None:
        parts = set(condition.split("; "))
        here = {value for load, value in loads if load <= parts} or {value for _, value in loads}
        return here.pop() if len(here) == 1 else None

    return at_condition


class _Addition(NamedTuple):
    """Figures that a network has not, each with the rate it was measured at if it goes with that; the notes on those
    that stay; and the evidence of all, without measured values, which are of another load."""

    figures: tuple[tuple[Output, float | None], ...]
    notes: tuple[str, ...]
    evidence: list[dict[str, Any]]


def with_studies(studied: Studied, at: Question, answer: Answer) -> Answer:
    """The answer of a network with the metrics of the studies that it does not have.

    At a measured point these are all that was measured there, and parts (of several LPARs) in place of the whole. At a
    load, storage and counts stay; work and transactions of a run are in proportion to the rate they were measured at.
    Times, and work at an unknown rate, are left out.
    """
    outputs, notes, figures = _additions(studied, at, answer.outputs)
    replaced = {output.metric for output in outputs}
    kept = tuple(output for output in answer.outputs if output.metric not in replaced)
    evidence = {**answer.evidence, "figures": figures}
    return replace(answer, outputs=kept + outputs, notes=(*answer.notes, *notes), evidence=evidence)


def _additions(
    studied: Studied, at: Question, answered: Sequence[Output]
) -> tuple[tuple[Output, ...], tuple[str, ...], list[dict[str, Any]]]:
    """The figures that studies add to those of a network, with notes and evidence."""
    rest = {key: value for key, value in at.items() if key not in (RATE, GROWTH, BUSY)}
    if any(of_network_only(studied, key) for key in rest if key != POINT):
        return (), (), []
    try:
        answer = of_point(studied, rest) if POINT in rest else by_condition(studied, rest)
    except QuestionError:
        return (), (), []
    metrics = [output.metric for output in answer.outputs]
    parts = {metric for metric in metrics if POINT in rest and metrics.count(metric) > 1}
    answered_metrics = frozenset((RATE, *at, *(output.metric for output in answered))) - parts
    if rest.keys() == at.keys():
        identities = [one for one in studied.conditions["identities"] if one["system"] == studied.name]
        tables = {entry["table"] for entry in (*studied.rows, *identities)}
        more = tuple(
            output
            for output, figure in zip(answer.outputs, answer.evidence["figures"], strict=True)
            if (figure["table"] in tables or not goes_with_rate(output.metric, output.unit))
            and output.metric not in answered_metrics
        )
        return more, (), _evidence(answer, more)
    rate = _rate_of(at, answered)
    if rate is None:
        return (), (), []
    must_be_positive(f"at.{RATE}", rate)
    # Without conditions the figures are the same whatever the load.
    part = {} if rest else studied.conditions
    addition = cached(part, ("addition", studied.name, answered_metrics), lambda: _addition(answer, answered_metrics))
    growth = {measured: with_rate(rate / measured) for _, measured in addition.figures if measured is not None}
    moved = (
        output if measured is None or (by := with_load(output, growth[measured])) is None else scaled(output, by)
        for output, measured in addition.figures
    )
    return tuple(moved), addition.notes, addition.evidence


def _addition(answer: Answer, answered_metrics: Collection[str]) -> _Addition:
    """The figures of an answer by the studies that can be given at another load, but for metrics that are answered."""
    measured = _measured(answer, RATE)
    figures: list[tuple[Output, float | None]] = []
    for output in answer.outputs:
        if output.metric in answered_metrics or POINT in output.condition.split("="):
            continue
        if goes_with_rate(output.metric, output.unit):
            if (rate := measured(output.condition)) is not None:
                figures.append((output, rate))
        elif kind_of(output.metric, output.unit) in STAYING:
            figures.append((output, None))
    outputs = [output for output, _ in figures]
    still = [output for output, rate in figures if rate is None]
    evidence = [{key: x for key, x in one.items() if key != "measured"} for one in _evidence(answer, outputs)]
    return _Addition(tuple(figures), unchanged(replace(answer, outputs=tuple(still)), still), evidence)


def _evidence(answer: Answer, outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """The evidence of some figures of an answer by the studies."""
    places = {(output.metric, output.condition) for output in outputs}
    return [dict(one) for one in answer.evidence["figures"] if (one["metric"], one["condition"]) in places]


def _rate_of(at: Question, answered: Sequence[Output]) -> float | None:
    """The rate asked for, or that of an answer, which is its ITR times its busy; None where neither is known."""
    if RATE in at:
        return float(at[RATE])
    of_all = (output for output in answered if OF_CLASS not in output.condition)
    rates = {output.metric: output.value for output in of_all if output.value}
    if RATE in rates:
        return rates[RATE]
    itr, busy = rates.get(ITR), rates.get(BUSY)
    return itr * busy / FULL_PCT if itr and busy else None
