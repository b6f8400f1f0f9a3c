"""Functions of many items, run here or in processes. Another engine is another class with the same `run`."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Protocol, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


_ATTEMPTS = 3


class Runner(Protocol):
    """Runs functions. They and their items and results can be pickled; one may run again where its result was lost.

    unit_bytes: bytes of a dump that are worth a task.
    """

    unit_bytes: int

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order. Raises what the function raises."""
        ...


class Here:
    """Runs functions in this process."""

    unit_bytes = 24 << 20

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in order, each computed on request."""
        return map(function, items)


class Processes:
    """Runs functions in processes, by default as many as there are processors; they end with the block.

    Processes start when they are needed, each with a separate interpreter. Where one was killed, all start anew.
    """

    unit_bytes = 24 << 20

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or processors()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order. Raises what the function raises.

        BrokenProcessPool where a process has been killed three times before the same item was done.
        """
        left = list(items)
        attempts = _ATTEMPTS
        while left:
            if self._pool is None:
                spawning = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.workers, spawning, initializer=_end_with_parent)
            try:
                for result in self._pool.map(function, tuple(left)):
                    del left[0]
                    attempts = _ATTEMPTS
                    yield result
            except BrokenProcessPool:
                self._close()
                attempts -= 1
                if not attempts:
                    raise

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it did: a killed one leaves none behind."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
