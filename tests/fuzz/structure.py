"""Valid inputs of a changed structure: counts, lengths, offsets, nesting, descriptors, dictionaries, compressed data.

What the project's own writers make is damaged only where it says how it is laid out, so that a change gets past the
checks in front and is met by what reads behind them.
"""

import gzip
import io
import itertools
import random
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from ingest.formats.cics import csrcesrv
from ingest.formats.cics.dictionary import ENTRY_BYTES
from ingest.layout import Layout, Section, Triplet
from tests.fuzz.checks import layouts

Part = TypeVar("Part")

MAX_BYTES = 1 << 16
"""Longest input: of longer ones the end is cut off."""

_STRUCTURAL = re.compile(r"offset|length|count|number|size|entries|displacement|version|_num|index|triplet")
"""What fields are called that say how a record is laid out."""

_DEEP = 2_000
_NUMBERS = (
    "1e999", "-1e999", "nan", "9" * 400, "-0", "1" + "0" * 40, "0x" + "F" * 40, "0x10", "1_0", "\xd9\xa3", "-", "1.5.2",
    "1,016",
)  # fmt: skip
_PIECES = ("\0", '"', "'", "\\", "<", ">", "&", "]]>", "\xed\xa0\x80", "\f")


class Number(NamedTuple):
    """An unsigned number in an input that says how it is laid out."""

    at: int
    width: int
    order: Literal["big", "little"] = "big"

    def read(self, data: bytes) -> int:
        """What it says."""
        return int.from_bytes(data[self.at : self.at + self.width], self.order)


def mutated(name: str, rng: random.Random, data: bytes) -> bytes:
    """An input of a target with one to three changes of its structure."""
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(CHANGES[name])(rng, data)[:MAX_BYTES]
    return data


def _numbers(places: Callable[[bytes], Iterator[Number]]) -> Callable[[random.Random, bytes], bytes]:
    """A change of one to four of the numbers at these places."""

    def change(rng: random.Random, data: bytes) -> bytes:
        there = [number for number in places(data) if number.at + number.width <= len(data)]
        if not there:
            return data
        changed = bytearray(data)
        for number in rng.sample(there, min(len(there), rng.randint(1, 4))):
            most = (1 << 8 * number.width) - 1
            said, other = number.read(data), rng.choice(there).read(data)
            values = (0, 1, said - 1, said + 1, 2 * said, said // 2, other, most, most // 2, most // 2 + 1, len(data))
            value = rng.choice((*values, len(data) - number.at, rng.randint(0, 64), rng.randint(0, most)))
            changed[number.at : number.at + number.width] = (value & most).to_bytes(number.width, number.order)
        return bytes(changed)

    return change


def _records(data: bytes) -> list[tuple[int, int]]:
    """Where each record of a stream of record descriptors starts and ends."""
    found, at = [], 0
    while at + 4 <= len(data):
        end = at + max(int.from_bytes(data[at : at + 2]), 4)
        found.append((at, min(end, len(data))))
        at = end
    return found


def _descriptors(data: bytes) -> Iterator[Number]:
    for start, _ in _records(data):
        yield from (Number(start, 2), Number(start + 2, 1))


def _smf_numbers(data: bytes) -> Iterator[Number]:
    """The numbers of SMF records that place their sections, and what their sections say of others."""
    for start, end in _records(data):
        layout = _layout_of(data[start:end])
        if layout is not None:
            yield from _section_numbers(layout, layout.header, data, start, end, start, end - start)


def _layout_of(record: bytes) -> Layout | None:
    if len(record) < 24:
        return None
    return next(iter(layouts().layouts_for(record[5], int.from_bytes(record[22:24]))), None)


def _section_numbers(
    layout: Layout, section: Section, data: bytes, start: int, end: int, at: int, size: int
) -> Iterator[Number]:
    """The numbers of a section that stands at a place of the record from start to end, and of those that it places."""
    for item in section.fields:
        if _STRUCTURAL.search(item.name) and 0 < item.length <= 8 and item.end <= size and item.form.name == "uint":
            yield Number(at + item.offset, item.length)
    for other in layout.sections[1:]:
        part = other.triplet
        if other.parent != ("" if section.is_header else section.name):
            continue
        if part is None:
            yield from _chain_numbers(data, at, at + size)
            continue
        if part.end > size:
            continue
        offset, length, count = _triplet_numbers(part, at)
        yield from (offset, length, count)
        place = (at if part.base == "section" else start) + offset.read(data)
        for ordinal in range(min(count.read(data), 3)):
            row = place + ordinal * length.read(data)
            if row + length.read(data) <= end:
                if other.walk == "length_prefixed":
                    yield Number(row, 1)
                yield from _section_numbers(layout, other, data, start, end, row, length.read(data))


def _chain_numbers(data: bytes, at: int, end: int) -> Iterator[Number]:
    """Length and type of each entry of a chain."""
    while at + 3 <= end:
        yield from (Number(at, 2), Number(at + 2, 1))
        at += max(Number(at, 2).read(data), 3)


def _triplet_numbers(part: Triplet, at: int) -> tuple[Number, Number, Number]:
    behind = at + part.position + part.offset_width
    return (
        Number(at + part.position, part.offset_width),
        Number(behind, part.length_width),
        Number(behind + part.length_width, part.count_width),
    )


def _cics_numbers(data: bytes) -> Iterator[Number]:
    """What the product section says of the data, connectors, entries of dictionaries, and control bytes of streams."""
    yield from _smf_numbers(data)
    for start, end in _records(data):
        if end - start < 44 or data[start + 5] != 110:
            continue
        product, section = (start + Number(start + at, 4).read(data) for at in (28, 36))
        yield from (Number(start + at, width) for at, width in ((28, 4), (32, 2), (34, 2), (36, 4), (40, 2), (42, 2)))
        if product + 40 > end or section >= end:
            continue
        yield from (Number(product + at, width) for at, width in ((22, 2), (24, 4), (28, 2), (30, 2), (32, 4), (36, 2)))
        yield Number(product + 38, 2)
        if Number(product + 22, 2).read(data) == 1:
            for entry in range(section, end - ENTRY_BYTES + 1, ENTRY_BYTES):
                yield from (Number(entry + at, 2) for at in (12, 14, 16))
        elif data[section] == csrcesrv.MARKER:
            yield from (Number(section + at, 1) for at in _controls(data[section:end]))
        else:
            yield from (Number(at, 2) for at in range(section, min(end - 1, section + 128), 2))


def _controls(stream: bytes) -> Iterator[int]:
    """Where the control bytes of a compressed stream stand, its marker among them."""
    yield 0
    at = 1
    while at < len(stream):
        yield at
        at += 2 if stream[at] & 0x80 else 1 + stream[at]


def _stream_numbers(data: bytes) -> Iterator[Number]:
    yield Number(0, 2)
    yield from (Number(2 + at, 1) for at in _controls(data[2:]))


def _ims_numbers(data: bytes) -> Iterator[Number]:
    for start, end in _records(data):
        yield from (Number(start, 2), Number(start + 2, 2), Number(start + 4, 1), Number(start + 5, 1))
        yield from (Number(at, 2) for at in range(start + 6, min(end - 1, start + 40), 2))
        yield from (Number(end - 16, 8), Number(end - 8, 8)) if end - start >= 24 else ()


def _dcollect_numbers(data: bytes) -> Iterator[Number]:
    for start, end in _records(data):
        yield from (Number(at, 2) for at in range(start, min(end - 1, start + 40), 2))


def _terse_numbers(data: bytes) -> Iterator[Number]:
    yield from (Number(at, width) for at, width in ((0, 1), (1, 1), (2, 2), (4, 1), (5, 1), (6, 2), (8, 4)))
    yield from (Number(at, 3) for at in range(12, len(data) - 2, 3))


def _transmit_numbers(data: bytes) -> Iterator[Number]:
    """Lengths and flags of segments; keys, counts and lengths of the text units of control records."""
    at = 0
    while at + 2 <= len(data):
        yield from (Number(at, 1), Number(at + 1, 1))
        end = at + max(data[at], 2)
        if data[at + 1] & 0x20:
            unit = at + 8
            while unit + 6 <= end:
                yield from (Number(unit + part, 2) for part in (0, 2, 4))
                unit += 6 + Number(unit + 4, 2).read(data)
        at = end


def _container_numbers(data: bytes) -> Iterator[Number]:
    """Fields of the local and central headers of archives, and of the head and end of compressed files."""
    for magic, parts in (
        (b"PK\x03\x04", ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))),
        (b"PK\x01\x02", ((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4))),
        (b"PK\x05\x06", ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))),
    ):
        for match in re.finditer(re.escape(magic), data):
            yield from (Number(match.start() + at, width, "little") for at, width in parts)
    yield from (Number(at, 1) for at in range(2, min(len(data), 16)))
    yield from (Number(len(data) - at, 4, "little") for at in (4, 8) if len(data) >= at)


def _records_moved(rng: random.Random, data: bytes) -> bytes:
    """A record is left out, repeated, cut, or changes places with another."""
    parts = [data[start:end] for start, end in _records(data)]
    return b"".join(_moved(rng, parts, lambda part: part[: rng.randint(0, len(part))]))


def _bytes_moved(rng: random.Random, data: bytes) -> bytes:
    """A few bytes are left out or come twice, so that what follows stands elsewhere; or the end is missing."""
    at, size = rng.randint(0, len(data)), rng.choice((1, 2, 4, 8, rng.randint(1, 300)))
    return rng.choice((data[:at] + data[at + size :], data[: at + size] + data[at:], data[:at]))


def _moved(rng: random.Random, parts: list[Part], cut: Callable[[Part], Part]) -> list[Part]:
    if not parts:
        return parts
    one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(5):
        case 0:
            del parts[one]
        case 1:
            parts[other:other] = [parts[one]] * rng.choice((1, 2, 50))
        case 2:
            parts[one], parts[other] = parts[other], parts[one]
        case 3:
            parts[one] = cut(parts[one])
        case _:
            parts[other] = parts[one]
    return parts


def _tokens(pattern: str, opened: Sequence[tuple[str, str]] = ()) -> Callable[[random.Random, bytes], bytes]:
    """A change of a text's tokens: moved, nested in pairs of `opened`, numbers and pieces replaced."""
    whole = re.compile(pattern, re.DOTALL)

    def change(rng: random.Random, data: bytes) -> bytes:
        parts = whole.findall(data.decode("latin-1"))
        if not parts:
            return data
        place = rng.randrange(len(parts))
        numbers = [at for at, part in enumerate(parts) if re.fullmatch(r"[\d.,:]+", part)]
        match rng.randrange(5 if opened else 4):
            case 0 if numbers:
                parts[rng.choice(numbers)] = rng.choice(_NUMBERS)
            case 1:
                parts[place] += rng.choice(_PIECES)
            case 4:
                first, last = rng.choice(opened)
                times = rng.choice((1, 3, 30, _DEEP))
                end = rng.randint(place, len(parts))
                parts[place:end] = [first * times, *parts[place:end], last * rng.choice((times, times - 1))]
            case _:
                parts = _moved(rng, parts, lambda part: part[: rng.randint(0, len(part))])
        return "".join(parts).encode("latin-1")

    return change


def _compressed_again(rng: random.Random, data: bytes) -> bytes:
    """A container within another one, or within several."""
    for _ in range(rng.randint(1, 4)):
        data = gzip.compress(data, mtime=0)
    return data


def _members_moved(rng: random.Random, data: bytes) -> bytes:
    """Members of an archive under each other's names, repeated or cut; other data as they are."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except Exception:  # It was changed before, and is no archive any more.
        return data
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # Names that come twice are meant to.
        for name, content in _moved(rng, members, lambda part: (part[0], part[1][: len(part[1]) // 2])):
            archive.writestr(zipfile.ZipInfo(rng.choice((name, "", "..", "a/b", "/", "m0.smf"))), content)
    return out.getvalue()


_LINES = _tokens(r"[ ]+|[\n\r\f]+|[\d.,:]+|[^ \n\r\f\d]+")
_CELLS = _tokens(r"[,;\t|]|[\n\r]+|\"|[\d.]+|[^,;\t|\n\r\"\d]+")
_ELEMENTS = _tokens(r"<[^>]*>|[\d.]+|[^<\d]+", [("<part>", "</part>"), ("<row>", "</row>"), ("<![CDATA[", "]]>")])
_VALUES = _tokens(r'[\[\]{},:]|"(?:\\.|[^"])*"|[\d.]+|[^\[\]{},:"\d]+', [("[", "]"), ('{"a":', "}")])
_NESTED = [("[", "]"), ("{a = ", "}"), ("a.", ""), ("[{fork = [", "]}]")]
_ENTRIES = _tokens(r'[\[\]{}=,.]|\n+|"(?:\\.|[^"\n])*"|[\d.]+|[^\[\]{}=,."\n\d]+', _NESTED)
_DESCRIPTORS = _numbers(_descriptors)

CHANGES: dict[str, Sequence[Callable[[random.Random, bytes], bytes]]] = {
    "framing": [_DESCRIPTORS, _DESCRIPTORS, _records_moved, _bytes_moved],
    "smf": [_numbers(_smf_numbers)] * 5 + [_DESCRIPTORS, _records_moved, _bytes_moved],
    "cics": [_numbers(_cics_numbers)] * 5 + [_DESCRIPTORS, _records_moved, _bytes_moved],
    "csrcesrv": [_numbers(_stream_numbers)] * 3 + [_bytes_moved],
    "ims": [_numbers(_ims_numbers)] * 3 + [_records_moved, _bytes_moved],
    "containers": [_numbers(_container_numbers)] * 3 + [_members_moved, _compressed_again, _bytes_moved],
    "amaterse": [_numbers(_terse_numbers)] * 3 + [_bytes_moved],
    "transmit": [_numbers(_transmit_numbers)] * 3 + [_bytes_moved],
    "dcollect": [_numbers(_dcollect_numbers)] * 3 + [_records_moved, _bytes_moved],
    "rmf-xml": [_ELEMENTS] * 3 + [_bytes_moved],
    "rmf-json": [_VALUES] * 3 + [_bytes_moved],
    "rmf-text": [_LINES] * 3 + [_bytes_moved],
    "statistics": [_LINES] * 3 + [_bytes_moved],
    "tables": [_CELLS, _CELLS, _VALUES, _bytes_moved],
    "companions": [_CELLS, _CELLS, _VALUES, _bytes_moved],
    "toml": [_ENTRIES] * 4 + [_bytes_moved],
    "files": [_DESCRIPTORS, _ELEMENTS, _LINES, _CELLS, _bytes_moved],
}
"""How the inputs of each target are changed; what is named more than once is done more often."""


def inputs(name: str, seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Changed inputs of a target without end, each from the next of its seeds; equal for equal seeds."""
    rng = random.Random(f"{name} {seed}")
    for data in itertools.cycle(seeds):
        yield mutated(name, rng, data)
