"""HTTP/1.1 by uvicorn, with deadlines for clients and a limit of connections, which it has no settings for."""

from __future__ import annotations

import asyncio
import resource

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 512
# Until the header of a request is there, until its body is, and for a client that does not read its answer.
REQUEST_SECONDS = 10.0
WRITE_SECONDS = 10.0


class LimitedProtocol(H11Protocol):
    """A connection that ends when its client is too slow, or when there are too many and it has no request."""

    _header_deadline: asyncio.TimerHandle | None = None
    _write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; at the limit, one without a request makes room."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            idle = (one for one in self.connections if isinstance(one, LimitedProtocol) and one.is_idle())
            next((one for one in idle if one is not self), self).transport.abort()
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        _cancel(self._header_deadline)
        _cancel(self._write_deadline)
        super().connection_lost(exc)

    def is_idle(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Read on, and stop waiting once a header is whole."""
        super().data_received(data)
        if not self.is_idle():
            _cancel(self._header_deadline)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it came before the answer."""
        super().on_response_complete()
        if self.is_idle():
            self._await_header()

    def pause_writing(self) -> None:
        """The client does not read: give it a while."""
        super().pause_writing()
        self._write_deadline = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        _cancel(self._write_deadline)
        super().resume_writing()

    def _await_header(self) -> None:
        _cancel(self._header_deadline)
        self._header_deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


def _cancel(deadline: asyncio.TimerHandle | None) -> None:
    if deadline is not None:
        deadline.cancel()


def max_connections() -> int:
    """Connections at a time: half of the descriptors that the process may have, if that is less."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // 2)
