"""Which engine runs units and windows: this process, processes of this machine, or a Spark cluster."""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ingest.running import Here, Processes, Runner
from pipelines.exits import EtalonError, Exit

HELP = "Engine: here, processes, processes:N, or the address of a Spark master (spark://HOST:PORT, yarn, k8s://…)."
_SPARK = re.compile(r"spark://.+|k8s://.+|yarn|local(\[[^]]+\])?")


@contextmanager
def open_runner(name: str | None) -> Iterator[Runner | None]:
    """The runner of a name, until the block ends; None without a name. Raises EtalonError for a name of none."""
    if name is None:
        yield None
        return
    workers = re.fullmatch(r"processes(?::([1-9]\d*))?", name)
    if name == "here":
        yield Here()
    elif workers:
        with Processes(int(workers[1]) if workers[1] else None) as processes:
            yield processes
    elif _SPARK.fullmatch(name):
        from pipelines.spark import Spark

        with Spark(name) as spark:
            yield spark
    else:
        raise EtalonError(f"unknown runner {name!r}. {HELP}", Exit.USAGE)


def window_length(window: str | None, runner: str | None) -> dt.timedelta | None:
    """The length of windows such as `6h` or `1d`; a day for a runner without one, None for a build at once.

    Raises EtalonError.
    """
    from pipelines.building.windows import check_length

    if window is None:
        return None if runner in (None, "here") else dt.timedelta(days=1)
    matched = re.fullmatch(r"(\d{1,4})([hd])", window.strip())
    try:
        return check_length(dt.timedelta(hours=int(matched[1]) * (24 if matched[2] == "d" else 1) if matched else 0))
    except ValueError as error:
        raise EtalonError(f"window {window!r}: {error}, such as 6h or 1d", Exit.USAGE) from error
