"""A client of the service: every question as a method, every answer typed.

::

    from serve.client import Client

    with Client("http://127.0.0.1:8321", token="…") as etalon:
        answer = etalon.predict("cics53-18cp", {"etr_tps": 110560.9})
        print(answer.outputs[0].value, answer.bottleneck.resource)

A client keeps one connection and is for one thread.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError

from serve import answers
from serve.batch import BatchAnswer
from serve.job_types import JobList, SimulationJob
from serve.questions import SystemQuestion
from serve.schemas import Conditions, MeasuredPoints, Models, ProblemDocument, Systems

At = Mapping[str, float | str]
MaxResponse = float | Mapping[str, float] | None
A = TypeVar("A", bound=BaseModel)
ENDED = ("done", "refused", "failed", "cancelled")


class Refused(Exception):
    """The service refused: ``problem`` says why, in which field, and what would do."""

    def __init__(self, problem: ProblemDocument) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Client:
    """Questions to one service.

    Every method raises :class:`Refused` when the service does, and OSError when it cannot be reached.
    """

    def __init__(self, address: str, token: str | None = None, timeout_s: float = 60.0) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"address must begin with http:// or https:// and name a host (got {address!r})")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout_s)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, question: SystemQuestion) -> Any:
        """The answer to a question of any kind, such as ``PredictQuestion(system="shop")``, as its type of answer."""
        given = question.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self._typed("POST", f"/v1/{question.kind}", question.answer, given)

    def predict(self, system: str, at: At | None = None) -> answers.PredictAnswer:
        """Every metric of a system at a load."""
        return self._ask("/v1/predict", answers.PredictAnswer, system=system, at=at)

    def size(
        self,
        system: str,
        at: At | None = None,
        *,
        max_busy_pct: float | None = None,
        max_response_ms: MaxResponse = None,
        machines: Sequence[str] | None = None,
    ) -> answers.SizeAnswer:
        """The smallest number of engines for a load within targets, here and on each of ``machines``."""
        targets = {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms, "machines": machines}
        return self._ask("/v1/size", answers.SizeAnswer, system=system, at=at, **targets)

    def max_rate(
        self, system: str, at: At | None = None, *, max_busy_pct: float = 100.0, max_response_ms: MaxResponse = None
    ) -> answers.MaxRateAnswer:
        """The highest rate within targets, what limits it, and what would limit next."""
        targets = {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms}
        return self._ask("/v1/max-rate", answers.MaxRateAnswer, system=system, at=at, **targets)

    def headroom(
        self, system: str, at: At | None = None, *, max_busy_pct: float = 90.0, max_response_ms: MaxResponse = None
    ) -> answers.HeadroomAnswer:
        """The dates at which targets are crossed."""
        targets = {"max_busy_pct": max_busy_pct, "max_response_ms": max_response_ms}
        return self._ask("/v1/headroom", answers.HeadroomAnswer, system=system, at=at, **targets)

    def sweep(
        self,
        system: str,
        key: str,
        first: float,
        last: float,
        steps: int | None = None,
        *,
        at: At | None = None,
        metrics: Sequence[str] = (),
    ) -> answers.SweepAnswer:
        """Metrics over a range of a key."""
        span = {"key": key, "from": first, "to": last, "steps": steps}
        return self._ask("/v1/sweep", answers.SweepAnswer, system=system, at=at, metrics=list(metrics), **span)

    def compare(
        self, system: str, a: At | None = None, b: At | None = None, *, other: str | None = None
    ) -> answers.CompareAnswer:
        """Question b against question a."""
        return self._ask("/v1/compare", answers.CompareAnswer, system=system, a=a, b=b, other=other)

    def explain(self, system: str, at: At | None = None) -> answers.ExplainAnswer:
        """What an answer is made of."""
        return self._ask("/v1/explain", answers.ExplainAnswer, system=system, at=at)

    def forecast_msu(
        self, system: str | None = None, *, at: At | None = None, weeks: int = 52
    ) -> answers.ForecastMsuAnswer:
        """Rolling four-hour MSU to come, by LPAR and machine."""
        return self._ask("/v1/forecast-msu", answers.ForecastMsuAnswer, system=system, at=at, weeks=weeks)

    def plan(self, text: str) -> answers.PlanAnswer:
        """The keys of ``at`` that a plan of growth (TOML) stands for."""
        return self._ask("/v1/plan", answers.PlanAnswer, plan=text)

    def batch(self, questions: Sequence[tuple[str, Mapping[str, Any]]]) -> BatchAnswer:
        """Many questions, each a kind and its body, in one call."""
        items = [{"kind": kind, "question": body} for kind, body in questions]
        return self._ask("/v1/batch", BatchAnswer, questions=items)

    def simulate(self, system: str, at: At | None = None, **options: Any) -> SimulationJob:
        """Begin a simulation of a system; ``options`` as POST /v1/simulate lists them. :meth:`wait` for its result."""
        return self._ask("/v1/simulate", SimulationJob, system=system, at=at, **options)

    def replay(
        self,
        transactions: Mapping[str, Sequence[Any]],
        *,
        network: str | None = None,
        system: str | None = None,
        at: At | None = None,
        seed: int = 1,
    ) -> SimulationJob:
        """Begin a replay of recorded transactions, columns by name, through a network in TOML or a calibrated one."""
        columns = {name: list(values) for name, values in transactions.items()}
        through = {"network": network, "system": system, "at": at}
        return self._ask("/v1/replay", SimulationJob, transactions=columns, seed=seed, **through)

    def job(self, name: str) -> SimulationJob:
        """How far a simulation is."""
        return self._typed("GET", f"/v1/jobs/{quote(name, safe='')}", SimulationJob)

    def jobs(self) -> JobList:
        """All simulations, the latest first."""
        return self._typed("GET", "/v1/jobs", JobList)

    def cancel(self, name: str) -> SimulationJob:
        """Forget a simulation, and end it if it has not ended."""
        return self._typed("DELETE", f"/v1/jobs/{quote(name, safe='')}", SimulationJob)

    def wait(self, job: SimulationJob, every_s: float = 0.2) -> SimulationJob:
        """The simulation when it has ended."""
        while job.state not in ENDED:
            time.sleep(every_s)
            job = self.job(job.job)
        return job

    def systems(self) -> Systems:
        """What can be asked about."""
        return self._typed("GET", "/v1/systems", Systems)

    def conditions(self, system: str) -> Conditions:
        """The conditions that a system of studies can be asked about."""
        return self._typed("GET", f"/v1/systems/{quote(system, safe='')}/conditions", Conditions)

    def points(self, system: str) -> MeasuredPoints:
        """The measured points of a system."""
        return self._typed("GET", f"/v1/systems/{quote(system, safe='')}/points", MeasuredPoints)

    def models(self) -> Models:
        """The model in service."""
        return self._typed("GET", "/v1/models", Models)

    def post(self, path: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer at an address as plain JSON."""
        answer: dict[str, Any] = json.loads(self._send("POST", path, question))
        return answer

    def _ask(self, path: str, kind: type[A], **question: Any) -> A:
        given = {key: value for key, value in question.items() if value is not None}
        return self._typed("POST", path, kind, given)

    def _typed(self, method: str, path: str, kind: type[A], question: Mapping[str, Any] | None = None) -> A:
        return kind.model_validate_json(self._send(method, path, question))

    def _send(self, method: str, path: str, question: Mapping[str, Any] | None = None) -> bytes:
        body = None if question is None else json.dumps(question).encode()
        try:
            response = self._exchange(method, path, body)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # A connection that was silent for a while has been closed by the service.
            self._connection.close()
            response = self._exchange(method, path, body)
        content = response.read()
        if response.status < 400:
            return content
        try:
            problem = ProblemDocument.model_validate_json(content)
        except ValidationError:
            problem = ProblemDocument(
                type="about:blank", title=response.reason, status=response.status, detail=f"{response.status} at {path}"
            )
        raise Refused(problem)

    def _exchange(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        self._connection.request(method, path, body, self._headers)
        return self._connection.getresponse()
