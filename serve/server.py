"""Running the service as a process."""

from __future__ import annotations

import gc
import os
import sys

import uvicorn

from serve import log, protocol, workers
from serve.settings import Settings


def run(settings: Settings) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM)."""
    log.configure()
    # A matrix of posterior samples is too small to share among threads; the workers inherit this.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    workers.start_fork_server()
    from serve.app import create_app

    app = create_app(settings)
    gc.freeze()
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=protocol.LimitedProtocol,
        h11_max_incomplete_event_size=protocol.MAX_HEADER_BYTES,
        ws="none",
        backlog=protocol.MAX_CONNECTIONS,
        timeout_keep_alive=int(protocol.REQUEST_SECONDS),
        timeout_graceful_shutdown=10,
    )
    # Uvicorn ends the process by the signal that stopped it, and returns if that is ignored. DuckDB's binding would
    # then print lines at the interpreter's end that are no lines of this log.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
