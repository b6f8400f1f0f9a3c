"""Dumps that overlap: records of several files are kept in all of them and counted in one."""

import gzip
import itertools
import struct
import zipfile
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.formats.cics.dictionary import full_dictionary
from ingest.formats.cics.encode import encode_dictionary, encode_performance
from ingest.formats.ims.encode import encode_log
from ingest.framing import write_records
from ingest.warehouse import FileUnknown, ledger, load, overlaps, publish, query, remove
from tests.ingest.ims.logs import records as log_records
from tests.ingest.split_records import NAMES, piece
from tests.ingest.warehouse.cics_dictionaries import NOW, REGION
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import write

COUNTED = """SELECT smf30cpt FROM raw.smf30_cpu ANTI JOIN meta.record_overlap USING (file_id, record_seq)
    ORDER BY smf30cpt"""
SUMS = """SELECT bool_and(bytes = decoded_bytes + skipped_bytes + quarantined_bytes + framing_bytes
    AND records = decoded + skipped + quarantined) FROM meta.ledger"""


@pytest.fixture(scope="module")
def records(dump):
    """The six records of the dump, each written in another hundredth of a second."""
    starts, place = [], 0
    while place < len(dump):
        starts.append(place)
        place += struct.unpack_from(">H", dump, place)[0]
    whole = [dump[low:high] for low, high in itertools.pairwise([*starts, len(dump)])]
    return [record[:6] + (100 + n).to_bytes(4) + record[10:] for n, record in enumerate(whole)]


def test_records_of_an_earlier_file_are_kept_flagged_reported_and_counted_once(tmp_path, ingest, rows, records):
    folder = write(tmp_path / "in", a__smf=b"".join(records[:4]), b__smf=b"".join(records[2:]))
    first, second = ingest(folder)
    assert (first.overlap, first.overlap_with) == (0, {})
    assert (second.overlap, second.overlap_with, second.decoded) == (2, {str(folder / "a.smf"): 2}, 4)
    assert {key: second.to_dict()[key] for key in ("overlap", "overlap_with")} == {
        "overlap": 2,
        "overlap_with": second.overlap_with,
    }
    assert rows("SELECT count(*) FROM raw.smf30_cpu") == [(16,)]
    assert rows(COUNTED) == [(n,) for n in range(12)]
    assert rows("SELECT overlap FROM meta.ledger ORDER BY path") == [(0,), (2,)]
    assert rows("SELECT record_seq FROM meta.record_overlap") == [(0,), (1,)]
    assert rows(SUMS) == [(True,)]
    again = ingest(folder)
    assert [(r.status, r.overlap, r.overlap_with) for r in again] == [
        ("unchanged", r.overlap, r.overlap_with) for r in (first, second)
    ]


def test_equal_records_of_one_file_all_count(tmp_path, ingest, rows, records):
    twice, thrice = records[0] * 2 + records[1], records[1] + records[0] * 3
    first, second = ingest(write(tmp_path / "in", a__smf=twice, b__smf=thrice))
    assert (first.overlap, second.overlap) == (0, 3)
    assert rows(COUNTED) == [(0,)] * 3 + [(1,)] * 3 + [(2,), (3,)]


def test_staging_shows_each_record_once(tmp_path, ingest, database, layouts, records):
    ingest(write(tmp_path / "in", a__smf=b"".join(records[:4]), b__smf=b"".join(records[2:])))
    snapshot = publish(database, tmp_path / "s.duckdb", layouts)
    assert query(snapshot, "SELECT count(*) AS n FROM staging.stg_smf30_header").to_pylist() == [{"n": 6}]
    found = query(snapshot, "SELECT cpu_tcb_us AS us FROM staging.stg_smf30_cpu ORDER BY 1")
    assert found["us"].to_pylist() == [n * 10_000 for n in range(12)]


@pytest.mark.parametrize("packed", ["blocks", "gzip"])
def test_the_same_records_in_another_packing_overlap(tmp_path, ingest, rows, records, packed):
    dump = b"".join(records)
    lengths = np.array([len(record) for record in records])
    blocks = write_records(np.frombuffer(dump, np.uint8), np.cumsum(lengths) - lengths, lengths, "bdw")
    other = {"blocks": blocks, "gzip": gzip.compress(b"".join(records[::-1]))}[packed]
    first, second = ingest(write(tmp_path / "in", a__smf=dump, b__smf=other))
    assert (first.overlap, second.overlap, second.records) == (0, 6, 6)
    assert rows(COUNTED) == [(n,) for n in range(12)]
    assert rows(SUMS) == [(True,)]


def test_logs_of_ims_that_overlap_count_once(tmp_path, ingest, rows, layouts):
    log = encode_log({"ims_log_record": log_records([(0x35, 0)] * 6)}, layouts)
    size = len(log) // 6
    # The second begins inside a record, of which the rest is one more piece.
    first, second = ingest(write(tmp_path / "in", a__log=log[: 4 * size], b__log=log[2 * size - 5 :]))
    assert (first.kind, first.records, first.overlap) == ("ims_log", 4, 0)
    assert (second.kind, second.records, second.overlap) == ("ims_log", 5, 2)
    assert rows("SELECT count(*) FROM raw.ims_log_event") == [(8,)]
    counted = "SELECT log_seq FROM raw.ims_log_event ANTI JOIN meta.record_overlap USING (file_id, record_seq)"
    assert rows(f"{counted} ORDER BY 1") == [(1000 + n,) for n in range(6)]


def test_what_a_file_counted_is_counted_elsewhere_when_it_is_replaced(tmp_path, ingest, rows, records):
    folder = write(tmp_path / "in", a__smf=b"".join(records[:4]), b__smf=b"".join(records[2:]))
    write(folder, c__smf=b"".join(records[1:5]))
    assert [r.overlap for r in ingest(folder)] == [0, 2, 4]
    write(folder, a__smf=b"".join(records[:5]))
    grown, *_ = ingest(folder)
    assert grown.overlap == 4
    assert rows(COUNTED) == [(n,) for n in range(12)]
    assert rows("SELECT count(*), count(*) FILTER (WHERE counted_in = file_id) FROM meta.record_overlap") == [(7, 0)]
    overlaps = "SELECT sum(overlap) FROM meta.ledger"
    assert rows(overlaps) == [(7,)]
    ingest(folder, reload="always")
    assert rows(COUNTED) == [(n,) for n in range(12)]
    assert rows(overlaps) == [(7,)]


def test_a_warehouse_without_a_file_again_is_as_if_it_had_never_had_it(
    tmp_path, ingest, database, new_warehouse, layouts, records
):
    folder = write(tmp_path / "in", a__smf=b"".join(records[:4]), b__smf=b"".join(records[2:]), c__smf=b"no dump")
    never = new_warehouse(tmp_path / "never" / "etalon.duckdb")
    load([folder / "b.smf"], never, layouts)
    ingest(folder)
    assert remove(database, [str(folder / "a.smf"), "c.smf"]) == [str(folder / "a.smf"), str(folder / "c.smf")]
    assert content_hash(database) == content_hash(never)
    assert [(r.status, r.overlap) for r in ingest(folder / "a.smf")] == [("loaded", 2)]


def test_a_file_to_forget_is_named_so_that_it_is_the_only_one(tmp_path, ingest, database, records):
    folders = [write(tmp_path / name, a__smf=record) for name, record in zip("xy", records, strict=False)]
    ingest(*folders)
    copy = write(tmp_path / "z", a_copy__smf=records[0]) / "a_copy.smf"
    ingest(copy)
    held = content_hash(database)
    several, same = f"several files.*{folders[0]}", f"{folders[0] / 'a.smf'} holds the same"
    packed = tmp_path / "packed.smf.gz"
    packed.write_bytes(gzip.compress(records[0]))
    unknown = [str(folders[0] / "a.smf"), "smf"]
    for names, said in ((["a.smf"], several), (unknown, "no such"), ([str(copy)], same), ([str(packed)], same)):
        with pytest.raises(FileUnknown, match=said):
            remove(database, names)
    assert content_hash(database) == held


def test_an_archive_to_forget_stands_for_all_that_was_loaded_from_it(tmp_path, ingest, database, rows, records):
    folder = write(tmp_path / "in", a__smf=records[0], b__smf=records[1])
    with zipfile.ZipFile(folder / "day.zip", "w") as archive:
        for number in (0, 2, 3):
            archive.writestr(f"{number}.smf", records[number])
    ingest(folder)
    assert remove(database, ["day.zip"]) == [str(folder / f"day.zip!{number}.smf") for number in (2, 3)]
    assert rows("SELECT parse_filename(path) FROM meta.ledger ORDER BY path") == [("a.smf",), ("b.smf",)]


def test_a_file_to_forget_is_no_archive_of_one_whose_name_begins_alike(tmp_path, ingest, database, rows, records):
    folder = tmp_path / "in"
    folder.mkdir()
    names = ["a", "a!b", "c!d"]
    for name, record in zip(names, records, strict=False):
        (folder / name).write_bytes(record)
    ingest(folder)
    with pytest.raises(FileUnknown, match="no such"):
        remove(database, ["c"])
    (folder / "a!b").unlink()
    assert remove(database, ["a"]) == [str(folder / "a")]
    assert rows("SELECT parse_filename(path) FROM meta.ledger ORDER BY path") == [("a!b",), ("c!d",)]


def test_records_that_cannot_be_decoded_stand_for_none_that_can(tmp_path, ingest, rows):
    tran = pa.table({"tran": ["AAAA", "BBBB"]})
    data = list(encode_performance(REGION, full_dictionary(), tran, NOW, rows_per_record=1))
    (tmp_path / "1.smf").write_bytes(b"".join(data))
    (waiting,) = ingest(tmp_path / "1.smf")
    assert waiting.quarantined == 2
    (tmp_path / "2.smf").write_bytes(b"".join([*encode_dictionary(REGION, full_dictionary(), NOW), *data]))
    (whole,) = ingest(tmp_path / "2.smf")
    assert whole.overlap == 0
    counted = "SELECT tran FROM raw.smf110_1_performance ANTI JOIN meta.record_overlap USING (file_id, record_seq)"
    assert sorted(rows(counted)) == [("AAAA",), ("BBBB",)]
    assert rows("SELECT path LIKE '%1.smf', overlap FROM meta.ledger ORDER BY path") == [(True, 2), (False, 0)]
    assert rows(SUMS) == [(True,)]


PARTITIONS = """SELECT smf70lpm FROM raw.smf70_1_partition ANTI JOIN meta.record_overlap USING (file_id, record_seq)
    ORDER BY ALL"""
PIECES = [piece(number, blocks=True) for number in range(3)]


@pytest.mark.parametrize("order", ["abc", "cba"])
def test_a_record_in_pieces_counts_where_all_of_them_are_whatever_came_first(tmp_path, ingest, rows, order):
    parts = {"a": PIECES[:1], "b": PIECES, "c": PIECES[:2]}
    folder = write(tmp_path / "in", **{f"{name}__smf": b"".join(part) for name, part in parts.items()})
    for name in order:
        ingest(folder / f"{name}.smf")
    every = [(name,) for name in NAMES]
    assert rows(PARTITIONS) == every
    overlaps = "SELECT parse_filename(path), overlap FROM meta.ledger ORDER BY path"
    assert rows(overlaps) == [("a.smf", 1), ("b.smf", 0), ("c.smf", 2)]
    where = "FROM meta.record_overlap AS o JOIN meta.ledger AS l ON l.file_id = counted_in"
    assert rows(f"SELECT DISTINCT parse_filename(path) {where}") == [("b.smf",)]
    ingest(folder, reload="always")
    assert rows(PARTITIONS) == every
    assert rows(overlaps) == [("a.smf", 1), ("b.smf", 0), ("c.smf", 2)]


def test_when_the_file_with_all_pieces_goes_the_one_that_lacks_fewest_counts(tmp_path, ingest, rows, database):
    folder = write(tmp_path / "in", a__smf=PIECES[0], c__smf=b"".join(PIECES[:2]))
    write(folder, b__smf=b"".join(PIECES))
    ingest(folder)
    assert rows(PARTITIONS) == [(name,) for name in NAMES]
    ((whole,),) = rows("SELECT file_id FROM meta.ledger WHERE path LIKE '%b.smf'")
    with duckdb.connect(str(database)) as con:
        overlaps.release(con, whole)
    assert rows("SELECT parse_filename(path), overlap FROM meta.ledger ORDER BY path")[::2] == [
        ("a.smf", 1),
        ("c.smf", 0),
    ]
    assert rows("SELECT record_seq, missing FROM meta.record_incomplete ORDER BY ALL") == [(0, 1), (0, 2), (1, 1)]


def test_a_cut_dump_before_a_whole_one_in_the_same_file_takes_no_place_of_the_whole(tmp_path, ingest, rows):
    twice, once = PIECES[:1] + PIECES, PIECES
    for name, part in (("a", twice), ("b", once)):
        ingest(write(tmp_path / "in", **{f"{name}__smf": b"".join(part)}) / f"{name}.smf")
    assert rows(PARTITIONS) == sorted([*((name,) for name in NAMES), ("P0",), ("P1",)])


def test_a_dump_cut_short_while_it_is_read_is_left_alone(tmp_path, database, layouts, records, monkeypatch):
    path = tmp_path / "shrinks.smf"
    path.write_bytes(b"".join(records))
    real = overlaps.record_incomplete

    def cut(con, file_id, missing):
        path.write_bytes(b"".join(records[:3]))
        real(con, file_id, missing)

    monkeypatch.setattr(overlaps, "record_incomplete", cut)
    (report,) = load([path], database, layouts)
    assert report.status == "busy"


@pytest.mark.slow
def test_the_order_of_loading_changes_nothing_that_counts(tmp_path, layouts, records):
    parts = {"a": records[:4], "b": records[2:] + records[2:3], "c": records[1:3] * 2}
    folder = write(tmp_path / "in", **{f"{name}__smf": b"".join(part) for name, part in parts.items()})
    found = []
    for order in ("abc", "cba"):
        database = tmp_path / f"{order}.duckdb"
        load([folder / f"{name}.smf" for name in order], database, layouts)
        with duckdb.connect(str(database), read_only=True) as con:
            found.append(con.execute(COUNTED).fetchall())
    assert found[0] == found[1]
    assert len(found[0]) == 2 * (6 + 2)


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=4),
    data=st.data(),
)
def test_a_record_counts_as_often_as_in_the_file_that_holds_it_most_often(files, data):
    with duckdb.connect() as con:
        ledger.create(con)
        present: dict[int, list[int]] = {}
        for step, content in enumerate(files):
            add(con, 100 - step, content)
            present[100 - step] = content
            assert_counted(con, present)
        for file_id in data.draw(st.permutations(sorted(present))):
            overlaps.release(con, file_id)
            del present[file_id]
            assert_counted(con, present)


PIECE = st.tuples(st.integers(0, 2), st.integers(0, 2))
"""Which record, and how many pieces the file lacks of it."""


@settings(max_examples=25, deadline=None)
@given(files=st.lists(st.lists(PIECE, max_size=5), min_size=1, max_size=4), data=st.data())
def test_of_pieces_those_count_whose_files_lack_fewest_others(files, data):
    with duckdb.connect() as con:
        ledger.create(con)
        present: dict[int, list[tuple[int, int]]] = {}
        for step, content in enumerate(files):
            add(con, 100 - step, [record for record, _ in content], [missing for _, missing in content])
            present[100 - step] = content
            assert_fewest_missing(con, present)
        for file_id in data.draw(st.permutations(sorted(present))):
            overlaps.release(con, file_id)
            del present[file_id]
            assert_fewest_missing(con, present)


@settings(max_examples=25, deadline=None)
@given(files=st.lists(st.lists(PIECE, max_size=5), min_size=2, max_size=4), data=st.data())
def test_files_settled_at_once_count_as_one_after_another(files, data):
    before = data.draw(st.integers(0, len(files) - 1))
    found = []
    for at_once in (False, True):
        with duckdb.connect() as con:
            ledger.create(con)
            for step, content in enumerate(files):
                lacking = [record for record, _ in content], [missing for _, missing in content]
                add(con, 100 - step, *lacking, settled=step < before or not at_once)
            if at_once:
                overlaps.settle_files(con, [100 - step for step in range(before, len(files))])
            found.append(con.execute("FROM meta.record_overlap ORDER BY ALL").fetchall())
    assert found[0] == found[1]


def assert_fewest_missing(con, present):
    found = con.execute(
        "SELECT digest, coalesce(missing, 0) FROM meta.record_identity LEFT JOIN meta.record_incomplete "
        "USING (file_id, record_seq) ANTI JOIN meta.record_overlap USING (file_id, record_seq)"
    ).fetchall()
    best: dict[tuple[int, int], int] = {}
    for content in present.values():
        for record in range(3):
            for nth, missing in enumerate(sorted(lacks for number, lacks in content if number == record)):
                best[record, nth] = min(missing, best.get((record, nth), missing))
    assert sorted(found) == sorted((record, missing) for (record, _), missing in best.items())


def add(con, file_id, content, missing=(), *, settled=True):
    """Put a file of these records into the tables that say what overlaps; `missing`: pieces that each lacks."""
    numbers = np.array(content, np.uint64)
    rows = {"record_seq": np.arange(len(content), dtype=np.uint32), "written_raw": numbers // 2, "digest": numbers}
    overlaps.record(con, file_id, pa.table(rows))
    overlaps.record_incomplete(con, file_id, {place: lacks for place, lacks in enumerate(missing) if lacks})
    if settled:
        overlaps.settle_files(con, [file_id])


def assert_counted(con, present):
    found = con.execute(
        "SELECT digest, count(*) FROM meta.record_identity ANTI JOIN meta.record_overlap USING (file_id, record_seq) "
        "GROUP BY digest"
    ).fetchall()
    most = Counter()
    for content in present.values():
        most |= Counter(content)
    assert dict(found) == dict(most)
    wrong = """SELECT count(*) FROM meta.record_overlap AS o LEFT JOIN meta.record_identity AS i
        ON i.file_id = o.counted_in WHERE i.file_id IS NULL OR o.counted_in = o.file_id"""
    assert con.execute(wrong).fetchall() == [(0,)]


def test_a_warehouse_made_before_overlaps_were_known_gets_the_column(tmp_path, ingest, database, records, rows):
    ingest(write(tmp_path / "in", a__smf=b"".join(records)))
    before = content_hash(database)
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE meta.ledger DROP COLUMN overlap")
        con.execute("DROP TABLE meta.record_overlap")
    assert [r.status for r in ingest(tmp_path / "in")] == ["unchanged"]
    assert rows("SELECT overlap FROM meta.ledger") == [(0,)]
    assert content_hash(database) == before
