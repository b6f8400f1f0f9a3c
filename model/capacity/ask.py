"""Capacity questions about the systems of a bundle.

Each is answered by :func:`answering`: the network of the system, or its published studies where it has any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from model.capacity import network_answers
from model.capacity.answer import INTERVAL_PCT, Answer, as_plain
from model.capacity.bundle import has_conditions
from model.capacity.evidence import explain
from model.capacity.network_answers import Sweep
from model.capacity.values import QuestionError, number_text

QUESTIONS = ("compare", "explain", "headroom", "max_rate", "predict", "size", "sweep")
"""Names of the functions here that answer a question."""
__all__ = [
    "QUESTIONS", "QuestionError", "compare", "explain", "headroom", "max_rate", "predict", "size", "spaced", "sweep",
]  # fmt: skip

WHOLE = ("engines", "ziip_engines", "physical_cps", "physical_ziips")
"""Keys that take whole numbers, each of which is a step of a sweep."""
MOST_STEPS = 400


class Answering(Protocol):
    """A module that answers questions about a system."""

    def predict(self, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
        """See :func:`predict`."""

    def size(
        self, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
    ) -> dict[str, Any]:
        """See :func:`size`."""

    def max_rate(
        self, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
    ) -> dict[str, Any]:
        """See :func:`max_rate`."""

    def sweep(self, bundle: Mapping[str, Any], system: str, over: Sweep) -> dict[str, Any]:
        """See :func:`sweep`."""

    def figure_samples(
        self, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any], side: str = "at"
    ) -> Mapping[tuple[str, str], NDArray[np.float64]] | None:
        """Posterior samples of every figure, (draws,), by metric and class; None where a figure has limits only."""


def answering(bundle: Mapping[str, Any], system: str) -> Answering:
    """The module that answers questions about a system: its published studies if it has any, otherwise its network.

    The studies use the network of the system as well, where it has one.
    """
    if has_conditions(bundle, system):
        from model.published import ask as studies

        return studies
    return network_answers


def predict(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None) -> Answer:
    """Utilization and response times of a system at a load, with 90 % limits.

    Parameters
    ----------
    bundle
        a calibrated model, see ``model.capacity.bundle``.
    system
        id of a calibrated system, or the SMF identifier of an LPAR.
    at
        the question: keys as ``model.capacity.values`` lists them. Without a load, the operating point.

    Raises
    ------
    QuestionError
        unknown system or key, or a value out of its domain.
    """
    return answering(bundle, system).predict(bundle, system, at)


def size(bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any) -> dict[str, Any]:
    """The smallest number of engines for a load within targets, see :func:`model.capacity.sizing.size`."""
    return answering(bundle, system).size(bundle, system, at, **targets)


def max_rate(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
) -> dict[str, Any]:
    """The highest rate of the mix within targets, see :func:`model.capacity.sizing.max_rate`."""
    return answering(bundle, system).max_rate(bundle, system, at, **targets)


def headroom(
    bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, **targets: Any
) -> dict[str, Any]:
    """When growth reaches targets, see :func:`model.capacity.forecast.headroom`."""
    from model.capacity import forecast

    return forecast.headroom(bundle, system, at, **targets)


def spaced(key: str, first: float, last: float, steps: int | None = None) -> list[float]:
    """Evenly spaced values for a sweep; without ``steps`` every whole number of engines, or eleven of anything else.

    Raises
    ------
    QuestionError
        the range does not ascend, or there are fewer than 2 or more than 400 steps.
    """
    if not 0 < last - first < np.inf:
        raise QuestionError(
            "to", last, f"to: {number_text(last)} should be greater than from, {number_text(first)}, by a finite number"
        )
    count = steps if steps is not None else int(last - first) + 1 if key in WHOLE else 11
    if not 2 <= count <= MOST_STEPS:
        between = f"from {number_text(first)} to {number_text(last)}"
        message = f"steps: {number_text(count)} {between} should be 2 to {MOST_STEPS}"
        raise QuestionError("steps", steps, message)
    return [first + (last - first) * i / (count - 1) for i in range(count)]


def sweep(
    bundle: Mapping[str, Any],
    system: str,
    key: str,
    values: Sequence[float],
    *,
    at: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Chosen metrics over a range of one key; no value where there is no steady state.

    Returns
    -------
    dict
        ``steps``: for each value its ``outputs`` and whether it is ``extrapolated``; ``measured``: of a condition the
        figures at its measured levels; ``notes`` on the ends of the range.

    Raises
    ------
    QuestionError
        as :func:`predict`; or a metric that is not answered for the system.
    """
    return answering(bundle, system).sweep(bundle, system, Sweep(key, values, at or {}, metrics))


def compare(
    bundle: Mapping[str, Any],
    system: str,
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    *,
    other: str | None = None,
) -> dict[str, Any]:
    """Two questions: B against A, metric by metric, with the interval of the difference.

    Both are evaluated with the same posterior samples, so that common errors cancel. Figures of studies have limits
    only, whose widths add up.

    Raises
    ------
    QuestionError
        as :func:`predict`.
    """
    sides = (("a", system, a), ("b", other or system, b))
    answers = [_side(bundle, *side) for side in sides]
    samples = [answering(bundle, name).figure_samples(bundle, name, at, side) for side, name, at in sides]
    return as_plain(
        {
            "system": system,
            "other": other or system,
            "model_version": bundle["model_version"],
            "interval_pct": INTERVAL_PCT,
            "a": answers[0].to_dict(),
            "b": answers[1].to_dict(),
            "changes": network_answers.changes(answers, samples),
        }
    )


def _side(bundle: Mapping[str, Any], side: str, system: str, at: Mapping[str, Any]) -> Answer:
    """The answer of one side; a refusal names the side's field."""
    try:
        return predict(bundle, system, at)
    except QuestionError as error:
        if error.field == "at" or error.field.startswith("at."):
            error.field = side + error.field[2:]
        raise
