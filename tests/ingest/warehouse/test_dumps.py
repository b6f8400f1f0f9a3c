"""SMF dumps on their way into the warehouse: decoded, skipped and quarantined records, and damage of any kind."""

import struct
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.warehouse import ExitCode, load
from tests.ingest.warehouse.content import content_hash
from tests.ingest.warehouse.samples import write
from tests.shared import shared

LEDGER = """SELECT bytes, decoded_bytes + skipped_bytes + quarantined_bytes + framing_bytes, records,
    decoded + skipped + quarantined FROM meta.ledger"""


def test_a_dump_becomes_rows_that_say_where_they_came_from(tmp_path, ingest, rows, dump):
    (report,) = ingest(write(tmp_path / "in", day__smf=dump))
    assert (report.kind, report.status, report.records, report.decoded) == ("smf", "loaded", 6, 6)
    assert {name: report.rows[name] for name in ("smf30_header", "smf30_cpu")} == {"smf30_header": 6, "smf30_cpu": 12}
    assert rows("SELECT record_seq, section_seq, smf30cpt FROM raw.smf30_cpu") == [
        (n // 2, n % 2, n) for n in range(12)
    ]
    assert rows("SELECT count(DISTINCT file_id) FROM raw.smf30_header") == [(1,)]
    assert [r.status for r in ingest(tmp_path / "in")] == ["unchanged"]
    assert rows("SELECT count(*) FROM raw.smf30_cpu") == [(12,)]


def test_records_without_a_layout_are_counted_by_type(tmp_path, ingest, rows, dump):
    unknown = struct.pack(">HHBB", 48, 0, 0x40, 250) + b"\0" * 4 + bytes.fromhex("0120001F") + b"\xe2\xe8\xe2\xc1"
    unknown = unknown.ljust(48, b"\0")
    (report,) = ingest(write(tmp_path / "in", day__smf=dump + unknown * 3))
    assert (report.records, report.decoded, sum(report.skipped.values())) == (9, 6, 3)
    ((kind, count),) = report.skipped.items()
    assert kind.startswith("250") and count == 3
    assert report.skipped_bytes == {kind: 144}
    assert rows(LEDGER) == [(len(dump) + 144, len(dump) + 144, 9, 9)]


def test_a_section_that_points_outside_its_record_is_quarantined_alone(tmp_path, ingest, rows, dump, layouts):
    layout = layouts.layout_for(30, 3)
    broken = bytearray(dump)
    struct.pack_into(">I", broken, layout.section("cpu").triplet.position, 60_000)
    (report,) = ingest(write(tmp_path / "in", day__smf=bytes(broken)))
    assert (report.status, report.records, report.decoded, report.quarantined) == ("loaded", 6, 5, 1)
    assert report.exit_code == ExitCode.QUARANTINED
    length = struct.unpack_from(">H", dump)[0]
    ((sequence, offset, raw),) = rows("SELECT record_seq, byte_offset, raw FROM meta.quarantine")
    assert (sequence, offset, raw) == (0, 0, bytes(broken[:length]))
    assert rows(LEDGER) == [(len(dump), len(dump), 6, 6)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, dump, layouts, new_warehouse):
    """The path of the dump, and what is in a warehouse that it was loaded into at once."""
    path = write(tmp_path_factory.mktemp("whole"), day__smf=dump) / "day.smf"
    database = new_warehouse(path.with_name("whole.duckdb"))
    load([path], database, layouts)
    return path, content_hash(database)


@settings(max_examples=12, deadline=None)
@given(part=st.floats(0.0, 1.0, exclude_max=True))
def test_a_dump_cut_anywhere_keeps_its_complete_records_and_accounts_for_the_rest(
    dump, layouts, new_warehouse, whole, part
):
    path, content = whole
    cut = 1 + int(part * (len(dump) - 2))
    path.write_bytes(dump[:cut])
    database = new_warehouse(path.with_name("cut.duckdb"))
    (report,) = load([path], database, layouts)
    assert report.decoded == cut // (len(dump) // 6)
    assert report.decoded_bytes + report.quarantined_bytes + report.framing_bytes == cut
    path.write_bytes(dump)
    (report,) = load([path], database, layouts)
    assert (report.status, report.decoded, report.quarantined) == ("loaded", 6, 0)
    assert content_hash(database) == content


def test_the_real_mq_dump_is_framed_completely_and_every_record_accounted_for(ingest, rows):
    report, *_ = ingest(shared("real/mq/SMF_MQ1000.dat"))
    by_type = Counter[str]()
    for kind, count in report.skipped.items():
        by_type[kind.split(".")[0]] += count
    known = {name: count for name, count in report.rows.items() if name.endswith("_header")}
    assert report.records == 709 and report.quarantined == 0
    assert sum(by_type.values()) + sum(known.values()) == 709
    if not known:
        assert by_type == {"2": 1, "3": 1, "115": 286, "116": 421}
    ((size, summed, records, counted),) = rows(LEDGER)
    assert size == summed == report.bytes and records == counted == 709


def test_damage_is_reported_with_its_place_its_size_and_what_to_do(tmp_path, ingest, dump):
    place = len(dump) // 2
    place -= place % (len(dump) // 6)
    (tmp_path / "d.smf").write_bytes(dump[:place] + bytes(100) + dump[place:])
    (report,) = ingest(tmp_path / "d.smf")
    lost = report.bytes - report.decoded_bytes
    assert f"transfer the dump again ({lost:,} bytes from byte {place:,} on)" in report.message


def test_of_several_records_in_the_quarantine_the_first_is_named_and_the_others_counted(tmp_path, ingest, dump):
    size = len(dump) // 6
    broken = bytearray(dump)
    for number in (1, 2, 4):
        # The number of a triplet's sections: more than the record can hold.
        broken[number * size + 56 : number * size + 64] = bytes.fromhex("0000FF00 0010 0001")
    (tmp_path / "d.smf").write_bytes(broken)
    (report,) = ingest(tmp_path / "d.smf")
    assert report.quarantined == 3
    assert f"(record_seq 1, {size:,} bytes from byte {size:,} on); 2 more in the quarantine" in report.message
