"""The members of a partitioned data set that IEBCOPY unloaded, as AMATERSE and TRANSMIT do before they pack one.

Facts: z/OS DFSMSdfp Utilities, "Unload data set format". Two header records describe the data set. Blocks follow, any
number in a record, each behind 12 bytes: flags, extent, place on the device, length of the key (1) and of the data (2).
First come the blocks of the directory, then those of the members in the order of their places on the device (TTR); a
block without data ends the directory and each member. An entry of the directory is a name (8), a TTR (3), and a byte.
That byte has the flag of an alias and the number of halfwords of user data behind it.
"""

from collections.abc import Iterator
from pathlib import Path

from ingest.framing import FramingError, read_frames

_MARK = bytes.fromhex("CA6D0F")
_RDW, _BLOCK_HEADER = 4, 12
_FIRST_BYTES = 56
"""Bytes of the first header record."""
_HEADER_RECORDS = slice(36, 38)
_LAST_ENTRY = b"\xff" * 8
_ENTRY_BYTES = 12
_HALFWORDS, _ALIAS = 0x1F, 0x80

Block = tuple[bytes, bytes]
"""Key and data of a block of the device."""


class UnloadError(ValueError):
    """The unloaded data set is damaged or cut; the message says where."""


def is_unloaded(head: bytes) -> bool:
    """True if a file begins with the first header record, behind a record descriptor or that of a block and one."""
    return any(
        int.from_bytes(head[at : at + 2]) == _FIRST_BYTES + _RDW and head[at + 5 : at + 8] == _MARK for at in (0, _RDW)
    )


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and data of every block of every member, member by member.

    Blocks of variable-length records keep their descriptors. Raises UnloadError where the data end early or contradict
    themselves, after the blocks before.
    """
    blocks = _blocks(path)
    names = iter(_names(blocks))
    name = next(names, None)
    for _, data in blocks:
        if name is None:
            if data:
                raise UnloadError("there is more data than the directory has members")
        elif data:
            yield name, data
        else:
            name = next(names, None)
    if name is not None:
        raise UnloadError(f"the data end before the end of member {name}")


def _blocks(path: Path) -> Iterator[Block]:
    """The blocks of directory and members, those that end them included."""
    left = 0
    for number, record in enumerate(_records(path)):
        if number == 0:
            left = int.from_bytes(record[_HEADER_RECORDS])
        if number < left:
            continue
        at = 0
        while at < len(record):
            key = record[at + 9 : at + 10]
            data = record[at + 10 : at + _BLOCK_HEADER]
            if len(data) < 2:
                raise UnloadError(f"record {number} ends inside the header of a block")
            start = at + _BLOCK_HEADER
            end = start + key[0] + int.from_bytes(data)
            if end > len(record):
                raise UnloadError(f"record {number} ends inside a block")
            yield record[start : start + key[0]], record[start + key[0] : end]
            at = end


def _records(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as stream:
        try:
            for frames in read_frames(stream, path.name):
                for start, length in zip(frames.starts.tolist(), frames.lengths.tolist(), strict=True):
                    yield frames.buffer[start + _RDW : start + length].tobytes()
                if frames.quarantined:
                    raise UnloadError(frames.quarantined[0].detail)
        except FramingError as error:
            raise UnloadError(str(error)) from None


def _names(blocks: Iterator[Block]) -> list[str]:
    """The members of the directory in the order of their data; aliases are left out."""
    names: dict[int, str] = {}
    for _, block in blocks:
        if not block:
            return [names[place] for place in sorted(names)]
        used, at = int.from_bytes(block[:2]), 2
        while at + _ENTRY_BYTES <= min(used, len(block)) and block[at : at + 8] != _LAST_ENTRY:
            name = block[at : at + 8].decode("cp037").strip()
            place, flags = int.from_bytes(block[at + 8 : at + 11]), block[at + 11]
            if not flags & _ALIAS or place not in names:
                names[place] = name
            at += _ENTRY_BYTES + 2 * (flags & _HALFWORDS)
    raise UnloadError("the data end inside the directory")
