"""Files that are on the disk, also after the machine loses power."""

import os
from pathlib import Path


def sync(path: str | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
