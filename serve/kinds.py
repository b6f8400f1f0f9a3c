"""The questions that are answered over HTTP: the body of each, and the type of its answer."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from serve import answers, questions


@dataclass(frozen=True)
class Kind:
    """A kind of question."""

    name: str
    summary: str
    body: type[questions.Question]
    answer: type[BaseModel]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "predict",
            "Predict every metric of a system at a load",
            questions.PredictQuestion,
            answers.PredictAnswer,
        ),
        Kind(
            "size",
            "Find the smallest number of engines for a load within busy and response targets",
            questions.SizeQuestion,
            answers.SizeAnswer,
        ),
        Kind(
            "max-rate",
            "Find the highest rate of the mix within targets, what limits it, and what would limit next",
            questions.MaxRateQuestion,
            answers.MaxRateAnswer,
        ),
        Kind("sweep", "Follow metrics over a range of any key", questions.SweepQuestion, answers.SweepAnswer),
        Kind(
            "compare",
            "Set two questions side by side, with the interval of each difference",
            questions.CompareQuestion,
            answers.CompareAnswer,
        ),
        Kind(
            "headroom",
            "Say until when a system fits, as its history trends",
            questions.HeadroomQuestion,
            answers.HeadroomAnswer,
        ),
        Kind(
            "explain",
            "Say what an answer is made of, and which assumptions its interval comes from",
            questions.ExplainQuestion,
            answers.ExplainAnswer,
        ),
    )
}
