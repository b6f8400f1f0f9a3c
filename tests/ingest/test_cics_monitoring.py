"""CICS monitoring records: the dictionary decides, whatever the order and choice of fields, plain or compressed."""

import datetime as dt
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import registry
from ingest.codec.handlers import Handled
from ingest.formats.cics import catalogue, performance
from ingest.formats.cics.dictionary import (
    Dictionary,
    DictionaryMemory,
    Entry,
    Key,
    full_dictionary,
    pack_entries,
    parse_entries,
    read_dictionary_file,
    write_dictionary_file,
)
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.formats.cics.performance import MonitoringDecoder
from ingest.formats.smf import decode_batches

REGISTRY = registry.load()
REGION = Region("SYSA", "CICSAOR1", "AORJOB1")
NOW = dt.datetime(2026, 3, 4, 13, 14, 15, 160000)


def decode(records: list[bytes], memory: DictionaryMemory | None = None) -> Handled:
    buffer = np.frombuffer(b"".join(records), np.uint8)
    length = np.array([len(record) for record in records], np.int64)
    offset = np.cumsum(length) - length
    return MonitoringDecoder(memory).decode(buffer, offset, length, np.arange(len(records), dtype=np.uint32))


def value_strategy(entry: Entry) -> st.SearchStrategy[dict[str, object]]:
    known = catalogue.find(entry.group, entry.id, entry.nickname)
    assert known
    column = known.column
    if entry.type == "S":
        pair = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**24 - 1))
        return pair.map(lambda v: {column: v[0], f"{column}_n": v[1]})
    if entry.type == "T":
        return st.integers(1, 2**63 - 1).map(lambda v: {f"{column}_raw": v, column: tod_to_datetime(v)})
    if entry.type == "C":
        letters = st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_categories=["Cc", "Zs"])
        return st.text(letters, max_size=entry.length).map(lambda v: {column: v})
    if entry.type == "P":
        return st.integers(0, 9_999_999).map(lambda v: {column: v})
    return st.integers(0, 2 ** (8 * entry.length) - 1).map(lambda v: {column: v})


def tod_to_datetime(raw: int) -> dt.datetime:
    return dt.datetime(1900, 1, 1) + dt.timedelta(microseconds=raw >> 12)


@st.composite
def regions_and_rows(draw: st.DrawFn) -> tuple[list[Entry], pa.Table]:
    entries = draw(st.lists(st.sampled_from(full_dictionary()), min_size=1, max_size=12, unique=True))
    count = draw(st.integers(1, 5))
    rows = [
        {key: value for entry in entries for key, value in draw(value_strategy(entry)).items()} for _ in range(count)
    ]
    names = {name for row in rows for name in row}
    schema = pa.schema([field for field in catalogue.section("performance").schema if field.name in names])
    return entries, pa.Table.from_pylist(rows, schema=schema)


@given(regions_and_rows(), st.booleans(), st.integers(1, 3))
def test_rows_come_back_as_they_were_written(
    case: tuple[list[Entry], pa.Table], compressed: bool, rows_per_record: int
) -> None:
    entries, rows = case
    # Clocks are written from their numbers alone.
    written = rows.drop_columns([name for name in rows.column_names if f"{name}_raw" in rows.column_names])
    records = encode_dictionary(REGION, full_dictionary(), NOW) + list(
        encode_performance(REGION, entries, written, NOW, compressed=compressed, rows_per_record=rows_per_record)
    )
    result = decode(records)
    assert result.problems == []
    table = result.tables[catalogue.PERFORMANCE_TABLE]
    assert table.select(rows.column_names).to_pylist() == rows.to_pylist()
    absent = [name for name in table.column_names[2:] if name not in rows.column_names]
    assert all(table.column(name).null_count == table.num_rows for name in absent)
    sections = [n % rows_per_record for n in range(rows.num_rows)]
    assert table.column("section_seq").to_pylist() == sections


@given(st.lists(st.sampled_from(full_dictionary()), max_size=40))
def test_dictionary_entries_are_written_and_read_alike(entries: list[Entry]) -> None:
    assert parse_entries(pack_entries(entries)) == entries


def test_a_hand_written_record_reads_as_the_format_says() -> None:
    """One row: transaction ABCD, CPU clock of 1,000 us over 3 periods, task number 1234."""
    entries = [
        Entry("DFHTASK", "C", "001", 4, 1, 0, "TRAN"),
        Entry("DFHTASK", "S", "008", 12, 7, 4, "USRCPUT"),
        Entry("DFHTASK", "P", "031", 4, 9, 16, "TRANNUM"),
    ]
    section = bytes.fromhex("0001 0007 0009C1C2C3C400000000003E8000 000000030001234C")
    head = bytes.fromhex("0000 0000 C0 6E 004C4B40 0126063F E2E8E2C1 C3C9C3E2 0001 0002 0000")
    head += bytes.fromhex("0000002C 0074 0001 000000A0 001A 0001")
    product = bytes.fromhex("0700") + "CICSAOR1".encode("cp037") * 2
    product += struct.pack(">HHHIHHIHH", 0, 0, 3, 160, 2, 3, 166, 20, 1)
    record = bytearray(head + product.ljust(116, b"\0") + section)
    record[0:2] = struct.pack(">H", len(record))
    result = decode([*encode_dictionary(REGION, entries, NOW), bytes(record)])
    assert result.problems == []
    row = result.tables[catalogue.PERFORMANCE_TABLE].to_pylist()[0]
    assert (row["tran"], row["usrcput"] >> 12, row["usrcput_n"], row["trannum"]) == ("ABCD", 1000, 3, 1234)


def test_eight_byte_clocks_of_old_releases_count_sixteen_microseconds() -> None:
    entry = Entry("DFHTASK", "S", "008", 8, 1, 0, "USRCPUT")
    wide = full_dictionary()[0]._replace(group="DFHTASK", type="A", id="005", length=8, connector=1)
    rows = pa.table({"usrcput": pa.array([0], pa.uint64()), "usrcput_n": pa.array([0], pa.uint32())})
    record = bytearray(next(encode_performance(REGION, [wide], rows, NOW)))
    record[-8:] = struct.pack(">IBBH", 100, 0, 0, 7)
    result = decode([*encode_dictionary(REGION, [entry], NOW), bytes(record)])
    row = result.tables[catalogue.PERFORMANCE_TABLE].to_pylist()[0]
    assert (row["usrcput"] >> 12, row["usrcput_n"]) == (1600, 7)


def test_two_regions_with_different_dictionaries_do_not_mix() -> None:
    tran, term = (next(e for e in full_dictionary() if e.nickname == name) for name in ("TRAN", "TERM"))
    other = Region("SYSA", "CICSAOR2", "AORJOB2")
    swapped = [tran._replace(connector=2), term._replace(connector=1)]
    straight = [tran._replace(connector=1), term._replace(connector=2)]
    rows = pa.table({"tran": ["AAAA"], "term": ["TTTT"]})
    records = [
        *encode_dictionary(REGION, straight, NOW),
        *encode_dictionary(other, swapped, NOW),
        *encode_performance(REGION, straight, rows, NOW),
        *encode_performance(other, [swapped[1], swapped[0]], rows, NOW),
    ]
    table = decode(records).tables[catalogue.PERFORMANCE_TABLE]
    assert table.select(["tran", "term"]).to_pylist() == rows.to_pylist() * 2


def test_a_dump_without_dictionary_says_so_and_decodes_once_one_is_supplied() -> None:
    entries = full_dictionary()[:5]
    rows = pa.table({"prcsname": ["ORDER", "INVOICE"]})
    records = list(encode_performance(REGION, entries, rows, NOW))
    result = decode(records)
    assert [problem.reason for problem in result.problems] == ["cics_dictionary_missing"]
    assert "CICSAOR1" in result.problems[0].detail
    text = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(entries))])
    memory = DictionaryMemory()
    assert read_dictionary_file(text, memory) == 5
    again = decode(records, memory)
    assert again.problems == []
    assert again.tables[catalogue.PERFORMANCE_TABLE].column("prcsname").to_pylist() == ["ORDER", "INVOICE"]


def test_fields_of_an_installation_keep_their_bytes() -> None:
    own = Entry("USEREMP", "S", "001", 12, 1, 0, "MYCLOCK")
    record = bytearray(next(encode_performance(REGION, [own], pa.table({"tran": ["X"]}), NOW)))
    record[-12:] = bytes(range(12))
    result = decode([*encode_dictionary(REGION, [own], NOW), bytes(record)])
    other = result.tables[catalogue.OTHER_FIELD_TABLE].to_pylist()
    assert [(row["cmodname"], row["cmodhead"], row["value_bytes"]) for row in other] == [
        ("USEREMP", "MYCLOCK", bytes(range(12)))
    ]
    assert result.tables[catalogue.PERFORMANCE_TABLE].num_rows == 1


@pytest.mark.parametrize(("compressed", "cut"), [(False, 1), (True, 1), (True, 30)])
def test_a_record_that_names_more_than_it_holds_is_refused(compressed: bool, cut: int) -> None:
    rows = pa.table({"prcsname": ["ORDER"] * 3})
    entries = full_dictionary()[:5]
    record = next(encode_performance(REGION, entries, rows, NOW, compressed=compressed))
    result = decode([*encode_dictionary(REGION, entries, NOW), record[:-cut]])
    assert len(result.problems) == 1
    assert catalogue.PERFORMANCE_TABLE not in result.tables


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("length", "count"), [(0, 65_535), (1, 2_000)])
def test_a_record_that_would_make_more_rows_than_it_could_mean_is_refused(
    compressed: bool, length: int, count: int
) -> None:
    entries = full_dictionary()
    rows = pa.table({"prcsname": ["ORDER"]})
    record = bytearray(next(encode_performance(REGION, entries, rows, NOW, compressed=compressed)))
    product = int.from_bytes(record[28:32])
    record[product + 30 : product + 32] = bytes(2)
    record[product + 36 : product + 40] = length.to_bytes(2) + count.to_bytes(2)
    result = decode([*encode_dictionary(REGION, entries, NOW), bytes(record)])
    assert [problem.reason for problem in result.problems] == ["cics_data_count"]
    assert catalogue.PERFORMANCE_TABLE not in result.tables


def test_how_much_is_expanded_at_once_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[bytes] = []
    for region, entries in ((REGION, full_dictionary()[:9]), (Region("SYSA", "OTHER", "JOB"), full_dictionary()[3:8])):
        rows = pa.table({"prcsname": [f"{region.applid}{place}" for place in range(3)]})
        records += encode_dictionary(region, entries, NOW)
        for compressed in (True, False, True):
            records += encode_performance(region, entries, rows, NOW, compressed=compressed)
    whole = decode(records).tables
    monkeypatch.setattr(performance, "_EXPANDED_AT_ONCE", 1)
    parts = decode(records).tables
    assert parts.keys() == whole.keys()
    keys = [("record_seq", "ascending"), ("section_seq", "ascending")]
    assert all(parts[name].sort_by(keys).equals(table.sort_by(keys)) for name, table in whole.items())
    assert whole[catalogue.PERFORMANCE_TABLE].num_rows == 18


@given(st.data(), st.booleans())
def test_damaged_records_are_named_and_the_others_survive(data: st.DataObject, compressed: bool) -> None:
    entries = full_dictionary()[:40]
    rows = pa.table({"prcsname": ["ORDER"] * 3})
    good = next(encode_performance(REGION, entries, rows, NOW, compressed=compressed))
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(24, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    result = decode([*encode_dictionary(REGION, entries, NOW), bytes(damaged), good])
    table = result.tables[catalogue.PERFORMANCE_TABLE]
    kept = [row for row in table.to_pylist() if row["record_seq"] == 2]
    assert [row["prcsname"] for row in kept] == ["ORDER"] * 3
    assert all(problem.index == 1 for problem in result.problems)


def test_a_dictionary_that_is_no_whole_number_of_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="not a multiple of 26-byte entries"):
        parse_entries(bytes(27))


def test_a_dictionary_file_names_line_and_column_of_a_mistake() -> None:
    text = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(full_dictionary()[:2]))])
    with pytest.raises(ValueError, match="line 3: length is 'x'"):
        read_dictionary_file(text.replace(",200,36,", ",200,36,").replace(",201,8,", ",201,x,"), DictionaryMemory())


def rows_of_three_records() -> list[bytes]:
    rows = pa.table({"tran": ["AAAA", "BBBB", "CCCC"], "trannum": pa.array([1, 2, 3], pa.uint32())})
    return list(encode_performance(REGION, full_dictionary(), rows, NOW, rows_per_record=1))


def test_a_dump_decodes_to_headers_products_and_rows() -> None:
    dump = b"".join([*encode_dictionary(REGION, full_dictionary(), NOW), *rows_of_three_records()])
    (batch,) = decode_batches(dump, registry.load())
    assert batch.bytes_in == len(dump)
    assert (batch.skipped, batch.quarantined) == ({}, [])
    header, product = batch.tables["smf110_1_header"], batch.tables["smf110_1_product"]
    assert header.column("smfsid").to_pylist() == ["SYSA"] * 4
    assert product.column("smfmncl").to_pylist() == [1, 3, 3, 3]
    table = batch.tables["smf110_1_performance"]
    assert table.column("tran").to_pylist() == ["AAAA", "BBBB", "CCCC"]
    assert table.column("record_seq").to_pylist() == [1, 2, 3]
    said = table.field("usrcput").metadata
    assert (said[b"name"], said[b"unit"]) == (b"cpu_us", b"1/4096 us")
    assert b"CPU time of the task" in said[b"description"]
    assert all(table.field(name).metadata for name in table.column_names[2:])


def test_without_a_dictionary_records_go_to_the_quarantine_whole() -> None:
    records = rows_of_three_records()
    (batch,) = decode_batches(b"".join(records), registry.load())
    assert [(piece.reason, piece.raw) for piece in batch.quarantined] == [
        ("cics_dictionary_missing", record) for record in records
    ]
    assert batch.decoded == 0
    assert batch.bytes_in == sum(map(len, records))


def test_records_of_a_class_nobody_knows_are_reported() -> None:
    [record] = encode_performance(REGION, full_dictionary(), pa.table({"tran": ["AAAA"]}), NOW)
    unknown = record[:66] + (6).to_bytes(2) + record[68:]
    [batch] = decode_batches(b"".join([*encode_dictionary(REGION, full_dictionary(), NOW), unknown, record]), REGISTRY)
    assert batch.notes == {"section_not_known:smf110_1_header": 1}
    assert batch.tables["smf110_1_performance"]["record_seq"].to_pylist() == [2]
    assert batch.tables["smf110_1_product"]["smfmncl"].to_pylist() == [1, 6, 3]
