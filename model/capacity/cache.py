"""What is worked out of a part of a bundle, kept while it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

KEPT = 512
T = TypeVar("T")
# What was asked for last stands last.
_found: OrderedDict[tuple[int, Hashable], tuple[Any, Any]] = OrderedDict()


def cached(part: Any, name: Hashable, make: Callable[[], T]) -> T:
    """``make()``, made once for this very ``part`` (known by identity, which is kept with it) and ``name``.

    Nothing is kept of an empty part, which may be another one each time.
    """
    if part is None or (isinstance(part, dict) and not part):
        return make()
    key = (id(part), name)
    known = _found.get(key)
    if known is not None and known[0] is part:
        _found.move_to_end(key)
        return known[1]
    value = make()
    _found[key] = (part, value)
    while len(_found) > KEPT:
        _found.popitem(last=False)
    return value
