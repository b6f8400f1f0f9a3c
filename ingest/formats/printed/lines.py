"""Printed output to lines, whichever way it was transferred: carriage control understood, every byte placed.

Understood are ASCII or UTF-8 text, EBCDIC text with X'15' or X'25' line ends, and EBCDIC records of fixed length
without line ends; with ASA or machine carriage control, or form feeds, or none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

HEAD_BYTES = 1 << 16
MAX_LINE = 1 << 14
"""A line longer than this is read as several."""

MAX_PRINTED = 512
"""A line longer than this was not printed by a report, and is not searched for what reports say."""

FIXED_LENGTHS = range(41, 260)
"""Lengths that records without line ends are tried for, carriage control included."""

_ASA = b" 01-+"
_MACHINE = bytes([0x01, 0x03, 0x09, 0x0B, 0x11, 0x13, 0x19, 0x1B, 0x89, 0x8B])
_SKIP_BEFORE, _SKIP_AFTER = 0x8B, 0x89
_MOSTLY = 0.8
_MOSTLY_WORDS = 0.6
_WORDS = " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".encode("cp037")
_ALIKE = 0.05
_HEAD_WORDS = (b"SYSTEM ID", b"SYSPLEX", b"DATE-TIME", b"Applid")
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the bytes it takes in the file, its text without carriage control, and whether it starts a page."""

    offset: int
    length: int
    text: str
    starts_page: bool


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the lines of a file are delimited: code page, line end or record length, and carriage control."""

    encoding: str
    end: bytes
    fixed: int
    control: str


def text_form(head: bytes) -> TextForm | None:
    """The form of printed output from the start of a file; None when it is no text."""
    if not head.strip(b"\0"):
        return None
    for encoding, ends in (("utf-8", (b"\n",)), ("cp037", (b"\x15", b"\x25"))):
        text = _decodes(head, encoding)
        if not text:
            continue
        counts = {end: head.count(end) for end in ends}
        end = max(counts, key=lambda item: counts[item])
        if counts[end]:
            return TextForm(encoding, end, 0, _control(head.split(end)[:-1], encoding))
        if encoding == "utf-8":
            return TextForm(encoding, b"\n", 0, "")
        return _fixed_form(head, encoding)
    return None


def is_ebcdic(data: bytes) -> bool:
    """True for text in EBCDIC, with or without line ends: printable bytes, most of them letters, digits and blanks."""
    return _odd_in_ebcdic(data) == 0 and sum(map(data.count, _WORDS)) > _MOSTLY_WORDS * len(data)


def read_lines(stream: BinaryIO, form: TextForm) -> Iterator[Line]:
    """The lines of a file in order; their offsets and lengths tile it."""
    offset, after_skip = 0, False
    for raw in _records(stream, form):
        body = raw[: -len(form.end)] if form.end and raw.endswith(form.end) else raw
        code = body[:1]
        starts = after_skip
        after_skip = False
        if form.control and code:
            if form.control == "machine":
                starts |= code[0] == _SKIP_BEFORE
                after_skip = code[0] == _SKIP_AFTER
                body = body[1:]
            elif (character := code.decode(form.encoding, "replace")) in _ASA.decode("ascii"):
                starts |= character == "1"
                body = body[1:]
        text = body.decode(form.encoding, "replace").rstrip("\r\n\x00\x85 \t")
        if "\f" in text:
            starts, text = True, text.replace("\f", "")
        yield Line(offset, len(raw), text.expandtabs(), starts)
        offset += len(raw)


def _records(stream: BinaryIO, form: TextForm) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK):
        rest += chunk
        at = 0
        if form.fixed:
            while at + form.fixed <= len(rest):
                yield rest[at : at + form.fixed]
                at += form.fixed
        else:
            while (end := rest.find(form.end, at, at + MAX_LINE)) >= 0 or len(rest) - at > MAX_LINE:
                end = end + len(form.end) if end >= 0 else at + MAX_LINE
                yield rest[at:end]
                at = end
        rest = rest[at:]
    if rest:
        yield rest


def _decodes(head: bytes, encoding: str) -> bool:
    """True if the bytes are printable in the code page, carriage control and line ends aside."""
    if encoding == "utf-8":
        allowed = b"\t\n\r\f\x1b"
        if any((byte < 0x20 and byte not in allowed) or byte == 0x7F for byte in set(head)):
            return False
        for cut in range(4):
            try:
                head[: len(head) - cut].decode(encoding)
            except UnicodeDecodeError:
                continue
            return True
        return False
    return _odd_in_ebcdic(head) == 0 and head.count(0x40) * 10 >= len(head)


def _odd_in_ebcdic(data: bytes) -> int:
    """How many bytes stand in no printed EBCDIC text, line ends and machine carriage control aside."""
    allowed = b"\x15\x25\x0d\x0c\x05" + _MACHINE
    return sum(data.count(byte) for byte in set(data) if (byte < 0x40 and byte not in allowed) or byte == 0xFF)


def _fixed_form(head: bytes, encoding: str) -> TextForm | None:
    """The form of records of fixed length: that at which blanks stand below blanks, and all have a control.

    One of them has to begin a page. At twice the length blanks do so, too: the shortest is taken that divides the best.
    """
    blank = np.frombuffer(head, np.uint8) == 0x40
    candidates: dict[int, tuple[float, str]] = {}
    for length in FIXED_LENGTHS:
        if len(head) <= length or (len(head) < HEAD_BYTES and len(head) % length):
            continue
        firsts = head[: len(head) // length * length : length]
        begins_page = any(code in firsts for code in (0xF1, _SKIP_BEFORE, _SKIP_AFTER))
        if begins_page and (control := _control([bytes([byte]) for byte in firsts], encoding)):
            candidates[length] = float(np.mean(blank[length:] == blank[:-length])), control
    if not candidates:
        return None
    best = max(candidates, key=lambda length: candidates[length][0])
    length = min(each for each in candidates if best % each == 0 and candidates[each][0] > candidates[best][0] - _ALIKE)
    return TextForm(encoding, b"", length, candidates[length][1])


def _control(records: list[bytes], encoding: str) -> str:
    """`asa`, `machine` or nothing, from the first byte of every record."""
    firsts = [record[0] for record in records if record and record.strip(b"\r\n")]
    if not firsts:
        return ""
    if encoding != "utf-8" and all(byte in _MACHINE for byte in firsts):
        return "machine"
    asa = _ASA if encoding == "utf-8" else _ASA.decode("ascii").encode(encoding)
    # Lines of the job log or of the transfer may stand among the printed ones.
    printed = sum(byte in asa for byte in firsts) >= _MOSTLY * len(firsts)
    if printed and (encoding != "utf-8" or _has_pages(records)):
        return "asa"
    return ""


def _has_pages(records: list[bytes]) -> bool:
    """True if most lines that begin with 1 are the tops of pages: columns of figures may begin with 1 as well."""
    ones = [place for place, record in enumerate(records) if record.startswith(b"1")]
    tops = sum(any(word in record for record in records[at : at + 6] for word in _HEAD_WORDS) for at in ones)
    return bool(ones) and 2 * tops > len(ones) and not any(b"\f" in record for record in records)
