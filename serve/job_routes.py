"""Simulations over HTTP: submit, follow and cancel."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from serve.encoding import as_json
from serve.job_types import JobList, ReplayQuestion, SimulateQuestion, SimulationJob
from serve.jobs import Job
from serve.problems import Problem
from serve.questions import Question
from serve.responses import json_response
from serve.service import Service


def jobs(service: Service) -> APIRouter:
    """``POST /v1/simulate`` and ``/v1/replay``, and the jobs they make."""
    router = APIRouter(tags=["simulations"])

    async def submitted(kind: str, question: Question, request: Request, bundle: bytes = b"{}") -> Response:
        body = question.model_dump(exclude_none=True)
        job = service.jobs.submit(Job(kind, body, _owner(request), bundle))
        return json_response(as_json(job.document()), 202, {"Location": f"/v1/jobs/{job.job}"})

    @router.post("/v1/simulate", status_code=202, response_model=SimulationJob, operation_id="simulate")
    async def simulate(question: SimulateQuestion, request: Request) -> Response:
        """Simulate the calibrated network of a system at a load. The answer is a job to be followed."""
        part = await service.evaluate("simulation", _load(question))
        if part.status != 200:
            return json_response(part.body, part.status)
        return await submitted("simulate", question, request, part.body)

    @router.post("/v1/replay", status_code=202, response_model=SimulationJob, operation_id="replay")
    async def replay(question: ReplayQuestion, request: Request) -> Response:
        """Replay recorded transactions through a described or calibrated network. The answer is a job to follow."""
        if (question.network is None) == (question.system is None):
            raise Problem(422, "invalid-request", "give either a network or a system", field="network")
        if question.system is None:
            return await submitted("replay", question, request)
        network = await service.evaluate("network", _load(question))
        if network.status != 200:
            return json_response(network.body, network.status)
        return await submitted("replay", question, request, network.body)

    @router.get("/v1/jobs", response_model=JobList, operation_id="jobs")
    async def listed(request: Request) -> Response:
        """List simulations, the latest first, without their results."""
        return json_response(as_json({"jobs": service.jobs.listed(_owner(request), _everyone(request))}))

    @router.get("/v1/jobs/{job}", response_model=SimulationJob, operation_id="job")
    async def follow(job: str, request: Request) -> Response:
        """Say how far a simulation is, and what came of it."""
        return json_response(as_json(service.jobs.owned(job, _owner(request), _everyone(request)).document()))

    @router.delete("/v1/jobs/{job}", response_model=SimulationJob, operation_id="cancel")
    async def cancel(job: str, request: Request) -> Response:
        """Forget a simulation, and cancel it if it has not ended."""
        cancelled = service.jobs.owned(job, _owner(request), _everyone(request))
        await service.jobs.forget(cancelled)
        return json_response(as_json(cancelled.document()))

    return router


def _load(question: SimulateQuestion | ReplayQuestion) -> bytes:
    return as_json(question.model_dump(include={"system", "at"}, exclude_none=True))


def _owner(request: Request) -> str | None:
    grant = request.state.grant
    return grant.name if grant else None


def _everyone(request: Request) -> bool:
    grant = request.state.grant
    return grant is None or grant.may("admin")
