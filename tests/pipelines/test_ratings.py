"""Ratings of machines that an installation writes into its state folder."""

import json

import pytest
from typer.testing import CliRunner

from pipelines import steps
from pipelines.cli import app
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from tests.model.hardware.sysinfo import FACTORS, sysinfo


def etalon(home, *words):
    return CliRunner().invoke(app, ["--home", str(home), *map(str, words)])


def test_the_text_of_a_linux_lpar_becomes_ratings_that_the_list_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("ETALON_HOME", str(tmp_path / "state"))
    text = tmp_path / "lpar1.txt"
    text.write_text(sysinfo("3931", "705", 380))
    imported = etalon(tmp_path / "state", "machines", "import", text)
    assert imported.exit_code == 0
    assert "3931: 5 ratings, 112,886 SU/s on 1 engine" in imported.output
    listed = json.loads(etalon(tmp_path / "state", "machines", "--json").output)["machines"]
    shown = {one["machine"]: one for one in listed}
    assert [row["engines"] for row in shown["z16"]["ratings"]] == list(range(1, len(FACTORS) + 2))
    assert "lpar1.txt: 3931-705" in shown["z16"]["ratings"][1]["source"]
    assert shown["z13"]["ratings"][0] | {"source": ""} == {
        "engines": 1, "su_per_s": pytest.approx(87_188), "source": "", "confidence": "high"
    }  # fmt: skip
    table = etalon(tmp_path / "state", "machines").output
    assert all(word in table for word in ("z17", "9175", "confidence", "source", "those of the z13 stand in"))


def test_a_text_that_is_no_sysinfo_is_refused_and_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("ETALON_HOME", str(tmp_path / "state"))
    text = tmp_path / "lpar1.txt"
    text.write_text("hello")
    refused = etalon(tmp_path / "state", "machines", "import", text)
    assert refused.exit_code != 0 and "cat /proc/sysinfo" in str(refused.exception)
    assert not (tmp_path / "state" / "machines.csv").exists()


def test_ratings_name_their_line_and_no_folder_of_this_machine(tmp_path):
    home = Home(tmp_path)
    assert steps.imported_ratings(home) == []
    home.machines.write_text("machine,engines,su_per_s\nNEW-705,5,90000\n")
    assert [row["source"] for row in steps.imported_ratings(home)] == ["machines.csv, line 2"]


def test_ratings_that_cannot_be_read_are_told_with_the_file(tmp_path):
    home = Home(tmp_path)
    home.machines.write_text("machine,engines,su_per_s\nNEW-705,5,fast\n")
    with pytest.raises(EtalonError, match=f"{home.machines}.*line 2: needs a machine") as refused:
        steps.imported_ratings(home)
    assert refused.value.code == Exit.NO_INPUT
