"""The service as a process, and its page in a real browser."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import asking
from pipelines.home import Home

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "serve" / "page"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def test_the_process_loads_no_scientific_stack(home):
    code = (
        "import sys; from serve.app import create_app; from serve.settings import Settings; import serve.server\n"
        "import asyncio, httpx\n"
        "async def ask():\n"
        "    transport = httpx.ASGITransport(app=create_app(Settings()))\n"
        "    async with httpx.AsyncClient(transport=transport, base_url='http://localhost') as client:\n"
        "        answers = [await client.post('/v1/predict', json={'system': 'shop'}),\n"
        "                   await client.get('/v1/systems/shop/points'), await client.get('/metrics')]\n"
        "        assert [a.status_code for a in answers] == [200, 200, 200], [a.text for a in answers]\n"
        "asyncio.run(ask())\n"
        "heavy = {'mlflow', 'sklearn', 'pandas', 'scipy', 'numba', 'dagster', 'ingest', 'pipelines'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    environment = {**os.environ, "ETALON_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_process_answers_over_http_and_stops_when_told(home):
    with asking.service(Home(home)) as address:
        answer = asking.ask(address, "/v1/predict", {"system": "shop", "at": {"etr_tps": 2000}})
        assert answer["model_version"] == "test/1"
    assert '"event": "request"' in (home / "serve.log").read_text()


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


def test_no_file_of_the_page_names_another_host():
    for path in PAGE.iterdir():
        hosts = set(re.findall(r"https?://[^\s\"'`)$]+", path.read_text(encoding="utf-8")))
        assert hosts <= {"http://www.w3.org/2000/svg"}, path.name


def dom(address: str, folder: Path) -> str:
    """The page after its scripts have run, from a browser; skips where there is none."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no browser found: install chromium to run the page's test")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command = [browser, *flags, f"--user-data-dir={folder}", "--virtual-time-budget=15000", "--dump-dom", address]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return out


@pytest.mark.browser
def test_a_planner_sees_answer_interval_bottleneck_plot_and_evidence(home, tmp_path_factory):
    with asking.service(Home(home)) as address:
        seen = dom(f"{address}/#shop", tmp_path_factory.mktemp("browser"))
    assert 'data-ready="yes"' in seen
    headline = re.search(r'<p id="headline"[^>]*>(.*?)</p>', seen, re.DOTALL)
    assert headline is not None
    assert "At 4,000" in headline[1]
    assert "90 % interval" in headline[1]
    assert seen.count('class="dot"') == 4
    assert 'class="band"' in seen
    assert "general-purpose CPs" in seen
    assert "test/1" in seen
    assert 'href="/quality/index.html"' in seen


@pytest.mark.browser
def test_a_service_without_a_champion_says_so_on_its_page(tmp_path, tmp_path_factory):
    with asking.service(Home(tmp_path), "/healthz") as address:
        seen = dom(address, tmp_path_factory.mktemp("browser"))
    assert 'data-ready="no"' in seen
    assert "no champion" in seen
