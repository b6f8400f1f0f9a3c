"""Records that lie about themselves are quarantined; nothing outside the input is read and nothing is lost."""

import io
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.batch import Batch
from ingest.codec.tables import rows_table
from ingest.formats.identify import Kind, identify
from ingest.formats.ims.encode import encode_log
from ingest.formats.smf import decode_batches, encode_dump, placing
from ingest.formats.smf.following import FollowingDecoder
from ingest.framing import FramingError, read_frames
from tests.ingest.ims.logs import records as log_records
from tests.ingest.tables import random_tables

REGISTRY = registry.load()
LAYOUTS = {layout.name: layout for layout in REGISTRY.layouts}


def plain(name: str, records: int = 3, seed: int = 1) -> bytearray:
    """A dump of whole records of one layout."""
    return bytearray(_encoded(name, records, seed))


@cache
def _encoded(name: str, records: int, seed: int) -> bytes:
    tables = random_tables(LAYOUTS[name], seed, records, cut=0)
    if LAYOUTS[name].product == "rmf":
        tables.pop(f"{name}_product", None)
    return encode_dump(tables, REGISTRY)


def starts(dump: bytes) -> list[int]:
    """Where each record of a stream starts."""
    found, at = [], 0
    while at < len(dump):
        found.append(at)
        at += int.from_bytes(dump[at : at + 2], "big")
    return found


def accounted(dump: bytes, **options) -> list[Batch]:
    """Decode, and check that every byte and record is accounted for."""
    batches = list(decode_batches(bytes(dump), REGISTRY, **options))
    assert sum(batch.bytes_in for batch in batches) == len(dump)
    records = sum(len(frames.starts) for frames in read_frames(io.BytesIO(dump), "input"))
    decoded = sum(batch.decoded for batch in batches)
    skipped = sum(count for batch in batches for count, _ in batch.skipped.values())
    quarantined = sum(item.record_seq is not None for batch in batches for item in batch.quarantined)
    assert records == decoded + skipped + quarantined
    for batch in batches:
        for table in batch.tables.values():
            table.validate(full=True)
    return batches


@pytest.mark.parametrize(
    ("offset", "length", "count", "reason"),
    [
        (100_000, 200, 1, "section_outside_record"),
        (300, 65_535, 1, "section_outside_record"),
        (300, 200, 65_535, "section_outside_record"),
        (20, 200, 1, "section_outside_record"),
        (2**32 - 1, 65_535, 65_535, "section_outside_record"),
        (300, 0, 65_535, "section_without_length"),
    ],
)
def test_a_section_outside_its_record_quarantines_that_record(
    offset: int, length: int, count: int, reason: str
) -> None:
    dump = plain("smf30")
    second = starts(dump)[1]
    section = LAYOUTS["smf30"].section("cpu")
    assert section.triplet is not None
    at = second + section.triplet.position
    dump[at : at + 8] = offset.to_bytes(4, "big") + length.to_bytes(2, "big") + count.to_bytes(2, "big")
    [batch] = accounted(dump)
    [item] = batch.quarantined
    size = int.from_bytes(dump[second : second + 2], "big")
    assert (item.offset, item.length, item.reason, item.record_seq) == (second, size, reason, 1)
    assert item.raw == bytes(dump[second : second + size])
    assert "SMF30COF" in item.detail
    assert batch.tables["smf30_header"]["record_seq"].to_pylist() == [0, 2]


def test_a_record_with_two_sections_where_there_is_one_is_quarantined() -> None:
    dump = plain("smf72_3")
    second = starts(dump)[1]
    section = LAYOUTS["smf72_3"].section("control")
    assert section.triplet is not None
    at = second + section.triplet.position
    dump[at + 4 : at + 8] = (8).to_bytes(2, "big") + (2).to_bytes(2, "big")
    [batch] = accounted(dump)
    [item] = batch.quarantined
    assert (item.offset, item.reason, item.record_seq) == (second, "section_repeated", 1)
    assert "number 2 (SMF72WMN)" in item.detail and "has one at most" in item.detail


def test_a_section_longer_than_known_is_stepped_over_by_its_own_length() -> None:
    layout = LAYOUTS["smf30"]
    header = pa.table({"record_seq": np.array([0], np.uint32), "smf30stp": np.array([2], np.uint16)})
    usage = pa.table({"record_seq": np.zeros(3, np.uint32), "smf30upn": ["ONE", "TWO", "THREE"]})
    triplet = layout.section("usage").triplet
    assert triplet is not None
    item = next(item for item in layout.header.fields if item.offset == triplet.position + 4)
    header = header.append_column(item.column, pa.array([120], pa.uint16()))
    [batch] = accounted(encode_dump({"smf30_header": header, "smf30_usage": usage}, REGISTRY))
    assert batch.tables["smf30_usage"]["smf30upn"].to_pylist() == ["ONE", "TWO", "THREE"]
    assert batch.notes == {"section_longer_than_known:smf30_usage": 3}


@pytest.mark.parametrize("name", ["smf30", "smf70_1", "smf115_1", "smf119_2"])
def test_a_record_with_a_section_that_is_not_known_is_reported(name: str) -> None:
    layout = LAYOUTS[name]
    unsplit = {item.table for item in layout.sections if item.walk != "length_prefixed" and item.name != "product"}
    tables = random_tables(layout, 7, 1, cut=0)
    dump = encode_dump({table: tables[table] for table in tables if table in unsplit}, REGISTRY)
    assert int.from_bytes(dump[:2]) == len(dump)
    [batch] = accounted(dump)
    assert not batch.notes
    grown = (len(dump) + 400).to_bytes(2) + dump[2:] + bytes(400)
    [batch] = accounted(dump + grown + dump)
    assert batch.notes == {f"section_not_known:{name}_header": 1}
    assert batch.decoded_bytes == 3 * len(dump) + 400


def test_a_record_too_short_to_have_a_header_is_quarantined() -> None:
    whole = bytes(plain("smf30", 1))
    [batch] = accounted(whole + bytes.fromhex("00060000ABCD") + whole)
    assert [(item.reason, item.raw.hex()) for item in batch.quarantined] == [("record_too_short", "00060000abcd")]
    assert batch.decoded == 2


def test_records_of_an_ims_log_in_a_dump_are_not_taken_for_smf_records() -> None:
    log = encode_log({"ims_log_record": log_records([(0x35, 0)] * 3)}, REGISTRY)
    dump = bytes(plain("smf30", 2))
    batches = accounted(dump + log + dump)
    assert sum(batch.decoded for batch in batches) == 4
    pieces = [piece for batch in batches for piece in batch.quarantined]
    assert [(piece.reason, piece.record_seq) for piece in pieces] == [("record_date_not_valid", n) for n in (2, 3, 4)]
    assert all("SMFXDTE" in piece.detail for piece in pieces)
    assert identify("dump", dump * 4 + log).kind == Kind.SMF


def test_a_type_without_layout_is_counted_with_its_bytes() -> None:
    dump = plain("smf30", 2)
    first, second = starts(dump)
    dump[first + 4], dump[first + 5] = 0x40, 250
    dump[second + 4], dump[second + 5] = 0x00, 251
    subtype = int.from_bytes(dump[first + 22 : first + 24], "big")
    [batch] = accounted(dump)
    assert batch.skipped == {f"250.{subtype}": (1, second), "251": (1, len(dump) - second)}


def test_many_tiny_sections_are_decoded_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.formats.smf.decode.MAX_TABLE_BYTES", 1 << 20)
    sequence = np.arange(20, dtype=np.uint32)
    header = pa.table({"record_seq": sequence, "smf30stp": np.full(20, 2, np.uint16)})
    tiny = pa.table({"record_seq": np.repeat(sequence, 20_000), "smf30dev": [b"\1"] * 400_000})
    tiny = tiny.append_column("smf30utp", pa.nulls(400_000, pa.binary(1)))
    for item in LAYOUTS["smf30"].section("excp").fields[2:]:
        tiny = tiny.append_column(item.column, pa.nulls(400_000, item.arrow))
    batches = accounted(encode_dump({"smf30_header": header, "smf30_excp": tiny}, REGISTRY))
    assert len(batches) >= 20
    assert sum(batch.tables["smf30_excp"].num_rows for batch in batches if batch.tables) == 400_000


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_records_with_any_bytes_or_triplets_changed_are_decoded_or_quarantined(name: str, data: st.DataObject) -> None:
    placed = LAYOUTS[name].placed
    dump = plain(name, 3, data.draw(st.integers(0, 2)))
    for start in starts(dump):
        for section in data.draw(st.lists(st.sampled_from(placed), max_size=4)) if placed else ():
            assert section.triplet is not None
            at = start + section.triplet.position
            if at + 8 <= len(dump):
                dump[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    places = data.draw(st.lists(st.integers(0, len(dump) - 1), max_size=20))
    for place in places:
        dump[place] = data.draw(st.integers(0, 255))
    try:
        accounted(dump, batch_bytes=1 << 16)
    except FramingError as error:
        assert places, "triplets are no part of the framing"
        assert "input" in str(error)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([30, 70, 72]), st.binary(max_size=600), st.integers(0, 3))
def test_any_body_under_a_known_type_is_decoded_or_quarantined(kind: int, body: bytes, subtype: int) -> None:
    head = bytes([0x5E, kind]) + bytes.fromhex("0036EE800126325FE2E8E2C140404040") + subtype.to_bytes(2, "big")
    accounted((len(head) + len(body) + 4).to_bytes(2, "big") + bytes(2) + head + body)


@pytest.mark.parametrize(
    ("date", "is_kept"), [("0126032F", True), ("00000000", True), ("0126367F", False), ("0126A32F", False)]
)
def test_a_record_of_an_interval_without_a_date_is_quarantined(date: str, is_kept: bool) -> None:
    tables = random_tables(LAYOUTS["smf72_3"], 1, 3, cut=0)
    tables["smf72_3_product"] = pa.table(
        {name: tables["smf72_3_header"][name] for name in ("record_seq", "section_seq")}
    )
    dump = bytearray(encode_dump(tables, REGISTRY))
    second = starts(dump)[1]
    product = LAYOUTS["smf72_3"].section("product")
    assert product.triplet is not None
    at = second + int.from_bytes(dump[(place := second + product.triplet.position) : place + 4], "big")
    field = product.by_name("interval_start_date")
    dump[at + field.offset : at + field.end] = bytes.fromhex(date)
    [batch] = accounted(dump)
    found = [(item.offset, item.reason, item.record_seq) for item in batch.quarantined]
    assert found == ([] if is_kept else [(second, "interval_date_not_valid", 1)])
    assert all(date in item.detail and "SMF72DAT" in item.detail for item in batch.quarantined)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_record_that_breaks_what_reads_it_is_quarantined_alone(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = bytes(plain("smf30", 9))
    whole = accounted(dump)[0].tables
    section = next(name for name, table in whole.items() if {3, 5} < set(_records_of(table)))
    bad = _records_of(whole[section])[1]

    def broken(part, data, at, limits, record_seq, *others):
        if part.table == section and bad in record_seq:
            raise IndexError("a place outside an array")
        return rows_table(part, data, at, limits, record_seq, *others)

    monkeypatch.setattr(placing, "rows_table", broken)
    (batch,) = accounted(dump, threads=threads)
    (piece,) = batch.quarantined
    assert (piece.record_seq, piece.reason) == (bad, "record_not_decodable")
    assert "IndexError: a place outside an array" in piece.message
    assert f"record_seq {bad}" in piece.message
    assert batch.decoded == 8
    for name, table in whole.items():
        assert batch.tables[name].equals(table.filter(pc.not_equal(table["record_seq"], bad)))


def test_a_record_that_breaks_a_handler_is_quarantined_alone() -> None:
    dump = bytes(plain("smf80", 7))

    class Broken(FollowingDecoder):
        def decode(self, buffer, offset, length, record_seq):
            if 4 in record_seq:
                raise ZeroDivisionError("division by zero")
            return super().decode(buffer, offset, length, record_seq)

    (whole,) = accounted(dump)
    (batch,) = accounted(dump, handlers={"smf80": Broken(LAYOUTS["smf80"])})
    assert [(piece.record_seq, piece.reason) for piece in batch.quarantined] == [(4, "record_not_decodable")]
    for name, table in whole.tables.items():
        assert batch.tables[name].equals(table.filter(pc.not_equal(table["record_seq"], 4)))


def _records_of(table: pa.Table) -> list[int]:
    return sorted(set(table["record_seq"].to_pylist()))
