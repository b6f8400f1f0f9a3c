"""Assembly listings of DSECTs become layout files that decode what the macro describes, and tell their source."""

from pathlib import Path

import pyarrow as pa
import pytest

from ingest import registry
from ingest.formats.smf import decode_batches, encode_dump
from ingest.listings import ListingError, read_listing
from pipelines.exits import Exit
from tests.pipelines.conftest import run_etalon

HEADING = "  Loc  Object Code    Addr1 Addr2  Stmt   Source Statement             HLASM R6.0  2026/11/21\n"


def listing(name: str, fields: list[tuple[int | None, str, str, str, str]], asa: str = " ", flag: str = " ") -> str:
    """A listing: location (None: none), label, operation, operand and remark of each statement."""
    lines = [f"1{'':>40}Page    3\n", asa + HEADING[1:]]
    statements = [(0, name, "DSECT", "", ""), *fields]
    for number, (location, label, operation, operand, remark) in enumerate(statements, 1):
        at = " " * 6 if location is None else f"{location:06X}"
        source = f"{label:<8} {operation:<5} {operand:<20}{remark}".rstrip()
        lines.append(f"{asa}{at}{'':26}{number:>6}{flag}{source}\n")
    return "".join(lines)


FURTHER = [
    (0, "QWACBSC", "DS", "XL8", "BEGINNING STORE CLOCK"),
    (172, "QWACALCT", "DS", "F", "ALREADY DESCRIBED"),
    (None, "*", "", "", ""),
    (176, "QWACAWTP", "DS", "XL8", "ACCUMULATED 'WAIT' TIME"),
    (184, "QWACFLGS", "DS", "X", "FLAGS"),
    (None, "QWACROLL", "EQU", "X'80'", "ROLLED UP"),
    (None, "QWACTEN", "EQU", "10", "NO BIT"),
    (185, "", "DS", "XL3", "RESERVED"),
    (188, "QWACCNT", "DS", "3F", "COUNTS"),
    (188, "QWACCNT1", "ORG", "QWACCNT", ""),
    (188, "QWACAGAN", "DS", "CL12", "THE SAME PLACE"),
    (200, "QWAC#NAM", "DS", "CL8", ""),
    (208, "QWACEND", "DS", "0D", "END"),
]


@pytest.mark.parametrize("asa", [" ", "0"])
@pytest.mark.parametrize("flag", [" ", "+"])
def test_the_fields_of_a_dsect_are_read(asa: str, flag: str) -> None:
    (found,) = read_listing(listing("QWAC", FURTHER, asa, flag))
    assert [(place.name, place.offset, place.length, place.count, place.form) for place in found.places] == [
        ("QWACBSC", 0, 8, 1, "bytes"),
        ("QWACALCT", 172, 4, 1, "uint"),
        ("QWACAWTP", 176, 8, 1, "bytes"),
        ("QWACFLGS", 184, 1, 1, "flags"),
        ("QWACCNT", 188, 4, 3, "uint"),
        ("QWAC#NAM", 200, 8, 1, "ebcdic"),
    ]
    assert found.bits == [("QWACFLGS", 0, "QWACROLL", "ROLLED UP")]


@pytest.mark.parametrize(
    ("text", "said"),
    [("QWAC DSECT\n", "not its source"), (HEADING, "no DSECT with fields"), (listing("QWAC", []), "no DSECT")],
)
def test_what_is_no_listing_is_refused_with_what_to_do(text: str, said: str) -> None:
    with pytest.raises(ListingError, match=said):
        read_listing(text)


def test_a_section_is_described_further_and_its_records_decoded(tmp_path: Path) -> None:
    path = tmp_path / "qwac.lst"
    path.write_text(listing("QWAC", FURTHER))
    done = run_etalon(tmp_path, "layout", "import", str(path), "--section", "smf101.accounting")
    assert done.returncode == Exit.OK, done.stderr
    known = registry.load([tmp_path / "layouts"])
    layout = known.layout_for(101, 0)
    section = layout.section("accounting")
    assert [(item.ibm, item.offset, item.confidence) for item in section.fields][-5:-1] == [
        ("QWACAWTP", 176, "macro"),
        ("QWACFLGS", 184, "macro"),
        ("QWACCNT", 188, "macro"),
        ("QWAC#NAM", 200, "macro"),
    ]
    assert section.rest.offset == 208
    assert "From byte 176 on: assembly listing qwac.lst, SHA-256 " in section.note
    keys = {"record_seq": pa.array([0], pa.uint32()), "section_seq": pa.array([0], pa.uint32())}
    header = pa.table({**keys, "sm101tme": pa.array([0], pa.uint32()), "sm101sid": ["SYSA"]})
    rows = pa.table({**keys, "qwaccnt": pa.array([[1, 2, 3]], pa.list_(pa.uint32(), 3)), "qwac_nnam": ["NAME"]})
    dump = encode_dump({layout.header.table: header, section.table: rows}, known)
    (batch,) = decode_batches(dump, known)
    (row,) = batch.tables[section.table].to_pylist()
    assert (row["qwaccnt"], row["qwac_nnam"]) == ([1, 2, 3], "NAME")


def test_a_record_without_a_layout_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "door.lst"
    fields = [(0, "DOORNAME", "DS", "CL8", "NAME OF THE DOOR"), (8, "DOORCNT", "DS", "F", "TIMES OPENED")]
    path.write_text(listing("DOOR", fields) + listing("OTHER", fields))
    several = run_etalon(tmp_path, "layout", "import", str(path), "--type", "210", "--subtype", "4")
    assert several.returncode == Exit.NO_INPUT
    assert "holds DOOR, OTHER; name one with --dsect" in several.stderr
    done = run_etalon(tmp_path, "layout", "import", str(path), "--type", "210", "--subtype", "4", "--dsect", "DOOR")
    assert done.returncode == Exit.OK, done.stderr
    layout = registry.load([tmp_path / "layouts"]).layout_for(210, 4)
    assert [(item.name, item.ibm, item.meaning) for item in layout.section("door").fields] == [
        ("doorname", "DOORNAME", "NAME OF THE DOOR"),
        ("doorcnt", "DOORCNT", "TIMES OPENED"),
    ]


def test_what_no_layout_has_is_refused_with_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "qwac.lst"
    path.write_text(listing("QWAC", FURTHER))
    done = run_etalon(tmp_path, "layout", "import", str(path), "--section", "smf101.accounts")
    assert done.returncode == Exit.NO_INPUT
    assert "smf101.accounting" in done.stderr
