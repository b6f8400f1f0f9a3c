"""Questions over HTTP, the catalogue of what can be asked, probes and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from model.capacity.values import QuestionError, plan_keys
from serve.answers import ForecastMsuAnswer, PlanAnswer
from serve.batch import MAX_BYTES, BatchAnswer, BatchQuestion, joined
from serve.champion import ChampionUnavailable
from serve.encoding import as_json
from serve.evidence import measured_points, recorded_msu, registered
from serve.guard import take
from serve.problems import Problem, document, of
from serve.questions import ABOUT_SYSTEMS, ForecastMsuQuestion, PlanQuestion, SystemQuestion
from serve.responses import json_response
from serve.schemas import Conditions, MeasuredPoints, Models, Readiness, Systems
from serve.service import Service
from serve.workers import Evaluation


def questions(service: Service) -> APIRouter:
    """``POST /v1/…`` for every kind of question."""
    router = APIRouter(tags=["questions"])
    for body in ABOUT_SYSTEMS:
        router.add_api_route(
            f"/v1/{body.kind}",
            _endpoint(service, body),
            methods=["POST"],
            response_model=body.answer,
            summary=body.summary,
            description=body.__doc__,
            operation_id=body.kind,
        )

    @router.post("/v1/batch", response_model=BatchAnswer, operation_id="batch")
    async def batch(body: BatchQuestion, request: Request) -> Response:
        """Answer many questions in one call, all with the same champion; each is answered or refused by itself.

        A client that goes is not answered any further.
        """
        take(service.tokens, request.state.grant, len(body.questions) - 1)
        workers = await service.champion.workers()
        replies: list[tuple[int, bytes]] = []
        size = 0
        for one in body.questions:
            if await request.is_disconnected():
                break
            try:
                if size > MAX_BYTES:
                    message = (
                        f"the previous answers have {MAX_BYTES} bytes; send the remaining questions in another call"
                    )
                    raise Problem(413, "batch-too-large", message)
                reply = await service.answer(one.question, workers)
                replies.append((reply.status, reply.body))
                size += len(reply.body)
            except Problem as refused:
                replies.append((refused.status, as_json(document(refused))))
        return json_response(joined(workers.model_version, replies))

    @router.post("/v1/forecast-msu", response_model=ForecastMsuAnswer, operation_id="forecast-msu")
    async def forecast_msu(question: ForecastMsuQuestion, _: Request) -> Response:
        """Forecast rolling four-hour MSU by LPAR and machine, from recorded MSU and the growth of the classes."""
        recorded = as_json(await asyncio.to_thread(recorded_msu, service.snapshot))
        arguments = question.arguments().removesuffix(b"}") + b',"recorded":' + recorded + b"}"
        return _response(await service.evaluate("forecast-msu", arguments))

    @router.post("/v1/plan", response_model=PlanAnswer, operation_id="plan")
    async def plan(question: PlanQuestion, _: Request) -> Response:
        """Read a plan of growth, as `--plan` of the command line takes it, into the keys of a question."""
        try:
            keys = plan_keys(question.plan)
        except QuestionError as refused:
            raise of(refused) from None
        return json_response(as_json({"at": keys}))

    return router


def _endpoint(service: Service, body: type[SystemQuestion]) -> Callable[..., Awaitable[Response]]:
    async def answer(question: SystemQuestion, _: Request) -> Response:
        return _response(await service.answer(question))

    answer.__annotations__["question"] = body
    return answer


def _response(reply: Evaluation) -> Response:
    return json_response(reply.body, reply.status)


def catalogue(service: Service) -> APIRouter:
    """Systems, conditions, measured points and models."""
    router = APIRouter(tags=["catalogue"])

    @router.get("/v1/systems", response_model=Systems, operation_id="systems")
    async def systems() -> Response:
        """List the systems that can be asked about, and every reference system with note on the alert."""
        return _response(await service.evaluate("systems"))

    @router.get("/v1/systems/{system:path}/conditions", response_model=Conditions, operation_id="conditions")
    async def conditions(system: str) -> Response:
        """List the conditions that a system of studies can be asked about, with the levels that were measured."""
        return _response(await service.evaluate("conditions", as_json({"system": system})))

    @router.get("/v1/systems/{system:path}/points", operation_id="points")
    async def points(system: str) -> MeasuredPoints:
        """List the measured points of a system, from the published snapshot."""
        if system not in (await service.champion.workers()).systems:
            raise Problem(404, "unknown-system", "unknown system; GET /v1/systems lists all systems", field="system")
        return await asyncio.to_thread(measured_points, service.snapshot, system)

    @router.get("/v1/models", response_model=Models, operation_id="models")
    async def models() -> Response:
        """Describe the model in service (version, data it was fitted on, validation errors), and earlier versions."""
        versions = await asyncio.to_thread(registered, service.settings.versions)
        return _response(await service.evaluate("models", versions.model_dump_json().encode()))

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
        parts = service.champion.workers(), service.snapshot.ready()
        champion, snapshot = await asyncio.gather(*parts, return_exceptions=True)
        for outcome in (champion, snapshot):
            if isinstance(outcome, BaseException) and not isinstance(outcome, Problem):
                raise outcome
        ready = not isinstance(champion, ChampionUnavailable)
        state = (service.champion.error or "ok") if ready else str(champion)
        checks = {"champion": state, "snapshot": "ok" if snapshot is None else str(snapshot)}
        return JSONResponse(Readiness(ready=ready, checks=checks).model_dump(), 200 if ready else 503)

    @router.get("/metrics", response_class=Response, operation_id="metrics")
    def metrics() -> Response:
        """Expose counters of the service, and gauges of the last recorded intervals, in Prometheus text format."""
        return Response(service.telemetry.exposition(), media_type=service.telemetry.content_type)

    return router
