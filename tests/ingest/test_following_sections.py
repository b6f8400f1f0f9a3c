"""Records whose sections follow one another: data sets, steps and security events are read and written both ways."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.formats.smf import decode_batches, encode_dump
from ingest.layout import Layout, Section
from tests.ingest.tables import random_rows, random_tables

REGISTRY = registry.load()
LAYOUTS = {layout.name: layout for layout in REGISTRY.layouts if layout.handler == "following"}
ALWAYS = ("accounting",)


def computed(layout: Layout) -> set[str]:
    """Header columns that say where the sections are."""
    found = {"smf4len", "smf14len", "smf80len", "smf14rin"}
    for section in layout.handled:
        place = section.place
        assert place is not None
        sums = (place.start, place.size, place.rows, place.until)
        found |= {one.field.column for one in sums if one is not None and one.field is not None}
    return found


def made(layout: Layout, seed: int, records: int) -> dict[str, pa.Table]:
    """Records with up to three rows of each section, one where only one can be."""
    rng = np.random.default_rng(seed)
    tables = random_tables(layout, seed, records, cut=0)
    header = tables[layout.header.table]
    dropped = computed(layout) & set(header.column_names)
    tables[layout.header.table] = header.drop_columns(sorted(dropped)).set_column(
        0, "record_seq", pa.array(np.arange(records, dtype=np.uint32))
    )
    flagged = rng.random(records) < 0.7
    for section in layout.handled:
        place = section.place
        assert place is not None
        single = place.rows is not None and place.rows.field is None
        counts = rng.integers(0, 2 if single else 4, records)
        counts = np.ones(records, np.int64) if section.name in ALWAYS else counts
        if place.flag and section.name.startswith("extension"):
            counts = np.where(flagged, np.maximum(counts, 1), 0)
        owners = np.repeat(np.arange(records), counts)
        if len(owners):
            tables[section.table] = rows(section, seed, owners)
    return tables


def rows(section: Section, seed: int, owners: np.ndarray) -> pa.Table:
    """Random rows, those of one record equally long, with what they say of their own length."""
    ordinals = np.arange(len(owners)) - np.searchsorted(owners, owners)
    keys = {"record_seq": owners.tolist(), "section_seq": ordinals.tolist()}
    table = random_rows(section, seed, keys, owners.tolist())
    size = section.place.size if section.place else None
    if size is None or size.field is None or not section.has(size.field.name):
        return table
    return table.drop_columns([size.field.column])


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), records=st.integers(1, 4))
def test_sections_that_follow_the_header_come_back(name: str, seed: int, records: int) -> None:
    layout = LAYOUTS[name]
    tables = made(layout, seed, records)
    dump = encode_dump(tables, REGISTRY)
    [batch] = decode_batches(dump, REGISTRY)
    assert not batch.quarantined
    assert batch.tables.keys() == tables.keys()
    for table, wanted in tables.items():
        columns = [column for column in wanted.column_names if column not in computed(layout)]
        assert batch.tables[table].select(columns).to_pydict() == wanted.select(columns).to_pydict(), table
    assert encode_dump(batch.tables, REGISTRY) == dump


def test_a_shorter_section_has_no_later_fields() -> None:
    keys = {"record_seq": pa.array([0, 0], pa.uint32()), "section_seq": pa.array([0, 1], pa.uint32())}
    unit = {"smfexcp": pa.array([7, 9], pa.uint32()), "smf14nta": pa.nulls(2, pa.uint32())}
    tables = {
        "smf14_header": pa.table({"record_seq": pa.array([0], pa.uint32()), "smf14sid": ["SYSA"]}),
        "smf14_unit": pa.table({**keys, **unit, "smfucbrest": pa.nulls(2, pa.binary())}),
    }
    dump = encode_dump(tables, REGISTRY)
    assert (len(dump), dump[45], dump[46]) == (284, 2, 20)
    [batch] = decode_batches(dump, REGISTRY)
    found = batch.tables["smf14_unit"]
    assert (found["smfexcp"].to_pylist(), found["smf14nta"].to_pylist()) == ([7, 9], [None, None])


def test_zeros_behind_the_last_section_are_no_row() -> None:
    dump = encode_dump(made(LAYOUTS["smf14"], 1, 1), REGISTRY)
    padded = (len(dump) + 6).to_bytes(2) + dump[2:] + bytes(6)
    [batch], [other] = decode_batches(dump, REGISTRY), decode_batches(padded, REGISTRY)
    assert not other.quarantined
    assert other.tables["smf14_extension"].equals(batch.tables["smf14_extension"])


@pytest.mark.parametrize(
    ("name", "at", "damage"), [("smf14", 45, "ff18"), ("smf80", 38, "0040ff00"), ("smf4", 106, "ff00")]
)
def test_a_record_whose_sections_end_outside_is_quarantined(name: str, at: int, damage: str) -> None:
    dump = bytearray(encode_dump(made(LAYOUTS[name], 3, 1), REGISTRY))
    dump[at : at + len(damage) // 2] = bytes.fromhex(damage)
    [batch] = decode_batches(bytes(dump), REGISTRY)
    assert [piece.reason for piece in batch.quarantined] == ["section_outside_record"]
    assert LAYOUTS[name].name in batch.quarantined[0].detail
