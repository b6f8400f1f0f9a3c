"""The service's log: one JSON line per event on standard error."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from serve.encoding import as_json

LOGGER = "etalon.serve"


class Log:
    """Events with their figures, as keywords."""

    def info(self, event: str, **figures: object) -> None:
        """What happened."""
        self._say(logging.INFO, event, figures)

    def error(self, event: str, **figures: object) -> None:
        """What somebody has to look at."""
        self._say(logging.ERROR, event, figures)

    def exception(self, event: str, **figures: object) -> None:
        """As :meth:`error`, with the trace of the exception that is handled."""
        self._say(logging.ERROR, event, figures, sys.exc_info())

    def _say(self, level: int, event: str, figures: dict[str, object], trace: Any = None) -> None:
        # A logger would look for the line of code that calls, which nobody reads.
        logger = logging.getLogger(LOGGER)
        if logger.isEnabledFor(level):
            record = logging.LogRecord(LOGGER, level, "", 0, event, (), trace)
            record.figures = figures
            logger.handle(record)


class JsonLines(logging.Formatter):
    """A record as a line; those of libraries, too."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        entry = {
            "event": record.getMessage(),
            **getattr(record, "figures", {}),
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return as_json(entry).decode()


def configure() -> None:
    """Write events to standard error, those of libraries where they are warnings."""
    # No line says which thread or process wrote it, so that none has to be found.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(LOGGER).setLevel(logging.INFO)
