"""Files of other kinds and of other tools: what each is, and what to ingest in its place."""

import re
from typing import NamedTuple

_UNPACK = "unpack it and ingest what is inside"
_DUMP = "load the SMF dump from which it was made"
_SHEET = "save the table as CSV with the columns of docs/collectors.md and ingest that"
_COLUMNS = "docs/loading.md names the tables that are read, and docs/collectors.md their columns"
_DELIMITERS = (b",", b";", b"\t", b"|")
_MOST_KEYS = 5
_KEY = re.compile(rb'"([^"\\]{1,60})"\s*:')
_JSON = re.compile(rb'\s*[\[{]\s*(?:"[^"]*"\s*[:,\]]|[\[{\]}]|-?\d)')


class Foreign(NamedTuple):
    """A kind of file that is not read: a code for the ledger, and what it is with what to do."""

    reason: str
    detail: str


def _entry(pattern: bytes, reason: str, what: str, remedy: str) -> tuple[re.Pattern[bytes], Foreign]:
    return re.compile(pattern, re.DOTALL), Foreign(reason, f"{what}: {remedy}")


_MARKS = (
    _entry(rb"\xfd7zXZ\0", "compressed", "compressed with xz", _UNPACK),
    _entry(rb"7z\xbc\xaf\x27\x1c", "compressed", "compressed with 7-Zip", _UNPACK),
    # The third byte of a record descriptor is lower.
    _entry(rb"\x1f\x9d[\x80-\xff]", "compressed", "compressed with compress", _UNPACK),
    _entry(rb".{257}ustar", "compressed", "a tar archive", _UNPACK),
    _entry(rb"PK\x03\x04.{26,400}?(?:\[Content_Types\]\.xml|xl/|word/)", "office", "an Office document", _SHEET),
    _entry(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", "office", "an OpenDocument file", _SHEET),
    _entry(
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office", "an Office document such as an Excel workbook (.xls)", _SHEET
    ),
    _entry(rb"%PDF-", "pdf", "a PDF document", "load the records, or the report in XML"),
    _entry(
        rb"\x89PNG|\xff\xd8\xff[\xc0-\xff]|GIF8",
        "picture",
        "a picture",
        "load the records or the report",
    ),
    _entry(rb"PAR1", "parquet", "a Parquet file", _SHEET),
    _entry(rb"ARROW1|.{8}DUCK", "arrow", "an Arrow file or a DuckDB database", _SHEET),
    _entry(rb"SQLite format 3\0", "sqlite", "an SQLite database", _SHEET),
    _entry(rb"\0{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf", "sas", "a SAS data set, such as a table of a PDB", _DUMP),
    _entry(rb"HTTP/1\.\d \d", "http", "an HTTP reply with its header lines", "save its body alone"),
    _entry(
        rb"\s*<(?i:!doctype\s+)?(?i:html)",
        "html",
        "a web page, which a server sent instead of a report",
        "open it in a browser, and repeat the request",
    ),
)
_TOOLS = (
    _entry(rb"HEADER RECORD\*{7}", "sas", "a SAS transport file, such as a table of a PDB", _DUMP),
    _entry(rb"-----BEGIN PGP", "encrypted", "encrypted or signed with PGP", "decrypt it and ingest what is inside"),
    _entry(rb"\s*Date,Time,LPAR,QMgr,MQ_Version,", "mq_smf_csv", "CSV of the MQ formatter mq-smf-csv", _DUMP),
    _entry(
        rb'\s*\{\s*"recordType"\s*:\s*\d+,\s*"recordSubType"',
        "mq_smf_csv",
        "JSON of the MQ formatter mq-smf-csv",
        _DUMP,
    ),
    _entry(
        rb'\s*\{.{0,400}?"schema"\s*:\s*"etalon-',
        "etalon",
        "output of Etalon",
        "load the records, not the output",
    ),
    _entry(
        rb'\s*\{.{0,400}?"resultType"\s*:\s*"(?:matrix|vector)"', "prometheus", "a reply of Prometheus in JSON", _SHEET
    ),
    _entry(rb"\s*# (?:HELP|TYPE) \w+ ", "prometheus", "metrics in the text format of Prometheus", _SHEET),
    _entry(
        rb".{0,4000}?(?i:sub-capacity report)|.{0,400}?\bSCRT\b",
        "scrt",
        "a report of the Sub-Capacity Reporting Tool (SCRT)",
        "load the SMF 70 and 89 records from which it was made",
    ),
    _entry(
        rb".{0,4000}?SUMMARY ACTIVITY REPORT",
        "smf_dump_listing",
        "the listing of the SMF dump program (IFASMFDP or IFASMFDL)",
        "ingest the data set of its OUTDD",
    ),
    _entry(
        rb".{0,400}?IDCAMS  SYSTEM SERVICES",
        "idcams_listing",
        "a listing of IDCAMS",
        "of DCOLLECT ingest the data set of OUTFILE or OUTDATASET",
    ),
    _entry(rb".{0,400}?J E S 2  J O B  L O G", "job_log", "a job log", "ingest the data set that the job wrote"),
    _entry(rb"\s*//\S{0,8}\s+JOB\s", "jcl", "JCL", "ingest the data set that the job writes"),
)


def marked(head: bytes) -> Foreign | None:
    """The kind of a file that begins with a known mark; None for others."""
    return _first(_MARKS, head)


def of_tool(text: bytes) -> Foreign | None:
    """Which other tool's report a text is, by its beginning; None for others."""
    return _first(_TOOLS, text)


def _first(entries: tuple[tuple[re.Pattern[bytes], Foreign], ...], head: bytes) -> Foreign | None:
    return next((foreign for pattern, foreign in entries if pattern.match(head)), None)


def form_of_text(name: str, head: bytes) -> Foreign | None:
    """The form of a text of no supported kind: JSON or a table, with its keys or columns; None for others."""
    if _JSON.match(head):
        keys = dict.fromkeys(key.decode("utf-8", "replace") for key in _KEY.findall(head[: 1 << 14]))
        named = f" with the keys {', '.join(list(keys)[:_MOST_KEYS])}" if keys else ""
        return Foreign("json_unknown", f"JSON{named}, but not a supported report or table: {_COLUMNS}")
    lines = [line for line in head.splitlines()[:3] if line.strip()]
    header = (lines or [b""])[0].strip().decode("utf-8", "replace")
    if name.lower().endswith((".csv", ".tsv", ".jsonl", ".ndjson")) or _is_table(lines):
        return Foreign("table_unknown", f"a table that begins with {header[:60]!r}, without a known column: {_COLUMNS}")
    return None


def _is_table(lines: list[bytes]) -> bool:
    """Whether the first lines have the same number of cells, two at least, and the first no sentence."""
    if len(lines) < 2:
        return False
    first, second = lines[:2]
    alike = any(first.count(delimiter) == second.count(delimiter) > 0 for delimiter in _DELIMITERS)
    return alike and not first.rstrip().endswith((b".", b","))
