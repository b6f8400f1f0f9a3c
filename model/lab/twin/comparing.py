"""A model's answers set beside the truth of a twin's questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from model.lab.twin.description import Twin

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""A prediction for a system `at` some changes, as plain values; ValueError where it is refused."""

ROUNDING = 1e-5
"""Recorded rates are kept to six digits."""
NEAR_POINTS = 5.0
"""Utilizations so near each other that either resource may be named as the bottleneck."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure: truth, prediction with its limits (None where there is none), error in %, whether it is covered.

    Errors of busy and utilization are in points of percent. An interval covers the truth where it reaches the interval
    in which the simulation knows it. Without a steady state there is no truth, and none may be predicted. `note` says
    why there is no prediction.
    """

    question: str
    metric: str
    condition: str
    truth: float | None
    predicted: float | None = None
    lo: float | None = None
    hi: float | None = None
    error_pct: float | None = None
    covered: bool | None = None
    note: str = ""


def compare(twin: Twin, truths: Mapping[str, Mapping[str, Any]], ask: Ask) -> list[Compared]:
    """Ask every question of a twin and set each figure of the truth beside the one predicted."""
    rows = []
    for question, truth in truths.items():
        try:
            answer = ask(truth["system"], asked_of_model(twin, truth["at"]))
        except ValueError as error:
            rows += [_row(question, output, None, str(error)) for output in truth["outputs"]]
            continue
        predicted = _figures(answer)
        for output in truth["outputs"]:
            key = output["metric"], _of_what(output["condition"])
            rows.append(_row(question, output, predicted.get(key), "not answered"))
        rows.append(_bottleneck(question, truth, answer))
    return rows


def asked_of_model(twin: Twin, at: Mapping[str, Any]) -> dict[str, Any]:
    """The changes as a model can know them: classes of the network by their service class."""
    question = {}
    for key, value in at.items():
        kind, _, name = key.partition(".")
        is_class = kind in ("growth_pct", "rate") and name in twin.classes
        question[f"{kind}.{twin.classes[name].service_class}" if is_class else key] = value
    return question


def _figures(answer: Mapping[str, Any]) -> dict[tuple[str, tuple[str, ...]], Mapping[str, Any]]:
    """Figures of an answer by metric and by class or station; what resources use stands with its bottleneck."""
    figures = {(o["metric"], _of_what(o["condition"])): o for o in answer["outputs"]}
    for station in (answer["bottleneck"] or {}).get("stations", ()):
        key = "utilization_pct", (f"station={_kind(station['resource'])}",)
        figures.setdefault(key, {**station, "value": station["utilization_pct"]})
    return figures


def _of_what(condition: str) -> tuple[str, ...]:
    """The class or station of a condition, without what was asked."""
    pairs = (pair.strip() for pair in condition.split(";"))
    named = (pair.partition("=") for pair in pairs)
    return tuple(f"{key}={_kind(name)}" for key, _, name in named if key in ("class", "station"))


def _row(question: str, output: Mapping[str, Any], predicted: Mapping[str, Any] | None, missing: str) -> Compared:
    metric, condition, truth = output["metric"], output["condition"], output["value"]
    if truth is None:
        none = predicted is None or predicted["value"] is None or predicted["hi"] is None
        value = None if predicted is None else predicted["value"]
        return Compared(question, metric, condition, None, value, covered=none, note="no steady state")
    if predicted is None or predicted["value"] is None:
        return Compared(question, metric, condition, truth, note=missing)
    value, lo, hi = (predicted[name] for name in ("value", "lo", "hi"))
    error = value - truth if metric.endswith("_pct") else 100 * (value / truth - 1) if truth else None
    room = ROUNDING * abs(truth)
    # A response that may have no steady state has no upper limit.
    covered = None if lo is None else lo - room <= output["hi"] and (hi is None or output["lo"] <= hi + room)
    return Compared(question, metric, condition, truth, value, lo, hi, error, covered)


def _bottleneck(question: str, truth: Mapping[str, Any], answer: Mapping[str, Any]) -> Compared:
    """Whether the fullest resource is the truth's, or the other one where two are within five points."""
    true, said = truth["bottleneck"], answer["bottleneck"] or {}
    near = [
        station["resource"]
        for station in true.get("stations", [true])[:2]
        if station["utilization_pct"] >= true["utilization_pct"] - NEAR_POINTS
    ]
    name = said.get("resource", "")
    return Compared(
        question,
        "bottleneck",
        "",
        true.get("utilization_pct", 0.0),
        said.get("utilization_pct"),
        covered=_kind(name) in map(_kind, near),
        note=f"{name}; in truth {' or '.join(near)}",
    )


def _kind(resource: str) -> str:
    """A resource's name; a machine is the only one, whatever it is called."""
    return "machine" if resource.startswith("machine ") else resource
