"""The planner's page, the data-quality report, and the pages of nights and models, for a browser."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from serve.guard import SESSION_COOKIE
from serve.problems import Problem
from serve.settings import Settings
from serve.tokens import Tokens

PAGE = Path(__file__).parent / "page"
# Of the data-quality report; the document beside them names paths of this machine.
REPORT = ("index.html", "suites.html", "page.css")
# Folders of the state folder whose pages are served.
SITES = ("nights", "reports")
# These pages contain their style and no script.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"


class Site(StaticFiles):
    """The HTML pages of a folder, and no other file of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)

    async def check_config(self) -> None:
        """Accept a folder that is not there yet: before the first night there is no page, which is a 404."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """The file of a path, and its status; none for anything but pages and folders."""
        full, status = super().lookup_path(path)
        listed = status is not None and (path.endswith(".html") or stat.S_ISDIR(status.st_mode))
        return (full, status) if listed else ("", None)

    def file_response(self, *arguments: Any, **named: Any) -> Response:
        """The page, with the policy for pages that contain their style."""
        response = super().file_response(*arguments, **named)
        response.headers["content-security-policy"] = POLICY
        return response


def pages(settings: Settings, tokens: Tokens) -> APIRouter:
    """The pages, and the cookie that opens the report to a browser."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @router.get("/api")
    async def api() -> FileResponse:
        return FileResponse(PAGE / "api.html")

    @router.get("/favicon.ico")
    async def icon() -> FileResponse:
        return FileResponse(PAGE / "icon.svg", media_type="image/svg+xml")

    @router.post("/session")
    async def session(request: Request) -> Response:
        # Links cannot carry a header: the page trades the token for a cookie that opens the report to a browser.
        response = Response(status_code=204)
        grant = request.state.grant
        if grant is not None:
            secure = request.url.scheme == "https"
            value = tokens.session(grant)
            response.set_cookie(SESSION_COOKIE, value, httponly=True, samesite="strict", secure=secure)
        return response

    @router.get("/quality")
    @router.get("/quality/")
    async def quality_root() -> RedirectResponse:
        return RedirectResponse("/quality/index.html", 307)

    @router.get("/quality/{name}")
    async def quality(name: str) -> Response:
        if name in REPORT and (settings.quality / name).is_file():
            return FileResponse(settings.quality / name)
        if name == "index.html":
            # There is no report before the first check, which the page's view of the data says.
            return RedirectResponse("/#/data", 307)
        raise Problem(404, "not-found", "the data-quality report does not have this page")

    return router
