"""The questions that are answered over HTTP: the body of each, the type of its answer, and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from model.capacity import ask
from serve import answers, questions
from serve.problems import Problem
from serve.questions import keys

Bundle = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of question."""

    name: str
    summary: str
    body: type[questions.Question]
    answer: type[BaseModel]
    reply: Callable[[Bundle, Any], Any]


def predict(bundle: Bundle, question: questions.PredictQuestion) -> Any:
    """Every metric of a system at a load."""
    return ask.predict(bundle, question.system, keys(question.at))


def size(bundle: Bundle, question: questions.SizeQuestion) -> Any:
    """The smallest number of engines for a load within targets, of which at least one is named."""
    if question.max_busy_pct is None and question.max_response_ms is None:
        told = "name at least one target: max_busy_pct, max_response_ms or both"
        raise Problem(422, "invalid-request", told, field="max_busy_pct")
    targets = {"max_busy_pct": question.max_busy_pct, "max_response_ms": question.max_response_ms}
    return ask.size(bundle, question.system, question.etr_tps, at=keys(question.at), **targets)


def max_rate(bundle: Bundle, question: questions.MaxRateQuestion) -> Any:
    """The highest rate of the mix within targets."""
    return ask.max_rate(
        bundle,
        question.system,
        at=keys(question.at),
        max_busy_pct=question.max_busy_pct,
        max_response_ms=question.max_response_ms,
    )


def sweep(bundle: Bundle, question: questions.SweepQuestion) -> Any:
    """Metrics over a range of a key."""
    values = ask.spaced(question.key, question.first, question.last, question.steps)
    at = keys(question.at)
    return ask.sweep(bundle, question.system, question.key, values, at=at, metrics=question.metrics)


def compare(bundle: Bundle, question: questions.CompareQuestion) -> Any:
    """Two questions side by side."""
    return ask.compare(bundle, question.system, keys(question.a), keys(question.b), other=question.other)


def headroom(bundle: Bundle, question: questions.HeadroomQuestion) -> Any:
    """Until when a system fits."""
    return ask.headroom(
        bundle,
        question.system,
        at=keys(question.at),
        max_busy_pct=question.max_busy_pct,
        max_response_ms=question.max_response_ms,
    )


def explain(bundle: Bundle, question: questions.ExplainQuestion) -> Any:
    """What an answer is made of."""
    return ask.explain(bundle, question.system, keys(question.at))


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "predict",
            "Predict every metric of a system at a load",
            questions.PredictQuestion,
            answers.PredictAnswer,
            predict,
        ),
        Kind(
            "size",
            "Find the smallest number of engines for a load within busy and response targets",
            questions.SizeQuestion,
            answers.SizeAnswer,
            size,
        ),
        Kind(
            "max-rate",
            "Find the highest rate of the mix within targets, what limits it, and what would limit next",
            questions.MaxRateQuestion,
            answers.MaxRateAnswer,
            max_rate,
        ),
        Kind("sweep", "Follow metrics over a range of any key", questions.SweepQuestion, answers.SweepAnswer, sweep),
        Kind(
            "compare",
            "Set two questions side by side, with the interval of each difference",
            questions.CompareQuestion,
            answers.CompareAnswer,
            compare,
        ),
        Kind(
            "headroom",
            "Say until when a system fits, as its history trends",
            questions.HeadroomQuestion,
            answers.HeadroomAnswer,
            headroom,
        ),
        Kind(
            "explain",
            "Say what an answer is made of, and which assumptions its interval comes from",
            questions.ExplainQuestion,
            answers.ExplainAnswer,
            explain,
        ),
    )
}
