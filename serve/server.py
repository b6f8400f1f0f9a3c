"""Running the service as a process."""

from __future__ import annotations

import uvicorn

from serve import log
from serve.app import create_app
from serve.protocol import LimitedProtocol
from serve.settings import Settings

BACKLOG = 512


def run(settings: Settings) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM)."""
    log.configure()
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=LimitedProtocol,
        ws="none",
        backlog=BACKLOG,
        timeout_graceful_shutdown=10,
    )
