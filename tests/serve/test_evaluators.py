"""Processes that evaluate: one that ends, hangs or fails costs its own answer only, and none outlives its service."""

import asyncio
import gc
import json
import os
import select
import signal
import socket
from pathlib import Path

import pytest

from serve import evaluators
from serve.evaluators import Asked, Evaluated, EvaluationFailed, Evaluators
from serve.problems import BundleRefused, Problem
from serve.turns import Turns

PREDICT = Asked("predict", b'{"system": "shop"}')


def processes(found: Evaluators) -> list[int]:
    return [one.process for one in found._idle]


@pytest.mark.parametrize("how", ["ended", "hanging"])
def test_a_process_that_does_not_answer_is_replaced(bundle, monkeypatch, how):
    async def asked() -> int:
        found = await Evaluators.tried(json.dumps(bundle).encode())
        with monkeypatch.context() as changed:
            if how == "ended":
                os.kill(processes(found)[0], signal.SIGKILL)
            else:
                os.kill(processes(found)[0], signal.SIGSTOP)
                changed.setattr(evaluators, "ANSWER_SECONDS", 0.2)
            with pytest.raises(Problem) as refused:
                await found.ask([PREDICT])
        assert refused.value.status == 503
        status = (await found.ask([PREDICT]))[0].status
        found.retire()
        return status

    assert asyncio.run(asked()) == 200


def test_an_evaluation_that_fails_is_told_with_its_trace_and_the_process_goes_on(bundle):
    async def asked() -> None:
        found = await Evaluators.tried(json.dumps(bundle).encode())
        before = processes(found)
        failed, reply = await found.ask([Asked("no such kind", b"{}"), PREDICT])
        assert isinstance(failed, EvaluationFailed) and "KeyError" in str(failed)
        assert reply.status == 200 and json.loads(reply.body)["system"] == "shop"
        assert processes(found) == before
        found.retire()

    asyncio.run(asked())


def test_a_bundle_that_is_no_json_is_refused_in_words():
    with pytest.raises(BundleRefused, match="no JSON"):
        asyncio.run(Evaluators.tried(b"{"))


@pytest.mark.parametrize("more", [0, 2_000_000], ids=["read", "not even read"])
def test_a_trial_that_does_not_end_is_refused_in_words_and_its_process_is_ended(bundle, monkeypatch, more):
    exchanged, ends = evaluators._Evaluator.exchanged, []

    async def impatient(self, message, patience_s):
        if self.process:
            ends.append(os.pidfd_open(self.process))
            os.kill(self.process, signal.SIGSTOP)
            patience_s = 0.1
        return await exchanged(self, message, patience_s)

    monkeypatch.setattr(evaluators._Evaluator, "exchanged", impatient)
    with pytest.raises(BundleRefused, match="its trial took more than"):
        asyncio.run(Evaluators.tried(json.dumps(bundle).encode() + b" " * more))
    assert select.select(ends, [], [], 10.0)[0]
    os.close(*ends)


def test_a_maker_that_has_to_be_started_again_leaves_nothing_open():
    maker = evaluators.Maker()
    before = sorted(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        maker.start()
        maker._process.kill()
        maker._process.wait()
    maker.stop()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_question_of_a_batch_that_is_not_answered_costs_its_own_answer_only(client, monkeypatch):
    asked = Evaluators.ask

    async def refusing(self, together):
        if any(one.kind == "explain" for one in together):
            raise Problem(503, "not-evaluated", "this question ended its process")
        return await asked(self, together)

    monkeypatch.setattr(Evaluators, "ask", refusing)
    kinds = ("predict", "explain", "predict")
    found = client.ask("/v1/batch", {"questions": [{"kind": kind, "question": {"system": "shop"}} for kind in kinds]})
    assert found.status_code == 200
    answers = found.json()["answers"]
    assert [one["status"] for one in answers] == [200, 503, 200]
    assert answers[1]["problem"]["detail"] == "this question ended its process"


def test_a_process_in_the_middle_of_an_answer_ends_after_it(bundle):
    async def asked() -> tuple[int, int]:
        found = await Evaluators.tried(json.dumps(bundle).encode())
        [process] = processes(found)
        ends = os.pidfd_open(process)
        under_way = asyncio.ensure_future(found.ask([PREDICT]))
        await asyncio.sleep(0)
        found.retire()
        return (await under_way)[0].status, ends

    status, ends = asyncio.run(asked())
    assert status == 200
    # A process that has ended makes its descriptor readable.
    assert select.select([ends], [], [], 10.0)[0]
    os.close(ends)


def test_the_connection_of_an_evaluator_nobody_holds_is_closed():
    ours, theirs = socket.socketpair()
    one = evaluators._Evaluator(ours)
    del one, ours
    gc.collect()
    with theirs:
        assert theirs.recv(1) == b""


class Deadly:
    """Processes that one question ends; what they are asked in one turn."""

    def __init__(self) -> None:
        self.turns: list[bytes] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def ask(self, together):
        self.turns.append(b"".join(one.question for one in together))
        await self.goes_on.wait()
        if any(b"x" in one.question for one in together):
            raise Problem(503, "not-evaluated", "this question ended its process")
        return [Evaluated(200, False, 0.0, one.question) for one in together]


def asked_at_once(at_once, questions):
    """What becomes of each question, and the turns it took."""

    async def asked():
        by, turns = Deadly(), Turns(at_once)
        waiting = (turns.ask(by, Asked("sweep" if one == b"s" else "predict", one)) for one in questions)
        found = await asyncio.gather(*waiting, return_exceptions=True)
        return [one.status if isinstance(one, Problem) else one.body for one in found], by.turns

    return asyncio.run(asked())


def test_quick_questions_share_a_turn_and_no_free_turn_goes_without():
    questions = [b"%d" % i for i in range(6)]
    assert asked_at_once(1, questions) == (questions, [b"0123", b"45"])
    assert asked_at_once(2, questions) == (questions, [b"012", b"345"])
    assert asked_at_once(1, [b"0", b"1", b"s", b"3"])[1] == [b"01", b"s", b"3"]


def test_a_question_that_ends_a_process_costs_none_of_those_it_shared_a_turn_with():
    found, turns = asked_at_once(1, [b"0", b"x", b"2"])
    assert found == [b"0", 503, b"2"] and turns == [b"0x2", b"0", b"x", b"2"]


@pytest.mark.parametrize("kind", ["sweep", "predict"])
def test_a_question_nobody_waits_for_any_more_is_not_asked(kind):
    """Neither in its turn, nor again alone where a turn that it shared has ended the process."""

    async def asked():
        by, turns = Deadly(), Turns(1)
        by.goes_on.clear()
        first, given_up, last = (asyncio.create_task(turns.ask(by, Asked(kind, one))) for one in (b"0", b"x", b"2"))
        while not by.turns:
            await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        by.goes_on.set()
        await asyncio.gather(first, last)
        return by.turns

    assert asyncio.run(asked())[-2:] == [b"0", b"2"]
