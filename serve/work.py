"""The threads that evaluate questions, so that the event loop only passes messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from serve.problems import Problem

# More threads would only take turns: an evaluation is many short array operations, and holds the interpreter.
THREADS = 2
MOST_WAITING = 256

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A few threads with a line in front of them that has an end."""

    def __init__(self, threads: int = THREADS, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, "answer")
        self._most = most_waiting
        self.waiting = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result from one of the threads. Raises a 503 problem when the line is full."""
        if self.waiting >= self._most:
            told = f"{self._most} questions are waiting already; ask again in a second"
            raise Problem(503, "busy", told, {"Retry-After": "1"})
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))
        finally:
            self.waiting -= 1
