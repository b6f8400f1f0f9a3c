"""Which files are meant, whether they hold still, and their hash."""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from threading import Event, get_native_id
from typing import Self

from xxhash import xxh3_64

from ingest.containers.opening import STANDARD_INPUT
from ingest.files.ahead import NICE, lower_priority
from ingest.files.names import shown
from ingest.files.outcome import ExitCode, FileReport

#: Stays in the processor's cache between being read and being hashed.
_CHUNK = 1 << 18
#: A file that was written to within this many seconds may not be complete yet.
_SETTLED_S = 60.0


class StillChanging(Exception):
    """The file changed while it was being read."""


@dataclass(frozen=True)
class Fingerprint:
    """Attributes of a file that change when it is written to or replaced."""

    size: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, path: str | Path) -> "Fingerprint":
        """Fingerprint of a file as it is now. Raises OSError."""
        stat = Path(path).stat()
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)

    @property
    def may_grow(self) -> str:
        """A hint for a file that ends inside a record: empty unless it was written to a moment ago."""
        age_s = time.time() - self.modified_ns / 1e9
        if age_s > _SETTLED_S:
            return ""
        return (
            f"; it was written {max(age_s, 0):.0f} s ago and may be incomplete: load it again when it is complete, "
            "and the whole file replaces this part"
        )


@dataclass(frozen=True)
class Digest:
    """SHA-256 of a file (hex), and of its requested leading parts, by length."""

    sha256: str
    prefixes: dict[int, str]


class Content:
    """The content of a file of `size` bytes: a quick key, and its digest, which another thread computes meanwhile.

    Everything raises StillChanging where the file has another length by now, and OSError. key: the quick key, if
    already computed.
    """

    def __init__(self, path: str | Path, size: int, prefixes: Sequence[int] = (), key: int | None = None) -> None:
        self.size = size
        if key is not None:
            self.key = key
        self._path = path
        self._unwanted = Event()
        self._thread = ThreadPoolExecutor(1, "digest", self._started)
        self._thread_id: int | None = None
        self._digest = self._thread.submit(digest, path, size, prefixes, self._unwanted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._unwanted.set()
        self._thread.shutdown()

    def _started(self) -> None:
        self._thread_id = get_native_id()

    def make_way(self) -> None:
        """From now on the digest is not waited for: have its thread stand back behind the one that loads."""
        lower_priority(NICE, self._thread_id)

    @cached_property
    def key(self) -> int:
        """XXH3 (64 bits, seed 0) of all bytes."""
        running = xxh3_64()
        for chunk in _chunks(self._path, self.size):
            running.update(chunk)
        return running.intdigest()

    @property
    def digest(self) -> Digest:
        """SHA-256 of the file and of its leading parts; waits for it."""
        return self._digest.result()


def expand(paths: Iterable[str | Path]) -> list[str | FileReport]:
    """Files meant by paths, folders (all files below, in order of name) and patterns; each file once.

    Files and folders whose name starts with a dot are left out of folders. A path that matches no file becomes a failed
    report. A single `-` is standard input and stays as it is.
    """
    files: list[str | FileReport] = []
    seen: set[str] = set()
    for path in paths:
        members = _members(str(path))
        if isinstance(members, FileReport):
            files.append(members)
            continue
        for member in members:
            real = os.path.realpath(member)
            if real not in seen:
                seen.add(real)
                files.append(member)
    return files


def _members(path: str) -> list[str] | FileReport:
    if path == STANDARD_INPUT:
        return [path]
    if Path(path).is_dir():
        files = _below(path)
        return files or _no_input(path, "the folder has no files; put the dumps there or name another folder")
    if not os.path.lexists(path) and has_magic(path):
        matches = sorted(glob(path, recursive=True))  # noqa: PTH207 (patterns may be absolute)
        if not matches:
            return _no_input(
                path, "no file matches this pattern; check it, and quote it so that the shell does not expand it"
            )
        return [file for match in matches for file in (_below(match) if Path(match).is_dir() else [match])]
    if not Path(path).exists():
        return _no_input(path, "no such file; check the path")
    if not Path(path).is_file():
        return _no_input(path, "neither a file nor a folder; copy the data to a file first")
    return [path]


def _below(folder: str) -> list[str]:
    files = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [str(Path(root, name)) for name in names if not name.startswith(".")]
    return sorted(file for file in files if Path(file).is_file())


def _no_input(path: str, text: str) -> FileReport:
    name = shown(path)
    return FileReport(name, status="failed", message=f"{name}: {text}", exit_code=ExitCode.NO_INPUT)


def digest(path: str | Path, size: int, prefixes: Sequence[int] = (), unwanted: Event | None = None) -> Digest:
    """Hash of a file of `size` bytes and of leading parts of it. StillChanging if it has another length by now.

    CancelledError when it is no longer wanted.
    """
    running = hashlib.sha256()
    marks = sorted(length for length in set(prefixes) if length <= size)
    digests: dict[int, str] = {}
    read = 0
    for chunk in _chunks(path, size):
        if unwanted is not None and unwanted.is_set():
            raise CancelledError
        done = 0
        while marks and marks[0] <= read + len(chunk):
            running.update(chunk[done : marks[0] - read])
            done = marks[0] - read
            digests[marks.pop(0)] = running.copy().hexdigest()
        running.update(chunk[done:])
        read += len(chunk)
    return Digest(running.hexdigest(), digests)


def _chunks(path: str | Path, size: int) -> Iterator[memoryview]:
    """The bytes of a file, piece by piece. StillChanging if it has another length than `size` by now."""
    room = memoryview(bytearray(_CHUNK))
    read = 0
    with Path(path).open("rb", buffering=0) as stream:
        while read <= size and (got := stream.readinto(room)):
            read += got
            yield room[:got]
    if read != size:
        raise StillChanging
