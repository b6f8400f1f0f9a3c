"""Printed RMF reports say what reports in XML say, however they were printed, cut into pages and transferred."""

import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.formats.printed.document import Report
from ingest.formats.printed.lines import text_form
from ingest.formats.rmf import read_reports
from ingest.formats.rmf.builder import Builder
from ingest.formats.rmf.document_rows import emit
from ingest.formats.rmf.printed import read_text_reports
from ingest.formats.rmf.render import RenderError, render_text
from ingest.formats.rmf.text_layouts import report_layouts
from tests.ingest.reports.made import from_values, random_report, said, tables_of
from tests.shared import shared

# A block of a workload activity report; figures as in the arithmetic that the metrics rest on.
WORKLOAD = """\
1                                       W O R K L O A D   A C T I V I T Y
                                                                                                             PAGE   1
     z/OS V2R2         SYSPLEX PLEX1          DATE 02/03/2016            INTERVAL 05.00.000   MODE = GOAL
                       RPT VERSION V2R2 RMF   TIME 10.15.00
                            POLICY ACTIVATION DATE/TIME 01/02/2016 08.00.00
 REPORT BY: POLICY=POL1      WORKLOAD=CICS      SERVICE CLASS=CICSTOR   RESOURCE GROUP=*NONE   PERIOD=1  IMPORTANCE=2
                                                                       CRITICAL     =NONE
 -TRANSACTIONS-  TRANS-TIME HHH.MM.SS.TTT  --DASD I/O--  ---SERVICE---   SERVICE TIME  ---APPL %---  --PROMOTED--  ----STORAGE----
 AVG      17.00  ACTUAL             7.753  SSCHRT   1.5  IOC       6570  CPU    7.909  CP     29.09  BLK    0.000  AVG      612.39
 MPL      17.00  EXECUTION       1.02.003  RESP     0.2  CPU     790900  SRB    0.791  AAPCP   0.00  ENQ    0.000  TOTAL   2066.50
 ENDED     6000  QUEUED                 0  CONN     0.1  MSO          0  RCT    0.000  IIPCP   0.00  CRM    0.000  SHARED     0.00
 END/S    20.00  R/S AFFIN              0  DISC     0.0  SRB      79100  IIT    0.027  AAP      N/A  LCK    0.000
 #SWAPS       0  INELIGIBLE             0  Q+PEND   0.1  TOT     876570  HST    0.000  IIP     0.00  SUP    0.000  -PAGE-IN RATES-
 EXCTD        0  CONVERSION             0  IOSQ     0.0  /SEC      2922  AAP      N/A                              SINGLE      0.0
 AVG ENC   0.00  STD DEV           12.345                                IIP    0.000                              BLOCK       0.0
                                                         ABSRPTN    172                                            SHARED      0.0
                                                         TRX SERV   172                                            HSP         0.0
 TRANSACTION APPL%:   TOTAL :  CP  1493.80   AAP/IIP ON CP     0.00   AAP/IIP     0.00
                      MOBILE:  CP   648.53   AAP/IIP ON CP     0.00   AAP/IIP     0.00
 GOAL: EXECUTION VELOCITY 50.0%
"""  # noqa: E501


def test_a_workload_block_is_read_to_the_last_figure_and_its_arithmetic_holds():
    tables = tables_of(WORKLOAD.encode())
    (report,), (row,) = tables["rmf_report"], tables["rmf_wlm_class"]
    assert (report["form"], report["report"], report["sysplex_name"]) == ("text", "WLMGL", "PLEX1")
    assert report["interval_s"] == 300 and str(report["interval_start_local"]) == "2016-02-03 10:15:00"
    assert (row["class_kind"], row["class_name"], row["period"]) == ("service_class", "CICSTOR", 1)
    assert row["response_actual_us"] == 7_753_000 and row["response_execution_us"] == 62_003_000
    seconds = row["transactions_ended"] / row["transactions_ended_per_s"]
    assert seconds == report["interval_s"]
    parts = [row[f"service_{name}_su"] for name in ("ioc", "cpu", "mso", "srb")]
    assert row["service_total_su"] == sum(parts)
    assert row["service_su_per_s"] == pytest.approx(row["service_total_su"] / seconds, abs=0.5)
    rate = row["service_su_per_s"] / row["transactions_avg"]
    assert row["service_absorption_su_per_s"] == pytest.approx(rate, abs=0.5)
    cpu = sum(row[name] for name in ("cpu_s", "srb_s", "rct_s", "iit_s", "hst_s"))
    assert cpu / seconds * 100 == pytest.approx(2.909, abs=0.001)
    assert row["service_cpu_su"] / row["cpu_s"] == pytest.approx(row["service_srb_su"] / row["srb_s"], rel=1e-3)
    assert (row["transaction_appl_cp_pct"], row["transaction_appl_mobile_cp_pct"]) == (1493.8, 648.53)
    assert row["page_in_shared_per_s"] == 0 and row["frames_shared"] == 0
    assert [line["text"].strip() for line in tables["report_line"]] == ["GOAL: EXECUTION VELOCITY 50.0%"]


@pytest.mark.parametrize("name", ["cpu_small", "wlmgl", "chan"])
def test_a_real_report_printed_and_read_again_fills_the_same_typed_tables(name):
    found: dict[str, list[pa.Table]] = {}
    with shared(f"real/rmf/{name}.xml").open("rb") as stream:
        for batch in read_reports(stream):
            for table, rows in batch.tables.items():
                found.setdefault(table, []).append(rows)
    xml = {table: pa.concat_tables(rows).to_pylist() for table, rows in found.items()}
    heads = {head["record_seq"]: head for head in xml["rmf_report"]}
    reports = [from_values(heads[n], [r for r in xml["rmf_value"] if r["record_seq"] == n]) for n in heads]
    text = tables_of(render_text(reports).encode())
    compared = 0
    for table, rows in text.items():
        if table in ("rmf_report", "rmf_value", "report_line"):
            continue
        assert len(rows) == len(xml[table]), table
        for mine, theirs in zip(rows, xml[table], strict=True):
            for column, value in mine.items():
                if value is not None:
                    assert value == theirs[column], (table, column)
                    compared += 1
    assert compared > 100 and "report_line" not in text
    for column in ("report", "resource_name", "resource_type", "interval_start_local", "interval_s", "cycle_ms"):
        if heads[0][column] is not None:
            assert text["rmf_report"][0][column] == heads[0][column]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(report_layouts()), st.sampled_from([12, 25, 60, 1000]), st.booleans())
def test_what_is_printed_is_read_again_wherever_pages_break(seed, layout, page_lines, asa):
    report = random_report(layout, seed)
    builder = Builder(form="text")
    emit(report, builder)
    wanted = builder.take()["rmf_value"].to_pylist()
    text = tables_of(render_text([report], asa=asa, page_lines=page_lines).encode())
    assert "report_line" not in text
    assert len(text["rmf_report"]) == 1
    assert said(text["rmf_value"]) == said(wanted)


def test_several_intervals_and_systems_in_one_listing_are_reports_of_their_own():
    reports = [random_report(layout, seed) for seed in range(3) for layout in report_layouts()]
    text = tables_of(render_text(reports, page_lines=30).encode())
    expected = [(r.head["report"], r.head["resource_name"], r.head["interval_start_local"]) for r in reports]
    rows = [(r["report"], r["resource_name"], r["interval_start_local"]) for r in text["rmf_report"]]
    assert rows == expected


def transfers(text: str) -> dict[str, bytes]:
    """The same listing as it may arrive: carriage control and text form by name."""
    lines = text.splitlines()
    machine = bytearray()
    for line in lines:
        code = b"\x8b" if line[0] == "1" else b"\x09"
        machine += code + line[1:].encode("cp037") + b"\x15"
    return {
        "lf": text.encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "form feeds": "".join(("\f" if x[0] == "1" else "") + x[1:] + "\n" for x in lines).encode(),
        "ebcdic nl": "\x85".join([*lines, ""]).encode("cp037"),
        "ebcdic lf": text.encode("cp037"),
        "ebcdic fixed": b"".join(line.ljust(133)[:133].encode("cp037") for line in lines),
        "machine control": bytes(machine),
    }


@pytest.mark.parametrize(
    "how", ["lf", "crlf", "form feeds", "ebcdic nl", "ebcdic lf", "ebcdic fixed", "machine control"]
)
@pytest.mark.parametrize("metric", ["CPU", "WLMGL"])
def test_every_way_of_transfer_gives_the_same_rows(how, metric):
    layout = next(item for item in report_layouts() if item.metric == metric)
    text = render_text([random_report(layout, 5)], page_lines=40)
    forms = transfers(text)
    assert tables_of(forms[how]) == tables_of(forms["lf"])


@pytest.mark.parametrize("length", [121, 133])
def test_the_length_of_records_without_line_ends_is_found_from_one_page_on(length):
    for layout in report_layouts():
        for seed in range(3):
            text = render_text([random_report(layout, seed)], page_lines=10_000)
            head = b"".join(line.ljust(length)[:length].encode("cp037") for line in text.splitlines())
            form = text_form(head)
            assert form is not None and (form.fixed, form.control) == (length, "asa"), (layout.metric, seed)


def test_columns_move_with_their_headings():
    layout = next(item for item in report_layouts() if item.metric == "CHAN")
    plain = render_text([random_report(layout, 7)], asa=False)
    moved = "".join(("     " + line if line.strip() else line) + "\n" for line in plain.splitlines())
    assert said(tables_of(moved.encode())["rmf_value"]) == said(tables_of(plain.encode())["rmf_value"])


def test_a_report_of_an_unknown_kind_is_kept_line_by_line():
    text = (
        "1                 X C F   A C T I V I T Y                 PAGE    1\n"
        "   z/OS V2R5   SYSTEM ID SYS1   DATE 03/01/2026   INTERVAL 15.00.000\n"
        "               RPT VERSION V2R5 RMF  TIME 10.00.00\n \n"
        " SOMETHING   12   13\n MORE OF IT\n"
    )
    tables = tables_of(text.encode())
    assert tables["rmf_report"][0]["report"] is None and tables["rmf_report"][0]["system_name"] == "SYS1"
    assert [(row["reason"], row["text"].strip()) for row in tables["report_line"]] == [
        ("unknown_report", "SOMETHING   12   13"),
        ("unknown_report", "MORE OF IT"),
    ]


def test_text_before_the_first_page_is_reported_as_a_stretch_outside_of_reports():
    data = b"JOB 123 STARTED\n\n" + WORKLOAD.encode()
    pieces = [piece for batch in read_text_reports(io.BytesIO(data)) for piece in batch.quarantined]
    assert [(piece.offset, piece.reason) for piece in pieces] == [(0, "text_outside_report")]
    assert tables_of(data)["rmf_wlm_class"]


def test_copies_of_a_report_one_after_another_are_all_kept():
    layout = report_layouts()[0]
    text = render_text([random_report(layout, 3), random_report(layout, 3)])
    assert len(tables_of(text.encode())["rmf_report"]) == 2


def test_what_cannot_be_printed_is_reported():
    with pytest.raises(RenderError, match="no text layout for report 'VSTOR'"):
        render_text([Report({"report": "VSTOR"})])
    with pytest.raises(RenderError, match="CPU"):
        render_text([Report({"report": "CPU"}, random_report(report_layouts()[0], 1).segments)])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_listings_never_fail_and_lose_no_byte(data):
    layout = data.draw(st.sampled_from(report_layouts()))
    text = render_text([random_report(layout, data.draw(st.integers(0, 50)))])
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(text) - 1))
        piece = data.draw(st.sampled_from(["", "\n", " ", "9" * 40, "=", "AVG", "-" * 30, "\f", ": " * 20, "é"]))
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 60)) :]
    damaged = text.encode()
    tables_of(b" \n" + damaged[: data.draw(st.integers(0, len(damaged)))])


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=2000))
def test_any_text_behind_a_page_head_is_accounted_for(text):
    head = "\n".join(WORKLOAD.splitlines()[:6]) + "\n"
    tables_of((head + text + "\n").encode())
