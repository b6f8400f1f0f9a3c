"""CICS exceptions, transaction resources and statistics: what is written is read, and damage is reported."""

import datetime as dt
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.formats.cics import csrcesrv
from ingest.formats.cics.dictionary import Entry, full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.formats.identify import Identity, Kind
from ingest.formats.readers import read
from ingest.formats.smf import EncodeError, decode_batches, encode_dump
from tests.ingest.tables import random_rows

REGISTRY = registry.load()
LAYOUTS = {name: REGISTRY.table(f"{name}_header")[0] for name in ("smf110_1", "smf110_2")}
SECTIONS = {f"{name}_{section.name}": section for name, layout in LAYOUTS.items() for section in layout.handled}
STATISTICS = [section for section in LAYOUTS["smf110_2"].handled if not section.parent]
EXCEPTION, RESOURCE = 4, 5
COMPUTED = ("header_length", "resource_record_id", "triplet_count", "mode_count", "pool_count")
TRIPLETS = ("identity_", "file_offset", "file_length", "file_count", "resource_record_length", "statistics_length")


def decode(dump: bytes) -> dict[str, pa.Table]:
    """All rows of a dump; nothing of it may be skipped or quarantined."""
    found: dict[str, list[pa.Table]] = {}
    size = 0
    for batch in decode_batches(dump, REGISTRY):
        assert (batch.skipped, batch.quarantined) == ({}, [])
        size += batch.bytes_in
        for name, table in batch.tables.items():
            found.setdefault(name, []).append(table)
    assert size == len(dump)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def heads(layout: str, classes: list[int]) -> dict[str, pa.Table]:
    """Header and product section of records, of these monitoring classes where the layout has classes."""
    rows = len(classes)
    keys = {"record_seq": list(range(rows)), "section_seq": [0] * rows}
    product = random_rows(LAYOUTS[layout].section("product"), 7, keys, [0] * rows)
    if layout == "smf110_1":
        place = product.column_names.index("smfmncl")
        product = product.set_column(place, product.field(place), pa.array(classes, pa.uint16()))
    header = pa.table({"record_seq": pa.array(keys["record_seq"], pa.uint32()), "smfsid": ["SYSA"] * rows})
    return {f"{layout}_header": header, f"{layout}_product": product}


def assert_same(ours: dict[str, pa.Table], given: dict[str, pa.Table]) -> None:
    """Every table of the data sections came back; what encoding computes is not compared."""
    for name, rows in given.items():
        if name not in SECTIONS:
            continue
        section = SECTIONS[name]
        kept = [
            item
            for item in section.fields
            if item.name not in COMPUTED
            and not item.name.startswith(TRIPLETS)
            and not (section.code is not None and item.name == "statistics_id")
        ]
        keys = ["record_seq", "section_seq", *(["parent_seq"] if section.parent else [])]
        columns = keys + [name for item in kept for name in (item.column, *([item.raw[0]] if item.raw else []))]
        order = [("record_seq", "ascending"), ("section_seq", "ascending")]
        assert ours[name].select(columns).sort_by(order).to_pylist() == rows.select(columns).to_pylist(), name


@st.composite
def statistics(draw: st.DrawFn) -> dict[str, pa.Table]:
    records = draw(st.integers(1, 4))
    wanted = [draw(st.lists(st.sampled_from(range(len(STATISTICS))), max_size=8)) for _ in range(records)]
    seed = draw(st.integers(0, 2**32))
    tables = heads("smf110_2", [0] * records)
    for number, section in enumerate(STATISTICS):
        at = [(rec, place) for rec, kinds in enumerate(wanted) for place, kind in enumerate(kinds) if kind == number]
        if not at:
            continue
        keys = {"record_seq": [rec for rec, _ in at], "section_seq": [place for _, place in at]}
        table = random_rows(section, seed + number, keys, list(range(len(at))))
        if section.name == "other_statistics":
            ids = pa.array([draw(st.sampled_from([11, 25, 300])) for _ in at], pa.uint16())
            table = table.set_column(table.column_names.index("stid"), "stid", ids)
            # No statistics record is shorter than its length, number, version and three reserved bytes.
            data = pa.array([value + bytes(3) for value in table["stidata"].to_pylist()], pa.binary())
            table = table.set_column(table.column_names.index("stidata"), "stidata", data)
        tables[section.table] = table
        for name in ("dispatcher_mode", "dispatcher_pool") if section.name == "dispatcher" else ():
            counts = [draw(st.integers(0, 3)) for _ in at]
            owner = [pair for pair, count in zip(at, counts, strict=True) for _ in range(count)]
            nested = {
                "record_seq": [rec for rec, _ in owner],
                "section_seq": [sum(o[0] == rec for o in owner[:i]) for i, (rec, _) in enumerate(owner)],
                "parent_seq": [place for _, place in owner],
            }
            if owner:
                entry = SECTIONS[f"smf110_2_{name}"]
                tables[entry.table] = random_rows(entry, seed + 50 + len(name), nested, [0] * len(owner))
    return tables


@settings(max_examples=40, deadline=None)
@given(statistics())
def test_statistics_come_back_as_they_were_written(tables: dict[str, pa.Table]) -> None:
    dump = encode_dump(tables, REGISTRY)
    found = decode(dump)
    assert_same(found, tables)
    assert encode_dump(found, REGISTRY) == dump


@st.composite
def monitored(draw: st.DrawFn) -> dict[str, pa.Table]:
    classes = draw(st.lists(st.sampled_from([EXCEPTION, RESOURCE]), min_size=1, max_size=4))
    seed = draw(st.integers(0, 2**32))
    tables = heads("smf110_1", classes)
    counts = [draw(st.integers(1, 3)) for _ in classes]
    for name, kind in (("exception", EXCEPTION), ("resource", RESOURCE)):
        owner = [rec for rec, count in enumerate(counts) for _ in range(count) if classes[rec] == kind]
        keys = {"record_seq": owner, "section_seq": [owner[:i].count(rec) for i, rec in enumerate(owner)]}
        if owner:
            tables[f"smf110_1_{name}"] = random_rows(SECTIONS[f"smf110_1_{name}"], seed, keys, owner)
    resources = tables.get("smf110_1_resource")
    parents = [] if resources is None else list(zip(*(resources[k].to_pylist() for k in keys), strict=True))
    if resources is not None:
        place = resources.column_names.index("mnr_trn")
        tables["smf110_1_resource"] = resources.set_column(place, "mnr_trn", pa.array([4] * len(parents), pa.uint16()))
    for name in ("resource_identity", "resource_file", "resource_other"):
        owner = [parent for parent in parents for _ in range(draw(st.integers(0, 2)))]
        if not owner:
            continue
        section = SECTIONS[f"smf110_1_{name}"]
        nested = {
            "record_seq": [rec for rec, _ in owner],
            "section_seq": [sum(o[0] == rec for o in owner[:i]) for i, (rec, _) in enumerate(owner)],
            "parent_seq": [place for _, place in owner],
        }
        table = random_rows(section, seed + len(name), nested, [8 + parents.index(parent) for parent in owner])
        if name == "resource_other":
            number = table.column_names.index("triplet")
            table = table.set_column(number, "triplet", pa.array([3] * len(owner), pa.uint16()))
            data = [bytes([i + 1]) * (8 + parents.index(parent)) for i, parent in enumerate(owner)]
            table = table.set_column(
                table.column_names.index("entry_bytes"), "entry_bytes", pa.array(data, pa.binary())
            )
        tables[section.table] = table
    return tables


@settings(max_examples=40, deadline=None)
@given(monitored())
def test_exceptions_and_resources_come_back_plain_and_compressed(tables: dict[str, pa.Table]) -> None:
    dump = encode_dump(tables, REGISTRY)
    found = decode(dump)
    assert_same(found, tables)
    assert encode_dump(found, REGISTRY) == dump
    assert_same(decode(b"".join(map(compressed, split(dump)))), tables)


def test_a_plain_exception_may_begin_like_compressed_data() -> None:
    tables = heads("smf110_1", [EXCEPTION])
    rows = random_rows(SECTIONS["smf110_1_exception"], 3, {"record_seq": [0, 0], "section_seq": [0, 1]}, [0, 0])
    place = rows.column_names.index("excmntrn")
    tables["smf110_1_exception"] = rows.set_column(place, rows.field(place), pa.array(["Ø001", "PAY1"]))
    dump = encode_dump(tables, REGISTRY)
    assert dump[int.from_bytes(dump[36:40])] == csrcesrv.MARKER
    assert_same(decode(dump), tables)


def split(dump: bytes) -> list[bytes]:
    """The records of a stream with record descriptors."""
    found = []
    while dump:
        size = int.from_bytes(dump[:2])
        found.append(dump[:size])
        dump = dump[size:]
    return found


def compressed(record: bytes) -> bytes:
    """A monitoring record with its data section compressed."""
    at = int.from_bytes(record[36:40])
    body = csrcesrv.compress(record[at:])
    head = bytearray(record[:at])
    head[0:2], head[40:42] = (at + len(body)).to_bytes(2), len(body).to_bytes(2)
    return bytes(head) + body


def test_dictionaries_and_performance_rows_are_written_again_from_their_tables() -> None:
    region, now = Region("SYSA", "CICSAOR1", "AORJOB1"), dt.datetime(2026, 3, 4, 13, 14, 15, 160000)
    own = Entry("USEREMP", "C", "001", 4, 900, 0, "MINE")
    entries = [*full_dictionary(), own]
    rows = pa.table({"tran": ["AAAA", "BBBB"], "trannum": pa.array([1, 2], pa.uint32())})
    records = [*encode_dictionary(region, entries, now), *encode_performance(region, entries, rows, now)]
    dump = b"".join(records)
    found = decode(dump)
    assert found["smf110_1_performance"]["tran"].to_pylist() == ["AAAA", "BBBB"]
    again = decode(encode_dump(found, REGISTRY))
    for name in ("smf110_1_performance", "smf110_1_dictionary", "smf110_1_other_field"):
        assert again[name].equals(found[name]), name
    del found["smf110_1_dictionary"]
    with pytest.raises(EncodeError, match="no dictionary before it"):
        encode_dump(found, REGISTRY)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["smf110_1", "smf110_2"]), st.data())
def test_damaged_records_are_named_and_the_others_survive(name: str, data: st.DataObject) -> None:
    if name == "smf110_2":
        tables = heads(name, [0])
        keys = {"record_seq": [0], "section_seq": [0]}
        tables["smf110_2_dispatcher"] = random_rows(SECTIONS["smf110_2_dispatcher"], 1, keys, [0])
        for entry in ("dispatcher_mode", "dispatcher_pool"):
            nested = {**keys, "parent_seq": [0]}
            tables[f"{name}_{entry}"] = random_rows(SECTIONS[f"{name}_{entry}"], 1, nested, [0])
    else:
        tables = heads(name, [RESOURCE])
        keys = {"record_seq": [0], "section_seq": [0]}
        tables["smf110_1_resource"] = random_rows(SECTIONS["smf110_1_resource"], 1, keys, [0])
        place = tables["smf110_1_resource"].column_names.index("mnr_trn")
        tables["smf110_1_resource"] = tables["smf110_1_resource"].set_column(
            place, "mnr_trn", pa.array([3], pa.uint16())
        )
        for entry in ("resource_identity", "resource_file"):
            nested = {**keys, "parent_seq": [0]}
            tables[f"{name}_{entry}"] = random_rows(SECTIONS[f"{name}_{entry}"], 1, nested, [0])
    good = encode_dump(tables, REGISTRY)
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(24, min(len(good), 400) - 1))] = data.draw(st.integers(0, 255))
    batches = list(decode_batches(bytes(damaged) + good, REGISTRY))
    assert sum(batch.bytes_in for batch in batches) == 2 * len(good)
    kept = decode(good)
    for table, rows in kept.items():
        found = pa.concat_tables([batch.tables[table] for batch in batches if table in batch.tables])
        second = [row for row in found.to_pylist() if row["record_seq"] == 1]
        assert [row | {"record_seq": 0} for row in second] == rows.to_pylist(), table


def test_entries_that_share_their_bytes_do_not_multiply() -> None:
    """3,000 triplets that all name the same thousand entries would be three million rows of one record."""
    triplets = struct.pack(">IHH", 24 + 8 * 2000, 8, 1000) * 2000
    resource = struct.pack(">HHB3xH10xHxx", 24 + len(triplets) + 8000, 79, 1, 48, 2000) + triplets + bytes(8000)
    tables = heads("smf110_1", [RESOURCE])
    [record] = split(encode_dump(tables, REGISTRY))
    whole = bytearray(record) + resource
    product = int.from_bytes(record[28:32])
    whole[0:2] = len(whole).to_bytes(2)
    whole[36:44] = struct.pack(">IHH", len(record), len(resource), 1)
    whole[product + 24 : product + 40] = struct.pack(">IHHIHH", len(record), 2, 0, len(record), len(resource), 1)
    [batch] = decode_batches(bytes(whole), REGISTRY)
    assert [piece.reason for piece in batch.quarantined] == ["cics_resource_record"]
    assert batch.tables.get("smf110_1_resource") is None


def test_a_number_without_a_table_is_kept_and_counted_by_its_number() -> None:
    keys = {"record_seq": [0, 0, 0], "section_seq": [0, 1, 2]}
    other = random_rows(SECTIONS["smf110_2_other_statistics"], 3, keys, [0, 1, 2])
    ids = pa.array([25, 25, 67], pa.uint16())
    other = other.set_column(other.column_names.index("stid"), "stid", ids)
    found = decode(encode_dump({**heads("smf110_2", [0]), other_table(): other}, REGISTRY))
    assert found[other_table()]["stid"].to_pylist() == [25, 25, 67]
    assert np.unique(found[other_table()]["stid"], return_counts=True)[1].tolist() == [2, 1]


def other_table() -> str:
    return SECTIONS["smf110_2_other_statistics"].table


def test_an_installation_gives_a_number_of_statistics_its_table(tmp_path: Path) -> None:
    text = (registry.LAYOUT_DIR / "smf_110_2.toml").read_text(encoding="utf-8")
    text += """
[[handled]]
name = "program"
struct = "DFHLDRDS"
title = "programs"
code = 25
fields = [
  ["statistics_length", "LDRLEN", 0, 2, "uint", "", "Length of the statistics record.", "", "macro"],
  ["program_name", "LDRPNAME", 8, 8, "ebcdic", "", "Program.", "", "macro"],
]
"""
    (tmp_path / "statistics.toml").write_text(text, encoding="utf-8")
    own = registry.load([tmp_path])
    keys = {"record_seq": pa.array([0], pa.uint32()), "section_seq": pa.array([0], pa.uint32())}
    dump = encode_dump({**heads("smf110_2", [0]), "smf110_2_program": pa.table({**keys, "ldrpname": ["PAY1"]})}, own)
    path = tmp_path / "own.smf"
    path.write_bytes(dump)
    [batch] = read(path, Identity(Kind.SMF), own)
    assert batch.tables["smf110_2_program"]["ldrpname"].to_pylist() == ["PAY1"]
    assert decode(dump)[other_table()]["stid"].to_pylist() == [25]
