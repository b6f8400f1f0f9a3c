"""Changes between two answers, figure by figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.capacity.answer import Answer, Estimate, Output
from model.capacity.network_answers import without

Samples = Mapping[tuple[str, str], NDArray[np.float64]]


def changes(answers: Sequence[Answer], samples: Sequence[Samples | None]) -> list[dict[str, Any]]:
    """The second answer against the first: ``metric``, ``class``, ``a``, ``b`` and ``change_pct`` with its limits.

    Parameters
    ----------
    answers
        the two answers.
    samples
        posterior samples of their figures by metric and class; None of an answer that has limits only.
    """
    one, other = samples
    return _by_limits(*answers) if one is None or other is None else _by_samples(one, other)


def _by_samples(one: Samples, other: Samples) -> list[dict[str, Any]]:
    rows = []
    for key, left in one.items():
        right = other.get(key)
        if right is None or not np.isfinite(left[0]) or not np.isfinite(right[0]) or left[0] == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            change = Estimate.of(np.nan_to_num(100.0 * (right / left - 1.0), nan=np.inf, posinf=np.inf))
        rows.append(_row(key, float(left[0]), float(right[0]), change.to_dict()))
    return rows


def _by_limits(one: Answer, other: Answer) -> list[dict[str, Any]]:
    """Changes that are as uncertain as both answers are."""
    keys = tuple({*one.at, *other.at})
    right = {(output.metric, without(output.condition, keys)): output for output in other.outputs}
    rows = []
    for left in one.outputs:
        place = left.metric, without(left.condition, keys)
        then = right.get(place)
        if then is None or not left.value or then.value is None:
            continue
        change = {"value": 100.0 * (then.value / left.value - 1.0), **_limits(left, then)}
        rows.append(_row(place, left.value, then.value, change))
    return rows


def _row(key: tuple[str, str], a: float, b: float, change: Mapping[str, float | None]) -> dict[str, Any]:
    return {"metric": key[0], "class": key[1], "a": a, "b": b, "change_pct": change}


def _limits(left: Output, then: Output) -> dict[str, float | None]:
    ends = (left.lo, left.value, left.hi, then.lo, then.value, then.hi)
    if any(end is None or end <= 0 for end in ends):
        return {"lo": None, "hi": None}
    a_low, a, a_high, b_low, b, b_high = (math.log(float(end or 1.0)) for end in ends)
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return {"lo": 100.0 * (math.exp(b - a - down) - 1.0), "hi": 100.0 * (math.exp(b - a + up) - 1.0)}
