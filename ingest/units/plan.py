"""Which units files are cut into."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from ingest.formats.identify import Kind
from ingest.framing import HEAD_BYTES, SMF_DATE, FramingError, Place, detect
from ingest.kernels.descriptors import find_records
from ingest.registry import Registry
from ingest.units.unit import File, Piece, Unit

_SEARCHED, _SEEN = 256 << 10, 512 << 10
"""Bytes in which the start of a record is looked for, and bytes that are read to prove it."""


def plan(files: Iterable[File], step: int, registry: Registry) -> list[Unit]:
    """Units of about `step` bytes: dumps of SMF are cut, other files stay whole, small ones share a unit.

    Where a dump is cut, several records follow one another; `settle` proves that those before lead there. Units are in
    the order of the files. Raises OSError.
    """
    units: list[Unit] = []
    bundle: list[Piece] = []
    for file in files:
        if bundle and sum(piece.file.size for piece in bundle) + file.size > step:
            units.append(Unit(tuple(bundle), registry))
            bundle = []
        if file.size < step:
            bundle.append(Piece(file))
            continue
        places = _places(file, step) if file.identity.kind == Kind.SMF else ()
        units += [Unit((piece,), registry) for piece in cut(file, places)]
    return units + ([Unit(tuple(bundle), registry)] if bundle else [])


def cut(file: File, places: Iterable[Place]) -> list[Piece]:
    """The pieces of a file between places."""
    return [Piece(file, begin, end) for begin, end in pairwise([None, *places, None])]


def _places(file: File, step: int) -> Iterator[Place]:
    """Places near every `step` bytes of a dump from which records follow one another."""
    with open(file.path, "rb", buffering=0) as stream:  # noqa: PTH123 (a path as it travels)
        head = np.frombuffer(stream.read(HEAD_BYTES), np.uint8)
        try:
            framing = detect(head, file.path, file.size <= HEAD_BYTES, SMF_DATE)
        except FramingError:
            return
        for offset in range(step, file.size - step // 2, step):
            stream.seek(offset)
            data = np.frombuffer(stream.read(_SEEN), np.uint8)
            place, left = find_records(data, 0, min(_SEARCHED, len(data)), framing == "bdw", False, *SMF_DATE)
            if place >= 0:
                yield Place(offset + int(place), "rdw" if left < 0 else framing, max(int(left), 0))
