"""What a user sees of loading files: once and completely, with an account of every byte."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from xxhash import xxh3_64

from ingest.batch import Batch
from ingest.files import inputs
from ingest.formats import readers
from ingest.formats.identify import Kind
from ingest.formats.rmf import reader
from ingest.warehouse import ExitCode, exit_code, load
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import GROUPS, MESSAGE, RUNS, report_xml, write
from tests.shared import shared

LEDGER_SUM = """SELECT count(*) FROM meta.ledger WHERE status NOT IN ('failed') AND (
    bytes <> decoded_bytes + skipped_bytes + quarantined_bytes + framing_bytes
    OR records <> decoded + skipped + quarantined)"""


def test_a_report_says_exactly_what_was_done(tmp_path, ingest):
    folder = write(tmp_path / "in", cpu__xml=report_xml(10.5, 20.25))
    (report,) = ingest(folder / "cpu.xml")
    data = (folder / "cpu.xml").read_bytes()
    printed = json.loads(json.dumps(report.to_dict()))
    first = ["path", "sha256", "bytes", "status", "records", "decoded", "skipped", "quarantined", "rows"]
    assert list(printed)[:9] == first
    assert {key: printed[key] for key in first} == {
        "path": str(folder / "cpu.xml"),
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "status": "loaded",
        "records": 2,
        "decoded": 2,
        "skipped": {},
        "quarantined": 0,
        "rows": {"rmf_report": 2, "rmf_value": 6, "rmf_cpu_processor": 2, "rmf_cpu_system": 2},
    }
    assert exit_code([report]) == ExitCode.OK


def test_rows_carry_the_hash_of_the_content_as_file_id(tmp_path, ingest, rows):
    (report,) = ingest(write(tmp_path / "in", cpu__xml=report_xml(10.5)))
    key = xxh3_64(Path(report.path).read_bytes()).intdigest()
    assert rows("SELECT DISTINCT file_id FROM raw.rmf_value") == [(key,)]
    assert rows("SELECT file_id, sha256 FROM meta.ledger") == [(key, report.sha256)]


def test_other_content_of_the_same_hash_gets_a_file_id_of_its_own(tmp_path, ingest, rows, monkeypatch):
    monkeypatch.setattr(inputs, "xxh3_64", lambda: SimpleNamespace(update=lambda data: None, intdigest=lambda: 7))
    folder = tmp_path / "in"
    reports = [*ingest(write(folder, a__xml=report_xml(10.5)) / "a.xml"), *ingest(write(folder, b__xml=report_xml(11)))]
    assert [report.status for report in reports] == ["loaded", "unchanged", "loaded"]
    assert rows("SELECT file_id, sha256 FROM meta.ledger ORDER BY loaded_at") == [
        (7, reports[0].sha256),
        (int(str(reports[2].sha256)[:16], 16), reports[2].sha256),
    ]
    assert {report.status for report in ingest(folder)} == {"unchanged"}


def test_content_that_was_loaded_under_another_kind_of_key_is_known_again(tmp_path, ingest, database, rows):
    ingest(write(tmp_path / "in", a__xml=report_xml(10.5)))
    with duckdb.connect(str(database)) as con:
        for table in ("meta.ledger", *(f"raw.{name}" for name in ("rmf_report", "rmf_value"))):
            con.execute(f"UPDATE {table} SET file_id = 17")
    (report,) = ingest(write(tmp_path / "other", b__xml=report_xml(10.5)))
    assert report.status == "unchanged"
    assert rows("SELECT DISTINCT file_id FROM raw.rmf_value") == [(17,)]


def test_a_later_part_of_a_file_takes_the_place_of_an_earlier_one(tmp_path, ingest, rows, monkeypatch):
    def twice(stream, name, parse):
        (batch,) = whole(stream, name, parse)
        yield batch
        yield Batch({name: part.slice(0, 1) for name, part in batch.tables.items()})

    whole = readers._small
    monkeypatch.setattr(readers, "_small", twice)
    line = "lab,SYSA,{},,2026-03-01T10:00:00Z,2026-03-01T10:15:00Z\n"
    (report,) = ingest(write(tmp_path / "in", lab__runs__csv=RUNS + line.format("low")))
    assert report.status == "loaded", report.message
    assert rows("SELECT point FROM raw.etalon_run") == [("low",)]


def test_loading_again_changes_nothing_even_under_another_name(tmp_path, ingest, database):
    folder = write(tmp_path / "in", a__xml=report_xml(10.5), b__xml=report_xml(11.5))
    first = ingest(folder)
    before = content_hash(database)
    again = ingest(folder, write(tmp_path / "copy", c__xml=report_xml(10.5)))
    assert [report.status for report in again] == ["unchanged"] * 3
    assert content_hash(database) == before
    ignore = {"status", "message", "path"}
    for old, new in zip(first, again, strict=False):
        assert {k: v for k, v in old.to_dict().items() if k not in ignore} == {
            k: v for k, v in new.to_dict().items() if k not in ignore
        }


def test_rows_stand_in_the_order_of_files_and_of_records(tmp_path, ingest, rows):
    ingest(write(tmp_path / "in", b__xml=report_xml(3, 4), a__xml=report_xml(1, 2)))
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(1,), (2,), (3,), (4,)]


def test_a_file_that_has_grown_takes_the_place_of_its_beginning(tmp_path, ingest, rows, database, layouts):
    whole = report_xml(1, 2, 3)
    cut = whole[: whole.rindex("<postprocessor>")]
    folder = write(tmp_path / "in", cpu__xml=cut)
    (part,) = ingest(folder)
    assert (part.status, part.decoded, part.quarantined) == ("loaded", 2, 1)
    assert part.exit_code == ExitCode.QUARANTINED
    write(folder, cpu__xml=whole)
    (full,) = ingest(folder)
    assert (full.status, full.decoded, full.quarantined) == ("loaded", 3, 0)
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(1,), (2,), (3,)]
    assert rows("SELECT count(*) FROM meta.quarantine") == [(0,)]
    load([folder], tmp_path / "fresh.duckdb", layouts)
    assert content_hash(database) == content_hash(tmp_path / "fresh.duckdb")


def test_a_file_that_was_replaced_is_another_file(tmp_path, ingest, rows):
    folder = write(tmp_path / "in", cpu__xml=report_xml(1))
    ingest(folder)
    write(folder, cpu__xml=report_xml(2, 3))
    ingest(folder)
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor ORDER BY ALL") == [(1,), (2,), (3,)]


def test_a_cut_report_keeps_what_was_complete_and_quarantines_the_rest(tmp_path, ingest, rows):
    data = report_xml(1, 2).encode()
    cut = data.index(b"</postprocessor>") + len(b"</postprocessor>")
    (report,) = ingest(write(tmp_path / "in", cpu__xml=data[:-40]))
    assert (report.status, report.records, report.decoded, report.quarantined) == ("loaded", 2, 1, 1)
    assert report.message is not None and "cpu.xml: line" in report.message
    ((offset, length, raw, reason, detail),) = rows(
        "SELECT byte_offset, length, raw, reason, detail FROM meta.quarantine"
    )
    assert (offset, length, raw) == (cut, len(data) - 40 - cut, data[cut:-40])
    assert reason == "xml_malformed" and detail.startswith("line ")
    assert rows(LEDGER_SUM) == [(0,)]


def test_a_reply_that_is_only_a_message_is_reported_with_its_words(tmp_path, ingest):
    (report,) = ingest(write(tmp_path / "in", cpu__xml=f"<ddsml>{MESSAGE}</ddsml>"))
    assert (report.status, report.records, report.decoded) == ("message", 1, 1)
    assert report.message is not None and "GPM0739E Invalid DATE" in report.message
    assert exit_code([report]) == ExitCode.OK


def test_layouts_that_changed_are_applied_on_demand(tmp_path, ingest, rows, database):
    folder = write(tmp_path / "in", cpu__xml=report_xml(1), zeros__bin=bytes(100))
    ingest(folder)
    with duckdb.connect(str(database)) as con:
        con.execute("UPDATE meta.ledger SET layouts_version = 'older'")
        con.execute("UPDATE raw.rmf_cpu_processor SET mvs_busy_pct = 99")
    statuses = [report.status for report in ingest(folder)]
    assert statuses == ["unchanged", "quarantined"]
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(99,)]
    assert [report.status for report in ingest(folder, reload="outdated")] == ["loaded", "unchanged"]
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(1,)]
    assert [report.status for report in ingest(folder, reload="outdated")] == ["unchanged", "unchanged"]
    assert [report.status for report in ingest(folder, reload="always")] == ["loaded", "quarantined"]
    assert rows("SELECT mvs_busy_pct FROM raw.rmf_cpu_processor") == [(1,)]
    assert rows("SELECT count(*) FROM meta.quarantine") == [(1,)]


def test_a_table_made_by_an_older_version_is_widened(tmp_path, ingest, rows, database):
    folder = write(tmp_path / "in", cpu__xml=report_xml(1))
    ingest(folder)
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE raw.rmf_cpu_processor DROP COLUMN parked_pct")
        con.execute("ALTER TABLE raw.rmf_cpu_processor ALTER COLUMN mvs_busy_pct SET DATA TYPE FLOAT")
    ingest(write(folder, more__xml=report_xml(2)))
    assert rows("SELECT mvs_busy_pct, parked_pct FROM raw.rmf_cpu_processor") == [(1, None), (2, None)]
    kinds = dict(rows("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'rmf_cpu_processor'"))
    assert (kinds["mvs_busy_pct"], kinds["parked_pct"]) == ("DOUBLE", "DOUBLE")


def test_accounts_that_do_not_balance_keep_the_file_out(tmp_path, ingest, rows, monkeypatch):
    honest = reader.read_reports

    def forgetful(stream):
        for batch in honest(stream):
            yield replace(batch, decoded_bytes=batch.decoded_bytes - 1)

    folder = write(tmp_path / "in", cpu__xml=report_xml(1))
    with monkeypatch.context() as patched:
        patched.setattr(reader, "read_reports", forgetful)
        (report,) = ingest(folder)
    assert (report.status, report.exit_code) == ("failed", ExitCode.FAILED)
    assert report.message is not None and "AccountsDoNotBalance" in report.message
    assert rows("SELECT count(*) FROM raw.rmf_report") == [(0,)]
    assert rows("SELECT status FROM meta.ledger") == [("failed",)]
    assert [r.status for r in ingest(folder)] == ["loaded"]
    assert rows("SELECT status FROM meta.ledger") == [("loaded",)]


def test_runs_and_groups_are_loaded_and_corrected_rows_take_the_place_of_old_ones(tmp_path, ingest, rows):
    line = "cics,SYSA,{},rate=1,2020-01-01T00:00:00Z,2020-01-01T00:05:00Z\n"
    folder = write(
        tmp_path / "in",
        lab__runs__csv=RUNS + line.format("low"),
        lab__groups__csv=GROUPS + "cics,SYSA,report_class,TOR%,cics,tor\ncics,SYSA,transaction_class,TOR,cics,\n",
    )
    assert [(r.kind, r.status, r.records) for r in ingest(folder)] == [("groups", "loaded", 2), ("runs", "loaded", 1)]
    assert rows("SELECT point, start_utc::VARCHAR FROM raw.etalon_run") == [("low", "2020-01-01 00:00:00")]
    write(folder, lab__runs__csv=RUNS + line.format("high"))
    ingest(folder)
    assert rows("SELECT point FROM raw.etalon_run") == [("high",)]
    ingest(write(tmp_path / "other", again__runs__csv=RUNS + line.format("top")))
    assert rows("SELECT point FROM raw.etalon_run") == [("top",)]
    statuses = [r.status for r in ingest(folder)]
    assert statuses == ["unchanged", "loaded"]
    assert rows("SELECT point FROM raw.etalon_run") == [("high",)]
    assert rows(LEDGER_SUM) == [(0,)]


def test_a_run_left_out_of_a_corrected_file_is_gone_whatever_its_path(tmp_path, ingest, rows):
    lines = [f"cics,SYSA,{hour},,2020-01-01T{hour:02}:00:00Z,2020-01-01T{hour:02}:30:00+00:00\n" for hour in range(5)]
    ingest(write(tmp_path / "in", lab__runs__csv=RUNS + "".join(lines)))
    (report,) = ingest(write(tmp_path / "new", corrected__runs__csv=RUNS + lines[0] + lines[2] + lines[3]))
    assert rows("SELECT point FROM raw.etalon_run ORDER BY point") == [("0",), ("2",), ("3",), ("4",)]
    assert report.message is not None
    assert f"others stay (1 of {tmp_path / 'in' / 'lab.runs.csv'})" in report.message
    other = lines[1].replace("SYSA", "SYSB")
    (report,) = ingest(write(tmp_path / "b", other__runs__csv=RUNS + other))
    assert (report.message, rows("SELECT count(*) FROM raw.etalon_run")) == (None, [(5,)])


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("x.runs.csv", "system,smf_sid\n", "line 1: the header is 'system,smf_sid'"),
        ("x.runs.csv", RUNS + "a,SYSA,p,,2020-01-01T00:00Z,2020-01-01T00:00Z\n", "line 2, field end_utc"),
        ("x.runs.csv", RUNS + "a,SYSA,p,,noon,2020-01-01T00:00\n", "line 2, field start_utc: 'noon'"),
        (
            "x.runs.csv",
            RUNS + "a,SYSA,p,,2020-01-01T00:00,2020-01-01T01:00Z\n",
            "line 2, field start_utc: '2020-01-01T00:00' does not say its zone",
        ),
        ("x.runs.csv", RUNS + "a,LONGSID,p,,2020-01-01T00:00,2020-01-01T01:00\n", "line 2, field smf_sid"),
        ("x.groups.csv", GROUPS + "a,SYSA,class,X,w,g\n", "line 2, field kind: 'class'"),
        ("x.groups.csv", GROUPS + "a,SYSA,transactions,X,w,\n", "line 2, field kind: 'transactions'"),
        ("x.groups.csv", GROUPS + "a,SYSA,job_name,X\n", "line 2: 4 fields, expected 6"),
        ("x.groups.csv", GROUPS + "a,S,job_name,X,w,g\na,S,job_name,X,w,g\n", "line 3: the same"),
    ],
)
def test_a_faulty_runs_or_groups_file_is_refused_by_line_and_field(tmp_path, ingest, rows, name, content, fault):
    folder = write(tmp_path / "in", **{name.replace(".", "__"): content})
    (report,) = ingest(folder)
    assert (report.status, report.exit_code) == ("quarantined", ExitCode.UNRECOGNISED)
    assert report.message is not None and report.message.startswith(f"{folder / name}: {fault}")
    assert rows(LEDGER_SUM) == [(0,)]


def test_the_real_reports_are_loaded_completely(ingest, rows):
    reports = ingest(shared("real/rmf"))
    assert {r.path.rsplit("/", 1)[1]: r.status for r in reports} == {
        "chan.xml": "loaded",
        "cpu_263_intervals.xml": "loaded",
        "cpu_error_reply.xml": "message",
        "cpu_small.xml": "loaded",
        "vstor.xml": "loaded",
        "wlmgl.xml": "loaded",
    }
    assert rows("SELECT count(*) FROM raw.rmf_cpu_total") == [(264,)]
    assert rows("SELECT count(*) FROM raw.rmf_wlm_class") == [(21,)]
    assert rows("SELECT sum(bytes) = sum(decoded_bytes) FROM meta.ledger") == [(True,)]
    assert rows(LEDGER_SUM) == [(0,)]


def test_a_file_without_decoded_records_says_so_and_is_no_success(tmp_path, ingest, dump, rows):
    path = tmp_path / "other.smf"
    path.write_bytes(b"".join(record[:5] + b"\xf0" + record[6:] for record in _records_of(dump)))
    for status in ("undecoded", "unchanged"):
        (report,) = ingest(path)
        assert (report.status, report.exit_code, report.decoded) == (status, ExitCode.UNRECOGNISED, 0)
        assert "no record was decoded: it was read as smf" in report.message and "240" in report.message
    assert rows("SELECT status FROM meta.ledger") == [("undecoded",)]


def test_the_user_says_what_kind_a_file_is(tmp_path, ingest, dump, rows):
    path = tmp_path / "a.smf"
    path.write_bytes(dump)
    assert [report.kind for report in ingest(path)] == ["smf"]
    (wrong,) = ingest(path, kind=Kind.IMS_LOG)
    assert (wrong.kind, wrong.decoded, wrong.exit_code) == ("ims_log", 0, ExitCode.UNRECOGNISED)
    (right,) = ingest(path, kind=Kind.SMF)
    assert (right.status, right.decoded) == ("loaded", 6)
    assert rows("SELECT count(*) FROM raw.ims_log_record") == [(0,)]
    assert [report.status for report in ingest(path)] == ["unchanged"]


def test_a_ledger_of_an_earlier_version_takes_new_statuses(tmp_path, ingest, database, dump, rows):
    path = tmp_path / "a.smf"
    path.write_bytes(dump)
    ingest(path)
    with duckdb.connect(str(database)) as con:
        (text,) = con.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 'ledger'").fetchone()
        con.execute("ALTER TABLE meta.ledger RENAME TO kept")
        con.execute(text.replace("'undecoded', ", ""))
        con.execute("INSERT INTO meta.ledger BY NAME FROM meta.kept")
        con.execute("DROP TABLE meta.kept")
    other = tmp_path / "other.smf"
    other.write_bytes(b"".join(record[:5] + b"\xf0" + record[6:] for record in _records_of(dump)))
    assert [report.status for report in ingest(path, other)] == ["unchanged", "undecoded"]
    assert rows("SELECT status FROM meta.ledger ORDER BY loaded_at") == [("loaded",), ("undecoded",)]


def _records_of(dump: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(dump):
        found.append(dump[at : at + int.from_bytes(dump[at : at + 2])])
        at += len(found[-1])
    return found
