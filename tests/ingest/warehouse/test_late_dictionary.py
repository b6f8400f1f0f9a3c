"""A dictionary behind the records it describes: what a load reports is what the tables hold once it is done."""

import datetime as dt

import pyarrow as pa
import pytest

from ingest.formats.cics.dictionary import full_dictionary
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.warehouse import ExitCode

REGION = Region("SYSA", "CICSAOR1", "AORJOB1")
NOW = dt.datetime(2026, 3, 4, 5, 6, 7)


@pytest.fixture
def parts():
    """Three performance records of a region, and its dictionary."""
    rows = pa.table({"tran": ["AAAA", "BBBB", "CCCC"]})
    tasks = b"".join(encode_performance(REGION, full_dictionary(), rows, NOW, rows_per_record=1))
    return tasks, b"".join(encode_dictionary(REGION, full_dictionary(), NOW))


@pytest.mark.parametrize("in_one_dump", [True, False])
def test_records_that_waited_for_a_dictionary_of_the_same_load_are_reported_as_decoded(
    tmp_path, ingest, parts, in_one_dump
):
    tasks, dictionary = parts
    (tmp_path / "1.smf").write_bytes(tasks + (dictionary if in_one_dump else b""))
    (tmp_path / "2.smf").write_bytes(dictionary)
    first, *_ = ingest(tmp_path / "1.smf", tmp_path / "2.smf")
    assert (first.status, first.exit_code, first.message) == ("loaded", ExitCode.OK, None)
    assert (first.decoded, first.quarantined, first.reason_codes) == (3 + in_one_dump, 0, {})
    assert first.decoded_bytes + first.framing_bytes == first.bytes
    assert first.rows["smf110_1_performance"] == 3
