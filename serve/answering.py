"""The functions that answer, by kind of question: the bundle and the arguments in, JSON out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from model.capacity import ask
from model.capacity import bundle as bundles
from model.capacity.bundle import system_entry
from model.capacity.evidence import residuals
from model.capacity.question import parse_question, prepare_system
from model.capacity.values import QuestionError
from serve import catalogue, msu, problems
from serve.encoding import as_json

Bundle = Mapping[str, Any]
Keys = Mapping[str, Any]


class Reply(NamedTuple):
    """An answer or a problem document as JSON, its HTTP status, and whether it is extrapolated."""

    status: int
    extrapolated: bool
    body: bytes


def answer(bundle: Bundle, kind: str, question: Mapping[str, Any]) -> Reply:
    """The reply to a question; a refusal is a reply, too."""
    try:
        result = function_of(kind)(bundle, **question)
    except QuestionError as refused:
        problem = problems.of(refused)
        return Reply(problem.status, False, as_json(problems.document(problem)))
    extrapolated = result.get("extrapolated", False) if isinstance(result, dict) else result.extrapolated
    return Reply(200, extrapolated, as_json(result))


def size(bundle: Bundle, system: str, at: Keys | None = None, **targets: Any) -> Any:
    """The smallest number of engines for a load within targets, of which at least one is named."""
    if not targets.keys() - {"machines"}:
        message = "name at least one target: max_busy_pct, max_response_ms or both"
        raise QuestionError("max_busy_pct", None, message)
    return ask.size(bundle, system, at, **targets)


def sweep(
    bundle: Bundle,
    system: str,
    key: str,
    first: float,
    last: float,
    steps: int | None = None,
    at: Keys | None = None,
    metrics: Sequence[str] = (),
) -> Any:
    """Metrics over a range of a key."""
    return ask.sweep(bundle, system, key, ask.spaced(key, first, last, steps), at=at, metrics=metrics)


def compare(bundle: Bundle, system: str, a: Keys | None = None, b: Keys | None = None, other: str | None = None) -> Any:
    """Two questions side by side."""
    return ask.compare(bundle, system, a or {}, b or {}, other=other)


def simulation(bundle: Bundle, system: str, at: Keys | None = None) -> dict[str, Any]:
    """The part of the bundle that a simulation of the system takes, if its load can be parsed."""
    parse_question(prepare_system(system_entry(bundle, system), at), at)
    return bundles.plain({key: value for key, value in bundle.items() if key != "conditions"})


def network(bundle: Bundle, system: str, at: Keys | None = None) -> dict[str, str]:
    """The calibrated network of a system at a load, in TOML."""
    from model.capacity.network_export import export_network

    return {"network": export_network(bundle, system, at).network.to_toml()}


def function_of(kind: str) -> Callable[..., Any]:
    """The function that answers a kind of question, from the bundle and the fields of the question.

    It is that in :data:`KINDS`, else the one of this name in ``model.capacity.ask``. Raises KeyError for no kind.
    """
    if kind in KINDS:
        return KINDS[kind]
    name = kind.replace("-", "_")
    if name not in ask.QUESTIONS:
        raise KeyError(kind)
    function: Callable[..., Any] = getattr(ask, name)
    return function


KINDS: Mapping[str, Callable[..., Any]] = {
    "size": size,
    "sweep": sweep,
    "compare": compare,
    "forecast-msu": msu.forecast,
    "fitted": residuals,
    "simulation": simulation,
    "network": network,
    "systems": catalogue.systems,
    "conditions": catalogue.conditions,
    "models": catalogue.models,
}
"""Questions whose fields are not the arguments of a function of ``model.capacity.ask``."""
