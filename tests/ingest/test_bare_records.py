"""Dumps without record descriptors: lengths follow from the records, and the records are those that were written."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.containers.bare import is_bare, restored
from ingest.containers.opening import form_of, unpack
from ingest.formats.smf import encode_dump
from tests.fuzz.checks import layouts, read_whole
from tests.ingest.framing import segments
from tests.ingest.tables import random_tables
from tests.shared import shared

LAYOUTS = layouts().layouts


def header(record_type: int, sid: str, flags: int = 0x5E) -> bytes:
    """Header of a record of 2026-11-21, noon."""
    return bytes([flags, record_type]) + (4_320_000).to_bytes(4) + bytes.fromhex("0126325F") + sid.encode("cp037")


def framed(bodies: list[bytes]) -> bytes:
    return b"".join((len(body) + 4).to_bytes(2) + bytes(2) + body for body in bodies)


def bare(data: bytes) -> bytes:
    return b"".join(piece[4:] for piece in segments(data))


def restore(data: bytes) -> bytes:
    assert is_bare(data[: 1 << 16])
    return b"".join(restored(data))


@pytest.mark.parametrize(("name", "records"), [("TEST115", 4), ("TEST116", 4), ("SMF_MQ1000", 709)])
def test_real_dumps_without_descriptors_come_back_record_by_record(tmp_path: Path, name: str, records: int):
    source, out = shared(f"real/mq/{name}.dat"), tmp_path / "bare.dat"
    subprocess.run([sys.executable, shared("faults/strip_rdw.py"), source, out], check=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert form_of(out.read_bytes()[: 1 << 16]) == "bare"
    (accounts,) = (read_whole("x", member.path.read_bytes()) for member in unpack(out, "x", "bare", scratch))
    before = read_whole("x", source.read_bytes())
    assert (accounts.records, accounts.decoded) == (records, before.decoded)
    assert accounts.rows == before.rows
    if records < 10:
        assert restore(out.read_bytes()) == source.read_bytes()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=6), st.integers(0, 10**6))
def test_records_of_every_kind_come_back_as_they_were(kinds, seed):
    bodies = []
    for number, layout in enumerate(kinds):
        data = encode_dump(random_tables(layout, seed + number, 1, 2), layouts())
        if any(piece[2] for piece in segments(data)):
            continue  # A spanned record comes back spanned elsewhere.
        bodies += [header(piece[5], "SYSA", piece[4] or 0x40) + piece[18:] for piece in segments(data)]
    if bodies:
        assert restore(b"".join(bodies)) == framed(bodies)


def test_a_time_and_a_date_inside_a_record_start_none():
    inner = header(5, "SYSA")[:10] + "USERID01".encode("cp037")
    job = header(5, "SYSA") + "PAYROLL ".encode("cp037") + inner + bytes(60)
    bodies = [job, header(200, "SYSA") + bytes(300), job, header(5, "SYSB") + bytes(10)]
    assert restore(b"".join(bodies[:3])) == framed(bodies[:3])


def test_dumps_of_several_systems_are_told_apart():
    rng = random.Random(1)
    bodies = []
    for sid in ("SYSA", "SYSB", "SYSA"):
        data = encode_dump(
            random_tables(next(one for one in LAYOUTS if one.type == 30), rng.randrange(99), 3, 1), layouts()
        )
        bodies += [header(30, sid) + piece[18:] for piece in segments(data)]
    assert restore(b"".join(bodies)) == framed(bodies)


def test_long_records_and_many_windows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.containers.bare._WINDOW", 4_000)
    bodies = [header(200, "SYSA") + bytes([n % 251 + 1]) * (n % 900) for n in range(200)]
    assert restore(b"".join(bodies)) == framed(bodies)
    monkeypatch.undo()
    long = [header(200, "SYSA") + b"\7" * 70_000, header(200, "SYSA") + b"\7" * 5]
    assert bare(restore(b"".join(long))) == b"".join(long)


def test_no_dump_with_descriptors_is_taken_for_one_without():
    for name in ("TEST115", "TEST116", "SMF_MQ1000"):
        data = shared(f"real/mq/{name}.dat").read_bytes()
        assert not is_bare(data[: 1 << 16]) and not is_bare(data[4 : 1 << 16])


@given(st.binary(max_size=40))
def test_any_bytes_can_be_looked_at(data: bytes):
    assert form_of(data) in (None, "gzip", "zip", "bzip2")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 40))
def test_no_byte_is_lost_of_damaged_records(junk: bytes, at: int):
    data = header(200, "SYSA") + b"\1" * 30
    data = data + data[:at] + junk + data * 2
    assert bare(b"".join(restored(data))) == data
