"""The champion: the one model bundle the service answers from, read again when its file is replaced."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import structlog

from serve.files import Identity, identity_of
from serve.trial import BundleRefused, tried

log = structlog.get_logger("etalon.serve")

NEVER_READ: Identity = (-1, -1, -1)


class ChampionUnavailable(Exception):
    """There is no bundle to answer from; the message says what to do."""


class Champion:
    """A bundle on disk, kept in memory and exchanged whole when the file changes.

    The file is replaced atomically by its writer, so a new identity (inode, time, size) means a complete new file.
    It is tried before it is put in service; one that does not stand the trial does not displace the one in force, and
    `error` then says so. Whoever has a bundle keeps it to the end of the answer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: str | None = None
        self.in_force: dict[str, Any] | None = None
        self._identity: Identity | None = NEVER_READ
        self._lock = asyncio.Lock()
        self._reader = ThreadPoolExecutor(1, "champion")

    async def bundle(self) -> dict[str, Any]:
        """The bundle now in force. While a new file is tried, others are answered from the old one.

        Raises
        ------
        ChampionUnavailable
            when no usable bundle was ever read.
        """
        if identity_of(self.path) != self._identity and (self.in_force is None or not self._lock.locked()):
            async with self._lock:
                identity = identity_of(self.path)
                if identity != self._identity:
                    await asyncio.get_running_loop().run_in_executor(self._reader, self._reload, identity)
        if self.in_force is None:
            raise ChampionUnavailable(self.error)
        return self.in_force

    def _reload(self, identity: Identity | None) -> None:
        if identity is None:
            self.error = "there is no champion: run `etalon demo`, or `etalon fit` on your own data"
        else:
            try:
                bundle = tried(self.path)
            except (OSError, BundleRefused) as problem:
                # A file that cannot be opened is tried again at the next question: its rights may be mended by then.
                identity = NEVER_READ if isinstance(problem, OSError) else identity
                self.error = "the champion's file cannot be used, as the service's log says: run `etalon fit` again"
                log.error("champion_refused", path=str(self.path), problem=str(problem))
            else:
                self.in_force, self.error = bundle, None
                log.info("champion_loaded", path=str(self.path), model_version=bundle["model_version"])
        self._identity = identity
