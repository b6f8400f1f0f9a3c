"""The commands over dumps and tables: what they print, and how they refuse."""

import gzip
import io
import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from expectations.result import Finding
from ingest import registry
from ingest.warehouse import FileReport, load, publish
from pipelines.cli import app, explain
from pipelines.commands.data import loaded, problem
from pipelines.exits import Exit
from pipelines.progress import Reporter
from tests.pipelines.conftest import ROOT

RUNS = "system_id,smf_sid,point,condition,start_utc,end_utc\nshop,SYS1,1,,2026-11-20T10:00:00Z,2026-11-20T10:05:00Z\n"


@pytest.fixture
def state(tmp_path, monkeypatch):
    """An empty state folder in force for commands run in this process."""
    for name in ("ETALON_HOME", "ETALON_WAREHOUSE", "ETALON_DAGSTER"):
        monkeypatch.setenv(name, str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="session")
def dump(tmp_path_factory):
    """A rendered dump, whole."""
    folder = tmp_path_factory.mktemp("dump")
    done = CliRunner().invoke(app, ["--home", str(folder / "state"), "lab", "ims10-tls", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder / "ims10-tls.smf"


def run(*arguments, **more):
    """Result of a command; its exit code also where it raises, with the message that the user would see."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.stdout, result.stderr
    message, code = explain(result.exception)
    return int(code), result.stdout, result.stderr + message


def test_points_that_are_not_rendered_are_told(tmp_path):
    code, _, said = run("lab", "cics52-18cp", "--out", tmp_path)
    assert code == 0
    assert "cics52-18cp: point 3 is not rendered: only the rate" in said


@pytest.fixture(scope="session")
def ingested(dump, tmp_path_factory):
    """Files that are wrong in one way each, by name, with the reports of loading them."""
    data, folder = dump.read_bytes(), tmp_path_factory.mktemp("files")
    made = {
        "cut.smf": data[:-5],
        "cut.smf.gz": gzip.compress(data[:-7]),
        "empty.smf": b"",
        "words.txt": b"These are words, and no records at all.\n" * 20,
        "noise.bin": bytes(n * 37 % 251 for n in range(1, 4000)),
        "whole.smf": data,
    }
    for name, content in made.items():
        (folder / name).write_bytes(content)
    paths = [*(folder / name for name in made), folder / "missing", Path("/proc/self/mem")]
    return {Path(report.path).name: report for report in load(paths, folder / "etalon.duckdb", registry.load())}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("whole.smf", Exit.OK),
        ("cut.smf", Exit.QUARANTINED),
        ("cut.smf.gz", Exit.QUARANTINED),
        ("empty.smf", Exit.NO_INPUT),
        ("missing", Exit.NO_INPUT),
        ("mem", Exit.NO_INPUT),
        ("words.txt", Exit.UNRECOGNISED),
        ("noise.bin", Exit.UNRECOGNISED),
    ],
)
def test_decode_judges_a_file_as_ingest_does(state, tmp_path, ingested, name, code):
    loaded = ingested[name]
    decoded, _, said = run("decode", loaded.path, "--to", "parquet", "--out", tmp_path / "out")
    assert (decoded, loaded.exit_code) == (code, code)
    messages = [line.removeprefix("etalon: ") for line in said.splitlines() if line.startswith("etalon: ")]
    assert messages == ([re.sub("; it was written .*", "", loaded.message)] if loaded.message else [])
    assert bool(messages) == (code != Exit.OK)
    assert (tmp_path / "out").exists() == (code in (Exit.OK, Exit.QUARANTINED))


def test_decode_reads_one_dump(state, tmp_path):
    assert run("decode", tmp_path)[::2] == (Exit.NO_INPUT, f"{tmp_path}: is a folder; name one dump")


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A state folder with a small snapshot."""
    home = tmp_path_factory.mktemp("published")
    (home / "shop.runs.csv").write_text(RUNS)
    (home / "words.txt").write_text("words and more words\n" * 9)
    database = home / "warehouse" / "etalon.duckdb"
    load([home / "shop.runs.csv", home / "words.txt"], database, registry.load())
    publish(database, home / "published" / "etalon.duckdb")
    return home


def ask(home: Path, *arguments: str) -> tuple[int, str, str]:
    """`etalon sql` over a state folder."""
    return run("--home", home, "sql", *arguments)


def test_lists_maps_and_bytes_are_printed_in_every_form(published):
    for query in ("select * from meta.ledger order by path", "select * from meta.quarantine", "select [1, 2] as d"):
        code, said, _ = ask(published, query, "--json")
        assert code == 0
        assert json.loads(said)
        assert ask(published, query)[0] == 0
    ledger = json.loads(ask(published, "select * from meta.ledger order by path", "--json")[1])
    assert [row["reason_codes"] for row in ledger] == [{}, {"text": 1}]
    quarantine = json.loads(ask(published, "select raw from meta.quarantine", "--json")[1])
    assert bytes.fromhex(quarantine[0]["raw"]).startswith(b"words and more")


def test_a_query_that_says_nothing_or_writes_a_file_is_refused(published, tmp_path):
    assert ask(published, "")[0] == Exit.QUESTION
    assert ask(published, f"copy (select 1) to '{tmp_path / 'out.csv'}'")[0] == Exit.QUESTION
    assert not (tmp_path / "out.csv").exists()
    assert "ledger" in ask(published, "show tables")[1]


def test_a_query_may_begin_with_a_comment(published):
    assert ask(published, "-- the first\nselect 1 as a", "--json")[:2] == (0, '[\n  {\n    "a": 1\n  }\n]\n')
    assert ask(published, "--jsn", "select 1")[0] == Exit.USAGE


def test_all_tables_are_listed_in_a_page_and_whole_in_json(published):
    code, said, _ = ask(published, "show all tables")
    assert code == 0
    assert "smf119_5_header" in said
    assert max(map(len, said.splitlines())) < 300
    assert "section_seq" in ask(published, "show all tables", "--json")[1]


def test_counts_are_said_in_the_right_number(published):
    assert "(1 row)" in ask(published, "select 1 as a")[2]
    assert "(2 rows)" in ask(published, "select unnest([1, 2]) as a")[2]


def test_a_query_without_rows_shows_its_columns(published):
    code, said, errors = ask(published, "select path, bytes from meta.ledger where false")
    assert (code, said.split()[:2]) == (0, ["path", "bytes"])
    assert "(0 rows)" in errors


def test_publishing_nothing_says_what_to_ingest_first(state):
    code, _, said = run("publish")
    assert code == Exit.NOT_READY
    assert "load files first" in said


def test_the_lab_names_what_it_can_render_nearest_first(state):
    from model.lab.targets import SUBSYSTEMS, renderable
    from model.published.catalogue import systems

    code, _, said = run("lab", "cics53-18")
    assert code == Exit.QUESTION
    assert "did you mean cics53-18cp " in said
    assert re.findall(r"it can render: (\S+),", said) == ["cics53-18cp"]
    named = set(re.split(r"[ ,?]+", said.partition("Systems that it can render: ")[2]))
    assert {*renderable(), SUBSYSTEMS} == named
    assert set(systems()) - named, "all systems can be rendered: the test has lost its subject"


@pytest.mark.parametrize("command", [("lab", "ims10-tls"), ("decode", "x.smf")])
def test_a_file_is_no_folder_to_write_into(state, tmp_path, command):
    (tmp_path / "taken").write_text("")
    code, _, said = run(*command, "--out", tmp_path / "taken")
    assert code == Exit.USAGE
    assert "is a file" in said


def test_arguments_are_explained():
    said = run("decode", "--help")[1]
    assert "standard input" in said.partition("FILE")[2]
    group = typer.main.get_command(app)
    for name in group.list_commands(None):
        assert all(parameter.help for parameter in group.get_command(None, name).params), name


def test_a_warning_of_the_build_says_where_and_what_to_do():
    found = Finding(
        "r", "Every system has groups", "frame", "warning", False, 9, 2, "Add them.", ({"n": 0, "system": "shop"},)
    )
    assert problem(found) == "warning: not met for 2 of 9, such as shop: every system has groups. Add them."
    assert found.where == "shop"


def test_a_night_says_of_what_is_not_met_where_it_is_seen_first():
    hole = {"hole_s": 900.0, "system": "PRDB", "interval": "2026-10-31 23:00:00", "file": "/srv/landing/PRDB.1101.smf"}
    hole["message"] = "said by the file itself"
    examples = (hole, {**hole, "system": "PRDC"})
    found = Finding("r", "No holes", "frame", "warning", False, 9, 2, "Look for a dump.", examples)
    assert found.where == "PRDB, PRDC, such as PRDB, 2026-10-31 23:00:00, PRDB.1101.smf"


def test_the_page_names_every_key_of_the_report_of_a_file():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    shape = page.partition('{"files": [{')[2].partition("```")[0]
    assert set(re.findall(r'"(\w+)"', shape)) == set(FileReport("x").to_dict())


def test_files_of_one_name_are_told_apart():
    paths = ["a/night.zip!one/d.smf", "a/night.zip!two/d.smf", "b/e.smf", "c/f.smf", "d/f.smf", "d/x.zip!y/g.smf"]
    shown = loaded([FileReport(path) for path in paths]).splitlines()[2:]
    assert [line.split()[0] for line in shown] == [*paths[:2], "e.smf", *paths[3:5], "x.zip!y/g.smf"]


def test_a_moving_bar_says_what_is_being_done():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    reporter = Reporter(Terminal())
    reporter.show("nothing runs yet")
    with reporter.step("ingesting"):
        reporter.show("d[1].smf: reading, 5 records")
    reporter.show("nothing runs any more")
    said = reporter.stream.getvalue()
    assert "d[1].smf: reading, 5 records" in said
    assert "nothing runs" not in said
