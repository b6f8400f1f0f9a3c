"""A file is taken for what most of it says: blocks of real records, and cuts and splices of real dumps."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.containers.opening import form_of
from ingest.formats.evidence import weigh
from ingest.formats.identify import HEAD_BYTES, Kind, identify
from ingest.formats.ims.encode import encode_log
from tests.fuzz.checks import layouts, read_whole
from tests.ingest.framing import record, segments
from tests.ingest.ims.logs import records as log_records
from tests.shared import shared

CASES, LONGEST = 300, 20_000


def block(records: list[bytes]) -> bytes:
    body = b"".join(records)
    return (len(body) + 4).to_bytes(2) + bytes(2) + body


def real_dumps() -> list[bytes]:
    return [shared(f"real/mq/{name}.dat").read_bytes() for name in ("TEST115", "TEST116", "SMF_MQ1000")]


def test_a_record_in_one_block_that_ends_in_text_is_no_log():
    data = shared("faults/one_block_smf_ending_in_text.dat").read_bytes()
    assert identify("x", data).kind is Kind.SMF
    assert read_whole("x", data).decoded == 1


def test_real_records_in_one_block_are_decoded(tmp_path: Path):
    out = tmp_path / "block.dat"
    script, source = shared("faults/one_block.py"), shared("real/mq/TEST115.dat")
    subprocess.run([sys.executable, script, source, out], check=True)
    assert identify("x", out.read_bytes()).kind is Kind.SMF
    assert read_whole("x", out.read_bytes()).decoded == 4


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_block_of_real_records_is_a_dump(count: int):
    for data in real_dumps():
        whole = [piece for piece in segments(data) if not piece[2]]
        for first in range(0, len(whole), count):
            cut = block(whole[first : first + count])
            assert form_of(cut) is None and identify("x", cut[:HEAD_BYTES]).kind is Kind.SMF


def test_a_log_record_whose_body_looks_like_an_smf_record_is_a_log():
    bodies = {0: record(60)[6:]}
    data = encode_log({"ims_log_record": log_records([(0x99, 1)] * 4)}, layouts(), bodies=bodies)
    assert identify("x", data).kind is Kind.IMS_LOG
    assert weigh(data)["ims_log"] > weigh(data)["smf"]


@pytest.mark.parametrize("length", [0x1F8B, 0x1F9D, 0x425A, 0x504B])
def test_a_record_whose_length_reads_like_the_mark_of_a_container_is_a_record(length: int):
    data = record(length) + record(100)
    assert form_of(data) is None
    assert identify("x", data).kind is Kind.SMF


@pytest.fixture(scope="module")
def cuts() -> list[bytes]:
    """Pieces of real dumps cut anywhere, alone and put together."""
    rng, dumps, found = random.Random(20_261_128), real_dumps(), []
    for _ in range(CASES):
        pieces = []
        for _ in range(rng.randrange(1, 4)):
            data = rng.choice(dumps)
            at = rng.randrange(len(data))
            pieces.append(data[at : at + rng.randrange(1, LONGEST)])
        found.append(b"".join(pieces))
    return found


def test_cuts_and_splices_of_real_dumps_are_never_taken_for_another_kind(cuts: list[bytes]):
    for data in cuts:
        identity = identify("x", data[:HEAD_BYTES])
        assert identity.kind is Kind.SMF or not data.strip(b"\0"), identity
        assert form_of(data[:HEAD_BYTES]) is None


def test_every_byte_of_cuts_and_splices_of_real_dumps_is_accounted_for(cuts: list[bytes]):
    decoded = sum(read_whole("x", data).decoded for data in cuts)
    assert decoded > CASES
