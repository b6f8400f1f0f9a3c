"""A model's answers set beside the truth of a twin's questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from model.lab.twin.description import Twin

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""A prediction for a system `at` some changes, as plain values; ValueError where it is refused."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure: truth, prediction with its limits (None where there is none), error in percent, whether it held.

    Errors of busy and utilization are in points of percent. `note` says why there is no prediction.
    """

    question: str
    metric: str
    condition: str
    truth: float
    predicted: float | None = None
    lo: float | None = None
    hi: float | None = None
    error_pct: float | None = None
    held: bool | None = None
    note: str = ""


def compare(twin: Twin, truths: Mapping[str, Mapping[str, Any]], ask: Ask) -> list[Compared]:
    """Ask every question of a twin and set each figure of the truth beside the one predicted."""
    found = []
    for question, truth in truths.items():
        try:
            answer = ask(truth["system"], asked_of_model(twin, truth["at"]))
        except ValueError as error:
            found += [_row(question, output, None, str(error)) for output in truth["outputs"]]
            continue
        predicted = {(o["metric"], o["condition"]): o for o in answer["outputs"]}
        for output in truth["outputs"]:
            key = output["metric"], output["condition"]
            found.append(_row(question, output, predicted.get(key), "not answered"))
        found.append(_bottleneck(question, truth, answer))
    return found


def asked_of_model(twin: Twin, at: Mapping[str, Any]) -> dict[str, Any]:
    """The changes as a model can know them: classes of the network by their service class."""
    asked = {}
    for key, value in at.items():
        kind, _, name = key.partition(".")
        known = kind in ("growth_pct", "rate") and name in twin.classes
        asked[f"{kind}.{twin.classes[name].service_class}" if known else key] = value
    return asked


def _row(question: str, output: Mapping[str, Any], predicted: Mapping[str, Any] | None, missing: str) -> Compared:
    metric, condition, truth = output["metric"], output["condition"], output["value"]
    if predicted is None or predicted["value"] is None:
        return Compared(question, metric, condition, truth, note=missing)
    value, lo, hi = (predicted[name] for name in ("value", "lo", "hi"))
    error = value - truth if metric.endswith("_pct") else 100 * (value / truth - 1) if truth else None
    held = None if lo is None or hi is None else lo <= truth <= hi
    return Compared(question, metric, condition, truth, value, lo, hi, error, held)


def _bottleneck(question: str, truth: Mapping[str, Any], answer: Mapping[str, Any]) -> Compared:
    """Whether the resource that fills first is the truth's; its utilization stands for the figures."""
    true, said = truth["bottleneck"], answer["bottleneck"] or {}
    names = f"{said.get('resource', 'nothing')}; in truth {true.get('resource', 'nothing')}"
    return Compared(
        question,
        "bottleneck",
        "",
        true.get("utilization_pct", 0.0),
        said.get("utilization_pct"),
        held=said.get("resource") == true.get("resource"),
        note=names,
    )
