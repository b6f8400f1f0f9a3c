"""Small files and pages: there whole or not at all."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Put a text in the place of a file in one step. Who may read its folder may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(path.parent.stat().st_mode & 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> dict[str, Any]:
    """A small file of JSON; empty where there is none that can be read, as after a full disk."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    return {}
