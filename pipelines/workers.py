"""Which of Dagster's runs has a living process: each process holds a lock on a file of its run until it ends.

The kernel frees the lock of a process however it ends, also when the machine stops. Unlike a process number, it cannot
be another's by now, and it counts for all containers that share the state folder.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pipelines.home import Home
from state.files import make_folder


@contextmanager
def lock_of(home: Home, run_id: str) -> Iterator[TextIO]:
    """Hold the lock of a run. A child that inherits the file holds it for as long as it lives."""
    path = _file(home, run_id)
    make_folder(path.parent)
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream


def is_alive(home: Home, run_id: str) -> bool:
    """Whether a process holds the lock of a run."""
    try:
        with _file(home, run_id).open("r") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def process_of(home: Home, run_id: str) -> int | None:
    """The process of a run that the launcher has started, None where none is alive on this machine."""
    if not is_alive(home, run_id):
        return None
    try:
        number = int(_file(home, run_id).read_text(encoding="ascii"))
        # Another container's process numbers are not this one's.
        return number if run_id in Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8") else None
    except (OSError, ValueError):
        return None


def remember_process(stream: TextIO, number: int) -> None:
    """Keep the number of the process that inherited a lock, so that it can be stopped."""
    stream.write(str(number))
    stream.flush()
    os.fsync(stream.fileno())


def _file(home: Home, run_id: str) -> Path:
    return home.dagster / "workers" / run_id
