"""The identity of logical records: what two dumps that overlap have in common, however each was cut, blocked or packed.

A record is its bytes after the record descriptor, which differs with the segments a record was spanned over. Two
records are the same when their times of writing and the 64-bit digests of their bytes are equal. The digest is XXH64
with seed 0 (Y. Collet, xxHash, the algorithm's specification): fast, and of a length at which chance alone makes no two
records of one hundredth of a second the same.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import numbers_of, of_columns
from ingest.framing import SMF_DATE, Dating, Frames, read_frames
from ingest.kernels.jit import inlined, kernel
from ingest.kernels.loads import load_4, load_8, unsigned_load

Words = npt.NDArray[np.uint64]

_TIME_BYTES = 4
"""Bytes of the time of day before a packed date."""

_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)


@dataclass(frozen=True, slots=True)
class Identities:
    """Identities of the records of one stretch of a dump, `first` being the ordinal of the first of them.

    written: time of writing as recorded, in the order of time; digest: XXH64 of each record.
    """

    first: int
    written: Words
    digest: Words


def read_identities(
    source: str | Path | bytes, dating: Dating = SMF_DATE, *, batch_bytes: int = 8 << 20
) -> Iterator[Identities]:
    """Identities of all records of a dump, stretch by stretch of about `batch_bytes`; FramingError as in `framing`."""
    first = 0
    with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb", buffering=0) as stream:
        name = "input" if isinstance(source, bytes) else str(source)
        for frames in read_frames(stream, name, batch_bytes=batch_bytes, dating=dating):
            yield identities(frames, first, dating)
            first += len(frames.starts)


def of_rows(frames: Frames, first: int, tables: Iterable[pa.Table], dating: Dating = SMF_DATE) -> pa.Table | None:
    """Columns `record_seq`, `written_raw` and `digest` of the records of a stretch that have rows in tables.

    tables: with a row for each record that has any; first: the ordinal of the first record of the stretch.
    """
    columns = [numbers_of(table["record_seq"]) for table in tables]
    if not columns:
        return None
    sequence = np.sort(np.concatenate(columns))
    places = sequence.astype(np.int64) - first
    chosen = Frames(frames.buffer, frames.starts[places], frames.lengths[places], frames.offsets[places], 0)
    identity = identities(chosen, first, dating)
    return of_columns({"record_seq": sequence, "written_raw": identity.written, "digest": identity.digest})


def identities(frames: Frames, first: int = 0, dating: Dating = SMF_DATE) -> Identities:
    """Identities of the records of a stretch; the clock of a record too short to have one is 0."""
    clock = dating.offset - _TIME_BYTES if dating.offset >= 0 else dating.offset
    written, digest = (np.empty(len(frames.starts), np.uint64) for _ in range(2))
    _identify(frames.buffer, frames.starts, frames.lengths, clock, written, digest)
    return Identities(first, written, digest)


@kernel
def _identify(data, starts, lengths, clock, written, digest):
    for i in range(starts.shape[0]):
        start, length = starts[i], lengths[i]
        place = clock if clock >= 0 else length + clock
        written[i] = 0
        if place >= 4 and place + 8 <= length:
            if clock >= 0:
                date, time = np.uint64(load_4(data, start + place + 4)), np.uint64(load_4(data, start + place))
                written[i] = date << np.uint64(32) | time
            else:
                written[i] = load_8(data, start + place)
        digest[i] = _xxh64(data, start + 4, length - 4)


_word_8, _word_4 = unsigned_load(64, big_endian=False), unsigned_load(32, big_endian=False)


@inlined
def _rotated(value, bits):
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)


@inlined
def _round(lane, word):
    return _rotated(lane + word * _P2, 31) * _P1


@inlined
def _merged(value, lane):
    return (value ^ _round(np.uint64(0), lane)) * _P1 + _P4


@kernel
def _xxh64(data, place, size):
    end = place + size
    if size >= 32:
        a, b = _P1 + _P2, _P2
        c, d = np.uint64(0), np.uint64(0) - _P1
        while place + 32 <= end:
            a = _round(a, _word_8(data, place))
            b = _round(b, _word_8(data, place + 8))
            c = _round(c, _word_8(data, place + 16))
            d = _round(d, _word_8(data, place + 24))
            place += 32
        value = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
        value = _merged(_merged(_merged(_merged(value, a), b), c), d)
    else:
        value = _P5
    value += np.uint64(size)
    while place + 8 <= end:
        value = _rotated(value ^ _round(np.uint64(0), _word_8(data, place)), 27) * _P1 + _P4
        place += 8
    if place + 4 <= end:
        value = _rotated(value ^ np.uint64(_word_4(data, place)) * _P1, 23) * _P2 + _P3
        place += 4
    while place < end:
        value = _rotated(value ^ np.uint64(data[place]) * _P5, 11) * _P1
        place += 1
    value = (value ^ value >> np.uint64(33)) * _P2
    value = (value ^ value >> np.uint64(29)) * _P3
    return value ^ value >> np.uint64(32)
