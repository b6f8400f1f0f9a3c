"""AMATERSE files: inverse of an independent packer, damage, bombs."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.containers.terse import TerseError, is_terse, unterse
from tests.ingest.terse_writer import code_bytes, terse

LIMIT = 1 << 24


def with_descriptors(records: list[bytes]) -> bytes:
    return b"".join(struct.pack(">HH", len(record) + 4, 0) + record for record in records)


texts = st.lists(
    st.one_of(st.binary(min_size=1, max_size=40), st.sampled_from([b"\x40" * 30, b"\xc1\xc2" * 12, bytes(50)])),
    min_size=1,
    max_size=12,
)


@given(texts, st.booleans())
def test_variable_records_come_out_with_their_descriptors(records: list[bytes], spack: bool) -> None:
    packed = terse(records, spack=spack, variable=True)
    assert is_terse(packed)
    assert b"".join(unterse(packed, limit=LIMIT)) == with_descriptors(records)


@given(texts, st.booleans())
def test_fixed_data_come_out_as_plain_bytes(records: list[bytes], spack: bool) -> None:
    packed = terse(records, spack=spack, variable=False)
    assert b"".join(unterse(packed, limit=LIMIT)) == b"".join(records)


@pytest.mark.parametrize("spack", [False, True])
def test_slots_are_recycled_as_the_packer_recycles_them(spack: bool) -> None:
    chooser = random.Random(5)
    words = [bytes(chooser.randrange(256) for _ in range(chooser.randrange(1, 9))) for _ in range(400)]
    records = [b"".join(chooser.choices(words, k=12)) for _ in range(400)]
    packed = terse(records, spack=spack, variable=True)
    assert len(packed) > 12 + 4096 * 1.5, "too few codes to use up the slots"
    assert b"".join(unterse(packed, limit=LIMIT)) == with_descriptors(records)


def test_a_long_data_set_is_delivered_in_whole_records_piece_by_piece() -> None:
    records = [b"\x40" * 30_000] * 20
    plain = [257, *([0x41] * 30_000)] * 20
    packed = struct.pack(">BBHBBHI", 2, 1, 32756, 4, 0, 0, 32756) + code_bytes([*plain[1:], 0])
    pieces = list(unterse(packed, limit=LIMIT, piece=1 << 17))
    assert len(pieces) > 3
    assert b"".join(pieces) == with_descriptors(records)
    for piece in pieces:
        at = 0
        while at < len(piece):
            at += struct.unpack_from(">H", piece, at)[0]
        assert at == len(piece)


@pytest.mark.parametrize("spack", [False, True])
def test_a_cut_file_delivers_what_is_there_and_says_that_it_was_cut(spack: bool) -> None:
    packed = terse([b"first", b"second", b"third and last"], spack=spack, variable=True)[:24]
    delivered = b""
    with pytest.raises(TerseError, match="cut"):
        for piece in unterse(packed, limit=LIMIT):
            delivered += piece
    assert with_descriptors([b"first"]) == delivered[:9]


def test_a_bomb_stops_at_the_limit() -> None:
    growing = [1, 1] + [258 + k for k in range(60)]
    bomb = struct.pack(">BBHBBHI", 5, 0, 80, 4, 0, 0, 80) + code_bytes(growing)
    delivered = 0
    with pytest.raises(TerseError, match="limit"):
        for piece in unterse(bomb, limit=1 << 22):
            delivered += len(piece)
    assert delivered <= 1 << 22


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param([257, 257, *range(258, 318)], id="phrases that double"),
        pytest.param([*(1 + k % 256 for k in range(3838)), 257, 258, 258], id="a phrase that is part of itself"),
    ],
)
def test_phrases_of_record_marks_alone_end_in_an_error(codes: list[int]) -> None:
    fixed = struct.pack(">BBHBBHI", 5, 0, 80, 4, 0, 0, 80) + code_bytes([*codes, 0])
    with pytest.raises(TerseError, match="a code names a phrase that cannot exist"):
        list(unterse(fixed, limit=LIMIT))


def test_records_before_one_that_is_too_long_are_delivered() -> None:
    packed = struct.pack(">BBHBBHI", 2, 1, 32756, 4, 0, 0, 32756) + code_bytes([0xC2, 257, *[0x41] * 66_000, 0])
    delivered = b""
    with pytest.raises(TerseError, match="longer than a record descriptor"):
        for piece in unterse(packed, limit=LIMIT):
            delivered += piece
    assert delivered == with_descriptors([b"\xc1"])


@given(st.sampled_from([2, 5]), st.booleans(), st.binary(max_size=400))
def test_arbitrary_codes_end_in_data_or_in_a_named_error(version: int, variable: bool, body: bytes) -> None:
    data = struct.pack(">BBHBBHI", version, int(variable), 80, 4, 0, 0, 80) + body
    produced = 0
    try:
        for piece in unterse(data, limit=1 << 20):
            produced += len(piece)
    except TerseError as problem:
        assert 12 <= problem.offset <= len(data) + 2
    assert produced <= 1 << 20


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"\x02\x01", "shorter"),
        (bytes([3, 1, 0, 80, 4, 0, 0, 0, 0, 0, 0, 80]), "version byte is 3"),
        (bytes([2, 7, 0, 80, 4, 0, 0, 0, 0, 0, 0, 80]), "record format byte is 7"),
        (bytes([2, 1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]), "record length is missing"),
        (bytes([2, 1, 0, 80, 4, 0, 0, 0, 0, 0, 0, 81]), "differ"),
        (bytes([2, 1, 0, 80, 0, 0, 9, 9, 0, 0, 0, 80]), "not from MVS"),
    ],
)
def test_a_header_that_is_none_says_why(header: bytes, message: str) -> None:
    assert not is_terse(header)
    with pytest.raises(TerseError, match=message):
        list(unterse(header, limit=LIMIT))
