"""Reports in their plain form are read by compiled loops: always exactly what the full XML parser would have read."""

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.formats.rmf import plain, read_reports
from tests.ingest.rmf.documents import (
    HEAD,
    REPORT,
    assert_same,
    cells,
    heads,
    labels,
    odd,
    outcome,
    plain_texts,
    rarely,
    tables,
)
from tests.shared import shared

REAL = ["chan", "cpu_263_intervals", "cpu_small", "vstor", "wlmgl", "cpu_error_reply"]


@pytest.mark.parametrize("name", REAL)
def test_real_reports_are_read_whole_by_the_fast_way_with_the_same_result(name):
    data = shared(f"real/rmf/{name}.xml").read_bytes()
    fast = assert_same(data)
    assert fast.complete and fast.reports == data.count(b"</postprocessor>")


@pytest.mark.parametrize("size", [64, 1000, 4096, 40_000])
def test_the_result_does_not_depend_on_how_much_is_read_at_once(size, monkeypatch):
    data = shared("real/rmf/cpu_small.xml").read_bytes()
    end = data.index(b"</postprocessor>") + len(b"</postprocessor>")
    begin = data.index(b"<postprocessor")
    many = data[:end] + data[begin:end] * 4 + data[end:]
    monkeypatch.setattr(plain, "STRETCH", size)
    fast = assert_same(many)
    assert fast.complete == (size >= 40_000 or len(data[begin:end]) <= 2 * size)


@st.composite
def variables(draw):
    found = [
        f"<var>{draw(cells(labels, 'name'))}{draw(odd)}{draw(cells(plain_texts, 'value'))}</var>"
        for _ in range(draw(st.integers(0, 3)))
    ]
    tag = draw(st.sampled_from(["var-list", "var-list", "table", "caption"]))
    return f"<{tag}>{''.join(found)}</{tag}>"


messages = st.builds(
    lambda ident, text, level: f"<message{ident}><description>{text}</description>{level}</message>",
    st.sampled_from(["", ' id="GPM1"']),
    plain_texts,
    st.sampled_from(["", "<severity> 1 </severity>"]),
)


@st.composite
def segments(draw):
    name = draw(st.sampled_from(["CPU Activity", "Partition Data Report", "Service Class A &amp; B", "Other", ""]))
    parts = [
        f"<part id='2'>{draw(st.sampled_from(['', '<name>Partition Data</name>', '<name/>']))}{draw(odd)}"
        f"{''.join(draw(st.lists(st.one_of(tables(), variables(), rarely(messages)), max_size=3)))}</part>"
        for _ in range(draw(st.integers(0, 2)))
    ]
    named = f"<name>{name}</name>" if draw(st.integers(0, 5)) else ""
    return f'<segment id="1">{named}{draw(odd)}{"".join(parts)}{draw(rarely(messages))}</segment>\n'


@st.composite
def documents(draw):
    reports = []
    for _ in range(draw(st.integers(1, 3))):
        metric = draw(st.sampled_from(["CPU", "WLMGL", "X"]))
        head = REPORT.split("<segment")[0].removeprefix("<postprocessor>").replace("CPU", metric)
        head = draw(st.one_of(st.just(head), heads()))
        inside = "".join(draw(st.lists(segments(), max_size=3)))
        reports.append(f"<postprocessor>{head}{draw(odd)}{draw(rarely(messages))}{inside}{draw(odd)}</postprocessor>\n")
        reports.append(draw(odd))
    tail = draw(st.sampled_from(["", "<rmf-mfpmsg><mfpmsg id='ERB103I'> PPS: x</mfpmsg></rmf-mfpmsg>\n"]))
    head = draw(st.sampled_from([HEAD, HEAD, HEAD, "<ddsml>", HEAD.replace("UTF-8", "ISO-8859-1")]))
    end = draw(st.sampled_from(["</ddsml>", "</ddsml>", "</ddsml>\n", "</ddsml >", "</other>", "", "</ddsml>x"]))
    return (head + "".join(reports) + tail + end).encode("utf-8", "surrogatepass")


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_any_document_is_read_as_the_full_parser_reads_it(data):
    assert_same(data)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_document_ends_in_the_same_rows_and_the_same_error(data):
    whole = bytearray(data.draw(documents()))
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(
            st.one_of(st.integers(0, 255), st.sampled_from(list(b"<>&/\"' =!?]")))
        )
    assert_same(bytes(whole[: data.draw(st.one_of(st.just(len(whole)), st.integers(1, len(whole))))]))


def test_labels_that_would_fill_memory_when_repeated_are_left_to_the_full_parser(monkeypatch):
    from ingest.formats.rmf import stretch

    monkeypatch.setattr(stretch, "MAX_TEXT_BYTES", 1000)
    row = f"<row><col>{'x' * 100}</col>{'<col/>' * 20}</row>"
    data = (HEAD + REPORT.format(busy="1").replace("</table>", row + "</table>") + "</ddsml>").encode()
    fast = assert_same(data)
    assert not fast.complete


@pytest.mark.parametrize(
    "inside",
    [
        "<part><name>Partition Data</name><message><description>d</description></message>"
        "<var-list><var><name>CPU Number</name><value>0</value></var></var-list></part>",
        "<part><name>CPU</name><table><column-headers></column-headers><row><col>0</col></row></table></part>",
    ],
)
def test_a_message_before_a_table_and_a_table_without_headers_keep_their_part(inside):
    head = REPORT.split("<segment")[0]
    segment = f"<segment><name>CPU Activity</name>{inside}</segment>"
    data = (HEAD + head + segment + "</postprocessor></ddsml>").encode()
    assert assert_same(data).complete
    (value,) = outcome(read_reports(io.BytesIO(data)))[0]["rmf_value"].to_pylist()
    assert (value["part"], value["value_text"]) == (inside.split("name>")[1].removesuffix("</"), "0")
