"""Telling that a file was replaced."""

from __future__ import annotations

from pathlib import Path

Identity = tuple[int, int, int]


def identity_of(path: Path) -> Identity | None:
    """What changes when a file is replaced as a whole (inode, time, size); None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
