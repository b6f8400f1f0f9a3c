"""Reports in their plain form are read by compiled loops: always exactly what the full XML parser would have read."""

import io

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.batch import Unreadable
from ingest.formats.rmf import plain, read_reports, reader
from ingest.formats.rmf.plain import PlainReader
from tests.ingest.rmf.test_robust_reading import HEAD, REPORT
from tests.shared import shared

REAL = ["chan", "cpu_263_intervals", "cpu_small", "vstor", "wlmgl", "cpu_error_reply"]


def outcome(batches):
    """Tables, how many reports and messages, where the last ended, and the error that ended the reading, if any."""
    parts: dict[str, list[pa.Table]] = {}
    reports = only = end = 0
    failed = None
    try:
        for batch in batches:
            reports, only, end = reports + batch.decoded, only + batch.messages_only, end + batch.decoded_bytes
            for name, table in batch.tables.items():
                parts.setdefault(name, []).append(table)
    except Unreadable as error:
        failed = (error.reason, error.detail, error.offset)
    tables = {name: pa.concat_tables(found).combine_chunks() for name, found in sorted(parts.items())}
    return tables, reports, only, end if failed is None else None, failed


def both(data: bytes):
    """What the two ways say, and how many reports the fast way read by itself."""
    fast = PlainReader(io.BytesIO(data))
    list(fast.read())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "PLAIN_FROM_BYTES", 0)
        combined = outcome(read_reports(io.BytesIO(data)))
    return combined, outcome(reader.read_strictly(io.BytesIO(data))), fast


def assert_same(data: bytes) -> PlainReader:
    combined, strict, fast = both(data)
    assert combined[1:] == strict[1:]
    assert combined[0].keys() == strict[0].keys()
    for name, table in strict[0].items():
        assert combined[0][name].equals(table), name
    return fast


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


texts = st.sampled_from(
    [
        "",
        " ",
        "0",
        "CP",
        "1.25",
        "-.5",
        "007",
        "N/A",
        "00.00.18.637",
        "1.23.45",
        "999.59.59.9",
        "123456789012345678.5",
        "&lt;=N",
        "&amp;",
        "a &gt; b",
        "&#65;",
        "&#x42;",
        "&#32;",
        "&#0;",
        "&none;",
        "é",
        "\xa0x\xa0",
        "\r\n5\r\n",
        "&#xD;",
        "]]>",
        "x]]&gt;",
        "<!-- c -->7",
        "<![CDATA[<7>]]>",
        "<?pi?>8",
        "<b/>",
        "1e5",
        "١",
        "1\u0661",
        "\ufffe",
        "\x01",
        "%",
        "SUM",
        "Time% MVS Busy",
        "CPU Number",
        " > ",
        "413",
    ]
)
labels = st.sampled_from(
    [
        "CPU Number",
        "CPU Type",
        "Time% MVS Busy",
        "Time% Online",
        "",
        "CPU",
        "Model",
        "CPC Capacity",
        "CP&amp;U",
        "a > b",
    ]
)
kinds = st.sampled_from(
    [
        "",
        ' type="T"',
        ' type="N"',
        " type='T' id='1'",
        ' type=""',
        ' type=" T"',
        ' type="T" type="T"',
        ' refno="1"',
        " a='&lt;'",
        ' x:y="1"',
        " broken",
        ' xmlns="u"',
        "  id = '3' ",
    ]
)
row_kinds = st.sampled_from(["", ' refno="1"', ' type="SUM"', ' type="SUM" refno="2"', ' type="sum"'])
common_kinds = st.one_of(st.sampled_from(["", ' type="T"', ' type="N"']), kinds)


@st.composite
def cells(draw, names, tag="col"):
    name = draw(names)
    return f"<{tag}{draw(common_kinds)}>{name}</{tag}>" if name or draw(st.booleans()) else f"<{tag}/>"


def rarely(strategy):
    """Mostly nothing, so that most documents are read whole."""
    return st.one_of(st.just(""), st.just(""), st.just(""), st.just(""), st.just(""), st.just(""), strategy)


odd = rarely(
    st.sampled_from(
        [
            "<!-- c -->",
            "<x/>",
            "text",
            "<name>again</name>",
            "<row/>",
            "<var><name>n</name></var>",
            "<table/>",
            "\r\n",
            "<message id='E1'><description>d</description></message>",
            "<mfpmsg id='M'>m</mfpmsg>",
            "&amp;",
            "</row>",
        ]
    )
)
plain_texts = st.one_of(st.sampled_from(["0", "CP", "1.25", "N/A", "", "&lt;=N", "00.00.18.637"]), texts)


@st.composite
def tables(draw):
    headers = "".join(draw(st.lists(cells(labels), max_size=4)))
    rows = "".join(
        f"<row{draw(row_kinds)}>{''.join(draw(st.lists(cells(plain_texts), max_size=5)))}{draw(odd)}</row>\n"
        for _ in range(draw(st.integers(0, 3)))
    )
    if draw(st.integers(0, 9)) == 0:
        headers, rows = rows, headers
    heads = f"<column-headers>{headers}</column-headers>" if draw(st.integers(0, 5)) else ""
    return f'<table id="4">{heads}{draw(odd)}{rows}</table>'


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


head_kinds = st.sampled_from(
    ["", "", "", ' unit="minutes"', ' unit=""', ' id="CPU"', " option=' x'", ' a="b" c="d"', " a='&lt;'"]
)
head_texts = st.sampled_from(
    [
        "SYSA",
        "",
        "03/27/2022-23.30.00",
        "30:00:000",
        " 1000\n",
        "a &amp; b",
        "é",
        "&#32;",
        "&none;",
        "<b/>",
        "<!-- -->",
        "\xff",
    ]
)


@st.composite
def heads(draw):
    """Heads of any shape: elements known and unknown, of one to three steps, some twice, some with text beside."""
    outer = st.sampled_from(["metric", "version", "resource", "time-data", "extra"])
    inner = st.sampled_from(
        ["resname", "restype", "reslabel", "display-start", "report-interval", "cycle", "type", "row"]
    )
    found = []
    for name in draw(st.lists(outer, max_size=4)):
        inside = "".join(
            f"<{tag}{draw(head_kinds)}>{draw(head_texts)}</{tag}>" for tag in draw(st.lists(inner, max_size=3))
        )
        whole = st.sampled_from(
            [f"<{name}{draw(head_kinds)}>{draw(rarely(head_texts))}{inside}</{name}>", f"<{name}/>"]
        )
        found.append(draw(whole))
    return "\n".join(found)


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
