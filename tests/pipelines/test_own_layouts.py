"""An installation's own layouts through the command line, following the pages that describe them word for word."""

import json
import re
import shutil
from pathlib import Path

import pytest

from ingest.formats.smf import encode_dump
from ingest.registry import load
from pipelines.exits import Exit
from tests.ingest.tables import random_tables
from tests.pipelines.conftest import ROOT, run_etalon

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def fences(text: str, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text) if kind == language]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with the worked example's layouts and log, and the page's text."""
    folder, text = tmp_path_factory.mktemp("own"), page("ims-log-layouts.md")
    (folder / "layouts").mkdir()
    (folder / "layouts" / "ims_log_31.toml").write_text(fences(text, "toml")[0])
    (folder / "LOGFILE").write_bytes(bytes.fromhex(fences(text, "")[1]))
    return folder, text


def test_the_worked_example_of_a_log_layout_becomes_the_rows_it_says(log):
    folder, text = log
    home = folder / "home"
    arguments = re.search(r"`etalon (ingest --layouts layouts LOGFILE)`", text)[1].split()
    arguments = [str(folder / word) if word in ("layouts", "LOGFILE") else word for word in arguments]
    done = run_etalon(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["files"]
    assert (report["kind"], report["decoded"], report["skipped"]) == ("ims_log", 1, {})
    assert run_etalon(home, "publish").returncode == 0
    sql = "SELECT qlguflg, qlgupst, hex(qlguuow) AS qlguuow, qlgudest FROM raw.ims_log_31_record"
    (row,) = json.loads(run_etalon(home, "sql", "--json", sql).stdout)
    names, shown = ROW.findall(text[text.index("becomes this row") :])[:2]
    assert list(row) == names.split(" | ")
    assert [str(value) for value in row.values()] == [cell.strip("`") for cell in shown.split(" | ")]
    sql = "SELECT event, transaction_code, pst_number, unit_of_work FROM raw.ims_log_event"
    (event,) = json.loads(run_etalon(home, "sql", "--json", sql).stdout)
    expected = {"event": "get", "transaction_code": "PART", "pst_number": 7, "unit_of_work": row["qlguuow"]}
    assert event == expected


def test_a_record_type_of_ones_own_gets_its_staging_view(tmp_path, monkeypatch):
    text = page("how-to-add-a-record-type.md")
    digits = "".join(line.split("    ")[0] for line in fences(text, "text")[0].splitlines())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "doors.toml").write_text(fences(text, "toml")[0])
    (tmp_path / "doors.smf").write_bytes(bytes.fromhex(digits))
    home = tmp_path / "home"
    monkeypatch.setenv("ETALON_LAYOUTS", str(tmp_path / "own"))
    assert run_etalon(home, "ingest", str(tmp_path / "doors.smf")).returncode == 0
    assert run_etalon(home, "publish").returncode == 0
    monkeypatch.delenv("ETALON_LAYOUTS")
    columns = "door_name, is_locked, kind, openings, open_us, load_average"
    sql = f"SELECT {columns} FROM staging.stg_smf210_4_door ORDER BY section_seq"
    rows = json.loads(run_etalon(home, "sql", "--json", sql).stdout)
    names, *shown = ROW.findall(text[text.index("are these rows of") :])[:3]
    assert list(rows[0]) == names.split(" | ")
    found = [" | ".join(json.dumps(value).strip('"') for value in row.values()) for row in rows]
    assert found == shown
    # In the state folder they hold for every command.
    (tmp_path / "own").rename(home / "layouts")
    done = run_etalon(home, "decode", str(tmp_path / "doors.smf"))
    doors = [json.loads(line) for line in done.stdout.splitlines() if '"smf210_4_door"' in line]
    assert [door["doorname"] for door in doors] == ["FRONT", "BACK"]


@pytest.mark.parametrize("command", ["ingest", "decode"])
def test_a_layout_with_a_mistake_is_refused_before_anything_is_read(log, tmp_path, command):
    folder, _ = log
    bad = (folder / "layouts" / "ims_log_31.toml").read_text().replace('"QLGUPST", 8, 2', '"QLGUPST", 4, 2')
    (tmp_path / "ims_log_31.toml").write_text(bad)
    done = run_etalon(tmp_path / "home", command, "--layouts", str(tmp_path), str(folder / "LOGFILE"))
    assert done.returncode == Exit.NO_INPUT
    assert f"{tmp_path / 'ims_log_31.toml'}, line " in done.stderr
    assert "QLGUPST" in done.stderr and "overlaps" in done.stderr and "Traceback" not in done.stderr
    done = run_etalon(tmp_path / "home", command, "--layouts", str(tmp_path / "none"), str(folder / "LOGFILE"))
    assert done.returncode == Exit.NO_INPUT
    assert "no such folder" in done.stderr


def test_files_that_were_loaded_before_their_layouts_came_say_how_to_load_them_anew(tmp_path, log):
    text = page("how-to-add-a-record-type.md")
    layouts = tmp_path / "own"
    shutil.copytree(log[0] / "layouts", layouts)
    (layouts / "doors.toml").write_text(fences(text, "toml")[0])
    digits = "".join(line.split("    ")[0] for line in fences(text, "text")[0].splitlines())
    # The log, of which no record was decoded, is loaded anew unasked.
    known = load()
    decoded = encode_dump(random_tables(known.layout_for(30, 2), 1, 1), known)
    (tmp_path / "doors.smf").write_bytes(bytes.fromhex(digits) + decoded)
    arguments = ["ingest", str(tmp_path / "doors.smf"), str(log[0] / "LOGFILE")]
    assert "--reload" not in run_etalon(tmp_path / "home", *arguments).stderr
    arguments += ["--layouts", str(layouts)]
    said = run_etalon(tmp_path / "home", *arguments).stderr
    assert "for 1 record of type 210.4; to load it with the present layouts, add --reload outdated" in said
    assert "ims.31" not in said
    done = run_etalon(tmp_path / "home", *arguments, "--reload", "outdated", "--json")
    assert [report["decoded"] for report in json.loads(done.stdout)["files"]] == [2, 1]
    assert "--reload" not in run_etalon(tmp_path / "home", *arguments).stderr
