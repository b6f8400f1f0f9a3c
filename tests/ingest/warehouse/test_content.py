"""Key and digest of a file's content, and what becomes of the digest when nobody wants it."""

import hashlib
import threading
from pathlib import Path

import pytest
from xxhash import xxh3_64

from ingest.files import inputs
from ingest.files.inputs import Content, StillChanging


def test_key_and_digests_are_those_of_all_bytes_and_of_leading_parts(tmp_path: Path):
    data = bytes(range(256)) * 3000
    (tmp_path / "a").write_bytes(data)
    asked = [0, 1, 262_144, 262_145, len(data), len(data) + 1]
    with Content(tmp_path / "a", len(data), asked) as content:
        assert content.key == xxh3_64(data).intdigest()
        assert content.digest.sha256 == hashlib.sha256(data).hexdigest()
        assert content.digest.prefixes == {n: hashlib.sha256(data[:n]).hexdigest() for n in asked[:-1]}


@pytest.mark.parametrize("length", [99, 101])
def test_a_file_of_another_length_is_still_changing(tmp_path: Path, length: int):
    (tmp_path / "a").write_bytes(bytes(length))
    with Content(tmp_path / "a", 100) as content:
        with pytest.raises(StillChanging):
            _ = content.key
        with pytest.raises(StillChanging):
            _ = content.digest


def test_a_digest_nobody_wants_any_more_is_given_up(tmp_path: Path, monkeypatch):
    given, started = [], threading.Event()

    def chunks(path, size):
        for number in range(5_000_000):
            given.append(number)
            yield memoryview(bytes(10))
            started.set()

    monkeypatch.setattr(inputs, "_chunks", chunks)
    before = threading.active_count()
    with Content(tmp_path / "a", 50_000_000) as content:
        content.make_way()
        started.wait()
    assert len(given) < 5_000_000
    assert threading.active_count() == before
