"""Figures that no network has, at another rate: work goes with the transactions, the rest stays.

Nothing says how the work of a transaction changes with the load: it is less sure by `WORK_SD` for each e-fold of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from model.capacity.adjustments import POPULATIONS, RATES, Factor, scaled
from model.capacity.answer import Answer, Output
from model.capacity.parameters import cached
from model.capacity.values import CHANGES, GROWTH, NUMBERS, QuestionError, growth_factor, must_be_positive, number_text
from model.published.answers import by_condition, of_network_only, of_point
from model.published.definitions import OVER_INTERVAL
from model.published.observations import TRANSACTION_COUNTS
from model.published.populations import making, users_of
from model.published.tables import POINT, is_work, kind_of

if TYPE_CHECKING:
    from model.published.model import Users

RATE, BUSY, ITR = "etr_tps", "cpu_busy_pct", "itr_tps"
PER_SECOND = "tran/s"
OF_CLASS = "class="
FULL_PCT = 100.0
WORK_SD = 0.05
STAYING = ("storage", "buffers", "count")
"""Kinds of quantities that a network has not and that do not hang on the rate, as far as is known."""


def at_rate(bundle: Mapping[str, Any], system: str, loads: Mapping[str, Any], conditions: Mapping[str, Any]) -> Answer:
    """What is known at conditions, at the rate, the growth of it, or the busy asked for.

    Raises:
        QuestionError: a key or level is unknown, needs a network, or no rate or busy was measured there.
    """
    rates = {key: loads[key] for key in (RATE, GROWTH, BUSY) if key in loads}
    rest = {**conditions, **{key: value for key, value in loads.items() if key not in rates}}
    for key in rest:
        if (key in CHANGES and key != "machine") or key.startswith(NUMBERS):
            raise _refused(bundle, system, key, "no engine time was measured of it")
    users = users_of(bundle, system) if rates else None
    if users is not None and RATE in rates:
        rate = must_be_positive(f"at.{RATE}", rates[RATE])
        return replace(_of_users(bundle, system, rest, users, rate), at={**conditions, **loads})
    answer = by_condition(bundle, system, rest)
    if not rates:
        return answer
    if users is not None and GROWTH in rates:
        raise _refused(bundle, system, GROWTH, "of which number of users is not said")
    if len(rates) > 1:
        raise QuestionError(f"at.{RATE}", rates, f"at: {' and '.join(rates)} say the load twice; give one of them")
    ((key, value),) = rates.items()
    growing = _growing(answer, key, value)
    outputs = tuple(_at_load(output, growing(output.condition)) for output in answer.outputs)
    moved = [now for now, before in zip(outputs, answer.outputs, strict=True) if now is not before]
    if not moved and key != GROWTH:
        what = "busy" if key == BUSY else "rate"
        raise _refused(bundle, system, key, f"no {what} of transactions was measured of it")
    if any(output.metric == BUSY and output.value == FULL_PCT for output in moved):
        note = "the engines are saturated: the rate cannot be reached"
        answer = replace(answer, notes=(*answer.notes, note))
    still = sorted({output.metric for output in answer.outputs} - {output.metric for output in moved})
    notes = (*answer.notes, *_unchanged(still))
    return replace(answer, at={**conditions, **loads}, outputs=outputs, notes=notes, extrapolated=True)


def beside_network(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any], answered: Sequence[Output]
) -> tuple[tuple[Output, ...], tuple[str, ...], list[dict[str, Any]]]:
    """What studies add to the answer of a network, with notes and evidence: metrics that it does not have.

    At a measured point, what was measured there, and parts (of several LPARs) in place of the whole. At a load, storage
    and counts stay; work and transactions of a run are in proportion to the rate they were measured at. The rest is
    left out, as is work at no known rate: times wait as nobody knows, and what was measured at a point is of its own
    load.
    """
    rest = {key: value for key, value in at.items() if key not in (RATE, GROWTH, BUSY)}
    there = POINT in rest
    if any(of_network_only(bundle["conditions"], system, key) for key in rest if key != POINT):
        return (), (), []
    try:
        answer = of_point(bundle, system, rest) if there else by_condition(bundle, system, rest)
    except QuestionError:
        return (), (), []
    metrics = [output.metric for output in answer.outputs]
    parts = {metric for metric in metrics if there and metrics.count(metric) > 1}
    answered_keys = frozenset((RATE, *at, *(output.metric for output in answered))) - parts
    if rest.keys() == at.keys():
        known_of = (*bundle["conditions"]["rows"], *bundle["conditions"]["identities"])
        tables = {entry["table"] for entry in known_of if entry["system"] == system}
        figures = zip(answer.outputs, answer.evidence["figures"], strict=True)
        own = (o for o, one in figures if one["table"] in tables or not goes_with_rate(o.metric, o.unit))
        more = tuple(output for output in own if output.metric not in answered_keys)
        return more, (), _behind(answer, more)
    rate = _rate_of(at, answered)
    if rate is None:
        return (), (), []
    must_be_positive(f"at.{RATE}", rate)
    # What is known whatever the load is the same answer each time.
    part = {} if rest else bundle["conditions"]
    studies = cached(part, ("beside", system, answered_keys), lambda: _beside(answer, answered_keys))
    growing = {measured: with_rate(rate / measured) for _, measured in studies.figures if measured is not None}
    moved = tuple(
        output if measured is None else _at_load(output, growing[measured]) for output, measured in studies.figures
    )
    return moved, studies.notes, studies.behind


class _Beside(NamedTuple):
    """Figures that a network has not, each with the rate it was measured at if it goes with that; what to say of those
    that stay; and what all rest on, without what was measured, which was so at another load."""

    figures: tuple[tuple[Output, float | None], ...]
    notes: tuple[str, ...]
    behind: list[dict[str, Any]]


def _beside(answer: Answer, answered: Collection[str]) -> _Beside:
    """The figures of an answer by the studies that can be said at another load, but for `known` metrics."""
    measured = _measured(answer, RATE)
    figures: list[tuple[Output, float | None]] = []
    for output in answer.outputs:
        if output.metric in answered or POINT in output.condition.split("="):
            continue
        if goes_with_rate(output.metric, output.unit):
            if (rate := measured(output.condition)) is not None:
                figures.append((output, rate))
        elif kind_of(output.metric, output.unit) in STAYING:
            figures.append((output, None))
    behind = _behind(answer, [output for output, _ in figures])
    still = sorted({output.metric for output, rate in figures if rate is None})
    without = [{key: number_text for key, number_text in one.items() if key != "measured"} for one in behind]
    return _Beside(tuple(figures), _unchanged(still), without)


def _behind(answer: Answer, outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """What some figures of an answer by the studies rest on."""
    places = {(output.metric, output.condition) for output in outputs}
    return [dict(one) for one in answer.evidence["figures"] if (one["metric"], one["condition"]) in places]


def _rate_of(at: Mapping[str, Any], answered: Sequence[Output]) -> float | None:
    """The rate asked for, or that of an answer, which is the ITR of it times its busy; None where neither is known."""
    if RATE in at:
        return float(at[RATE])
    of_all = (output for output in answered if OF_CLASS not in output.condition)
    rates = {output.metric: output.value for output in of_all if output.value}
    if RATE in rates:
        return rates[RATE]
    itr, busy = rates.get(ITR), rates.get(BUSY)
    return itr * busy / FULL_PCT if itr and busy else None


def _unchanged(metrics: Sequence[str]) -> tuple[str, ...]:
    return (f"not changed by the load, as far as is known: {', '.join(metrics)}",) if metrics else ()


def goes_with_rate(metric: str, unit: str) -> bool:
    """Whether a metric is in proportion to the transactions: rates, who asks, work, totals of a run or an interval."""
    of_run = metric in TRANSACTION_COUNTS or (metric, unit) in OVER_INTERVAL
    return of_run or _is_load(metric, unit) or is_work(metric, unit)


def _is_load(metric: str, unit: str) -> bool:
    """Whether a metric says the load itself: a rate, or how many ask, each of whom does so as often."""
    return metric in (*RATES, *POPULATIONS) or (unit == PER_SECOND and metric != ITR)


def with_rate(growing: float) -> Factor:
    """By how much work grows with the transactions, whose own may change with the load."""
    log = math.log(growing)
    return Factor(log, WORK_SD * abs(log))


def _at_load(output: Output, growing: Factor | None) -> Output:
    if growing is None or not goes_with_rate(output.metric, output.unit):
        return output
    exact = _is_load(output.metric, output.unit)
    return scaled(output, replace(growing, log_sd=0.0) if exact else growing)


def _growing(answer: Answer, key: str, value: Any) -> Callable[[str], Factor | None]:
    """By how much work grows, by the condition of a figure; None where what is asked for was not measured there."""
    if key == GROWTH:
        if (factor := growth_factor(f"at.{key}", value)) == 0.0:
            raise QuestionError(f"at.{key}", value, f"{key}: nothing is left at {value} %")
        everywhere = with_rate(factor)
        return lambda condition: everywhere
    target = must_be_positive(f"at.{key}", value, FULL_PCT if key == BUSY else math.inf)
    measured = _measured(answer, key)

    def at_condition(condition: str) -> Factor | None:
        here = measured(condition)
        return None if here is None else with_rate(target / here)

    return at_condition


def _measured(answer: Answer, key: str) -> Callable[[str], float | None]:
    """The rate, or the busy, that was measured at the condition of a figure; None where that is not one."""
    measured = [
        (set(other.condition.split("; ")), other.value)
        for other in answer.outputs
        if other.value and (other.metric == BUSY if key == BUSY else other.metric in RATES and other.unit == PER_SECOND)
    ]

    @cache
    def at_condition(condition: str) -> float | None:
        own = set(condition.split("; "))
        here = [value for part, value in measured if part <= own] or [value for _, value in measured]
        return here[0] if len(set(here)) == 1 else None

    return at_condition


def _of_users(bundle: Mapping[str, Any], system: str, question: Mapping[str, Any], users: Users, rate: float) -> Answer:
    """The figures of as many users as make a rate."""
    if users.unit != PER_SECOND:
        raise _refused(bundle, system, RATE, f"its throughput was measured in {users.unit}")
    if any(key in POPULATIONS for key in question):
        raise _refused(bundle, system, RATE, "the number of users says the load already")
    count = float(f"{making(users, RATE, rate):.4g}")
    answer = by_condition(bundle, system, {**question, users.key: count})
    made = f"{number_text(rate)} {PER_SECOND} are made by {number_text(count)} {users.key}"
    return replace(answer, notes=(made, *answer.notes))


def _refused(bundle: Mapping[str, Any], system: str, key: str, why: str) -> QuestionError:
    """The refusal of a load, with the conditions that may be asked for instead."""
    from model.published.model import published

    studied_keys = published(bundle["conditions"]).keys(system)
    return QuestionError(f"at.{key}", key, f"{key} cannot be asked of {system}: {why}", studied_keys)
