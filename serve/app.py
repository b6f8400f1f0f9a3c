"""The HTTP service: questions to the champion, evidence from the snapshot, and the planner's page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles

from serve import alert_routes, billing_routes, job_routes, problems, reading, responses, routes, saved_routes
from serve.bodies import Questions
from serve.encoding import as_json
from serve.examples import with_examples
from serve.guard import Boundary
from serve.pages import PAGE, SITES, Site, pages
from serve.responses import json_response
from serve.schemas import ProblemDocument
from serve.service import Service
from serve.settings import Settings
from serve.workers import Workers

PROBLEM: dict[str, Any] = {
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is not JSON", **PROBLEM},
    401: {"description": "The bearer token is missing or wrong", **PROBLEM},
    403: {"description": "The scope of the token does not include this request", **PROBLEM},
    413: {"description": "The body is too large", **PROBLEM},
    415: {"description": "The content type of the body is not application/json", **PROBLEM},
    422: {"description": "The question cannot be answered; the reply names the field and the remedy", **PROBLEM},
    429: {
        "description": "The token has used its requests of this minute, or too many jobs are waiting; see Retry-After",
        **PROBLEM,
    },
    503: {"description": "No champion or snapshot is available, or too many questions are waiting", **PROBLEM},
}


def create_app(settings: Settings) -> FastAPI:
    """The application over one state folder.

    Parameters
    ----------
    settings
        where champion and snapshot lie, who may ask, and by which names.
    """
    service = Service.over(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(
        lifespan=lifespan,
        title="Etalon",
        summary="Capacity answers for IBM Z systems, each with its interval, bottleneck and evidence.",
        version="1",
        docs_url=None,
        # Served from a cache below.
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The service measures itself, see `serve.telemetry`.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    responses.install(app)
    # The guard checks tokens; this puts them into the description.
    token = [
        Depends(HTTPBearer(auto_error=False, description="a token of `etalon token`, if the service requires one"))
    ]
    read = [*token, Depends(_refuse_unknown_parameters)]
    questions, jobs = routes.questions(service), job_routes.jobs(service)
    app.include_router(questions, dependencies=token, responses=REFUSALS)
    with_names = {**REFUSALS, 404: {"description": "No system, class or job has that name", **PROBLEM}}
    app.include_router(routes.catalogue(service), dependencies=read, responses=with_names)
    app.include_router(jobs, dependencies=read, responses=with_names)
    for part in (reading, billing_routes, alert_routes, saved_routes):
        app.include_router(part.router(service), dependencies=read, responses=with_names)
    app.include_router(routes.operations(service))
    app.include_router(pages(settings, service.tokens))
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    for site in SITES:
        app.mount(f"/{site}", Site(settings.home / site), name=site)
    app.add_middleware(Questions, routers=(questions, jobs))
    hosts = settings.allowed_hosts | {settings.host.lower()}
    app.add_middleware(Boundary, telemetry=service.telemetry, tokens=service.tokens, hosts=hosts)
    app.state.service = service

    @lru_cache(maxsize=1)
    def description(workers: Workers | None) -> tuple[dict[str, Any], bytes]:
        """The OpenAPI document, with examples about the systems of these workers, and its JSON."""
        document = with_examples(_described(app), workers)
        return document, as_json(document)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return json_response(description(service.champion.in_force)[1])

    app.openapi = lambda: description(service.champion.in_force)[0]  # type: ignore[method-assign]
    return app


def _refuse_unknown_parameters(request: Request) -> None:
    """Refuse a query parameter that the address does not take: a misspelt one would be ignored."""
    allowed = [field.alias for field in request.scope["route"].dependant.query_params]
    unknown = next((name for name in request.query_params if name not in allowed), None)
    if unknown is not None:
        message = f"{unknown}: unknown parameter; allowed: {', '.join(allowed) or 'none'}"
        raise problems.Problem(422, "invalid-request", message, field=unknown, allowed=allowed)


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schema of refusals, which no route returns as an answer."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        parts = document["components"]["schemas"]
        parts |= {**schema.pop("$defs"), "ProblemDocument": schema}
        for unused in ("HTTPValidationError", "ValidationError"):
            parts.pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema
