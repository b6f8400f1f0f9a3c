"""CICS statistics listings become one row per value, below their headings, with whose they are."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.formats.cics.listing import is_statistics, read_statistics
from ingest.formats.cics.quantities import quantity

LISTING = b"""1Applid REGION1   Sysid REG1  Jobname CICSJOB1  02/17/2005  Time 15:45:21  CICS 6.4.0  PAGE    5
 Dispatcher
 __________
 Dispatcher Start Time and Date . . . . . . . . : 10:52:11.77  02/17/2005
 Current ICV time . . . . . . . : 1,000ms      Max ICVTSD Time. . . . . . . : 5ms
 Peak number of tasks  . . . . . . . . . . . . : 1,054
   TCB    TCBs Attached    Op. System     Op. System      Total TCB       Total TCB         DS TCB      TCB CPU/Disp
   Mode  Current    Peak     Waits         Wait Time     Dispatch Time     CPU Time        CPU Time         Ratio
    QR         1        1       4,463   01:53:49.86610  00:00:04.92424  00:00:02.28346  00:00:00.34112      46.3%
"""


def read(data: bytes):
    """Rows of all tables; every byte must be accounted for."""
    rows, size = {}, 0
    for batch in read_statistics(io.BytesIO(data)):
        size += batch.decoded_bytes + batch.framing_bytes
        for name, table in batch.tables.items():
            rows.setdefault(name, []).extend(table.to_pylist())
    assert size == len(data)
    return rows


def test_label_lines_and_known_tables_are_read():
    assert is_statistics(LISTING)
    rows = read(LISTING)["cics_statistic"]
    assert {(row["applid"], row["jobname"], row["collected_local"]) for row in rows} == {
        ("REGION1", "CICSJOB1", "02/17/2005 15:45:21")
    }
    said = {(row["section"], row["row_label"], row["label"]): (row["value_text"], row["value_num"]) for row in rows}
    assert said["Dispatcher", None, "Peak number of tasks"] == ("1,054", 1054)
    assert said["Dispatcher", None, "Max ICVTSD Time"] == ("5ms", 0.005)
    assert said["Dispatcher", None, "Dispatcher Start Time and Date"][0] == "10:52:11.77  02/17/2005"
    assert said["Dispatcher TCB Modes", "QR", "Op. System Waits"] == ("4,463", 4463)
    assert said["Dispatcher TCB Modes", "QR", "DS TCB CPU Time"] == ("00:00:00.34112", 0.34112)
    assert said["Dispatcher", None, "Dispatcher Start Time and Date"][1] is None


@pytest.mark.parametrize(
    ("label", "text", "expected"),
    [
        ("Maximum transactions allowed (MXT)", "120", ("limit", 120, "count")),
        ("Times at Max TCB Pool Limit (MAXJVMTCBS)", "3", ("total", 3, "count")),
        ("Requests Delayed by Max TCB Pool Limit", "3", ("total", 3, "count")),
        ("Max Open TCB Limit (MAXOPENTCBS)", "50", ("limit", 50, "count")),
        ("Total Accumulated transactions so far", "1,800", ("cumulative", 1800, "count")),
        ("Accumulated transactions (since reset)", "800", ("total", 800, "count")),
        ("Address Space CPU Time", "00:01:04.50000 (Not Reset)", ("cumulative", 64.5, "s")),
        ("Total MXT queueing time", "00:00:12.50000", ("total", 12.5, "s")),
        ("Op. System Wait Time", "2-01:00:00.5", ("total", 176_400.5, "s")),
        ("Current ICV time", "5,000ms", ("level", 5.0, "s")),
        ("Transaction Rate per second", "4.00", ("rate", 4.0, "1/s")),
        ("TCB CPU/Disp Ratio", "46.3", ("percentage", 46.3, "pct")),
        ("Requests that hit", "46.3%", ("percentage", 46.3, "pct")),
        ("Storage in use", "1,024K", ("total", 1_048_576, "bytes")),
        ("Peak number of tasks", "17", ("peak", 17, "count")),
        ("TCBs Attached Peak", "1", ("peak", 1, "count")),
        ("TCBs Attached Current", "1", ("level", 1, "count")),
        ("Average MXT queueing time", "00:00:01.78571", ("average", 1.78571, "s")),
        ("Last Reset Time", "15:45:21", ("moment", None, None)),
        ("Last Reset", "(Not Reset)", ("moment", None, None)),
        ("Monitoring", "ON", ("total", None, None)),
        ("Total Max TCB Pool Limit delay time", "5.03215", ("total", 5.03215, "s")),
    ],
)
def test_a_value_has_a_kind_a_number_and_a_unit(label, text, expected):
    assert quantity(label, text) == expected


def test_a_dfhstup_page_names_its_region_and_kind():
    text = (
        b"1                INTERVAL STATISTICS REPORT  COLLECTION DATE-TIME 03/01/2026-10:00:00"
        b"  APPLID REGION2 JOBNAME J2\n"
        b" TRANSACTION MANAGER STATISTICS\n Peak active user transactions. . . . : 17\n"
    )
    assert is_statistics(text)
    (row,) = read(text)["cics_statistic"]
    assert (row["applid"], row["section"], row["value_num"]) == ("REGION2", "TRANSACTION MANAGER STATISTICS", 17)
    assert row["report_kind"] == "INTERVAL STATISTICS REPORT"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*LISTING.splitlines(keepends=True), b". . . :", b" : ", b"a" * 700, b"\n"]), max_size=40)
)
def test_lines_in_any_order_never_fail_and_lose_no_byte(lines):
    read(b" \n" + b"".join(lines))
