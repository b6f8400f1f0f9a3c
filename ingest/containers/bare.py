"""SMF records without their descriptor words, as a transfer without `quote site rdw` leaves them, get them back.

Every record starts with flags, type, time and date of writing and system identifier (z/OS MVS System Management
Facilities, "Standard and extended SMF record headers"). Its length follows from its triplets: where its last section
ends, another header starts. A record without a layout ends at the next header of a system that had a record before, or
of a record that ends where another starts.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ingest.formats.evidence import bits_of_header, weigh
from ingest.framing import BLANK_BYTES, Frames, write_records

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

HEADER_BYTES = 14
"""Flags, type, time, date and system identifier."""

_RDW = 4
_WINDOW = 8 << 20
_PROVEN = 24.0
"""Bits of a date and a time of writing, see `ingest.formats.evidence`."""

_SID = slice(10, 14)
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@#$".encode("cp037"))
_EARLIEST = 0x80
"""Year of the last century in which SMF records began, packed."""


def is_bare(head: bytes) -> bool:
    """True if a file begins with an SMF record without descriptor, and no records with descriptors follow."""
    return _is_header(head[:HEADER_BYTES]) and max(weigh(head).values()) <= 0


def restored(data: memoryview | bytes) -> Iterator[bytes]:
    """Yield the records with descriptors, in pieces; records longer than a block come out spanned.

    Bytes in which no header stands for many MiB come out as they are, so that they end in the quarantine.
    """
    source, at, systems = np.frombuffer(data, np.uint8), 0, set[bytes]()
    while at < source.size:
        window = source[at : at + _WINDOW]
        final = at + window.size == source.size
        buffer = np.zeros(_RDW + window.size + BLANK_BYTES, np.uint8)
        buffer[_RDW : _RDW + window.size] = window
        starts = _starts(window, buffer, systems, final)
        if len(starts) < 2:
            yield source[at:].tobytes()
            return
        yield write_records(buffer, starts[:-1], np.diff(starts) + _RDW)
        at += int(starts[-1])


def _starts(window: Bytes, buffer: Bytes, systems: set[bytes], final: bool) -> Ints:
    """Where records start, and where the last one ends, of those that end in this window; `systems` are kept up."""
    headers = _headers(window)
    reach = _extents(buffer, headers, window.size)
    places, kept = set(headers.tolist()), [0]
    if final:
        places.add(window.size)
    names = {place: window[place:][_SID].tobytes() for place in headers.tolist()}
    systems.add(window[_SID].tobytes())

    def believed(place: int) -> bool:
        return names[place] in systems or (place in reach and place + reach[place] in places)

    following = iter(headers.tolist())
    ahead = next(following, None)
    while True:
        start = kept[-1]
        end = start + reach.get(start, 0)
        if end == start or end not in places:
            while ahead is not None and (ahead < start + HEADER_BYTES or not believed(ahead)):
                ahead = next(following, None)
            if ahead is None:
                break
            end = ahead
        if end == window.size:
            kept.append(end)
            break
        systems.add(names[end])
        kept.append(end)
    if final and kept[-1] < window.size:
        kept.append(window.size)
    return np.array(kept, np.int64)


def _headers(window: Bytes) -> Ints:
    """Places of the window at which the header of a record can stand."""
    size = max(window.size - HEADER_BYTES + 1, 0)
    century, year, day, last = (window[6 + k : 6 + k + size] for k in range(4))
    sign = last & 15
    likely = np.flatnonzero(
        (century <= 1) & (window[:size] != 0) & (year & 15 <= 9) & (day <= 0x36) & ((sign == 12) | (sign == 15))
    )
    headers = [place for place in likely.tolist() if _is_header(window[place : place + HEADER_BYTES].tobytes())]
    return np.array(headers, np.int64)


def _is_header(head: bytes) -> bool:
    if len(head) < HEADER_BYTES:
        return False
    sid = head[_SID].rstrip(b"\x40")
    return (
        head[0] != 0
        and (head[6] == 1 or (head[6] == 0 and head[7] >= _EARLIEST))
        and bits_of_header(head) >= _PROVEN
        and bool(sid)
        and _NAME.issuperset(sid)
    )


def _extents(buffer: Bytes, headers: Ints, size: int) -> dict[int, int]:
    """By the place of a record, its bytes as far as its triplets say; records without a layout are left out."""
    from ingest.batch import Batch
    from ingest.formats.smf.assigning import Assignment
    from ingest.formats.smf.measuring import measure
    from ingest.formats.smf.plan import Plan
    from ingest.registry import load

    lengths = size + _RDW - headers
    frames, extents = Frames(buffer, headers, lengths, headers, 0), dict[int, int]()
    for layout, rows in Assignment(load()).assign(frames, np.arange(len(headers)), Batch()):
        plan = Plan.of(layout)
        placed = len(plan.sections) - len(plan.nests)
        spans = measure(plan, buffer, headers[rows], lengths[rows])
        ends = np.where(spans.counts > 0, spans.offsets + spans.sizes * spans.counts, 0)[:, :placed]
        last = np.maximum(ends.max(axis=1, initial=0), layout.header.length) - _RDW
        sound = spans.faults == 0
        extents |= dict(zip(headers[rows][sound].tolist(), last[sound].tolist(), strict=True))
    return extents
