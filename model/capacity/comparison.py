"""Answers of one kind set beside each other: over a range of a key, or one against the other.

For questions that no single network answers: conditions, and systems answered by their studies or by a sibling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from model.capacity.answer import INTERVAL_PCT, Answer, Output, as_plain
from model.capacity.quantities import POPULATIONS
from model.capacity.values import QuestionError

Predict = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Answer]
MeasuredLevels = Callable[
    [Predict, Mapping[str, Any], str, str, Mapping[str, Any], Sequence[str]], Iterator[dict[str, Any]]
]
"""The figures at the measured levels of a key."""


def sweep_answers(
    predict: Predict,
    bundle: Mapping[str, Any],
    system: str,
    key: str,
    values: Sequence[float],
    at: Mapping[str, Any],
    metrics: Sequence[str],
    measured: MeasuredLevels | None = None,
) -> dict[str, Any]:
    """What `model.capacity.ask.sweep` gives, each step an answer of its own, whatever `at` says of the key.

    Raises:
        QuestionError: as `predict`; or a metric that is not answered for the system.
    """
    at = {name: value for name, value in at.items() if name not in _same((key,))}
    answers = [predict(bundle, system, {**at, key: value}) for value in values]
    known = sorted({output.metric for answer in answers for output in answer.outputs})
    for metric in metrics:
        if metric not in known:
            raise QuestionError("metrics", metric, f"metrics: {metric!r} is not predicted for {system}", known)
    steps = [
        {
            "value": float(value),
            "outputs": [
                asdict(replace(output, condition=without(output.condition, (key,))))
                for output in answer.outputs
                if not metrics or output.metric in metrics
            ],
            "extrapolated": answer.extrapolated,
        }
        for value, answer in zip(values, answers, strict=True)
    ]
    return as_plain(
        {
            "system": system,
            "key": key,
            "at": dict(at),
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "steps": steps,
            "measured": [] if measured is None else list(measured(predict, bundle, system, key, at, metrics)),
            "notes": list(dict.fromkeys([*answers[0].notes, *answers[-1].notes])),
            "evidence": answers[0].evidence,
        }
    )


def changes(one: Answer, other: Answer) -> list[dict[str, Any]]:
    """The second answer against the first, figure by figure: change in per cent, as unsure as both are together."""
    asked = tuple({*one.at, *other.at})
    right = {(output.metric, without(output.condition, asked)): output for output in other.outputs}
    rows = []
    for left in one.outputs:
        place = left.metric, without(left.condition, asked)
        then = right.get(place)
        if then is None or not left.value or then.value is None:
            continue
        change = {"value": 100.0 * (then.value / left.value - 1.0), **_limits(left, then)}
        rows.append({"metric": place[0], "class": place[1], "a": left.value, "b": then.value, "change_pct": change})
    return rows


def _limits(left: Output, then: Output) -> dict[str, float | None]:
    ends = (left.lo, left.value, left.hi, then.lo, then.value, then.hi)
    if any(end is None or end <= 0 for end in ends):
        return {"lo": None, "hi": None}
    a_low, a, a_high, b_low, b, b_high = (math.log(float(end or 1.0)) for end in ends)
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return {"lo": 100.0 * (math.exp(b - a - down) - 1.0), "hi": 100.0 * (math.exp(b - a + up) - 1.0)}


def without(condition: str, keys: Sequence[str]) -> str:
    """A condition without what was asked."""
    asked = _same(keys)
    return "; ".join(part for part in condition.split("; ") if part.partition("=")[0] not in asked)


def _same(keys: Sequence[str]) -> set[str]:
    """Keys with their other names: one population may be called users in one table and sessions in another."""
    return {*keys, *(POPULATIONS if set(keys) & set(POPULATIONS) else ())}
