"""Locks on files of the state folder. A killed process holds none."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.exits import EtalonError, Exit


@contextmanager
def alone(lock: Path, doing: str, where: Path) -> Iterator[None]:
    """Hold a lock; EtalonError (LOCKED), saying what the other one is doing, where another process has it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EtalonError(f"another {doing} is running in {where}: wait until it ends", Exit.LOCKED) from None
        yield
