"""Unpack the output of TSO TRANSMIT (XMIT, NETDATA) back into the records of the data set inside.

Facts: z/OS TSO/E Customization, "Format of transmitted data". The data are a chain of segments, each a length byte, a
flag byte and at most 253 bytes; lines of 80 bytes mean nothing to it. Control records INMR01 to INMR06 describe the
files; what follows an INMR03 are the records of the next file, one for each record of the data set.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_FIRST, _LAST, _CONTROL, _NUMBER = 0x80, 0x40, 0x20, 0x10
_HEADER = "INMR01".encode("cp037")
_LONGEST_NAME = 8
_PIECE = 1 << 20
_RECORD_FORMAT, _UTILITY, _MESSAGE = 0x0049, 0x1028, 0x0028
_VARIABLE = 0x40


class TransmitError(Exception):
    """The data are cut or damaged; the message says where."""


class TransmitRefused(Exception):
    """The content has a form that is not unpacked here; the message names it and what to do."""


@dataclass(slots=True)
class _File:
    """Attributes of one file in INMR02: whether its records vary in length, and whether it is the message."""

    variable: bool = False
    message: bool = False


def is_transmitted(head: bytes) -> bool:
    """True if the first bytes of a file are the header record of TRANSMIT."""
    return len(head) >= _LONGEST_NAME and head[1] & 0xF0 == _FIRST | _LAST | _CONTROL and head[2:8] == _HEADER


def transmitted(data: memoryview | bytes) -> Iterator[bytes]:
    """Yield the bytes of the data set inside, in pieces.

    Records of fixed length follow one another; those of variable length get their descriptor words back, unless they
    bring them along. A message sent with the data set is left out. Raises TransmitError when the data end early or
    contradict themselves, TransmitRefused when they are encrypted. Of a partitioned data set the records are those of
    `ingest.containers.iebcopy`.
    """
    files: list[_File] = []
    started = -1
    piece: list[bytes] = []
    size = 0
    for control, record in _records(data):
        if control:
            name = record[:6].decode("cp037")
            if name == "INMR02":
                _describe(record, files)
            elif name == "INMR03":
                started += 1
            elif name == "INMR06":
                break
            continue
        if not 0 <= started < len(files):
            lacking = "INMR03" if started < 0 else f"INMR02 of file {started + 1}"
            raise TransmitError(f"the control record before the data, {lacking}, is missing")
        file = files[started]
        if file.message:
            continue
        if file.variable and not _has_descriptor(record):
            record = (len(record) + 4).to_bytes(2) + b"\0\0" + record
        piece.append(record)
        size += len(record)
        if size >= _PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    else:
        yield b"".join(piece)
        raise TransmitError("the last record, INMR06, is missing")
    yield b"".join(piece)


def _records(data: memoryview | bytes) -> Iterator[tuple[bool, bytes]]:
    """Whether a record is a control record, and its bytes, segments joined."""
    at, size = 0, len(data)
    segments: list[bytes] = []
    while at + 2 <= size:
        length, flags = data[at], data[at + 1]
        if length < 2:
            raise TransmitError(f"a segment of {length} bytes at offset {at}")
        if at + length > size:
            return
        segment = bytes(data[at + 2 : at + length])
        at += length
        if flags & _NUMBER:
            continue
        if bool(flags & _FIRST) == bool(segments):
            raise TransmitError(f"a segment out of order at offset {at - length}")
        segments.append(segment)
        if flags & _LAST:
            yield bool(flags & _CONTROL), segment if len(segments) == 1 else b"".join(segments)
            segments = []


def _describe(record: bytes, files: list[_File]) -> None:
    """Take note of an INMR02: file number, then text units of key, count and values.

    The steps of one file stand in the order in which they were taken, the last one is what the records look like.
    """
    number = int.from_bytes(record[6:10])
    if not 1 <= number <= len(files) + 1:
        raise TransmitError(f"describes file {number} where file {len(files) + 1} comes next")
    if number == len(files) + 1:
        files.append(_File())
    file = files[number - 1]
    at = 10
    while at + 4 <= len(record):
        key, count = int.from_bytes(record[at : at + 2]), int.from_bytes(record[at + 2 : at + 4])
        at += 4
        values = []
        for _ in range(count):
            length = int.from_bytes(record[at : at + 2])
            values.append(record[at + 2 : at + 2 + length])
            at += 2 + length
        if key == _MESSAGE:
            file.message = True
        elif key == _RECORD_FORMAT and values and values[0]:
            file.variable = values[0][0] & 0xC0 == _VARIABLE
        elif key == _UTILITY and values:
            _refuse(values[0].decode("cp037").strip())


def _refuse(utility: str) -> None:
    if utility == "AMSCIPHR":
        raise TransmitRefused("the data set was encrypted: transmit it without ENCIPHER")


def _has_descriptor(record: bytes) -> bool:
    return len(record) >= 4 and int.from_bytes(record[:2]) == len(record) and record[2] <= 3 and not record[3]
