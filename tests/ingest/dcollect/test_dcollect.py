"""The output of DCOLLECT is known by its content; what is written is read again; no byte is lost."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.formats.dcollect.decode import decode_dcollect
from ingest.formats.dcollect.encode import encode_dcollect
from ingest.formats.identify import Kind, identify
from ingest.framing import FramingError
from tests.ingest.dcollect.writing import LAYOUTS, REGISTRY, written

FILLED_IN = ("dculeng", "dcurctyp")


def read(path) -> tuple[dict[str, pa.Table], list]:
    batches = list(decode_dcollect(path, REGISTRY))
    assert sum(batch.bytes_in for batch in batches) == path.stat().st_size
    tables: dict[str, list[pa.Table]] = {}
    for batch in batches:
        for name, table in batch.tables.items():
            tables.setdefault(name, []).append(table)
    return {name: pa.concat_tables(parts) for name, parts in tables.items()}, batches


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), each=st.integers(1, 9), framing=st.sampled_from(["rdw", "bdw"]))
def test_what_is_written_is_read_again(tmp_path_factory, seed, each, framing):
    tables = written(seed, {layout.name: each for layout in LAYOUTS})
    data = encode_dcollect(tables, REGISTRY, framing=framing)
    assert identify("anything", data[: 1 << 16]).kind is Kind.DCOLLECT
    path = tmp_path_factory.mktemp("dcollect") / "d"
    path.write_bytes(data)
    found, batches = read(path)
    assert found.keys() == tables.keys()
    for name, table in tables.items():
        kept = [column for column in table.column_names if column not in FILLED_IN]
        assert found[name].sort_by("record_seq").select(kept).to_pylist() == table.select(kept).to_pylist()
    assert sum(batch.decoded for batch in batches) == each * len(LAYOUTS)
    assert encode_dcollect(found, REGISTRY, framing=framing) == data


def test_a_shorter_record_of_an_earlier_release_ends_in_nulls(tmp_path):
    data = encode_dcollect(written(7, {"dcollect_v": 1}), REGISTRY)
    cut = (120).to_bytes(2) + data[2:120]
    (tmp_path / "d").write_bytes(cut)
    (row,) = read(tmp_path / "d")[0]["dcollect_v_volume"].to_pylist()
    assert row["dcvtrpct"] is None
    assert row["dcvftrks"] is None
    assert row["dcudate"] == 2026326


def test_kinds_without_a_layout_are_counted_by_name(tmp_path):
    data = encode_dcollect(written(3, {"dcollect_v": 2}), REGISTRY)
    migrated = bytearray(data[: int.from_bytes(data[:2])])
    migrated[4:6] = "M ".encode("cp037")
    (tmp_path / "d").write_bytes(data + migrated)
    _, (batch,) = read(tmp_path / "d")
    assert batch.skipped == {"dcollect.M": (1, len(migrated))}


def test_of_a_file_that_was_cut_all_but_the_last_record_are_read(tmp_path):
    data = encode_dcollect(written(5, {"dcollect_d": 4}), REGISTRY)
    (tmp_path / "d").write_bytes(data[:-9])
    assert identify("d", data[:-9]).kind is Kind.DCOLLECT
    _, batches = read(tmp_path / "d")
    assert sum(batch.decoded for batch in batches) == 3
    (piece,) = (piece for batch in batches for piece in batch.quarantined)
    assert "transfer it again" in piece.detail


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
def test_a_file_without_its_beginning_is_read_from_its_first_whole_record(tmp_path, framing):
    data = encode_dcollect(written(5, {"dcollect_d": 6}), REGISTRY, framing=framing)
    (tmp_path / "d").write_bytes(data[9:])
    assert identify("d", data[9:]).kind == Kind.DCOLLECT
    _, batches = read(tmp_path / "d")
    assert sum(batch.decoded for batch in batches) == 5


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
def test_of_a_small_file_damaged_in_its_middle_the_records_before_and_behind_are_read(tmp_path, framing):
    tables = written(5, {"dcollect_d": 4, "dcollect_v": 3})
    data = bytearray(encode_dcollect(tables, REGISTRY, framing=framing))
    at = 0 if framing == "rdw" else 4
    for _ in range(3):
        at += int.from_bytes(data[at : at + 2])
    length = int.from_bytes(data[at : at + 2])
    data[at : at + 4] = b"\xff" * 4
    (tmp_path / "d").write_bytes(data)
    found, batches = read(tmp_path / "d")
    (piece,) = (piece for batch in batches for piece in batch.quarantined)
    assert (piece.offset, piece.length, piece.reason) == (at, length, "framing_lost")
    assert "records follow one another again" in piece.detail
    assert sum(table.num_rows for table in found.values()) == 6


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_output_never_fails_and_loses_no_byte(tmp_path_factory, data):
    whole = bytearray(
        encode_dcollect(written(data.draw(st.integers(0, 99)), {"dcollect_d": 3, "dcollect_a": 3}), REGISTRY)
    )
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.sampled_from([0, 1, 5, 0x7F, 0xFF]))
    piece = bytes(whole[: data.draw(st.integers(1, len(whole)))])
    identify("d", piece)
    path = tmp_path_factory.mktemp("dcollect") / "d"
    path.write_bytes(piece)
    try:
        read(path)
    except FramingError as error:
        assert "input" in str(error)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_no_field_of_a_layout_overlaps_another(layout):
    ends = 0
    for item in layout.header.fields:
        assert item.offset >= ends, item.ibm
        ends = item.end
