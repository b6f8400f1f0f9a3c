"""A bare gather: the fields of many CICS records copied into columns and nothing else, to measure a decoder against."""

import numpy as np

from ingest.formats.cics.dictionary import full_dictionary
from ingest.kernels.jit import kernel
from ingest.kernels.loads import load_4, load_8

_TILE = 128


class Gather:
    """Columns for every field of the full dictionary, numbers in the byte order of the machine."""

    def __init__(self) -> None:
        entries = full_dictionary()
        self.fields = len(entries)
        self._offsets = np.array([entry.offset for entry in entries], np.int64)
        self._widths = np.array([entry.length for entry in entries], np.int64)
        self._words = np.cumsum([entry.length == 4 or entry.length == 12 for entry in entries]) - 1
        self._doubles = np.cumsum([entry.length == 8 or entry.length == 12 for entry in entries]) - 1
        self._others = np.array([0 if entry.length in (4, 8, 12) else entry.length for entry in entries], np.int64)

    def run(self, data: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns of four bytes, of eight, and the bytes of all other fields; rows begin at `starts`."""
        rows = len(starts)
        words = np.empty((self._words[-1] + 1, rows), np.uint32)
        doubles = np.empty((self._doubles[-1] + 1, rows), np.uint64)
        others = np.empty(int(self._others.sum()) * rows, np.uint8)
        places = (np.cumsum(self._others) - self._others) * rows
        _gather(data, starts, self._offsets, self._widths, self._words, self._doubles, places, words, doubles, others)
        return words, doubles, others


def row_starts(dump: bytes) -> np.ndarray:
    """Where the rows of the performance records of a dump begin, found with nothing but descriptors and heads."""
    starts: list[int] = []
    at = 0
    while at < len(dump):
        product = at + int.from_bytes(dump[at + 28 : at + 32])
        if int.from_bytes(dump[product + 22 : product + 24]) == 3:
            first = at + int.from_bytes(dump[product + 32 : product + 36])
            size = int.from_bytes(dump[product + 36 : product + 38])
            count = int.from_bytes(dump[product + 38 : product + 40])
            starts += range(first, first + size * count, size)
        at += int.from_bytes(dump[at : at + 2])
    return np.array(starts)


@kernel
def _gather(data, starts, offsets, widths, word_of, double_of, places, words, doubles, others):
    for tile in range(0, starts.shape[0], _TILE):
        stop = min(tile + _TILE, starts.shape[0])
        for f in range(offsets.shape[0]):
            offset, width = offsets[f], widths[f]
            if width == 4:
                for r in range(tile, stop):
                    words[word_of[f], r] = load_4(data, starts[r] + offset)
            elif width == 8:
                for r in range(tile, stop):
                    doubles[double_of[f], r] = load_8(data, starts[r] + offset)
            elif width == 12:
                for r in range(tile, stop):
                    doubles[double_of[f], r] = load_8(data, starts[r] + offset)
                    words[word_of[f], r] = load_4(data, starts[r] + offset + 8)
            else:
                for r in range(tile, stop):
                    for k in range(width):
                        others[places[f] + r * width + k] = data[starts[r] + offset + k]
