"""Builds on a Spark cluster end as builds in one process, whatever is killed; skipped without pyspark or Java."""

import datetime as dt
import importlib.util
import math
import shutil
import subprocess
import sys
import threading

import pytest

from ingest.warehouse import waves
from pipelines import steps
from pipelines.exits import EtalonError
from pipelines.home import Home
from tests.ingest.units.dumps import dump
from tests.ingest.warehouse.holdings import content, files, named
from tests.pipelines.odd_builds import assert_equal, marts, odd_warehouse
from tests.runners import Twice
from tests.spark import functions
from tests.spark.cluster import ROOT, SETTINGS, Cluster, running

HAS_SPARK = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
with_spark = pytest.mark.skipif(not HAS_SPARK, reason="pyspark or Java is not installed: `make test-spark`")
#: Spark warns of pandas, which it is not asked to use, and leaves sockets to the end of the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
DAY = dt.timedelta(days=1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """A warehouse of odd days, built at once in this process, and its marts."""
    home = odd_warehouse(tmp_path_factory.mktemp("odd"))
    return home, marts(home)


def spark(cluster: Cluster):
    from pipelines.spark import Spark

    return Spark(cluster.address, SETTINGS)


def test_spark_without_pyspark_is_refused_with_what_to_install():
    if importlib.util.find_spec("pyspark") is not None:
        pytest.skip("pyspark is installed")
    from pipelines.runners import open_runner

    with pytest.raises(EtalonError, match="needs pyspark; install it"), open_runner("spark://127.0.0.1:7077"):
        pass


def test_worker_code_needs_none_of_the_libraries_of_drivers():
    """What workers import stands on numpy, pyarrow, numba, duckdb, lxml, xxhash and tomli."""
    program = "import sys; import ingest.units, ingest.running, pipelines.building.windows, pipelines.spark\n"
    program += "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"mlflow", "great_expectations", "dagster", "dbt", "pandas", "sklearn", "fastapi", "typer", "pyspark"}
    assert "duckdb" in done.stdout.split()
    assert not heavy & set(done.stdout.split())


@with_spark
@pytest.mark.timeout(1800)
def test_results_come_in_order_and_errors_as_they_are_raised(cluster):
    with spark(cluster) as runner:
        assert list(runner.run(math.factorial, range(5))) == [1, 1, 2, 6, 24]
        assert list(runner.run(math.factorial, [])) == []
        with pytest.raises(ValueError, match="math domain"):
            list(runner.run(math.sqrt, [4, -1]))
        [packages] = runner.run(functions.imported, [0])
    assert not {"mlflow", "great_expectations", "dagster", "dbt"} & set(packages)


@with_spark
@pytest.mark.timeout(1800)
def test_a_load_on_a_cluster_is_that_of_one_process_whatever_is_killed(tmp_path, monkeypatch):
    """Tasks run twice, a worker is killed, and the driver before it commits; then all is loaded once."""
    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    dumps = [tmp_path / "a.smf", tmp_path / "b.smf"]
    dumps[0].write_bytes(dump("rdw"))
    dumps[1].write_bytes(dump("bdw") + dump("bdw"))
    homes = [Home(tmp_path / name) for name in ("one", "cluster")]
    steps.ingest(homes[0], dumps)
    with running(tmp_path, 2) as cluster:
        command = [sys.executable, "-m", "tests.spark.functions", cluster.address, str(homes[1].root), *map(str, dumps)]
        killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert killed.returncode == -9, killed.stderr[-2000:]
        assert files(homes[1].warehouse) and not named(homes[1].warehouse)
        done = threading.Event()

        def kill_after_the_first_file() -> None:
            before = files(homes[1].warehouse)
            while not done.wait(0.02):
                if files(homes[1].warehouse) - before:
                    cluster.kill_worker(1)
                    return

        killer = threading.Thread(target=kill_after_the_first_file)
        with spark(cluster) as runner:
            killer.start()
            try:
                steps.ingest(homes[1], dumps, runner=Twice(runner, 60_000))
            finally:
                done.set()
                killer.join()
        assert cluster.workers[1].poll() is not None, "the worker was killed"
    assert content(homes[0].warehouse) == content(homes[1].warehouse)
    assert named(homes[1].warehouse) < files(homes[1].warehouse)


@with_spark
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_marts_are_those_of_one_process_where_a_worker_is_killed_and_tasks_run_twice(at_once, tmp_path):
    home, whole = at_once
    folder = home.window.with_name("windows")
    with running(tmp_path, 2) as cluster:
        done = threading.Event()

        def kill_after_the_first_file() -> None:
            while not done.wait(0.05):
                if any(path.stem != "shared" for path in folder.glob("*.duckdb")):
                    cluster.kill_worker(1)
                    return

        killer = threading.Thread(target=kill_after_the_first_file)
        with spark(cluster) as runner:
            killer.start()
            try:
                steps.build(home, everything=True, window=DAY, runner=Twice(runner))
            finally:
                done.set()
                killer.join()
        assert cluster.workers[1].poll() is not None, "the worker was killed"
    assert_equal(whole, marts(home))
    assert not folder.exists()


@with_spark
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_driver_killed_before_it_commits_leaves_what_the_next_build_does_again(cluster, at_once):
    home, whole = at_once
    command = [sys.executable, "-m", "tests.spark.functions", cluster.address, str(home.root)]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    folder = home.window.with_name("windows")
    assert killed.returncode == -9, killed.stderr[-2000:]
    assert any(folder.glob("*.duckdb")), "its tasks have left files"
    steps.build(home, window=DAY)
    assert_equal(whole, marts(home))
    assert not folder.exists()
