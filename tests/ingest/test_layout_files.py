"""A layout file that cannot be used is refused with its path, the line, and what to do."""

import re
from pathlib import Path

import pytest

from ingest import registry
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "how-to-add-a-record-type.md").read_text(encoding="utf-8")
GOOD = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]  # type: ignore[index]

MISTAKES = {
    "no TOML": ("type = 210 ", "type = = 210 ", "not a TOML file"),
    "entry missing": ('name = "smf210_4"', "", "[record] lacks the entry 'name'"),
    "no fields": (
        re.search(r'fields = \[\n  \["door_name".*?\n\]\nbits = \[.*?\n\]\n', GOOD, re.DOTALL)[0],  # type: ignore[index]
        "fields = []\n",
        "has no fields",
    ),
    "entry unknown": ("triplet = 24 ", "tiplet = 24 ", "did you mean 'triplet'?"),
    "entry of another type": ("subtypes = [4]", "subtypes = 4", "subtypes must be a list"),
    "name": ('name = "smf210_4"', 'name = "SMF210"', "lower case letters"),
    "field name": ('["door_name", "DOORNAME"', '[3, "DOORNAME"', "field DOORNAME: the friendly name must be text"),
    "offset": ('"DOORNAME", 0, 8', '"DOORNAME", -4, 8', "field DOORNAME: the offset is -4"),
    "offset as text": ('"DOORNAME", 0, 8', '"DOORNAME", "0", 8', "the offset must be a whole number"),
    "format": ('8, "ebcdic"', '8, "ebcidc"', "unknown format 'ebcidc'; known are"),
    "repetition": ('8, "ebcdic"', '8, "ebcdic[99999999]"', "65,535 bytes"),
    "length": ('"DOORTIME", 16, 4', '"DOORTIME", 16, 9', "cannot have length 9; it may have 1, 2"),
    "overlap": ('"DOORFLG", 8, 1', '"DOORFLG", 7, 1', "field DOORFLG: at offset 7 it overlaps DOORNAME"),
    "used twice": ('"openings", "DOORCNT"', '"door_name", "DOORCNT"', "door_name is used more than once"),
    "short line": (', "Name of the door.", "", "manual"]', "]", "this has 6"),
    "trust": ('"Name of the door.", "", "manual"', '"Name of the door.", "", "sure"', "confidence 'sure'"),
    "unit and name": ('"open_us"', '"open"', "ends with '_us'"),
    "triplet": ("triplet = 24 ", "triplet = 30 ", "its triplet ends at 38, after the header of 32 bytes"),
    "header": ('["smf_sid", ', '["sid", ', "lacks fields with the friendly names smf_sid"),
    "bit": ('["DOORFLG", "0"', '["DOORFLX", "0"', "bit DOORLOCK: belongs to DOORFLX"),
    "bit number": ('["DOORFLG", "0"', '["DOORFLG", "x"', "bits are written as"),
    "none of no field": ("bits = [", 'none = [["DOORMIN", "7FFF"]]\nbits = [', "field DOORMIN: none names no field"),
    "none of text": ("bits = [", 'none = [["DOORNAME", "7FFF"]]\nbits = [', "no field of the section of format uint"),
    "none too wide": ("bits = [", 'none = [["DOORCNT", "1FFFFFFFF"]]\nbits = [', "a value of more than 4 bytes"),
    "none in no digits": ("bits = [", 'none = [["DOORCNT", "none"]]\nbits = [', "write hexadecimal digits"),
    "handler": ('name = "smf210_4"', 'handler = "mine"\nname = "smf210_4"', "no handler 'mine'"),
    "known record": ("type = 210 ", "type = 72 ", "is already described by"),
    "known type": ("type = 210 ", "type = 30 ", "is already described by"),
}
LINES = {"offset": "DOORNAME", "format": "DOORNAME", "overlap": "DOORFLG", "length": "DOORTIME", "bit": "DOORLOCK"}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_file_and_remedy(tmp_path: Path, mistake: str) -> None:
    before, after, said = MISTAKES[mistake]
    text = GOOD.replace(before, after, 1)
    assert text != GOOD
    if mistake == "known record":
        text = text.replace("subtypes = [4]", "subtypes = [3]")
    path = tmp_path / "smf_210_4.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(registry.RegistryError) as raised:
        registry.load([tmp_path])
    message = str(raised.value)
    assert message.startswith(str(path))
    assert said in message
    if mistake in LINES:
        line = next(n for n, row in enumerate(text.splitlines(), 1) if f'"{LINES[mistake]}"' in row)
        assert f"{path}, line {line}: " in message


def test_all_subtypes_of_a_type_cannot_be_claimed_beside_some(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD.replace("type = 210 ", "type = 72 ").replace("subtypes = [4]", ""))
    with pytest.raises(registry.RegistryError, match="Name the subtypes that are meant"):
        registry.load([tmp_path])


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_layouts_is_refused(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path if exists else tmp_path / "nowhere"
    with pytest.raises(registry.RegistryError, match="holds no layout files" if exists else "no such folder"):
        registry.load([folder])


def test_a_layout_takes_the_place_of_a_built_in_one_of_its_name(tmp_path: Path) -> None:
    built_in = registry.LAYOUT_DIR / "smf_88.toml"
    (tmp_path / "ours.toml").write_text(built_in.read_text().replace("End of the interval.", "When it ended."))
    known = registry.load([tmp_path])
    assert [layout.path for layout in known.layouts if layout.type == 88] == [tmp_path / "ours.toml"]


HEADER = re.search(r'fields = \[\n  \["record_length".*?\n\]\n', GOOD, re.DOTALL)[0]  # type: ignore[index]
SHARED = 'include = "smf_header_with_subtype"\nprefix = "SMF210"\nconfidence = "inferred"\n'


def test_a_section_begins_with_the_part_it_includes(tmp_path: Path) -> None:
    (tmp_path / "smf_210_4.toml").write_text(GOOD.replace(HEADER, SHARED), encoding="utf-8")
    header = registry.load([tmp_path]).table("smf210_4_header")[1]
    assert [item.ibm for item in header.fields][-3:] == ["SMF210SID", "SMF210SSI", "SMF210STY"]
    assert {item.confidence for item in header.fields} == {"inferred"}


def test_a_part_beside_a_layout_comes_before_a_built_in_one(tmp_path: Path) -> None:
    own = (registry.LAYOUT_DIR / "parts" / "smf_header.toml").read_text().replace('"SID"', '"SYSTEM"')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "smf_header.toml").write_text(own, encoding="utf-8")
    text = GOOD.replace(HEADER, 'include = "smf_header"\nprefix = "SMF210"\n').replace("subtypes = [4]", "")
    (tmp_path / "smf_210_4.toml").write_text(text, encoding="utf-8")
    header = registry.load([tmp_path]).table("smf210_4_header")[1]
    assert header.by_name("smf_sid").ibm == "SMF210SYSTEM"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("", "include names 'mine', which is no part"),
        ("fields = [", "mine.toml is not a TOML file"),
        ("fields = 5", "mine.toml: fields must be a list"),
        ('fields = [["a"]]', "mine.toml, field ['a']: a field line has nine entries"),
        ("bits = []", "mine.toml lacks the entry 'fields'"),
        ('include = "mine"', "include names 'mine', which is no part"),
    ],
)
def test_a_part_that_cannot_be_used_is_named(tmp_path: Path, part: str, said: str) -> None:
    if part:
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "mine.toml").write_text(part, encoding="utf-8")
    (tmp_path / "smf_210_4.toml").write_text(GOOD.replace(HEADER, 'include = "mine"\n'), encoding="utf-8")
    with pytest.raises(registry.RegistryError, match=re.escape(said)):
        registry.load([tmp_path])


@pytest.mark.parametrize(("entry", "said"), [("prefix = 5", "prefix must be text"), ("fields = 5", "fields must be")])
def test_what_a_section_says_of_its_part_is_checked(tmp_path: Path, entry: str, said: str) -> None:
    text = GOOD.replace(HEADER, f'include = "smf_header_with_subtype"\n{entry}\n')
    (tmp_path / "smf_210_4.toml").write_text(text, encoding="utf-8")
    with pytest.raises(registry.RegistryError, match=f"section header: {said}"):
        registry.load([tmp_path])


def test_the_heads_of_the_files_that_come_with_etalon_are_those_of_their_layouts() -> None:
    known = registry.load()
    for file in known.files.values():
        layout = file.layout
        assert (file.name, file.type, file.subtypes) == (layout.name, layout.type, layout.subtypes)
    registry.refuse_overlaps(known.layouts)
