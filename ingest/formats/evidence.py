"""Which kind of binary records does a file hold? The evidence of every kind is weighed; the strongest wins.

Evidence is counted in bits: how much rarer a record that passes the test of a kind is among other bytes (the logarithm
of the likelihood ratio, base 2). A record that fails the test counts against the kind. Descriptors say where records
are; they are the same for all kinds and count for none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ingest.formats.dcollect.identify import CODES, HEADER_BYTES
from ingest.formats.dcollect.identify import DATING as DCOLLECT_DATE
from ingest.formats.ims.identify import EARLIEST, LATEST, SHORTEST, SUFFIX_BYTES
from ingest.framing import FRAMINGS, IMS_CLOCK, SMF_DATE, Dating, Span, is_date, search_records, spans

DAY_HUNDREDTHS = 8_640_000
"""Hundredths of seconds of a day: the time of writing of an SMF record is lower."""

CERTAIN = 40.0
"""Bits from which on records at the start of a file are believed without a look at what follows."""

_MOST_RECORDS = 256
_NUMBERS_BELOW = 1 << 48
_WRONG = -4.0
_DATE, _TIME, _CODE, _SUFFIX, _NEXT_NUMBER = 15.0, 9.0, 11.0, 8.0, 40.0


@dataclass(frozen=True)
class Signature:
    """How records of a kind are distinguished from other bytes: by their date, and by a test of all records."""

    dating: Dating
    weigh: Callable[[bytes, list[Span]], float]

    def bits(self, head: bytes) -> float:
        """Evidence of the start of a file for this kind, in bits; below zero where it speaks against it.

        Records are followed from the first byte, with block descriptors or without; where they prove little, also from
        the first place from which records of the kind follow one another.
        """
        data = np.frombuffer(head, np.uint8)
        best = max(self.weigh(head, spans(data, framing)[:_MOST_RECORDS]) for framing in FRAMINGS)
        if best < CERTAIN and (place := search_records(data, self.dating)) > 0:
            rest = head[place:]
            best = max(best, *(self.weigh(rest, spans(data[place:], form)[:_MOST_RECORDS]) for form in FRAMINGS))
        return best


def smf_bits(head: bytes, records: list[Span]) -> float:
    """Evidence of SMF records: date and time of writing at their places."""
    return sum(_bits_of_smf(head[at : at + 14], 4) for at in _firsts(records))


def bits_of_header(head: bytes) -> float:
    """Evidence of an SMF record without its descriptor at the start of some bytes."""
    return _bits_of_smf(head, 0)


def _bits_of_smf(record: bytes, descriptor: int) -> float:
    time, date = record[descriptor + 2 : descriptor + 6], record[descriptor + 6 : descriptor + 10]
    if not is_date(date) or not any(date[:2]):
        return 0.0 if date == bytes(4) else _WRONG
    return _DATE + (_TIME if int.from_bytes(time) < DAY_HUNDREDTHS else _WRONG)


def dcollect_bits(head: bytes, records: list[Span]) -> float:
    """Evidence of DCOLLECT's records: a kind that there is, and the date of the collection."""
    bits = 0.0
    for at in _firsts(records):
        has_code = head[at + 4 : at + 6] in CODES and at + HEADER_BYTES <= len(head)
        place = at + DCOLLECT_DATE.offset
        dated = is_date(head[place : place + 4], DCOLLECT_DATE.highest)
        bits += _CODE + _DATE if has_code and dated else _WRONG
    return bits


def ims_bits(head: bytes, records: list[Span]) -> float:
    """Evidence of log records: a store clock and a number at the end of each, and numbers that rise by one."""
    bits, numbers = 0.0, list[int]()
    for span in records:
        if span.starts_only:
            continue
        end = span.start + span.length
        clock, number = (int.from_bytes(head[at : at + 8]) for at in (end - SUFFIX_BYTES, end - 8))
        long_enough = span.length >= SHORTEST + SUFFIX_BYTES
        if long_enough and EARLIEST <= clock < LATEST and number < _NUMBERS_BELOW:
            bits += _SUFFIX
            numbers.append(number)
        else:
            bits += _WRONG
    for before, after in pairwise(numbers):
        bits += _NEXT_NUMBER if after == before + 1 else 0.0 if after > before else -_NEXT_NUMBER
    return bits


def _firsts(records: list[Span]) -> Iterator[int]:
    """Where records start, those of which only later segments are there left out."""
    return (span.start for span in records if not span.continues)


SIGNATURES = {
    "smf": Signature(SMF_DATE, smf_bits),
    "dcollect": Signature(DCOLLECT_DATE, dcollect_bits),
    "ims_log": Signature(IMS_CLOCK, ims_bits),
}
"""Kinds of binary records by name. Where the evidence of two is equal, the first wins."""


def bodies(head: bytes) -> Iterator[bytes]:
    """The first records, without descriptors, for each framing in which descriptors lead to several."""
    data = np.frombuffer(head, np.uint8)
    for framing in FRAMINGS:
        if len(records := spans(data, framing)) > 1:
            yield b"".join(head[span.start + 4 : span.start + span.length] for span in records)


def weigh(head: bytes) -> dict[str, float]:
    """Evidence of the start of a file for every kind of binary records, in bits."""
    return {kind: signature.bits(head) for kind, signature in SIGNATURES.items()}
