"""Reports of real systems: what the tables say equals an independent reading of the same file, text by text."""

import datetime as dt
import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from ingest.formats.rmf import read_reports
from tests.shared import shared

FILES = ["chan.xml", "cpu_263_intervals.xml", "cpu_small.xml", "vstor.xml", "wlmgl.xml"]


def tables(path: Path) -> dict[str, pa.Table]:
    """All rows of a file, by table."""
    parts: dict[str, list[pa.Table]] = {}
    with path.open("rb") as stream:
        for batch in read_reports(stream):
            for name, table in batch.tables.items():
                parts.setdefault(name, []).append(table)
    return {name: pa.concat_tables(found) for name, found in parts.items()}


def text(element: ET.Element | None) -> str | None:
    return ("".join(element.itertext()).strip() or None) if element is not None else None


def independent_values(path: Path) -> list[tuple]:
    """(record, segment, part, row label, column label, text) of every cell and variable, in file order."""
    found = []
    for record, report in enumerate(ET.parse(path).getroot().findall("postprocessor")):
        for segment in report.findall("segment"):
            for part in segment.findall("part"):
                where = (record, text(segment.find("name")), text(part.find("name")))
                for child in part:
                    for var in child.findall("var"):
                        found.append((*where, None, text(var.find("name")), text(var.find("value"))))
                    heads = [text(c) for c in child.findall("column-headers/col")]
                    for row in child.findall("row"):
                        cells = [text(c) for c in row]
                        found += [(*where, cells[0], head, cell) for head, cell in zip(heads, cells, strict=False)]
    return found


@pytest.mark.parametrize("name", FILES)
def test_tidy_rows_are_the_reports_own_values_in_its_own_order(name):
    path = shared(f"real/rmf/{name}")
    table = tables(path)["rmf_value"]
    columns = ["record_seq", "section", "part", "row_label", "column_label", "value_text"]
    rows = list(zip(*(table.column(c).to_pylist() for c in columns), strict=True))
    assert rows == independent_values(path)


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_the_printed_numbers_and_text_stays_text(name):
    table = tables(shared(f"real/rmf/{name}"))["rmf_value"].select(["value_text", "value_num"]).to_pylist()
    numbers = [(row["value_text"], row["value_num"]) for row in table if row["value_num"] is not None]
    assert numbers
    assert all(float(printed) == value for printed, value in numbers)
    no_number = {row["value_text"] for row in table if row["value_num"] is None and row["value_text"]}
    assert not any(re.fullmatch(r"\d+\.\d+", printed) for printed in no_number)


def test_every_interval_has_a_head():
    reports = tables(shared("real/rmf/cpu_263_intervals.xml"))["rmf_report"].to_pylist()
    assert len(reports) == 263
    assert {r["report"] for r in reports} == {"CPU"}
    assert {r["system_name"] for r in reports} == {"RPRT"}
    assert {r["rmf_version"] for r in reports} == {"z/OS V2R5"}
    assert all(r["interval_start_utc"] is None and r["sysplex_name"] is None for r in reports)
    for report in reports:
        length = (report["interval_end_local"] - report["interval_start_local"]).total_seconds()
        minutes, seconds, millis = map(int, report["interval_text"].split(":"))
        assert report["interval_s"] == pytest.approx(minutes * 60 + seconds + millis / 1000, abs=1e-9)
        assert abs(length - report["interval_s"]) < 2
    assert len({r["interval_start_local"] for r in reports}) == 263


def rows_of(path: Path, segment: str, part: str | None, total: bool) -> list[tuple[int, dict[str, str | None]]]:
    """(record, {label: text}) of the table of a part."""
    found = []
    for record, report in enumerate(ET.parse(path).getroot().findall("postprocessor")):
        for part_ in (
            p for s in report.findall("segment") if text(s.find("name")) == segment for p in s.findall("part")
        ):
            if text(part_.find("name")) == part:
                heads = [text(c) for c in part_.findall("table/column-headers/col")]
                for row in part_.findall("table/row"):
                    cells = [text(c) for c in row]
                    if (row.get("type") == "SUM") == total and any(cells):
                        found.append((record, dict(itertools.zip_longest(heads, cells))))
    return found


PROCESSOR = {
    "cpu_number": "CPU Number",
    "cpu_type": "CPU Type",
    "online_pct": "Time% Online",
    "lpar_busy_pct": "Time% LPAR Busy",
    "mvs_busy_pct": "Time% MVS Busy",
    "parked_pct": "Time% Parked",
    "log_proc_share_pct": "LOG PROC Share%",
    "io_interrupts_per_s": "I/O Interrupts Rate",
    "io_interrupts_tpi_pct": "I/O Interrupts% via TPI",
}
PARTITION = {
    "partition_name": "Partition Name",
    "status": "Partition Status",
    "weight": "Partition Weight",
    "msu_actual": "MSU Actual",
    "capping_wlm_pct": "Capping WLM%",
    "log_procs": "Num of LOG PROCs",
    "proc_type": "PROC Type",
    "effective_dispatch_us": "Effective Dispatch Time",
    "total_dispatch_us": "Total Dispatch Time",
    "logical_total_pct": "Avg Util%: LOG PROC Total",
    "lpar_management_pct": "Avg Util%: PHYS PROC LPAR MGMT",
    "physical_effective_pct": "Avg Util%: PHYS PROC Effective",
    "physical_total_pct": "Avg Util%: PHYS PROC Total",
}


def same(value, printed: str | None) -> bool:
    """Whether a typed value says what the report prints."""
    if value is None:
        return printed in (None, "N/A")
    if isinstance(value, str):
        return value == printed
    if isinstance(value, int) and re.fullmatch(r"\d+\.\d\d\.\d\d\.\d+", printed or ""):
        hours, minutes, seconds, fraction = (printed or "").split(".")
        delta = dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
        return value == delta // dt.timedelta(microseconds=1) + int(fraction) * 10 ** (6 - len(fraction))
    return float(printed or "nan") == value


@pytest.mark.parametrize("file", ["cpu_263_intervals.xml", "cpu_small.xml"])
@pytest.mark.parametrize(
    ("table", "segment", "part", "total", "labels"),
    [
        ("rmf_cpu_processor", "CPU Activity", None, False, PROCESSOR),
        ("rmf_cpu_total", "CPU Activity", None, True, {k: v for k, v in PROCESSOR.items() if k != "cpu_number"}),
        ("rmf_partition", "Partition Data Report", "Partition Data", False, PARTITION),
    ],
)
def test_typed_cpu_tables_equal_the_report(file, table, segment, part, total, labels):
    path = shared(f"real/rmf/{file}")
    rows = tables(path)[table].to_pylist()
    expected = rows_of(path, segment, part, total)
    assert [r["record_seq"] for r in rows] == [record for record, _ in expected]
    for row, (_, printed) in zip(rows, expected, strict=True):
        wrong = {c: (row[c], printed[label]) for c, label in labels.items() if not same(row[c], printed[label])}
        assert wrong == {}


CLASS = {
    "policy_name": (None, "Policy"),
    "workload_name": (None, "Workload"),
    "description": (None, "Description"),
    "transactions_avg": ("Transactions", "Average"),
    "transactions_mpl": ("Transactions", "MPL"),
    "transactions_ended": ("Transactions", "Ended"),
    "transactions_ended_per_s": ("Transactions", "Ended/sec"),
    "response_actual_us": ("Transaction Time (HHH.MM.SS.FFFFFF)", "Actual"),
    "response_execution_us": ("Transaction Time (HHH.MM.SS.FFFFFF)", "Execution"),
    "response_queued_us": ("Transaction Time (HHH.MM.SS.FFFFFF)", "Queued"),
    "service_cpu_su": ("Service", "CPU"),
    "service_total_su": ("Service", "Total"),
    "service_su_per_s": ("Service", "Per Second"),
    "cpu_s": ("Service Time", "CPU"),
    "srb_s": ("Service Time", "SRB"),
    "ziip_s": ("Service Time", "zIIP"),
    "appl_cp_pct": ("Application Time %", "CP"),
    "appl_ziip_pct": ("Application Time %", "zIIP"),
    "promoted_lock_s": ("Promoted Transactions", "Lock"),
    "dasd_ssch_per_s": ("DASD I/O", "SSCH/sec"),
    "frames_total": ("Storage Frames", "Total"),
    "page_in_single_per_s": ("Page-In Rates", "Single"),
}


def test_workload_activity_classes_equal_the_report():
    path = shared("real/rmf/wlmgl.xml")
    rows = tables(path)["rmf_wlm_class"].to_pylist()
    segments = [
        s
        for s in ET.parse(path).getroot().iter("segment")
        if re.match("Service Class|Workload", text(s.find("name")) or "")
    ]
    assert len(rows) == len(segments) == 21
    for row, segment in zip(rows, segments, strict=True):
        kind = {"service_class": "Service Class", "workload": "Workload"}[row["class_kind"]]
        assert f"{kind} {row['class_name']}" == text(segment.find("name"))
        assert row["message"] == text(segment.find("message/description"))
        printed: dict[tuple[str | None, str | None], str | None] = {}
        for part in segment.findall("part"):
            for var in part.iter("var"):
                # The file repeats the name MPL in one segment; the first is the value of that name.
                printed.setdefault((text(part.find("name")), text(var.find("name"))), text(var.find("value")))
        wrong = {c: (row[c], printed.get(at)) for c, at in CLASS.items() if not same(row[c], printed.get(at))}
        assert wrong == {}
        appl = {text(r[0]): text(r[1]) for r in segment.iter("row") if text(r[0]) in ("Total", "Mobile")}
        assert same(row["transaction_appl_cp_pct"], appl.get("Total"))
        assert same(row["transaction_appl_mobile_cp_pct"], appl.get("Mobile"))


def test_workload_activity_periods_and_systems_equal_the_report():
    found = tables(shared("real/rmf/wlmgl.xml"))
    periods = found["rmf_wlm_period"].to_pylist()
    counts = Counter(row["class_name"] for row in periods)
    assert counts["UNIX"] == 3 and set(counts.values()) == {1, 3}
    third = next(row for row in periods if row["class_name"] == "UNIX" and row["period"] == 3)
    assert (third["importance"], third["performance_index"], third["velocity_goal_pct"]) == ("4", 0.4, 40.0)
    first = next(row for row in periods if row["class_name"] == "UNIX" and row["period"] == 1)
    assert first["performance_index"] is None and first["transactions_ended"] == 1
    assert found["rmf_wlm_system"].select(["system_name", "su_per_s"]).to_pylist() == [
        {"system_name": "RPRT", "su_per_s": 85106.4}
    ]
    assert found["rmf_report"].column("sysplex_name").to_pylist() == ["VIPLEX"]


def test_a_reply_that_is_only_a_message_is_a_message():
    path = shared("real/rmf/cpu_error_reply.xml")
    with path.open("rb") as stream:
        batches = list(read_reports(stream))
    assert sum(b.decoded for b in batches) == sum(b.messages_only for b in batches) == 1
    (row,) = tables(path)["rmf_report"].to_pylist()
    assert row["status"] == "message"
    assert row["message_id"] == "GPM0739E"
    assert row["message_text"] == "Invalid DDS request parameter 'DATE'"
    assert row["message_severity"] == 3
