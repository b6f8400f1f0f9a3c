"""Functions of many items on a Spark cluster.

Spark places tasks, tries them again and kills them. It sees no record: an item and its result are bytes, and rows go
from Etalon's decoder or DuckDB into files. A task of an item may run several times, also at once; the driver takes one
result for each item.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar

from pipelines.exits import EtalonError, Exit

Item = TypeVar("Item")
Result = TypeVar("Result")
Batches = Iterator[Any]


class Spark:
    """Runs functions as tasks of an application, which ends with the block.

    Settings come from `spark-defaults.conf`, as those of any application. Raises EtalonError where there is no pyspark,
    no Java, or no master at the address.
    """

    #: A task costs 0.11 s of CPU, a tenth of what units of this size take.
    unit_bytes = 256 << 20

    def __init__(self, master: str, settings: dict[str, str] | None = None) -> None:
        try:
            from py4j.protocol import Py4JJavaError
            from pyspark.errors import PySparkException, PySparkRuntimeError
            from pyspark.sql import SparkSession
        except ImportError as error:
            remedy = "install it: pip install 'etalon-z[spark]', with Java 17 or later"
            raise EtalonError(f"the runner {master} needs pyspark; {remedy}", Exit.USAGE) from error
        # Workers use the interpreter of the driver, unless `spark.pyspark.python` names another.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._failure = (PySparkException, Py4JJavaError)
        builder = SparkSession.builder.master(master).appName("etalon")
        for name, value in (settings or {}).items():
            builder = builder.config(name, value)
        try:
            self._session: Any = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise EtalonError(f"cannot start a Spark application at {master}: {error}", Exit.NOT_READY) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.stop()

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The result for each item, in their order. Raises what the function raises when all tasks have ended.

        Raises EtalonError for a task that Spark has given up.
        """
        from pyspark.serializers import CPickleSerializer

        form = CPickleSerializer()
        payloads = [form.dumps(item) for item in items]
        if not payloads:
            return
        shared = self._session.sparkContext.broadcast(payloads)
        # A row for each partition, and so an item for each task.
        numbers = self._session.range(0, len(payloads), 1, len(payloads))
        try:
            rows = numbers.mapInArrow(_task(function, shared), "id long, result binary").collect()
        except self._failure as error:
            raise EtalonError(f"Spark task failed: {str(error).strip()[-2000:]}") from error
        finally:
            shared.destroy()
        for row in sorted(rows, key=lambda row: row["id"]):
            result, failure = form.loads(row["result"])
            if failure is not None:
                raise failure
            yield result


def _task(function: Callable[[Any], Any], shared: Any) -> Callable[[Batches], Batches]:
    def work(batches: Batches) -> Batches:
        import pyarrow as pa
        from pyspark.serializers import CPickleSerializer

        form = CPickleSerializer()

        for batch in batches:
            for number in batch.column("id").to_pylist():
                outcome = form.dumps(_outcome(function, form.loads(shared.value[number])))
                columns = [pa.array([number], pa.int64()), pa.array([outcome], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, ["id", "result"])

    return work


def _outcome(function: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
    """The result or the error; an error of disk or memory is raised, so that Spark tries the task again elsewhere."""
    import duckdb

    try:
        return function(item), None
    except (OSError, MemoryError, duckdb.IOException, duckdb.OutOfMemoryException):
        raise
    except Exception as error:
        return None, error
