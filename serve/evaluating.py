"""`python -m serve.evaluating`: makes processes that answer questions about one bundle each.

Standard input is a Unix socket. For every connection that comes over it a process is forked, with everything loaded,
which lives until the other end closes. It says its number, reads the bundle, says what it holds or why it is refused,
and then answers what comes, the questions of one message in one. The service itself only passes messages, so that
probes never wait for arithmetic.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import traceback
from time import perf_counter
from typing import Any

import orjson

# What answers by condition take, and a trial first: loaded here once, not in every process that is forked.
import model.capacity.conditions.answering  # noqa: F401
from serve.answering import answer
from serve.encoding import as_json
from serve.trial import BundleRefused, tried


def main() -> None:
    """Fork a process for every connection, until nobody can send any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(fileno=0) as line:
        while handles := socket.recv_fds(line, 1, 1)[1]:
            if os.fork() == 0:
                line.close()
                with socket.socket(fileno=handles[0]) as connection, contextlib.suppress(EOFError, OSError):
                    evaluate(_Line(connection))
                return
            os.close(handles[0])


class _Line:
    """Messages over a connection, each behind its length in four bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._incoming = connection, connection.makefile("rb")

    def received(self) -> bytes:
        """The next message. Raises EOFError where there is none to come, or not all of it."""
        length = int.from_bytes(self._incoming.read(4))
        message = self._incoming.read(length)
        if not message or len(message) < length:
            raise EOFError
        return message

    def send(self, message: bytes) -> None:
        """Send a message."""
        self._connection.sendall(len(message).to_bytes(4) + message)


def evaluate(line: _Line) -> None:
    """Take a bundle, and answer questions about it until the connection is closed (EOFError)."""
    how = line.received()
    line.send(os.getpid().to_bytes(4))
    content = line.received()
    try:
        bundle: dict[str, Any] = tried(content) if how == b"trial" else orjson.loads(content)
    except BundleRefused as refused:
        line.send(as_json({"refused": str(refused)}))
        return
    del content
    histories = {name: bool(entry.get("period")) for name, entry in bundle["systems"].items()}
    about = {"model_version": bundle["model_version"], "systems": histories}
    line.send(as_json(about))
    while True:
        replies = [_reply(bundle, asked) for asked in orjson.loads(line.received())]
        heads = as_json([head for head, _ in replies])
        line.send(b"\n".join((heads, b"".join(body for _, body in replies))))


def _reply(bundle: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What is said of a reply, and its body."""
    started = perf_counter()
    try:
        reply = answer({**bundle, **asked["beside"]}, asked["kind"], asked["question"])
        head: dict[str, Any] = {"status": reply.status, "extrapolated": reply.extrapolated}
        body = reply.body
    except Exception:
        head, body = {"failed": traceback.format_exc()}, b""
    return {**head, "seconds": perf_counter() - started, "bytes": len(body)}, body


if __name__ == "__main__":
    main()
