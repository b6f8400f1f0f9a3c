"""A line in front of the processes that evaluate, which has an end."""

from __future__ import annotations

import asyncio
from types import TracebackType

from serve.problems import Problem

MOST_WAITING = 256


class Turns:
    """A context in which a few are at a time; the others wait for their turn, if there are not too many of them."""

    def __init__(self, at_once: int, most_waiting: int = MOST_WAITING) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._most = most_waiting
        self._there = 0

    async def __aenter__(self) -> None:
        """Wait. Raises a 503 problem when the line is full."""
        if self._there >= self._most:
            message = f"{self._most} questions are waiting already; ask again in a second"
            raise Problem(503, "busy", message, {"Retry-After": "1"})
        self._there += 1
        try:
            await self._turn.acquire()
        except BaseException:
            self._there -= 1
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the next one in."""
        self._turn.release()
        self._there -= 1
