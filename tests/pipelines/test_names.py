"""A month of records whose names have every character that z/OS allows goes from the dump to report and service."""

import csv
import html
import random
import re
import sqlite3
from contextlib import closing
from urllib.parse import quote

import pytest
from lxml import etree

from model.capacity import bundle as bundles
from model.lab.twin import Twin, live, write
from model.names import from_csv_cell, metric_key
from model.network import Network
from pipelines.home import Home
from tests.pipelines.conftest import ROOT, run_etalon
from tests.serve.conftest import Client

LETTERS, NATIONAL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "#$@"
EVERY = LETTERS + NATIONAL + "_0123456789"
TWINS = ROOT / "model" / "lab" / "twin" / "twins"


def drawn(seed, lengths, begins):
    """Names of these lengths with every allowed character in them, and among them these at their beginnings."""
    draw = random.Random(seed)
    least = draw.sample(EVERY, len(EVERY))
    rest = least + draw.choices(EVERY, k=sum(lengths) - len(begins) - len(least))
    names = []
    for length, first in zip(lengths, begins, strict=True):
        names.append(first + "".join(rest.pop() for _ in range(length - 1)))
    assert len(set(names)) == len(names)
    return names


SID_A, SID_B = "$A#B", "@1$Z"
HIGH, LOW, OTHER, NIGHT, *WORKLOADS = drawn(7, [8] * 8, "$_@#_$X#")
SYSTEMS = {"=$A#S_@1": (SID_A, (HIGH, LOW)), "_@B$#": (SID_B, (OTHER, NIGHT))}
"""By name, the SMF identifier and the service classes."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A state folder in which the month was loaded, built, fitted and published, by commands alone."""
    folder = tmp_path_factory.mktemp("names")
    network = (TWINS / "lpars-weights.network.toml").read_text()
    twin = (TWINS / "lpars-weights.toml").read_text().replace("interval_s = 900", "interval_s = 3600")
    twin = twin.replace("days = 21", "days = 28")
    network = network.replace("PRDA cp", f"{SID_A} cp").replace("PRDB cp", f"{SID_B} cp")
    for old, new in zip(("ALPHA1", "ALPHA2", "BETA1", "BETA2"), (HIGH, LOW, OTHER, NIGHT), strict=True):
        twin = twin.replace(f'"{old}"', f'"{new}"')
    for old, new in zip(("CICS", "WEB", "DB2", "IMS"), WORKLOADS, strict=True):
        twin = twin.replace(f'workload = "{old}"', f'workload = "{new}"')
    (folder / "lpars-weights.network.toml").write_text(network)
    (folder / "lpars-weights.toml").write_text(twin)
    dumps = write(live(Twin.load(folder / "lpars-weights.toml")), folder / "landed #1")
    groups = folder / "landed #1" / "$ops.groups.csv"
    with groups.open("w", newline="") as sink:
        rows = csv.writer(sink)
        rows.writerow(("system_id", "smf_sid", "kind", "pattern", "workload", "address_space_group"))
        for system, (sid, names) in SYSTEMS.items():
            rows.writerows((system, sid, "service_class", name, name, name) for name in names)
    assert {dump.stem.rpartition(".")[2] for dump in dumps} == {SID_A, SID_B}
    home = Home(folder / "state")
    for command in (("ingest", folder / "landed #1"), ("build",), ("fit",)):
        done = run_etalon(home.root, *command)
        assert done.returncode == 0, done.stderr
        assert "failed" not in done.stderr
    return home


@pytest.mark.slow
def test_every_name_is_what_it_was_in_the_champion_and_its_evidence(home):
    bundle = bundles.read(home.champion)
    assert list(bundle["systems"]) == sorted(SYSTEMS) and bundle["refused"] == {}
    classes = {name for parameters in bundle["systems"].values() for name in parameters.class_names}
    assert classes == {HIGH, LOW, OTHER, NIGHT}
    with closing(sqlite3.connect(home.mlflow / "mlflow.db")) as con:
        logged = {key for (key,) in con.execute("SELECT key FROM latest_metrics")}
    figure = ("later days", "response_ms", HIGH, "median_abs_error_pct")
    assert metric_key("=$A#S_@1", *figure) in logged
    [folder] = home.mlflow.rglob("networks")
    assert len([Network.load(path) for path in folder.iterdir()]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_report_names_every_class_as_it_is(home, system, tmp_path):
    done = run_etalon(home.root, "report", system, "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    own = SYSTEMS[system][1]
    [title] = re.findall(r"<h1>(.*?)</h1>", page)
    assert system in html.unescape(title)
    tables = etree.HTML(page)
    assert {*own} <= {cell.text for cell in tables.iter("td")}
    drawn = {text.text for text in tables.iter("text")}
    assert {name.lower() for name in own} <= drawn


@pytest.mark.slow
def test_the_service_answers_for_every_name(home):
    client = Client(home.root)
    for system, (_, own) in SYSTEMS.items():
        path = f"/v1/systems/{quote(system, safe='')}"
        for name in own:
            answer = client.ask("/v1/predict", {"system": system, "at": {f"growth_pct.{name}": 20}})
            assert answer.status_code == 200, answer.text
            assert {f"class={name}"} <= {output["condition"] for output in answer.json()["outputs"]}
            found = client("GET", f"{path}/classes/{quote(name, safe='')}?every=day")
            assert found.status_code == 200 and found.json()["class_name"] == name, found.text
        assert client("GET", f"{path}/history?every=day").status_code == 200
        sized = client.ask("/v1/max-rate", {"system": system, "max_busy_pct": 90})
        assert sized.status_code == 200, sized.text
        far = client.ask("/v1/predict", {"system": system, "at": {"growth_pct": 500}})
        assert far.status_code == 200 and far.json()["extrapolated"]
    exposed = client("GET", "/metrics").text
    assert all(f'system="{system}"' in exposed for system in SYSTEMS)


@pytest.mark.slow
def test_pages_and_exports_have_every_name(home, tmp_path):
    done = run_etalon(home.root, "export", "marts", "--to", "csv", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "fct_service_class.csv").open(newline="", encoding="utf-8") as rows:
        cells = [row["class_name"] for row in csv.DictReader(rows)]
    assert {HIGH, LOW, OTHER, NIGHT} <= {from_csv_cell(cell) for cell in cells}
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    page = html.unescape((home.quality / "index.html").read_text(encoding="utf-8"))
    assert all(system in page and sid in page for system, (sid, _) in SYSTEMS.items())
    done = run_etalon(
        home.root, "sql", "--csv", f"select distinct system_id from marts.dim_system where smf_sid = '{SID_A}'"
    )
    assert done.stdout.splitlines()[1:] == ['"\'=$A#S_@1"']
