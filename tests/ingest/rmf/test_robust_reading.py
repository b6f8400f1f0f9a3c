"""Damaged, hostile or merely different files: nothing crashes, nothing is fetched, complete reports are kept."""

import datetime as dt
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.batch import Unreadable
from ingest.formats.rmf import read_reports, reader, values
from ingest.formats.rmf.batches import joined
from tests.ingest.rmf.documents import HEAD, REPORT, document


def read(data: bytes) -> tuple[list[float | None], Unreadable | None]:
    """Busy figures of the complete reports, and the error that ended the reading, if any."""
    busy: list[float | None] = []
    try:
        for batch in read_reports(io.BytesIO(data)):
            if "rmf_cpu_processor" in batch.tables:
                busy += batch.tables["rmf_cpu_processor"].column("mvs_busy_pct").to_pylist()
    except Unreadable as error:
        return busy, error
    return busy, None


def test_values_lose_surrounding_white_space_only():
    assert read(document("12.50", "\n\t7.25\n")) == ([12.5, 7.25], None)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_keeps_its_complete_reports_and_says_where_the_rest_begins(data):
    whole = document("1.5", "2.5", "3.5")
    cut = data.draw(st.integers(1, len(whole) - 1))
    busy, error = read(whole[:cut])
    complete = whole[:cut].count(b"</postprocessor>")
    assert busy == [1.5, 2.5, 3.5][:complete]
    assert error is not None and "line" in error.detail
    end = 0
    for _ in range(complete):
        end = whole.index(b"</postprocessor>", end) + len(b"</postprocessor>")
    assert error.offset == end


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_reply_without_its_beginning_is_read_from_its_first_whole_report(data):
    whole = document("1.5", "2.5", "3.5")
    starts = [place.start() for place in re.finditer(b"<postprocessor>", whole)]
    cut = data.draw(st.integers(whole.index(b"<ddsml") + 1, starts[-1]))
    batches = list(read_reports(io.BytesIO(whole[cut:])))
    found = joined([batch.tables for batch in batches])["rmf_cpu_processor"]
    first = next(start for start in starts if start >= cut)
    assert found["mvs_busy_pct"].to_pylist() == [1.5, 2.5, 3.5][starts.index(first) :]
    assert sum(batch.bytes_in for batch in batches) == len(whole) - cut
    pieces = [piece for batch in batches for piece in batch.quarantined]
    assert [(piece.offset, piece.length, piece.reason) for piece in pieces] == [
        (0, first - cut, "xml_beginning_missing")
    ] * (first > cut)


def test_reports_behind_damage_are_read_where_the_beginning_is_missing_too():
    whole = document("1.5", "2.5", "3.5", "4.5")
    data = whole[whole.index(b"CP</col>") :].replace(b"3.5", b"3.5</none>")
    batches = list(read_reports(io.BytesIO(data)))
    assert joined([batch.tables for batch in batches])["rmf_cpu_processor"]["mvs_busy_pct"].to_pylist() == [2.5, 4.5]
    assert sum(batch.bytes_in for batch in batches) == len(data)


def test_reports_are_found_wherever_the_stream_is_cut_into_chunks(monkeypatch):
    whole = document("1.5", "2.5", "3.5")
    expected = read(whole)
    for size in (1, 7, 63, 64, 65, 200):
        monkeypatch.setattr(reader, "_CHUNK", size)
        assert read(whole) == expected


def test_malformed_xml_is_reported_with_its_line():
    data = document("1.5").replace(b"<row refno", b"<raw refno", 2)
    busy, error = read(data)
    assert busy == []
    assert error is not None and error.reason == "xml_malformed" and error.detail.startswith("line 10,")
    assert "transfer each reply again into its own file" in error.detail


@pytest.mark.parametrize("damage", [b"<raw refno", b"<row \xff refno", b"</row><row refno", b"</postprocessor>"])
def test_reports_behind_a_damaged_one_are_read(damage):
    whole = document("1.5", "2.5", "3.5", "4.5")
    second = whole.index(b"<row refno", whole.index(b"<row refno") + 1)
    data = whole[:second] + damage + whole[second + len(b"<row refno") :]
    batches = list(read_reports(io.BytesIO(data)))
    found = joined([batch.tables for batch in batches])["rmf_cpu_processor"]
    assert found["mvs_busy_pct"].to_pylist() == [1.5, 3.5, 4.5]
    assert found["record_seq"].to_pylist() == [0, 2, 3]
    (piece,) = (piece for batch in batches for piece in batch.quarantined)
    ends = [place.end() for place in re.finditer(b"</postprocessor>\n", whole)]
    grown = len(data) - len(whole)
    assert (piece.offset, piece.record_seq) == (ends[0] - 1, 1)
    assert piece.offset + piece.length == ends[1] + grown
    line = whole[:second].count(b"\n") + 1
    assert piece.detail.startswith(f"line {line},")
    assert sum(batch.bytes_in for batch in batches) == len(data)


def test_reports_behind_a_damaged_first_one_are_of_the_same_server():
    whole = document("1.5", "2.5")
    for long_before in (b"", b"<!-- " + b"x" * (2 << 20) + b"-->"):
        data = whole.replace(b"<row refno", long_before + b"<raw refno", 1)
        tables = joined([batch.tables for batch in read_reports(io.BytesIO(data))])
        assert tables["rmf_cpu_processor"]["mvs_busy_pct"].to_pylist() == [2.5]
        assert tables["rmf_report"]["server_name"].to_pylist() == ["RMF-DDS-Server"]


def test_reports_behind_damage_after_very_many_lines_are_read():
    lines, reports = 1_500_000, 8
    data = document(*["1.5"] * reports, "2.5", "3.5").replace(b"2.5", b"2.5</none>", 1)
    data = data.replace(b"</postprocessor>", b"</postprocessor>" + b"\n" * lines, reports)
    batches = list(read_reports(io.BytesIO(data)))
    busy = joined([batch.tables for batch in batches])["rmf_cpu_processor"]["mvs_busy_pct"]
    assert busy.to_pylist() == [1.5] * reports + [3.5]


def test_replies_one_behind_the_other_are_read():
    data = document("1.5", "2.5") + document("3.5")
    batches = list(read_reports(io.BytesIO(data)))
    busy = joined([batch.tables for batch in batches])["rmf_cpu_processor"]["mvs_busy_pct"]
    assert busy.to_pylist() == [1.5, 2.5, 3.5]
    assert sum(batch.bytes_in for batch in batches) == len(data)


def test_a_report_that_is_cut_off_is_said_to_end_there():
    busy, error = read(document("1.5", "2.5")[:-100])
    assert busy == [1.5]
    assert error is not None and error.detail.endswith("the input ends there; transfer it again")


def test_a_fault_that_the_parser_tells_of_at_the_end_is_not_taken_for_the_end():
    _, error = read(document("1.5", "2.5").replace(b"2.5", b"2.5 & 1", 1))
    assert error is not None and "ends there" not in error.detail


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE ddsml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE ddsml SYSTEM "http://127.0.0.1:9/ddsml.dtd">',
        '<!DOCTYPE ddsml [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_document_types_and_entities_are_refused(prolog):
    entity = "&b;" if "ENTITY b" in prolog else "&secret;" if "secret" in prolog else "1"
    busy, error = read((prolog + "<ddsml>" + REPORT.format(busy=entity) + "</ddsml>").encode())
    assert busy == []
    assert error is not None and error.reason in ("xml_doctype", "xml_malformed")


@pytest.mark.parametrize("inside", [b"<channel/>", b"<report><row/></report>"])
def test_other_xml_is_refused_by_name(inside):
    _, error = read(b"<rss>" + inside + b"</rss>")
    assert error is not None and error.reason == "xml_not_ddsml" and "<rss>" in error.detail


def test_utf16_is_refused_with_a_remedy():
    _, error = read(document("1").decode().replace("UTF-8", "UTF-16").encode("utf-16"))
    assert error is not None and error.reason == "xml_encoding" and "convert" in error.detail


def test_an_element_without_end_is_refused_before_memory_is_filled(monkeypatch):
    monkeypatch.setattr(reader, "MAX_ELEMENT_BYTES", 100_000)
    monkeypatch.setattr(reader, "_CHUNK", 10_000)
    stream = io.BytesIO(document("1.5")[: -len("</ddsml>")] + b"<segment><name>" + b"<x/>" * 1_000_000)
    with pytest.raises(Unreadable) as caught:
        list(read_reports(stream))
    assert caught.value.reason == "xml_too_large"
    assert stream.tell() < 200_000


def test_a_report_without_end_is_refused_before_memory_is_filled(monkeypatch):
    monkeypatch.setattr(reader, "MAX_REPORT_BYTES", 100_000)
    monkeypatch.setattr(reader, "_CHUNK", 10_000)
    start = REPORT.format(busy="1").split("</table>")[0]
    stream = io.BytesIO((HEAD + start).encode() + b"<row><col>1</col></row>" * 1_000_000)
    with pytest.raises(Unreadable) as caught:
        list(read_reports(stream))
    assert caught.value.reason == "xml_too_large"
    assert stream.tell() < 250_000


def test_rows_of_a_long_report_come_in_order_and_only_when_it_is_complete(monkeypatch):
    monkeypatch.setattr(reader, "_ROWS_PER_BATCH", 50)
    monkeypatch.setattr(reader, "_CHUNK", 500)
    row = '<row refno="1"><col>0</col><col>CP</col><col>{}</col></row>'
    long = REPORT.format(busy="0").replace("</table>", "".join(row.format(i) for i in range(1, 100)) + "</table>")
    whole = (HEAD + long + long + "</ddsml>").encode()
    assert read(whole) == ([float(i) for i in range(100)] * 2, None)
    cut = whole.rindex(b"</table>")
    busy, error = read(whole[:cut])
    assert busy == [float(i) for i in range(100)]
    assert error is not None


def test_a_reply_without_any_report_element_is_a_message():
    data = b'<ddsml><server/><message id="GPM0504I"><description>No data available</description></message></ddsml>'
    (batch,) = read_reports(io.BytesIO(data))
    assert (batch.decoded, batch.messages_only) == (1, 1)


def test_monitor_three_reports_without_segments_become_tidy_rows():
    data = b"""<ddsml><report><metric id="8D0E50"/><resource><reslabel>,SYSA,MVS_IMAGE</reslabel>
    <restype>MVS_IMAGE</restype></resource><time-data><local-start>20220301120000</local-start>
    <utc-start>20220301110000</utc-start></time-data><caption><var><name>C1</name><value>5</value></var></caption>
    <column-headers><col type="T">Job</col><col type="N">Delay</col></column-headers>
    <row refno="1"><col>JES2</col><col>3.5</col></row></report></ddsml>"""
    (batch,) = read_reports(io.BytesIO(data))
    group = batch.tables
    assert group["rmf_value"].select(["row_label", "column_label", "value_text", "value_num"]).to_pylist() == [
        {"row_label": None, "column_label": "C1", "value_text": "5", "value_num": 5.0},
        {"row_label": "JES2", "column_label": "Job", "value_text": "JES2", "value_num": None},
        {"row_label": "JES2", "column_label": "Delay", "value_text": "3.5", "value_num": 3.5},
    ]
    (head,) = group["rmf_report"].to_pylist()
    assert head["system_name"] == "SYSA"
    assert head["interval_start_local"] - head["interval_start_utc"] == dt.timedelta(hours=1)


def test_midnight_may_be_printed_as_hour_24():
    assert values.local_time("03/27/2022-24.00.00") == dt.datetime(2022, 3, 28)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.-+:/NaeK %", max_size=80))
def test_any_text_is_a_value_or_none_but_never_an_error(text):
    number = values.number(text)
    assert number is None or number == float(text)
    whole = values.integer(text)
    assert whole is None or whole == int(text)
    micros = values.duration_us(text)
    assert micros is None or micros >= 0
    seconds = values.interval_s(text, "minutes")
    assert seconds is None or seconds >= 0 or text.startswith("-")
    assert values.local_time(text) is None or len(text) >= 14


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_end_in_one_clear_error(data):
    busy, error = read(data)
    assert busy == []
    assert error is not None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_report_with_any_bytes_overwritten_ends_in_rows_or_one_clear_error(data):
    whole = bytearray(document("1.5", "2.5"))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    busy, error = read(bytes(whole))
    assert len(busy) <= 2
    assert error is None or (error.detail and 0 <= error.offset <= len(whole))
