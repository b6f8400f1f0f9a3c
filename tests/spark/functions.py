"""Functions that workers of a cluster run in tests, and a driver that is killed."""

import datetime as dt
import sys
from pathlib import Path

from ingest.warehouse import waves
from pipelines import steps
from pipelines.home import Home
from tests.runners import Killing
from tests.spark.cluster import SETTINGS


def imported(_: int) -> list[str]:
    """Packages that a worker has imported."""
    return sorted({name.partition(".")[0] for name in sys.modules})


if __name__ == "__main__":
    from pipelines.spark import Spark

    _, master, state, *dumps = sys.argv
    home = Home(Path(state))
    with Spark(master, SETTINGS) as spark:
        if dumps:
            waves._PART_BYTES = 1
            steps.ingest(home, dumps, runner=Killing(spark, 60_000))
        else:
            steps.build(home, everything=True, window=dt.timedelta(days=1), runner=Killing(spark))
