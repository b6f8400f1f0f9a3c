"""The HTTP service: questions to the champion, evidence from the snapshot, and the planner's page."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from model.capacity import ask
from model.capacity.questions import askable
from serve import problems, reading
from serve.answers import (
    CompareAnswer,
    ExplainAnswer,
    HeadroomAnswer,
    MaxRateAnswer,
    PredictAnswer,
    SizeAnswer,
    SweepAnswer,
)
from serve.catalogue import describe, reference_systems
from serve.champion import Champion, ChampionUnavailable
from serve.evidence import measured_points
from serve.guard import SESSION_COOKIE, Boundary, TokenGuard, session_value
from serve.problems import Problem
from serve.questions import (
    CompareQuestion,
    ExplainQuestion,
    HeadroomQuestion,
    MaxRateQuestion,
    PredictQuestion,
    SizeQuestion,
    SweepQuestion,
    keys,
)
from serve.schemas import MeasuredPoints, Models, Readiness, Systems
from serve.settings import Settings
from serve.snapshot import Snapshot, SnapshotUnavailable
from serve.telemetry import Telemetry

PAGE = Path(__file__).parent / "page"
PROBLEM: dict[str, Any] = {"content": {problems.MEDIA_TYPE: {}}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is not JSON", **PROBLEM},
    401: {"description": "The bearer token is missing or wrong", **PROBLEM},
    413: {"description": "The body is too large", **PROBLEM},
    415: {"description": "The body is not declared to be JSON", **PROBLEM},
    422: {"description": "The question cannot be answered; the field and the remedy are named", **PROBLEM},
    503: {"description": "There is no champion yet", **PROBLEM},
}


def create_app(settings: Settings) -> FastAPI:
    """The application over one state folder.

    Parameters
    ----------
    settings
        where champion and snapshot lie, and the bearer token if there is one.
    """
    champion, snapshot = Champion(settings.champion), Snapshot(settings.snapshot)
    telemetry = Telemetry(champion, snapshot)
    token = settings.token.get_secret_value() if settings.token else None
    guard = TokenGuard(token)

    app = FastAPI(
        title="Etalon",
        summary="Capacity answers for IBM Z systems, each with its interval, bottleneck and evidence.",
        version="1",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    app.include_router(_questions(champion, snapshot, telemetry), dependencies=[Depends(guard)])
    app.include_router(reading.router(champion, snapshot, settings.quality), dependencies=[Depends(guard)])
    app.include_router(_operations(champion, snapshot, telemetry, guard))
    app.include_router(_pages(settings, token, guard))
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    app.add_middleware(Boundary, telemetry=telemetry)
    return app


def _questions(champion: Champion, snapshot: Snapshot, telemetry: Telemetry) -> APIRouter:
    router = APIRouter(responses=REFUSALS, tags=["questions"])
    Bundle = Annotated[dict[str, Any], Depends(champion.bundle)]

    @router.post("/v1/predict", response_model=PredictAnswer)
    def predict(question: PredictQuestion, bundle: Bundle) -> dict[str, Any]:
        """Predict every metric of a system at a load."""
        answer = ask.predict(bundle, question.system, keys(question.at)).to_dict()
        telemetry.answered(question.system, answer["extrapolated"])
        return answer

    @router.post("/v1/size", response_model=SizeAnswer)
    def size(question: SizeQuestion, bundle: Bundle) -> dict[str, Any]:
        """Find the smallest number of engines for a load at a busy and/or response target."""
        if question.max_busy_pct is None and question.max_response_ms is None:
            raise Problem(
                422,
                "invalid-request",
                "name at least one target: max_busy_pct, max_response_ms or both",
                field="max_busy_pct",
            )
        targets = {"max_busy_pct": question.max_busy_pct, "max_response_ms": question.max_response_ms}
        answer = ask.size(bundle, question.system, question.etr_tps, at=keys(question.at), **targets)
        telemetry.answered(question.system, answer["extrapolated"])
        return answer

    @router.post("/v1/max-rate", response_model=MaxRateAnswer)
    def max_rate(question: MaxRateQuestion, bundle: Bundle) -> dict[str, Any]:
        """Find the highest rate of the mix within targets, what limits it, and what would limit next."""
        return ask.max_rate(
            bundle,
            question.system,
            at=keys(question.at),
            max_busy_pct=question.max_busy_pct,
            max_response_ms=question.max_response_ms,
        )

    @router.post("/v1/sweep", response_model=SweepAnswer)
    def sweep(question: SweepQuestion, bundle: Bundle) -> dict[str, Any]:
        """Follow metrics over a range of any key."""
        values = ask.spaced(question.key, question.first, question.last, question.steps)
        at = keys(question.at)
        return ask.sweep(bundle, question.system, question.key, values, at=at, metrics=question.metrics)

    @router.post("/v1/compare", response_model=CompareAnswer)
    def compare(question: CompareQuestion, bundle: Bundle) -> dict[str, Any]:
        """Set two questions side by side, with the interval of each difference."""
        return ask.compare(bundle, question.system, keys(question.a), keys(question.b), other=question.other)

    @router.post("/v1/headroom", response_model=HeadroomAnswer)
    def headroom(question: HeadroomQuestion, bundle: Bundle) -> dict[str, Any]:
        """Say until when a system fits, as its history trends."""
        return ask.headroom(
            bundle,
            question.system,
            at=keys(question.at),
            max_busy_pct=question.max_busy_pct,
            max_response_ms=question.max_response_ms,
        )

    @router.post("/v1/explain", response_model=ExplainAnswer)
    def explain(question: ExplainQuestion, bundle: Bundle) -> dict[str, Any]:
        """Say what an answer is made of, and which assumptions its interval comes from."""
        return ask.explain(bundle, question.system, keys(question.at))

    @router.get("/v1/systems")
    def systems(bundle: Bundle) -> Systems:
        """List the systems that can be asked about, and every reference system with what is known of it."""
        return Systems(
            model_version=str(bundle["model_version"]),
            systems=[describe(name, bundle["systems"][name]) for name in sorted(bundle["systems"])],
            reference_systems=reference_systems(askable(bundle)),
        )

    @router.get("/v1/systems/{system}/points")
    def points(system: str, bundle: Bundle) -> MeasuredPoints:
        """List the measured points of a system, from the published snapshot."""
        if system not in bundle["systems"]:
            raise Problem(404, "unknown-system", f"no system {system!r}; GET /v1/systems lists them", field="system")
        return measured_points(snapshot, system)

    @router.get("/v1/models")
    def models(bundle: Bundle) -> Models:
        """Describe the model in service: version, data it was fitted on, validation errors."""
        about = {key: value for key, value in bundle.items() if key not in ("systems", "conditions")}
        return Models(models=[{"role": "champion", **about, "systems": sorted(askable(bundle))}])

    return router


def _operations(champion: Champion, snapshot: Snapshot, telemetry: Telemetry, guard: TokenGuard) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/healthz")
    def healthz() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    @router.get("/readyz", responses={503: {"model": Readiness}})
    def readyz() -> Response:
        """Say whether questions can be answered, and what is missing if not."""
        checks: dict[str, str] = {}
        try:
            champion.bundle()
            checks["champion"] = champion.error or "ok"
            ready = True
        except ChampionUnavailable as problem:
            checks["champion"], ready = str(problem), False
        try:
            snapshot.rows("SELECT 1")
            checks["snapshot"] = "ok"
        except SnapshotUnavailable as problem:
            checks["snapshot"] = str(problem)
        return JSONResponse(Readiness(ready=ready, checks=checks).model_dump(), 200 if ready else 503)

    @router.get("/metrics", dependencies=[Depends(guard)])
    def metrics() -> Response:
        """Expose counters in Prometheus text format."""
        return Response(telemetry.exposition(), media_type=telemetry.content_type)

    return router


def _pages(settings: Settings, token: str | None, guard: TokenGuard) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @router.get("/api")
    def api() -> FileResponse:
        return FileResponse(PAGE / "api.html")

    @router.get("/favicon.ico")
    def icon() -> FileResponse:
        return FileResponse(PAGE / "icon.svg", media_type="image/svg+xml")

    @router.post("/session", dependencies=[Depends(guard)])
    def session(request: Request) -> Response:
        # Links cannot carry a header: the page trades the token for a cookie that opens the report to a browser.
        response = Response(status_code=204)
        if token is not None:
            secure = request.url.scheme == "https"
            response.set_cookie(SESSION_COOKIE, session_value(token), httponly=True, samesite="strict", secure=secure)
        return response

    @router.get("/quality", dependencies=[Depends(guard)])
    def quality_root() -> RedirectResponse:
        return RedirectResponse("/quality/index.html", 307)

    @router.get("/quality/{path:path}", dependencies=[Depends(guard)])
    def quality(path: str) -> Response:
        folder = settings.quality.resolve()
        # No file's name holds the character NUL, and asking for one is refused by an error.
        wanted = (folder / (path.replace("\0", "\ufffd") or "index.html")).resolve()
        if wanted.is_relative_to(folder) and wanted.is_file():
            return FileResponse(wanted)
        if not path or path == "index.html":
            return HTMLResponse(
                "<!doctype html><title>No report</title><p>No data-quality report yet: run <code>etalon check</code>.",
                404,
            )
        raise Problem(404, "not-found", f"the data-quality report has no page {path}")

    return router
