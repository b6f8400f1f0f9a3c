"""Starting the service on a free port and asking it something over HTTP."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pipelines.exits import EtalonError
from pipelines.home import ROOT, Home

READY_S = 300.0
"""How long a service may take to start: it imports and tests its champion, on a machine that may be busy."""
ANSWER_S = 120.0
"""How long an answer may take: twice the limit of the service."""
PAUSE_S = 0.05


@contextmanager
def service(home: Home, until: str = "/readyz") -> Iterator[str]:
    """A running service over `home`; yields its address once `until` answers well, and stops it at the end.

    Raises EtalonError when it ends or is not ready in time.
    """
    port = free_port()
    environment = {**os.environ, **home.environment(), "ETALON_HOST": "127.0.0.1", "ETALON_PORT": str(port)}
    log = home.root / "serve.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as sink:
        command = [sys.executable, "-m", "serve"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_ready(process, address + until, str(log))
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ask(address: str, path: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """Post a question and return the answer. Raises EtalonError with the service's message when it refuses."""
    from serve.client import Client, Refused

    with Client(address, os.environ.get("ETALON_TOKEN"), ANSWER_S) as client:
        try:
            return client.post(path, question)
        except Refused as error:
            raise EtalonError(f"the service refused: {error}") from error


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(process: subprocess.Popen[bytes], address: str, log: str, patience_s: float = READY_S) -> None:
    """Wait for a service until an address of it answers well. Raises EtalonError when it ends or does not in time."""
    import urllib.request

    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EtalonError(f"the service ended with code {process.returncode}; see {log}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(PAUSE_S)
    raise EtalonError(f"the service was not ready after {patience_s:.0f} s; see {log}")
