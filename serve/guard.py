"""What every request passes: identity of the request, size of its body, bearer token, security headers."""

from __future__ import annotations

import hashlib
import hmac
import time
import uuid

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.problems import Problem, respond
from serve.telemetry import Telemetry

MAX_BODY_BYTES = 64 * 1024
SESSION_COOKIE = "etalon_session"

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# The report's own pages carry scripts and styles inline; they still may not reach any other host.
REPORT_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

log = structlog.get_logger("etalon.serve")


def session_value(token: str) -> str:
    """The cookie that stands for the token in a browser; the token itself cannot be read back from it."""
    return hmac.new(token.encode(), b"etalon page session", hashlib.sha256).hexdigest()


class TokenGuard:
    """A dependency that lets a request pass only with the configured bearer token (or the page's session cookie)."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: Request) -> None:
        """Raise a 401 problem unless the request carries the token."""
        if self._token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        by_header = scheme.lower() == "bearer" and _equal(given.strip(), self._token)
        reading = request.method in ("GET", "HEAD")
        by_cookie = reading and _equal(request.cookies.get(SESSION_COOKIE, ""), session_value(self._token))
        if not (by_header or by_cookie):
            raise Problem(
                401,
                "token-required",
                "this service asks for a bearer token; send it as `Authorization: Bearer …`",
                headers={"WWW-Authenticate": 'Bearer realm="etalon"'},
            )


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


class Boundary:
    """ASGI middleware: HEAD, body limit, security headers, one log line and one measurement per request.

    HEAD is answered as GET is, without the body.
    """

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app, self._telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500
        request_id = uuid.uuid4().hex[:16]
        head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET"} if head else scope

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _decorate(MutableHeaders(scope=message), scope["path"], request_id)
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            body = await _body_within_limit(scope, receive)
            if body is None:
                too_large = Problem(413, "body-too-large", f"a request body may hold {MAX_BODY_BYTES} bytes at most")
                await respond(too_large)(inner, receive, send_with_headers)
            else:
                await self._app(inner, body, send_with_headers)
        except Exception:
            if status != 500:
                raise
            log.exception("request_failed", request_id=request_id, path=scope["path"])
            broken = Problem(500, "internal", f"the service failed on this request; its log names it {request_id}")
            await respond(broken)(inner, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(inner.get("route"), "path", "unmatched")
            self._telemetry.observe(scope["method"], route, status, seconds)
            log.info(
                "request",
                request_id=request_id,
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(seconds * 1000, 2),
            )


def _decorate(headers: MutableHeaders, path: str, request_id: str) -> None:
    headers["X-Request-ID"] = request_id
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Content-Security-Policy"] = REPORT_POLICY if path.startswith("/quality/") else PAGE_POLICY
    headers.setdefault("Cache-Control", "no-store")


async def _body_within_limit(scope: Scope, receive: Receive) -> Receive | None:
    """A receiver that replays the whole body, or None when it is larger than the limit."""
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        return None
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY_BYTES:
            return None
        more = message.get("more_body", False)
    whole: list[Message] = [{"type": "http.request", "body": b"".join(chunks), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay
