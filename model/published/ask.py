"""Questions about a system with studies: what was measured at its conditions, beside what a network says of it.

`model.capacity.ask` chooses this module for them (:class:`model.capacity.ask.Answering`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from model.capacity import network_answers, sizing
from model.capacity.adjustments import PREFIX
from model.capacity.answer import Answer, as_plain
from model.capacity.bundle import has_conditions
from model.capacity.network_answers import predict as network
from model.capacity.network_answers import sweep_answers, without
from model.capacity.parameters import SystemParameters
from model.capacity.values import ZIIPS, QuestionError
from model.published import populations
from model.published.answers import at_point, by_condition, parted
from model.published.askable import configured
from model.published.counts import counted
from model.published.loads import as_measured, completed, moved, needs_network
from model.published.model import published
from model.published.populations import users_of
from model.published.rates import at_rate, beside_network
from model.published.siblings import answer_by_sibling, sibling_of
from model.published.tables import number
from model.published.think_time import at_think_time
from model.published.variants import MeasuredSo, measured_so, with_options


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """What is known of a system at conditions, loads, counts and options, see :func:`model.capacity.ask.predict`.

    What the network of a system refuses, such as a point measured elsewhere, its studies may know.
    """
    at = at_point(bundle, system, at)
    if (answer := with_options(_predict, bundle, system, at)) is not None:
        return answer
    if (counts := counted(bundle, system, at)) is not None:
        return counts.said(_at_measured_counts(bundle, system, counts.at))
    if (thinking := at_think_time(bundle, system, at)) is not None:
        return thinking
    try:
        return _at_measured_counts(bundle, system, at)
    except QuestionError as refused:
        if refused.field != f"at.{refused.value}":
            raise
        raise refused.also(configured(bundle, system)) from None


def _predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    """The answer about any system, with studies or without."""
    return predict(bundle, system, at) if has_conditions(bundle, system) else network(bundle, system, at or {})


def _at_measured_counts(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None) -> Answer:
    loads, conditions = parted(bundle, system, at)
    if system in bundle["systems"]:
        if conditions:
            return _at_conditions(bundle, system, loads, conditions)
        return _with_conditions(bundle, system, loads)
    if (by := sibling_of(bundle, system)) is not None:
        return answer_by_sibling(_with_conditions, bundle, system, loads, conditions, by)
    return at_rate(bundle, system, loads, conditions)


def _at_conditions(
    bundle: Mapping[str, Any], system: str, loads: Mapping[str, Any], conditions: Mapping[str, Any]
) -> Answer:
    """What is known at conditions; what the studies do not know, the network may have figures of."""
    try:
        if needs_network(loads):
            return moved(network, bundle, system, loads, conditions)
        return completed(network, bundle, system, by_condition(bundle, system, {**conditions, **loads}), loads)
    except QuestionError:
        answer = network(bundle, system, loads)
        wanted = {f"{key}={value}" for key, value in conditions.items()}
        outputs = tuple(output for output in answer.outputs if wanted <= set(output.condition.split("; ")))
        if not outputs:
            raise
        return replace(answer, at={**conditions, **loads}, outputs=outputs)


def _with_conditions(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> Answer:
    """The network's answer with what the studies add; what it refuses, they may know."""
    try:
        answer = network(bundle, system, at)
        if not has_conditions(bundle, system):
            return answer
        more, notes, figures = beside_network(bundle, system, at, answer.outputs)
        behind = {**answer.evidence, "figures": figures}
        parts = {output.metric for output in more}
        whole = tuple(output for output in answer.outputs if output.metric not in parts)
        return replace(answer, outputs=whole + more, notes=(*answer.notes, *notes), evidence=behind)
    except QuestionError as refused:
        if "point" not in at:
            raise
        try:
            return as_measured(network, bundle, system, at)
        except QuestionError as also:
            if not (refused.field == also.field == "at.point" and refused.allowed and also.value != "point"):
                raise refused from None
            raise refused.also(also.allowed) from None


def size(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any) -> dict[str, Any]:
    """The smallest number of engines for a load, by the system's network or that of a sibling."""
    if (alike := measured_so(_predict, bundle, system, at or {})) is not None:
        return _as_measured_so(size(bundle, alike.system, alike.at, **wanted), alike, system, at)
    counts = counted(bundle, system, at or {})
    rest, notes = (at, ()) if counts is None else (counts.at, counts.notes)
    by = sibling_of(bundle, system)
    if by is None:
        sized = sizing.size(bundle, system, rest, **wanted)
    else:
        loads, _ = parted(bundle, system, rest)
        question = {key: value for key, value in by.question(loads).items() if key != "engines" or key in loads}
        sized = by.named(sizing.size(bundle, by.system, question, **wanted), system)
    return {**sized, "at": dict(at or {}), "notes": [*notes, *sized["notes"]]} if notes else sized


def max_rate(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **wanted: Any
) -> dict[str, Any]:
    """The highest rate, by the system's network, that of a sibling, or the throughput of its users."""
    if (alike := measured_so(_predict, bundle, system, at or {})) is not None:
        return _as_measured_so(max_rate(bundle, alike.system, alike.at, **wanted), alike, system, at)
    by = sibling_of(bundle, system)
    if by is not None:
        loads, _ = parted(bundle, system, at)
        return by.named(sizing.max_rate(bundle, by.system, by.question(loads), **wanted), system)
    entry = bundle["systems"].get(system)
    if entry is None or (_without_response(entry, wanted) and users_of(bundle, system)):
        return populations.max_rate(bundle, system, at, **wanted)
    return sizing.max_rate(bundle, system, at, **wanted)


def _as_measured_so(
    result: Mapping[str, Any], alike: MeasuredSo, system: str, at: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What was found of a system with the options asked for, in the name of the one that was asked."""
    return {**result, "system": system, "at": dict(at or {}), "notes": [*alike.notes, *result["notes"]]}


def _without_response(entry: SystemParameters, wanted: Mapping[str, Any]) -> bool:
    """Whether a response is asked for that the network of a system has not."""
    return wanted.get("max_response_ms") is not None and not entry.responses


def figure_samples(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any], side: str = "at"
) -> Mapping[tuple[str, str], Any] | None:
    """Posterior samples of the figures, where the network alone answers a question; None where it does not."""
    return network_answers.figure_samples(bundle, system, at, side) if _network_alone(bundle, system, at) else None


def sweep(
    bundle: Mapping[str, Any],
    system: str,
    key: str,
    values: Sequence[float],
    *,
    at: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """A prediction for each value of a key, with the figures measured at the levels of a condition; by the network
    where it alone answers."""
    question = dict(at or {})
    changes_system = key == ZIIPS or key.startswith(PREFIX)
    if not changes_system and _network_alone(bundle, system, {**question, key: values[0]}):
        return network_answers.sweep(bundle, system, key, values, at=at, metrics=metrics)
    swept = sweep_answers(predict, bundle, system, key, values, question, metrics)
    return {**swept, "measured": as_plain(list(_measured_levels(bundle, system, key, swept["at"], metrics)))}


def _network_alone(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any]) -> bool:
    """Whether a question is one that a network answers or refuses, with nothing from studies."""
    loads, conditions = parted(bundle, system, at)
    points = [point.point for point in bundle["systems"][system].points] if system in bundle["systems"] else []
    return system in bundle["systems"] and not conditions and ("point" not in loads or str(loads["point"]) in points)


def _measured_levels(
    bundle: Mapping[str, Any], system: str, key: str, at: Mapping[str, Any], metrics: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The figures at the levels that a condition was measured at, each with what was measured there."""
    for level in filter(number, published(bundle["conditions"]).keys(system).get(key, ())):
        try:
            answer = predict(bundle, system, {**at, key: level})
        except QuestionError:
            continue
        figures = answer.evidence.get("figures", ())
        measured_of = {(one["metric"], one["condition"]): one["measured"] for one in figures if "measured" in one}
        for output in answer.outputs:
            measured = measured_of.get((output.metric, output.condition))
            if measured is not None and (not metrics or output.metric in metrics):
                plain = asdict(replace(output, condition=without(output.condition, (key,))))
                yield {"at": float(level), "measured": measured, **plain}
