"""Records are the same when their bytes are, however they were spanned, blocked and batched."""

import numpy as np
import pytest

from ingest import registry
from ingest.formats.smf import encode_dump
from ingest.framing import IMS_CLOCK, write_records
from ingest.identity import read_identities
from tests.ingest.tables import random_tables


def rdw_records(*bodies: bytes, framing: str = "rdw") -> bytes:
    """A dump of records with these bytes after their descriptors."""
    data = b"".join(bytes(4) + body for body in bodies)
    lengths = np.array([len(body) + 4 for body in bodies])
    return write_records(np.frombuffer(data, np.uint8), np.cumsum(lengths) - lengths, lengths, framing)


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"as", 0x1C330FB2D66BE179),
        (b"asd", 0x631C37CE72A97393),
        (b"asdf", 0x415872F599CEA71E),
        (b"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02A2E85470D6FD96),
    ],
)
def test_digests_are_those_the_algorithm_publishes(text, digest):
    # Values of the reference implementation, as the test suites of its bindings hold them.
    (found,) = read_identities(rdw_records(text) if text else b"\0\4\0\0" * 2)
    assert found.digest[0] == digest


@pytest.mark.parametrize("framing", ["rdw", "bdw"])
def test_identity_does_not_depend_on_framing_spanning_or_batches(framing):
    known = registry.load()
    layout = known.layout_for(30, 3)
    dump = encode_dump(random_tables(layout, 5, 400), known)
    (once,) = read_identities(dump)
    big = [bytes([n]) * 90_000 for n in range(3)]
    (plain,), (blocked,) = (read_identities(rdw_records(*big, framing=kind)) for kind in ("rdw", framing))
    assert plain.digest.tolist() == blocked.digest.tolist()
    assert len(set(plain.digest.tolist())) == 3
    parts = list(read_identities(dump, batch_bytes=1 << 16))
    assert (
        len(parts) > 1 and [part.first for part in parts[1:]] == np.cumsum([len(p.digest) for p in parts[:-1]]).tolist()
    )
    for name in ("written", "digest"):
        assert np.concatenate([getattr(part, name) for part in parts]).tolist() == getattr(once, name).tolist()


def test_times_of_writing_keep_their_order():
    early, late = (
        bytes.fromhex("0000000127 0126001F".replace(" ", "")),
        bytes.fromhex("0000000001 0126002F".replace(" ", "")),
    )
    bodies = [bytes(1) + part + b"SYSA" for part in (early, late)]
    (found,) = read_identities(rdw_records(*bodies))
    assert found.written.tolist() == [0x0126001F << 32 | 0x127, 0x0126002F << 32 | 1]
    (log,) = read_identities(rdw_records(b"\x31" + bytes(7) + (77).to_bytes(8) + (5).to_bytes(8)), IMS_CLOCK)
    assert log.written.tolist() == [77]
