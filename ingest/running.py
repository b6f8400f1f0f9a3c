"""Functions of many items, run here or in processes. Another engine is another class with the same `run`."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Protocol, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Runs functions. They and their items and results can be pickled; one may run again where its result was lost."""

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order. Raises what the function raises."""
        ...


class Here:
    """Runs functions in this process."""

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order, each when it is asked for."""
        return map(function, items)


class Processes:
    """Runs functions in processes, as many as there are processors unless it is said; they end with the block.

    Processes start when they are needed, each with an interpreter of its own.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or processors()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order. Raises what the function raises, or that a process has died."""
        if self._pool is None:
            spawning = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, spawning, initializer=_end_with_parent)
        return self._pool.map(function, items)


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
