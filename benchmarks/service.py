"""The service beside `mlflow models serve` of the same model: rates, tails, probes under load, start, memory.

`python -m benchmarks.service [HOME]` takes the champion of a state folder that has one, by default ETALON_HOME's. Both
answer different rates of the same systems, in turns, on the same machine. What is wanted stands beside it.
Processor time of the server for an answer tells the same where the machine has other work to do.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines import asking
from pipelines.home import Home

SECONDS = 5.0
TURNS = 8
CLIENTS = 8
# Questions are made before they are asked, so that making them takes nothing of the machine meanwhile.
PREPARED = 1024
Ask = Sequence[bytes]


def main(arguments: Sequence[str]) -> int:
    """Measure and print a table."""
    home = Home(Path(arguments[0])) if arguments else Home.from_environment()
    systems = json.loads(home.champion.read_text())["systems"]
    spans = {name: entry["support_tps"] for name, entry in systems.items()}
    print(f"{'measure':52} {'found':>12} {'wanted':>10}")
    draw = random.Random(1)

    def predict(name: str) -> bytes:
        return _request("/v1/predict", _body({"system": name, "at": {"etr_tps": draw.uniform(*spans[name])}}))

    def invoke(name: str) -> bytes:
        row = [name, draw.uniform(*spans[name])]
        asked = {"dataframe_split": {"columns": ["system_id", "etr_tps"], "data": [row]}}
        return _request("/invocations", _body(asked))

    def sweep(name: str, steps: int = 41, **more: object) -> bytes:
        high = spans[name][1] * draw.uniform(0.9, 1.1)
        question = {"system": name, "key": "etr_tps", "from": high / 4, "to": high, "steps": steps}
        return _request("/v1/sweep", _body(question | more))

    def prepared(made: Callable[[str], bytes]) -> Ask:
        return [made(draw.choice(list(spans))) for _ in range(PREPARED)]

    with asking.service(home) as address:
        port = int(address.rsplit(":", 1)[1])
        server = _listener(port)
        with _mlflow(home) as (their_port, their_server):
            both = {
                "predict": (port, server, prepared(predict)),
                "mlflow models serve": (their_port, their_server, prepared(invoke)),
            }
            for clients in (1, CLIENTS):
                _beside(both, clients)
        whole = [sweep(name, 200) for name in spans] * 5
        _row("sweep of 200 steps, all metrics, median ms", 1e3 * statistics.median(_times(port, whole, 1)), "≤ 250")
        few = prepared(lambda name: sweep(name, metrics=["cpu_busy_pct"]))
        before = _memory_kb(_family(server))
        used = _processor_s(_family(server))
        swept = len(_times(port, few, CLIENTS))
        _row("sweep of 41 steps, answers/s", swept / SECONDS)
        _row("sweep of 41 steps, processor ms an answer", 1e3 * (_processor_s(_family(server)) - used) / swept)
        load = threading.Thread(target=_times, args=(port, few, 64))
        load.start()
        probes = sorted(_times(port, [_request("/healthz")], 1, SECONDS * 0.8))
        load.join()
        _row("/healthz under 64 clients that sweep, p99 ms", 1e3 * _quantile(probes, 0.99), "≤ 50")
        _row("memory gained, MB", (_memory_kb(_family(server)) - before) / 1024, "flat")
    _row("start to ready, s", _start_s(home))
    print(f"load when it ended: {os.getloadavg()[0]:.1f}")
    return 0


def _beside(both: Mapping[str, tuple[int, int, Ask]], clients: int) -> None:
    """Rates of both in turns of a second, so that other work on the machine slows down both alike."""
    times: dict[str, list[float]] = {name: [] for name in both}
    used = dict.fromkeys(both, 0.0)
    for turn in range(-1, TURNS):
        for name, (port, server, ask) in both.items():
            before = _processor_s(_family(server))
            found = _times(port, ask, clients, 1.0)
            # The first turn warms up.
            if turn >= 0:
                times[name] += found
                used[name] += _processor_s(_family(server)) - before
    ours, theirs = both
    for name in both:
        _row(f"{name}, {clients} client(s), answers/s", len(times[name]) / TURNS)
        _row(f"{name}, {clients} client(s), processor ms an answer", 1e3 * used[name] / len(times[name]))
    ordered = sorted(times[ours])
    if clients == 1:
        _row(f"{ours}, median ms", 1e3 * _quantile(ordered, 0.5), "≤ 5")
    _row(f"{ours}, {clients} client(s), p99 / p50", _quantile(ordered, 0.99) / _quantile(ordered, 0.5), "≤ 5")
    ours_s, theirs_s = (used[name] / len(times[name]) for name in both)
    _row(f"{theirs} / {ours}, processor time of an answer", theirs_s / ours_s, "≥ 4")


def _body(question: object) -> bytes:
    return json.dumps(question).encode()


def _row(measure: str, found: float, wanted: str = "") -> None:
    print(f"{measure:52} {found:12.2f} {wanted:>10}", flush=True)


def _quantile(ascending: Sequence[float], part: float) -> float:
    return ascending[min(int(part * len(ascending)), len(ascending) - 1)]


def _times(port: int, ask: Ask, clients: int, seconds: float = SECONDS) -> list[float]:
    """Seconds of every answer that clients get one after the other, each on a connection of its own."""
    found: list[float] = []
    requests, end = itertools.cycle(ask), time.perf_counter() + seconds

    def asked() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            while (start := time.perf_counter()) < end:
                _exchange(connection, next(requests))
                found.append(time.perf_counter() - start)

    threads = [threading.Thread(target=asked) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _request(path: str, body: bytes = b"") -> bytes:
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\n\r\n" + body


def _exchange(connection: socket.socket, request: bytes) -> None:
    """Ask, and read the answer. A client of a library's would take much of the machine."""
    connection.sendall(request)
    received = connection.recv(65536)
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += _more(connection)
    length = received.index(b"content-length: ", 0, end + 2) + len(b"content-length: ")
    missing = end + 4 + int(received[length : received.index(b"\r", length)]) - len(received)
    while missing > 0:
        missing -= len(_more(connection))
    if not received.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{request[:100]!r}: {received[: end + 200]!r}")


def _more(connection: socket.socket) -> bytes:
    if not (part := connection.recv(65536)):
        raise ConnectionError("the service closed the connection")
    return part


def _listener(port: int) -> int:
    """The process that was started to listen there; those it makes have the same environment."""
    listening, parents = set(), _parents()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"ETALON_PORT={port}\0".encode() in environment.read_bytes():
                listening.add(int(environment.parent.name))
    return next(process for process in listening if parents.get(process) not in listening)


def _family(process: int) -> list[int]:
    """A process with all that descend from it."""
    parents, found = _parents(), [process]
    for parent in found:
        found += [child for child, of in parents.items() if of == parent]
    return found


def _parents() -> dict[int, int]:
    """The parent of every process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return parents


def _memory_kb(processes: Sequence[int]) -> int:
    """Resident memory, what they share counted once."""
    lines = [line for one in processes for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _processor_s(processes: Sequence[int]) -> float:
    """Processor time of these processes until now."""
    fields = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def _start_s(home: Home) -> float:
    """The middle of some starts, from the command to the first good answer of /readyz."""
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        with asking.service(home):
            runs.append(time.perf_counter() - start)
    return statistics.median(runs)


@contextmanager
def _mlflow(home: Home) -> Iterator[tuple[int, int]]:
    """`mlflow models serve` of the champion in this environment: its port and its process."""
    port = asking.free_port()
    model = "models:/etalon-capacity@champion"
    command = [str(Path(sys.executable).with_name("mlflow")), "models", "serve", "-m", model]
    command += ["--env-manager", "local", "--port", str(port), "--host", "127.0.0.1"]
    uri = f"sqlite:///{home.root.absolute() / 'mlflow' / 'mlflow.db'}"
    environment = {**os.environ, "MLFLOW_TRACKING_URI": uri, "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    log = home.root / "mlflow-serve.log"
    with (
        log.open("w", encoding="utf-8") as sink,
        subprocess.Popen(command, env=environment, stdout=sink, stderr=sink, start_new_session=True) as process,
    ):
        try:
            asking.wait_until_ready(process, f"http://127.0.0.1:{port}/ping", str(log), 120)
            yield port, process.pid
        finally:
            os.killpg(process.pid, 15)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
