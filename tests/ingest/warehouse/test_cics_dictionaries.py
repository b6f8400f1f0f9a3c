"""CICS records without a dictionary wait in the quarantine until one arrives, and then come out complete."""

import itertools

import pyarrow as pa
import pytest

from ingest.formats.cics.dictionary import Dictionary, Key, full_dictionary, write_dictionary_file
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.warehouse import ExitCode
from tests.ingest.warehouse.cics_dictionaries import NOW, REGION

WAITING = ("cics_dictionary_missing", 3)


@pytest.fixture
def waiting(tmp_path, ingest):
    """A loaded dump of three records of a region whose dictionary is not known."""
    rows = pa.table({"tran": ["AAAA", "BBBB", "CCCC"]})
    path = tmp_path / "tuesday.smf"
    path.write_bytes(b"".join(encode_performance(REGION, full_dictionary(), rows, NOW, rows_per_record=1)))
    return ingest(path)[0]


def ledger(rows, path):
    return rows(f"SELECT status, records, decoded, quarantined FROM meta.ledger WHERE path LIKE '%{path}'")


def test_records_wait_in_the_quarantine_with_the_reason(waiting, rows):
    assert (waiting.exit_code, waiting.decoded, waiting.quarantined) == (ExitCode.UNRECOGNISED, 0, 3)
    assert "no dictionary for region CICSAOR1" in waiting.message
    assert rows("SELECT reason, count(*) FROM meta.quarantine GROUP BY ALL") == [WAITING]


@pytest.mark.parametrize("as_file", [False, True])
def test_they_are_decoded_once_the_dictionary_arrives(tmp_path, ingest, rows, waiting, as_file):
    if as_file:
        text = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(full_dictionary()))])
        (tmp_path / "release.dictionary.csv").write_text(text)
        (report,) = ingest(tmp_path / "release.dictionary.csv")
    else:
        (tmp_path / "monday.smf").write_bytes(b"".join(encode_dictionary(REGION, full_dictionary(), NOW)))
        (report,) = ingest(tmp_path / "monday.smf")
    assert report.status == "loaded"
    found = rows("SELECT record_seq, tran FROM raw.smf110_1_performance ORDER BY record_seq")
    assert found == [(0, "AAAA"), (1, "BBBB"), (2, "CCCC")]
    assert rows(
        "SELECT count(*) FROM raw.smf110_1_header JOIN meta.ledger USING (file_id) WHERE path LIKE '%tuesday%'"
    ) == [(3,)]
    assert rows("SELECT count(*) FROM meta.quarantine") == [(0,)]
    assert ledger(rows, "tuesday.smf") == [("loaded", 3, 3, 0)]


def test_a_dictionary_of_another_region_frees_nothing(tmp_path, ingest, rows, waiting):
    other = Region("SYSB", "CICSAOR9", "OTHER")
    (tmp_path / "other.smf").write_bytes(b"".join(encode_dictionary(other, full_dictionary(), NOW)))
    ingest(tmp_path / "other.smf")
    assert rows("SELECT reason, count(*) FROM meta.quarantine GROUP BY ALL") == [WAITING]


def test_a_later_dump_uses_the_dictionary_of_an_earlier_one(tmp_path, ingest, rows):
    (tmp_path / "1.smf").write_bytes(b"".join(encode_dictionary(REGION, full_dictionary(), NOW)))
    ingest(tmp_path / "1.smf")
    records = encode_performance(REGION, full_dictionary(), pa.table({"tran": ["ZZZZ"]}), NOW, compressed=True)
    (tmp_path / "2.smf").write_bytes(b"".join(records))
    (report,) = ingest(tmp_path / "2.smf")
    assert (report.status, report.decoded) == ("loaded", 1)
    assert rows("SELECT tran FROM raw.smf110_1_performance") == [("ZZZZ",)]


def test_a_faulty_dictionary_file_is_refused_by_line_and_column(tmp_path, ingest):
    text = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(full_dictionary()[:2]))])
    (tmp_path / "x.dictionary.csv").write_text(text.replace(",36,1,0,", ",36,one,0,"))
    (report,) = ingest(tmp_path / "x.dictionary.csv")
    assert report.exit_code == ExitCode.UNRECOGNISED
    assert "line 2: connector is 'one'" in report.message


FULL = full_dictionary()
STARTS = {"old": bytes.fromhex("0126060F000F4240"), "new": bytes.fromhex("0126065F001E8480")}
"""Date and time at which the region's job was read in, as product sections have them from their byte 90 on."""


def renumbered(entries):
    """The dictionary of a region that monitors these fields."""
    offsets = itertools.accumulate((entry.length for entry in entries), initial=0)
    numbered = zip(itertools.count(1), offsets, entries)
    return [entry._replace(connector=number, offset=offset) for number, offset, entry in numbered]


FIELDS = {"old": renumbered(FULL), "new": renumbered(FULL[:10] + FULL[11:])}


def started(start, records):
    """The same records, written after this start of the region."""
    return b"".join(record[:134] + STARTS[start] + record[142:] for record in records)


def tasks(start, tran):
    rows = pa.table({"tran": [tran], "userid": ["SOMEONE"]})
    return started(start, encode_performance(REGION, FIELDS[start], rows, NOW))


def dictionary_of(start):
    return started(start, encode_dictionary(REGION, FIELDS[start], NOW))


DECODED = "SELECT tran, userid FROM raw.smf110_1_performance ORDER BY tran"


@pytest.mark.parametrize("order", ["012", "102"])
def test_a_region_that_was_started_with_other_fields_is_read_by_the_dictionary_of_each_start(
    tmp_path, ingest, rows, order
):
    files = [dictionary_of("old"), dictionary_of("new") + tasks("new", "NEWT"), tasks("old", "OLDT")]
    for place in order:
        (tmp_path / f"{place}.smf").write_bytes(files[int(place)])
        ingest(tmp_path / f"{place}.smf")
    assert rows(DECODED) == [("NEWT", "SOMEONE"), ("OLDT", "SOMEONE")]
    assert rows("SELECT count(*) FROM meta.quarantine") == [(0,)]


def test_starts_that_take_turns_in_one_dump_are_told_apart(tmp_path, ingest, rows):
    parts = [
        tasks("old", "OLD1"),
        dictionary_of("new"),
        dictionary_of("old"),
        tasks("new", "NEW1"),
        tasks("old", "OLD2"),
    ]
    (tmp_path / "both.smf").write_bytes(b"".join(parts))
    ingest(tmp_path / "both.smf")
    assert rows(DECODED) == [(name, "SOMEONE") for name in ("NEW1", "OLD1", "OLD2")]


def test_a_dictionary_of_another_start_that_does_not_fit_is_not_used(tmp_path, ingest, rows):
    (tmp_path / "1.smf").write_bytes(dictionary_of("new") + tasks("old", "OLDT"))
    (report,) = ingest(tmp_path / "1.smf")
    assert report.reason_codes == {"cics_dictionary_missing": 1}
    assert "another start of the region" in report.message
    (tmp_path / "2.smf").write_bytes(dictionary_of("old"))
    ingest(tmp_path / "2.smf")
    assert rows(DECODED) == [("OLDT", "SOMEONE")]
