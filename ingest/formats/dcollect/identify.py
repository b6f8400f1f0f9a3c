"""Is a binary file the output of DCOLLECT? Records with descriptors, each with a known kind and a packed date."""

from ingest.framing import Dating, first_records, is_date

_KINDS = ("D", "A", "V", "M", "B", "C", "T", "DC", "SC", "MC", "BC", "SG", "VL", "AG", "DR", "LB", "CN", "AI", "TV")
#: Every kind of record DCOLLECT writes: of data sets and volumes, of the space manager, of the definitions of SMS.
CODES = frozenset(kind.ljust(2).encode("cp037") for kind in _KINDS)
HEADER_BYTES = 24
DATING = Dating(16, 0x99)
"""A date of collection as the digits yyyyddd."""
_BLOCK_DESCRIPTOR = 4
_CODE, _DATE = slice(4, 6), slice(16, 20)


def is_dcollect(head: bytes) -> bool:
    """True if the start of a file is the start of DCOLLECT's output, as records with descriptors or in blocks.

    The first record tells, or, where the beginning is missing or damaged, three in a row.
    """
    return any(_is_record(head[at : at + HEADER_BYTES]) for at in (0, _BLOCK_DESCRIPTOR)) or _holds_records(head)


def _holds_records(head: bytes) -> bool:
    place = first_records(head, DATING)
    return place >= 0 and any(_is_record(head[at : at + HEADER_BYTES]) for at in (place, place + _BLOCK_DESCRIPTOR))


def _is_record(head: bytes) -> bool:
    length = int.from_bytes(head[:2])
    return (
        length >= HEADER_BYTES
        and head[2:4] == b"\0\0"
        and head[_CODE] in CODES
        and is_date(head[_DATE], DATING.highest)
    )
