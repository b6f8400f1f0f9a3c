"""Sections whose entries stand inside the rows of another: counters per latch class, structure or kind of request."""

from pathlib import Path

import pyarrow as pa
import pytest

from ingest import registry
from ingest.formats.smf import EncodeError, decode_batches, encode_dump
from ingest.registry import RegistryError

REGISTRY = registry.load()
THREAD, LATCH = "smf116_1_thread_accounting", "smf116_1_latch"
HEADER = pa.table({"record_seq": pa.array([0], pa.uint32()), "section_seq": pa.array([0], pa.uint32())})


def keyed(**columns: list[int]) -> pa.Table:
    """A table of record 0."""
    rows = len(next(iter(columns.values())))
    return pa.table({"record_seq": pa.array([0] * rows, pa.uint32()), **columns})


def encoded(latches: pa.Table, **thread: list[int]) -> bytes:
    """A record of one thread with these latches, and with fields of the thread."""
    return encode_dump({"smf116_1_header": HEADER, THREAD: keyed(section_seq=[0], **thread), LATCH: latches}, REGISTRY)


def latches(dump: bytes) -> list[tuple]:
    """Place, waits, time waited and longest wait of every latch in a dump."""
    [batch] = decode_batches(dump, REGISTRY)
    assert not batch.quarantined
    names = ("record_seq", "section_seq", "parent_seq", "entry_seq", "wtaslwn", "wtaslwet", "wtaslmax")
    return list(zip(*(batch.tables[LATCH][name].to_pylist() for name in names), strict=True))


def test_an_entry_has_a_row_where_any_of_its_bytes_is_not_zero() -> None:
    given = keyed(parent_seq=[0] * 4, entry_seq=[0, 7, 30, 31], wtaslwn=[1, 0, 0, 0], wtaslwet=[0, 5, 0, 0])
    dump = encoded(given.append_column("wtaslmax", [[0, 0, 0, 1 << 56]]))
    assert latches(dump) == [(0, 0, 0, 0, 1, 0, 0), (0, 7, 0, 7, 0, 5, 0), (0, 31, 0, 31, 0, 0, 1 << 56)]


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (2344, [(0, 3, 0, 3, 2, 9, 4), (0, 31, 0, 31, 0, 0, 6)]),
        (2343, [(0, 3, 0, 3, 2, 9, 4)]),
        (2088, [(0, 3, 0, 3, 2, 9, None)]),
        (317, [(0, 3, 0, 3, None, 9, None)]),
    ],
)
def test_entries_end_where_their_section_does(end: int, found: list[tuple]) -> None:
    given = keyed(parent_seq=[0, 0], entry_seq=[3, 31], wtaslwn=[2, 0], wtaslwet=[9, 0], wtaslmax=[4, 6])
    whole = encoded(given)
    start = len(whole) - 2344
    place = whole.index(start.to_bytes(4, "big") + (2344).to_bytes(2, "big"))
    short = bytearray(whole[: start + end])
    short[:2] = len(short).to_bytes(2, "big")
    short[place + 4 : place + 6] = end.to_bytes(2, "big")
    assert latches(bytes(short)) == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"parent_seq": [0]}, "the column entry_seq is missing"),
        ({"parent_seq": [0], "entry_seq": [32]}, "entry_seq 32, the layout has 32 entries"),
        ({"parent_seq": [1], "entry_seq": [0]}, f"parent_seq 1 has no row in {THREAD}"),
        ({"parent_seq": [0, 0], "entry_seq": [5, 5]}, "entry_seq 5 is there twice for one parent_seq"),
    ],
)
def test_rows_without_a_place_are_refused(given: dict[str, list[int]], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        encoded(keyed(**given))


def test_rows_without_their_parent_are_refused() -> None:
    with pytest.raises(EncodeError, match="the table of its parent, thread_accounting, is missing"):
        encode_dump({"smf116_1_header": HEADER, LATCH: keyed(parent_seq=[0], entry_seq=[0])}, REGISTRY)


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ('"int[32]"', '"int[31]"', "have one \\[count\\], 2 or more, not 31, 32"),
        ('"int[32]"', '"int[32/2]"', "repeated every 2 bytes, although it has 4"),
        ('"WTASLWN", 304', '"WTASLWN", 305', "section latch, field WTASLWN: its entries overlap fields of thread_acc"),
        ('"WTASLWN", 304', '"WTASLWN", 300', "overlaps WTASLWET"),
        ('"WTASLMAX", 2088', '"WTASLMAX", 2096', "its entries end at 2352, after the thread_accounting of 2344 bytes"),
        ('"uint[20/20]"', '"uint[1]"', "2 or more, not 1, 20"),
        ('walk = "repeated"', 'walk = "repeated"\ntriplet = 52', "a repeated section has a parent and no triplet"),
        ('"int[32]", "", "Waits for latches of the class.", "", "decoder"',
         '"int[32]", "", "Waits.", "", "decoder", "wait_time = 1"', "has no conditions"),
        ('4, "uint", "", "Prepares."', '4, "uint[2/8]", "", "Prepares."', "are for a section with walk = 'repeated'"),
    ],
)  # fmt: skip
def test_a_layout_whose_entries_cannot_be_is_refused(tmp_path: Path, change: str, to: str, words: str) -> None:
    text = (registry.LAYOUT_DIR / "smf_116_1.toml").read_text()
    assert change in text
    (tmp_path / "smf_116_1.toml").write_text(text.replace(change, to, 1))
    with pytest.raises(RegistryError, match=words):
        registry.load([tmp_path])
