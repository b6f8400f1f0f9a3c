"""Replies of the Distributed Data Server about Monitor III reports, in both forms, the way the server writes them."""

import json
from dataclasses import dataclass, field
from xml.sax.saxutils import escape


@dataclass(frozen=True)
class Reply:
    """A report of one system: its caption, columns as (name, kind) and rows of texts."""

    report: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    caption: dict[str, str] = field(default_factory=dict)


CPC = Reply(
    "CPC",
    (("CPCPPNAM", "T"), ("CPCPAMSU", "N"), ("CPCPLTOU", "N"), ("CPCPIND", "T"), ("CPCPHWCC", "N")),
    (
        ("*CP", "", "", "CS", ""),
        ("PROD1", "310", "71.5", "CP", "10.00"),
        ("TEST1", "4", "1.1", "CP", ""),
        ("", "", "", "", ""),
        ("*IIP", "", "", "IS", ""),
    ),
    {"CPCHPNAM": "PROD1", "CPCHCMSU": "413", "CPCHWF": "****", "CPCHGLIM": "N/A", "CPCHGL4H": ""},
)
DELAY = Reply(
    "DELAY",
    (("JDELDAN", "T"), ("JDELASI", "N"), ("JDELWFL", "N"), ("JDELDEL", "N"), ("JDELREAS", "T")),
    (("DB2ADBM1", "77", "88", "12", "VOL001"), ("BATCH<1>", "91", "", "100", "SYSDSN")),
)

_TIMES = {
    "localStart": "20260304131500",
    "localEnd": "20260304131640",
    "utcStart": "20260304121500",
    "utcEnd": "20260304121640",
}


def reply_xml(*replies: Reply) -> bytes:
    """The replies as XML: the column headers stand behind the rows."""
    return ("<ddsml><server><name>DDS</name></server>" + "".join(map(_report_xml, replies)) + "</ddsml>").encode()


def _report_xml(reply: Reply) -> str:
    times = "".join(f"<{n[: -len(w)]}-{w.lower()}>{t}</{n[: -len(w)]}-{w.lower()}>" for n, w, t in _named_times())
    variables = "".join(
        f"<var><name>{name}</name><value>{value}</value></var>" for name, value in reply.caption.items()
    )
    rows = "".join(
        f'<row refno="{n}">' + " ".join(f"<col>{escape(cell)}</col>" if cell else "<col/>" for cell in row) + "</row>\n"
        for n, row in enumerate(reply.rows, 1)
    )
    heads = " ".join(f'<col type="{kind}">{name}</col>' for name, kind in reply.columns)
    return (
        f'<report>\n<metric id="{reply.report}"><description>{reply.report}</description></metric>'
        "<resource><reslabel>,SYSA,MVS_IMAGE</reslabel><restype>MVS_IMAGE</restype></resource>"
        f'<time-data>{times}<gatherer-interval unit="seconds">100</gatherer-interval></time-data>'
        f"{f'<caption>{variables}</caption>' if variables else ''}\n{rows}"
        f"<column-headers>{heads}</column-headers></report>"
    )


def _named_times() -> list[tuple[str, str, str]]:
    return [(name, "Start" if name.endswith("Start") else "End", text) for name, text in _TIMES.items()]


def reply_json(*replies: Reply) -> bytes:
    """The replies as JSON."""
    reports = [
        {
            "metric": {"id": reply.report, "description": reply.report, "format": "report", "numcols": 5},
            "resource": {"reslabel": ",SYSA,MVS_IMAGE", "restype": "MVS_IMAGE"},
            "timeData": {**_TIMES, "gathererInterval": {"unit": "seconds", "value": 100}},
            **(
                {"caption": {"var": [{"name": n, "value": v} for n, v in reply.caption.items()]}}
                if reply.caption
                else {}
            ),
            "row": [{"refno": n, "col": list(row)} for n, row in enumerate(reply.rows, 1)],
            "columnHeaders": {"col": [{"type": kind, "value": name} for name, kind in reply.columns]},
        }
        for reply in replies
    ]
    return json.dumps({"server": {"name": "DDS"}, "report": reports}).encode()
