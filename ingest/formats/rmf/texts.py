"""The texts of a stretch of a report, by number, and what they say as numbers and durations."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.arrays import of_numbers, of_values
from ingest.formats.rmf import values
from ingest.formats.rmf.kernels.tags import ODD
from ingest.formats.rmf.kernels.texts import (
    ABSENT,
    SPARE,
    UNDECIDED,
    copy_spans,
    gather,
    gathered_ends,
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
        starts, stops = spans[0].astype(np.int64), spans[1].astype(np.int64)
        lengths = stops - starts
        odd = np.flatnonzero(marks & ODD)
        raw = [data[start:stop] for start, stop in zip(starts[odd].tolist(), stops[odd].tolist(), strict=True)]
        number = {text: place for place, text in enumerate(dict.fromkeys(raw))}
        rewritten, ends = concatenated([plain_text(text) for text in number])
        places = np.array([number[text] for text in raw], np.int64)
        begins = np.concatenate([[0], ends])
        lengths[odd] = np.diff(begins)[places]
        self._offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=self._offsets[1:])
        self._bytes = np.empty(int(self._offsets[-1]) + SPARE, np.uint8)
        stops[odd] = starts[odd]
        copy_spans(np.frombuffer(data, np.uint8), starts, stops, self._bytes, self._offsets[:-1])
        copy_spans(rewritten, begins[places], ends[places], self._bytes, self._offsets[odd])
        # Views give single numbers and short texts several times as fast as arrays do.
        self._view, self._places = self._bytes.data, self._offsets.data
        self.present = lengths > 0
        self._added: list[str] = []
        self._strings: pa.Array | None = None
        self._numbers: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None = None

    @property
    def raw(self) -> tuple[npt.NDArray[np.uint8], Ints]:
        """The bytes of all texts, some spare ones behind them, and where each text begins."""
        return self._bytes, self._offsets

    def add(self, text: str) -> int:
        """The number of a further text, one that does not stand in the input."""
        self._added.append(text)
        return len(self.present) + len(self._added) - 1

    def text(self, number: int) -> str | None:
        """One text."""
        if number >= len(self.present):
            return self._added[number - len(self.present)]
        return str(self._view[self._places[number] : self._places[number + 1]], "utf-8") or None

    def strings(self, numbers: npt.NDArray[np.integer], most: int = 2**31 - 1) -> pa.Array:
        """Texts as an Arrow array. Raises NotPlain where they are more than `most` bytes."""
        if not self._added or not len(numbers) or int(numbers.max()) < len(self.present):
            return self._gathered(numbers, most)
        if self._strings is None or len(self._strings) != len(self.present) + len(self._added):
            self._strings = self._array()
        return self._strings.take(of_numbers(numbers))

    def _gathered(self, numbers: npt.NDArray[np.integer], most: int) -> pa.Array:
        ends = np.empty(len(numbers) + 1, np.int32)
        ends[0] = 0
        size = gathered_ends(self._offsets, numbers, ends[1:])
        if size > most:
            raise NotPlain
        out = np.empty(size + SPARE, np.uint8)
        gather(self._bytes, self._offsets, numbers, out)
        # `take` finds flags three times as fast as an index does.
        there = self.present.take(numbers)
        bits = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.Array.from_buffers(pa.string(), len(numbers), [bits, pa.py_buffer(ends), pa.py_buffer(out)])

    def numbers(self, places: npt.NDArray[np.integer], wanted: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Texts as numbers; NULL where a text is none or not wanted."""
        found, is_number = self._read_numbers()
        valid = is_number.take(places)
        if wanted is not None:
            valid &= wanted
        return of_numbers(found[places], valid=valid)

    def durations_us(self, places: npt.NDArray[np.integer]) -> pa.Array:
        """Texts as durations in microseconds; NULL where a text is none."""
        if self._added and len(places) and int(places.max()) >= len(self.present):
            return of_values([values.duration_us(self.text(int(place))) for place in places], pa.int64())
        micros, known = np.empty(len(places), np.int64), np.empty(len(places), np.uint8)
        read_durations(self._bytes, self._offsets, places.astype(np.int64), micros, known)
        for row in np.flatnonzero(known == UNDECIDED):
            value = values.duration_us(self.text(int(places[row])))
            micros[row], known[row] = (0, ABSENT) if value is None else (value, 1)
        return of_numbers(micros, valid=known != ABSENT)

    def _array(self) -> pa.Array:
        bits = pa.py_buffer(np.packbits(self.present, bitorder="little"))
        if self._offsets[-1] >= 2**31:
            raise NotPlain
        offsets, data = pa.py_buffer(self._offsets.astype(np.int32)), pa.py_buffer(self._bytes)
        array = pa.Array.from_buffers(pa.string(), len(self.present), [bits, offsets, data])
        return pa.concat_arrays([array, of_values(self._added, pa.string())]) if self._added else array

    def _read_numbers(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        size = len(self.present) + len(self._added)
        if self._numbers is None or len(self._numbers[0]) != size:
            found, known = np.zeros(size), np.zeros(size, np.uint8)
            read_numbers(self._bytes, self._offsets, found[: len(self.present)], known[: len(self.present)])
            known[len(self.present) :] = UNDECIDED
            for place in np.flatnonzero(known == UNDECIDED).tolist():
                value = values.number(self.text(place))
                found[place], known[place] = (0.0, ABSENT) if value is None else (value, 1)
            self._numbers = found, known != ABSENT
        return self._numbers


def plain_text(raw: bytes) -> str:
    """What a text in XML says: UTF-8, references resolved, without white space around it. Raises NotPlain."""
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
