"""What is kept of the answer to a saved question: its main figures, the same for nights, command line and service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from model.capacity.values import QuestionError
from serve.answering import function_of
from state.saved import SavedAnswer, SavedQuestion

Figures = dict[str, float | str | None]
_FIGURES = ("etr_tps", "cpu_busy_pct", "machine_busy_pct", "ziip_busy_pct", "response_ms")


def answer(bundle: Mapping[str, Any], one: SavedQuestion) -> SavedAnswer:
    """The answer of the champion to a saved question; a refusal is an answer, too."""
    version = str(bundle["model_version"])
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        result = function_of(one.kind)(bundle, **one.question)
    except QuestionError as refused:
        return SavedAnswer(now, version, {}, str(refused))
    document = result if isinstance(result, dict) else result.to_dict()
    return SavedAnswer(now, version, FIGURES[one.kind](document))


def _of_size(document: Mapping[str, Any]) -> Figures:
    return {"engines": document["engines"]["value"]}


def _of_max_rate(document: Mapping[str, Any]) -> Figures:
    return {"etr_tps": document["etr_tps"]["value"], "growth_pct": document["growth_pct"]["value"]}


def _of_headroom(document: Mapping[str, Any]) -> Figures:
    first = document["first"] or {}
    reached = "already" if first.get("already") else first.get("value")
    return {"first_resource": first.get("resource"), "first_reached": reached}


def _of_compare(document: Mapping[str, Any]) -> Figures:
    return {
        f"{change['metric']} {change['class']}".strip(): (change["change_pct"] or {}).get("value")
        for change in document["changes"]
        if change["metric"] in _FIGURES
    }


def _of_predict(document: Mapping[str, Any]) -> Figures:
    outputs = [output for output in document["outputs"] if output["metric"] in _FIGURES]
    values = {f"{output['metric']} {_subject(output['condition'])}".strip(): output["value"] for output in outputs}
    return {**values, "bottleneck": document["bottleneck"]["resource"]}


def _subject(condition: str) -> str:
    """The class or station that a figure is of; empty for the system."""
    pairs = (pair.strip() for pair in condition.split(";"))
    return next((pair for pair in pairs if pair.startswith(("class=", "station="))), "")


FIGURES: Mapping[str, Callable[[Mapping[str, Any]], Figures]] = {
    "predict": _of_predict,
    "size": _of_size,
    "max-rate": _of_max_rate,
    "headroom": _of_headroom,
    "compare": _of_compare,
}
"""The main figures of an answer by name, for each of ``state.saved.KINDS``."""
