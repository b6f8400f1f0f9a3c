"""The command line: its help, its exit codes, its one clear message."""

import json
import os
import sys
from contextlib import suppress
from importlib import import_module

import pytest
import typer

from pipelines.cli import MODULES, ROLES, app, explain, main
from pipelines.commands.answers import keys, response_target, span
from pipelines.exits import MEANINGS, EtalonError, Exit
from pipelines.home import Home
from pipelines.text import figure, table

COMMANDS = sorted(MODULES)


@pytest.mark.parametrize("module", dict.fromkeys(MODULES.values()))
def test_every_command_of_a_module_is_one_of_the_application(module):
    part = typer.Typer()
    import_module(f"pipelines.commands.{module}").register(part)
    assert set(typer.main.get_group(part).commands) == {name for name, place in MODULES.items() if place == module}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as left:
        typer.main.get_command(app).main([command, "--help"], prog_name="etalon")
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert f"Usage: etalon {command}" in said
    assert len(said.splitlines()[2].strip()) > 10


def test_the_help_lists_every_command_whole_under_its_role(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        typer.main.get_command(app).main(["--help"], prog_name="etalon")
    lines = capsys.readouterr().out.splitlines()
    for role, modules in ROLES.items():
        section = lines[lines.index(f"{role}:") + 1 :]
        section = section[: section.index("")]
        assert [line.split()[0] for line in section] == [name for names in modules.values() for name in names]
        assert [line for line in section if line.endswith("...")] == []


def test_the_help_names_every_exit_code(etalon):
    said = " ".join(etalon("--help").stdout.split())
    for code, meaning in MEANINGS.items():
        assert f"{int(code)} {meaning}" in said


def test_the_help_loads_nothing_heavy():
    import subprocess
    import sys

    code = (
        "import sys; import pipelines.cli\n"
        "heavy = {'dagster', 'mlflow', 'sklearn', 'pandas', 'numba', 'duckdb', 'pyarrow', 'fastapi'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nonsense"], Exit.USAGE, "No such command"),
        (["predict"], Exit.USAGE, "Missing argument"),
        (["predict", "shop"], Exit.NOT_READY, "there is no champion"),
        (["fit"], Exit.NOT_READY, "there is no published snapshot"),
        (["validate"], Exit.NOT_READY, "there is no published snapshot"),
        (["validate", "--studies"], Exit.NOT_READY, "there is no published snapshot"),
        (["predict", "shop", "--at", "etr_tps=many"], Exit.USAGE, "must be a number"),
        (["sql", "select 1"], Exit.NOT_READY, "nothing has been published"),
        (["build"], Exit.NOT_READY, "there is no warehouse"),
        (["check"], Exit.NOT_READY, "there is no warehouse"),
        (["ingest", "/nowhere/at/all.smf"], Exit.NO_INPUT, "/nowhere/at/all.smf"),
        (["decode", "/nowhere/at/all.smf"], Exit.NO_INPUT, "/nowhere/at/all.smf"),
        (["lab", "no-such-system"], Exit.QUESTION, "no-such-system"),
        (["lab", "subsystems", "--seed", "-1"], Exit.USAGE, "--seed"),
        (["solve", "/nowhere/model.toml"], Exit.NO_INPUT, "/nowhere/model.toml"),
        (["predict", "shop", "--at", "etr_tps"], Exit.USAGE, "KEY=VALUE"),
        (["predict", "shop", "--etr-tps", "5"], Exit.USAGE, "--at etr_tps="),
        (["size", "shop", "--growth-pct.NIGHT-BATCH=5"], Exit.USAGE, "--at growth_pct.NIGHT-BATCH="),
        (["size", "shop", "--at", "etr_tps=5"], Exit.USAGE, "name a target"),
        (["sweep", "shop", "engines=4"], Exit.USAGE, "KEY=FROM:TO"),
        (["what-if", "shop"], Exit.USAGE, "--with"),
        (["max-rate", "shop"], Exit.NOT_READY, "there is no champion"),
    ],
)
def test_what_cannot_be_done_is_one_clear_message_and_an_exit_code(etalon, arguments, code, said):
    done = etalon(*arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["predict", "shop", "--json"], Exit.NOT_READY),
        (["predict", "--json"], Exit.USAGE),
        (["fit", "--json"], Exit.NOT_READY),
        (["sql", "select 1", "--json"], Exit.NOT_READY),
        (["lab", "subsystems", "--json"], Exit.USAGE),
        (["build", "--json"], Exit.USAGE),
        (["nonsense", "--json"], Exit.USAGE),
        (["solve", "/nowhere/model.toml", "--json"], Exit.NO_INPUT),
        (["doctor", "--coverage", "/nowhere/a.smf", "--json"], Exit.NO_INPUT),
        (["ingest", "/nowhere/at/all.smf", "--json"], Exit.NO_INPUT),
    ],
)
def test_with_json_an_error_is_one_document_too(etalon, arguments, code):
    done = etalon(*arguments)
    assert done.returncode == code
    document = json.loads(done.stdout)
    if arguments[0] == "ingest":
        assert document["files"][0]["status"] == "failed"
    else:
        assert document["error"]["code"] == code and document["error"]["name"] == code.name.lower()
        assert document["error"]["message"] in done.stderr


def test_systems_are_listed_beside_a_champion_of_another_release(etalon, tmp_path):
    champion = Home(tmp_path / "state").champion
    champion.parent.mkdir(parents=True)
    champion.write_text('{"schema": "etalon-bundle/1"}', encoding="utf-8")
    published = Home(tmp_path / "state").definitions
    published.parent.mkdir()
    published.write_text('{"": "a", "ZPRD": "a"}', encoding="utf-8")
    done = etalon("systems", "--json")
    assert done.returncode == 0 and "run `etalon fit`" in done.stderr
    listed = json.loads(done.stdout)["systems"]
    assert len(listed) > 60 and not any(row["predict"] for row in listed)
    assert [row["system"] for row in listed if row["class"] == "own"] == [listed[0]["system"]] == ["ZPRD"]
    short, long = etalon("systems").stdout, etalon("systems", "--reference").stdout
    assert "ZPRD" in short and "cics53-18cp" not in short
    assert short.rstrip().endswith(f"and {len(listed) - 1} reference systems, which `etalon systems --reference` lists")
    assert long.index("ZPRD") < long.index("cics53-18cp")


def test_debug_shows_where_a_fault_happened(etalon):
    with pytest.raises(EtalonError, match="there is no champion"):
        etalon("--debug", "predict", "shop")


def test_a_file_of_no_known_kind_is_reported_and_quarantined(etalon, tmp_path):
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"\x07" * 1000)
    done = etalon("ingest", str(strange), "--json")
    assert done.returncode == Exit.UNRECOGNISED
    report = json.loads(done.stdout)["files"][0]
    assert (report["status"], report["quarantined"]) == ("quarantined", 1)
    assert str(strange) in done.stderr


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "arrow"])
def test_a_rendered_dump_decodes_to_every_form(etalon, tmp_path, form):
    rendered = etalon("lab", "ims14-ff-haldb-z14", "--out", str(tmp_path / "lab"))
    assert rendered.returncode == 0, rendered.stderr
    dump = tmp_path / "lab" / "ims14-ff-haldb-z14.smf"
    done = etalon("decode", str(dump), "--to", form, "--out", str(tmp_path / form))
    assert done.returncode == 0, done.stderr
    written = {path.stem for path in (tmp_path / form).glob(f"*.{form}")}
    assert {"smf70_1_cpu_control", "smf72_3_period", "smf30_identification"} & written
    assert all(path.stat().st_size > 0 for path in (tmp_path / form).iterdir())


def test_questions_are_read_from_pairs():
    assert keys(None) == {}
    assert keys(["etr_tps=5", "engines=4"]) == {"etr_tps": 5.0, "engines": 4.0}
    assert keys(["etr_tps=5, engines=4"]) == {"etr_tps": 5.0, "engines": 4.0}
    assert keys(["point=80 %"]) == {"point": "80 %"}
    assert keys(["when=2026-11-10T10:45,growth_pct.CICSHI=30"]) == {
        "when": "2026-11-10T10:45",
        "growth_pct.CICSHI": 30.0,
    }
    assert keys(["when=mon 10:00", "cap=off"]) == {"when": "mon 10:00", "cap": "off"}
    assert keys(["sessions=64000,ims_version=V10"]) == {"sessions": 64000.0, "ims_version": "V10"}
    assert keys(["release=5.10,etr_tps=5"]) == {"release": "5.10", "etr_tps": 5.0}
    assert keys(["test=513 databases, 6-way;adjust.encryption=on"]) == {
        "test": "513 databases, 6-way",
        "adjust.encryption": "on",
    }
    for wrong in (["etr_tps=many"], ["rate.A=x"], ["=5"], ["etr_tps="], ["etr_tps=5,x"], ["etr_tps=5", "etr_tps=6"]):
        with pytest.raises(typer.BadParameter):
            keys(wrong)


def test_a_response_target_is_read_as_that_of_every_class_or_of_some():
    assert response_target(None) is None
    assert response_target(["40"]) == 40.0
    assert response_target(["ONLHI=40", "BATCH = 4000"]) == {"ONLHI": 40.0, "BATCH": 4000.0}
    for wrong in (["x"], ["=40"], ["A="], ["A=x"], ["40", "A=5"], ["40", "50"], ["A=5", "A=6"]):
        with pytest.raises(typer.BadParameter):
            response_target(wrong)


def test_the_range_of_a_sweep_is_read():
    assert span("etr_tps=100:200:11") == ("etr_tps", 100.0, 200.0, 11)
    assert span("engines=12:24") == ("engines", 12.0, 24.0, None)
    for wrong in ("engines", "engines=12", "=1:2", "engines=a:b", "engines=1:2:x", "engines=1:2:3:4"):
        with pytest.raises(typer.BadParameter):
            span(wrong)


def test_errors_of_rooms_have_their_exit_codes():
    from ingest.warehouse import WarehouseLocked
    from model.capacity.values import QuestionError

    assert explain(QuestionError("system", "x", "system: no")) == ("system: no", Exit.QUESTION)
    assert explain(WarehouseLocked("busy"))[1] is Exit.LOCKED
    assert explain(EtalonError("no", Exit.GATE)) == ("no", Exit.GATE)
    assert explain(RuntimeError("boom"))[1] is Exit.FAILED


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (961.31, "961.3"),
        (110560.9, "110,561"),
        (0.4845, "0.4845"),
        (99.9, "99.90"),
        (6.0, "6"),
        (0.000123, "0.000123"),
        (0.00000123456, "1.235e-06"),
        (1e-15, "0.0000"),
    ],
)
def test_figures_keep_four_significant_digits(value, text):
    assert figure(value) == text


def test_tables_line_up_and_survive_being_empty():
    assert table([{"a": 1, "b": "x"}, {"a": 22, "b": "yy"}]).splitlines() == [" a  b", "──  ──", " 1  x", "22  yy"]
    assert table([], {"a": "a"}).splitlines() == ["a", "─"]


def test_a_reader_that_leaves_a_pipe_is_no_fault(monkeypatch, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    (tmp_path / "d.smf").write_bytes(b"\0\x12\0\0\x1e\x02\0\x36\xee\x80\x01\x26\x32\x5f\xe2\xe8\xe2\xc1" * 4000)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    pipe = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", pipe)
    for name in ("ETALON_HOME", "ETALON_WAREHOUSE", "ETALON_DAGSTER"):
        monkeypatch.setenv(name, str(tmp_path / "state"))
    with pytest.raises(SystemExit) as left:
        main(["decode", str(tmp_path / "d.smf")])
    assert left.value.code == Exit.OK
    with suppress(BrokenPipeError):
        pipe.close()
