"""A small state folder for the service: a bundle fitted on made-up points, and a snapshot that holds them."""

import asyncio
import contextlib
import json
from pathlib import Path

import duckdb
import httpx
import pytest

from serve.app import create_app
from serve.settings import Settings

RATES = (1000.0, 2000.0, 3000.0, 4000.0)
FIXED_ENGINES, PER_TRAN_US = 0.4, 1500.0


def rows(system: str = "shop") -> list[dict]:
    """Points of a system with a fixed part and a constant cost per transaction, with a little scatter."""
    scatter = (1.002, 0.999, 1.001, 0.998)
    used = [(FIXED_ENGINES + rate * PER_TRAN_US * 1e-6) * wobble for rate, wobble in zip(RATES, scatter, strict=True)]
    return [
        {
            "system_id": system,
            "point": str(number),
            "condition": f"point={number}",
            "workload": "web",
            "is_run": True,
            "engines": 8,
            "n_intervals": 5,
            "seconds": 1500.0,
            "etr_tps": rate,
            "cpu_busy_pct": 100.0 * engines / 8,
            "web_cpu_pct": 90.0 * engines,
        }
        for number, (rate, engines) in enumerate(zip(RATES, used, strict=True), start=1)
    ]


@pytest.fixture(scope="session")
def bundle() -> dict:
    """A fitted bundle named test/1."""
    from model.calibration.points import CapacityModel
    from model.capacity import bundle as bundles

    fitted = CapacityModel().fit(rows())
    return bundles.build(fitted.systems_, model_version="test/1", data={"files": "1"}, validation={"passed": True})


def publish(home: Path, points: list[dict]) -> None:
    """Put a snapshot with these measured points in place, as a whole."""
    target = home / "published" / "etalon.duckdb"
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_suffix(".new")
    source = home / "points.json"
    source.write_text(json.dumps(points))
    with duckdb.connect(str(beside)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(f"CREATE TABLE marts.fct_point AS SELECT * FROM read_json('{source}')")
    beside.replace(target)


@pytest.fixture
def home(tmp_path: Path, bundle: dict) -> Path:
    """A state folder with a champion, a snapshot and a quality report."""
    from model.capacity import bundle as bundles

    bundles.write(bundle, tmp_path / "models" / "champion.json")
    publish(tmp_path, rows())
    (tmp_path / "quality").mkdir()
    (tmp_path / "quality" / "index.html").write_text("<!doctype html><title>Data quality</title>")
    return tmp_path


class Client:
    """Requests to an application in this process."""

    def __init__(self, home: Path, **settings) -> None:
        self.app = create_app(Settings(home=home, **settings))

    def __call__(self, method: str, path: str, **more) -> httpx.Response:
        """One request."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())

    def ask(self, path: str, question: object, **more) -> httpx.Response:
        """POST a question."""
        return self("POST", path, json=question, **more)


def processes(address: str) -> tuple[int, dict[int, int]]:
    """The process that was started to listen at an address, and the parent of each that came of it."""
    setting = f"ETALON_PORT={address.rsplit(':', 1)[1]}\0".encode()
    parents = {}
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if setting in environment.read_bytes():
                stat = (environment.parent / "stat").read_text()
                parents[int(environment.parent.name)] = int(stat.rpartition(")")[2].split()[1])
    service = next(process for process, parent in parents.items() if parent not in parents)
    return service, {process: parent for process, parent in parents.items() if process != service}


def examples(described: dict) -> list[tuple[str, dict]]:
    """The address and the body of every example of an OpenAPI description."""
    found = []
    for path, methods in described["paths"].items():
        body = methods.get("post", {}).get("requestBody")
        if body:
            name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            found += [(path, example) for example in described["components"]["schemas"][name]["examples"]]
    return found


@pytest.fixture
def client(home: Path) -> Client:
    """The service without a token."""
    return Client(home)


def version(name: str, error_pct: float) -> dict:
    """A registered version that holds PRDA; the second keeps its calibration from the first."""
    kept = {"model_version": "test/1", "reason": "it was nearer"} if name == "test/2" else None
    own = {"system": "PRDA", "period": ["2026-09-07T00:00:00", "2026-09-22T23:00:00"], "points": 0, "passed": True}
    error = {"system": "PRDA", "held_out": "later days", "metric": "cpu_busy_pct", "error_pct": error_pct}
    response = error | {"metric": "response_ms"}
    errors = [error, response | {"class": "CICSHI", "error_pct": 0.5}, response | {"class": "BATCH", "error_pct": 7.9}]
    about = {"model_version": name, "registered_at": "2026-09-23T02:00:00+00:00", "promoted": True}
    return {**about, "systems": [{**own, "kept": kept}], "errors": errors}


@pytest.fixture(scope="session")
def recorded_home(tmp_path_factory, bundle: dict) -> Path:
    """A state folder with a system of measured points and an LPAR with a history, both in model and snapshot."""
    from model.capacity import bundle as bundles
    from tests.serve.recorded import modelled, record

    home = tmp_path_factory.mktemp("recorded")
    error = {
        "system": "PRDA",
        "held_out": "later days",
        "metric": "cpu_busy_pct",
        "class": "",
        "n": 40,
        "coverage": 0.85,
    }
    error |= {"error_pct": 1.25, "worst_pct": 4.0, "half_width_pct": 2.0, "baseline": "same hour last week"}
    validation = {"passed": True, "errors": [error | {"baseline_pct": 3.5}]}
    both = {**bundle, "systems": {**bundle["systems"], "PRDA": modelled()}, "validation": validation}
    bundles.write(both, home / "models" / "champion.json")
    bundles.write({"versions": [version("test/2", 1.0), version("test/1", 1.25)]}, home / "models" / "versions.json")
    publish(home, rows())
    record(home)
    (home / "quality").mkdir()
    (home / "quality" / "index.html").write_text("<!doctype html><title>Data quality</title>")
    return home
