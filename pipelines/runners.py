"""Which engine runs units and windows: this process, processes of this machine, or a Spark cluster."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ingest.running import Here, Processes, Runner
from pipelines.exits import EtalonError, Exit

HELP = "Engine: here, processes, processes:N, or the address of a Spark master (spark://HOST:PORT, yarn, k8s://…)."
_SPARK = re.compile(r"spark://.+|k8s://.+|yarn|local(\[[^]]+\])?")


@contextmanager
def open_runner(name: str) -> Iterator[Runner]:
    """The runner of a name, until the block ends. Raises EtalonError for a name of none."""
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
        raise EtalonError(f"there is no runner {name!r}. {HELP}", Exit.USAGE)
