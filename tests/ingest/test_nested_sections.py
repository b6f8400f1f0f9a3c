"""Sections that other sections place, areas that depend on a field, and what nobody has described."""

import pyarrow as pa
import pytest

from ingest import registry
from ingest.batch import Batch
from ingest.formats.smf import EncodeError, decode_batches, encode_dump
from ingest.registry import RegistryError

REGISTRY = registry.load()


def rows(table: str, *lines: dict) -> pa.Table:
    """Rows of a table; what they leave out is missing."""
    _, section = REGISTRY.table(table)
    names = [name for name in section.arrow_schema().names if name in lines[0]]
    return pa.Table.from_pylist(list(lines), schema=pa.schema([section.arrow_schema().field(name) for name in names]))


def decoded(dump: bytes) -> Batch:
    """The one batch of a short dump."""
    [batch] = decode_batches(dump, REGISTRY)
    assert batch.bytes_in == len(dump)
    return batch


def units(*counts: int) -> bytearray:
    """An I/O queuing record whose logical control units have so many channel paths each."""
    paths = [(unit, n) for unit, count in enumerate(counts) for n in range(count)]
    tables = {
        "smf78_3_header": rows("smf78_3_header", {"record_seq": 0, "section_seq": 0}),
        "smf78_3_configuration": rows(
            "smf78_3_configuration",
            *({"record_seq": 0, "section_seq": n, "r783id1": 16 + n, "r783cpdn": 0} for n in range(len(counts))),
        ),
        "smf78_3_channel_path": rows(
            "smf78_3_channel_path",
            *(
                {"record_seq": 0, "section_seq": k, "parent_seq": unit, "r783pt": 100 * unit + n, "r783ctrd": 0}
                for k, (unit, n) in enumerate(paths)
            ),
        ),
    }
    return bytearray(encode_dump(tables, REGISTRY))


def test_nested_rows_name_their_parent_and_are_counted_through_the_record() -> None:
    batch = decoded(bytes(units(2, 0, 3)))
    found = batch.tables["smf78_3_channel_path"]
    assert found["section_seq"].to_pylist() == [0, 1, 2, 3, 4]
    assert found["parent_seq"].to_pylist() == [0, 0, 2, 2, 2]
    assert found["r783pt"].to_pylist() == [0, 1, 200, 201, 202]
    assert batch.tables["smf78_3_configuration"]["r783cpdn"].to_pylist() == [2, 0, 3]
    assert not batch.notes


@pytest.mark.parametrize(
    ("triplet", "reason"),
    [
        ((60_000, 56, 1), "section_outside_record"),
        ((12, 56, 65_535), "section_outside_record"),
        ((2**32 - 1, 65_535, 65_535), "section_outside_record"),
        ((12, 0, 5), "section_without_length"),
    ],
)
def test_a_nested_section_outside_its_record_quarantines_the_record(triplet: tuple[int, int, int], reason: str) -> None:
    dump = units(1, 1)
    at = int.from_bytes(dump[36:40], "big") + 4
    offset, length, count = triplet
    dump[at : at + 8] = offset.to_bytes(4, "big") + length.to_bytes(2, "big") + count.to_bytes(2, "big")
    batch = decoded(bytes(dump))
    [item] = batch.quarantined
    assert (item.reason, item.raw) == (reason, bytes(dump))
    assert "channel path section" in item.detail


def test_many_parents_cannot_place_the_same_bytes_over_and_over() -> None:
    dump = units(*[1] * 200)
    at = int.from_bytes(dump[36:40], "big")
    size = len(dump)
    for unit in range(200):
        parent = at + 12 * unit
        count = (size - parent - 12) // 1
        dump[parent + 4 : parent + 12] = (12).to_bytes(4, "big") + (1).to_bytes(2, "big") + count.to_bytes(2, "big")
    batch = decoded(bytes(dump))
    assert [item.reason for item in batch.quarantined] == ["section_outside_record"]


def consumption(*work_units: int) -> bytearray:
    """A record of workload interaction statistics whose consumption rows place so many work units each."""
    units = [(row, n) for row, count in enumerate(work_units) for n in range(count)]
    tables = {
        "smf98_1_header": rows("smf98_1_header", {"record_seq": 0, "section_seq": 0}),
        "smf98_1_data": rows("smf98_1_data", {"record_seq": 0, "section_seq": 0, "smf98_1_datatripletsnum": 17}),
        "smf98_1_consumption": rows(
            "smf98_1_consumption",
            *(
                {"record_seq": 0, "section_seq": n, "parent_seq": 0, "smf98_1_consume_procclass": n}
                for n in range(len(work_units))
            ),
        ),
        "smf98_1_work_unit": rows(
            "smf98_1_work_unit",
            *(
                {"record_seq": 0, "section_seq": k, "parent_seq": row, "smf98_1_asidinfo_jobname": f"JOB{row}{n}"}
                for k, (row, n) in enumerate(units)
            ),
        ),
    }
    return bytearray(encode_dump(tables, REGISTRY))


def test_rows_that_nested_rows_place_name_the_nested_row() -> None:
    batch = decoded(bytes(consumption(2, 0, 1)))
    found = batch.tables["smf98_1_work_unit"]
    assert found["parent_seq"].to_pylist() == [0, 0, 2]
    assert found["smf98_1_asidinfo_jobname"].to_pylist() == ["JOB00", "JOB01", "JOB20"]
    assert batch.tables["smf98_1_consumption"]["smf98_1_consume_workunit_num"].to_pylist() == [2, 0, 1]


@pytest.mark.parametrize("overlapping", [False, True], ids=["outside the record", "the same bytes over and over"])
def test_nested_rows_place_no_more_than_their_record_holds(overlapping: bool) -> None:
    sound, dump = bytes(consumption(1, 1)), consumption(*[1] * 200)
    data = int.from_bytes(dump[64:68], "big")
    at = int.from_bytes(dump[data + 120 : data + 124], "big")
    length, count = (1, len(dump) - 4000) if overlapping else (72, 65_535)
    for row in range(200):
        part = at + 32 * row + 16
        dump[part : part + 8] = (4000).to_bytes(4, "big") + length.to_bytes(2, "big") + count.to_bytes(2, "big")
    [batch] = decode_batches(sound + dump + sound, REGISTRY)
    assert [item.reason for item in batch.quarantined] == ["section_outside_record"]
    assert "work unit section" in batch.quarantined[0].detail
    assert batch.tables["smf98_1_work_unit"]["record_seq"].to_pylist() == [0, 0, 2, 2]


def accounting() -> bytearray:
    """A Db2 record with two headers behind the standard header."""
    tables = {
        "smf101_header": rows("smf101_header", {"record_seq": 0, "section_seq": 0}),
        "smf101_product": rows("smf101_product", {"record_seq": 0, "section_seq": 0, "qwhsdurn": 1}),
        "smf101_correlation": rows(
            "smf101_correlation",
            {"record_seq": 0, "section_seq": 0, "parent_seq": 0, "qwhcaid": "ETALON", "qwhc_rest": b"more"},
        ),
        "smf101_other_header": rows(
            "smf101_other_header",
            {"record_seq": 0, "section_seq": 0, "parent_seq": 0, "qwhtyp": 16, "qwh_rest": b"distributed"},
        ),
    }
    return bytearray(encode_dump(tables, REGISTRY))


def test_headers_in_a_chain_are_told_apart_by_their_type() -> None:
    batch = decoded(bytes(accounting()))
    assert batch.tables["smf101_product"]["qwhslen"].to_pylist() == [52]
    correlation = batch.tables["smf101_correlation"]
    assert correlation["qwhclen"].to_pylist() == [142 + len(b"more")]
    assert correlation["qwhcaid"].to_pylist() == ["ETALON"]
    assert correlation["qwhc_rest"].to_pylist() == [b"more"]
    other = batch.tables["smf101_other_header"]
    assert (other["qwhtyp"].to_pylist(), other["qwh_rest"].to_pylist()) == ([16], [b"distributed"])


def test_a_chain_that_leaves_its_section_quarantines_the_record() -> None:
    dump = accounting()
    at = int.from_bytes(dump[28:32], "big") + 52
    dump[at : at + 2] = (5000).to_bytes(2, "big")
    [item] = decoded(bytes(dump)).quarantined
    assert item.reason == "section_outside_record"


def test_fields_that_share_a_place_are_read_by_their_selector() -> None:
    lines = [
        {"record_seq": 0, "section_seq": n, "smf73cmg": group, "smf73tut": tut, "smf73mcu": mcu, "smf73_cmg_data": area}
        for n, (group, tut, mcu, area) in enumerate(
            [(1, 3.0, None, None), (2, None, 7.0, None), (6, None, None, bytes(range(48)))]
        )
    ]
    tables = {
        "smf73_header": rows("smf73_header", {"record_seq": 0, "section_seq": 0}),
        "smf73_channel": rows("smf73_channel", *lines),
    }
    dump = encode_dump(tables, REGISTRY)
    found = decoded(dump).tables["smf73_channel"]
    for name in ("smf73tut", "smf73mcu", "smf73_cmg_data"):
        assert found[name].to_pylist() == [line[name] for line in lines]
    assert found["smf73pum"].to_pylist() == [None, None, None]
    assert encode_dump(decoded(dump).tables, REGISTRY) == dump


def test_nested_rows_without_their_parent_are_refused() -> None:
    header = rows("smf101_header", {"record_seq": 0, "section_seq": 0})
    orphan = rows("smf101_correlation", {"record_seq": 0, "section_seq": 0, "parent_seq": 1, "qwhcaid": "A"})
    with pytest.raises(EncodeError, match="the table of its parent, product, is missing"):
        encode_dump({"smf101_header": header, "smf101_correlation": orphan}, REGISTRY)
    product = rows("smf101_product", {"record_seq": 0, "section_seq": 0, "qwhsdurn": 1})
    with pytest.raises(EncodeError, match="parent_seq 1 has no row in smf101_product"):
        encode_dump({"smf101_header": header, "smf101_product": product, "smf101_correlation": orphan}, REGISTRY)


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ('"measurement_group = 1"', '"measurement_group == 1"', "expected 'name = 1, 2'"),
        ('"measurement_group = 2"', '"measurement_group = 1"', "overlaps"),
        ('"measurement_group = 2"', '"nobody = 2"', "depends on nobody, not a field"),
        ("triplet = 52", 'triplet = 52\nparent = "nobody"', "no section of fixed rows before it"),
        ("triplet = 52", 'walk = "chained"', "a chained section has a parent"),
        ("triplet = 52", 'triplet = 52\noffsets_from = "section"', "needs a parent"),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(tmp_path, change: str, to: str, words: str) -> None:
    text = next(layout for layout in REGISTRY.layouts if layout.name == "smf73").path.read_text()
    assert change in text
    (tmp_path / "smf_73.toml").write_text(text.replace(change, to))
    with pytest.raises(RegistryError, match=words):
        registry.load(extra_dirs=[tmp_path])
