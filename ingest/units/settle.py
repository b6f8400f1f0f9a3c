"""Units that are proven to make up their files, each with what it must know of those before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ingest.formats.cics.dictionary import DictionaryMemory
from ingest.formats.smf.scanning import Scanned
from ingest.formats.smf.split import Placement, SplitRecords
from ingest.framing import MAX_RESUMED
from ingest.units.scan import Scan, scan_piece
from ingest.units.unit import File, Piece, Split, Unit

_Known = tuple[Piece, Scanned | None]


def settle(units: Sequence[Unit], scans: Sequence[Scan], dictionaries: DictionaryMemory | None = None) -> list[Unit]:
    """The units to decode, from those of a plan with their scans.

    A piece whose descriptors do not lead to where the next one begins is joined with that and scanned again, and so is
    a dump that was damaged as often as reading it whole allows. dictionaries: those known before, which are added to.
    Raises OSError.
    """
    memory = DictionaryMemory() if dictionaries is None else dictionaries
    known = [
        (unit, piece, scanned)
        for unit, scan in zip(units, scans, strict=True)
        for piece, scanned in zip(unit.pieces, scan.pieces, strict=True)
    ]
    settled: dict[File, list[Piece]] = {}
    for file, found in groupby(known, lambda item: item[1].file):
        pieces = list(found)
        joined = _joined(pieces[0][0], [(piece, scanned) for _, piece, scanned in pieces])
        settled[file] = list(_informed(joined, memory))
    made = []
    for unit in units:
        files = dict.fromkeys(piece.file for piece in unit.pieces)
        own = [piece for file in files for piece in settled.pop(file, [])]
        if len(unit.pieces) > 1:
            made.append(replace(unit, pieces=tuple(own)))
        else:
            made += [replace(unit, pieces=(piece,)) for piece in own]
    return made


def _joined(unit: Unit, pieces: list[_Known]) -> list[_Known]:
    """The pieces of one file, those together that were not proven apart."""
    if len(pieces) == 1:
        return pieces
    found: list[_Known] = []
    for piece, scanned in pieces:
        if found and found[-1][1] is None:
            piece = replace(found.pop()[0], end=piece.end)
            scanned = scan_piece(piece, unit)
        found.append((piece, scanned))
    if found[-1][1] is None or sum(scanned.damages for _, scanned in found if scanned) >= MAX_RESUMED:
        whole = replace(pieces[0][0], end=None)
        return [(whole, scan_piece(whole, unit))]
    return found


def _informed(pieces: list[_Known], memory: DictionaryMemory) -> Iterator[Piece]:
    """The pieces of one file with what they must know; what they tell is added to the memory."""
    first = 0
    splits = SplitRecords()
    made: list[Piece] = []
    for piece, scanned in pieces:
        if scanned is None:
            yield piece
            return
        known = memory.of_regions(scanned.regions)
        placements: dict[int, Placement] = {}
        if len(pieces) > 1:
            for part in scanned.pieces:
                own = part._replace(record_seq=part.record_seq + first)
                placements[own.record_seq] = splits.place(own)
        split = Split(placements) if len(pieces) > 1 else None
        made.append(replace(piece, first_seq=first, dictionaries=known, split=split))
        first += scanned.records
        for told in scanned.dictionaries:
            memory.remember(told.key, told.entries, told.start)
    splits.close()
    records, missing = splits.incomplete()
    if made[-1].split is not None:
        made[-1] = replace(made[-1], split=replace(made[-1].split, records=records, missing=missing))
    yield from made
