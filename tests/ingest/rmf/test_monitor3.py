"""Monitor III reports, in XML and in JSON: every cell keeps its label, and known reports become typed rows."""

import datetime as dt
import io
import json

import pyarrow as pa
import pytest

from ingest.batch import Unreadable
from ingest.formats.identify import Kind, identify
from ingest.formats.rmf import builder, read_json_reports, read_reports
from tests.ingest.rmf.documents import assert_same
from tests.ingest.rmf.monitor3 import CPC, DELAY, Reply, reply_json, reply_xml


def tables(data: bytes) -> dict[str, pa.Table]:
    """All rows of a reply, by table."""
    parts: dict[str, list[pa.Table]] = {}
    for batch in (read_json_reports if data.startswith(b"{") else read_reports)(io.BytesIO(data)):
        for name, table in batch.tables.items():
            parts.setdefault(name, []).append(table)
    return {name: pa.concat_tables(found) for name, found in parts.items()}


@pytest.mark.parametrize("form", [reply_xml, reply_json])
def test_cells_have_the_labels_of_headers_that_stand_behind_the_rows(form):
    rows = tables(form(CPC, DELAY))["rmf_value"].to_pylist()
    expected = [
        (record, place, column, name, cell or None)
        for record, reply in enumerate((CPC, DELAY))
        for place, row in enumerate(reply.rows)
        for column, ((name, _), cell) in enumerate(zip(reply.columns, row, strict=True))
    ]
    named = [(r["record_seq"], r["row_seq"], r["column_seq"], r["column_label"], r["value_text"]) for r in rows]
    caption = [(0, n, 0, name, value or None) for n, (name, value) in enumerate(CPC.caption.items())]
    assert named == caption + expected
    # A column of texts holds no numbers, whatever its cells look like.
    assert {r["column_label"] for r in rows if r["value_num"] is not None} == {
        *("CPCHCMSU", "CPCPAMSU", "CPCPLTOU", "CPCPHWCC", "JDELASI", "JDELWFL", "JDELDEL")
    }


@pytest.mark.parametrize("form", [reply_xml, reply_json])
def test_known_reports_become_typed_rows(form):
    found = tables(form(CPC, DELAY))
    (head, _) = found["rmf_report"].to_pylist()
    assert (head["report"], head["system_name"], head["server_name"], head["interval_s"]) == ("CPC", "SYSA", "DDS", 100)
    assert head["interval_start_local"] == dt.datetime(2026, 3, 4, 13, 15)
    assert head["interval_end_utc"] == dt.datetime(2026, 3, 4, 12, 16, 40)
    (machine,) = found["rmf3_cpc"].to_pylist()
    assert (machine["partition_name"], machine["cpc_capacity_msu"], machine["weight_of_max_pct"]) == (
        "PROD1",
        413,
        None,
    )
    partitions = found["rmf3_cpc_partition"].to_pylist()
    columns = ("section_seq", "partition_name", "used_msu", "logical_total_pct", "absolute_cap_processors", "weight")
    # A row of blanks only parts the kinds of processor.
    assert [tuple(row[name] for name in columns) for row in partitions] == [
        (0, "*CP", None, None, None, None),
        (1, "PROD1", 310, 71.5, 10, None),
        (2, "TEST1", 4, 1.1, None, None),
        (3, "*IIP", None, None, None, None),
    ]
    delays = found["rmf3_delay"].to_pylist()
    assert [(row["record_seq"], row["job_name"], row["workflow_pct"], row["delay_pct"]) for row in delays] == [
        (1, "DB2ADBM1", 88, 12),
        (1, "BATCH<1>", None, 100),
    ]


def test_both_forms_say_the_same():
    xml, in_json = tables(reply_xml(CPC, DELAY)), tables(reply_json(CPC, DELAY))
    assert xml.keys() == in_json.keys()
    for name, table in xml.items():
        if name == "rmf_report":
            table = table.drop_columns("form").append_column("form", pa.array(["json"] * table.num_rows))
            table = table.select(in_json[name].column_names)
        assert table.equals(in_json[name]), name


def test_a_report_without_rows_is_read_and_one_without_headers_keeps_its_cells():
    empty = Reply("ENQ", (("ENQPWJOB", "N"), ("ENQPODEL", "N")), ())
    found = tables(reply_xml(empty))
    assert found["rmf_report"].num_rows == 1
    assert "rmf_value" not in found
    bare = reply_xml(DELAY).split(b"<column-headers>")[0] + b"</report></ddsml>"
    rows = tables(bare)["rmf_value"].to_pylist()
    assert [row["value_text"] for row in rows][:3] == ["DB2ADBM1", "77", "88"]
    assert {row["column_label"] for row in rows} == {None}


def test_headers_behind_the_rows_of_a_postprocessor_table_are_read_the_same_both_ways():
    report = (
        b'<ddsml><postprocessor><metric id="CPU"/><segment id="1"><name>CPU Activity</name><part id="2"><table id="4">'
        b"<row><col>0</col><col>CP</col></row><column-headers><col type='T'>CPU Number</col><col>CPU Type</col>"
        b"</column-headers></table></part></segment></postprocessor></ddsml>"
    )
    assert_same(report)
    assert tables(report)["rmf_cpu_processor"].column("cpu_type").to_pylist() == ["CP"]


def test_rows_that_wait_for_headers_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(builder, "MAX_WAITING_CELLS", 10)
    with pytest.raises(Unreadable, match="more than 10 cells of a table before its headers"):
        tables(reply_xml(CPC))


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        (b"{", "json_malformed", "line 1, column 2"),
        (b'{"report": \xff', "json_malformed", "not UTF-8"),
        (b"{}", "json_no_report", "neither a report nor a message"),
        (b'{"report": [7]}', "json_not_ddsml", "report is '7', expected an object"),
        (
            b'{"report": [{"metric": {"id": "ENQ"}, "row": [{"col": "x"}]}]}',
            "json_not_ddsml",
            "row 0: col is 'x', expected a list",
        ),
        (b'{"postprocessor": [{"metric": {"id": "CPU"}}]}', "json_postprocessor", "request XML instead"),
        (b'{"report": ' + b"[" * 100_000, "json_malformed", "nested"),
    ],
)
def test_replies_that_cannot_be_read_say_why(data, reason, words):
    with pytest.raises(Unreadable, match=words) as refusal:
        tables(data)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("part", "name", "value", "reason", "words"),
    [
        ("metric", None, "CPC", "json_not_ddsml", "report 1: metric is 'CPC', expected an object"),
        ("metric", None, {"description": "CPC"}, "json_report_unnamed", "report 1: .*metric has no id"),
        ("metric", "id", ["CPC"], "json_not_ddsml", "a list is not a single value"),
        ("resource", None, ["SYSA"], "json_not_ddsml", "resource is a list"),
        ("timeData", None, "20260304", "json_not_ddsml", "timeData is '20260304'"),
        ("timeData", "localStart", "20261304131500", "json_bad_time", "localStart is '20261304131500', expected yyyy"),
        ("timeData", "utcEnd", 20260304, "json_bad_time", "utcEnd is '20260304'"),
        ("timeData", "gathererInterval", {"unit": "seconds", "value": "1OO"}, "json_bad_time", "interval is '1OO'"),
        ("row", None, [{"col": [["a"]]}], "json_not_ddsml", "a list is not a single value"),
        ("columnHeaders", None, {"col": [{"value": {}}]}, "json_not_ddsml", "an object is not a single value"),
    ],
)
def test_a_damaged_part_of_a_report_refuses_the_reply(part, name, value, reason, words):
    reply = json.loads(reply_json(CPC, DELAY))
    report = reply["report"][1]
    report[part] = value if name is None else {**report[part], name: value}
    with pytest.raises(Unreadable, match=words) as refusal:
        tables(json.dumps(reply).encode())
    assert refusal.value.reason == reason


def test_a_reply_in_json_is_known_by_its_content():
    data = reply_json(CPC)
    assert identify("cpc.json", data).kind == Kind.RMF_JSON
    assert identify("cpc.json", json.dumps(json.loads(data), indent=2).encode()).kind == Kind.RMF_JSON
    assert identify("x.jsonl", b'{"metric": "http_reqs", "type": "Point", "report": [1]}\n').kind != Kind.RMF_JSON


def test_a_message_in_json_stands_for_the_report():
    data = b'{"message": [{"id": "GPM0504I", "severity": 1, "description": "No data"}], "report": null}'
    (head,) = tables(data)["rmf_report"].to_pylist()
    assert (head["message_id"], head["message_severity"], head["status"]) == ("GPM0504I", 1, "message")
