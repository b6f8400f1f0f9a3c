"""Analyzer and load-driver tables keep every column, type the known ones, and lose no line."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.batch import Unreadable
from ingest.formats.tables.tabular import identify_table, number, read_table, schemas, source_of, sources

CICS_PA = b"""APPLID  ;TRAN;TERM;USERID  ;  TASKNO; STOP DATE;  STOP TIME ;RESPONSE;DISPATCH;CPU     ;SUSPEND
REGION1 ;PAY1;    ;USER1   ;      14;2010-05-23; 9:00:11.306;   .4796;   .0837;   .0145;   .3958;
REGION1 ;PAY1;0031;USER2   ;     III;2010-05-23; 9:00:11.306; 1,016.8286;   .8059;   .0279; 16.0227;
"""
IMS_PA = (
    b'{"id": "ims-tran", "start": "2026-01-01T00:00:00Z", "trancode": "PART", "inputq": 0.001, "process": 0.02,'
    b' "total-ims": 0.022, "cpu": 0.0004, "extra": {"list": [1, true, null]}}\n'
)


def read(data: bytes):
    """All batches of a table as rows by table, the pieces that could not be read, and the proof that bytes add up."""
    rows, bad, size = {}, [], 0
    for batch in read_table(io.BytesIO(data)):
        size += batch.decoded_bytes + batch.framing_bytes + sum(piece.length for piece in batch.quarantined)
        bad += batch.quarantined
        for name, table in batch.tables.items():
            assert table.schema == schemas()[name]
            rows.setdefault(name, []).extend(table.to_pylist())
    assert size == len(data)
    return rows, bad


def test_a_cics_extract_with_semicolons_is_typed_and_kept_whole():
    rows, bad = read(CICS_PA)
    first, second = rows["cics_pa_transaction"]
    assert (first["applid"], first["transaction_id"], first["response_s"], first["cpu_s"]) == (
        "REGION1",
        "PAY1",
        0.4796,
        0.0145,
    )
    assert (second["task_number"], second["response_s"], second["suspend_s"]) == ("III", 1016.8286, 16.0227)
    assert not bad and len(rows["report_field"]) == 22


def test_ims_json_lines_are_typed_and_nested_values_kept_by_path():
    rows, _ = read(IMS_PA)
    (row,) = rows["ims_pa_transaction"]
    assert (row["transaction_code"], row["input_queue_s"], row["process_s"], row["total_s"]) == (
        "PART",
        0.001,
        0.02,
        0.022,
    )
    kept = {field["name"]: field["value_text"] for field in rows["report_field"]}
    assert (kept["extra.list.0"], kept["extra.list.1"], kept["extra.list.2"]) == ("1", "true", None)


def test_response_times_of_a_load_driver_come_in_seconds():
    data = b"transaction,min_ms,avg_ms,max_ms,percentile,percentile_ms,passed,failed\nBuy,1,2.5,100,90,7,1000,2\n"
    ((row,), _) = (read(data)[0]["load_driver_response"], None)
    assert (row["min_s"], row["average_s"], row["max_s"], row["percentile_s"]) == (0.001, 0.0025, 0.1, 0.007)
    assert (row["percentile"], row["passed"], row["failed"]) == (90, 1000, 2)
    data = b"Transaction Name,Minimum,Average,Maximum,Std. Deviation,90 Percent,Pass,Fail\nBuy,.1,.2,.3,.01,.25,5,0\n"
    (row,) = read(data)[0]["load_driver_response"]
    assert (row["min_s"], row["average_s"], row["stddev_s"], row["p90_s"], row["failed"]) == (0.1, 0.2, 0.01, 0.25, 0)


def test_a_line_that_does_not_fit_its_header_is_put_aside_and_the_others_stand():
    rows, bad = read(CICS_PA + b"REGION1;PAY1\n" + CICS_PA.splitlines(keepends=True)[1])
    assert len(rows["cics_pa_transaction"]) == 3
    [piece] = bad
    assert (piece.offset, piece.reason) == (len(CICS_PA), "row_malformed")
    assert "export the table again, with values that hold ';'" in piece.detail


def test_a_delimiter_may_end_a_row_and_a_value_too_many_may_not():
    rows, [bad] = read(b"transaction;min;average;max;passed;failed\nA;.1;.2;.3;4;3;\nB;.1;.2;.3;4;3;9\n")
    assert [row["transaction_name"] for row in rows["load_driver_response"]] == ["A"]
    assert bad.detail.startswith("row 1: 7 values, the header has 6 columns")


def test_a_row_with_decimal_commas_is_put_aside_instead_of_read_wrong():
    rows, bad = read(
        b"transaction;min;average;max;passed;failed\nA;0,01;0,125;0,9;4.100;3\nB;0.01;0.125;1,016.5;4,100;3\n"
    )
    (row,) = rows["load_driver_response"]
    assert (row["transaction_name"], row["max_s"], row["passed"]) == ("B", 1016.5, 4100)
    assert [(piece.reason, piece.detail.partition(";")[0]) for piece in bad] == [
        ("row_malformed", "row 0: column min: '0,01' has a decimal comma")
    ]


def test_values_that_are_no_number_or_time_are_reported():
    data = b"start_utc,transaction,status,response_ms,count\nyesterday,A,pass,fast,1\n,B,pass,N/A,-\n"
    (batch,) = read_table(io.BytesIO(data))
    assert batch.decoded == 2
    assert batch.notes == {"value_unreadable": 2}
    assert batch.message.startswith("row 0, column response_ms: 'fast' is no number; NULL there")


def test_every_known_name_leads_to_its_column_and_kinds_do_not_mix():
    for source in sources():
        names = [column[1][0] for column in source.columns]
        assert source_of(names) == source
        known = [name for column in source.columns for name in column[1]]
        assert len(known) == len(set(known)), source.kind
    assert identify_table(b"a,b,c\n1,2,3\n") is None
    assert identify_table(b'{"a": 1}\n') is None
    with pytest.raises(Unreadable):
        list(read_table(io.BytesIO(b"a,b\n1,2\n")))


@pytest.mark.parametrize(
    ("text", "value"),
    [(".48", 0.48), ("1,234.5", 1234.5), ("-2", -2.0), ("1e3", 1000.0), ("-", None), ("1,2", None), ("1e999", None)],
)
def test_numbers_are_read_as_extracts_print_them(text, value):
    assert number(text) == value


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([CICS_PA, IMS_PA]), st.binary(max_size=300))
def test_any_bytes_behind_a_good_line_are_accounted_for(good, rest):
    read(good + rest)
