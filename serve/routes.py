"""Questions over HTTP, what there is to ask about, and whether the service is well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from model.capacity.questions import askable
from serve import msu
from serve.answering import KINDS, Kind
from serve.answers import ForecastMsuAnswer
from serve.batch import BatchAnswer, BatchQuestion, answered, joined
from serve.catalogue import describe, reference_systems
from serve.champion import ChampionUnavailable
from serve.encoding import as_json, json_response
from serve.evidence import measured_points
from serve.guard import take
from serve.problems import Problem
from serve.questions import ForecastMsuQuestion
from serve.schemas import MeasuredPoints, Models, Readiness, Systems
from serve.service import Service
from serve.snapshot import SnapshotUnavailable


class StrictRequest(Request):
    """A request whose body is JSON and nothing else: no NaN, no half of a surrogate pair, no endless nesting."""

    async def json(self) -> Any:
        """The body; raises ``json.JSONDecodeError``."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, over a strict request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


def questions(service: Service) -> APIRouter:
    """``POST /v1/…`` for every kind of question."""
    router = APIRouter(route_class=StrictRoute, tags=["questions"])
    for kind in KINDS.values():
        router.add_api_route(
            f"/v1/{kind.name}",
            _answering(service, kind),
            methods=["POST"],
            response_model=kind.answer,
            summary=kind.summary,
            description=kind.body.__doc__,
            operation_id=kind.name,
        )

    @router.post("/v1/batch", response_model=BatchAnswer, operation_id="batch")
    async def batch(asked: BatchQuestion, request: Request) -> Response:
        """Answer many questions in one call, all with the same champion; each is answered or refused by itself."""
        take(service.tokens, request.state.grant, len(asked.questions) - 1)
        bundle = await service.champion.bundle()
        evaluate = partial(service.evaluated, bundle)
        items = [await service.workers.run(answered, one, evaluate) for one in asked.questions]
        return json_response(joined(bundle, items))

    @router.post("/v1/forecast-msu", response_model=ForecastMsuAnswer, operation_id="forecast-msu")
    async def forecast_msu(question: ForecastMsuQuestion) -> Response:
        """Forecast rolling four-hour MSU by LPAR and machine, from recorded MSU and the growth of the classes."""
        bundle = await service.champion.bundle()
        found = await service.workers.run(msu.forecast, bundle, service.snapshot, question)
        return json_response(as_json(found))

    return router


def _answering(service: Service, kind: Kind) -> Callable[..., Awaitable[Response]]:
    async def answered(question: Any) -> Response:
        return json_response(await service.answer(kind, question))

    answered.__annotations__["question"] = kind.body
    return answered


def catalogue(service: Service) -> APIRouter:
    """What there is to ask about, and what it rests on."""
    router = APIRouter(tags=["catalogue"])

    @router.get("/v1/systems", operation_id="systems")
    async def systems() -> Systems:
        """List the systems that can be asked about, and every reference system with what is known of it."""
        bundle = await service.champion.bundle()
        return Systems(
            model_version=str(bundle["model_version"]),
            systems=[describe(name, bundle["systems"][name]) for name in sorted(bundle["systems"])],
            reference_systems=await service.workers.run(reference_systems, askable(bundle)),
        )

    @router.get("/v1/systems/{system}/points", operation_id="points")
    async def points(system: str) -> MeasuredPoints:
        """List the measured points of a system, from the published snapshot."""
        if system not in (await service.champion.bundle())["systems"]:
            raise Problem(404, "unknown-system", "no such system; GET /v1/systems lists them", field="system")
        return await service.workers.run(measured_points, service.snapshot, system)

    @router.get("/v1/models", operation_id="models")
    async def models() -> Models:
        """Describe the model in service: version, data it was fitted on, validation errors."""
        bundle = await service.champion.bundle()
        about = {key: value for key, value in bundle.items() if key not in ("systems", "conditions")}
        return Models(models=[{"role": "champion", **about, "systems": sorted(askable(bundle))}])

    return router


def operations(service: Service) -> APIRouter:
    """Probes and metrics."""
    router = APIRouter(tags=["operations"])

    @router.get("/healthz", operation_id="healthz")
    async def healthz() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    @router.get("/readyz", responses={503: {"model": Readiness}}, response_model=Readiness, operation_id="readyz")
    async def readyz() -> Response:
        """Say whether questions can be answered, and what is missing if not."""
        checks: dict[str, str] = {}
        try:
            await service.champion.bundle()
            checks["champion"] = service.champion.error or "ok"
            ready = True
        except ChampionUnavailable as problem:
            checks["champion"], ready = str(problem), False
        try:
            await service.snapshot.ready()
            checks["snapshot"] = "ok"
        except SnapshotUnavailable as problem:
            checks["snapshot"] = str(problem)
        return JSONResponse(Readiness(ready=ready, checks=checks).model_dump(), 200 if ready else 503)

    @router.get("/metrics", response_class=Response, operation_id="metrics")
    async def metrics() -> Response:
        """Expose counters in Prometheus text format."""
        return Response(service.telemetry.exposition(), media_type=service.telemetry.content_type)

    return router
