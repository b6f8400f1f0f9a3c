"""Encoding and decoding are inverses, for every layout and every format."""

import datetime as dt

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest import registry
from ingest.codec.columns import read_section
from ingest.codec.values import hfp_bits, to_bytes
from ingest.field_types import FORMATS
from ingest.formats.smf import decode_batches, encode_dump
from ingest.framing import BLANK_BYTES
from ingest.layout import Field, Layout, Section
from tests.ingest.tables import computed_columns, hfp_values, random_tables

REGISTRY = registry.load()
LAYOUTS = {layout.name: layout for layout in REGISTRY.layouts if not layout.handler}


def decode(dump: bytes, **options) -> dict[str, pa.Table]:
    """All rows of a dump, per table."""
    found: dict[str, list[pa.Table]] = {}
    for batch in decode_batches(dump, REGISTRY, **options):
        assert not batch.quarantined
        assert not batch.skipped
        for name, table in batch.tables.items():
            found.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def renumbered(tables: dict[str, pa.Table], header: str) -> dict[str, pa.Table]:
    """The same tables with `record_seq` counted from 0, as decoding counts it."""
    order = {value: place for place, value in enumerate(sorted(tables[header]["record_seq"].to_pylist()))}
    return {
        name: table.set_column(
            0, table.schema.field(0), pa.array([order[key] for key in table["record_seq"].to_pylist()], pa.uint32())
        )
        for name, table in tables.items()
    }


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), records=st.integers(1, 5), framing=st.sampled_from(["rdw", "bdw"]))
@example(seed=376_146, records=5, framing="rdw")
def test_decoding_gives_the_tables_back_and_encoding_them_the_bytes(
    name: str, seed: int, records: int, framing: str
) -> None:
    layout = LAYOUTS[name]
    tables = random_tables(layout, seed, records)
    if layout.product == "rmf" and f"{name}_product" in tables:
        tables[f"{name}_product"] = whole_records(tables[f"{name}_product"], layout)
    dump = encode_dump(tables, REGISTRY, framing=framing)
    decoded = decode(dump)
    assert decoded.keys() == tables.keys()
    for table, rows in renumbered(tables, layout.header.table).items():
        ours = decoded[table].drop_columns(sorted(computed_columns(layout, table)))
        assert ours.equals(rows.select(ours.column_names)), table
    assert encode_dump(decoded, REGISTRY, framing=framing) == dump


def whole_records(product: pa.Table, layout: Layout) -> pa.Table:
    """Product sections that do not say their record was split."""
    item = layout.section("product").by_name("reassembly_count")
    kept = [None if value is None else 0 for value in product[item.column].to_pylist()]
    return product.set_column(product.column_names.index(item.column), item.column, pa.array(kept, item.arrow))


def test_records_of_several_types_keep_their_order() -> None:
    first = random_tables(LAYOUTS["smf30"], 1, 3, cut=0)
    second = random_tables(LAYOUTS["smf72_3"], 2, 3, cut=0)
    second["smf72_3_product"] = whole_records(second["smf72_3_product"], LAYOUTS["smf72_3"])
    dump = encode_dump({**first, **second}, REGISTRY)
    expected = sorted(
        [(key, 30) for key in first["smf30_header"]["record_seq"].to_pylist()]
        + [(key, 72) for key in second["smf72_3_header"]["record_seq"].to_pylist()]
    )
    decoded = decode(dump)
    found = [(key, 30) for key in decoded["smf30_header"]["record_seq"].to_pylist()]
    found += [(key, 72) for key in decoded["smf72_3_header"]["record_seq"].to_pylist()]
    assert [kind for _, kind in sorted(found)] == [kind for _, kind in expected]


def test_neither_the_size_of_batches_nor_threads_change_what_is_decoded() -> None:
    tables = random_tables(LAYOUTS["smf30"], 3, 60)
    dump = encode_dump(tables, REGISTRY)
    assert len(dump) > 2 * 65_536
    small, large = decode(dump, batch_bytes=65_536), decode(dump, threads=3)
    assert all(small[name].combine_chunks().equals(large[name].combine_chunks()) for name in large)


def field(form: str, length: int) -> Field:
    return Field("f", "F", 0, length, FORMATS[form], "", "A field.", "", "macro")


def through(item: Field, column: pa.Array, raw: pa.Array | None = None) -> pa.RecordBatch:
    """A column written as bytes and read again."""
    rows = to_bytes(item, column, raw)
    data = np.concatenate([rows.ravel(), np.zeros(BLANK_BYTES, np.uint8)])
    return alone(item, data, np.arange(len(rows)) * rows.shape[1])


def alone(item: Field, data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Rows of a section that has this field alone."""
    section = Section("s", "", "", "s", (item,), (), item.length, None, "fixed", "many")
    return read_section(section, data, at, np.full(len(at), item.length), [np.zeros(len(at), np.uint32)] * 2)


LENGTHS = st.sampled_from(range(1, 9))


@given(LENGTHS.flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, 256**n - 1), min_size=1))))
def test_unsigned_integers_survive(case: tuple[int, list[int]]) -> None:
    item = field("uint", case[0])
    assert through(item, pa.array(case[1], item.arrow))["f"].to_pylist() == case[1]


@given(
    st.sampled_from([1, 2, 4, 8]).flatmap(lambda n: st.tuples(st.just(n), st.integers(-(256**n) // 2, 256**n // 2 - 1)))
)
def test_signed_integers_survive(case: tuple[int, int]) -> None:
    item = field("int", case[0])
    assert through(item, pa.array([case[1]], item.arrow))["f"].to_pylist() == [case[1]]


@pytest.mark.parametrize("form", ["ebcdic", "ebcdic1047"])
@given(words=st.lists(st.text(st.characters(max_codepoint=255), max_size=8), min_size=1))
def test_text_of_every_character_survives(form: str, words: list[str]) -> None:
    words = [word.rstrip(" ") for word in words]
    assert through(field(form, 8), pa.array(words))["f"].to_pylist() == words


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_double_in_range_survives_hexadecimal_floating_point(numbers: list[float]) -> None:
    numbers = [number for number in numbers if number == 0 or 1e-75 < abs(number) < 7e75] or [0.0]
    back = through(field("hfp", 8), pa.array(numbers, pa.float64()))["f"].to_pylist()
    assert back == numbers
    assert [np.signbit(number) for number in back] == [np.signbit(number) for number in numbers]


@given(st.integers(0, 2**64 - 1))
def test_hexadecimal_floating_point_is_rounded_once_to_the_nearest_double(bits: int) -> None:
    data = np.concatenate([np.frombuffer(bits.to_bytes(8, "big"), np.uint8), np.zeros(BLANK_BYTES, np.uint8)])
    found = alone(field("hfp", 8), data, np.array([0]))["f"][0].as_py()
    exponent = 4 * ((bits >> 56 & 0x7F) - 64) - 56
    fraction = bits & (1 << 56) - 1
    exact = float(fraction * 2**exponent) if exponent >= 0 else fraction / 2**-exponent
    assert found == (-exact if bits >> 63 else exact)


def test_four_byte_hexadecimal_floating_point_is_rounded_to_its_24_bits() -> None:
    rng = np.random.default_rng(5)
    exact = hfp_values(rng, 1000, 4)
    assert through(field("hfp", 4), pa.array(exact))["f"].to_pylist() == exact.tolist()
    assert hfp_bits(np.array([1.0 - 2.0**-30]), 4)[0] == hfp_bits(np.array([1.0]), 4)[0] == 0x41100000


@pytest.mark.parametrize(
    ("number", "bits"), [(1.0, 0x4110000000000000), (-118.625, 0xC276A00000000000), (0.15625, 0x4028000000000000)]
)
def test_hexadecimal_floating_point_agrees_with_worked_examples(number: float, bits: int) -> None:
    assert int(hfp_bits(np.array([number]), 8)[0]) == bits


@given(st.dates(dt.date(1900, 1, 1), dt.date(2899, 12, 31)))
def test_packed_dates_survive(day: dt.date) -> None:
    assert through(field("packed_date", 4), pa.array([day]))["f"].to_pylist() == [day]


@given(LENGTHS.flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 10 ** (2 * n - 1) - 1))))
def test_packed_numbers_survive(case: tuple[int, int]) -> None:
    item = field("packed", case[0])
    assert through(item, pa.array([case[1]], item.arrow))["f"].to_pylist() == [case[1]]


@given(st.integers(0, 2**64 - 1))
def test_store_clocks_keep_their_raw_value_and_tell_the_microsecond(raw: int) -> None:
    found = through(field("tod", 8), pa.nulls(1, pa.timestamp("us")), pa.array([raw], pa.uint64()))
    assert found["f_raw"].to_pylist() == [raw]
    moment = dt.datetime(1900, 1, 1) + dt.timedelta(microseconds=raw >> 12)
    assert found["f"].to_pylist() == ([moment] if raw else [None])


def test_a_store_clock_without_its_raw_value_is_written_from_its_time() -> None:
    moment = dt.datetime(2026, 11, 21, 10, 28, 0, 123456)
    found = through(field("tod", 8), pa.array([moment], pa.timestamp("us")))
    assert found["f"].to_pylist() == [moment]
    wide = through(field("stcke", 16), pa.array([moment], pa.timestamp("us")))
    assert wide["f"].to_pylist() == [moment]
