"""Reading ahead: the next part of a file is decoded in a separate thread while the last one is being written."""

import os
import queue
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


NICE = 10
"""How much a helping thread lowers its priority: enough to leave a core to the one that writes."""


def lower_priority(nice: int, thread: int | None = None) -> None:
    """Lower the priority of a thread (its native number; without one this thread) by so much; on Linux only.

    Elsewhere priorities belong to processes, not to threads.
    """
    if nice and sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id() if thread is None else thread
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


@dataclass(frozen=True)
class _Ended:
    """There is no more, or what was raised instead."""

    error: BaseException | None = None


def made_ahead(items: Iterator[Item], waiting: int = 1, nice: int = 0) -> Generator[Item, None, None]:
    """The same items in the same order, made while those before are in use; so many wait at most, and one is made.

    nice: how much the thread that makes them lowers its priority, as in `lower_priority`.

    What `items` raises is raised where its item would have been taken. Close the generator when it is not read to its
    end: that ends the thread and closes `items`.
    """
    items_ahead: queue.Queue[Item | _Ended] = queue.Queue(waiting)
    unwanted = threading.Event()

    def make() -> None:
        lower_priority(nice)
        ended = _Ended()
        try:
            for item in items:
                items_ahead.put(item)
                if unwanted.is_set():
                    break
        except BaseException as error:
            ended = _Ended(error)
        finally:
            if isinstance(items, Generator):
                items.close()
        items_ahead.put(ended)

    thread = threading.Thread(target=make, name="made-ahead", daemon=True)
    thread.start()
    last: Item | _Ended | None = None
    try:
        while not isinstance(last := items_ahead.get(), _Ended):
            yield last
    finally:
        unwanted.set()
        # The thread may be waiting for room; it ends when its last word has been taken.
        while not isinstance(last, _Ended):
            last = items_ahead.get()
        thread.join()
    if last.error is not None:
        raise last.error
