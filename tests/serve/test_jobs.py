"""How many simulations wait and are remembered, and whose they are."""

import asyncio

import pytest

from serve import jobs
from serve.problems import Problem


@pytest.mark.parametrize("submitted", [jobs.MAX_KEPT // 2 + 8, jobs.MAX_KEPT + 3])
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
    assert kept == list(reversed(range(submitted)))[: jobs.MAX_KEPT]


@pytest.fixture
def endless(monkeypatch):
    """Simulations that do not end by themselves."""
    monkeypatch.setattr(jobs.Jobs, "_simulated", lambda *_: asyncio.Event().wait())


def test_no_more_wait_than_there_is_room_for_until_one_is_cancelled(endless):
    async def play() -> None:
        line = jobs.Jobs()
        waiting = [line.submit(jobs.Job("simulate", {}, None, {})) for _ in range(jobs.MAX_WAITING)]
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


NETWORK = """
[[stations]]
name = "cp"
servers = {servers}
[[classes]]
name = "web"
arrivals = {{ rate_per_s = 500 }}
route = [{{ visit = "cp", service = {{ mean_us = {mean_us} }}, count = {count} }}]
"""


def outcome(network: str) -> jobs.Job:
    """What becomes of a replay of two transactions."""
    question = {"network": network, "seed": 1, "transactions": {"arrival": [0.0, 0.1], "cp_us": [900.0, 1100.0]}}

    async def play() -> jobs.Job:
        line = jobs.Jobs()
        job = line.submit(jobs.Job("replay", question, None, b"{}"))
        await job.task
        return job

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("network", "why"),
    [
        ("a = " + "[" * 20_000, "nested"),
        (NETWORK.format(servers="9" * 400, mean_us=1000, count=1), "no number in a network is beyond"),
        (NETWORK.format(servers=1, mean_us=1e300, count=1), "no number in a network is beyond"),
        (NETWORK.format(servers=10**9, mean_us=1000, count=1), "servers must be at most"),
    ],
)
def test_a_hostile_network_is_refused_with_the_reason(network, why):
    job = outcome(network)
    assert (job.state, job.problem["field"]) == ("refused", "network")
    assert why in job.problem["message"]


def test_a_simulation_that_takes_too_long_is_ended_and_refused(monkeypatch):
    monkeypatch.setattr(jobs, "MAX_SECONDS", 5.0)
    job = outcome(NETWORK.format(servers=1, mean_us=1, count=1e12))
    assert job.state == "refused" and "took more than 5 s" in job.problem["message"]
