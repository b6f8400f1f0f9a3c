"""A PostgreSQL server of the tests' own, where one is installed."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: PostgreSQL refuses to run as root.
_USER = "postgres" if os.geteuid() == 0 else None


@contextmanager
def serving(*databases: str) -> Iterator[str]:
    """Start a server with these databases; its address without a database. Skips the test where there is none."""
    folders = [*os.environ["PATH"].split(os.pathsep), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    initdb = shutil.which("initdb", path=os.pathsep.join(folders))
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    programs = Path(initdb).resolve().parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="etalon-postgres-", dir="/tmp") as name:
        if _USER:
            shutil.chown(name, _USER)
        data, log = Path(name, "data"), Path(name, "log")
        _run(programs / "initdb", "--pgdata", data, "--auth", "trust", "--username", "etalon", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {name} -c fsync=off"
        _run(programs / "pg_ctl", "start", "--wait", "--pgdata", data, "--log", log, "--options", options)
        try:
            for database in databases:
                _run(programs / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "etalon", database)
            yield f"postgresql+psycopg2://etalon@127.0.0.1:{port}"
        finally:
            _run(programs / "pg_ctl", "stop", "--wait", "--pgdata", data, "--mode", "immediate")


def _run(*command: object) -> None:
    # The server keeps what it is given as output open.
    words = [str(word) for word in command]
    subprocess.run(words, check=True, user=_USER, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
