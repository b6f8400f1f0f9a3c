"""Running the service as a process."""

from __future__ import annotations

import os
import sys

import uvicorn

from serve import log
from serve.app import create_app
from serve.evaluators import MAKER
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
    # Uvicorn ends the process by the signal that stopped it, and comes back where that is ignored. DuckDB's binding
    # would then complain, at the interpreter's end, in lines that are no lines of this log.
    MAKER.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
