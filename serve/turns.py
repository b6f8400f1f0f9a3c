"""A line in front of the processes that evaluate, which has an end."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from serve.evaluators import Asked, Evaluated, Evaluators
from serve.problems import Problem

MOST_WAITING = 256
# Questions that are answered in milliseconds, of which so many at most are answered in one turn.
QUICK = ("predict",)
MOST_TOGETHER = 4


class _Waiting(NamedTuple):
    """A question in the line, whether it may share its turn with those behind it, and its reply to come."""

    by: Evaluators
    asked: Asked
    shares: bool
    reply: asyncio.Future[Evaluated]


class Turns:
    """Questions that wait for a process, in the order in which they came, if there are not too many of them.

    Quick ones beside each other share a turn: to wake a process for each, and the service with each reply, takes a
    quarter of the processor time of an answer.
    """

    def __init__(self, at_once: int, most_waiting: int = MOST_WAITING) -> None:
        self._free = at_once
        self._most = most_waiting
        self._there = 0
        self._line: deque[_Waiting] = deque()
        self._turns: set[asyncio.Task[None]] = set()

    async def ask(self, by: Evaluators, asked: Asked) -> Evaluated:
        """The reply of these processes to a question.

        Raises
        ------
        Problem
            the line is full, the evaluation took too long, or its process ended.
        EvaluationFailed
            the evaluation ended in an error.
        """
        if self._there >= self._most:
            message = f"{self._most} questions are waiting already; ask again in a second"
            raise Problem(503, "busy", message, {"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        waiting = _Waiting(by, asked, asked.kind in QUICK, loop.create_future())
        self._there += 1
        self._line.append(waiting)
        # What else came in this moment gets in line first.
        loop.call_soon(self._begin)
        try:
            return await waiting.reply
        except asyncio.CancelledError:
            # Nobody waits for it any more.
            self._line = deque(one for one in self._line if one.reply is not waiting.reply)
            raise
        finally:
            self._there -= 1

    def _begin(self) -> None:
        """Begin as many turns as are free."""
        while self._free and self._line:
            turn = asyncio.create_task(self._answer(self._together()))
            self._turns.add(turn)
            turn.add_done_callback(self._turns.discard)
            self._free -= 1

    def _together(self) -> list[_Waiting]:
        """The first in the line, with those that share its turn: no more than leave the other free turns as many."""
        most = min(-(-len(self._line) // self._free), MOST_TOGETHER)
        first = self._line.popleft()
        together = [first]
        while first.shares and len(together) < most and self._line[0].shares and self._line[0].by is first.by:
            together.append(self._line.popleft())
        return together

    async def _answer(self, together: list[_Waiting]) -> None:
        """Have questions answered in one turn; where that ends their process, each of them alone."""
        try:
            replies: list[Evaluated | Exception] = [*await together[0].by.ask([one.asked for one in together])]
        except Exception as broken:
            replies = [broken] * len(together)
        if len(together) > 1 and isinstance(replies[0], Problem):
            again = (one._replace(shares=False) for one in reversed(together) if not one.reply.cancelled())
            self._line.extendleft(again)
        else:
            for one, reply in zip(together, replies, strict=True):
                _tell(one, reply)
        self._free += 1
        self._begin()


def _tell(one: _Waiting, reply: Evaluated | Exception) -> None:
    if one.reply.cancelled():
        return
    if isinstance(reply, Exception):
        one.reply.set_exception(reply)
    else:
        one.reply.set_result(reply)
