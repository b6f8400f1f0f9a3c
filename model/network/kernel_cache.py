"""Compiled code that is thrown away when any file of its room has changed.

Numba keeps compiled code beside a hash of the function's own file. A kernel also holds what it takes from its
neighbours: their constants, and functions built into it. Without this, a kernel compiled before a neighbour changed
would go on computing with what that neighbour used to say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any


@cache
def room_stamp(folder: Path) -> str:
    """A hash of the Python files of a folder."""
    total = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def with_room(compile_: Callable[..., Any], file: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator as ``compile_``, whose cached code is fresh only while the folder of ``file`` is as it was."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = compile_(function)
        index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if index is not None:
            index._source_stamp = (index._source_stamp, room_stamp(Path(file).parent))
            index._load_index = partial(_known_index, index._load_index)
        return dispatcher

    return decorate


def _known_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """The index of cached code; empty where it names a type that the code no longer has."""
    try:
        return load()
    except (AttributeError, ImportError):
        return {}
