"""Workers: one that ends, hangs or fails costs its own answer only, and none outlives its service."""

import asyncio
import os
import select
import signal

import pytest

from model.capacity import bundle as bundles
from pipelines import asking
from pipelines.home import Home
from serve import workers
from serve.problems import BundleRefused, Problem
from serve.workers import Workers
from tests.serve.conftest import processes

SHOP = b'{"system": "shop"}'


def idle(found: Workers) -> list[int]:
    return [worker.process.pid for worker in found._idle]


def ended(process: int) -> bool:
    """Whether a process ends in time; its descriptor becomes readable then."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 20.0)[0])
    finally:
        os.close(descriptor)


def with_workers(bundle, use, **settings):
    """What a coroutine function makes of the workers of a bundle, which are closed behind it."""

    async def used():
        found = await Workers.start(bundles.dumps(bundle).encode(), settings.get("max_workers", 2))
        try:
            return await use(found)
        finally:
            found.close()

    return asyncio.run(used())


def test_a_worker_killed_while_it_was_idle_costs_no_answer(bundle):
    async def use(found):
        for _ in range(3):
            os.kill(idle(found)[0], signal.SIGKILL)
            assert ended(idle(found)[0])
            assert (await found.evaluate("predict", SHOP)).status == 200

    with_workers(bundle, use)


def test_a_question_that_ends_its_process_is_refused_and_costs_no_other(bundle):
    async def use(found):
        deadly = [found.call(os.abort) for _ in range(2)]
        sound = [found.evaluate("predict", SHOP) for _ in range(6)]
        outcomes = await asyncio.gather(*deadly, *sound, return_exceptions=True)
        assert [one.status for one in outcomes] == [503] * 2 + [200] * 6
        assert "ended its process" in outcomes[0].detail

    with_workers(bundle, use)


def test_a_question_that_takes_too_long_is_refused_and_its_process_ends(bundle, monkeypatch):
    async def use(found):
        monkeypatch.setattr(workers, "ANSWER_SECONDS", 0.2)
        [process] = idle(found)
        with pytest.raises(Problem, match="took more than"):
            await found.call(signal.pause)
        assert ended(process)
        monkeypatch.undo()
        assert (await found.evaluate("predict", SHOP)).status == 200

    with_workers(bundle, use)


def test_a_worker_whose_question_nobody_waits_for_is_not_asked_again(bundle):
    async def use(found):
        [process] = idle(found)
        waiting = asyncio.create_task(found.call(signal.pause))
        while idle(found):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert ended(process) and (await found.evaluate("predict", SHOP)).status == 200

    with_workers(bundle, use)


def test_an_evaluation_that_fails_says_where_and_its_worker_goes_on(bundle):
    async def use(found):
        before = idle(found)
        with pytest.raises(RuntimeError, match=r"(?s)serve/answering.py.*KeyError: 'no such kind'"):
            await found.evaluate("no such kind", b"{}")
        assert (await found.evaluate("predict", SHOP)).status == 200
        assert idle(found) == before

    with_workers(bundle, use)


def test_no_more_questions_are_under_way_than_there_are_workers_and_no_more_wait_than_there_is_room_for(
    bundle, monkeypatch
):
    async def use(found):
        monkeypatch.setattr(workers, "MAX_WAITING", 8)
        outcomes = await asyncio.gather(*(found.evaluate("predict", SHOP) for _ in range(9)), return_exceptions=True)
        assert [one.status for one in outcomes] == [200] * 8 + [503]
        assert len(idle(found)) <= 2

    with_workers(bundle, use)


def test_a_worker_in_the_middle_of_an_answer_ends_after_it(bundle):
    async def use(found):
        [process] = idle(found)
        under_way = asyncio.create_task(found.evaluate("predict", SHOP))
        while idle(found):
            await asyncio.sleep(0)
        found.close()
        assert (await under_way).status == 200 and ended(process)

    with_workers(bundle, use)


def test_a_bundle_that_is_no_json_is_refused_in_words():
    with pytest.raises(BundleRefused, match="the bundle: "):
        asyncio.run(Workers.start(b"{", 1))


def test_a_trial_that_takes_too_long_is_refused_in_words(bundle, monkeypatch):
    monkeypatch.setattr(workers, "TRIAL_SECONDS", 0.0)
    with pytest.raises(BundleRefused, match="its test took more than"):
        asyncio.run(Workers.start(bundles.dumps(bundle).encode(), 1))


def test_a_question_of_a_batch_that_is_not_answered_costs_its_own_answer_only(client, monkeypatch):
    evaluate = Workers.evaluate

    async def refusing(self, kind, question, more=b"{}"):
        if kind == "explain":
            return await self.call(os.abort)
        return await evaluate(self, kind, question, more)

    monkeypatch.setattr(Workers, "evaluate", refusing)
    kinds = ("predict", "explain", "predict")
    found = client.ask("/v1/batch", {"questions": [{"kind": kind, "question": {"system": "shop"}} for kind in kinds]})
    assert found.status_code == 200
    answers = found.json()["answers"]
    assert [one["status"] for one in answers] == [200, 503, 200]
    assert answers[1]["problem"]["detail"].startswith("this question ended its process")


def test_a_fork_server_that_is_being_killed_costs_no_answer(bundle, monkeypatch):
    async def use(found):
        start, failures = workers._Worker.start, [ConnectionRefusedError(), EOFError()]

        async def failing(content, *, trial):
            if failures:
                raise failures.pop()
            return await start(content, trial=trial)

        monkeypatch.setattr(workers._Worker, "start", failing)
        [process] = idle(found)
        os.kill(process, signal.SIGKILL)
        assert ended(process)
        assert (await found.evaluate("predict", SHOP)).status == 200
        assert not failures

    with_workers(bundle, use)


@pytest.mark.parametrize("killed", ["workers", "fork server and workers"])
def test_a_running_service_answers_after_its_processes_are_killed_and_leaves_none_when_it_is(home, killed):
    with asking.service(Home(home)) as address:
        question = {"system": "shop", "at": {"etr_tps": 2000}}
        first = asking.ask(address, "/v1/predict", question)
        service, parents = processes(address)
        # The fork server and the tracker of its resources are children of the service, workers are not.
        found = [process for process, parent in parents.items() if parent != service or killed != "workers"]
        assert found
        for process in found:
            os.kill(process, signal.SIGKILL)
        assert asking.ask(address, "/v1/predict", question) == first
        parents = processes(address)[1]
        os.kill(service, signal.SIGKILL)
        assert all(ended(process) for process in parents)
