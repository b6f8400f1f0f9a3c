"""Is a binary file an IMS log? Its own content tells: records that tile it, with store clocks and sequence numbers."""

from datetime import UTC, datetime
from itertools import pairwise

from ingest.framing import IMS_CLOCK, first_records, is_date

SUFFIX_BYTES = 16
SHORTEST = 6
_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)


def _clock(year: int) -> int:
    return int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds() * 1_000_000) << 12


EARLIEST, LATEST = _clock(1985), _clock(2042)
"""Store clocks between which a suffix is taken for one; the clock's first epoch ends in 2042."""

_ENOUGH = 4
_MOST_ODD = 0.2


def is_ims_log(head: bytes, *, whole: bool = False) -> bool:
    """True if the start of a file is the start of an IMS log, as records with descriptors or in blocks.

    Descriptors must lead through the whole stretch, suffixes hold plausible store clocks, sequence numbers rise by one
    and no SMF date stand where SMF has it, but for one record in five (padding, records of other products, chance).
    Of a log that is damaged there or whose beginning is missing, two whole records in a row must. `whole`: the head is
    all of the file.
    """
    return any(_fits(head, blocked, whole) for blocked in (False, True)) or first_records(head, IMS_CLOCK) >= 0


def _fits(head: bytes, blocked: bool, whole: bool) -> bool:
    sequences: list[int] = []
    records = odd = dated = 0
    at = block_end = 0
    size = len(head)
    while at + 8 <= size:
        if blocked and at == block_end:
            length = int.from_bytes(head[at : at + 2])
            if length < 8 or head[at + 2 : at + 4] != b"\0\0":
                return False
            block_end = at + length
            at += 4
            continue
        length = int.from_bytes(head[at : at + 2])
        if length < SHORTEST or head[at + 2] > 3 or head[at + 3] or (blocked and at + length > block_end):
            return False
        if at + length > size:
            if whole:
                return False
            break
        records += 1
        end = at + length
        clock = int.from_bytes(head[end - SUFFIX_BYTES : end - 8]) if length >= SHORTEST + SUFFIX_BYTES else 0
        dated += is_date(head[at + 10 : at + 14])
        if EARLIEST <= clock < LATEST:
            sequences.append(int.from_bytes(head[end - 8 : end]))
        else:
            odd += 1
        at = end
    if not sequences or max(odd, dated) > records * _MOST_ODD or (at < size and whole):
        return False
    steps = [after - before for before, after in pairwise(sequences)]
    if any(step <= 0 for step in steps):
        return False
    single = sum(step == 1 for step in steps)
    return single >= len(steps) * (1 - _MOST_ODD) and (records >= _ENOUGH or whole or size > 1 << 15)
