"""I/O by data set (SMF 42.6): chains of data set sections, each with statistics of its own, are followed both ways."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.formats.smf import decode_batches, encode_dump
from tests.ingest.data_set_records import LAYOUT, REGISTRY, made
from tests.ingest.tables import random_rows, random_tables

COMPUTED = {
    "s42dsnxt",
    "s42dsioo",
    "s42dsamo",
    "s42dssno",
    "s42dssnl",
    "s42dss2o",
    "s42dss2l",
    "s42dss3o",
    "s42dss3l",
    "s42dss4o",
    "s42dss4l",
}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), jobs=st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=4))
def test_data_sets_and_their_statistics_come_back(seed: int, jobs: list[list[int]]) -> None:
    tables = made(seed, jobs)
    [batch] = decode_batches(encode_dump(tables, REGISTRY), REGISTRY)
    assert not batch.quarantined
    for section in LAYOUT.handled:
        wanted = tables.get(section.table)
        assert (wanted is None) == (section.table not in batch.tables), section.name
        if wanted is not None:
            columns = [name for name in wanted.column_names if name not in COMPUTED]
            renumbered = wanted.set_column(
                wanted.column_names.index("record_seq"), "record_seq", [_ordinals(wanted, tables["smf42_6_header"])]
            )
            found = batch.tables[section.table].select(columns)
            assert found.to_pydict() == renumbered.select(columns).to_pydict(), section.name


def _ordinals(table: pa.Table, header: pa.Table) -> pa.Array:
    """Ordinal of each row's record in the dump."""
    known = header["record_seq"].to_pylist()
    return pa.array([known.index(number) for number in table["record_seq"].to_pylist()], pa.uint32())


def dump_of_one() -> tuple[bytearray, int]:
    """A record with two data sets, and where its job header stands."""
    record = bytearray(encode_dump(made(3, [[2]]), REGISTRY))
    return record, int.from_bytes(record[36:40], "big")


@pytest.mark.parametrize("wrong", ["first", "next", "circle", "size", "io"])
def test_a_chain_that_leads_astray_is_quarantined(wrong: str) -> None:
    record, job = dump_of_one()
    first = int.from_bytes(record[job + 24 : job + 28], "big")
    places = {"first": (job + 24, 4, len(record)), "next": (first, 4, len(record) - 20), "circle": (first, 4, first)}
    places |= {"size": (job + 28, 2, 12), "io": (first + 52, 4, len(record) - 3)}
    at, width, value = places[wrong]
    record[at : at + width] = value.to_bytes(width, "big")
    record[job + 34 : job + 36] = (152).to_bytes(2, "big")
    [batch] = decode_batches(bytes(record), REGISTRY)
    assert [item.reason for item in batch.quarantined] == ["section_outside_record"]
    assert not batch.tables or "smf42_6_data_set" not in batch.tables
    assert batch.quarantined[0].raw == bytes(record)


def test_jobs_where_no_triplet_was_checked_are_not_followed() -> None:
    """The product section begins before the triplet of the jobs, whose place holds what leads far outside."""
    record, _ = dump_of_one()
    record[28:36] = (36).to_bytes(4, "big") + (40).to_bytes(2, "big") + (1).to_bytes(2, "big")
    record[36:44] = b"\x40" * 8
    [batch] = decode_batches(bytes(record), REGISTRY)
    assert [item.reason for item in batch.quarantined] == ["section_outside_record"]


VOLUMES = REGISTRY.layout_for(42, 5)
PLACED = {"s42vtnxt", "s42vtvdo", "s42vtvdl", "s42vtvxo", "s42vtvxl", "s42vtvvo", "s42vtvvl"}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), counts=st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_volumes_and_their_components_come_back(seed: int, counts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    tables = random_tables(VOLUMES, seed, len(counts), cut=0)
    header = tables["smf42_5_header"]
    absent = [name for name in ("smf42vho", "smf42vhl", "smf42vhn") if name in header.column_names]
    tables["smf42_5_header"] = header.drop_columns(absent)
    sequence = header["record_seq"].to_pylist()
    owners = [(n, k) for n, count in zip(sequence, counts, strict=True) for k in range(count)]
    sections = {section.name: section for section in VOLUMES.handled}
    for name, section in sections.items():
        rows = owners if name == "volume" else [owner for owner in owners if rng.random() < 0.6]
        if not rows:
            continue
        seqs = [sum(other == n for other, _ in rows[:at]) for at, (n, _) in enumerate(rows)]
        keys = {"record_seq": [n for n, _ in rows], "section_seq": seqs}
        keys |= {"parent_seq": [k for _, k in rows]} if section.parent else {}
        tables[section.table] = random_rows(section, seed, keys, [0] * len(rows))
    [batch] = decode_batches(encode_dump(tables, REGISTRY), REGISTRY)
    assert not batch.quarantined
    for section in VOLUMES.handled:
        wanted = tables.get(section.table)
        assert (wanted is None) == (section.table not in batch.tables), section.name
        if wanted is not None:
            columns = [name for name in wanted.column_names if name not in PLACED | {"record_seq"}]
            assert batch.tables[section.table].select(columns).to_pydict() == wanted.select(columns).to_pydict()


def test_a_chain_of_volumes_that_leads_outside_is_quarantined() -> None:
    one = {"record_seq": pa.array([0], pa.uint32()), "section_seq": pa.array([0], pa.uint32())}
    tables = {
        "smf42_5_header": pa.table({**one, "smf42sid": ["SYSA"]}),
        "smf42_5_volume": pa.table({**one, "s42vtser": ["VOL001"]}),
    }
    dump = bytearray(encode_dump(tables, REGISTRY))
    at = int.from_bytes(dump[44:48])
    dump[at : at + 4] = (60_000).to_bytes(4)
    [batch] = decode_batches(bytes(dump), REGISTRY)
    assert [piece.reason for piece in batch.quarantined] == ["section_outside_record"]
    assert "S42VTNXT" in batch.quarantined[0].detail
