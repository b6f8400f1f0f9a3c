"""The landing folder: which files there are, and which of them are complete."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.settings import Landing

_UNDER_WAY = (".part", ".tmp")


@dataclass(frozen=True)
class Arrival:
    """A file in the landing folder: `complete`, `arriving`, or `unexpected` where no pattern of a system fits it.

    mark: changes with name, size, time and inode.
    """

    path: Path
    state: str
    mark: str


def files(folder: Path, rules: Landing) -> Iterator[Path]:
    """Files in order of name, without markers and transfers under way: hidden ones, `.part` and `.tmp`."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        other = path.suffix in _UNDER_WAY or (rules.marker is not None and path.name.endswith(rules.marker))
        if not hidden and not other and path.is_file():
            yield path


def marked(path: Path, rules: Landing) -> bool:
    """Whether a file may be read as far as markers go: without a marker set, any may."""
    return rules.marker is None or path.with_name(path.name + rules.marker).exists()


def arrivals(folder: Path, rules: Landing, before: Mapping[str, str]) -> list[Arrival]:
    """What is in the landing folder.

    before: marks by path at an earlier look. A file without marker is complete when it has not changed for `settle_s`
    or, whatever clocks say, since the earlier look.
    """
    found = []
    for path in files(folder, rules):
        mark = fingerprint([path])
        if rules.system_of(path.name) is None:
            state = "unexpected"
        elif not marked(path, rules):
            state = "arriving"
        elif rules.marker or before.get(str(path)) == mark or time.time() - path.stat().st_mtime >= rules.settle_s:
            state = "complete"
        else:
            state = "arriving"
        found.append(Arrival(path, state, mark))
    return found


def fingerprint(paths: Iterable[Path]) -> str:
    """Changes with the names, sizes, times and inodes of files."""
    states = ((path, path.stat()) for path in paths)
    parts = (f"{path}|{state.st_size}|{state.st_mtime_ns}|{state.st_ino}" for path, state in states)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def archive(path: Path, landing: Path, to: Path, mark: str, rules: Landing) -> Path:
    """Move a loaded file, and its marker, to the archive, under the folders it has in the landing folder."""
    import shutil

    target = to / path.relative_to(landing)
    if target.exists():
        target = target.with_name(f"{mark[:8]}.{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, target)
    if rules.marker is not None:
        path.with_name(path.name + rules.marker).unlink(missing_ok=True)
    return target
