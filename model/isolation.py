"""Work for many systems, where the failure of one stops no other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

Faults = dict[str, str]
"""By system, the stage that failed, the error and where it was raised."""

# A full disk or too little memory is no system's fault.
_SURROUNDINGS = (OSError, MemoryError)


def each(stage: str, names: Iterable[str], do: Callable[[str], T]) -> tuple[dict[str, T], Faults]:
    """What ``do`` returns by name, and the faults of the others.

    Raises
    ------
    OSError, MemoryError
        The fault is the machine's.
    """
    done: dict[str, T] = {}
    faults: Faults = {}
    for name in names:
        try:
            done[name] = do(name)
        except _SURROUNDINGS:
            raise
        except Exception as error:
            faults[name] = words(stage, error)
    return done, faults


def together(stage: str, names: Sequence[str], do: Callable[[Sequence[str]], T]) -> tuple[T | None, Faults]:
    """What ``do`` returns of all names at once. Where it fails, of those with which it does not fail alone.

    Returns
    -------
    tuple
        The result, None where no name is left or the rest fails together, too; and the faults by name.
    """
    faults: Faults = {}
    while rest := [name for name in names if name not in faults]:
        try:
            return do(rest), faults
        except _SURROUNDINGS:
            raise
        except Exception as error:
            alone = {} if faults else each(stage, rest, lambda name: do([name]))[1]
            faults |= alone or dict.fromkeys(rest, words(stage, error))
    return None, faults


def words(stage: str, error: Exception) -> str:
    """One line: the stage, the error, and the place in the code that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split())
    return f"{stage} failed: {type(error).__name__}: {said} ({Path(frame.filename).name}:{frame.lineno})"
