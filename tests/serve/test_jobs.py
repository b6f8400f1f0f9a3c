"""How many simulations wait and are remembered, and whose they are."""

import asyncio

import pytest

from serve import jobs
from serve.problems import Problem


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


@pytest.fixture
def endless(monkeypatch):
    """Simulations that do not end by themselves."""
    monkeypatch.setattr(jobs.Jobs, "_simulated", lambda *_: asyncio.Event().wait())


def test_no_more_wait_than_there_is_room_for_until_one_is_cancelled(endless):
    async def play() -> None:
        line = jobs.Jobs()
        waiting = [line.submit(jobs.Job("simulate", {}, None, {})) for _ in range(jobs.MOST_WAITING)]
        with pytest.raises(Problem) as refused:
            line.submit(jobs.Job("simulate", {}, None, {}))
        assert refused.value.status == 429
        await line.forget(waiting[0])
        line.submit(jobs.Job("simulate", {}, None, {}))
        await line.close()

    asyncio.run(play())


def test_a_job_is_its_owners_and_of_those_who_may_see_all(endless):
    async def play() -> None:
        line = jobs.Jobs()
        job = line.submit(jobs.Job("simulate", {}, "one", {}))
        for owner, everyone in (("one", False), ("other", True)):
            assert line.owned(job.job, owner, everyone) is job
            assert [listed["job"] for listed in line.listed(owner, everyone)] == [job.job]
        assert line.listed("other", everyone=False) == []
        with pytest.raises(Problem) as refused:
            line.owned(job.job, "other", everyone=False)
        assert refused.value.status == 404
        await line.close()

    asyncio.run(play())
