"""The service as a process."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from pipelines import asking
from pipelines.home import Home
from tests.serve.conftest import processes

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"mlflow", "sklearn", "pandas", "scipy", "numba", "dagster", "ingest", "pipelines"}


def test_the_process_that_is_asked_loads_no_scientific_stack(home):
    code = (
        "import sys; from serve.app import create_app; from serve.settings import settings; import serve.server\n"
        "import asyncio, httpx\n"
        "async def ask():\n"
        "    transport = httpx.ASGITransport(app=create_app(settings()))\n"
        "    async with httpx.AsyncClient(transport=transport, base_url='http://localhost') as client:\n"
        "        answers = [await client.post('/v1/predict', json={'system': 'shop'}),\n"
        "                   await client.get('/v1/systems/shop/points'), await client.get('/metrics')]\n"
        "        assert [a.status_code for a in answers] == [200, 200, 200], [a.text for a in answers]\n"
        "asyncio.run(ask())\n"
        f"print(sorted({HEAVY | {'numpy'}} & set(sys.modules)))\n"
    )
    environment = {**os.environ, "ETALON_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_processes_that_evaluate_load_no_more_than_arithmetic_takes():
    heavy = HEAVY | {"fastapi", "duckdb"}
    code = f"import sys, serve.answering, serve.trial, serve.workers; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_process_answers_over_http_and_stops_when_told(home):
    with asking.service(Home(home)) as address:
        answer = asking.ask(address, "/v1/predict", {"system": "shop", "at": {"etr_tps": 2000}})
        assert answer["model_version"] == "test/1"
    logged = [json.loads(line) for line in (home / "serve.log").read_text().splitlines()]
    assert ("/v1/predict", 200) in {(one.get("path"), one.get("status")) for one in logged}


def test_a_service_whose_parent_ignores_the_signal_stops_without_a_word_that_is_no_log(home):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with asking.service(Home(home)):
            pass
    finally:
        signal.signal(signal.SIGTERM, before)
    assert all(json.loads(line)["event"] for line in (home / "serve.log").read_text().splitlines())


def test_a_service_that_is_stopped_answers_what_is_under_way(home):
    many = json.dumps({"questions": [{"kind": "explain", "question": {"system": "shop"}}] * 30}).encode()
    head = b"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with (
        asking.service(Home(home)) as address,
        socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1]))) as connection,
    ):
        # Both are sent at once, so that the second is under way when the first is answered.
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + head % len(many) + many)
        received = connection.recv(65536)
        os.kill(processes(address)[0], signal.SIGTERM)
        while part := connection.recv(1 << 20):
            received += part
    body = received.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[2]
    assert len(json.loads(body)["answers"]) == 30


def test_a_taken_port_is_one_clear_message_and_its_exit_code(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code = "import sys; from pipelines.cli import main; main(sys.argv[1:])"
        command = [sys.executable, "-c", code, "serve", "--port", str(taken.getsockname()[1])]
        environment = {**os.environ, "ETALON_HOME": str(home)}
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert "choose another --port" in done.stderr
    assert "Traceback" not in done.stderr
