"""Scans of units for the data that other units need."""

from dataclasses import dataclass
from pathlib import Path

from ingest.formats.identify import Kind
from ingest.formats.smf.decode import Stretch
from ingest.formats.smf.scanning import Scanned, scan_records
from ingest.framing import FramingError
from ingest.units.unit import Piece, Unit


@dataclass(frozen=True)
class Scan:
    """For each piece of a unit what was scanned of it.

    None for a piece whose descriptors do not lead to its end, or that is no dump of SMF.
    """

    pieces: tuple[Scanned | None, ...]


def scan(unit: Unit) -> Scan:
    """Scan a unit. A dump of SMF that is whole is scanned for its dictionaries. Raises OSError."""
    return Scan(tuple(scan_piece(piece, unit) for piece in unit.pieces))


def scan_piece(piece: Piece, unit: Unit) -> Scanned | None:
    """Scan a piece of a unit, as `Scan` has it."""
    if piece.file.identity.kind != Kind.SMF:
        return None
    try:
        return scan_records(Path(piece.file.path), unit.registry, Stretch(piece.begin, piece.end))
    except FramingError:
        return None
