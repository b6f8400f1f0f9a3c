"""HTTP/1.1 with limits: what a connection may send, how long it may take, and how many there may be.

uvicorn leaves these to a proxy. Its parser buffers a header of any length, waits for the rest of a request without end,
and its listener fails when all descriptors are taken.
"""

from __future__ import annotations

import asyncio
import json
import resource
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 32 * 1024
# Of what follows the header as it is sent: the largest body in small chunks; what chunks say beside it is not kept.
MAX_SENT_BYTES = 2 * 1024 * 1024
MAX_CONNECTIONS = 512
# Requests of one connection that wait for the answer to the one before.
MAX_PIPELINED = 32
# From the first moment a request could be sent to its last byte, and for a client that does not read its answer.
REQUEST_SECONDS = 10.0
WRITE_SECONDS = 10.0
TOO_MUCH = f"a request may hold {MAX_SENT_BYTES} bytes at most after its headers"
TOO_LARGE = f"a request line with its headers may hold {MAX_HEADER_BYTES} bytes at most"


class LimitedProtocol(HttpToolsProtocol):
    """A connection that is closed when it is too large, too slow, or one too many."""

    _deadline: asyncio.TimerHandle | None = None
    _write_deadline: asyncio.TimerHandle | None = None
    _bytes = 0
    _in_header = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; at the limit, the one that has been silent longest makes room."""
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(self.connections) > most_connections():
            silent = [c for c in self.connections if isinstance(c, LimitedProtocol) and c is not self and c.is_silent()]
            if silent:
                min(silent, key=lambda one: one.since).transport.abort()
            else:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests are under way; try again later")
                return
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._stop("_deadline")
        self._stop("_write_deadline")
        # Whoever still answers must not ask a transport that is gone to go on reading.
        self.flow.read_paused = False
        super().connection_lost(exc)

    def is_silent(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Feed the parser, until the header or what follows it has become too large."""
        if self._deadline is None and self._in_header:
            self._await_request()
        self._bytes += len(data)
        super().data_received(data)
        if self._in_header and self._bytes > MAX_HEADER_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE)
        elif self._bytes > MAX_SENT_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_MUCH)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; nothing that comes behind a body is one."""
        if self._in_header:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The header is whole; what follows is body, which the application limits."""
        if sum(name == b"host" for name, _ in self.headers) > 1:
            raise ValueError("a request is for one host")
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MAX_HEADER_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE)
            raise ValueError(TOO_LARGE)
        self._in_header, self._bytes = False, 0
        super().on_headers_complete()
        if len(self.pipeline) > MAX_PIPELINED:
            self.transport.abort()

    def on_message_complete(self) -> None:
        """The request is whole and in time."""
        self._stop("_deadline")
        self._in_header, self._bytes = True, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request no longer than for the first."""
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read: give it a while."""
        super().pause_writing()
        if self._write_deadline is None:
            self._write_deadline = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stop("_write_deadline")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused in the form of every refusal."""
        self._refuse(HTTPStatus.BAD_REQUEST, "this is no HTTP/1.1 request")

    def _await_request(self) -> None:
        self._stop("_deadline")
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        if self.is_silent() and not (self._in_header and self._bytes):
            self.transport.close()
        elif self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"a request is sent within {REQUEST_SECONDS:g} seconds")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Say why and close."""
        if self.transport.is_closing():
            return
        kind = status.phrase.lower().replace(" ", "-")
        problem = {"type": f"urn:etalon:problem:{kind}", "title": status.phrase, "status": status, "detail": detail}
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _stop(self, timer: str) -> None:
        running: Any = getattr(self, timer)
        if running is not None:
            running.cancel()
            setattr(self, timer, None)


def most_connections() -> int:
    """Connections at a time; half of the descriptors the process may have, where that is less."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // 2)
