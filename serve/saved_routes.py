"""Addresses under ``/v1/saved``: questions that were saved under a name, with their answers night by night."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import state.saved
from serve import problems
from serve.encoding import as_json
from serve.log import Log
from serve.problems import Problem
from serve.questions import ABOUT_SYSTEMS
from serve.responses import json_response
from serve.service import Service
from state.files import StateDamaged
from state.saved import SavedQuestion

log = Log()
Kind = Literal[state.saved.KINDS]  # type: ignore[valid-type]
Named = Annotated[str, Path(max_length=64, description="name of a saved question")]
BODIES = {body.kind: body for body in ABOUT_SYSTEMS}


class Answer(BaseModel):
    """The answer on a night."""

    at: str = Field(description="UTC")
    model_version: str
    figures: dict[str, float | str | None] = Field(description="main figures by name")
    refused: str = Field(description="reason if there are no figures; else empty")


class Saved(BaseModel):
    """A question with a name."""

    name: str
    kind: Kind
    question: dict[str, Any] = Field(description="body of POST /v1/KIND")
    saved: str
    by: str
    answers: list[Answer] = Field(description="one per night, the latest last")


class AllSaved(BaseModel):
    """The saved questions."""

    questions: list[Saved]


class ToSave(BaseModel):
    """A question to save."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kind": "headroom", "question": {"system": "PRDA", "max_busy_pct": 90}}]},
    )

    kind: Kind
    question: dict[str, Any] = Field(description="body of POST /v1/KIND")


def router(service: Service) -> APIRouter:
    """The addresses over one state folder."""
    routes = APIRouter(tags=["saved questions"])
    home = service.settings.home

    def saved() -> dict[str, SavedQuestion]:
        try:
            return state.saved.peek(home)
        except (OSError, StateDamaged) as problem:
            log.error("saved_unreadable", problem=str(problem))
            detail = "the saved questions cannot be read; run `etalon doctor` for the reason"
            raise Problem(503, "saved-unreadable", detail) from None

    def of_name(name: str) -> SavedQuestion:
        try:
            return state.saved.question(saved(), name)
        except state.saved.SavedError as error:
            raise Problem(404, "unknown-name", str(error), field="name") from None

    @routes.get("/v1/saved")
    def questions() -> AllSaved:
        """List the saved questions with their answers night by night."""
        return AllSaved(questions=[Saved(**one.to_dict()) for one in saved().values()])

    @routes.put("/v1/saved/{name}")
    def save(name: Named, body: ToSave, request: Request) -> Saved:
        """Save a question under a name, in the place of one of that name; nights answer it from then on."""
        try:
            question = json.loads(BODIES[body.kind].model_validate(body.question).arguments())
        except ValidationError as error:
            raise problems.invalid(error.errors()) from None
        grant, now = request.state.grant, dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        one = SavedQuestion(name, body.kind, question, now, grant.name if grant else "")
        try:
            return Saved(**state.saved.save(home, one).to_dict())
        except state.saved.SavedError as error:
            raise Problem(422, "invalid-request", str(error), field="name") from None
        except OSError as problem:
            log.error("saved_unwritable", problem=str(problem))
            detail = "the service cannot write saved questions; the reason is in its log"
            raise Problem(503, "saved-unwritable", detail) from None

    @routes.delete("/v1/saved/{name}")
    def remove(name: Named) -> AllSaved:
        """Forget a saved question and its answers; the questions that are left."""
        of_name(name)
        state.saved.remove(home, name)
        return questions()

    @routes.get("/v1/saved/{name}/answer", response_model=dict[str, Any])
    async def answer(name: Named) -> Response:
        """Answer a saved question with the champion in force, as POST /v1/KIND does."""
        one = of_name(name)
        reply = await service.evaluate(one.kind, as_json(one.question))
        return json_response(reply.body, reply.status)

    return routes
