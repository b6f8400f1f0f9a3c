"""`etalon decode`: rows to files and pipes, one table or all, from archives and with dictionaries from elsewhere."""

import csv
import datetime as dt
import io
import json
import re
import zipfile

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from ingest.formats.cics.dictionary import (
    Dictionary,
    Key,
    full_dictionary,
    parse_dictionary_file,
    write_dictionary_file,
)
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from pipelines.cli import app, explain
from pipelines.exits import Exit
from tests.pipelines.conftest import ROOT

RECORD = bytes.fromhex("001200001E020036EE800126325FE2E8E2C1")
"""A dump header: 18 bytes, type 2, 10:00:00, 2026-11-21, SYSA."""
REGION = Region("SYSA", "CICSAOR1", "AORJOB1")
NOW = dt.datetime(2026, 3, 4, 5, 6, 7)


@pytest.fixture
def decode(tmp_path, monkeypatch):
    """The command in this process, in an empty folder; its exit code, standard output and what it said."""
    monkeypatch.chdir(tmp_path)
    for name in ("ETALON_HOME", "ETALON_WAREHOUSE", "ETALON_DAGSTER"):
        monkeypatch.setenv(name, str(tmp_path / "state"))

    def run(*arguments, stdin=None):
        done = CliRunner().invoke(app, ["decode", *map(str, arguments)], input=stdin)
        if done.exception and not isinstance(done.exception, SystemExit):
            said, code = explain(done.exception)
            return code, done.stdout_bytes, said
        return done.exit_code, done.stdout_bytes, done.stderr

    return run


@pytest.fixture
def dump(tmp_path):
    """A dump of three records."""
    (tmp_path / "d.smf").write_bytes(RECORD * 3)
    return tmp_path / "d.smf"


@pytest.fixture
def tasks(tmp_path):
    """A dump of two performance records, and its region's dictionary as a dump and as a file."""
    rows = pa.table({"tran": ["AAAA", "BBBB"]})
    (tmp_path / "tasks.smf").write_bytes(b"".join(encode_performance(REGION, full_dictionary(), rows, NOW)))
    (tmp_path / "start.smf").write_bytes(b"".join(encode_dictionary(REGION, full_dictionary(), NOW)))
    text = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(full_dictionary()))])
    (tmp_path / "release.dictionary.csv").write_text(text)
    return tmp_path / "tasks.smf"


READ = {
    "arrow": lambda data: pa.ipc.open_stream(data).read_all().to_pylist(),
    "parquet": lambda data: pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist(),
    "csv": lambda data: list(csv.DictReader(io.StringIO(data.decode()))),
    "json": lambda data: [json.loads(line) for line in data.splitlines()],
}


@pytest.mark.parametrize("form", READ)
def test_one_table_goes_to_standard_output_in_any_form(decode, dump, tmp_path, form):
    code, out, said = decode(dump, "--to", form, "--table", "smf2_header")
    assert code == Exit.OK
    assert [row["smf2sid"] for row in READ[form](out)] == ["SYSA"] * 3
    assert "smf2_header" in said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("d.smf.")] == []


def test_columns_of_a_parquet_file_say_what_they_mean_and_in_which_unit(decode, dump):
    _, out, _ = decode(dump, "--to", "parquet", "--table", "smf2_header")
    said = pyarrow.parquet.read_schema(io.BytesIO(out)).field("smf2tme").metadata
    assert (said[b"name"], said[b"unit"]) == (b"written_clock_us", b"1/100 s")
    assert said[b"description"]


def test_two_tables_of_a_binary_form_need_a_folder(decode, dump):
    code, out, said = decode(dump, "--to", "arrow", "--table", "smf2_header", "--table", "smf3_header")
    assert (code, out) == (Exit.USAGE, b"")
    assert "--out DIR" in said


def test_a_table_the_dump_does_not_hold_is_told_with_those_it_holds(decode, dump):
    code, _, said = decode(dump, "--table", "smf3_header")
    assert code == Exit.QUESTION
    assert "no rows of smf3_header; did you mean smf2_header?" in said


def test_a_dash_is_standard_input_whatever_lies_in_the_folder(decode, tmp_path):
    (tmp_path / "-").mkdir()
    code, out, _ = decode("-", stdin=RECORD)
    assert (code, json.loads(out)["smf2sid"]) == (Exit.OK, "SYSA")


def test_rows_of_an_archive_say_which_file_they_are_from(decode, tmp_path):
    with zipfile.ZipFile(tmp_path / "week.zip", "w") as archive:
        archive.writestr("mon/d.smf", RECORD)
        archive.writestr("tue/d.smf", RECORD * 2)
    assert decode(tmp_path / "week.zip", "--to", "csv", "--out", "out")[0] == Exit.OK
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "smf2_header.csv").read_text())))
    found = [(row["member"], row["record_seq"]) for row in rows]
    assert found == [("mon/d.smf", "0"), ("tue/d.smf", "0"), ("tue/d.smf", "1")]


@pytest.mark.parametrize("name", ["release.dictionary.csv", "start.smf"])
def test_a_dictionary_from_elsewhere_reads_a_dump_that_holds_none(decode, tasks, tmp_path, name):
    assert decode(tasks)[0] == Exit.UNRECOGNISED
    code, out, _ = decode(tasks, "--dictionary", tmp_path / name, "--table", "smf110_1_performance")
    assert (code, [json.loads(line)["tran"] for line in out.splitlines()]) == (Exit.OK, ["AAAA", "BBBB"])


@pytest.mark.parametrize(
    ("content", "expected"), [(RECORD, "class 1"), (b"a,b\n1,2\n", "the header line must be")], ids=["dump", "csv"]
)
def test_a_file_without_a_dictionary_is_reported(decode, tasks, tmp_path, content, expected):
    (tmp_path / "x.dictionary.csv" if b"," in content else tmp_path / "x.smf").write_bytes(content)
    code, out, said = decode(tasks, "--dictionary", next(tmp_path.glob("x.*")))
    assert (code, out) == (Exit.NO_INPUT, b"")
    assert expected in said


def test_the_dictionary_file_that_the_page_shows_can_be_read():
    text = (ROOT / "docs" / "load-your-own-smf.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(smf_sid,applid.*?)```", text, re.DOTALL)[1]
    found = parse_dictionary_file(shown)
    assert [(key, entry.nickname) for key, entry in found] == [
        (Key("SYSA", "CICSAOR1", "0730"), "TRAN"),
        (Key("SYSA", "CICSAOR1", "0730"), "TERM"),
    ]


def test_of_a_file_that_cannot_be_read_the_fault_is_named_and_no_table(decode, tmp_path):
    (tmp_path / "bad.smf").write_bytes(bytes(range(7, 200)) * 9)
    code, _, said = decode("bad.smf", "--table", "smf30_header")
    assert code == Exit.UNRECOGNISED and "bad.smf" in said
    assert "has no rows" not in said
