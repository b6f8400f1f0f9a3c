"""A Spark cluster of processes on loopback: a master, and workers of one core that can be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.ui.showConsoleProgress": "false",
}


class Cluster:
    """The address of the master, and the workers as processes, each with its executors in a group of its own."""

    def __init__(self, address: str, workers: list[subprocess.Popen[bytes]]) -> None:
        self.address = address
        self.workers = workers

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executors and their Python processes, at once."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)


@contextmanager
def running(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster until the block ends; what its processes print is in the folder."""
    import pyspark

    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    role = "org.apache.spark.deploy"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[program, f"{role}.master.Master", *here, "--port", str(port)]]
    for number in range(workers):
        room = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
        commands.append([program, f"{role}.worker.Worker", *here, *room, address])
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            log = folder / f"process{number}.log"
            with log.open("wb") as stream:
                started.append(
                    subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, start_new_session=True)
                )
            _wait_for(log, "I have been elected leader" if not number else "Successfully registered with master")
        yield Cluster(address, started[1:])
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(log: Path, line: str) -> None:
    deadline = time.monotonic() + 300
    while line not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
