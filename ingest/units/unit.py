"""Units of work: bytes of files, with the data that they need from other units."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.formats.cics.dictionary import DictionaryMemory
from ingest.formats.identify import Identity
from ingest.formats.smf.split import Placement
from ingest.framing import Place
from ingest.registry import Registry


@dataclass(frozen=True)
class File:
    """A file to decode: its path, key, kind and bytes."""

    path: str
    file_id: int
    identity: Identity
    size: int


@dataclass(frozen=True)
class Split:
    """The split RMF records of a file, as far as a piece of it needs them.

    placements: where the sections of pieces go, by `record_seq`; records, missing: what of the whole file is
    incomplete, for the last piece of the file.
    """

    placements: Mapping[int, Placement] = field(default_factory=dict)
    records: int = 0
    missing: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """A file, or the part of a dump from `begin` to `end`.

    first_seq: the `record_seq` of its first record; dictionaries: what files and pieces before it say of CICS
    monitoring; split: None where the piece is all of the file.
    """

    file: File
    begin: Place | None = None
    end: Place | None = None
    first_seq: int = 0
    dictionaries: DictionaryMemory | None = None
    split: Split | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return self.begin is None and self.end is None


@dataclass(frozen=True)
class Unit:
    """Pieces that are decoded one after another, with the layouts to decode them by."""

    pieces: tuple[Piece, ...]
    registry: Registry
