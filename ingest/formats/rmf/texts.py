"""The texts of a stretch of a report, by number, and what they say as numbers and durations."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import of_numbers
from ingest.formats.rmf import values
from ingest.formats.rmf.kernels.tags import ODD
from ingest.formats.rmf.kernels.texts import (
    ABSENT,
    PRESENT,
    SPARE,
    UNDECIDED,
    first_equal,
    gather,
    measure,
    read_durations,
    read_numbers,
)

Ints = npt.NDArray[np.int64]

_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class NotPlain(Exception):
    """Something a full XML parser must decide about."""


class Texts:
    """Texts without the white space around them, numbered as their spans; number 0, and every empty one, is None."""

    def __init__(self, data: bytes, spans: npt.NDArray[np.int32], marks: npt.NDArray[np.uint8]) -> None:
        self._source = data
        self._bytes = np.frombuffer(data, np.uint8)
        self._starts, self._stops = spans[0].copy(), spans[1].copy()
        self._added: list[str] = []
        odd = np.flatnonzero(marks & ODD)
        if len(odd):
            firsts, which = np.unique(self.first_equal(odd), return_inverse=True)
            places = len(self._starts) + which
            self._append([plain_text(self._raw(number)) for number in odd[firsts].tolist()])
            self._starts[odd], self._stops[odd] = self._starts[places], self._stops[places]

    @property
    def spans(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The bytes of all texts, and where in them each begins and ends."""
        return self._bytes, self._starts, self._stops

    def first_equal(self, numbers: npt.NDArray[np.integer]) -> Ints:
        """For each of some texts of the input the place of the first that is the same."""
        return first_equal_spans(self._bytes, self._starts[numbers], self._stops[numbers])

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which texts are not None."""
        return self._stops > self._starts

    def add(self, text: str) -> int:
        """The number of a further text, one that does not stand in the input; to be added before columns are made."""
        self._added.append(text)
        return len(self._starts) + len(self._added) - 1

    def text(self, number: int) -> str | None:
        """One text."""
        return str(self._raw(number), "utf-8") or None

    def strings(self, numbers: npt.NDArray[np.integer], most: int = 2**31 - 1) -> list[pa.Array]:
        """An Arrow array for each row of numbers of texts. Raises NotPlain where one has more than `most` bytes."""
        self._settle()
        columns, rows = numbers.shape
        ends, bits = np.empty((columns, rows + 1), np.int32), np.empty((columns, -(-rows // 8)), np.uint8)
        sizes, counts = np.empty(columns, np.int64), np.empty(columns, np.int64)
        measure(self._starts, self._stops, numbers, ends, bits, sizes, counts)
        if sizes.max(initial=0) > most:
            raise NotPlain
        bases = np.cumsum(sizes + SPARE) - sizes - SPARE
        out = np.empty(int((sizes + SPARE).sum()), np.uint8)
        gather(self._bytes, self._starts, numbers, ends, bases, out)
        written = pa.py_buffer(out)
        arrays = []
        for column, (base, size, count) in enumerate(zip(bases.tolist(), sizes.tolist(), counts.tolist(), strict=True)):
            valid = None if count == rows else pa.py_buffer(bits[column])
            buffers = [valid, pa.py_buffer(ends[column]), written.slice(base, size)]
            arrays.append(pa.Array.from_buffers(pa.string(), rows, buffers, rows - count))
        return arrays

    def numbers(self, places: npt.NDArray[np.integer], wanted: npt.NDArray[np.bool_] | None = None) -> list[pa.Array]:
        """Each row of numbers of texts as numbers; NULL where a text is none or not wanted."""
        numbers, valid = self._read(read_numbers, values.number, places, np.float64)
        return _arrays(numbers, valid if wanted is None else valid & wanted)

    def durations_us(self, places: npt.NDArray[np.integer]) -> list[pa.Array]:
        """Each row of numbers of texts as durations in microseconds; NULL where a text is none."""
        return _arrays(*self._read(read_durations, values.duration_us, places, np.int64))

    def values(
        self, read: Callable[[str | None], Any], places: npt.NDArray[np.integer], kind: npt.DTypeLike
    ) -> list[pa.Array]:
        """Each row of numbers of texts as the numbers `read` makes of them; each different text is read once."""
        self._settle()
        flat = places.ravel()
        firsts, which = np.unique(self.first_equal(flat), return_inverse=True)
        readings = [read(self.text(number)) for number in flat[firsts].tolist()]
        numbers = np.array([0 if value is None else value for value in readings], kind)
        valid = np.array([value is not None for value in readings], np.bool_)
        return _arrays(numbers[which].reshape(places.shape), valid[which].reshape(places.shape))

    def _read(
        self, read: Callable[..., Any], exactly: Callable[[str | None], Any], places: npt.NDArray[np.integer], kind: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Values of texts by a compiled loop, or by `exactly` where the loop cannot decide; which texts have one."""
        self._settle()
        flat = np.ascontiguousarray(places).ravel()
        numbers, status = np.empty(len(flat), kind), np.empty(len(flat), np.uint8)
        read(*self.spans, flat, numbers, status)
        for row in np.flatnonzero(status == UNDECIDED).tolist():
            value = exactly(self.text(int(flat[row])))
            numbers[row], status[row] = (0, ABSENT) if value is None else (value, PRESENT)
        return numbers.reshape(places.shape), (status != ABSENT).reshape(places.shape)

    def _raw(self, number: int) -> bytes:
        return self._source[self._starts[number] : self._stops[number]]

    def _settle(self) -> None:
        """Give the texts that were added their place behind the input."""
        if self._added:
            self._append(self._added)
            self._added = []

    def _append(self, words: Sequence[str]) -> None:
        joined, ends = concatenated(words)
        begins = np.concatenate([[0], ends[:-1]]) + len(self._source)
        self._source = b"".join([self._source, joined.tobytes(), bytes(SPARE)])
        if len(self._source) >= 2**31:
            raise NotPlain
        self._bytes = np.frombuffer(self._source, np.uint8)
        self._starts = np.append(self._starts, begins.astype(np.int32))
        self._stops = np.append(self._stops, (begins + np.diff(ends, prepend=0)).astype(np.int32))


def _arrays(columns: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> list[pa.Array]:
    return [of_numbers(column, valid=mask) for column, mask in zip(columns, valid, strict=True)]


def first_equal_spans(data: npt.NDArray[np.uint8], begins: npt.NDArray[np.int32], stops: npt.NDArray[np.int32]) -> Ints:
    """For each span of `data` the ordinal of the first one with the same bytes."""
    slots, first = np.full(2 << len(begins).bit_length(), -1, np.int32), np.empty(len(begins), np.int64)
    first_equal(data, begins, stops, slots, first)
    return first


def plain_text(raw: bytes) -> str:
    """The content of a text in XML: UTF-8, references resolved, without white space around it. Raises NotPlain."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise NotPlain from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("&") != len(_REFERENCE.findall(text)):
        raise NotPlain
    text = _REFERENCE.sub(_character, text)
    if _NOT_XML.search(text):
        raise NotPlain
    return text.strip()


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code > 0x10FFFF:
        raise NotPlain
    return chr(code)


def concatenated(words: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Words as one array of bytes, and where each ends."""
    encoded = [word.encode() for word in words]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends
