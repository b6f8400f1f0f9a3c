"""Functions that workers of a cluster run in tests, and a driver that is killed."""

import datetime as dt
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipelines import steps
from pipelines.home import Home
from tests.spark.cluster import SETTINGS


def imported(_: int) -> list[str]:
    """Packages that a worker has imported."""
    return sorted({name.partition(".")[0] for name in sys.modules})


class Twice:
    """A runner that runs every item twice and takes the later result, as where a task was taken for lost."""

    def __init__(self, runner: Any) -> None:
        self.runner = runner

    def run(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        given = list(items)
        return iter(list(self.runner.run(function, given + given))[len(given) :])


class Killing:
    """A runner that kills its own process when all tasks are done: before the driver commits anything."""

    def __init__(self, runner: Any) -> None:
        self.runner = runner

    def run(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        list(self.runner.run(function, items))
        os.kill(os.getpid(), signal.SIGKILL)
        yield


if __name__ == "__main__":
    from pipelines.spark import Spark

    _, master, home = sys.argv
    with Spark(master, SETTINGS) as spark:
        steps.build(Home(Path(home)), everything=True, window=dt.timedelta(days=1), runner=Killing(spark))
