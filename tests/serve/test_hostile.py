"""Clients that send too much, too slowly, or too many at once, against the process as it ships."""

import itertools
import json
import os
import resource
import select
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from model.capacity import bundle as bundles
from pipelines import asking
from pipelines.home import ROOT, Home
from serve import protocol

DESCRIPTORS = 200
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def address(tmp_path_factory, bundle):
    """A service that may have few descriptors, and gives a request two seconds."""
    home = Home(tmp_path_factory.mktemp("hostile"))
    bundles.write(bundle, home.champion)
    code = (
        "import serve.protocol as p; p.REQUEST_SECONDS = 2.0; p.WRITE_SECONDS = 2.0\n"
        "from serve.server import run; from serve.settings import settings; run(settings())"
    )
    port = asking.free_port()
    environment = {**os.environ, **home.environment(), "ETALON_PORT": str(port)}
    log = home.root / "serve.log"

    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    with (
        log.open("w") as sink,
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            stdout=sink,
            stderr=sink,
            preexec_fn=few_descriptors,
        ) as process,
    ):
        try:
            asking.wait_until_ready(process, f"http://127.0.0.1:{port}/readyz", str(log))
            yield ("127.0.0.1", port)
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()


def said(address, *parts: bytes, half_close: bool = False) -> bytes:
    """What a connection gets for these bytes until it is closed."""
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            # Closed while sending: the answer may still be there to read.
            pass
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
        return received


def get(address, path: str = "/healthz", host: str = "localhost") -> int:
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return int(said(address, request.encode()).split()[1])


def post(body: bytes, path: str = "/v1/predict", more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_header_without_end_is_refused_and_probes_go_on(address):
    endless = [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ", *[b"a" * 65536] * 100]
    assert said(address, *endless).split()[1] == b"400"
    assert get(address) == 200


def test_many_small_headers_are_refused_too(address):
    assert said(address, b"GET / HTTP/1.1\r\nHost: x\r\n", *[b"X-Many: abcdefgh\r\n" * 1000] * 10).split()[1] == b"400"


def test_a_body_of_a_usual_size_passes_in_one_piece_with_its_header(address):
    body = json.dumps({"system": "shop", "at": {"note": "x" * 60_000}}).encode()
    assert said(address, post(body)).split()[1] == b"422"


def test_a_body_that_is_too_large_is_refused_before_it_comes(address):
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
    assert said(address, head).split()[1] == b"413"


def test_an_endless_body_is_refused(address):
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert said(address, head, *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 50).split()[1] == b"413"


@pytest.mark.parametrize("begun", [b"1;note=", b"0\r\nX-Note: "])
def test_what_chunks_say_beside_the_body_is_not_kept_without_end(address, begun):
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert said(address, head, begun, *[b"a" * 65536] * 100).split()[1] == b"400"


def test_the_host_is_what_the_header_says_once(address):
    twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert said(address, twice).split()[1] == b"400"
    head = b"POST /v1/predict HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert said(address, head + b"0\r\nHost: localhost\r\n\r\n").split()[1] == b"421"


def test_requests_that_do_not_end_and_connections_that_ask_nothing_are_closed_in_time(address):
    body = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"
    with ThreadPoolExecutor(4) as clients:
        begun = (b"GET /healthz HTT", body, b"", b"\r\n\r\n")
        assert list(clients.map(lambda part: said(address, part).split()[1:2], begun)) == [[], [b"408"], [], [b"400"]]


def test_a_header_that_comes_byte_by_byte_is_closed_in_time(address):
    with socket.create_connection(address, timeout=PATIENCE_S) as connection, pytest.raises(ConnectionError):
        for byte in itertools.cycle(b"x"):
            connection.sendall(bytes([byte]))
            # A closed connection is readable.
            select.select([connection], [], [], 0.1)


def test_requests_ahead_of_their_answers_are_answered_one_at_a_time(address):
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert said(address, request * 50 + last).count(b"HTTP/1.1 200 OK") == 51


def test_more_silent_connections_than_descriptors_do_not_keep_others_out(address):
    with ExitStack() as stack:
        for _ in range(2 * DESCRIPTORS):
            stack.enter_context(socket.create_connection(address, timeout=PATIENCE_S))
        assert get(address) == 200
    assert get(address) == 200


def test_a_client_that_asks_on_without_reading_is_dropped(address):
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(address, timeout=PATIENCE_S) as connection, pytest.raises(ConnectionError):
        for _ in range(100_000):
            connection.sendall(request * 100)
    assert get(address) == 200


def test_what_is_no_http_is_refused(address):
    answer = said(address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    assert answer.split()[1] == b"400"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", ""])
def test_a_name_that_is_not_the_service_s_is_refused(address, host):
    assert get(address, "/v1/systems", host) == 421


@pytest.mark.parametrize("host", ["localhost", "LocalHost.:8321", "127.0.0.1:1", "[::1]:8321"])
def test_local_names_and_addresses_are_the_service_s(address, host):
    assert get(address, "/healthz", host) == 200


@pytest.mark.parametrize(
    "path", ["/quality/" + "a" * 300, "/quality/" + "a/" * 3000, "/v1/systems/" + "x" * 5000 + "/points"]
)
def test_a_name_longer_than_any_file_s_is_not_found(address, path):
    assert get(address, path) == 404


@pytest.mark.parametrize(
    "question",
    [
        {"system": "shop", "at": {"etr_tps": 1e160}},
        {"system": "shop", "at": {"engines": 1e300}},
        {"system": "shop", "at": {"growth_pct.shop": 1e308}},
        {"system": "\x00" * 100},
        {"system": "shop", "at": {"limit." + "x" * 50_000: 1}},
    ],
)
def test_numbers_and_names_without_measure_are_refused_and_no_fault(address, question):
    answer = said(address, post(json.dumps(question).encode()))
    assert answer.split()[1] == b"422"
    assert b"Traceback" not in answer


def test_probes_are_answered_while_many_ask(address):
    sweep = json.dumps({"system": "shop", "key": "engines", "from": 1, "to": 100, "steps": 100}).encode()
    found: list[bytes] = []
    askers = [threading.Thread(target=lambda: found.append(said(address, post(sweep, "/v1/sweep")))) for _ in range(32)]
    for asker in askers:
        asker.start()
    while any(asker.is_alive() for asker in askers):
        assert get(address) == 200
    for asker in askers:
        asker.join()
    assert {answer.split()[1] for answer in found} <= {b"200", b"503"}


def test_the_limits_leave_room_for_descriptors_of_its_own():
    assert protocol.max_connections() <= protocol.MAX_CONNECTIONS
