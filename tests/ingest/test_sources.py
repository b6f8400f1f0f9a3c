"""The kind of a file is known by its content, whatever its first bytes happen to look like."""

import pytest

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
    ],
)
def test_text_of_no_known_kind_is_named_by_what_it_is(name: str, content: bytes, reason: str, expected: str):
    found = identify(name, content)
    assert (found.kind, found.reason) == (Kind.UNRECOGNISED, reason)
    assert expected in found.detail
