"""How many simulations are remembered."""

import asyncio

import pytest

from serve import jobs


@pytest.mark.parametrize("submitted", [jobs.MOST_KEPT // 2 + 8, jobs.MOST_KEPT + 3])
def test_the_oldest_that_have_ended_are_forgotten_and_no_others(monkeypatch, submitted):
    async def simulated(self, job):
        job.end("done")

    async def play() -> list[str]:
        line = jobs.Jobs()
        for number in range(submitted):
            job = line.submit(jobs.Job("simulate", {"number": number}, None, {}))
            assert job.task is not None
            await job.task
        return [job["question"]["number"] for job in line.listed(None, everyone=True)]

    monkeypatch.setattr(jobs.Jobs, "_simulated", simulated)
    kept = asyncio.run(play())
    assert kept == list(reversed(range(submitted)))[: jobs.MOST_KEPT]
