"""Running the service as a process."""

from __future__ import annotations

import logging
import sys

import structlog
import uvicorn

from serve.app import create_app
from serve.protocol import LimitedProtocol
from serve.settings import Settings

BACKLOG = 512
# The loop waits this long at most for the thread that evaluates, so that probes are answered at once.
SWITCH_SECONDS = 0.001


def configure_logging(level: int = logging.INFO) -> None:
    """One JSON line per event on standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def run(settings: Settings) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM)."""
    configure_logging()
    sys.setswitchinterval(SWITCH_SECONDS)
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        http=LimitedProtocol,
        ws="none",
        backlog=BACKLOG,
        timeout_graceful_shutdown=10,
    )
