"""A pool of processes that evaluate questions about one model bundle.

A ``ProcessPoolExecutor`` would give up all of its questions when one process ends, and takes a sixth more processor
time for an answer. Worker processes of the server would not share jobs, counters and rates of tokens.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import orjson

from serve.problems import BundleRefused, Problem

ANSWER_SECONDS = 60.0
TRIAL_SECONDS = 300.0
MAX_WAITING = 256
START_PAUSES_S = (0.05, 0.5)
"""Seconds after which a process that did not start is started again."""
CONTEXT = multiprocessing.get_context("forkserver")

Result = TypeVar("Result")


class Evaluation(NamedTuple):
    """The reply to a question as JSON, its HTTP status, whether it is extrapolated, and the seconds it took."""

    status: int
    extrapolated: bool
    seconds: float
    body: bytes


def start_fork_server() -> None:
    """Start importing what workers need, so that each starts at once; the service itself imports none of it."""
    CONTEXT.set_forkserver_preload(["serve.trial", "serve.answering"])
    forkserver.ensure_running()


class Workers:
    """The worker processes of one bundle, started as they are needed."""

    def __init__(self, content: bytes, max_workers: int, first: _Worker, about: dict[str, Any]) -> None:
        self._content = content
        self._idle = [first]
        self._slots = asyncio.Semaphore(max_workers)
        self._waiting = 0
        self._closed = False
        self.model_version: str = about["model_version"]
        # Whether a history is recorded of each system.
        self.systems: dict[str, bool] = about["systems"]

    @classmethod
    async def start(cls, content: bytes, max_workers: int) -> Workers:
        """The workers of a bundle that passed its trial in the first of them. Raises BundleRefused."""
        try:
            first, about = await _Worker.start(content, trial=True)
        except TimeoutError:
            raise BundleRefused(f"its test took more than {TRIAL_SECONDS:.0f} s") from None
        except EOFError:
            raise BundleRefused("the testing process ended") from None
        return cls(content, max_workers, first, about)

    async def evaluate(self, kind: str, question: bytes, more: bytes = b"{}") -> Evaluation:
        """The reply to a question.

        Parameters
        ----------
        kind
            a kind that ``serve.answering.function_of`` knows.
        question
            the arguments of its function as JSON.
        more
            entries to put beside those of the bundle, as JSON.

        Raises
        ------
        Problem
            503: too many questions wait already, the evaluation took too long, or it ended its process.
        RuntimeError
            the evaluation ended in an error that is no refusal; the message is its traceback.
        """
        return await self.call(_evaluate, kind, question, more)

    async def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What a function of a module returns in a worker. Raises as :meth:`evaluate`."""
        if self._waiting >= MAX_WAITING:
            detail = f"{MAX_WAITING} questions are waiting; try again in a second"
            raise Problem(503, "busy", detail, {"Retry-After": "1"})
        self._waiting += 1
        try:
            async with self._slots:
                # A worker may have been killed while it was idle.
                with suppress(EOFError):
                    return await self._attempt(function, *arguments)
                return await self._attempt(function, *arguments)
        except (EOFError, TimeoutError) as error:
            ended = "ended its process" if isinstance(error, EOFError) else f"took more than {ANSWER_SECONDS:.0f} s"
            raise Problem(503, "not-evaluated", f"this question {ended}; split it into smaller ones") from error
        finally:
            self._waiting -= 1

    async def _attempt(self, function: Callable[..., Result], *arguments: Any) -> Result:
        worker = self._idle_worker() or await self._new_worker()
        try:
            return await worker.call(function, *arguments)
        finally:
            if self._closed:
                worker.close()
            elif worker.is_open():
                self._idle.append(worker)

    def _idle_worker(self) -> _Worker | None:
        """An idle worker whose process runs; those of processes that were killed are dropped."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.is_alive():
                return worker
            worker.close()
        return None

    async def _new_worker(self) -> _Worker:
        """A worker in a new process; a fork server that is being killed starts none at first."""
        for pause_s in START_PAUSES_S:
            with suppress(EOFError, ConnectionError):
                return (await _Worker.start(self._content, trial=False))[0]
            await asyncio.sleep(pause_s)
        return (await _Worker.start(self._content, trial=False))[0]

    def close(self) -> None:
        """End idle workers now, the others when they have answered."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class _Worker:
    """A process with a bundle, and the pipe to it."""

    def __init__(self, content: bytes, trial: bool) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=_work, args=(theirs, content, trial), daemon=True)
        with theirs:
            self.process.start()

    @classmethod
    async def start(cls, content: bytes, *, trial: bool) -> tuple[_Worker, dict[str, Any]]:
        """A worker, and version and systems of its bundle.

        Raises BundleRefused, TimeoutError, and EOFError if the process ended.
        """
        worker = await asyncio.to_thread(cls, content, trial)
        return worker, await worker._received(TRIAL_SECONDS)

    async def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What a function returns in the process. Raises TimeoutError, EOFError, RuntimeError if it failed."""
        with suppress(BrokenPipeError):
            self._pipe.send((function, *arguments))
        result: Result = await self._received(ANSWER_SECONDS)
        return result

    async def _received(self, seconds: float) -> Any:
        whole = False
        try:
            async with asyncio.timeout(seconds):
                result = await received(self._pipe)
            whole = True
        finally:
            if not whole:
                # What the process still sends would be taken for the answer to the next question.
                if self.process.is_alive():
                    self.process.kill()
                self.close()
        if isinstance(result, Exception):
            raise result
        return result

    def is_open(self) -> bool:
        """Whether it can be called."""
        return not self._pipe.closed

    def close(self) -> None:
        """End the process, which sees the end of the pipe."""
        self._pipe.close()


async def received(pipe: Connection) -> Any:
    """The next object from a process. Raises EOFError if the process ended."""
    loop, readable, descriptor = asyncio.get_running_loop(), asyncio.Event(), pipe.fileno()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
        # A loop of libuv makes what it watches non-blocking.
        os.set_blocking(descriptor, True)
    try:
        return pipe.recv()
    except ConnectionError as error:
        raise EOFError from error


def _work(pipe: Connection, content: bytes, trial: bool) -> None:
    """Load a bundle, and call functions until the service closes the pipe or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ignored signals are inherited: a service that ends must end its workers by this one.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(EOFError, BrokenPipeError):
        pipe.send(_outcome(_load, content, trial))
        while True:
            pipe.send(_outcome(*pipe.recv()))


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, or the error to raise in the service."""
    try:
        return function(*arguments)
    except BundleRefused as refused:
        return refused
    except Exception:
        return RuntimeError(traceback.format_exc())


_BUNDLE: dict[str, Any] = {}


def _load(content: bytes, trial: bool) -> dict[str, Any]:
    from model.capacity.bundle import typed
    from serve.trial import load_tried

    _BUNDLE.update(load_tried(content) if trial else typed(orjson.loads(content)))
    # The bundle stays: the collector finds nothing in it.
    gc.freeze()
    histories = {name: one.period is not None for name, one in _BUNDLE["systems"].items()}
    return {"model_version": _BUNDLE["model_version"], "systems": histories}


def _evaluate(kind: str, question: bytes, more: bytes) -> Evaluation:
    from serve.answering import answer

    started = perf_counter()
    reply = answer({**_BUNDLE, **orjson.loads(more)}, kind, orjson.loads(question))
    return Evaluation(reply.status, reply.extrapolated, perf_counter() - started, reply.body)
