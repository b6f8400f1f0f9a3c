"""From the keys of a question to a scenario: which load, on which engines, with which other LPARs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.capacity.base_load import Span, refused, start_of, whole_day
from model.capacity.bundle import classes_named
from model.capacity.evaluation import as_observed, at_busy, evaluate, population, unexplained
from model.capacity.parameters import Point, RecordedIntervals, SystemParameters, cached
from model.capacity.state import Scenario, State
from model.capacity.system import System
from model.capacity.values import (
    CONFIGURATION,
    MOST_TPS,
    MOVES,
    OBSERVED,
    OFFLOADS,
    QuestionError,
    asks_for,
    check_keys,
    growth_factor,
    must_be_finite,
    must_be_positive,
    number_text,
    with_cap_unit,
)

Array = NDArray[np.float64]
FEW = 7000
"""First of the seeds for the error of a mean over few intervals."""
MOST_DEVIATIONS = 5.0
"""Standard deviations of the work between intervals beyond which measured responses are refused."""


@dataclass(frozen=True)
class Question:
    """A question as understood.

    Attributes
    ----------
    scenario : Scenario
        its loads on the system.
    at : mapping
        its keys with the load that they stand for, as answers show them.
    point : Point or None
        the measured point that it is about.
    start : str
        local start of the recorded load.
    keys : mapping
        its keys as given.
    notes : tuple of str
    span : Span or None
        time from the recorded load to that of the question; None for a measured point.
    """

    scenario: Scenario
    at: Mapping[str, Any]
    point: Point | None
    start: str
    keys: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    span: Span | None = None

    def with_key(self, key: str, value: float) -> Question:
        """The question with another value of a key; its scenario is still that of this one."""
        return replace(self, keys={**self.keys, key: value})

    def for_other_loads(self) -> Question:
        """The question as the base of other loads.

        Raises
        ------
        QuestionError
            a key has what was measured at this load alone.
        """
        for key in (str(key) for key in self.keys if str(key).startswith(OBSERVED)):
            text = f"{key}: applies to one measured load, and this question has others; leave it out"
            raise QuestionError(f"at.{key}", self.keys[key], text)
        return self

    def offered(self) -> Question:
        """The question at its offered rates, whatever rates its users make, as the base of other loads.

        Raises
        ------
        QuestionError
            as :meth:`for_other_loads`.
        """
        return replace(self.for_other_loads(), scenario=self.scenario.offered())


class Evaluation(NamedTuple):
    """A question as understood, the system that it is about as arrays, and the state at its load."""

    ready: System
    load: Question
    state: State


def evaluate_question(parameters: SystemParameters, at: Mapping[str, Any] | None, side: str = "at") -> Evaluation:
    """The state of a system at a question: parameters, as arrays, at the scenario of the question.

    Raises
    ------
    QuestionError
        a key is unknown, or a value is out of its domain; ``side`` is the name of the question in its field.
    """
    ready = prepare_system(parameters, at)
    load = parse_question(ready, at, side)
    return Evaluation(ready, load, evaluate(ready, load.scenario))


def prepare_system(parameters: SystemParameters, at: Mapping[str, Any] | None = None) -> System:
    """The system as arrays, with the zIIPs and the work on them of a question; kept for later questions."""
    changed = _with_moved_work(parameters, at) if at else parameters
    return cached(changed, "system", lambda: System(changed))


def _with_moved_work(parameters: SystemParameters, at: Mapping[str, Any]) -> SystemParameters:
    """The system with the classes that a question moves to it and the work that it moves to zIIPs; a refusal of a class
    names its field as ``at.KEY``."""
    if asks_for(at, MOVES):
        from model.capacity.class_moves import with_classes

        try:
            parameters = with_classes(parameters, at)
        except QuestionError as error:
            error.field = f"at.{error.field}"
            raise
    if asks_for(at, OFFLOADS):
        from model.capacity.configuration import with_ziips

        parameters = with_ziips(parameters, at)
    return parameters


def parse_question(system: System, at: Mapping[str, Any] | None, side: str = "at") -> Question:
    """The load that ``at`` describes; a refusal names its field as ``at.KEY``, or whatever ``side`` the question is."""
    try:
        return parse(system, dict(at or {}))
    except QuestionError as error:
        error.field = f"{side}.{error.field}"
        raise


def parse(system: System, question: Mapping[str, Any]) -> Question:
    """The load a question describes.

    Raises
    ------
    QuestionError
        a key is unknown, a value out of its domain, or two keys say the load twice.
    """
    parameters = system.parameters
    question, of_units = with_cap_unit(question)
    check_keys(question)
    point, start, base, span, notes = start_of(system, question)
    one_interval = not notes
    notes += of_units
    users = _users(system, base)
    growth_since = np.ones((1, 1, 1))
    grown_base = base
    if span is not None and span.ahead[0] > 0.0:
        growth_since, others_since = _growth_since(system, base, question, span, notes)
        others = base.others * others_since
        grown_base = replace(base, rates=base.rates * growth_since, others=others)
    scenario = moved = grown_base
    if asks_for(question, MOVES):
        from model.capacity.class_moves import with_moves

        scenario = moved = with_moves(system, grown_base, question, notes)
    if asks_for(question, CONFIGURATION):
        from model.capacity.configuration import changed

        scenario = changed(system, moved, question, notes)
    factors = np.ones(len(system.class_names))
    if "growth_pct" in question:
        factors[:] = growth_factor("growth_pct", question["growth_pct"])
    at_rate = np.full(len(system.class_names), "etr_tps" in question or "cpu_busy_pct" in question)
    rates = _of_classes(parameters, question, scenario.rates, factors, at_rate)
    rates = rates * factors
    at = {key: value if isinstance(value, str) else float(value) for key, value in question.items()}
    if "etr_tps" in question:
        wanted = must_be_positive("etr_tps", question["etr_tps"], MOST_TPS)
        rates = rates * (wanted / np.maximum(rates.sum(axis=2, keepdims=True), 1e-300))
    scenario = replace(scenario, rates=rates)
    if users is not None and np.any(users[0, 0, ~at_rate] > 0):
        staying = moved.rates / np.where(grown_base.rates > 0, grown_base.rates, 1.0)
        scenario = replace(scenario, users=np.where(at_rate, 0.0, users * growth_since * factors * staying))
    if "cpu_busy_pct" in question:
        scenario = at_busy(system, scenario, must_be_positive("cpu_busy_pct", question["cpu_busy_pct"], 100.0))
    seen = observed_classes(parameters, question)
    if seen:
        scenario = _observed(system, scenario, question, seen, notes)
    if not any(key in question for key in ("etr_tps", "cpu_busy_pct", "point")):
        if scenario.users is None:
            at["etr_tps"] = float(scenario.rates[0].sum(axis=1)[0])
        if start and one_interval:
            at["when"] = start
    if span is not None and (at_rate.any() or seen):
        span = replace(span, since=0.0)
    return Question(scenario, at, point, start, dict(question), tuple(notes), span)


def _observed(
    system: System, scenario: Scenario, question: Mapping[str, Any], seen: Mapping[str, float], notes: list[str]
) -> Scenario:
    """The load with the work that its measured responses tell of."""
    if len(scenario.recorded) != 1 or notes:
        raise refused(str(question.get("when")), "measured response times need one recorded interval (when) or given "
        "rates")
    responses = {name: np.array([value]) for name, value in seen.items()}
    seconds = system.history.seconds
    there, work, varies = as_observed(system, scenario.offered(), responses, seconds)
    change, usual = float(work[0, 0] - 1.0), float(varies[0, 0])
    if abs(change) > MOST_DEVIATIONS * usual:
        key, value = next((str(key), value) for key, value in question.items() if str(key).startswith(OBSERVED))
        text = (
            f"{key}: these response times would require {100.0 * change:+.1f} % CPU per transaction, but it varies by "
            f"{100.0 * usual:.1f} % between intervals: they have another cause; ask without {OBSERVED}CLASS"
        )
        raise QuestionError(key, value, text)
    low, high = (100.0 * float(np.quantile(work[1:], q) - 1.0) for q in (0.05, 0.95))
    notes.append(
        f"response_ms: the measured response times indicate {100.0 * change:+.1f} % CPU per transaction "
        f"({low:+.1f} to {high:+.1f}) relative to the average at this load"
    )
    for name, modelled_ms in unexplained(system, there, responses, seconds, MOST_DEVIATIONS).items():
        notes.append(
            f"{OBSERVED}{name}: {seen[name]:.4g} ms was measured, but the work explains {modelled_ms:.4g} ms: the rest "
            "has another cause that this answer does not include"
        )
    return there


def observed_classes(parameters: SystemParameters, at: Mapping[str, Any]) -> dict[str, float]:
    """Mean responses in ms that ``response_ms.CLASS`` says were measured, by class.

    Raises
    ------
    QuestionError
        a class has no response here, a name stands for several, a value is no time, or the question
        changes what the responses were measured on.
    """
    responses: dict[str, float] = {}
    for key in (str(key) for key in at if str(key).startswith(OBSERVED)):
        name = key.removeprefix(OBSERVED)
        members = classes_named(parameters, key, name)
        variable = [name for name, one in parameters.responses.items() if one.interval_sd or one.transaction_sd]
        classes = [parameters.classes[member].name for member in members]
        if len(classes) > 1:
            raise QuestionError(key, name, f"{key}: {name!r} stands for several classes; name them one by one", classes)
        if classes[0] not in variable:
            text = f"{key}: the variation of response times of {name} between intervals is not known"
            raise QuestionError(key, name, text, variable)
        responses[classes[0]] = must_be_positive(key, at[key])
        others = [
            str(one) for one in at if one not in ("when", "etr_tps") and not str(one).startswith(("rate.", OBSERVED))
        ]
        if others:
            text = f"{key}: says what was measured at a load; ask for {', '.join(others)} without it"
            raise QuestionError(key, at[key], text)
    return responses


def _users(system: System, base: Scenario) -> Array | None:
    """(draws, 1, classes) users of a recorded load, as each draw has its responses; where it has none, those recorded.
    None where no class has users."""
    if base.think_s is None:
        return None

    def made() -> Array:
        users = system.history.users
        means = np.zeros(len(system.class_names)) if users is None else users[:, list(base.recorded)].mean(axis=1)
        numbers = np.zeros((system.draws, 1, len(system.class_names)))
        for i, number in population(system.at_rates(base), system).items():
            numbers[:, :, i] = np.where(np.isfinite(number), number, means[i])
        return numbers

    return cached(system.parameters, ("users", base.recorded), made)


def _of_classes(
    parameters: SystemParameters, question: Mapping[str, Any], rates: Array, factors: Array, at_rate: NDArray[np.bool_]
) -> Array:
    """The rates with those of single classes; writes the growth of these to ``factors``, and which have a given rate
    to ``at_rate``, both (classes,)."""
    rates, taken = rates.copy(), dict[int, str]()
    named = {key: classes_named(parameters, key, name) for key, name in _class_keys(question)}
    # A key of a class counts before the growth of a workload that it is part of.
    for key in sorted(named, key=lambda key: -len(named[key])):
        kind, members, value = key.partition(".")[0], named[key], question[key]
        for member in members:
            before = taken.get(member, "")
            if before and not (before.startswith("growth_pct") and set(members) < set(named[before])):
                text = f"{key}: {before} already sets the rate of this class; give one of them"
                raise QuestionError(key, value, text)
            taken[member] = key
        those = list(members)
        if kind == "growth_pct":
            factors[those] = growth_factor(key, value)
            continue
        wanted = must_be_finite(key, value)
        if not 0 <= wanted <= MOST_TPS:
            raise QuestionError(key, value, f"{key} must be from 0 to {number_text(MOST_TPS)} (got {value!r})")
        factors[those], at_rate[those] = 1.0, True
        now = rates[:, :, those].sum(axis=2, keepdims=True)
        part = np.where(now > 0, rates[:, :, those] / np.where(now > 0, now, 1.0), 1.0 / len(those))
        rates[:, :, those] = wanted * part
    return rates


def _class_keys(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys that say the growth or rate of a class, with its name."""
    parts = ((str(key), *str(key).partition(".")) for key in question)
    return [(key, name) for key, kind, _, name in parts if kind in ("growth_pct", "rate") and name]


def _growth_since(
    system: System, base: Scenario, question: Mapping[str, Any], span: Span, notes: list[str]
) -> tuple[Array, Array]:
    """Growth of each class, (draws, 1, classes), and of what the other LPARs use, (draws, 1), from a recorded load
    until a time to come, as factors; an hour is as unsure as few recorded ones leave it."""
    from model.capacity.growth import NO_GROWTH, grown, is_short, others_grown, seasonal, short_history

    when = str(question["when"]).strip()
    growth, others = grown(system, span, question), others_grown(system, span)
    then = np.datetime64(when, "s")
    each = [seasonal(one.growth or NO_GROWTH, span.start, then) for one in system.parameters.classes]
    if not whole_day(when):
        # The hour is one of the same day of the week.
        growth = growth * _as_few(system, system.history, np.array(base.recorded))
    elif any(each):
        low, high = (100.0 * math.expm1(value) for value in (min(each), max(each)))
        notes.append(f"when: on such a day, classes differ by {low:+.0f} to {high:+.0f} % from the day of the peak")
        growth = growth * np.exp(each)
        others = others * math.exp(seasonal(system.parameters.others_growth or NO_GROWTH, span.start, then))
    if is_short(system):
        notes.insert(0, short_history(system))
    return growth, others


def _as_few(system: System, history: RecordedIntervals, index: NDArray[np.int64]) -> Array:
    """(draws, 1, classes) how far the mean rates of a few recorded intervals of an hour of the week may be from what is
    usual, as factors. Intervals of one day are alike, and count as one; of a single day, that hour of the other days
    says how much days differ, though they are of other kinds."""
    hours = (history.times - history.times.astype("datetime64[D]")).astype("timedelta64[h]")
    several = len(np.unique(history.times[index].astype("datetime64[D]"))) > 1
    alike = index if several else np.flatnonzero(hours == hours[index[0]])
    days, rates = history.times[alike].astype("datetime64[D]"), history.rates[:, alike]
    of_day = np.stack([rates[:, days == day].mean(axis=1) for day in np.unique(days)], axis=1)
    error = of_day.std(axis=1, ddof=1) if of_day.shape[1] > 1 else np.zeros(len(rates))
    relative = error / np.sqrt(of_day.shape[1] if several else 1.0) / np.maximum(rates.mean(axis=1), 1e-12)
    drawn = np.stack([system.scores(FEW + i) for i in range(len(rates))], axis=1)
    return np.maximum(1.0 + relative * drawn, 0.0)[:, None, :]
