"""Questions about a system with studies: figures measured at its conditions, and those of its network.

`model.capacity.ask` chooses this module for them (:class:`model.capacity.ask.Answering`). A question goes one way:

1. The name of a measured point becomes its conditions (`question`).
2. A release or option of the configuration: as a sibling was measured with it, or engine time by a ratio (`options`).
3. Counts of the configuration become a growth of the load and factors on times (`counts`).
4. Another think time or file size: as many users as make the same throughput (`users`).
5. Conditions and loads: by the network and the studies (`loads`), by the network of a sibling (`siblings`), or by the
   studies and the rate (`rates`).

Each step that answers for something else than was measured multiplies figures by factors (`scaling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from model.capacity import network_answers, sizing
from model.capacity.adjustments import POPULATIONS, RATES, TRANSACTIONS
from model.capacity.answer import Answer, as_plain
from model.capacity.bundle import has_conditions
from model.capacity.network_answers import Sweep, sweep_answers, without
from model.capacity.values import QuestionError
from model.published import users
from model.published.counts import counts_in, measured_counts
from model.published.loads import at_conditions, at_load
from model.published.observations import ALTERNATIVES
from model.published.options import Substitute, answer_with_options, levels_of_options, substitute
from model.published.question import Question, measured, parted
from model.published.rates import at_rate
from model.published.siblings import answer_by_sibling, sibling_of
from model.published.system import Studied
from model.published.tables import number


def predict(bundle: Mapping[str, Any], system: str, at: Question | None = None) -> Answer:
    """The figures of a system at conditions, loads, counts and options, see :func:`model.capacity.ask.predict`."""
    if not has_conditions(bundle, system):
        return network_answers.predict(bundle, system, at or {})
    studied = Studied(bundle, system)
    question = measured(studied, at)
    if (answer := answer_with_options(predict, studied, question)) is not None:
        return answer
    if (counts := counts_in(studied, question)) is not None:
        return counts.applied(_at_measured_counts(studied, counts.rest))
    if (answer := users.at_cycle(studied, question)) is not None:
        return answer
    try:
        return _at_measured_counts(studied, question)
    except QuestionError as refusal:
        if refusal.field != f"at.{refusal.value}":
            raise
        raise refusal.also(configured(studied)) from None


def _at_measured_counts(studied: Studied, at: Question) -> Answer:
    loads, conditions = parted(studied, at)
    if studied.network is not None:
        return at_conditions(studied, loads, conditions) if conditions else at_load(studied, loads)
    if (sibling := sibling_of(studied)) is not None:
        return answer_by_sibling(studied, loads, conditions, sibling)
    return at_rate(studied, loads, conditions)


def size(bundle: Mapping[str, Any], system: str, at: Question | None = None, **targets: Any) -> dict[str, Any]:
    """The smallest number of engines for a load, by the system's network or that of a sibling."""
    studied, question = Studied(bundle, system), at or {}
    if (other := substitute(predict, studied, question)) is not None:
        return _named(size(bundle, other.system, other.at, **targets), other, system, question)
    counts = counts_in(studied, question)
    rest, notes = (at, ()) if counts is None else (counts.rest, counts.notes)
    sibling = sibling_of(studied)
    if sibling is None:
        sized = sizing.size(bundle, system, rest, **targets)
    else:
        loads, _ = parted(studied, rest)
        loads_there = {key: value for key, value in sibling.question(loads).items() if key != "engines" or key in loads}
        sized = sibling.named(sizing.size(bundle, sibling.system, loads_there, **targets), system)
    return {**sized, "at": dict(question), "notes": [*notes, *sized["notes"]]} if notes else sized


def max_rate(bundle: Mapping[str, Any], system: str, at: Question | None = None, **targets: Any) -> dict[str, Any]:
    """The highest rate, by the system's network, that of a sibling, or the throughput of its users."""
    studied, question = Studied(bundle, system), at or {}
    if (other := substitute(predict, studied, question)) is not None:
        return _named(max_rate(bundle, other.system, other.at, **targets), other, system, question)
    if (sibling := sibling_of(studied)) is not None:
        loads, _ = parted(studied, at)
        return sibling.named(sizing.max_rate(bundle, sibling.system, sibling.question(loads), **targets), system)
    network = studied.network
    without_response = network is None or (targets.get("max_response_ms") is not None and not network.responses)
    if network is None or (without_response and studied.users is not None):
        return users.max_rate(studied, at, **targets)
    return sizing.max_rate(bundle, system, at, **targets)


def _named(result: Mapping[str, Any], other: Substitute, system: str, at: Question) -> dict[str, Any]:
    """The result of another system under the name of the one that was asked."""
    return {**result, "system": system, "at": dict(at), "notes": [*other.notes, *result["notes"]]}


def figure_samples(
    bundle: Mapping[str, Any], system: str, at: Question, side: str = "at"
) -> Mapping[tuple[str, str], Any] | None:
    """Posterior samples of the figures, where the network alone answers a question; None where it does not."""
    alone = _network_alone(Studied(bundle, system), at)
    return network_answers.figure_samples(bundle, system, at, side) if alone else None


def sweep(bundle: Mapping[str, Any], system: str, over: Sweep) -> dict[str, Any]:
    """A prediction for each value of a key, with the figures measured at the levels of a condition; by the network
    where it alone answers."""
    studied = Studied(bundle, system)
    if not over.changes_system and _network_alone(studied, {**over.at, over.key: over.values[0]}):
        return network_answers.sweep(bundle, system, over)
    swept = sweep_answers(predict, bundle, system, over)
    return {**swept, "measured": as_plain(list(_measured_levels(studied, over._replace(at=swept["at"]))))}


def _network_alone(studied: Studied, at: Question) -> bool:
    """Whether a question is one that a network answers or refuses, with nothing from studies."""
    if studied.network is None:
        return False
    loads, conditions = parted(studied, at)
    points = [point.point for point in studied.network.points]
    return not conditions and ("point" not in loads or str(loads["point"]) in points)


def _measured_levels(studied: Studied, over: Sweep) -> Iterator[dict[str, Any]]:
    """The figures at the levels that a condition was measured at, each with its measured value."""
    for level in filter(number, studied.keys.get(over.key, ())):
        try:
            answer = predict(studied.bundle, studied.name, {**over.at, over.key: level})
        except QuestionError:
            continue
        figures = answer.evidence.get("figures", ())
        values = {(one["metric"], one["condition"]): one["measured"] for one in figures if "measured" in one}
        for output in answer.outputs:
            value = values.get((output.metric, output.condition))
            if value is not None and (not over.metrics or output.metric in over.metrics):
                plain = asdict(replace(output, condition=without(output.condition, (over.key,))))
                yield {"at": float(level), "measured": value, **plain}


@dataclass(frozen=True)
class Condition:
    """A key of a question, for readers who choose.

    Attributes
    ----------
    key : str
    levels : tuple of str
        The levels that can be answered, ascending.
    is_number : bool
    today : float or None
        The level of the configuration, of a count or a load that was measured at one level.
    selects : bool
        Whether the key is no condition of the run: its levels are parts of one measurement (a component, a field of a
        report), and it picks their figures.
    """

    key: str
    levels: tuple[str, ...] = ()
    is_number: bool = False
    today: float | None = None
    selects: bool = False


def conditions_of(bundle: Mapping[str, Any], system: str) -> list[Condition]:
    """The conditions of a system's studies and configuration, and its load; none of a system without studies."""
    if not has_conditions(bundle, system):
        return []
    studied = Studied(bundle, system)
    keys = studied.keys
    # One population goes by several names.
    people = [key for key in keys if key in POPULATIONS]
    main = studied.users.key if studied.users is not None and studied.users.key in people else next(iter(people), "")
    # A level of another table may be a name.
    numeric = {key for key in studied.studies.numbers(system) if all(map(number, keys.get(key, ())))}
    conditions = [
        Condition(key, levels, key in numeric, selects=key not in numeric and key not in ALTERNATIVES)
        for key, levels in keys.items()
        if (key not in people or key == main) and (key in numeric or len(levels) > 1)
    ]
    conditions += [Condition(key, levels) for key, levels in levels_of_options(studied).items() if key not in keys]
    conditions.sort(key=lambda one: (one.selects, not one.is_number))
    return [*conditions, *_load(studied), *(_as_today(key, x) for key, x in configured(studied).items())]


def configured(studied: Studied) -> dict[str, float]:
    """What was measured at one level and may be asked at others: think time, file size and counts, as measured."""
    return {**users.measured_cycle(studied), **measured_counts(studied)}


def _as_today(key: str, x: float) -> Condition:
    return Condition(key, (f"{x:.12g}",), is_number=True, today=x)


def _load(studied: Studied) -> list[Condition]:
    """The rate, where one was measured; engines, where a network answers."""
    rate = Condition("etr_tps", is_number=True)
    if studied.network is not None:
        return [rate, _as_today("engines", studied.network.engines)]
    if (sibling := sibling_of(studied)) is not None:
        return [_as_today("etr_tps", sibling.rate), _as_today("engines", sibling.engines)]
    if studied.users is not None and studied.users.unit != TRANSACTIONS:
        return []
    of_rate = any(row["metric"] in RATES and row["unit"] == TRANSACTIONS for row in studied.rows)
    return [rate] if of_rate else []
