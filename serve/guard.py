"""What every request passes: the name it calls the service by, its token, the size of its body, security headers."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve import protocol
from serve.log import Log
from serve.problems import Problem
from serve.responses import respond
from serve.telemetry import Telemetry
from serve.tokens import Grant, Tokens

MAX_BODY_BYTES = 64 * 1024
# Bodies that hold many questions or a network.
MAX_LARGE_BODY_BYTES = 512 * 1024
LARGE_BODIES = ("/v1/batch", "/v1/replay")
SESSION_COOKIE = "etalon_session"
# Answered without a token: probes, and pages that hold no figures of their own.
OPEN = ("/", "/api", "/favicon.ico", "/healthz", "/openapi.json", "/readyz")
OPEN_FOLDERS = ("/static/",)
# What a browser may read with the cookie that it was given for its token.
READ_BY_COOKIE = ("/quality", "/nights", "/reports")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

# Headers of every reply, unless its route sets them.
SECURITY = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]

log = Log()


class Boundary:
    """ASGI middleware: HEAD, host, token, body limit, security headers, one log line and one measurement per request.

    HEAD is answered as GET is, without the body. Host and token are looked at before anything of the body is.
    """

    def __init__(self, app: ASGIApp, telemetry: Telemetry, tokens: Tokens, hosts: frozenset[str]) -> None:
        self._app, self._telemetry, self._tokens, self._hosts = app, telemetry, tokens, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500
        request_id = os.urandom(8).hex()
        head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET"} if head else scope

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _decorated(message["headers"], request_id)
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            inner["state"] = {**scope.get("state", {}), "request_id": request_id, "grant": self._admitted(inner)}
            await self._app(inner, await _whole_body(scope, receive), send_with_headers)
        except Problem as problem:
            await respond(problem)(inner, receive, send_with_headers)
        except Exception:
            if status != 500:
                raise
            log.exception("request_failed", request_id=request_id, path=scope["path"])
            broken = Problem(
                500, "internal", f"internal error; the service's log has the details under request {request_id}"
            )
            await respond(broken)(inner, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(inner.get("route"), "path_format", "unmatched")
            self._telemetry.observe(scope["method"], route, status, seconds)
            grant = inner.get("state", {}).get("grant")
            log.info(
                "request",
                request_id=request_id,
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(seconds * 1000, 2),
                token=grant.name if grant else None,
            )

    def _admitted(self, scope: Scope) -> Grant | None:
        """The grant under which a request passes; None where none is asked for. Raises the problem of one that does
        not."""
        headers = Headers(scope=scope)
        if not _is_called(headers.get("host", ""), self._hosts):
            detail = "unknown host name; add it to ETALON_ALLOWED_HOSTS to allow it"
            raise Problem(421, "unknown-host", detail)
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDERS) or not self._tokens.guarded():
            return None
        grant = self._grant(scope, headers)
        if grant is None:
            detail = "this service requires a bearer token; send it as `Authorization: Bearer …`"
            if not self._tokens.any():
                detail = "the last token was withdrawn; create a new one with `etalon token NAME`"
            raise Problem(401, "token-required", detail, headers={"WWW-Authenticate": 'Bearer realm="etalon"'})
        scope_needed = "read" if scope["method"] == "GET" or path == "/session" else "ask"
        if not grant.may(scope_needed):
            scopes = {"WWW-Authenticate": f'Bearer realm="etalon", error="insufficient_scope", scope="{scope_needed}"'}
            raise Problem(
                403, "scope-required", f"this request requires a token with the scope `{scope_needed}`", scopes
            )
        take(self._tokens, grant)
        return grant

    def _grant(self, scope: Scope, headers: Headers) -> Grant | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._tokens.by_token(given.strip())
        if scope["method"] == "GET" and scope["path"].startswith(READ_BY_COOKIE):
            return self._tokens.by_session(_cookie(headers))
        return None


def take(tokens: Tokens, grant: Grant | None, count: int = 1) -> None:
    """Count requests of a grant. Raises a 429 problem where it has none left."""
    wait = tokens.take(grant, count) if grant else 0.0
    if grant and wait > 0:
        detail = f"token {grant.name} used its {grant.per_minute} requests per minute; wait {wait:.0f} s"
        raise Problem(429, "too-many-requests", detail, {"Retry-After": str(int(wait) + 1)})


@lru_cache
def _is_called(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header names this service. An address always does: only names can be bent to another address."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]").lower().rstrip(".")
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(SESSION_COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _decorated(headers: list[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    defaults = [(b"x-request-id", request_id.encode()), (b"cache-control", b"no-store"), *SECURITY]
    given = {name for name, _ in headers}
    return [*headers, *((name, value) for name, value in defaults if name not in given)]


async def _whole_body(scope: Scope, receive: Receive) -> Receive:
    """A receiver that replays the whole body. Raises a 413 problem if it is too large, a 408 problem if it is late."""
    limit = MAX_LARGE_BODY_BYTES if scope["path"] in LARGE_BODIES else MAX_BODY_BYTES
    # The connection is not kept: the rest of the body would have to be read first.
    close = {"Connection": "close"}
    too_large = Problem(413, "body-too-large", f"a body may have at most {limit} bytes here", close)
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise too_large
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(protocol.REQUEST_SECONDS):
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    break
                body += message.get("body", b"")
                if len(body) > limit:
                    raise too_large
                more = message.get("more_body", False)
    except TimeoutError:
        raise Problem(408, "request-timeout", f"send a request within {protocol.REQUEST_SECONDS:g} s", close) from None
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay
