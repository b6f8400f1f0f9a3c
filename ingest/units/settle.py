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

_ScannedPiece = tuple[Piece, Scanned | None]


def settle(units: Sequence[Unit], scans: Sequence[Scan], dictionaries: DictionaryMemory | None = None) -> list[Unit]:
    """The units to decode, from those of a plan with their scans.

    A piece whose descriptors do not lead to the start of the next one is joined with it and scanned again. A dump with
    as many damages as reading it whole allows becomes one piece. dictionaries: those of earlier dumps, which are added
    to. Raises OSError.
    """
    memory = DictionaryMemory() if dictionaries is None else dictionaries
    scanned_pieces = [
        (unit, piece, scanned)
        for unit, scan in zip(units, scans, strict=True)
        for piece, scanned in zip(unit.pieces, scan.pieces, strict=True)
    ]
    settled: dict[File, list[Piece]] = {}
    for file, members in groupby(scanned_pieces, lambda item: item[1].file):
        pieces = list(members)
        joined = _joined(pieces[0][0], [(piece, scanned) for _, piece, scanned in pieces])
        settled[file] = list(_informed(joined, memory))
    final_units = []
    for unit in units:
        files = dict.fromkeys(piece.file for piece in unit.pieces)
        parts = [piece for file in files for piece in settled.pop(file, [])]
        if len(unit.pieces) > 1:
            final_units.append(replace(unit, pieces=tuple(parts)))
        else:
            final_units += [replace(unit, pieces=(piece,)) for piece in parts]
    return final_units


def _joined(unit: Unit, pieces: list[_ScannedPiece]) -> list[_ScannedPiece]:
    """The pieces of one file; pieces not proven to be separate are joined."""
    if len(pieces) == 1:
        return pieces
    joined: list[_ScannedPiece] = []
    for piece, scanned in pieces:
        if joined and joined[-1][1] is None:
            piece = replace(joined.pop()[0], end=piece.end)
            scanned = scan_piece(piece, unit)
        joined.append((piece, scanned))
    if joined[-1][1] is None or sum(scanned.damages for _, scanned in joined if scanned) >= MAX_RESUMED:
        whole = replace(pieces[0][0], end=None)
        return [(whole, scan_piece(whole, unit))]
    return joined


def _informed(pieces: list[_ScannedPiece], memory: DictionaryMemory) -> Iterator[Piece]:
    """The pieces of one file with what they must know; what they tell is added to the memory."""
    first = 0
    splits = SplitRecords()
    informed: list[Piece] = []
    for piece, scanned in pieces:
        if scanned is None:
            yield piece
            return
        dictionaries = memory.of_regions(scanned.regions)
        placements: dict[int, Placement] = {}
        if len(pieces) > 1:
            for part in scanned.pieces:
                numbered = part._replace(record_seq=part.record_seq + first)
                placements[numbered.record_seq] = splits.place(numbered)
        split = Split(placements) if len(pieces) > 1 else None
        informed.append(replace(piece, first_seq=first, dictionaries=dictionaries, split=split))
        first += scanned.records
        for dictionary in scanned.dictionaries:
            memory.remember(dictionary.key, dictionary.entries, dictionary.start)
    splits.close()
    records, missing = splits.incomplete()
    if informed[-1].split is not None:
        informed[-1] = replace(informed[-1], split=replace(informed[-1].split, records=records, missing=missing))
    yield from informed
