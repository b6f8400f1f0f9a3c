"""Damaged files of the state: every command names the file and the remedy, or goes on and says so; none crashes."""

import json
import shutil

import pytest

from ingest import registry
from ingest.warehouse import open_writer, prepare, publish
from pipelines.exits import Exit
from pipelines.home import Home
from state.catalogue import CATALOGUE
from tests.pipelines.conftest import run_etalon
from tests.state.damages import DAMAGES, SOUND

#: Files that people write, which commands refuse when they are damaged.
WRITTEN_BY_HAND = ("etalon.toml", "metrics.toml", "machines.csv", "prices.csv", "alerts.toml", "layouts/own.toml")
COMMANDS = {
    "doctor": ("doctor",),
    "champion": ("champion",),
    "predict": ("predict", "shop"),
    "headroom": ("headroom", "shop"),
    "systems": ("systems",),
    "token": ("token", "someone"),
    "alerts": ("alerts", "acknowledge", "PRDA"),
    "sql": ("sql", "SELECT 1 AS one"),
    "publish": ("publish",),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory, few_layouts):
    """A state folder with each small file, an empty warehouse and its snapshot."""
    home = Home(tmp_path_factory.mktemp("state"))
    for kind in CATALOGUE:
        kind.write(home.root / kind.name.replace("*", "26"), SOUND[kind.name])
    prepare(home.warehouse, few_layouts.registry)
    with open_writer(home.warehouse) as con:
        con.execute("CREATE SCHEMA marts")
    publish(home.warehouse, home.snapshot)
    return home


@pytest.fixture
def home(sound, tmp_path, few_layouts, monkeypatch):
    monkeypatch.setattr(registry, "LAYOUT_DIR", few_layouts.folder)
    shutil.copytree(sound.root, tmp_path / "state")
    return Home(tmp_path / "state")


@pytest.mark.parametrize("damage", ["one byte is not UTF-8", "cut short", "nested beyond reason", "a number"])
@pytest.mark.parametrize("name", [*(kind.name for kind in CATALOGUE), *WRITTEN_BY_HAND])
def test_every_command_names_a_damaged_file_or_does_without_it(home, name, damage):
    path = home.root / name.replace("*", "26")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(DAMAGES[damage])
    for command, words in COMMANDS.items():
        done = run_etalon(home.root, *words)
        said = done.stdout + done.stderr
        assert "Traceback" not in said and "--debug" not in said, (command, said)
        if command == "doctor":
            findings = json.loads(run_etalon(home.root, *words, "--json").stdout)["checks"]
            assert any(path.name in f["seen"] and f["remedy"] for f in findings if f["status"] == "bad"), said
        elif done.returncode not in (Exit.OK, Exit.QUESTION, Exit.NOT_READY):
            assert path.name in said, (command, done)
