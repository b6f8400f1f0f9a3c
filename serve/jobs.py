"""Simulations as jobs: each a process of its own that reports progress, ends in a result, and can be cancelled."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from serve.log import Log
from serve.problems import Problem
from serve.simulating import simulate
from serve.workers import CONTEXT, received

log = Log()

RUNNING_AT_ONCE = 1
MAX_WAITING = 16
MAX_KEPT = 64
MAX_SECONDS = 300.0
ENDED = ("done", "refused", "failed", "cancelled")


@dataclass
class Job:
    """A simulation: its question and owner, its progress and its result."""

    kind: str
    question: dict[str, Any]
    owner: str | None
    bundle: bytes
    job: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: str = "queued"
    progress: float = 0.0
    submitted_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    ended_at: str | None = None
    result: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    task: asyncio.Task[None] | None = None

    def document(self) -> dict[str, Any]:
        """The job as it is reported."""
        fields = ("job", "kind", "question", "state", "progress", "submitted_at", "ended_at", "result", "problem")
        return {name: getattr(self, name) for name in fields}

    def end(self, state: str) -> None:
        """Record the end, and drop what only a running job needs."""
        self.state, self.ended_at, self.bundle = state, datetime.now(UTC).isoformat(), b""


class Jobs:
    """Jobs in the order they were submitted; the oldest that have ended are forgotten."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._slot: asyncio.Semaphore | None = None

    def submit(self, job: Job) -> Job:
        """Queue a job. Raises a 429 problem when too many wait."""
        waiting = [one for one in self._jobs.values() if one.state not in ENDED]
        if len(waiting) >= MAX_WAITING:
            detail = f"{len(waiting)} simulations are waiting; cancel one, or try again later"
            raise Problem(429, "too-many-jobs", detail, {"Retry-After": "30"})
        ended = [name for name, one in self._jobs.items() if one.state in ENDED]
        for old in ended[: max(0, len(self._jobs) - MAX_KEPT + 1)]:
            del self._jobs[old]
        self._slot = self._slot or asyncio.Semaphore(RUNNING_AT_ONCE)
        self._jobs[job.job] = job
        job.task = asyncio.create_task(self._run(job, self._slot))
        return job

    def owned(self, name: str, owner: str | None, everyone: bool) -> Job:
        """A job of this owner, or of anyone. Raises a 404 problem."""
        job = self._jobs.get(name)
        if job is None or not (everyone or job.owner == owner):
            raise Problem(404, "unknown-job", "no such job, or its result was deleted", field="job")
        return job

    def listed(self, owner: str | None, everyone: bool) -> list[dict[str, Any]]:
        """The jobs of this owner, or of everyone, the latest first and without their results."""
        jobs = [job for job in self._jobs.values() if everyone or job.owner == owner]
        return [{**job.document(), "result": None} for job in reversed(jobs)]

    async def forget(self, job: Job) -> None:
        """Take a job out, and end it if it has not ended."""
        self._jobs.pop(job.job, None)
        if job.state not in ENDED and job.task is not None:
            job.task.cancel()
            await asyncio.wait([job.task])

    async def close(self) -> None:
        """End all of them."""
        for job in list(self._jobs.values()):
            await self.forget(job)

    async def _run(self, job: Job, slot: asyncio.Semaphore) -> None:
        try:
            async with slot:
                job.state = "running"
                async with asyncio.timeout(MAX_SECONDS):
                    await self._simulated(job)
        except TimeoutError:
            detail = f"the simulation took more than {MAX_SECONDS:g} s: request fewer transactions or less precision"
            job.problem = {"field": "", "message": detail}
            job.end("refused")
        except asyncio.CancelledError:
            job.end("cancelled")
        except Exception:
            log.exception("job_failed", job=job.job)
            job.end("failed")
        log.info("job", job=job.job, kind=job.kind, state=job.state, token=job.owner)

    async def _simulated(self, job: Job) -> None:
        pipe, theirs = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=simulate, args=(theirs, job.kind, job.question, job.bundle), daemon=True)
        try:
            with theirs:
                await asyncio.to_thread(process.start)
            while job.state not in ENDED:
                self._update(job, await received(pipe))
        except EOFError:
            log.error("job_failed", job=job.job)
            detail = "the simulation ended without a result, because it needed too much memory or failed"
            job.problem = {"field": "", "message": detail}
            job.end("failed")
        finally:
            pipe.close()
            if process.pid and process.is_alive():
                process.kill()

    def _update(self, job: Job, message: dict[str, Any]) -> None:
        if "progress" in message:
            job.progress = max(job.progress, message["progress"])
        elif "result" in message:
            job.result, job.progress = message["result"], 1.0
            job.end("done")
        else:
            job.problem = message["refused"]
            job.end("refused")
