"""What kind of file is this? Its content decides; its name only for the small companion files of a dump."""

import re
from dataclasses import dataclass
from enum import StrEnum

from ingest.formats import foreign
from ingest.formats.tables import collector

#: How much of the start of a file `identify` wants to see, in bytes.
HEAD_BYTES = 1 << 16

EXPECTED = (
    "expected an SMF dump transferred in binary, an IMS log or output of DCOLLECT with its record descriptors (RDWs), "
    "or an RMF report (XML, JSON or text). Also supported: CICS statistics listings, tables of performance analyzers "
    "or "
    "load drivers (CSV, JSON Lines), and *.runs.csv, *.groups.csv and *.dictionary.csv files"
)

_XML_EBCDIC = ("<?xml".encode("cp037"), "<ddsml".encode("cp037"))
_TEXT_ALONE = foreign.Foreign("text", "text: if it was a dump, it was transferred as text; transfer it again in binary")
_EBCDIC_ALONE = foreign.Foreign("ebcdic", "EBCDIC text that is not a known report, such as source code")
# A descriptor word may hold the code of `<`, but its last byte is zero, as is one byte of every pair of these.
_UTF_16_XML = re.compile(rb"\xff\xfe<\0|\xfe\xff\0<|<\0[^\0]\0|\0<\0[^\0]")
# A reply whose beginning is missing.
_INSIDE_XML = re.compile(rb"</col>\s*(?:<col[\s/>]|</row>|</column-headers>)")
_JSON_REPORTS = re.compile(rb'"(?:report|postprocessor)"\s*:\s*\[')
_JSON_REPORT_PART = re.compile(rb'"(?:metric|timeData|columnHeaders|server)"\s*:\s*\{')
_TEXT = re.compile(rb"[\t\n\r\f\x1b\x20-\x7e\x80-\xff]*")


class Kind(StrEnum):
    """Kinds of input file."""

    SMF = "smf"
    RMF_XML = "rmf_xml"
    RMF_JSON = "rmf_json"
    RMF_TEXT = "rmf_text"
    IMS_LOG = "ims_log"
    DCOLLECT = "dcollect"
    CICS_STATISTICS = "cics_statistics"
    TABLE = "table"
    RUNS = "runs"
    GROUPS = "groups"
    DICTIONARY = "cics_dictionary"
    LAB_MANIFEST = "lab_manifest"
    UNRECOGNISED = "unrecognised"


@dataclass(frozen=True)
class Identity:
    """The kind of a file; for an unrecognised one, what it looks like and what to do about it."""

    kind: Kind
    reason: str = ""
    detail: str = ""


def identify(name: str, head: bytes) -> Identity:
    """Kind of a file, from its name and its first `HEAD_BYTES` bytes.

    A binary file of no other kind is taken for an SMF dump. Its framing then proves it: records must tile the file
    exactly.
    """
    from ingest.formats.printed.lines import is_ebcdic, text_form

    if name.endswith(".runs.csv"):
        return Identity(Kind.RUNS)
    if name.endswith(".groups.csv"):
        return Identity(Kind.GROUPS)
    if name.endswith(".dictionary.csv"):
        return Identity(Kind.DICTIONARY)
    if name.endswith(".lab.json"):
        return Identity(Kind.LAB_MANIFEST)
    if other := foreign.marked(head):
        return _unrecognised(other)
    if head.startswith(_XML_EBCDIC):
        return Identity(Kind.UNRECOGNISED, "ebcdic", "XML in EBCDIC: transfer the report again in text mode")
    if not head.strip(b"\0"):
        return Identity(Kind.UNRECOGNISED, "zeros", "only zeros: the transfer failed; repeat it")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if (start.startswith(b"<") and b"\0" not in start[:4]) or _UTF_16_XML.match(head):
        return Identity(Kind.RMF_XML)
    if _is_text(head):
        header = start.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
        for kind, columns in ((Kind.RUNS, collector.RUN_COLUMNS), (Kind.GROUPS, collector.GROUP_COLUMNS)):
            if [cell.strip() for cell in header.split(",")] == list(columns):
                return Identity(kind)
        if _INSIDE_XML.search(head):
            return Identity(Kind.RMF_XML)
        if printed := _printed(head):
            return Identity(printed)
        if _is_json_report(start):
            return Identity(Kind.RMF_JSON)
        from ingest.formats.tables.tabular import identify_table

        if identify_table(head):
            return Identity(Kind.TABLE)
        return _unrecognised(foreign.of_tool(start) or foreign.form_of_text(name, start) or _TEXT_ALONE)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and len(head) % 2 == 0 and head.count(b"\0") * 3 > len(head):
        return Identity(Kind.UNRECOGNISED, "utf_16", "text in UTF-16: save it as UTF-8 and ingest it again")
    if text_form(head) is not None:
        if printed := _printed(head):
            return Identity(printed)
        return _unrecognised(foreign.of_tool(_ascii(head)) or _EBCDIC_ALONE)
    from ingest.formats.evidence import bodies, weigh

    evidence = weigh(head)
    strongest = max(evidence, key=lambda kind: evidence[kind])
    if evidence[strongest] > 0:
        return Identity(Kind(strongest))
    text = next((data for data in (head, *bodies(head)) if is_ebcdic(data)), None)
    if text is not None:
        return _unrecognised(foreign.of_tool(_ascii(text)) or _EBCDIC_ALONE)
    return Identity(Kind.SMF)


def _unrecognised(other: foreign.Foreign) -> Identity:
    return Identity(Kind.UNRECOGNISED, other.reason, other.detail)


def _ascii(text: bytes) -> bytes:
    return text.decode("cp037").encode("utf-8")


def _printed(head: bytes) -> Kind | None:
    """The kind of a printed report, None for other text."""
    from ingest.formats.cics.listing import is_statistics
    from ingest.formats.rmf.printed import is_text_report

    if is_text_report(head):
        return Kind.RMF_TEXT
    return Kind.CICS_STATISTICS if is_statistics(head) else None


def _is_json_report(start: bytes) -> bool:
    """Whether text is a reply of the Distributed Data Server in JSON."""
    return start.startswith(b"{") and bool(_JSON_REPORTS.search(start) and _JSON_REPORT_PART.search(start))


def _is_text(head: bytes) -> bool:
    if not _TEXT.fullmatch(head):
        return False
    for end in range(len(head), max(len(head) - 4, -1), -1):
        try:
            head[:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return True
    return False
