"""What is worked out of a part of a bundle, kept as long as that part is asked about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

KEPT = 512
T = TypeVar("T")
_found: dict[tuple[int, Hashable], tuple[Mapping[str, Any], Any]] = {}


def derived(part: Mapping[str, Any], name: Hashable, make: Callable[[], T]) -> T:
    """``make()``, made once for this very ``part`` (known by identity, which is kept with it) and ``name``.

    Nothing is kept of an empty part, which may be another one each time.
    """
    if not part:
        return make()
    known = _found.get((id(part), name))
    if known is not None and known[0] is part:
        return known[1]
    if len(_found) >= KEPT:
        del _found[next(iter(_found))]
    value = make()
    _found[id(part), name] = (part, value)
    return value
