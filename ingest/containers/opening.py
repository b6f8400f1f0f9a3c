"""Open what dumps travel in: compressed files, archives, AMATERSE and TRANSMIT files, dumps without descriptors.

Everything is unpacked into files of a scratch folder, in pieces, so that what follows can look at a file twice and
memory does not depend on its size. What is inside may again be a container. What is unpacked has `Limits`: a bomb fails
with a clear message, never for want of memory, disk or time.
"""

import bz2
import gzip
import lzma
import mmap
import shutil
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from ingest.containers import iebcopy
from ingest.containers.bare import is_bare, restored
from ingest.containers.limits import DEFAULT, Limits
from ingest.containers.terse import TerseError, is_terse, unterse
from ingest.containers.transmit import TransmitError, TransmitRefused, is_transmitted, transmitted
from ingest.files.names import shown
from ingest.formats import foreign
from ingest.formats.evidence import weigh

STANDARD_INPUT = "-"
#: Endings of AMATERSE and TRANSMIT files; these formats have only a plausible header as a mark.
PACKED_ENDINGS = (".trs", ".xmi", ".xmit")
MAX_DEPTH = 3
_PIECE = 1 << 20
_KEPT_FREE = 256 << 20
_OR_RAISE = "unpack it and ingest what is inside, or raise {} of [archives] in etalon.toml"
_MAGIC = {
    b"\x1f\x8b\x08": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"BZh": "bzip2",
}
# What the archive reader raises where a directory or an entry says what cannot be.
_ZIP_DAMAGED = (
    zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OverflowError, IndexError, struct.error,
)  # fmt: skip


@dataclass(frozen=True)
class Member:
    """A file inside a container: its name, the file with its bytes, the container's form, and the damage, if any.

    With `damage`, the bytes are those that could be unpacked before it.
    """

    name: str
    path: Path
    form: str
    damage: str | None = None


@dataclass
class _Budget:
    """Limits on unpacking one file, including all members and containers inside it, and the amounts unpacked so far."""

    limits: Limits
    most_bytes: int
    members: int = 0
    taken_bytes: int = 0
    taken_s: float = 0

    def room(self, scratch: Path) -> int:
        """Bytes that may still be unpacked; less where the disk holds less."""
        return min(self.most_bytes - self.taken_bytes, max(0, shutil.disk_usage(scratch).free - _KEPT_FREE))

    def write(self, target: Path, pieces: Iterator[bytes]) -> str | None:
        """Write pieces to a file; what went wrong, if anything did. What came before stays in the file."""
        room, written, started = self.room(target.parent), 0, time.monotonic()
        try:
            with target.open("wb") as sink:
                for piece in pieces:
                    if written + len(piece) > room:
                        return (
                            f"expands beyond {room:,} bytes, the limit for such data and this disk: if it is "
                            f"genuine, {_OR_RAISE.format('free_bytes, ratio or most_bytes')}"
                        )
                    if self.taken_s + time.monotonic() - started > self.limits.seconds:
                        return (
                            f"unpacking takes longer than {self.limits.seconds:g} s: if it is genuine, "
                            f"{_OR_RAISE.format('seconds')}"
                        )
                    written += sink.write(piece)
        except TransmitRefused as error:
            return str(error)
        except _DAMAGED as error:
            return (
                f"the packed data are cut or damaged ({error}); the data before that are used; transfer the file again"
            )
        except RuntimeError as error:
            return f"cannot be unpacked ({error}); unpack it and ingest what is inside"
        finally:
            self.taken_bytes += written
            self.taken_s += time.monotonic() - started
        return None

    def refusal(self, members: int) -> str | None:
        """Count more members; a message if there are now too many, else None."""
        self.members += members
        if self.members <= self.limits.members:
            return None
        return f"has {self.members:,} files, more than {self.limits.members:,}: {_OR_RAISE.format('members')}"


class ContainerDamaged(Exception):
    """The container cannot be unpacked further; the message says why and what to do."""


_DAMAGED = (
    ContainerDamaged,
    TerseError,
    TransmitError,
    iebcopy.UnloadError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    *_ZIP_DAMAGED,
)


def form_of(head: bytes) -> str | None:
    """The form of a container by its first bytes: gzip, zstd, bzip2, zip, terse, transmit, iebcopy or bare, or None."""
    if foreign.marked(head):
        return None
    for magic, form in _MAGIC.items():
        if head.startswith(magic):
            return form
    if is_terse(head) and not _holds_records(head):
        return "terse"
    if is_transmitted(head):
        return "transmit"
    if iebcopy.is_unloaded(head):
        return "iebcopy"
    if is_bare(head):
        return "bare"
    return None


def _holds_records(head: bytes) -> bool:
    """Whether records of a dump speak louder than a header of AMATERSE, which as few bytes as a date can look like."""
    return max(weigh(head).values()) > 0


def unpack(path: Path, name: str, form: str, scratch: Path, limits: Limits = DEFAULT) -> Iterator[Member]:
    """Yield the files inside the container at `path`, innermost ones, each in a separate file below `scratch`.

    `name` is what the container is called; members of archives are called `name!member`. A member's file is removed
    when the next one is requested, if it is still there. A container that is damaged or reaches its limits yields what
    was unpacked, with `damage`; an archive of too many members nothing else.
    """
    budget = _Budget(limits, limits.bytes_of(path.stat().st_size))
    yield from _unpack(path, name, form, scratch, budget, 0)


def _unpack(path: Path, name: str, form: str, scratch: Path, budget: _Budget, depth: int) -> Iterator[Member]:
    if form in _SEVERAL:
        yield from _SEVERAL[form](path, name, scratch, budget, depth)
        return
    target = _fresh(scratch)
    damage = budget.write(target, _PIECES[form](path, budget.room(scratch)))
    yield from _inner(Member(name, target, form, damage), scratch, budget, depth)


def inner_name(name: str) -> str:
    """Name of the file inside a container: the member's, or the container's without its ending."""
    base = Path(name.rsplit("!", 1)[-1]).name
    stem, _, ending = base.rpartition(".")
    return stem if f".{ending.lower()}" in (".gz", ".zst", ".bz2", *PACKED_ENDINGS) else base


def spool(stream: IO[bytes], scratch: Path) -> Path:
    """Write a stream, such as standard input, to a file of the scratch folder."""
    target = _fresh(scratch)
    with target.open("wb") as sink:
        shutil.copyfileobj(stream, sink, _PIECE)
    return target


@contextmanager
def standard_input(scratch: Path) -> Iterator[Path]:
    """The bytes of standard input as a file, for as long as they are needed."""
    path = spool(sys.stdin.buffer, scratch)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _fresh(scratch: Path) -> Path:
    number = sum(1 for _ in scratch.iterdir())
    while (target := scratch / f"{number:06d}").exists():
        number += 1
    return target


def _inner(member: Member, scratch: Path, budget: _Budget, depth: int) -> Iterator[Member]:
    """The member itself, or what is inside it where it is a container too."""
    try:
        with member.path.open("rb") as stream:
            form = form_of(stream.read(1 << 16))
        if form is None or member.damage:
            yield member
        elif depth + 1 >= MAX_DEPTH:
            text = f"containers inside containers, more than {MAX_DEPTH} deep; unpack it and ingest what is inside"
            yield Member(member.name, member.path, member.form, text)
        else:
            yield from _unpack(member.path, member.name, form, scratch, budget, depth + 1)
    finally:
        member.path.unlink(missing_ok=True)


def _what_is_there(stream: Any) -> Iterator[bytes]:
    # A plain read gives nothing of a piece in whose middle the data turn out to be cut.
    while piece := stream.read1(_PIECE):
        yield piece


def _pieces_of(opened: Callable[[Path], Any]) -> Callable[[Path, int], Iterator[bytes]]:
    def pieces(path: Path, _limit: int) -> Iterator[bytes]:
        with opened(path) as stream:
            yield from _what_is_there(stream)

    return pieces


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        # Let go of, not closed: the traceback of an error still looks into it, and a map in use refuses to close.
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _terse_pieces(path: Path, limit: int) -> Iterator[bytes]:
    data = _mapped(path)
    nested: bool | None = None
    for piece in unterse(data, limit=limit + _PIECE):
        if nested is None:
            nested = data[1] == 1 and _carries_descriptors(piece)
        yield _without_outer(piece) if nested else piece


def _records(piece: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 4 <= len(piece):
        length = int.from_bytes(piece[at : at + 2], "big")
        if length < 4:
            return
        yield at, at + length
        at += length


def _carries_descriptors(piece: bytes) -> bool:
    """Whether the data of every record begin with a descriptor: segments were packed with their descriptors."""
    has_records = False
    for start, end in _records(piece):
        inner = piece[start + 4 : end]
        if len(inner) < 4 or int.from_bytes(inner[:2], "big") != len(inner) or inner[2] > 3 or inner[3]:
            return False
        has_records = True
    return has_records


def _without_outer(piece: bytes) -> bytes:
    return b"".join(piece[start + 4 : end] for start, end in _records(piece))


_PIECES: dict[str, Callable[[Path, int], Iterator[bytes]]] = {
    "gzip": _pieces_of(gzip.GzipFile),
    "bzip2": _pieces_of(bz2.BZ2File),
    "zstd": _pieces_of(lambda path: pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")),
    "terse": _terse_pieces,
    "transmit": lambda path, _limit: transmitted(_mapped(path)),
    "bare": lambda path, _limit: restored(_mapped(path)),
}


def _members_of_zip(path: Path, name: str, scratch: Path, budget: _Budget, depth: int) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(path)
    except _ZIP_DAMAGED as error:
        yield from _nothing_of(
            name, scratch, "zip", f"the archive is cut or damaged ({error}); transfer the file again"
        )
        return
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
        if refusal := budget.refusal(len(entries)):
            yield from _nothing_of(name, scratch, "zip", refusal)
            return
        for entry in entries:
            target = _fresh(scratch)
            damage = budget.write(target, _entry_pieces(archive, entry))
            yield from _inner(Member(f"{name}!{shown(entry.filename)}", target, "zip", damage), scratch, budget, depth)


def _members_of_unloaded(path: Path, name: str, scratch: Path, budget: _Budget, depth: int) -> Iterator[Member]:
    blocks = groupby(iebcopy.members(path), itemgetter(0))
    while True:
        try:
            member, pieces = next(blocks)
        except StopIteration:
            return
        except iebcopy.UnloadError as error:
            text = f"the unloaded data set is damaged ({error}); transfer the file again"
            yield from _nothing_of(name, scratch, "iebcopy", text)
            return
        if refusal := budget.refusal(1):
            yield from _nothing_of(name, scratch, "iebcopy", refusal)
            return
        target = _fresh(scratch)
        damage = budget.write(target, (data for _, data in pieces))
        yield from _inner(Member(f"{name}!{shown(member)}", target, "iebcopy", damage), scratch, budget, depth)


_SEVERAL = {"zip": _members_of_zip, "iebcopy": _members_of_unloaded}
"""Forms of several files each."""


def _nothing_of(name: str, scratch: Path, form: str, damage: str) -> Iterator[Member]:
    """A container of which nothing, or no more, is unpacked, and why."""
    empty = _fresh(scratch)
    empty.touch()
    yield Member(name, empty, form, damage)
    empty.unlink(missing_ok=True)


def _entry_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(entry) as stream:
            yield from _what_is_there(stream)
    except NotImplementedError as error:
        raise ContainerDamaged(f"packed by an unsupported method: {error}") from None
