"""Monitor III and Postprocessor documents, and whether both readers of them say the same."""

import io

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from ingest.batch import Unreadable
from ingest.formats.rmf import read_reports, reader
from ingest.formats.rmf.plain import PlainReader

REPORT = """<postprocessor><metric id="CPU"><description>CPU Activity Report</description></metric>
<resource><resname>SYSA</resname><restype>SYSTEM</restype></resource>
<time-data><display-start locale="en-us">03/27/2022-23.30.00</display-start>
<display-end locale="en-us">03/28/2022-24.00.00</display-end><report-interval unit="minutes">30:00:000</report-interval>
</time-data>
<segment id="1"><name>CPU Activity</name><part id="2"><table id="4"><column-headers><col type="T">CPU Number</col>
<col type="T">CPU Type</col><col type="N">Time% MVS Busy</col></column-headers>
<row refno="1"><col>0</col><col>CP</col><col> {busy} </col></row></table></part></segment></postprocessor>
"""
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<ddsml><server><name>RMF-DDS-Server</name></server>\n'


def document(*busy: str) -> bytes:
    return (HEAD + "".join(REPORT.format(busy=b) for b in busy) + "</ddsml>").encode()


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
