"""Every example of the documentation and every example network runs."""

import json
import re
from pathlib import Path

import pytest

from model.network import Network
from model.network.scheduling import DISCIPLINES
from model.network.simulator import simulate
from model.network.simulator.report import as_dict, as_text
from tests.shared import ROOT

PAGES = [ROOT / "docs" / name for name in ("network.md", "simulator.md", "oracles.md", "solvers.md")]
EXAMPLES = sorted((ROOT / "model" / "examples").glob("*.toml"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_of_a_page_run_in_order(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    code = blocks(page, "python")
    assert code
    for number, block in enumerate(code):
        exec(compile(block, f"{page.name} example {number + 1}", "exec"), names)


def test_the_network_of_the_page_is_accepted():
    (text,) = blocks(PAGES[0], "toml")
    network = Network.from_toml(text)
    assert Network.from_toml(network.to_toml()) == network


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_networks_run_and_report(path):
    network = Network.load(path)
    assert Network.from_toml(network.to_toml()) == network
    result = simulate(network, seed=1, horizon=4_000, replications=2)
    data = json.loads(json.dumps(as_dict(result), allow_nan=False))
    assert data["bottleneck"] == result.limits[0].name
    text = as_text(result)
    assert all(name in text for name in network.station_names)


def test_every_scheduling_is_documented() -> None:
    page = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
    table = page.split("| scheduling | who is served |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= set(DISCIPLINES)
