"""The kind of a file is known by its content, whatever its first bytes happen to look like."""

import io
import zipfile

import pytest

from ingest.containers.opening import form_of
from ingest.formats.identify import Kind, identify


@pytest.mark.parametrize("length", [60, 0x3C00, 0x3C41, 0x093C, 0x0D3C])
def test_a_descriptor_that_looks_like_markup_is_still_one(length: int):
    record = length.to_bytes(2) + b"\0\0" + b"\x5e\x1e\x00\x01" * (length // 4)
    assert identify("dump", record).kind == Kind.SMF


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_markup_is_known_in_every_encoding(encoding: str):
    assert identify("report", "<?xml version='1.0'?><ddsml/>".encode(encoding)).kind == Kind.RMF_XML
    assert identify("report", "<ddsml/>".encode(encoding)).kind == Kind.RMF_XML


@pytest.mark.parametrize(
    ("name", "content", "reason", "expected"),
    [
        ("prices.csv", b"color,price\nred,3\n", "table_unknown", "begins with 'color,price'"),
        ("driver.csv", "transaction,average_ms,passed\nA,1,2\n".encode("utf-16"), "utf_16", "save it as UTF-8"),
        ("letter.txt", b"Dear all,\n", "text", "transfer it again in binary"),
        ("prices.txt", b"color;price\nred;3\n", "table_unknown", "begins with 'color;price'"),
        ("a", b'{"a": 1, "b": [{"c": 2}]}', "json_unknown", "JSON with the keys a, b, c"),
        ("a", b'[{"title": "CPU", "time', "json_unknown", "JSON with the keys title"),
        ("a", b"Date,Time,LPAR,QMgr,MQ_Version,x\n1,2,3,4,5,6\n", "mq_smf_csv", "load the SMF dump"),
        ("a", b'{\n"recordType" : 115,\n"recordSubType" : 1,\n', "mq_smf_csv", "load the SMF dump"),
        ("a", b"# HELP up x\n# TYPE up gauge\nup 1\n", "prometheus", "as CSV"),
        ("a", b"1        SUMMARY ACTIVITY REPORT  \n", "smf_dump_listing", "OUTDD"),
        ("a", "//PAY  JOB (ACCT),CLASS=A\x85// EXEC PGM=X\x85".encode("cp037"), "jcl", "the job writes"),
        ("a", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!", "sas", "load the SMF dump"),
        ("a", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "pdf", "a PDF document"),
        ("a", b"PAR1" + bytes(100), "parquet", "a Parquet file"),
        ("a.json", b'{"schema": "etalon-bundle/1"}', "etalon", "output of Etalon"),
    ],
)
def test_text_of_no_known_kind_is_named_by_what_it_is(name: str, content: bytes, reason: str, expected: str):
    found = identify(name, content)
    assert (found.kind, found.reason) == (Kind.UNRECOGNISED, reason)
    assert expected in found.detail


def test_a_workbook_is_named_and_not_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert form_of(out.getvalue()) is None
    assert "Office document" in identify("figures.xlsx", out.getvalue()).detail
