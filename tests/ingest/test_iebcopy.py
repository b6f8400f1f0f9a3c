"""Partitioned data sets, packed by AMATERSE or TRANSMIT or unloaded alone: every member is a file of its own."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.containers.iebcopy import UnloadError, is_unloaded, members
from ingest.containers.opening import form_of, unpack
from tests.ingest.iebcopy_writer import unload
from tests.ingest.terse_writer import terse
from tests.ingest.transmit_writer import transmit

NAMES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=8)
BLOCKS = st.lists(st.binary(max_size=400).map(b"\xc1".__add__), min_size=1, max_size=4)


def framed(records: list[bytes]) -> bytes:
    return b"".join(struct.pack(">HH", len(record) + 4, 0) + record for record in records)


def opened(data: bytes, folder: Path) -> dict[str, tuple[bytes, str | None]]:
    """The files inside, by name, and what was wrong with them."""
    path, scratch = folder / "packed", folder / "scratch"
    path.write_bytes(data)
    scratch.mkdir(exist_ok=True)
    form = form_of(data)
    assert form is not None
    return {each.name: (each.path.read_bytes(), each.damage) for each in unpack(path, "PDS", form, scratch)}


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(NAMES, BLOCKS, min_size=1, max_size=9), st.sampled_from(["plain", "block", "terse", "transmit"]))
def test_every_member_comes_out_under_its_name(tmp_path_factory, content, packing):
    records = unload(content)
    data = {
        "plain": lambda: framed(records),
        "block": lambda: b"".join(struct.pack(">HH", len(r) + 8, 0) + framed([r]) for r in records),
        "terse": lambda: terse(records, spack=False, variable=True),
        "transmit": lambda: transmit(records, variable=True, utility="IEBCOPY"),
    }[packing]()
    found = opened(data, tmp_path_factory.mktemp("pds"))
    assert found == {f"PDS!{name}": (b"".join(blocks), None) for name, blocks in content.items()}


def test_an_alias_is_no_second_member(tmp_path: Path):
    found = opened(framed(unload({"DUMP": [b"abc"]}, aliases={"A": "DUMP", "Z": "DUMP"})), tmp_path)
    assert list(found) == ["PDS!DUMP"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_was_cut_gives_whole_blocks_and_then_an_error(tmp_path_factory, data):
    content = {"A": [b"a" * 300, b"b" * 20], "B": [b"c" * 500]}
    whole = framed(unload(content))
    cut = whole[: data.draw(st.integers(80, len(whole) - 1))]
    path = tmp_path_factory.mktemp("cut") / "x"
    path.write_bytes(cut)
    got: dict[str, bytes] = {}
    with pytest.raises(UnloadError):
        for name, block in members(path):
            got[name] = got.get(name, b"") + block
    assert all(b"".join(content[name]).startswith(part) for name, part in got.items())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_data_never_fail(tmp_path_factory, data):
    whole = bytearray(framed(unload({"A": [b"a" * 300, b"b" * 20], "B": [b"c" * 500]})))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.sampled_from([0, 1, 4, 0x7F, 0xFF]))
    assert is_unloaded(bytes(whole)) or form_of(bytes(whole)) != "iebcopy"
    if is_unloaded(bytes(whole)):
        for content, damage in opened(bytes(whole), tmp_path_factory.mktemp("hurt")).values():
            assert len(content) < len(whole)
            assert damage is None or "damaged" in damage
