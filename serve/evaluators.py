"""Processes that evaluate questions about a bundle, as the service sees them."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from serve.problems import BundleRefused, Problem

ANSWER_SECONDS = 60.0
TRIAL_SECONDS = 300.0
MOST_AT_ONCE = 256 * 1024


class EvaluationFailed(Exception):
    """An evaluation ended in an error that is no refusal; the message is its trace, for the log."""


class Evaluated(NamedTuple):
    """The reply to a question in JSON, whether it left the calibrated range, and the seconds it took."""

    status: int
    extrapolated: bool
    seconds: float
    body: bytes


class Asked(NamedTuple):
    """A question to a process: a name in ``serve.answering.KINDS``, the arguments of its function as JSON, and parts
    to put beside those of the bundle, as JSON."""

    kind: str
    question: bytes
    beside: bytes = b"{}"

    def as_json(self) -> bytes:
        """All of it as JSON."""
        return b'{"kind":"%b","beside":%b,"question":%b}' % (self.kind.encode(), self.beside, self.question)


class Evaluators:
    """Processes with one bundle, made as they are needed: as many as there are questions at a time."""

    def __init__(self, content: bytes, first: _Evaluator) -> None:
        self._content = content
        self._idle = [first]
        self._retired = False
        self.model_version: str = first.about["model_version"]
        # Whether a history is recorded of each system.
        self.systems: dict[str, bool] = first.about["systems"]

    @classmethod
    async def tried(cls, content: bytes) -> Evaluators:
        """Those of a bundle that has stood the trial in the first of them. Raises BundleRefused."""
        try:
            return cls(content, await _Evaluator.over(content, b"trial", TRIAL_SECONDS))
        except TimeoutError:
            raise BundleRefused(f"its trial took more than {TRIAL_SECONDS:.0f} s") from None
        except EOFError:
            raise BundleRefused("the process that tried it ended") from None

    async def ask(self, together: Sequence[Asked]) -> list[Evaluated | EvaluationFailed]:
        """The replies to questions that one process answers in one turn; in place of a reply, the error it ended in.

        Raises
        ------
        Problem
            the evaluation took too long, or its process ended.
        """
        message = b"[%b]" % b",".join(one.as_json() for one in together)
        try:
            one = self._idle.pop() if self._idle else await _Evaluator.over(self._content, b"known", TRIAL_SECONDS)
            reply = await one.exchanged(message, ANSWER_SECONDS)
        except (EOFError, OSError) as gone:
            ended = f"took more than {ANSWER_SECONDS:.0f} s" if isinstance(gone, TimeoutError) else "ended its process"
            raise Problem(503, "not-evaluated", f"this question {ended}; ask for less of it at a time") from gone
        self._idle.append(one)
        if self._retired:
            self.retire()
        return _separate(reply)

    def retire(self) -> None:
        """Let the processes end: idle ones now, the others when they have answered."""
        self._retired = True
        while self._idle:
            self._idle.pop().close()


def _separate(reply: bytes) -> list[Evaluated | EvaluationFailed]:
    """Each reply of a turn: behind a line with what is said of each, and how long it is, stand the bodies."""
    line, _, bodies = reply.partition(b"\n")
    found: list[Evaluated | EvaluationFailed] = []
    begin = 0
    for head in orjson.loads(line):
        end = begin + head.pop("bytes")
        failed = head.get("failed")
        found.append(EvaluationFailed(failed) if failed else Evaluated(**head, body=bodies[begin:end]))
        begin = end
    return found


class _Evaluator:
    """One process with one bundle, at the other end of a connection, each message behind its length in four bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        # Whoever drops an evaluator without a word ends its process all the same.
        weakref.finalize(self, connection.close)
        self.process: int | None = None
        self.about: dict[str, Any] = {}

    @classmethod
    async def over(cls, content: bytes, how: bytes, patience_s: float) -> _Evaluator:
        """A new process with a bundle that is known to be sound, or is put on trial. Raises BundleRefused."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            MAKER.make(theirs)
        one = cls(ours)
        one.process = int.from_bytes(await one.exchanged(how, patience_s))
        one.about = orjson.loads(await one.exchanged(content, patience_s))
        if "refused" in one.about:
            one.close()
            raise BundleRefused(one.about["refused"])
        return one

    async def exchanged(self, message: bytes, patience_s: float) -> bytes:
        """The answer to a message; without one in time, the process is ended. Raises OSError, EOFError."""
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        try:
            async with asyncio.timeout(patience_s):
                if loop is not self._loop:
                    self._loop = loop
                    loop.add_reader(self._connection.fileno(), self._receive)
                await loop.sock_sendall(self._connection, len(message).to_bytes(4) + message)
                if not (answer := await self._answer):
                    raise EOFError
                return answer
        except BaseException as broken:
            # What it still says would be taken for the answer to the next question.
            self.close()
            if self.process and isinstance(broken, TimeoutError | asyncio.CancelledError):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.process, signal.SIGKILL)
            raise

    def _receive(self) -> None:
        """Take what has come of an answer. The loop listens on, which costs less than asking it each time."""
        try:
            part = self._connection.recv(MOST_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self._received += part
        if not part:
            self._stop_listening()
        elif len(self._received) < 4 or len(self._received) < 4 + int.from_bytes(self._received[:4]):
            return
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(bytes(self._received[4:]) if part else b"")
        self._received.clear()

    def _stop_listening(self) -> None:
        if self._loop is not None and not self._loop.is_closed() and self._connection.fileno() >= 0:
            self._loop.remove_reader(self._connection.fileno())

    def close(self) -> None:
        """Let the process end."""
        self._stop_listening()
        self._connection.close()


class Maker:
    """``python -m serve.evaluating``, which is started once and forks a process for every connection it is sent."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._lock = threading.Lock()

    def start(self) -> socket.socket:
        """Have it load what evaluations take, while the service loads the rest; as it is where it runs already."""
        if self._process is None or self._line is None or self._process.poll() is not None:
            self.stop()
            self._line, theirs = socket.socketpair()
            # A matrix of an ensemble is too small to share among threads.
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            with theirs:
                command = [sys.executable, "-m", "serve.evaluating"]
                self._process = subprocess.Popen(command, stdin=theirs.fileno(), env=environment)
            atexit.register(self.stop)
        return self._line

    def make(self, connection: socket.socket) -> None:
        """A process at the other end of a connection."""
        with self._lock:
            socket.send_fds(self.start(), [b"+"], [connection.fileno()])

    def stop(self) -> None:
        """Let it end, and wait until it has."""
        if self._line and self._process:
            atexit.unregister(self.stop)
            self._line.close()
            self._process.wait()
            self._line = None


MAKER = Maker()
