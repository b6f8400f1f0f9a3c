"""TRANSMIT files: inverse of an independent writer, damage, what is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.containers.transmit import TransmitError, TransmitRefused, is_transmitted, transmitted
from tests.ingest.transmit_writer import transmit

texts = st.lists(st.binary(max_size=600), max_size=12)


def with_descriptors(records: list[bytes]) -> bytes:
    return b"".join(struct.pack(">HH", len(record) + 4, 0) + record for record in records)


@given(texts, st.none() | texts, st.integers(40, 253))
def test_variable_records_come_out_with_their_descriptors(records, message, most) -> None:
    packed = transmit(records, variable=True, message=message, most=most)
    assert is_transmitted(packed)
    assert b"".join(transmitted(packed)) == with_descriptors(records)


@given(texts)
def test_records_that_bring_their_descriptors_keep_them(records) -> None:
    whole = [struct.pack(">HH", len(record) + 4, 0) + record for record in records]
    assert b"".join(transmitted(transmit(whole, variable=True))) == b"".join(whole)


@given(texts)
def test_fixed_data_come_out_as_plain_bytes(records) -> None:
    assert b"".join(transmitted(transmit(records, variable=False))) == b"".join(records)


@given(st.lists(st.binary(min_size=1, max_size=600), min_size=1, max_size=8), st.data())
def test_cut_data_deliver_whole_records_and_then_an_error(records, data) -> None:
    packed = transmit(records, variable=True).rstrip(b"\x40")
    end = packed.rindex("INMR06".encode("cp037"))
    cut = packed[: data.draw(st.integers(0, end - 3))]
    got = b""
    with pytest.raises(TransmitError, match="INMR06"):
        for piece in transmitted(cut):
            got += piece
    assert with_descriptors(records).startswith(got)


@pytest.mark.parametrize("name", ["INMR02", "INMR03"])
def test_data_whose_description_is_damaged_are_not_taken_for_records(name: str) -> None:
    packed = transmit([b"PAYROLL"], variable=True).replace(name.encode("cp037"), "INMR99".encode("cp037"))
    with pytest.raises(TransmitError, match=name):
        list(transmitted(packed))


def test_a_segment_out_of_order_is_an_error_with_its_offset() -> None:
    packed = bytearray(transmit([b"a" * 300], variable=True))
    at = packed.index(b"\x31\x40" + b"a" * 47)
    packed[at + 1] |= 0x80
    with pytest.raises(TransmitError, match=f"offset {at}"):
        list(transmitted(bytes(packed)))


def test_what_is_not_unpacked_here_says_what_to_do() -> None:
    with pytest.raises(TransmitRefused, match="ENCIPHER"):
        list(transmitted(transmit([b"x"], variable=True, utility="AMSCIPHR")))


@given(st.binary(max_size=400))
def test_any_bytes_end_in_pieces_or_in_an_error_that_says_where(data: bytes) -> None:
    try:
        got = list(transmitted(transmit([], variable=True)[:100] + data))
    except (TransmitError, TransmitRefused) as error:
        assert str(error)
    else:
        assert sum(map(len, got)) <= 5 * len(data)
