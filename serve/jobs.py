"""Simulations as jobs: each a process of its own that reports progress, ends in a result, and can be cancelled."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from serve.log import Log
from serve.problems import Problem

log = Log()

RUNNING_AT_ONCE = 1
MOST_WAITING = 16
MOST_KEPT = 64
MAX_SECONDS = 300.0
ENDED = ("done", "refused", "failed", "cancelled")
# A line of the simulation's output holds its whole result.
MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass
class Job:
    """A simulation: what was asked by whom, how far it is, and what came of it."""

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
        """Let go of what only a running job needs."""
        self.state, self.ended_at, self.bundle = state, datetime.now(UTC).isoformat(), b""


class Jobs:
    """Jobs in the order they were submitted; the oldest that have ended are forgotten."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._turn: asyncio.Semaphore | None = None

    def submit(self, job: Job) -> Job:
        """Take a job on. Raises a 429 problem when too many wait."""
        waiting = [one for one in self._jobs.values() if one.state not in ENDED]
        if len(waiting) >= MOST_WAITING:
            detail = f"{len(waiting)} simulations are waiting already; cancel one, or ask again later"
            raise Problem(429, "too-many-jobs", detail, {"Retry-After": "30"})
        ended = [name for name, one in self._jobs.items() if one.state in ENDED]
        for old in ended[: max(0, len(self._jobs) - MOST_KEPT + 1)]:
            del self._jobs[old]
        self._turn = self._turn or asyncio.Semaphore(RUNNING_AT_ONCE)
        self._jobs[job.job] = job
        job.task = asyncio.create_task(self._play(job, self._turn))
        return job

    def owned(self, name: str, owner: str | None, everyone: bool) -> Job:
        """A job of this owner, or of anyone. Raises a 404 problem."""
        job = self._jobs.get(name)
        if job is None or not (everyone or job.owner == owner):
            raise Problem(404, "unknown-job", "there is no such job, or it has been forgotten", field="job")
        return job

    def listed(self, owner: str | None, everyone: bool) -> list[dict[str, Any]]:
        """The jobs of this owner, or of everyone, the latest first and without their results."""
        own = [job for job in self._jobs.values() if everyone or job.owner == owner]
        return [{**job.document(), "result": None} for job in reversed(own)]

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

    async def _play(self, job: Job, turn: asyncio.Semaphore) -> None:
        try:
            async with turn:
                job.state = "running"
                async with asyncio.timeout(MAX_SECONDS):
                    await self._simulated(job)
        except TimeoutError:
            detail = f"the simulation took more than {MAX_SECONDS:g} s: ask for fewer transactions or less precision"
            job.problem = {"field": "", "message": detail}
            job.end("refused")
        except asyncio.CancelledError:
            job.end("cancelled")
        except Exception:
            log.exception("job_failed", job=job.job)
            job.end("failed")
        log.info("job", job=job.job, kind=job.kind, state=job.state, token=job.owner)

    async def _simulated(self, job: Job) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "serve.simulating",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
        )
        assert process.stdin and process.stdout and process.stderr
        said = asyncio.create_task(process.stderr.read())
        try:
            bundle = orjson.Fragment(job.bundle)
            process.stdin.write(orjson.dumps({"kind": job.kind, "question": job.question, "bundle": bundle}))
            await process.stdin.drain()
            process.stdin.close()
            async for line in process.stdout:
                self._heard(job, orjson.loads(line))
            await process.wait()
            if job.state not in ENDED:
                log.error("job_failed", job=job.job, code=process.returncode, said=(await said).decode()[-2000:])
                detail = "the simulation ended without a result: it needed too much memory, or failed"
                job.problem = {"field": "", "message": detail}
                job.end("failed")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            said.cancel()

    def _heard(self, job: Job, message: dict[str, Any]) -> None:
        if "progress" in message:
            job.progress = max(job.progress, message["progress"])
        elif "result" in message:
            job.result, job.progress = message["result"], 1.0
            job.end("done")
        else:
            job.problem = message["refused"]
            job.end("refused")
