"""Many questions in one call, all answered by the same champion."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from serve.answers import Part
from serve.encoding import as_json
from serve.questions import ABOUT_SYSTEMS, Question, SystemQuestion
from serve.schemas import ProblemDocument

MAX_QUESTIONS = 200
# Answers of one call are held until the last is there.
MAX_BYTES = 32 * 1024 * 1024


def _with_kind(body: type[SystemQuestion]) -> type[Question]:
    """A question with its kind beside it."""
    name: Any = Literal[body.kind]
    return create_model(f"Batch{body.__name__}", __base__=Question, kind=(name, ...), question=(body, ...))


AnyQuestion: Any = reduce(or_, [_with_kind(body) for body in ABOUT_SYSTEMS])


class BatchQuestion(Question):
    """Questions of any kind, each with the body it has alone."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "questions": [
                        {"kind": "predict", "question": {"system": "cics53-18cp"}},
                        {"kind": "max-rate", "question": {"system": "cics53-18cp", "max_busy_pct": 90}},
                    ]
                }
            ]
        }
    )

    questions: list[Annotated[AnyQuestion, Field(discriminator="kind")]] = Field(min_length=1, max_length=MAX_QUESTIONS)


class BatchItem(Part):
    """The answer to one question, or why it is refused."""

    status: int = Field(description="the answer to this question on its own")
    answer: reduce(or_, [body.answer for body in ABOUT_SYSTEMS]) | None = None  # type: ignore[valid-type]
    problem: ProblemDocument | None = None


class BatchAnswer(Part):
    """The answers in the order of the questions."""

    model_version: str
    answers: list[BatchItem]


def joined(model_version: str, replies: Iterable[tuple[int, bytes]]) -> bytes:
    """The whole answer as JSON, from the status and body of every reply."""
    items = []
    for status, body in replies:
        items.append(b'{"status":%d,"%b":%b}' % (status, b"answer" if status == 200 else b"problem", body))
    return b'{"model_version":%b,"answers":[%b]}' % (as_json(model_version), b",".join(items))
