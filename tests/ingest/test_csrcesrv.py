"""CSRCESRV run-length compression: inverse, limits, and streams that lie about themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.cics.csrcesrv import compress, expand

runs = st.lists(st.tuples(st.integers(0, 255), st.integers(1, 400)), max_size=30).map(
    lambda parts: b"".join(bytes([value]) * count for value, count in parts)
)


@given(st.one_of(st.binary(max_size=600), runs))
def test_expanding_what_was_compressed_gives_it_back(data: bytes) -> None:
    packed = compress(data)
    assert packed[:1] == b"\x80"
    assert expand(packed, len(data)) == data


def test_a_stream_written_by_hand_expands_as_the_format_says() -> None:
    stream = bytes.fromhex("80 03 C1C2C3 85 40 01 F0")
    assert expand(stream, 9) == bytes.fromhex("C1C2C3 4040404040 F0")


def test_long_runs_are_folded() -> None:
    assert len(compress(bytes(10_000))) == 1 + 2 * -(-10_000 // 127)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_arbitrary_bytes_expand_exactly_or_say_why_not(stream: bytes, length: int) -> None:
    try:
        result = expand(stream, length)
    except ValueError as problem:
        assert "cannot be expanded" in str(problem)
    else:
        assert len(result) == length


@pytest.mark.parametrize(
    ("stream", "length", "message"),
    [
        (b"", 0, "X'80'"),
        (b"\x05abcde", 5, "X'80'"),
        (b"\x80\x00", 1, "count of zero"),
        (b"\x80\x80", 1, "count of zero"),
        (b"\x80\x05abc", 5, "ends inside a run"),
        (b"\x80\x85", 5, "ends inside a run"),
        (b"\x80\xff\x00\xff\x00", 200, "beyond the length"),
        (b"\x80\x83\x00", 4, "less than the length"),
    ],
)
def test_broken_streams_name_their_defect(stream: bytes, length: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expand(stream, length)
