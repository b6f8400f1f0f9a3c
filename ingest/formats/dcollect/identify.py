"""Is a binary file the output of DCOLLECT? Records with descriptors, each with a known kind and a packed date."""

_KINDS = ("D", "A", "V", "M", "B", "C", "T", "DC", "SC", "MC", "BC", "SG", "VL", "AG", "DR", "LB", "CN", "AI", "TV")
#: Every kind of record DCOLLECT writes: of data sets and volumes, of the space manager, of the definitions of SMS.
CODES = frozenset(kind.ljust(2).encode("cp037") for kind in _KINDS)
HEADER_BYTES = 24
_CODE, _DATE = slice(4, 6), slice(16, 20)


def is_dcollect(head: bytes, *, whole: bool = False) -> bool:
    """True if the start of a file is the start of DCOLLECT's output, as records with descriptors or in blocks.

    `whole`: the head is all of the file.
    """
    return any(_fits(head, blocked, whole) for blocked in (False, True))


def _fits(head: bytes, blocked: bool, whole: bool) -> bool:
    at = block_end = records = 0
    size = len(head)
    while at + HEADER_BYTES <= size:
        if blocked and at == block_end:
            block_end = at + int.from_bytes(head[at : at + 2])
            at += 4
            continue
        length = int.from_bytes(head[at : at + 2])
        if length < HEADER_BYTES or head[at + 2 : at + 4] != b"\0\0" or (blocked and at + length > block_end):
            return False
        record = head[at : at + HEADER_BYTES]
        if record[_CODE] not in CODES or not _is_date(record[_DATE]):
            return False
        at += length
        records += 1
    return bool(records) and (at == size or not whole)


def _is_date(field: bytes) -> bool:
    digits = field.hex()
    return digits[:7].isdecimal() and digits[7] in "cf" and 1 <= int(digits[4:7]) <= 366
