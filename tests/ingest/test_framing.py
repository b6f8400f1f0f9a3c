"""Dumps are told apart into records by exact tiling, and every byte is accounted for."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.batch import Quarantined
from ingest.formats.smf import decode_batches
from ingest.framing import SEARCHED_BYTES, FramingError, read_frames, write_records
from ingest.kernels.descriptors import CHAIN_BYTES
from tests.ingest.framing import HEAD, record
from tests.shared import shared


def dump(records: list[bytes], framing: str) -> bytes:
    lengths = np.array([len(item) for item in records], np.int64)
    data = np.frombuffer(b"".join(records), np.uint8)
    return write_records(data, np.cumsum(lengths) - lengths, lengths, framing)


def read(data: bytes, batch_bytes: int = 1 << 16) -> tuple[list[bytes], list[Quarantined], int]:
    """Records, quarantined stretches and bytes of framing of a dump."""
    records, quarantined, framing = [], [], 0
    for frames in read_frames(io.BytesIO(data), "dump", batch_bytes=batch_bytes):
        quarantined += frames.quarantined
        framing += frames.framing_bytes
        for start, length in zip(frames.starts, frames.lengths, strict=True):
            records.append(frames.buffer[start : start + length].tobytes())
    assert sum(map(len, records)) + framing + sum(item.length for item in quarantined) == len(data)
    return records, quarantined, framing


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.one_of(st.integers(18, 300), st.integers(18, 65_535)), min_size=1, max_size=30))
def test_records_come_back_whole_from_streams_and_blocks(framing: str, sizes: list[int]) -> None:
    records = [record(size, place) for place, size in enumerate(sizes)]
    found, quarantined, _ = read(dump(records, framing))
    assert found == records
    assert not quarantined


def test_large_blocks_have_a_31_bit_length() -> None:
    records = [record(30_000, place) for place in range(5)]
    body = b"".join(records)
    data = (0x80000000 | len(body) + 4).to_bytes(4, "big") + body
    assert read(data + data)[0] == records * 2


def test_a_record_spanned_over_blocks_and_stretches_is_joined() -> None:
    long = record(65_535, 7)
    data = dump([record(100), long, record(100)] * 20, "bdw")
    assert data.count(b"\x07" * 20_000) == 40
    found, quarantined, framing = read(data)
    assert found == [record(100), long, record(100)] * 20
    assert not quarantined
    assert framing == len(data) - sum(map(len, found))


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_dump_cut_anywhere_gives_what_stands_before_the_cut(framing: str, data: st.DataObject) -> None:
    records = [record(200 + place, place) for place in range(5)] + [record(40_000, 9)]
    whole = dump(records, framing)
    cut = data.draw(st.integers(30, len(whole) - 1))
    found, quarantined, framing_bytes = read(whole[:cut])
    assert found == records[: len(found)]
    assert len(found) < len(records)
    for item in quarantined:
        assert item.reason == "truncated_record"
        assert item.offset + item.length == cut
        assert item.raw == whole[item.offset : cut]
    assert quarantined or framing_bytes or cut == sum(map(len, found))


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@pytest.mark.parametrize("batch_bytes", [1 << 16, 1 << 24])
def test_damage_in_the_middle_keeps_what_stands_before_and_behind_it(framing: str, batch_bytes: int) -> None:
    records = [record(500, place % 251) for place in range(9000)]
    whole = bytearray(dump(records, framing))
    start = len(dump(records[:60], framing))
    assert bytes(whole[start : start + 500]) == records[60]
    whole[start : start + 3] = b"\xff\xff\xff"
    found, quarantined, _ = read(bytes(whole), batch_bytes=batch_bytes)
    assert found == records[:60] + records[61:]
    (piece,) = quarantined
    assert (piece.offset, piece.reason) == (start, "framing_lost")
    assert piece.raw == whole[start : start + piece.length]
    assert f"X'{whole[start : start + 8].hex().upper()}'" in piece.detail
    assert f"again from offset {start + piece.length} on" in piece.detail


@pytest.mark.parametrize("descriptor", ["FFFFFFFF", "C3D4E2F1", "81000001"])
def test_a_block_descriptor_that_tells_of_an_impossible_block_is_damage(descriptor: str) -> None:
    records = [record(500, place % 251) for place in range(600)]
    blocks = [dump(records[first : first + 60], "bdw") for first in range(0, 600, 60)]
    blocks[4] = bytes.fromhex(descriptor) + blocks[4][4:]
    found, quarantined, framing = read(b"".join(blocks))
    assert found == records
    assert [(item.raw, item.reason) for item in quarantined] == [(blocks[4][:4], "framing_lost")]
    assert framing == 9 * 4


@pytest.mark.parametrize("left", [1, 2, 3, 20])
@pytest.mark.parametrize("last", [False, True])
def test_behind_damage_the_rest_of_the_block_is_read_however_little_it_is(left: int, last: bool) -> None:
    records = [record(300, place % 251) for place in range(120)]
    blocks = [bytearray(dump(records[first : first + 40], "bdw")) for first in (0, 40, 80)]
    damaged = blocks[2 if last else 1]
    start = 4 + (39 - left) * 300
    damaged[start : start + 4] = b"\xff\xff\xff\xff"
    found, quarantined, _ = read(b"".join(map(bytes, blocks)))
    gone = (80 if last else 40) + 39 - left
    assert found == records[:gone] + records[gone + 1 :]
    assert [item.length for item in quarantined] == [300]


def test_a_block_whose_descriptor_is_too_long_or_too_short_costs_nothing_but_that_descriptor() -> None:
    records = [record(300, place % 251) for place in range(120)]
    for change in (-7, 300, 555):
        blocks = [bytearray(dump(records[first : first + 40], "bdw")) for first in (0, 40, 80)]
        blocks[1][:2] = (len(blocks[1]) + change).to_bytes(2, "big")
        found, quarantined, _ = read(b"".join(map(bytes, blocks)))
        assert found == records, change
        assert sum(item.length for item in quarantined) <= 4


@pytest.mark.parametrize("count", [2, 90, 9000])
@pytest.mark.parametrize("batch_bytes", [1 << 16, 1 << 24])
def test_a_dump_that_goes_on_without_blocks_is_read_on(count: int, batch_bytes: int) -> None:
    blocked = [record(500, place % 251) for place in range(200)]
    plain = [record(510, place % 251) for place in range(count)]
    found, quarantined, _ = read(dump(blocked, "bdw") + dump(plain, "rdw"), batch_bytes)
    assert found == blocked + plain
    assert not quarantined


@pytest.mark.parametrize("batch_bytes", [1 << 16, 1 << 24])
@pytest.mark.parametrize("sizes", [[500], [500] * 900, [300, 65_000, 300] * 20], ids=["one", "many", "spanned"])
def test_a_dump_that_goes_on_in_blocks_is_read_on(sizes: list[int], batch_bytes: int) -> None:
    plain = [record(510, place % 251) for place in range(200)]
    blocked = [record(size, place % 251) for place, size in enumerate(sizes)]
    found, quarantined, _ = read(dump(plain, "rdw") + dump(blocked, "bdw") + dump(plain, "rdw"), batch_bytes)
    assert found == plain + blocked + plain
    assert not quarantined


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_junk_put_between_records_costs_only_itself(framing: str, data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.lists(st.integers(18, 255), min_size=3, max_size=6), min_size=2, max_size=4))
    # Bytes that cannot be taken for descriptors, wherever the records behind them begin.
    noise_bytes = st.lists(st.integers(4, 127), min_size=1, max_size=200).map(bytes)
    junk = [data.draw(noise_bytes) for _ in parts[1:]]
    records = [[record(size, 5 + place) for size in sizes] for place, sizes in enumerate(parts)]
    pieces = [dump(group, framing) for group in records]
    whole = pieces[0] + b"".join(noise + piece for noise, piece in zip(junk, pieces[1:], strict=True))
    found, quarantined, framing_bytes = read(whole)
    assert found == [item for group in records for item in group]
    assert [item.raw for item in quarantined] == junk
    assert framing_bytes + sum(map(len, found)) + sum(map(len, junk)) == len(whole)


def test_what_no_records_follow_is_quarantined_to_the_end_and_searched_in_bounded_time() -> None:
    whole = dump([record(100)] * 5, "rdw") + b"\xff" * (5 << 20)
    found, quarantined, _ = read(whole)
    assert len(found) == 5
    assert [(item.offset, item.length, len(item.raw)) for item in quarantined] == [(500, 5 << 20, 1 << 16)]
    for rest, words in ((bytes(4000), "zeros fill the rest"), (b"<?xml version='1.0'?>" * 9, "this is text")):
        assert words in read(dump([record(100)] * 5, "rdw") + rest)[1][0].detail
    broken = (dump([record(100)] * 3, "rdw") + b"\xff") * 300
    found, quarantined, _ = read(broken)
    assert len(found) == 3 * 101
    assert [item.length for item in quarantined] == [1] * 100 + [len(broken) - 101 * 301 + 1]


def test_segments_without_their_record_are_quarantined_and_the_rest_read() -> None:
    pieces = dump([record(40_000, 3)], "rdw")
    first, last = pieces[:32_760], pieces[32_760:]
    found, quarantined, _ = read(record(100) + last + record(200) + first + record(300))
    assert found == [record(100), record(200), record(300)]
    assert [item.reason for item in quarantined] == ["segment_without_record"] * 2
    assert [item.raw for item in quarantined] == [last, first]


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@pytest.mark.parametrize("longest", [150_000, 400_000])
def test_how_a_dump_is_read_makes_no_difference_to_its_records(
    framing: str, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.framing.MAX_LOGICAL_RECORD", longest)
    monkeypatch.setattr("ingest.framing.HEAD_BYTES", 1 << 16)
    chain = bytes(4) + HEAD + bytes([5]) * 300_000
    data = dump([*[record(900, place) for place in range(150)], chain, record(100, 1), chain, record(200, 2)], framing)
    results = [read(data, batch_bytes=size) for size in (1 << 16, 100_000, 1 << 20)]
    assert results[0] == results[1] == results[2]
    found, quarantined, _ = results[0]
    kept = [item for item in found if len(item) > 300]
    assert len(found) == (154 if longest > len(chain) else 152)
    assert kept[150:] == ([chain] * 2 if longest > len(chain) else [])
    assert {item.reason for item in quarantined} <= {"segment_without_record"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (bytes(1000), "only zeros"),
        (b"JOB00012 IEF403I started\n" * 50, "text"),
        (bytes(range(255, 0, -1)) * 10, "not an SMF dump or an IMS log, its beginning is missing"),
    ],
)
def test_input_without_records_is_refused_with_a_remedy(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "dump.smf"
    path.write_bytes(data)
    with pytest.raises(FramingError, match=words) as refusal:
        list(decode_batches(path, registry.load()))
    assert str(path) in str(refusal.value)
    assert "transfer" in str(refusal.value)


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
@pytest.mark.parametrize("before", [b"x", bytes(512), b"a header of some archive" * 40])
def test_a_dump_whose_beginning_is_missing_or_hidden_is_read_from_its_first_whole_record(
    framing: str, before: bytes
) -> None:
    records = [record(200 + n, n % 256) for n in range(400)]
    data = before + dump(records, framing)[50:]
    found, quarantined, _ = read(data)
    assert len(found) == 399
    assert found == records[1:]
    assert (quarantined[0].offset, quarantined[0].length) == (0, len(before) + (154 if framing == "bdw" else 150))
    assert "records follow one another again" in quarantined[0].detail
    with pytest.raises(FramingError):
        read(b"x" * (SEARCHED_BYTES + 2 * CHAIN_BYTES) + data)


@pytest.mark.parametrize(
    ("flags", "date"), [("5E", "0070011C"), ("5E", "0000009C"), ("5E", "0200001F"), ("00", "0090123F")]
)
def test_tables_of_small_numbers_in_a_program_are_no_dump(flags: str, date: str) -> None:
    """They lead from one to the next, and would be of before there were records, or long after, or without flags."""
    piece = (768).to_bytes(2, "big") + bytes(2) + bytes.fromhex(flags) + bytes(5) + bytes.fromhex(date)
    with pytest.raises(FramingError):
        read(b"\x7fELF" * 100 + piece.ljust(768, b"\x00") * 8)


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=400))
def test_any_bytes_are_either_refused_or_accounted_for(data: bytes) -> None:
    try:
        read(data)
    except FramingError as error:
        assert "dump" in str(error)


def test_a_real_dump_is_framed_completely_and_counted_by_type() -> None:
    path = shared("real/mq/SMF_MQ1000.dat")
    known = registry.load()
    counts: dict[str, int] = {}
    total = spanned = 0
    for batch in decode_batches(path, known, batch_bytes=1 << 16):
        assert not batch.quarantined
        total += batch.bytes_in
        spanned += batch.framing_bytes // 4
        for kind, (records, _) in batch.skipped.items():
            counts[kind] = counts.get(kind, 0) + records
        counts["decoded"] = counts.get("decoded", 0) + batch.decoded
    assert total == path.stat().st_size
    assert sum(counts.values()) == 709
    assert spanned == 63
    if known.layout_for(116, 1) is None:
        assert (counts["115.1"], counts["116.0"], counts["116.1"]) == (48, 54, 367)
