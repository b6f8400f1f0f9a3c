"""Simulations over HTTP: submitted, followed, cancelled."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from model.capacity.asked import compiled, understood
from model.capacity.questions import system_entry
from serve.encoding import as_json, json_response
from serve.job_types import JobList, ReplayQuestion, SimulateQuestion, SimulationJob
from serve.jobs import Job
from serve.questions import Question, keys
from serve.routes import StrictRoute
from serve.service import Service


def jobs(service: Service) -> APIRouter:
    """``POST /v1/simulate`` and ``/v1/replay``, and the jobs they make."""
    router = APIRouter(route_class=StrictRoute, tags=["simulations"])

    async def submitted(kind: str, question: Question, request: Request, bundle: dict[str, Any]) -> Response:
        asked = question.model_dump(exclude_none=False)
        if "at" in asked:
            asked["at"] = keys(question.at)  # type: ignore[attr-defined]
        job = service.jobs.submit(Job(kind, asked, _owner(request), bundle))
        return json_response(as_json(job.document()), 202, {"Location": f"/v1/jobs/{job.job}"})

    @router.post("/v1/simulate", status_code=202, response_model=SimulationJob, operation_id="simulate")
    async def simulate(question: SimulateQuestion, request: Request) -> Response:
        """Simulate the calibrated network of a system at a load. The answer is a job to be followed."""
        bundle = await service.champion.bundle()
        entry = system_entry(bundle, question.system)
        await service.workers.run(lambda: understood(compiled(entry), keys(question.at)))
        part = {key: value for key, value in bundle.items() if key not in ("systems", "conditions")}
        return await submitted("simulate", question, request, {**part, "systems": {question.system: entry}})

    @router.post("/v1/replay", status_code=202, response_model=SimulationJob, operation_id="replay")
    async def replay(question: ReplayQuestion, request: Request) -> Response:
        """Replay recorded transactions through a described network. The answer is a job to be followed."""
        return await submitted("replay", question, request, {})

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
        """Cancel a simulation that has not ended."""
        found = service.jobs.owned(job, _owner(request), _everyone(request))
        await service.jobs.cancel(found)
        return json_response(as_json(found.document()))

    return router


def _owner(request: Request) -> str | None:
    grant = request.state.grant
    return grant.name if grant else None


def _everyone(request: Request) -> bool:
    grant = request.state.grant
    return grant is None or grant.may("admin")
