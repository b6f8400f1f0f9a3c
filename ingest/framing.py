"""Dump files to logical records, and back.

A dump is a stream of record descriptor words with their records, as SMF data sets arrive when transferred with RDWs.
Or it has blocks of them behind block descriptor words, as an undefined-format copy arrives. Records may be spanned over
segments. Exact tiling decides which of the two a file is: descriptors must lead from one to the next without a gap.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.batch import Quarantined
from ingest.kernels.descriptors import (
    CHAIN_BYTES,
    LONGEST_RECORD,
    find_records,
    join_segments,
    scan_segments,
    write_pieces,
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
ByteStream = io.RawIOBase | io.BufferedIOBase

MAX_LOGICAL_RECORD = 8 << 20
"""Longest chain of segments, in bytes of input, that is still taken for one record."""

MAX_BLOCK = 32_760
"""Longest block and longest segment written, in bytes."""

HEAD_BYTES = 1 << 18
"""Bytes from which the framing of an input is decided, so that how it is read makes no difference."""

BLANK_BYTES = 1 << 16
"""Zeros at the end of every buffer of records, more than any section is long."""

MAX_KEPT = 1 << 16
"""Most bytes kept of one quarantined stretch; the stretch is counted in full."""

MAX_RESUMED = 100
"""Most times that records are looked for behind damage in one input."""

SEARCHED_BYTES = 1 << 20
"""Bytes of an input that does not begin with a record in which one is looked for."""

FRAMINGS = ("rdw", "bdw")

_USUAL_SEGMENT = 64
"""Bytes of a segment by which room is made; where they are shorter it is made once more."""


class Dating(NamedTuple):
    """The mark by which every record of a kind is recognized among other bytes.

    offset: of a packed date, from the record's descriptor on, whose first byte is `highest` at most; or, below zero, of
    a store clock and a number, eight bytes each, from the record's end; records are numbered without a gap.
    """

    offset: int
    highest: int


SMF_DATE = Dating(10, 0x09)
"""A date 0cyydddF."""

IMS_CLOCK = Dating(-16, 0xFF)
"""The suffix of log records."""


class Place(NamedTuple):
    """Between two records of a dump: bytes before it, the framing from there on, and what is left there of a block.

    left: 0 before the descriptor of a block, and without blocks.
    """

    offset: int
    framing: str
    left: int


BEYOND_BYTES = 2 * (LONGEST_RECORD + 8)
"""Bytes to read behind the end of a stretch, so that the segment there is among them whole, whatever stands before."""

_DESCRIPTOR = 4
_FIRST_FEW = 8
_ENDED = 0
_LAST_CODE = 3
"""Highest code of a segment."""
_NONE = np.empty(0, np.int64)


class FramingError(ValueError):
    """Input in which no records can be delimited. The message names the file, the offset and what to do."""


class ChainBroken(FramingError):
    """The descriptors of a stretch of a dump do not lead to its stated end."""

    def __init__(self) -> None:
        super().__init__("descriptors do not lead to where the stretch ends; the file changed while it was read")


@dataclass(slots=True)
class Frames:
    """Logical records of one stretch of a dump.

    buffer: bytes that hold them, `BLANK_BYTES` of zeros at its end, valid until the next stretch is requested. starts,
    lengths: where each record stands in the buffer, its descriptor included; offsets: where it started in the input.
    framing_bytes: descriptors that are in no record.
    """

    buffer: Bytes
    starts: Ints
    lengths: Ints
    offsets: Ints
    framing_bytes: int
    quarantined: list[Quarantined] = field(default_factory=list)

    def split(self, most: int) -> "tuple[Frames, Frames | None]":
        """The first records, `most` bytes of them or one, with all that is no record; and the others, if any."""
        ends = np.cumsum(self.lengths)
        cut = max(int(np.searchsorted(ends, most, "right")), 1)
        if cut >= len(ends):
            return self, None
        first = Frames(
            self.buffer, self.starts[:cut], self.lengths[:cut], self.offsets[:cut], self.framing_bytes, self.quarantined
        )
        return first, Frames(self.buffer, self.starts[cut:], self.lengths[cut:], self.offsets[cut:], 0)


@dataclass(slots=True)
class _Scan:
    """Result of a pass over a stretch: its segments, how far it came and why it stopped."""

    starts: Ints
    lengths: Ints
    codes: npt.NDArray[np.uint8]
    block_left: Ints
    consumed: int
    stop: int
    blocks: int
    left: int

    def before(self, segment: int) -> "_Scan":
        """The same up to a segment."""
        return replace(
            self,
            starts=self.starts[:segment],
            lengths=self.lengths[:segment],
            codes=self.codes[:segment],
            block_left=self.block_left[:segment],
            consumed=int(self.starts[segment]),
            stop=_ENDED,
        )

    def until(self, place: int) -> "_Scan | None":
        """The same up to where a segment, or the block that it opens, starts; None where the scan ends before.

        Raises ChainBroken where none starts there, or one that continues a record.
        """
        segment = int(np.searchsorted(self.starts, place))
        if segment == len(self.starts):
            return None
        start = int(self.starts[segment])
        before = int(self.starts[segment - 1] + self.lengths[segment - 1]) if segment else 0
        opens = start == place + _DESCRIPTOR and before == place
        if (start != place and not opens) or self.codes[segment] > 1:
            raise ChainBroken
        return replace(self.before(segment), consumed=place, left=0 if opens else int(self.block_left[segment]))


def read_frames(
    stream: ByteStream,
    name: str,
    *,
    batch_bytes: int = 16 << 20,
    dating: Dating = SMF_DATE,
    begin: Place | None = None,
    end: Place | None = None,
) -> Iterator[Frames]:
    """Logical records of a dump, stretch by stretch of about `batch_bytes`.

    stream: binary input, read once from its position to its end; name: what errors call it. A cut or damaged dump
    yields the records before the damage and the rest as quarantined bytes. Reading of dated records resumes behind the
    damage, where a few records, or all that are left of the block or input, follow one another again. Which records
    there are does not depend on `batch_bytes`. Raises FramingError when there is no record at the beginning or within
    `SEARCHED_BYTES` of it.

    begin, end: where the records to read begin and end, if not with the input, whose position is then at `begin`: they
    are those that reading all of it gives there. Raises ChainBroken where no chain of descriptors leads from one to the
    other, or damage or a record spanned over segments reaches across the end.
    """
    step = max(batch_bytes, 1 << 16)
    room = max(step, SEARCHED_BYTES) + max(MAX_LOGICAL_RECORD, 2 * CHAIN_BYTES)
    buffer = np.empty(2 * room + BLANK_BYTES, np.uint8)
    buffer[-BLANK_BYTES:] = 0
    filled, resumed = 0, 0
    base, framing, left = begin or Place(0, "", 0)
    lost: _Lost | None = None
    refused: FramingError | None = None
    while True:
        if end and not lost and base >= end.offset:
            if end == (base, framing, left):
                return
            raise ChainBroken
        wanted = room if lost else filled + step if framing else max(step, HEAD_BYTES)
        if end and framing and not lost:
            wanted = min(wanted, end.offset + BEYOND_BYTES - base)
        filled, final = _fill(stream, buffer, filled, min(room, wanted))
        if not framing:
            try:
                framing = detect(buffer[: min(filled, HEAD_BYTES)], name, final and filled <= HEAD_BYTES, dating)
            except FramingError as error:
                # The beginning may be missing or be something else: a search in blocks meets records either way.
                refused, framing, lost = error, "bdw", _Lost(0, cut=False, first=1)
                continue
        if lost:
            most = SEARCHED_BYTES + 2 * CHAIN_BYTES if refused else filled
            searched, whole = buffer[: min(filled, most)], final and filled <= most
            used, has_records = lost.search(searched, framing, whole, resumed < MAX_RESUMED, dating)
            if refused and not has_records:
                raise refused
            refused = None
            if lost.length and (has_records or final):
                yield Frames(buffer, _NONE, _NONE, _NONE, 0, [lost.piece(has_records)])
            if final and not has_records:
                if end:
                    raise ChainBroken
                return
            if has_records:
                framing, left = ("rdw", 0) if lost.left < 0 else (framing, lost.left)
                lost, resumed = None, resumed + 1
        else:
            scan = _scan(buffer[:filled], framing, left)
            block = _first_block(buffer, scan, dating) if framing == "rdw" else -1
            if block >= 0:
                scan = scan.before(block)
            last = scan.until(end.offset - base) if end else None
            scan = last or scan
            frames, used, left = _logical(buffer, room, base, scan)
            if last and used != last.consumed:
                raise ChainBroken
            if block >= 0:
                framing = "bdw"
            elif not last and (scan.stop != _ENDED or (final and used < filled)):
                at_segment = scan.stop != _ENDED and used == scan.consumed and framing == "bdw"
                lost = _Lost(base + used, cut=scan.stop == _ENDED, first=0 if at_segment else 1)
            if used:
                yield frames
            if final and not lost and not last and block < 0:
                if end:
                    raise ChainBroken
                return
        buffer[: filled - used] = buffer[used:filled].copy()
        base, filled = base + used, filled - used


@dataclass(slots=True)
class _Lost:
    """Bytes from `offset` on from which no descriptor leads to another; `cut` if one leads beyond the input's end.

    first: the first place where records may start again; left: what is left of the block where they are, -1 where
    blocks have ended.
    """

    offset: int
    cut: bool
    first: int
    length: int = 0
    raw: bytes = b""
    left: int = 0
    zeros: bool = True

    def search(self, data: Bytes, framing: str, final: bool, wanted: bool, dating: Dating) -> tuple[int, bool]:
        """Take in bytes up to the next records; how many, and whether there are records behind them."""
        end = data.size if final else data.size - 2 * CHAIN_BYTES
        first = 0 if self.length else self.first
        at, self.left = find_records(data, first, end, framing == "bdw", final, *dating) if wanted else (-1, 0)
        used = end if at < 0 else at
        self.raw += data[: min(used, MAX_KEPT - len(self.raw))].tobytes()
        self.zeros = self.zeros and not data[:used].any()
        self.length += used
        return used, at >= 0

    def piece(self, has_records: bool) -> Quarantined:
        """All of them, for the quarantine."""
        if self.cut and not has_records:
            detail = "the input ends inside a record; transfer it again"
            return Quarantined(self.offset, self.length, "truncated_record", detail, self.raw)
        where = f"; records follow one another again from offset {self.offset + self.length} on" if has_records else ""
        remedy = "transfer the dump again"
        if self.zeros and not has_records:
            where = ": zeros fill the rest of the file"
            remedy = "nothing is missing if they are padding, as the size of the data set tells"
        elif _is_text(np.frombuffer(self.raw, np.uint8)):
            remedy = "this is text: put it into a separate file, or transfer the dump again without translation"
        detail = f"no descriptor leads on from here: X'{self.raw[:8].hex().upper()}'{where}; {remedy}"
        return Quarantined(self.offset, self.length, "framing_lost", detail, self.raw)


def detect(head: Bytes, name: str, final: bool, dating: Dating) -> str:
    """Which framing the start of an input has, `rdw` or `bdw`; `final` says that the input ends there.

    Raises FramingError when neither leads from descriptor to descriptor.
    """
    if not head.size:
        raise FramingError(f"{name}: the file is empty; transfer it again")
    blocked, plain = _scan(head, "bdw", 0), _scan(head, "rdw", 0)
    in_blocks, in_stream = _starts_dated(head, blocked, dating), _starts_dated(head, plain, dating)
    if in_blocks != in_stream:
        return "bdw" if in_blocks else "rdw"
    if blocked.blocks and (in_blocks or blocked.stop == _ENDED):
        return "bdw"
    if in_stream or _tiles(head, plain, final):
        return "rdw"
    for framing, scan, before in (("bdw", blocked, 4), ("rdw", plain, 0)):
        if scan.stop == _ENDED and _has_date(head, before + dating.offset, dating.highest):
            return framing
    raise FramingError(f"{name}: {_diagnosis(head)}")


class Span(NamedTuple):
    """A segment of a record: where it starts, its bytes, and whether it continues a record or is the start of one only.

    The last one may be longer than the input.
    """

    start: int
    length: int
    continues: bool
    starts_only: bool


def spans(head: Bytes, framing: str) -> list[Span]:
    """The segments at the start of an input in this framing, as far as descriptors lead; the last one may be cut."""
    scan = _scan(head, framing, 0)
    segments = [
        Span(start, length, code > 1, code in (1, 3))
        for start, length, code in zip(scan.starts.tolist(), scan.lengths.tolist(), scan.codes.tolist(), strict=True)
    ]
    at = scan.consumed + (4 if framing == "bdw" and not scan.left else 0)
    if scan.stop == _ENDED and at + 4 <= head.size and head[at + 2] <= _LAST_CODE and not head[at + 3]:
        segments.append(Span(at, int(head[at]) << 8 | int(head[at + 1]), bool(head[at + 2] > 1), True))
    return segments


def search_records(head: Bytes, dating: Dating) -> int:
    """Where the first records that follow one another start in an input; -1 if none do."""
    place, _ = find_records(head, 0, head.size, True, False, *dating)
    return int(place)


def is_date(field: bytes | Bytes, highest: int = SMF_DATE.highest) -> bool:
    """True for four bytes that are a packed date with this highest first byte."""
    digits = bytes(field).hex()
    return (
        len(digits) == 8
        and field[0] <= highest
        and digits[:7].isdecimal()
        and digits[7] in "cf"
        and 1 <= int(digits[4:7]) <= 366
    )


def _has_date(data: Bytes, at: int, highest: int) -> bool:
    return at >= 0 and is_date(data[at : at + 4], highest)


def _tiles(head: Bytes, scan: _Scan, final: bool) -> bool:
    """True if descriptors lead through the whole stretch: several, or one to the very end of the input."""
    return scan.stop == _ENDED and (
        scan.starts.size > 1 or (scan.starts.size == 1 and final and scan.consumed == head.size)
    )


def _starts_dated(head: Bytes, scan: _Scan, dating: Dating) -> bool:
    """True if the first record has its date, or of the first few records two their clocks and successive numbers."""
    if dating.offset >= 0:
        first = np.flatnonzero(scan.codes <= 1)
        return bool(first.size) and _has_date(head, int(scan.starts[first[0]]) + dating.offset, dating.highest)
    whole = np.flatnonzero((scan.codes == 0) & (scan.lengths >= 4 - dating.offset))[:_FIRST_FEW]
    numbers = [int.from_bytes(head[end - 8 : end]) for end in (scan.starts + scan.lengths)[whole].tolist()]
    return any(after == before + 1 for before, after in pairwise(numbers))


def _is_text(start: Bytes) -> bool:
    return bool(np.isin(start[:64], np.frombuffer(bytes(range(32, 127)) + b"\t\r\n", np.uint8)).all())


def _diagnosis(head: Bytes) -> str:
    symptom = f"no record descriptor at offset 0, which holds X'{head[:8].tobytes().hex().upper()}'"
    if not head.any():
        return f"{symptom}: the file holds only zeros; transfer it again"
    if _is_text(head):
        return f"{symptom}: this is text; SMF dumps are binary, transfer the dump again without translation"
    return (
        f"{symptom}: this is not an SMF dump or an IMS log, its beginning is missing, or it was changed in transfer. "
        "Transfer the whole file again in binary with descriptors"
    )


def write_records(data: Bytes, starts: Ints, lengths: Ints, framing: str = "rdw") -> bytes:
    """A dump of the records at `starts` in `data`, in that order; records longer than a block are spanned.

    data: records one after another, each with its descriptor. Raises ValueError for an unknown framing.
    """
    if framing not in FRAMINGS:
        raise ValueError(f"framing {framing!r}, expected one of {', '.join(FRAMINGS)}")
    limit = MAX_BLOCK - (4 if framing == "bdw" else 0)
    bodies, sizes, codes = starts + 4, lengths - 4, np.zeros(len(starts), np.uint8)
    if (lengths > limit).any():
        bodies, sizes, codes = _segments(bodies, sizes, limit - 4)
    blocks = _blocks(sizes + 4) if framing == "bdw" else np.zeros(len(sizes), np.int64)
    out = np.zeros(int((sizes + 4).sum() + 4 * np.count_nonzero(blocks)), np.uint8)
    write_pieces(out, data, bodies.astype(np.int64), sizes.astype(np.int64), codes, blocks)
    return out.tobytes()


def _segments(bodies: Ints, sizes: Ints, limit: int) -> tuple[Ints, Ints, npt.NDArray[np.uint8]]:
    """Bodies cut so that none is longer than `limit`, with the segment code of each piece."""
    pieces = np.maximum(-(-sizes // limit), 1)
    owner = np.repeat(np.arange(len(sizes)), pieces)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    last = nth == pieces[owner] - 1
    codes = np.where(pieces[owner] == 1, 0, np.where(nth == 0, 1, np.where(last, 2, 3))).astype(np.uint8)
    cut = np.minimum(limit, sizes[owner] - nth * limit)
    return bodies[owner] + nth * limit, cut, codes


def _blocks(pieces: Ints) -> Ints:
    """Length of the block each piece opens, descriptor included; 0 for a piece that follows in its block."""
    blocks = np.zeros(len(pieces), np.int64)
    opened = -1
    for place, size in enumerate(pieces.tolist()):
        if opened < 0 or blocks[opened] + size > MAX_BLOCK:
            opened, blocks[place] = place, 4
        blocks[opened] += size
    return blocks


def _fill(stream: ByteStream, buffer: Bytes, filled: int, wanted: int) -> tuple[int, bool]:
    """Read until `wanted` bytes are in the buffer; returns how many are, and whether the input has ended."""
    view = memoryview(buffer.data)
    while filled < wanted:
        count = stream.readinto(view[filled:wanted])
        if not count:
            return filled, True
        filled += count
    return filled, False


def _scan(data: Bytes, framing: str, left: int) -> _Scan:
    capacity, count = data.size // _USUAL_SEGMENT, -1
    while count < 0 or count > capacity:
        capacity = max(capacity, count)
        starts, lengths, block_left = (np.empty(capacity, np.int64) for _ in range(3))
        codes = np.empty(capacity, np.uint8)
        count, consumed, stop, blocks, ended = scan_segments(
            data, framing == "bdw", left, starts, lengths, codes, block_left
        )
    return _Scan(starts[:count], lengths[:count], codes[:count], block_left[:count], consumed, stop, blocks, ended)


def _first_block(data: Bytes, scan: _Scan, dating: Dating) -> int:
    """The first segment of a stream that is a block of dated records; -1 if there is none, or records have no date.

    The descriptor of a block looks like that of a record. Inside, descriptors lead to its very end.
    """
    if dating.offset < 0:
        return -1
    at, room = scan.starts + 4, scan.lengths - 4
    likely = np.flatnonzero((scan.codes == 0) & (room >= dating.offset + 4) & (data[at + 3] == 0))
    first = at[likely]
    fits = data[first].astype(np.int64) * 256 + data[first + 1] <= room[likely]
    for place in likely[fits & (data[first + 2] <= _LAST_CODE)].tolist():
        low, end = int(at[place]), int(at[place] + room[place])
        if _has_date(data, low + dating.offset, dating.highest):
            inside = _scan(data[low:end], "rdw", 0)
            if inside.stop == _ENDED and inside.consumed == end - low:
                return place
    return -1


def _logical(buffer: Bytes, spill: int, base: int, scan: _Scan) -> tuple[Frames, int, int]:
    """The scanned segments as records, how many bytes of the buffer are done with, and what is left of the block."""
    descriptors = scan.consumed - int(scan.lengths.sum())
    if not scan.codes.any():
        frames = Frames(buffer, scan.starts, scan.lengths, scan.starts + base, descriptors)
        return frames, scan.consumed, scan.left
    size = len(scan.starts)
    starts, lengths, firsts, bad = (np.empty(size, np.int64) for _ in range(4))
    count, orphans, open_at = join_segments(
        buffer, spill, scan.starts, scan.lengths, scan.codes, MAX_LOGICAL_RECORD, starts, lengths, firsts, bad
    )
    used, left = scan.consumed, scan.left
    if open_at >= 0:
        used, left = int(scan.starts[open_at]), int(scan.block_left[open_at])
    dropped = bad[:orphans]
    quarantined = [
        Quarantined(
            base + int(scan.starts[place]),
            int(scan.lengths[place]),
            "segment_without_record",
            "a segment of a spanned record whose other segments are missing",
            buffer[scan.starts[place] : scan.starts[place] + scan.lengths[place]][:MAX_KEPT].tobytes(),
        )
        for place in dropped
    ]
    payload = int(lengths[:count].sum()) + int(scan.lengths[dropped].sum())
    frames = Frames(
        buffer, starts[:count], lengths[:count], scan.starts[firsts[:count]] + base, used - payload, quarantined
    )
    return frames, used, left
