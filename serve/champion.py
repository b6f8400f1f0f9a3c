"""The champion: the one model bundle the service answers from, read again when its file is replaced."""

from __future__ import annotations

import asyncio
from pathlib import Path

from serve.files import Identity, identity_of
from serve.log import Log
from serve.problems import BundleRefused, Problem
from serve.workers import Workers

log = Log()

MAX_BYTES = 64 * 1024 * 1024
NEVER_READ: Identity = (-1, -1, -1)


class ChampionUnavailable(Problem):
    """There is no bundle to answer from; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(503, "no-champion", message)


class Champion:
    """A bundle on disk and the workers that answer from it, exchanged whole when the file changes.

    The file is replaced atomically by its writer, so a new identity (inode, time, size) means a complete new file.
    A bundle is tried before it is put in service; one that fails its trial does not displace the one in force, and
    `error` says so. A question to the workers of a bundle is answered by them, whatever is in force by then.
    """

    def __init__(self, path: Path, max_workers: int) -> None:
        self.path = path
        self._max_workers = max_workers
        self.error = ""
        self.in_force: Workers | None = None
        self._identity: Identity | None = NEVER_READ
        self._lock = asyncio.Lock()

    async def workers(self) -> Workers:
        """Those of the bundle now in force. While a new file is tried, they are those of the old one.

        Raises
        ------
        ChampionUnavailable
            when no usable bundle was ever read.
        """
        if identity_of(self.path) != self._identity and (self.in_force is None or not self._lock.locked()):
            async with self._lock:
                identity = identity_of(self.path)
                if identity != self._identity:
                    await self._reload(identity)
        if self.in_force is None:
            raise ChampionUnavailable(self.error)
        return self.in_force

    def close(self) -> None:
        """End the workers when they have answered."""
        if self.in_force is not None:
            self.in_force.close()

    async def _reload(self, identity: Identity | None) -> None:
        if identity is None:
            self.error = "there is no champion: run `etalon fit` on your own data, or `etalon demo`"
        else:
            try:
                workers = await Workers.start(await asyncio.to_thread(contents, self.path), self._max_workers)
            except (OSError, BundleRefused) as problem:
                # A file that cannot be opened is tried again at the next question: its rights may be mended by then.
                identity = NEVER_READ if isinstance(problem, OSError) else identity
                self.error = (
                    "the champion's file cannot be used (the reason is in the service's log): run `etalon fit` again"
                )
                log.error("champion_refused", path=str(self.path), problem=str(problem))
            else:
                self.close()
                self.in_force, self.error = workers, ""
                log.info("champion_loaded", path=str(self.path), model_version=workers.model_version)
        self._identity = identity


def contents(path: Path) -> bytes:
    """The bytes of a bundle's file. Raises OSError, and BundleRefused for too many of them."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise BundleRefused(f"the file has {size:,} bytes, and a bundle at most {MAX_BYTES:,}")
    return path.read_bytes()
