"""The landing folder: which files there are, and which of them are complete."""

import errno
import filecmp
import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ingest.files.names import shown
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.settings import Landing, without_password

_CREATE = """
    CREATE TABLE IF NOT EXISTS meta.landing (
        name VARCHAR NOT NULL, mark VARCHAR NOT NULL, status VARCHAR NOT NULL, layouts VARCHAR NOT NULL
    )
"""
_UNDER_WAY = (".part", ".tmp")
ARRIVING = "still arriving"
EMPTY = "is empty: the transfer has not started, or it failed"
OF_NO_SYSTEM = "matches no pattern of a system"


@dataclass(frozen=True)
class Arrival:
    """A file in the landing folder.

    mark: changes with name, size, time and inode. why_left: why it is left where it is; empty for a complete file.
    """

    path: Path
    mark: str
    why_left: str

    @property
    def name(self) -> str:
        """The path as reports have it."""
        return shown(self.path)


@dataclass(frozen=True)
class Memory:
    """Files of earlier nights, as marks by name.

    `seen` are those of the last look, `loaded` those in the warehouse, `unread` those that could not be decoded at all.
    It is kept in the warehouse, which alone it is true of: a warehouse that is moved away, or restored, takes it along.
    """

    seen: Mapping[str, str] = field(default_factory=dict)
    loaded: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, warehouse: Path, layouts: str) -> "Memory":
        """The memory of a warehouse; only what was seen where other layouts are in force since: they may decode more.

        Raises WarehouseLocked while another process writes the warehouse.
        """
        if not warehouse.exists():
            return cls()
        with _opened(warehouse) as con:
            rows = con.execute("SELECT status, name, mark FROM meta.landing WHERE layouts = ?", [layouts]).fetchall()
            seen = con.execute("SELECT name, mark FROM meta.landing WHERE status = 'seen'").fetchall()
        marks = {status: {name: mark for kind, name, mark in rows if kind == status} for status in ("loaded", "unread")}
        return cls(dict(seen), **marks)

    def write(self, warehouse: Path, layouts: str) -> None:
        """Keep it in a warehouse. Raises WarehouseLocked while another process writes it."""
        with _opened(warehouse) as con:
            con.execute("BEGIN")
            con.execute("DELETE FROM meta.landing")
            for status in ("seen", "loaded", "unread"):
                marks = getattr(self, status)
                con.execute(
                    "INSERT INTO meta.landing SELECT unnest($names), unnest($marks), $status, $layouts",
                    {"names": [*marks], "marks": [*marks.values()], "status": status, "layouts": layouts},
                )
            con.execute("COMMIT")


@contextmanager
def _opened(warehouse: Path) -> Iterator[Any]:
    from ingest.warehouse import ledger, open_writer

    with open_writer(warehouse) as con:
        ledger.create(con)
        con.execute(_CREATE)
        yield con


def files(folder: Path, rules: Landing) -> Iterator[tuple[Path, str]]:
    """Files in order of name, each with the reason why it is left; empty where there is none.

    Without markers and transfers under way: hidden ones, `.part` and `.tmp`.
    """
    for path in sorted(folder.rglob("*")):
        if no_input(path.relative_to(folder), rules) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            yield path, "is a symbolic link: put the file itself here"
        elif not path.is_file():
            yield path, "is not a regular file"
        elif rules.system_of(path.name) is None:
            yield path, OF_NO_SYSTEM
        elif rules.marker is not None and not path.with_name(path.name + rules.marker).exists():
            yield path, ARRIVING
        else:
            yield path, ""


def no_input(name: PurePath, rules: Landing) -> bool:
    """Whether a file, by its path in the landing folder, is hidden, a transfer under way, or a marker."""
    hidden = any(part.startswith(".") for part in name.parts)
    marker = rules.marker is not None and name.name.endswith(rules.marker)
    return hidden or marker or name.suffix in _UNDER_WAY


def local(home: Home, rules: Landing) -> Path:
    """The landing folder. EtalonError where it, or the archive, is no folder of this machine."""
    if isinstance(rules.folder, str):
        message = f"landing.folder {rules.folder}: only `etalon nightly` fetches files"
        raise EtalonError(without_password(message), Exit.NO_INPUT)
    for setting, folder in (("folder", rules.folder), ("archive", rules.archive)):
        if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
            raise EtalonError(f"landing.{setting} {folder}: is a file; name a folder in etalon.toml", Exit.NO_INPUT)
    return rules.folder or home.landing


def arrivals(folder: Path, rules: Landing, before: Mapping[str, str]) -> list[Arrival]:
    """The files in the landing folder.

    before: marks by path at an earlier look. A file without marker is complete when it has not changed for `settle_s`
    or, whatever clocks say, since the earlier look.
    """
    entries = []
    for path, why_left in files(folder, rules):
        # Who brings files may take one away again between the list and this look.
        with suppress(FileNotFoundError):
            mark = fingerprint([path])
            why_left = why_left or (EMPTY if not path.lstat().st_size else "")
            if not why_left and not rules.marker and before.get(shown(path)) != mark:
                why_left = ARRIVING if time.time() - path.stat().st_mtime < rules.settle_s else ""
            entries.append(Arrival(path, mark, why_left))
    return entries


def fingerprint(paths: Iterable[Path]) -> str:
    """Changes with the names, sizes, times and inodes of files."""
    states = ((path, path.lstat()) for path in paths)
    parts = (f"{shown(path)}|{state.st_size}|{state.st_mtime_ns}|{state.st_ino}" for path, state in states)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def archive(loaded: Iterable[Arrival], landing: Path, rules: Landing) -> dict[str, str]:
    """Move files, with their markers, to the archive, if there is one, under the folders they have here.

    Why files could not be moved, by their path in the landing folder.
    """
    stay: dict[str, str] = {}
    for arrival in loaded if isinstance(rules.archive, Path) else ():
        # Who brings files may take one away, or write it anew, between the list and this look.
        with suppress(FileNotFoundError):
            if arrival.why_left or fingerprint([arrival.path]) != arrival.mark:
                continue
            try:
                _move(arrival, landing, Path(str(rules.archive)), rules.marker)
            except OSError as error:
                stay[shown(arrival.path.relative_to(landing))] = f"loaded, but could not be archived: {error}"
    return stay


def _move(arrival: Arrival, landing: Path, to: Path, marker: str | None) -> None:
    """A kill at any moment leaves the file whole at one of both places; the next move goes on with what it left."""
    target = to / arrival.path.relative_to(landing)
    if target.exists() and not filecmp.cmp(arrival.path, target, shallow=False):
        target = target.with_name(f"{arrival.mark[:8]}.{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        arrival.path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(arrival.path, target)
        arrival.path.unlink()
    if marker is not None:
        arrival.path.with_name(arrival.path.name + marker).unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy a file to another file system, where it is whole, and on the disk, as soon as it has its name."""
    part = target.with_name(f".{target.name}.part")
    shutil.copy2(source, part)
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(target)
