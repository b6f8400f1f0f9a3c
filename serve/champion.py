"""The champion: the one model bundle the service answers from, read again when its file is replaced."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import structlog

from model.capacity import bundle as bundles

log = structlog.get_logger("etalon.serve")

Identity = tuple[int, int, int]
NEVER_READ: Identity = (-1, -1, -1)


class ChampionUnavailable(Exception):
    """There is no bundle to answer from; the message says what to do."""


class Champion:
    """A bundle on disk, kept in memory and exchanged whole when the file changes.

    The file is replaced atomically by its writer, so a new identity (inode, time, size) means a complete new file.
    A new file that cannot be used does not displace the bundle in service; `error` then says what is wrong with it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: str | None = None
        self._bundle: dict[str, Any] | None = None
        self._identity: Identity | None = NEVER_READ
        self._lock = threading.Lock()

    def bundle(self) -> dict[str, Any]:
        """The bundle now in force.

        Raises
        ------
        ChampionUnavailable
            when no usable bundle was ever read.
        """
        identity = self._stat()
        if identity != self._identity:
            with self._lock:
                if identity != self._identity:
                    self._reload(identity)
        if self._bundle is None:
            raise ChampionUnavailable(self.error)
        return self._bundle

    def _stat(self) -> Identity | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _reload(self, identity: Identity | None) -> None:
        self._identity = identity
        if identity is None:
            self.error = f"no champion at {self.path}: run `etalon demo`, or `etalon fit` on your own data"
            return
        try:
            bundle = bundles.read(self.path)
        except (OSError, ValueError) as problem:
            # A file that cannot be read is tried again at the next question: its rights may be mended by then.
            self._identity = NEVER_READ if isinstance(problem, OSError) else identity
            self.error = f"champion at {self.path} cannot be used ({problem}): export it again with `etalon fit`"
            log.error("champion_refused", path=str(self.path), problem=str(problem))
            return
        self._bundle, self.error = bundle, None
        log.info("champion_loaded", path=str(self.path), model_version=bundle.get("model_version"))
