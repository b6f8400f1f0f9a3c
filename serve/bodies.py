"""Questions on the short way: from their bodies to what answers them, past the layers of the framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from serve.problems import Problem, invalid


class Questions:
    """ASGI middleware: a question is read by the type of its body alone and given to its endpoint, with the request.

    The signatures of these endpoints describe them. The framework would look for the route among all and solve its
    parameters anew for every request, which took most of the service's own time.
    """

    def __init__(self, app: ASGIApp, routers: Iterable[APIRouter]) -> None:
        self._app = app
        routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        self._routes = {
            route.path: (route, route.body_field.field_info.annotation) for route in routes if route.body_field
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a question; whatever else is asked goes on to the framework."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self._routes:
            await self._app(scope, receive, send)
            return
        scope["route"], body = self._routes[scope["path"]]
        request = Request(scope, receive)
        response = await scope["route"].endpoint(await _question(body, request), request)
        await response(scope, receive, send)


async def _question(body: Any, request: Request) -> BaseModel:
    """The question that a request holds, read strictly: no NaN, no half of a surrogate pair, no endless nesting.

    Raises a Problem for one that is no JSON, or not of that type.
    """
    content = (await request.receive())["body"]
    if not content:
        raise Problem(422, "invalid-request", "a JSON body is required", field="")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        message = "the content type must be application/json; send `Content-Type: application/json`"
        raise Problem(415, "not-json", message, {"Accept": "application/json"}, field="")
    try:
        question: BaseModel = body.model_validate(orjson.loads(content))
    except orjson.JSONDecodeError as error:
        message = f"the body is not JSON ({error.msg} at character {error.pos})"
        raise Problem(400, "malformed-json", message, field="") from None
    except ValidationError as error:
        raise invalid(error.errors()) from None
    return question
